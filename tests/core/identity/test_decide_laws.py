"""Laws of the decision: total, lawful, blind to order, and the text of KIP-426 to the letter."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from identities import BASE, ME, STRANGER, claim, disk, mapping, owner, registered, told
from laws_decisions import check_decision
from naive_decision import naive_decision
from naive_kip426 import naive_kip426
from rackwise.core.identity.decision.decide import decide
from rackwise.core.identity.model import LocalLogDir, Mode, Refuse, Rules, Take, UnreadableMapping

NUMBERS = st.integers(0, 5)
KEYS = st.sampled_from(["h7", "g", "x"])
ENDPOINTS = st.sampled_from([ME, STRANGER, frozenset()])
SESSIONS = st.sampled_from([BASE.session, 0x71])
PARTITIONS = st.frozensets(st.sampled_from(["orders-4", "orders-10"]))
DIRS = st.builds(
    LocalLogDir,
    path=st.sampled_from(["/a", "/b"]),
    meta=st.none()
    | st.builds(
        lambda number, version, cluster: disk(number=number, version=version, cluster=cluster).meta,
        st.none() | NUMBERS,
        st.sampled_from([0, 0, 0, 1]),
        st.sampled_from([None, "C", "D"]),
    ),
    partitions=PARTITIONS,
) | st.builds(LocalLogDir, path=st.just("/c"), problem=st.just("EACCES"), partitions=PARTITIONS)


def by_id(values):
    return st.dictionaries(NUMBERS, values, max_size=4).map(
        lambda found: {n: replace(v, broker_id=n) for n, v in found.items()}
    )


ANYBODY = st.builds(
    replace,
    st.just(BASE),
    mode=st.sampled_from([*[Mode.ZOOKEEPER] * 3, Mode.KRAFT]),
    endpoints=ENDPOINTS,
    cluster_id=st.sampled_from([None, "C"]),
    configured=st.none() | st.integers(-2, 5),
    log_dirs=st.lists(DIRS, max_size=3).map(tuple),
    migrating=st.sampled_from([False] * 5 + [True]),
    is_controller=st.booleans(),
    mapping=st.none() | st.builds(mapping, st.just("h7"), NUMBERS),
    mapping_problem=st.sampled_from([None] * 5 + ["not JSON"]),
    registered=by_id(
        st.builds(registered, NUMBERS, at=ENDPOINTS, incarnation=st.sampled_from([500, 501, None]))
    ),
    claims=by_id(st.builds(claim, NUMBERS, key=KEYS, session=SESSIONS)),
    owners=by_id(st.builds(owner, NUMBERS, key=KEYS, at=ENDPOINTS)),
    retired=st.frozensets(NUMBERS, max_size=1),
    reserved=st.dictionaries(
        NUMBERS,
        st.sampled_from(["g", "x"]).map(lambda key: (mapping(key, 0),)),
        max_size=3,
    ),
    unreadable=st.just({})
    | st.dictionaries(
        st.just("y"),
        st.builds(
            UnreadableMapping, hint=st.just("delete it"), owned=st.frozensets(NUMBERS, max_size=1)
        ),
    ),
    used=st.none() | st.frozensets(NUMBERS),
    owned=st.frozensets(st.integers(0, 9), max_size=2),
    missing_since_ms=st.none() | st.dictionaries(NUMBERS, st.sampled_from([0, 90, 100])),
    at_risk=st.none() | st.dictionaries(NUMBERS, st.sampled_from([(), ("orders-4",)]), min_size=4),
    generated=st.none() | st.integers(0, 9),
    skipped=st.sampled_from([0, 3, 10_000]),
    waited_ms=st.sampled_from([0, 5, 30]),
    now_ms=st.just(100),
    watch=st.sampled_from(["scan", "led", "leaderless"]),
)
REMEMBERED = ANYBODY.map(
    lambda each: replace(
        each,
        mode=Mode.ZOOKEEPER,
        configured=None,
        log_dirs=tuple(d for d in each.log_dirs if d.meta is None and not d.partitions),
        migrating=False,
        mapping_problem=None,
    )
)
NEWCOMERS = REMEMBERED.map(lambda each: replace(each, mapping=None))
OBSERVATIONS = ANYBODY | REMEMBERED | NEWCOMERS
ALL_RULES = st.builds(
    Rules,
    spare=st.sampled_from(["never", "unmapped", "any"]),
    on_blocked=st.sampled_from(["grace", "error", "wait", "generate"]),
    grace_ms=st.sampled_from([0, 5, 50]),
    wait_ms=st.sampled_from([0, 20]),
    generation=st.booleans(),
    reserved_max=st.sampled_from([None, 3, 1000]),
    ignore_unreadable=st.booleans(),
    adopt_data=st.booleans(),
    accept_loss=st.booleans(),
)
LITERAL = st.builds(
    lambda step_b, generation: replace(
        Rules.literal_kip(step_b=step_b), generation=generation, reserved_max=None
    ),
    st.booleans(),
    st.booleans(),
)


def reordered(observation):
    """The same, each mapping and set filled in the other order."""
    turned = {
        name: dict(reversed(value.items()))
        for name in ("registered", "claims", "owners", "reserved", "at_risk", "missing_since_ms")
        if (value := getattr(observation, name)) is not None
    }
    used = observation.used and frozenset(sorted(observation.used, reverse=True))
    return replace(observation, used=used, **turned)


def text(decision):
    return (
        decision.row,
        told(decision) if not isinstance(decision, Refuse) else str(decision.error),
        repr(decision) if not isinstance(decision, Refuse) else decision.error.details,
    )


class TestLaws:
    @given(OBSERVATIONS, ALL_RULES | LITERAL)
    def test_total_and_lawful(self, observation, rules):
        check_decision(decide(observation, rules), observation, rules)

    @given(OBSERVATIONS, ALL_RULES | LITERAL)
    def test_row_by_row_it_is_the_table(self, observation, rules):
        decision = decide(observation, rules)
        assert (decision.row, told(decision)) == naive_decision(observation, rules)

    @given(OBSERVATIONS, ALL_RULES | LITERAL)
    def test_the_order_of_sets_does_not_count(self, observation, rules):
        assert text(decide(observation, rules)) == text(decide(reordered(observation), rules))

    @given(OBSERVATIONS, ALL_RULES, NUMBERS)
    def test_a_new_mapping_of_another_key_never_frees_a_spare(self, observation, rules, spare):
        rules = replace(rules, spare="unmapped")
        before = decide(observation, rules)
        others = observation.reserved.get(spare, ())
        more = {**observation.reserved, spare: (*others, mapping("new", spare))}
        after = decide(replace(observation, reserved=more), rules)
        if isinstance(before, Refuse):
            assert not (isinstance(after, Take) and after.id == spare)

    @given(OBSERVATIONS, LITERAL)
    def test_to_the_letter_it_is_the_text_of_the_kip(self, observation, rules):
        one_disk = tuple(d for d in observation.log_dirs if d.meta is None)[:1]
        files = [d for d in observation.log_dirs if d.meta and d.meta.broker_id is not None][:1]
        kept = tuple(replace(d, meta=replace(d.meta, version=0, cluster_id=None)) for d in files)
        configured = None if observation.configured in {None, -1, -2} else observation.configured
        plain = replace(
            observation,
            configured=configured,
            log_dirs=(*kept, *one_disk),
            migrating=False,
            is_controller=False,
            mapping_problem=None,
        )
        decision = decide(plain, rules)
        said = naive_kip426(
            configured=configured,
            stored=files[0].meta.broker_id if files else None,
            mapped=plain.mapping and plain.mapping.broker_id,
            registered=tuple(plain.registered),
            used=plain.used,
            step_b=rules.spare != "never",
            generation=rules.generation,
            number=plain.generated,
        )
        words = {"TAKE": "use", "GENERATE": "draw", "LOOK": "look"}
        verb, *rest = told(decision).split(" ")
        ours = words.get(verb, "error")
        assert (f"use {rest[0]}" if ours == "use" else ours) == said
