"""The decision: 38 rows, each with its vector and its literal outcome; its words."""

from dataclasses import replace

import pytest

from identities import (
    EMPTY,
    ME,
    RULES,
    claim,
    decided,
    disk,
    live,
    mapping,
    owner,
    registered,
    seen,
    told,
    unreadable,
)
from identity_vectors import VECTORS, literal_rules
from laws_decisions import check_decision
from rackwise.core.errors import Refused
from rackwise.core.errors import WrongCluster as HouseWrongCluster
from rackwise.core.identity.decision.table import ROWS
from rackwise.core.identity.model import LocalLogDir, Mode, Rules, WaitFor

TITLES = [f"{number}-{vector.name}" for number, vector in enumerate(VECTORS)]


class TestVectors:
    @pytest.mark.parametrize("vector", VECTORS, ids=TITLES)
    def test_outcome_and_row(self, vector):
        decision = decided(vector.rules, **vector.changes)
        assert (told(decision), decision.row) == (vector.outcome, vector.row)
        check_decision(decision, seen(**vector.changes), vector.rules)

    @pytest.mark.parametrize("vector", VECTORS, ids=TITLES)
    def test_literal_outcome_and_row(self, vector):
        rules = literal_rules(vector)
        decision = decided(rules, **vector.changes)
        row = vector.literal_row or vector.row
        assert (told(decision), decision.row) == (vector.literal, row)
        check_decision(decision, seen(**vector.changes), rules)

    def test_every_row_has_its_vector(self):
        names = [f"D{number}" for number in range(1, 39)]
        assert [row.name for row in ROWS] == names
        assert {vector.name for vector in VECTORS} == set(names)

    def test_every_row_that_can_answer_does(self):
        """D28 and D30 only pass on."""
        answered = {vector.row for vector in VECTORS}
        assert {row.name for row in ROWS} - answered == {"D28", "D30"}

    @pytest.mark.parametrize("vector", VECTORS, ids=TITLES)
    def test_the_printed_outcome_is_the_one_that_comes(self, vector):
        row = next(row for row in ROWS if row.name == vector.row)
        code = vector.outcome.replace("7 ", "n ").replace("1001 ", "it ").replace("1002 ", "it ")
        verb, _, how = code.partition(" ")
        assert verb in row.outcome
        assert how.removeprefix("n ").removeprefix("it ") in row.outcome


class TestEitherOneOrTwoIsSet:
    """In case either 1 or 2 is set: first make sure they are consistent if both are set, then use
    it and bypass the following procedure unconditionally.
    """

    def test_the_same_id_in_both_is_the_configured_one(self):
        assert told(decided(configured=7, log_dirs=(disk(number=7), EMPTY))) == "TAKE 7 configured"

    def test_a_mapping_that_says_otherwise_is_overwritten_and_told(self):
        decision = decided(configured=7, mapping=mapping("h7", 9))
        assert decision.warnings == ("MAPPING_OVERWRITTEN: key h7 was mapped to 9",)

    def test_a_broker_that_runs_and_loses_its_mapping_is_named(self):
        decision = decided(configured=7, mapping=mapping("h7", 9), registered=live(registered(9)))
        assert decision.id == 7
        (warning,) = decision.warnings
        assert warning == (
            "MAPPING_OVERWRITTEN: key h7 was mapped to 9; broker 9 runs and has lost its mapping: "
            "if both brokers are on this host, start each with its own --instance"
        )

    def test_so_is_one_that_cannot_be_read(self):
        decision = decided(log_dirs=(disk(number=7),), mapping_problem="not JSON")
        assert (decision.id, decision.row) == (7, "D17")
        assert decision.warnings == (
            "MAPPING_OVERWRITTEN: the mapping of key h7 could not be read",
        )

    def test_an_id_mapped_by_another_key_is_taken_and_told(self):
        decision = decided(log_dirs=(disk(number=1),), registered={})
        assert told(decision) == "TAKE 1 meta"
        assert decision.warnings == ("MAPPED_TWICE: id 1 is mapped to h1 too; run broker-id gc",)

    @pytest.mark.parametrize("generation", [True, False])
    def test_the_greatest_id_is_the_configurations_or_that_of_a_number(self, generation):
        rules = replace(RULES, generation=generation)
        assert told(decided(rules, configured=1000)) == "TAKE 1000 configured"
        wanted = "ID_RANGE" if generation else "TAKE 1001 configured"
        assert told(decided(rules, configured=1001)) == wanted
        assert told(decided(rules, configured=2**31)) == "ID_RANGE"

    @pytest.mark.parametrize("limit", [None, 2**33])
    def test_no_limit_is_beyond_the_greatest_number(self, limit):
        rules = replace(RULES, reserved_max=limit)
        assert told(decided(rules, configured=2**31 - 1)) == "TAKE 2147483647 configured"
        assert told(decided(rules, configured=2**31)) == "ID_RANGE"

    def test_a_migrating_broker_with_its_id_and_no_generation_goes_on(self):
        rules = replace(RULES, generation=False)
        assert told(decided(rules, configured=7, migrating=True)) == "TAKE 7 configured"

    def test_a_migrating_broker_may_have_a_file_of_version_1(self):
        dirs = (disk(number=7, version=1, cluster="C"),)
        rules = replace(RULES, generation=False)
        changed = {"configured": 7, "migrating": True, "log_dirs": dirs}
        assert told(decided(rules, **changed)) == "TAKE 7 configured"

    def test_a_controller_with_all_its_files_goes_on(self):
        dirs = (disk(number=7, version=1, cluster="C"),)
        changed = {"mode": Mode.KRAFT, "is_controller": True, "configured": 7}
        assert told(decided(**changed, log_dirs=dirs)) == "TAKE 7 configured"

    @pytest.mark.parametrize(
        ("mode", "is_controller"), [(Mode.KRAFT, False), (Mode.ZOOKEEPER, True)]
    )
    def test_only_controllers_of_kraft_need_their_disk(self, mode, is_controller):
        decision = decided(mode=mode, is_controller=is_controller, configured=7)
        assert told(decision) == "TAKE 7 configured"

    @pytest.mark.parametrize(
        ("dirs", "lacking"),
        [
            (disk(version=1, cluster="C"), "node.id"),
            (disk(version=1, number=7), "cluster.id"),
        ],
    )
    def test_what_a_file_of_version_1_lacks_is_said(self, dirs, lacking):
        decision = decided(mode=Mode.KRAFT, log_dirs=(dirs,))
        assert (told(decision), decision.error.wanted) == ("META_INCOMPLETE", lacking)

    def test_what_a_migrating_broker_lacks_is_said(self):
        off = replace(RULES, generation=False)
        assert decided(off, migrating=True).error.had == "none"
        assert decided(migrating=True, configured=7).error.had == "generation on"

    def test_it_is_said_where_the_id_comes_from(self):
        held = {"registered": live(registered(7))}
        assert "id 7 of the configuration" in str(decided(configured=7, **held).error)
        assert "id 7 of the disk" in str(decided(log_dirs=(disk(number=7),), **held).error)

    def test_two_files_of_two_clusters_are_refused_before_the_cluster_is_known(self):
        dirs = (disk("/a", number=7, cluster="A"), disk("/b", number=7, cluster="B"))
        decision = decided(log_dirs=dirs, cluster_id=None)
        assert told(decision) == "WRONG_CLUSTER"
        assert "cluster.id in /b: expected A, as in /a, got B" in str(decision.error)
        assert isinstance(decision.error, HouseWrongCluster)

    def test_a_directory_id_that_is_there_twice_is_refused(self):
        dirs = (disk("/a", number=7, directory="x"), disk("/b", number=7, directory="x"))
        decision = decided(log_dirs=dirs)
        assert told(decision) == "META_INCONSISTENT"
        assert decision.error.details == {"directory_id": "x"}


class TestWaiting:
    """Not in the KIP: a stale registration is waited for, a stranger's is not."""

    def test_for_what_is_left_of_the_waiting_time(self):
        changed = {"mapping": mapping("h7", 7), "registered": live(registered(7, at=ME))}
        decision = decided(**changed, waited_ms=5_000, now_ms=1_000)
        assert decision == WaitFor(on=("/brokers/ids/7",), until_ms=23_000, row="D23")

    def test_for_a_claim_of_the_same_key(self):
        decision = decided(mapping=mapping("h7", 7), claims={7: claim(7, key="h7")})
        assert decision == WaitFor(on=("/brokers/claims/7",), until_ms=27_000, row="D23")

    def test_not_for_a_claim_of_another(self):
        decision = decided(mapping=mapping("h7", 7), claims={7: claim(7, key="g")})
        assert told(decision) == "MAPPED_ID_HELD"
        assert "held by a start of key g, session 0x71" in str(decision.error)

    def test_for_a_broker_of_which_nothing_is_known_to_compare(self):
        changed = {"mapping": mapping("h7", 7), "endpoints": frozenset()}
        assert told(decided(**changed, registered=live(registered(7)))) == "WAIT"

    def test_not_where_the_owner_of_this_registration_is_known_to_be_another(self):
        changed = {"mapping": mapping("h7", 7), "endpoints": frozenset()}
        changed |= {"registered": live(registered(7)), "owners": {7: owner(7, key="g")}}
        decision = decided(**changed)
        assert told(decision) == "MAPPED_ID_HELD"
        assert "held by the broker of key g at x:9092, session 0x99, for 0 s" in str(decision.error)

    def test_an_owner_of_an_earlier_registration_says_nothing(self):
        changed = {"log_dirs": (disk(number=7),), "registered": live(registered(7))}
        decision = decided(**changed, owners={7: owner(7, incarnation=499)})
        assert told(decision) == "ID_IN_USE"

    def test_a_broker_that_still_lives_on_my_disk_is_refused_after_the_waiting_time(self):
        changed = {"log_dirs": (disk(number=7),), "registered": live(registered(7, at=ME))}
        decision = decided(**changed, waited_ms=27_000, now_ms=40_000)
        assert told(decision) == "ID_IN_USE"
        assert decision.error.details["holder"] == "a broker at h7:9092, session 0x99, for 40 s"

    def test_until_the_first_grace_is_over_where_spares_are_blocked(self):
        rules = Rules(spare="any", on_blocked="wait", grace_ms=60_000)
        decision = decided(
            rules, now_ms=50_000, reserved={7: (mapping("g", 7),)}, missing_since_ms={7: 30_000}
        )
        assert decision == WaitFor(
            on=("/brokers/ids/7", "/brokers/hosts/g"), until_ms=90_000, row="D32"
        )

    def test_by_default_until_the_grace_of_a_spare_that_may_be_taken_is_over(self):
        rules = Rules(spare="unmapped")
        assert decided(rules, missing_since_ms={}).until_ms == 300_000
        reserved = {7: (mapping("g", 7),)}
        assert told(decided(rules, reserved=reserved, missing_since_ms={})) == "SPARE_RESERVED"
        both = {"used": frozenset({1, 7, 8}), "missing_since_ms": {7: 0, 8: 0}}
        decision = decided(rules, reserved=reserved, now_ms=1_000, **both)
        assert decision.until_ms == 300_000
        assert "/brokers/ids/8" in decision.on

    @pytest.mark.parametrize(("wait_ms", "grace_ms", "until_ms"), [(27, 60, 87), (0, 0, 60_000)])
    def test_a_blocked_spare_as_long_as_it_takes_with_a_look_now_and_then(
        self, wait_ms, grace_ms, until_ms
    ):
        rules = Rules(spare="unmapped", on_blocked="wait", grace_ms=grace_ms, wait_ms=wait_ms)
        decision = decided(rules, reserved={7: (mapping("g", 7),)}, waited_ms=87_000)
        assert decision.until_ms == until_ms


class TestSpares:
    """If there is exactly one, use it; if there are more than one, throw error; if there are none,
    fallback to generating a new broker id.
    """

    def test_none_is_taken_before_its_grace_is_over(self):
        rules = Rules(spare="unmapped", grace_ms=40_000, on_blocked="error")
        changed = {"now_ms": 45_000, "missing_since_ms": {7: 5_001}}
        decision = decided(rules, **changed)
        assert told(decision) == "SPARE_RESERVED"
        assert decision.error.details["grace_left_ms"] == {"7": 1}
        assert told(decided(rules, now_ms=45_000, missing_since_ms={7: 5_000})) == "TAKE 7 b1"

    def test_one_that_was_never_seen_missing_has_all_its_grace_left(self):
        decision = decided(Rules(spare="unmapped", on_blocked="error"), missing_since_ms={})
        assert "7 (unmapped, 300 s of grace left)" in str(decision.error)

    @pytest.mark.parametrize("spare", ["unmapped", "any"])
    def test_one_that_an_unreadable_mapping_may_have_is_kept_for_its_key(self, spare):
        """Else the id had two hosts: a mapping that cannot be read cannot be taken from its key."""
        changed = {"unreadable": {"g": unreadable("g"), "f": unreadable("f")}}
        rules = replace(RULES, spare=spare)
        decision = decided(rules, **changed)
        assert told(decision) == "SPARE_RESERVED"
        assert "7 (perhaps mapped to f, g, which cannot be read, missing for" in str(decision.error)
        assert decision.error.hint == "mend f, or run: broker-id assign h7 ID"
        waits = decided(replace(rules, on_blocked="wait"), **changed)
        assert waits.on == ("/brokers/ids/7", "/brokers/hosts/f", "/brokers/hosts/g")

    def test_one_of_a_readable_mapping_may_be_taken_beside_unreadable_ones(self):
        changed = {"unreadable": {"g": unreadable("g"), "f": unreadable("f")}}
        others = (mapping("h9", 7),)
        anyone = decided(replace(RULES, spare="any"), reserved={7: others}, **changed)
        assert (told(anyone), anyone.takes_from) == ("TAKE 7 b1", others)
        assert anyone.warnings == (
            "MAPPING_UNREADABLE: key f: mend f",
            "MAPPING_UNREADABLE: key g: mend g",
        )

    def test_an_owner_of_another_id_does_not_free_a_spare(self):
        """7 may have been assigned to g since."""
        assert told(decided(unreadable={"g": unreadable("g", 8)})) == "SPARE_RESERVED"

    def test_a_spare_of_a_readable_mapping_is_only_that_ones(self):
        mapped = {7: (mapping("h9", 7),)}
        decision = decided(reserved=mapped, unreadable={"g": unreadable("g")})
        assert "7 (mapped to h9, missing for" in str(decision.error)
        waits = decided(
            replace(RULES, on_blocked="wait"), reserved=mapped, unreadable={"g": unreadable("g")}
        )
        assert waits.on == ("/brokers/ids/7", "/brokers/hosts/h9")

    def test_what_is_missing_is_looked_at_unless_to_the_letter(self):
        assert told(decided(missing_since_ms=None)) == "LOOK missing"
        assert told(decided(Rules.literal_kip(), missing_since_ms=None)) == "TAKE 7 b1"

    def test_grace_that_is_none_needs_nothing_seen(self):
        assert told(decided(missing_since_ms={})) == "TAKE 7 b1"

    def test_ambiguous_ones_are_listed_with_who_had_them(self):
        rules = replace(RULES, spare="any")
        decision = decided(
            rules,
            used=frozenset({7, 9}),
            reserved={7: (mapping("h9", 7),)},
            missing_since_ms={7: 0, 9: 1_000},
            now_ms=41_000,
        )
        assert "7 (mapped to h9, missing for 41 s), 9 (unmapped, missing for 40 s)" in str(
            decision.error
        )
        assert decision.error.details == {"ids": [7, 9]}
        assert decision.error.retryable

    def test_twenty_are_listed_and_the_others_counted(self):
        decision = decided(used=frozenset(range(100, 125)))
        assert str(decision.error).endswith("119 (unmapped) and 5 more (D31, AMBIGUOUS_SPARE)")
        exactly = decided(used=frozenset(range(100, 120)))
        assert str(exactly.error).endswith("119 (unmapped) (D31, AMBIGUOUS_SPARE)")

    def test_claimed_and_retired_ids_are_none(self):
        used = frozenset({7, 8, 9})
        decision = decided(used=used, claims={8: claim(8)}, retired=frozenset({9}))
        assert told(decision) == "TAKE 7 b1"

    def test_who_loses_a_mapped_one_is_named(self):
        taken = (mapping("g", 7, node_version=3),)
        decision = decided(replace(RULES, spare="any"), reserved={7: taken})
        assert (decision.takes_from, decision.warnings) == (taken, ())

    @pytest.mark.parametrize("generated", [None, 1001])
    def test_no_number_is_generated_while_an_unreadable_mapping_may_have_it(self, generated):
        rules = replace(RULES, spare="never")
        doubt = {"g": unreadable("g", 8), "f\n": unreadable("f"), "e": unreadable("e")}
        decision = decided(rules, generated=generated, unreadable=doubt)
        assert (told(decision), decision.row) == ("MAPPING_CORRUPT", "D36")
        assert str(decision.error) == (
            "cannot generate an id, which may be mapped already: expected a readable mapping or an "
            "owner of each other key, got neither for e, f\\x0a (D36, MAPPING_CORRUPT)"
        )
        assert (decision.error.hint, decision.error.where) == ("mend e", "/brokers/hosts/e")
        assert decision.error.details == {"keys": ["e", "f\n"]}
        owned = decided(rules, generated=1001, unreadable={"g": unreadable("g", 8)})
        assert told(owned) == "TAKE 1001 gen"

    def test_twenty_unreadable_mappings_are_named_and_the_others_counted(self):
        doubt = {f"g{each}": unreadable("g") for each in range(100, 125)}
        decision = decided(replace(RULES, spare="never"), unreadable=doubt)
        assert str(decision.error).endswith("g118, g119 and 5 more (D36, MAPPING_CORRUPT)")
        exactly = {key: each for key, each in doubt.items() if key < "g120"}
        decision = decided(replace(RULES, spare="never"), unreadable=exactly)
        assert str(decision.error).endswith("g118, g119 (D36, MAPPING_CORRUPT)")

    def test_a_number_beyond_the_greatest_id_ends_it(self):
        rules = replace(RULES, spare="never")
        assert told(decided(rules, generated=2**31 - 1)) == f"TAKE {2**31 - 1} gen"
        assert told(decided(rules, generated=2**31)) == "NO_ID_LEFT"
        assert told(decided(rules, generated=2**31 - 1, retired={2**31 - 1})) == "GENERATE"


class TestGuard:
    """Not in the KIP: no empty disk comes back as the last in-sync replica of anything."""

    def test_twenty_partitions_are_listed_and_the_others_counted(self):
        names = tuple(f"orders-{number}" for number in range(23))
        decision = decided(configured=7, at_risk={7: names})
        assert str(decision.error).endswith("orders-19 and 3 more (D14, LAST_IN_SYNC)")
        assert decision.error.details["count"] == 23
        assert decision.error.details["partitions"] == list(names[:20])
        exactly = decided(configured=7, at_risk={7: names[:20]})
        assert str(exactly.error).endswith("orders-19 (D14, LAST_IN_SYNC)")

    def test_what_is_accepted_is_told(self):
        rules = replace(RULES, accept_loss=True)
        decision = decided(rules, configured=7, at_risk={7: ("orders-4",)})
        assert decision.warnings == ("LOSS_ACCEPTED: 1 partition may lose records",)

    def test_what_had_one_replica_is_told(self):
        decision = decided(configured=7, lost={7: ("logs-0", "logs-1")})
        assert decision.warnings == (
            "DATA_GONE: 2 partitions had this replica only, and it is lost",
        )

    def test_nothing_is_asked_where_every_dir_has_its_file(self):
        assert told(decided(log_dirs=(disk(number=7),), at_risk=None)) == "TAKE 7 meta"

    def test_an_empty_dir_is_asked_about_though_another_cannot_be_read(self):
        dirs = (LocalLogDir(path="/b", problem="EIO"), EMPTY)
        assert told(decided(configured=7, log_dirs=dirs, at_risk=None)) == "LOOK at_risk"

    def test_a_new_number_is_never_asked_about(self):
        rules = replace(RULES, spare="never", accept_loss=True)
        assert told(decided(rules, generated=1001, at_risk=None)) == "TAKE 1001 gen"
        assert decided(rules, generated=1001, at_risk={1001: ("orders-4",)}).warnings == ()


class TestAnUnreadableMapping:
    @pytest.mark.parametrize("hint", [None, "log in as its owner"])
    def test_the_hint_is_that_of_the_cause(self, hint):
        decision = decided(mapping_problem="denied", mapping_hint=hint)
        default = "write the mapping again: broker-id assign KEY ID --force"
        assert (told(decision), decision.error.hint) == ("MAPPING_CORRUPT", hint or default)


class TestDisks:
    def test_what_is_adopted_and_ignored_goes_on(self):
        dirs = (LocalLogDir(path="/a", partitions=frozenset({"orders-4"})),)
        assert told(decided(replace(RULES, adopt_data=True), log_dirs=dirs)) == "TAKE 7 b1"
        bad = (LocalLogDir(path="/a", problem="EIO", partitions=frozenset({"orders-4"})),)
        assert told(decided(replace(RULES, ignore_unreadable=True), log_dirs=bad)) == "TAKE 7 b1"

    def test_what_cannot_be_read_is_listed_by_path(self):
        dirs = (LocalLogDir(path="/a", problem="EIO"), LocalLogDir(path="/b\x1b", problem="70 KiB"))
        decision = decided(log_dirs=dirs)
        assert str(decision.error) == (
            "cannot read 2 meta.properties files, which may hold the id: /a: EIO; "
            "/b\\x1b: 70 KiB (D18, META_UNREADABLE)"
        )
        assert decision.error.details == {"paths": ["/a", "/b\x1b"]}

    def test_partitions_without_a_file_are_counted(self):
        dirs = (LocalLogDir(path="/a", partitions=frozenset({"orders-4", "orders-5"})),)
        assert "beside 2 partition directories in /a" in str(decided(log_dirs=dirs).error)

    def test_a_file_of_version_0_without_an_id_is_as_none_in_zookeeper_mode(self):
        """Kafka completes it with whatever id it starts under."""
        nameless = disk(number=None)
        mapped = {"mapping": mapping("h7", 7), "log_dirs": (nameless,)}
        assert told(decided(**mapped)) == "TAKE 7 a"
        assert told(decided(**mapped, at_risk=None)) == "LOOK at_risk"
        with_data = replace(nameless, partitions=frozenset({"orders-4"}))
        assert "expected a meta.properties with an id beside" in str(
            decided(log_dirs=(with_data,)).error
        )
        assert told(decided(log_dirs=(disk(number=7), with_data))) == "TAKE 7 meta"

    def test_in_kraft_mode_it_is_left_to_kafka(self):
        changes = {"mode": Mode.KRAFT, "configured": 7, "log_dirs": (disk(number=None),)}
        assert told(decided(**changes, at_risk=None)) == "TAKE 7 configured"

    def test_a_refusal_is_of_the_house_and_says_kafkas_own_sentence(self):
        error = decided(configured=3, log_dirs=(disk(number=7),)).error
        assert isinstance(error, Refused)
        assert (error.exit_code, error.retryable) == (4, False)
        assert error.details == {"configured": 3, "stored": 7}
        assert error.upstream == (
            "java.lang.RuntimeException",
            "Stored node id 7 doesn't match previous node id 3",
        )
