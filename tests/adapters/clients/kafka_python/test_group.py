"""Assignors in kafka-python's own objects, without a broker."""

from __future__ import annotations

import gc
import logging
import weakref
from contextlib import closing

import pytest
from kafka.coordinator.assignors.abstract import RebalanceProtocol
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaConfigurationError

from assignments import hide_solver, tps
from client_metadata import (
    BROKERS,
    TOPICS,
    answer,
    consumer,
    given,
    joined,
    lead,
    metadata,
    read,
    said,
)
from rackwise.adapters.clients import private
from rackwise.adapters.clients.aiokafka.group import RackRange as AIOKafkaRackRange
from rackwise.adapters.clients.group import AssignorRule
from rackwise.adapters.clients.kafka_python.group import (
    RackAssignor,
    RackCooperativeSticky,
    RackOptimal,
    RackRange,
    RackRoundRobin,
    RackSticky,
    attach,
    rack_consumer,
)
from rackwise.core.errors import (
    InvalidConfig,
    InvalidWeights,
    MissingDependency,
    RackMismatch,
    RackwiseError,
    UnsupportedClient,
)
from rackwise.core.wire.consumer import (
    Subscription,
    decode_blob,
    decode_sticky_user_data,
    encode_subscription,
)

ALL = (RackRange, RackRoundRobin, RackSticky, RackCooperativeSticky, RackOptimal)
KEEPING = (RackCooperativeSticky, RackOptimal)
OFFLINE = {"group_id": "g", "bootstrap_servers": "127.0.0.1:1", "api_version": (3, 9)}


class Failing(RackAssignor):
    """An assignor with a fault."""

    rule = AssignorRule(name="failing")

    def decide(self, _members, _racks):
        message = "no answer today"
        raise ValueError(message)


class TestWhatAMemberSays:
    @pytest.mark.parametrize("assignor", ALL)
    def test_has_its_rack_for_every_leader(self, assignor):
        told = said(assignor("a"), ["u", "t"])
        assert (told.version, told.topics, told.rack) == (3, ("t", "u"), "a")
        assert decode_blob(told.user_data).rack == "a"

    @pytest.mark.parametrize("rack", [None, ""])
    def test_without_a_rack(self, rack):
        assert said(RackRange(rack)).rack is None

    @pytest.mark.parametrize("assignor", KEEPING)
    def test_names_what_it_keeps(self, assignor):
        member = assignor("a")
        member.on_assignment(given(tps("t-0 t-2")), 7)
        told = said(member)
        assert (told.owned, told.generation) == (tps("t-0 t-2"), 7)
        assert decode_blob(told.user_data).owned == ()

    @pytest.mark.parametrize("assignor", KEEPING)
    def test_of_an_eager_member_is_a_memory_in_the_blob(self, assignor):
        member = assignor("a", mode="eager")
        member.on_assignment(given(tps("t-0 t-2")), 7)
        told = said(member)
        assert (told.owned, told.generation) == ((), -1)
        blob = decode_blob(told.user_data)
        assert (blob.owned, blob.generation) == (tps("t-0 t-2"), 7)

    @pytest.mark.parametrize("assignor", [RackRange, RackRoundRobin])
    def test_is_the_same_in_every_generation_where_nothing_is_kept(self, assignor):
        """A coordinator starts a round for a member that says something new."""
        member = assignor("a")
        first = member.metadata({"t"})
        for generation in (1, 2):
            member.on_assignment(given(tps("t-0")), generation)
            assert member.metadata({"t"}) == first

    def test_of_sticky_is_javas_user_data(self):
        member = RackSticky("a")
        member.on_assignment(given(tps("t-1")), 4)
        told = said(member)
        assert told.owned == ()
        assert decode_sticky_user_data(told.user_data) == (tps("t-1"), 4)

    @pytest.mark.parametrize("assignor", ALL)
    def test_is_in_one_mode_alone(self, assignor):
        mode = RebalanceProtocol.COOPERATIVE if assignor in KEEPING else RebalanceProtocol.EAGER
        assert assignor("a").supported_protocols() == [mode]

    def test_modes_do_not_mix_in_a_consumer(self):
        assignors = RackRange("a"), RackCooperativeSticky("a")
        with pytest.raises(KafkaConfigurationError), consumer(*assignors, client_rack="a"):
            pass
        both = RackRange("a"), RackCooperativeSticky("a", mode="eager")
        with consumer(*both, client_rack="a") as made:
            attach(made, *both)

    def test_in_a_mode_there_is_not_is_refused(self):
        with pytest.raises(InvalidConfig, match='one of eager, cooperative, got "lazy"'):
            RackCooperativeSticky("a", mode="lazy")


class TestWhatALeaderAnswers:
    @pytest.mark.parametrize(
        "assignor", [RackRange, RackSticky, RackCooperativeSticky, RackOptimal]
    )
    def test_is_local(self, assignor):
        leader = assignor("c")
        others = [assignor(rack).metadata({"t"}) for rack in "ab"]
        assert lead(leader, *others, topics={"t": [[1], [2], [3]]}) == {
            "m0": tps("t-2"),
            "m1": tps("t-0"),
            "m2": tps("t-1"),
        }
        assert (leader.last_report.local, leader.fallbacks) == (3, 0)

    def test_of_roundrobin_looks_at_no_rack(self):
        leader = RackRoundRobin("c")
        assert lead(leader, RackRoundRobin("a").metadata({"t"})) == {
            "m0": tps("t-0 t-2"),
            "m1": tps("t-1"),
        }
        assert leader.last_report.local == 1

    def test_heeds_the_rack_of_a_member_that_says_it_in_its_blob_alone(self):
        blob = said(RackRange("a")).user_data
        old = encode_subscription(Subscription(version=0, topics=("t",), user_data=blob))
        found = lead(RackRange("b"), old, topics={"t": [[2], [1]]})
        assert found == {"m0": tps("t-0"), "m1": tps("t-1")}

    def test_goes_on_with_a_member_whose_blob_is_cut(self, caplog):
        cut = encode_subscription(Subscription(topics=("t",), user_data=b"RW\x01\x00", rack="a"))
        leader = RackRange("b")
        found = lead(leader, cut, topics={"t": [[2], [1]]})
        assert {len(each) for each in found.values()} == {1}
        assert "member m1: user data: offset 3" in caplog.text
        assert leader.fallbacks == 0

    def test_skips_topics_without_metadata(self):
        other = RackRange("a").metadata({"t", "absent"})
        assert lead(RackRange("b"), other) == {"m0": tps("t-0 t-1"), "m1": tps("t-2")}

    def test_withholds_what_another_member_keeps(self):
        leader, other = RackCooperativeSticky("a"), RackCooperativeSticky("b")
        other.on_assignment(given(tps("t-0 t-1 t-2")), 3)
        leader.on_assignment(given(()), 3)
        found = lead(leader, other.metadata({"t"}))
        assert (found["m0"], len(found["m1"])) == ((), 2)

    def test_gives_at_once_what_a_member_only_remembers(self):
        leader, other = RackOptimal("a"), RackOptimal("b", mode="eager")
        other.on_assignment(given(tps("t-0 t-1 t-2")), 3)
        found = lead(leader, other.metadata({"t"}))
        assert sum(map(len, found.values())) == 3

    def test_reads_the_generation_of_javas_first_cooperative_members(self):
        old, new = (
            encode_subscription(
                Subscription(
                    version=1, topics=("t",), owned=tps(owned), user_data=bytes([0, 0, 0, number])
                )
            )
            for owned, number in (("t-0", 1), ("t-0", 2))
        )
        found = lead(RackCooperativeSticky(None), old, new)
        assert "t-0" in {str(tp) for tp in found["m2"]}

    def test_keeps_the_rack_of_a_broker_that_is_away(self):
        leader = RackRange("c")
        other = RackRange("a").metadata({"t"})
        topics = {"t": [[3], [1]]}
        lead(leader, other, topics=topics)
        found = lead(leader, other, topics=topics, brokers={1: "a", 2: "b"})
        assert found == {"m0": tps("t-0"), "m1": tps("t-1")}
        assert leader.last_report.local == 2


class TestNothingLeavesACallback:
    def test_an_assignor_that_fails_is_replaced_by_range_without_racks(self, caplog):
        """F31: an assignor that raises leaves no callback, and its group goes on."""
        leader = Failing("a")
        other = Failing("b").metadata({"t"})
        assert lead(leader, other) == {"m0": tps("t-0 t-1"), "m1": tps("t-2")}
        assert (leader.fallbacks, str(leader.last_error)) == (1, "no answer today")
        errors = [each for each in caplog.records if each.levelno >= logging.ERROR]
        assert len(errors) == 1
        assert "Traceback" in caplog.text
        assert leader.last_error.__traceback__ is None  # its frames would keep the consumer

    def test_nor_in_the_cooperative_mode(self):
        class Keeping(Failing):
            rule = AssignorRule(name="keeping", travel="owned", mode="cooperative")

        leader, other = Keeping("a"), Keeping("b")
        other.on_assignment(given(tps("t-0 t-1 t-2")), 3)
        found = lead(leader, other.metadata({"t"}))
        assert found["m0"] == ()
        assert leader.fallbacks == 1

    def test_members_that_are_none_get_nothing(self):
        leader = RackRange("a")
        odd = joined("m1", RackRange("b").metadata({"t"}))
        odd.metadata = None
        assert read(leader.assign(metadata(BROKERS, TOPICS), [odd])) == {"m1": ()}
        assert isinstance(leader.last_error, AttributeError)

    def test_what_cannot_be_told_is_told_plainly(self):
        member = RackRange("r" * 2**15)
        assert said(member) == Subscription(topics=("t",))
        assert isinstance(member.last_error, RackwiseError)

    def test_and_names_what_it_keeps(self):
        member = RackCooperativeSticky("r" * 2**15)
        member.on_assignment(given(tps("t-0")), 7)
        assert said(member) == Subscription(topics=("t",), owned=tps("t-0"), generation=7)

    def test_an_assignment_that_is_none_is_counted(self):
        member = RackRange("a")
        member.on_assignment(None, 1)
        assert member.fallbacks == 1

    def test_metadata_that_is_none_is_counted(self):
        member = RackRange("a")
        with consumer(member, client_rack="a") as made:
            attach(made, member)
            made._client.cluster.update_metadata(answer(BROKERS, TOPICS))
            lead(member)
            member.on_assignment(given(tps("t-0")), 1)
            member.on_metadata(None)
        assert member.fallbacks == 1


class TestAttach:
    def test_tells_what_the_consumer_has_and_not_what_it_had(self):
        member = RackCooperativeSticky("a")
        with consumer(member, client_rack="a", group_instance_id="i-7") as made:
            attach(made, member)
            member.on_assignment(given(tps("t-0 t-1")), 7)
            lost = said(member)
            assert (lost.owned, lost.generation) == ((), -1)
            assert decode_blob(lost.user_data).instance_id == "i-7"
            made._subscription.assign_from_subscribed(list(tps("t-1")))
            assert said(member).owned == tps("t-1")
            assert said(member).generation == 7

    @pytest.mark.parametrize(("client_rack", "rack"), [("", "a"), ("b", "a")])
    def test_to_a_consumer_in_another_rack_is_refused(self, client_rack, rack):
        member = RackRange(rack)
        with (
            consumer(member, client_rack=client_rack) as made,
            pytest.raises(
                RackMismatch, match=f'expected "{rack}" as .*, got "{client_rack}"'
            ) as caught,
        ):
            attach(made, member)
        assert "rack_consumer" in caught.value.hint

    def test_to_a_client_of_another_version_is_refused(self):
        with pytest.raises(
            UnsupportedClient, match=r"expected kafka-python >=3\.0\.12,<3\.1, got 3\.1\.0"
        ):
            private.check_version("kafka-python", "3.1.0")

    def test_keeps_no_consumer_alive(self):
        member = RackRange("a")
        with consumer(member, client_rack="a") as made:
            attach(made, member)
            seen = weakref.ref(made)
        del made
        gc.collect()
        assert seen() is None
        assert said(member).rack == "a"

    def test_gives_a_member_the_rack_of_its_consumer(self, caplog):
        member = RackSticky()
        with consumer(member, client_rack="b") as made:
            attach(made, member)
            assert said(member).rack == "b"
        assert warned(caplog) == []


def warned(caplog):
    """What Rackwise has logged; a client without a broker logs more."""
    return [each.getMessage() for each in caplog.records if each.name.startswith("rackwise")]


def made_for(*strategy, rack="a"):
    """The assignors of a consumer that is created with this strategy."""
    with closing(
        rack_consumer("t", client_rack=rack, partition_assignment_strategy=[*strategy], **OFFLINE)
    ) as made:
        assert (made.config["client_rack"], made.subscription()) == (rack, {"t"})
        return made.config["partition_assignment_strategy"]


class TestRackConsumer:
    def test_takes_classes_and_gives_them_its_rack_and_mode(self, caplog):
        optimal, plain = made_for(RackOptimal, RackRange)
        assert (optimal.name, plain.name) == ("rack-optimal", "range")
        for each in (optimal, plain):
            assert said(each).rack == "a"
            assert each.supported_protocols() == [RebalanceProtocol.EAGER]
        assert warned(caplog) == []

    def test_takes_objects_without_a_rack_or_with_the_same(self):
        mine = RackOptimal(balance="per-topic", mode="eager"), RackRange("a")
        assert made_for(*mine) == [*mine]
        assert [said(each).rack for each in mine] == ["a", "a"]

    @pytest.mark.parametrize(
        ("strategy", "mode"),
        [
            ([RackOptimal], RebalanceProtocol.COOPERATIVE),
            ([RackOptimal, RackCooperativeSticky], RebalanceProtocol.COOPERATIVE),
            ([RackOptimal, CooperativeStickyAssignor], RebalanceProtocol.COOPERATIVE),
            ([RackOptimal, RangePartitionAssignor], RebalanceProtocol.EAGER),
            ([RackCooperativeSticky, RackOptimal(mode="eager")], RebalanceProtocol.EAGER),
        ],
    )
    def test_gives_classes_the_mode_of_the_rest(self, strategy, mode):
        assert {each.supported_protocols()[0] for each in made_for(*strategy)} == {mode}

    def test_has_range_unless_told_otherwise(self):
        with closing(rack_consumer("t", client_rack="a", **OFFLINE)) as made:
            (member,) = made.config["partition_assignment_strategy"]
            assert (type(member), member.attached(), member.rack) == (RackRange, made, "a")

    def test_refuses_an_assignor_of_another_rack(self):
        with pytest.raises(RackMismatch):
            made_for(RackRange("b"))

    @pytest.mark.parametrize(
        ("strategy", "had"),
        [
            (RackOptimal, "rackwise.kafka_python.RackOptimal"),
            ([AIOKafkaRackRange], "rackwise.aiokafka.RackRange"),
            ([AIOKafkaRackRange("a")], "rackwise.aiokafka.RackRange"),
            ("range", "'range'"),
            (["range"], "'range'"),
            ([RackRange, 5], "5"),
            ([RangePartitionAssignor], r"\[RangePartitionAssignor\]"),
            ([], r"\[\]"),
        ],
        ids=str,
    )
    def test_refuses_what_is_no_list_of_assignors(self, strategy, had):
        wanted = "expected a list of assignors, at least one of them from rackwise.kafka_python"
        with pytest.raises(InvalidConfig, match=f"{wanted}, got {had}$") as caught:
            rack_consumer("t", client_rack="a", partition_assignment_strategy=strategy)
        name = "RackOptimal" if strategy is RackOptimal else "RackRange"
        assert f"partition_assignment_strategy=[{name}]" in caught.value.hint

    def test_refuses_objects_of_different_modes(self):
        with pytest.raises(
            InvalidConfig,
            match="assignors of one mode, got rack-optimal cooperative, range eager",
        ) as caught:
            made_for(RackOptimal(), RackRange)
        assert "class RackOptimal" in caught.value.hint


class TestMistakes:
    """They are refused where they are made, not in a callback of every round."""

    @pytest.mark.parametrize(
        ("make", "error"),
        [
            pytest.param(lambda: RackRange(5), InvalidConfig, id="rack-5"),
            pytest.param(lambda: RackOptimal("a", balance="bogus"), InvalidConfig, id="balance"),
            pytest.param(
                lambda: RackOptimal("a", weights={("t", 0): 1.5}), InvalidWeights, id="weight"
            ),
            pytest.param(
                lambda: rack_consumer("t", client_rack=None),
                InvalidConfig,
                id="no-rack",
            ),
            pytest.param(
                lambda: rack_consumer("t", client_rack=""),
                InvalidConfig,
                id="empty-rack",
            ),
            pytest.param(
                lambda: rack_consumer("t", client_rack=" "),
                InvalidConfig,
                id="blank-rack",
            ),
            pytest.param(
                lambda: attach(object(), RackRange("a")), UnsupportedClient, id="no-consumer"
            ),
        ],
    )
    def test_at_construction(self, make, error):
        with pytest.raises(error):
            make()

    def test_weights_may_be_plain_pairs(self):
        assert lead(RackOptimal("a", weights={("t", 0): 1}))["m0"] == tps("t-0 t-1 t-2")

    def test_an_assignor_that_is_not_the_consumers(self):
        with (
            closing(rack_consumer("t", client_rack="a", **OFFLINE)) as made,
            pytest.raises(InvalidConfig, match="partition_assignment_strategy"),
        ):
            attach(made, RackRange("a"))

    def test_an_assignor_for_two_consumers(self):
        configs = {**OFFLINE, "partition_assignment_strategy": [RackRange()]}
        with (
            closing(rack_consumer("t", client_rack="a", **configs)),
            pytest.raises(InvalidConfig, match="already attached to another consumer"),
        ):
            rack_consumer("t", client_rack="a", **configs)


def test_without_a_solver_rack_optimal_says_so_at_once(monkeypatch):
    hide_solver(monkeypatch)
    with pytest.raises(MissingDependency, match="ortools") as caught:
        RackOptimal("a")
    assert caught.value.hint == "pip install rackwise"


def test_weights_of_other_topics_are_left_out():
    (t_0, gone) = tps("t-0 gone-0")
    assert lead(RackOptimal("a", weights={t_0: 5, gone: 7}))["m0"] == tps("t-0 t-1 t-2")


@pytest.mark.parametrize(
    ("theirs", "ours"),
    [(RangePartitionAssignor, RackRange), (CooperativeStickyAssignor, RackCooperativeSticky)],
)
def test_the_built_in_assignors_read_what_ours_say(theirs, ours):
    members = [joined(f"m{i}", ours(rack).metadata({"t"})) for i, rack in enumerate("ab")]
    found = theirs().assign(metadata(BROKERS, TOPICS), members)
    assert sorted(tp for each in found.values() for tp in each.partitions()) == list(
        tps("t-0 t-1 t-2")
    )
