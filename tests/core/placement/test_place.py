"""The front: what is refused and in which order, who is given what."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from placements import broker, brokers_of, placement_vectors, racked
from rackwise import Kip36, Levels, Placement, RackMode, add_partitions, change_replication, place
from rackwise.core.errors import (
    InputError,
    InvalidAssignment,
    InvalidPartitions,
    InvalidPlacer,
    InvalidReplication,
    NotEnoughBrokers,
    PartialRacks,
    UnknownBroker,
)
from rackwise.core.model import LogDir
from rackwise.core.placement import PLACERS, JavaRandom, Load, MockRandom, Striped, Unaware

SIX = racked(*"abcabc")
KIP36 = Kip36(start=0)


class Seen:
    """A placer that keeps the request and puts everything on the first brokers."""

    name = "seen"

    def place(self, request, /):
        self.request = request
        row = [each.id for each in request.brokers[: request.replication]]
        return np.array([row] * request.partitions, dtype=np.int32)

    change = place


class TestRefusals:
    @pytest.mark.parametrize(
        "case", placement_vectors("errors"), ids=lambda case: f"{case['placer']}, {case['name']}"
    )
    def test_the_vectors(self, case):
        with pytest.raises(InputError) as caught:
            place(
                brokers_of(case["brokers"]),
                case["partitions"],
                case["replication"],
                placer=PLACERS[case["placer"]](),
                rng=MockRandom(),
            )
        assert type(caught.value).__name__ == case["error"]
        kind, message = caught.value.upstream
        assert (kind.rpartition(".")[2], message) == (
            case["upstream_exception"],
            case["upstream_message"],
        )

    @pytest.mark.parametrize("number", [0, -1, True, 1.0])
    def test_numbers_that_count_nothing(self, number):
        with pytest.raises(InvalidPartitions) as caught:
            place(SIX, number, 1, placer=KIP36)
        assert str(caught.value) == f"invalid partitions: expected at least 1, got {number}"
        with pytest.raises(InvalidReplication) as caught:
            place(SIX, 1, number, placer=KIP36)
        assert str(caught.value) == f"invalid replication: expected at least 1, got {number}"

    @pytest.mark.parametrize(("partitions", "first"), [(2**31, 0), (1, 2**31 - 1), (1, 0.5)])
    def test_partition_ids_that_kafka_does_not_have(self, partitions, first):
        with pytest.raises(InvalidPartitions, match="expected integers below 2147483647"):
            place(SIX, partitions, 1, placer=KIP36, first_partition=first)

    def test_too_few_unfenced_brokers_names_the_fenced(self):
        brokers = [*racked(*"abca"), broker(9, fenced=True), broker(7, fenced=True)]
        with pytest.raises(NotEnoughBrokers) as caught:
            place(brokers, 1, 5, placer=KIP36)
        assert str(caught.value) == "replication 5 needs 5 unfenced brokers; the cluster has 4"
        assert caught.value.hint == "use fewer replicas, or start the fenced brokers: 7, 9"

    def test_too_few_brokers_where_none_is_fenced(self):
        for placer in (KIP36, Striped()):
            with pytest.raises(NotEnoughBrokers) as caught:
                place(racked("a"), 1, 2, placer=placer, rng=MockRandom())
            assert caught.value.hint == "use fewer replicas, or add brokers"

    def test_racks_are_judged_last(self):
        brokers = [*racked("a", None), broker(1, "a")]
        with pytest.raises(InvalidAssignment, match="broker 1 appears twice"):
            place(brokers, 1, 9, placer=KIP36)

    def test_a_rack_mode_may_be_its_text_and_no_other(self):
        assert place(SIX, 1, 1, placer=KIP36, racks="safe").as_dict() == {0: [0]}
        with pytest.raises(ValueError, match="lenient"):
            place(SIX, 1, 1, placer=KIP36, racks="lenient")


class TestWhatPlacersSee:
    def test_the_request_as_it_was_made(self):
        seen, load, rng = Seen(), Load(replicas={1: 5}), JavaRandom(1)
        made = place(SIX, 3, 2, placer=seen, first_partition=4, load=load, rng=rng)
        assert made.first == seen.request.first_partition == 4
        assert (seen.request.partitions, seen.request.replication) == (3, 2)
        assert seen.request.load is load
        assert seen.request.rng is rng
        assert seen.request.existing is None
        assert seen.request.brokers == SIX

    def test_a_first_partition_below_0_is_0(self):
        assert place(SIX, 1, 1, placer=KIP36, first_partition=-3).first == 0

    @pytest.mark.parametrize(
        ("mode", "racks"), [(RackMode.SAFE, [None] * 2), (RackMode.ONE_RACK, ["a", None])]
    )
    def test_racks_are_those_that_the_mode_leaves(self, mode, racks):
        seen = Seen()
        place(racked("a", None), 1, 1, placer=seen, racks=mode)
        assert [each.rack and each.rack.text for each in seen.request.brokers] == racks
        with pytest.raises(PartialRacks):
            place(racked("a", None), 1, 1, placer=seen)

    def test_fenced_brokers_and_those_not_listed_are_left_out_before_racks_are_judged(self):
        gone = broker(8, "b").__class__(id=8, is_live=False)
        seen = Seen()
        place([broker(3, "a"), broker(7, fenced=True), gone], 1, 1, placer=seen)
        assert [each.id for each in seen.request.brokers] == [3]

    def test_striped_is_given_fenced_brokers_but_none_that_is_gone(self):
        gone = broker(8).__class__(id=8, is_live=False)
        brokers = [gone, broker(5, fenced=True), broker(3)]
        made = place(brokers, 1, 2, placer=Striped(), rng=MockRandom())
        assert made.as_dict() == {0: [3, 5]}


class TestCordonedBrokers:
    """KIP-1066: a broker whose log folders are all cordoned takes no new replicas."""

    CORDONED = LogDir(path="/data/a", is_cordoned=True)
    CLOSED = replace(broker(4, "a"), log_dirs=(CORDONED,))
    HALF = replace(broker(5, "b"), log_dirs=(CORDONED, LogDir(path="/data/b")))

    @pytest.mark.parametrize("placer", [KIP36, Levels(), Striped(), Unaware(start=0)])
    def test_only_a_broker_with_a_free_folder_takes_replicas(self, placer):
        brokers = [broker(1, "a"), broker(2, "b"), self.CLOSED, self.HALF]
        made = place(brokers, 12, 2, placer=placer, rng=JavaRandom(1))
        assert set(made.rows.ravel().tolist()) == {1, 2, 5}

    @pytest.mark.parametrize("placer", [Levels(), Striped()])
    def test_too_few_brokers_name_the_cordoned_ones(self, placer):
        brokers = [broker(1, "a"), self.CLOSED, replace(self.CLOSED, id=3)]
        with pytest.raises(NotEnoughBrokers) as caught:
            place(brokers, 1, 2, placer=placer, rng=JavaRandom(1))
        assert caught.value.hint == "use fewer replicas, or uncordon the brokers: 3, 4"

    @pytest.mark.parametrize(
        ("placer", "message"),
        [
            (Levels(), "replication 1 needs 1 broker to take replicas; the cluster has 0"),
            (
                Striped(),
                (
                    "a leader needs a broker that takes replicas; 0 of 2 brokers are unfenced and "
                    "not cordoned"
                ),
            ),
        ],
    )
    def test_the_error_does_not_say_that_a_cordoned_broker_is_fenced(self, placer, message):
        brokers = [self.CLOSED, broker(9, fenced=True)]
        with pytest.raises(NotEnoughBrokers) as caught:
            place(brokers, 1, 1, placer=placer, rng=JavaRandom(1))
        assert str(caught.value) == message
        assert caught.value.hint == (
            "use fewer replicas, or start the fenced brokers: 9, or uncordon the brokers: 4"
        )

    def test_fenced_and_cordoned_brokers_that_are_too_few_together(self):
        brokers = [broker(1, "a"), self.CLOSED, broker(9, fenced=True)]
        with pytest.raises(NotEnoughBrokers) as caught:
            place(brokers, 1, 3, placer=Striped(), rng=JavaRandom(1))
        assert str(caught.value) == (
            "replication 3 needs 3 brokers; the cluster has 2, including fenced ones and without "
            "cordoned ones"
        )
        assert caught.value.hint == "use fewer replicas, or uncordon the brokers: 4"

    def test_partitions_are_added_elsewhere_and_old_rows_stay(self):
        brokers = [broker(1, "a"), broker(2, "b"), self.CLOSED]
        made = add_partitions(Placement.of({0: [4, 2]}), brokers, 3, placer=Levels())
        assert set(made.rows.ravel().tolist()) == {1, 2}

    def test_rows_on_a_cordoned_broker_cannot_change_their_replication(self):
        with pytest.raises(UnknownBroker, match="broker 4, which is missing, fenced or cordoned"):
            change_replication(Placement.of({0: [4]}), [broker(1, "b"), self.CLOSED], 1)


class TestAddPartitions:
    def test_new_rows_alone_are_returned_and_old_ones_are_shown(self):
        existing, seen = Placement.of({0: [0, 1], 1: [1, 2]}), Seen()
        new = add_partitions(existing, SIX, 3, placer=seen)
        assert (new.first, len(new)) == (2, 3)
        assert seen.request.existing is existing
        assert (seen.request.first_partition, seen.request.replication) == (2, 2)

    @pytest.mark.parametrize(
        ("existing", "message"),
        [
            (
                Placement.of({1: [1]}),
                "expected 1 row from partition 0 on, each with replicas, got first partition 1",
            ),
            (
                Placement.of({}),
                "expected 0 rows from partition 0 on, each with replicas, got first partition 0",
            ),
            (
                Placement.of({0: []}),
                "expected 1 row from partition 0 on, each with replicas, got first partition 0",
            ),
        ],
    )
    def test_without_partition_0_there_is_nothing_to_continue(self, existing, message):
        with pytest.raises(InvalidAssignment) as caught:
            add_partitions(existing, SIX, 1, placer=KIP36, topic="t")
        assert message in str(caught.value)
        assert caught.value.upstream == (
            "org.apache.kafka.server.common.AdminOperationException",
            "Unexpected existing replica assignment for topic 't', partition id 0 is missing.",
        )

    @pytest.mark.parametrize(("count", "total"), [(0, "2"), (-1, "1"), (True, "True")])
    def test_partitions_can_only_become_more(self, count, total):
        with pytest.raises(InvalidPartitions) as caught:
            add_partitions(Placement.of({0: [0], 1: [1]}), SIX, count, placer=KIP36, topic="orders")
        assert str(caught.value) == f"invalid partitions to add: expected at least 1, got {count}"
        assert caught.value.upstream == (
            "org.apache.kafka.common.errors.InvalidPartitionsException",
            (
                "The number of partitions for a topic can only be increased. Topic orders "
                f"currently has 2 partitions, {total} would not be an increase."
            ),
        )

    def test_rows_of_different_length_tell_of_a_running_reassignment(self):
        existing = Placement.of({0: [0, 1, 2], 1: [1, 2, 3], 2: [2, 3, 4], 3: [3, 4, 5, 0]})
        with pytest.raises(InvalidAssignment) as caught:
            add_partitions(existing, SIX, 1, placer=KIP36, topic="t")
        assert str(caught.value) == "topic t partition 3 has 4 replicas, partition 0 has 3"
        assert "wait" in caught.value.hint

    def test_a_broker_that_is_gone_is_no_matter(self):
        new = add_partitions(Placement.of({0: [77, 1]}), SIX, 2, placer=KIP36)
        assert new.first == 1


class TestChangeReplication:
    EXISTING = Placement.of({3: [0, 1], 4: [1, 2]})

    def test_all_rows_are_asked_for(self):
        seen = Seen()
        made = change_replication(self.EXISTING, SIX, 3, placer=seen)
        assert (made.first, made.rows.shape) == (3, (2, 3))
        assert seen.request.existing is self.EXISTING
        assert (seen.request.partitions, seen.request.first_partition) == (2, 3)

    def test_the_default_keeps_old_rows_in_front(self):
        made = change_replication(self.EXISTING, SIX, 3)
        assert made.rows[:, :2].tolist() == self.EXISTING.rows.tolist()
        assert change_replication(made, SIX, 2, placer=Levels()).first == 3

    @pytest.mark.parametrize("placer", [KIP36, Striped()])
    def test_not_every_placer_can(self, placer):
        with pytest.raises(InvalidPlacer) as caught:
            change_replication(self.EXISTING, SIX, 3, placer=placer)
        assert (
            str(caught.value)
            == f'placer "{placer.name}" cannot change the replication of existing partitions'
        )
        assert caught.value.hint == "--placer levels"

    @pytest.mark.parametrize("brokers", [SIX[:2], [*SIX[:2], broker(2, "c", fenced=True), SIX[5]]])
    def test_a_broker_that_is_gone_or_fenced_is_named(self, brokers):
        with pytest.raises(UnknownBroker) as caught:
            change_replication(self.EXISTING, brokers, 1)
        assert (
            str(caught.value) == "partition 4 is on broker 2, which is missing, fenced or cordoned"
        )
        assert "start or uncordon that broker" in caught.value.hint

    def test_rows_of_different_length_are_refused(self):
        with pytest.raises(InvalidAssignment, match="partition 1 has 1 replica, partition 0 has"):
            change_replication(Placement.of({0: [0, 1], 1: [1]}), SIX, 2)

    def test_a_strangers_rows_are_checked(self):
        class Twice(Seen):
            name = "twice"

            def change(self, request, /):
                return np.zeros((request.partitions, request.replication), dtype=np.int32)

        with pytest.raises(InvalidPlacer, match='"twice" put partition 3 twice'):
            change_replication(self.EXISTING, SIX, 3, placer=Twice())


def test_rows_do_not_hang_on_the_order_of_hashes():
    script = (
        "from rackwise import *; from rackwise.core.placement import *\n"
        "b = [Broker(id=i, rack=Rack('/r' + str(i % 5))) for i in range(23)]\n"
        "for p in (Kip36(start=1), Striped(), Ring(), Levels()):\n"
        "    print(place(b, 90, 4, placer=p, rng=JavaRandom(7)).rows.tolist())"
    )
    told = [
        subprocess.run(
            [sys.executable, "-c", script],
            env={"PYTHONHASHSEED": seed, "PYTHONPATH": ":".join(sys.path)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in "01"
    ]
    assert told[0] == told[1]
    assert told[0].count("\n") == 4
