"""The first half of a start, event by event: the id is decided, reserved, written."""

from dataclasses import replace

import pytest

from identity_events import (
    ALONE,
    COMMAND,
    EMPTY,
    HOLDING,
    MINE,
    OURS,
    WROTE,
    ended,
    gathered,
    played,
    seen,
)
from rackwise.core.errors import LocalProtocolError
from rackwise.core.identity.model import (
    Claim,
    KeyMapping,
    LocalLogDir,
    MetaProperties,
    Mode,
    Registration,
    Rules,
)
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    OWNERS,
    RETIRED,
    Check,
    Create,
    Delete,
)
from rackwise.core.identity.refusals import (
    ClaimLost,
    Contention,
    HostHasLiveBroker,
    MetaWriteFailed,
    NoCarrier,
)
from rackwise.core.identity.start.actions import (
    Commit,
    Fail,
    Gather,
    Gathered,
    Hold,
    Launch,
    Sleep,
    Slept,
    Spawn,
    Spawned,
    Starting,
    WriteMeta,
    require_take,
)
from rackwise.core.identity.start.hold import on_spawned
from rackwise.core.identity.start.step import step


class TestUntilTheIdIsTaken:
    def test_it_gathers_first(self):
        assert played()[1] == Gather()

    def test_the_commit_reserves_before_a_file_is_written(self):
        action = played(gathered())[1]
        assert isinstance(action, Commit)
        assert {op.path for op in action.ops} == {
            FENCE,
            f"{IDS}/7",
            f"{RETIRED}/7",
            f"{CLAIMS}/7",
            f"{OWNERS}/7",
            f"{HOSTS}/h7",
        }
        assert played(gathered(), ended("done"))[1] == WriteMeta(
            id=7, mode=Mode.ZOOKEEPER, cluster_id=None, dirs=("/a",), claimed=True
        )

    def test_a_file_without_an_id_is_written_too(self):
        nameless = LocalLogDir(path="/b", meta=MetaProperties(version=0, cluster_id="k"))
        action = played(gathered(log_dirs=(EMPTY, nameless)), ended("done"))[1]
        assert action.dirs == ("/a", "/b")

    @pytest.mark.parametrize("outcome", ["conflict", "unknown"])
    def test_what_failed_is_gathered_anew_after_a_while(self, outcome):
        assert played(gathered(), ended(outcome))[1] == Sleep(most_ms=10)
        again = played(gathered(), ended(outcome), Slept(at_ms=1))[1]
        assert isinstance(again, Gather)
        assert again.base is None

    def test_the_while_grows_to_half_a_second(self):
        events = [gathered(), ended("conflict"), Slept(at_ms=1)] * 60
        assert played(*events[:-1])[1] == Sleep(most_ms=500)

    def test_tries_end_with_wait_and_grace(self):
        rules = Rules(wait_ms=100, grace_ms=50)
        assert isinstance(played(gathered(), ended("conflict", 150), rules=rules)[1], Sleep)
        action = played(gathered(), ended("conflict", 151), rules=rules)[1]
        assert isinstance(action, Fail)
        assert isinstance(action.error, Contention)
        assert "0.15 s" in str(action.error)

    def test_what_was_waited_for_does_not_count(self):
        rules = Rules(wait_ms=100, grace_ms=0)
        stale = Registration(broker_id=7, endpoints=frozenset({"h7:9092"}))
        waited = (gathered(registered={7: stale}), Slept(at_ms=99), gathered(99))
        assert isinstance(played(*waited, ended("conflict", 150), rules=rules)[1], Sleep)
        assert isinstance(played(*waited, ended("conflict", 200), rules=rules)[1], Fail)

    def test_an_answer_that_was_lost_is_seen_by_the_claim(self):
        claims = {7: Claim(broker_id=7, key="h7", nonce="n", session=MINE)}
        action = played(gathered(), ended("unknown"), Slept(at_ms=1), gathered(claims=claims))[1]
        assert isinstance(action, WriteMeta)

    def test_a_look_reads_that_alone(self):
        first = seen(at_risk=None)
        action = played(Gathered(at_ms=0, observation=first))[1]
        assert (action.base, action.more.at, action.more.id) == (first, "at_risk", 7)

    def test_numbers_in_vain_are_counted(self):
        drawn = {"mapping": None, "used": frozenset({1001, 1002})}
        state, action = played(gathered(**drawn), gathered(**drawn, generated=1001))
        assert isinstance(action, Gather)
        assert state.skipped == 1
        assert step(state, gathered(**drawn, generated=1002))[0].skipped == 2

    def test_the_broker_must_be_told_its_id_where_it_draws_none(self):
        rules = Rules(generation=False)
        action = played(gathered(), rules=rules)[1]
        assert isinstance(action.error, NoCarrier)
        carried = Launch(command=True, carries_id=True)
        assert isinstance(played(gathered(), rules=rules, launch=carried)[1], Commit)
        assert isinstance(played(gathered(), rules=rules, launch=ALONE)[1], Commit)
        assert isinstance(played(gathered(configured=7), rules=rules)[1], Commit)

    def test_what_answers_nothing_is_refused(self):
        with pytest.raises(LocalProtocolError, match="while gathering: got Spawned"):
            played(Spawned(at_ms=0))
        with pytest.raises(LocalProtocolError):
            require_take(Starting(rules=Rules(), launch=COMMAND))
        with pytest.raises(LocalProtocolError):
            on_spawned(Starting(rules=Rules(), launch=COMMAND), Spawned(at_ms=0))


class TestWaiting:
    """A stale registration of this very host is waited for."""

    stale = gathered(registered={7: OURS})

    def test_it_waits_as_long_as_the_rules_say(self):
        assert played(self.stale)[1] == Sleep(on=(f"{IDS}/7",), most_ms=27_000)
        woken = (self.stale, Slept(at_ms=9_000))
        later = replace(self.stale, at_ms=9_000)
        assert played(*woken, later)[1] == Sleep(on=(f"{IDS}/7",), most_ms=18_000)

    def test_then_it_is_a_second_broker(self):
        last = replace(self.stale, at_ms=27_000)
        action = played(self.stale, Slept(at_ms=27_000), last)[1]
        assert isinstance(action.error, HostHasLiveBroker)

    def test_what_was_waited_is_told(self):
        state, _ = played(self.stale, Slept(at_ms=9_000), gathered(9_000))
        assert state.slept_ms == 9_000

    def test_another_id_is_waited_for_anew(self):
        moved = KeyMapping(key="h7", broker_id=8)
        stale = Registration(broker_id=8, endpoints=OURS.endpoints, incarnation=3)
        other = gathered(20_000, mapping=moved, registered={8: stale})
        action = played(self.stale, Slept(at_ms=20_000), other)[1]
        assert action == Sleep(on=(f"{IDS}/8",), most_ms=27_000)


class TestASpareThatIsSeenMissing:
    rules = Rules(spare="any", grace_ms=1000, on_blocked="wait")

    def looked(self, **changes):
        told = {"mapping": None, "used": frozenset({9}), "missing_since_ms": {9: 100}}
        return gathered(**{**told, "now_ms": 100, **changes})

    def test_the_sighting_goes_on_while_nothing_happens(self):
        state, action = played(self.looked(), rules=self.rules)
        assert isinstance(action, Sleep)
        _, again = step(state, Slept(at_ms=500))
        assert again.seen.since_ms == {9: 100}

    def test_it_ends_where_its_watch_fires(self):
        state, _ = played(self.looked(), rules=self.rules)
        _, again = step(state, Slept(at_ms=500, changed=frozenset({f"{IDS}/9", "/x"})))
        assert again.seen.since_ms == {}

    def test_what_a_watcher_saw_is_not_kept(self):
        state, _ = played(self.looked(watch="led"), rules=self.rules)
        assert state.seen.since_ms == {}


class TestWithoutZooKeeper:
    """The claim first, then who is registered, then the mapping."""

    kraft = gathered(mode=Mode.KRAFT, cluster_id="c")
    launch = Launch(command=True, carries_id=True)

    def played(self, *events):
        return played(*events, launch=self.launch)

    def test_the_claim_is_committed_alone(self):
        action = self.played(self.kraft)[1]
        assert {op.path for op in action.ops} == {FENCE, f"{RETIRED}/7", f"{CLAIMS}/7"}
        assert isinstance(self.played(self.kraft, ended("conflict"))[1], Sleep)

    def test_then_the_mapping_under_it(self):
        assert self.played(self.kraft, ended("done"))[1] == Gather()
        action = self.played(self.kraft, ended("done"), self.kraft)[1]
        assert Check(f"{CLAIMS}/7", 0) in action.ops
        assert {op.path for op in action.ops} >= {f"{HOSTS}/h7"}
        wrote = self.played(self.kraft, ended("done"), self.kraft, ended("done"))[1]
        assert (wrote.mode, wrote.cluster_id) == (Mode.KRAFT, "c")

    def test_who_registered_meanwhile_has_it(self):
        late = gathered(mode=Mode.KRAFT, registered={7: OURS})
        action = self.played(self.kraft, ended("done"), late)[1]
        assert action == Commit(ops=(Delete(f"{CLAIMS}/7"),))
        events = (self.kraft, ended("done"), late, ended("done"))
        assert isinstance(self.played(*events)[1], Sleep)

    def test_a_mapping_that_moved_gives_the_claim_back(self):
        events = (self.kraft, ended("done"), self.kraft, ended("conflict"))
        assert self.played(*events)[1] == Commit(ops=(Delete(f"{CLAIMS}/7"),))

    def test_a_claim_of_ours_is_not_made_twice(self):
        claims = {7: Claim(broker_id=7, key="h7", nonce="n", session=MINE)}
        mapped = gathered(mode=Mode.KRAFT, claims=claims)
        assert isinstance(self.played(mapped)[1], WriteMeta)
        unmapped = gathered(mode=Mode.KRAFT, claims=claims, mapping=None, configured=7)
        action = self.played(unmapped)[1]
        assert any(isinstance(op, Create) and op.path == f"{HOSTS}/h7" for op in action.ops)


class TestWriting:
    def test_a_file_that_failed_is_told(self):
        error = MetaWriteFailed("no", done=("/a",), failed=("/b",))
        wrote = replace(WROTE, error=error)
        assert played(gathered(), ended("done"), wrote)[1] == Fail(error=error)

    def test_nothing_stays_of_a_run_whose_claim_was_lost(self):
        action = played(gathered(), ended("done"), replace(WROTE, claim_czxid=None))[1]
        assert isinstance(action.error, ClaimLost)
        assert action.unwrite == ("/a",)

    def test_then_the_command_starts(self):
        assert played(gathered(), ended("done"), WROTE)[1] == Spawn(id=7)
        assert played(*HOLDING)[1] == Hold(id=7, most_ms=5_000)

    def test_or_nothing_does(self):
        events = (gathered(), ended("done"), WROTE)
        assert played(*events, launch=ALONE)[1] == Hold(id=7, most_ms=600)
