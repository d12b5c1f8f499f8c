"""Assignors in aiokafka's own objects, without a broker."""

from __future__ import annotations

import asyncio

import pytest
from aiokafka import AIOKafkaConsumer
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.coordinator.protocol import (
    ConsumerProtocol,
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)

from assignments import tps
from client_metadata import NOWHERE, aiokafka_answer, aiokafka_metadata
from rackwise.adapters.clients import private
from rackwise.adapters.clients.aiokafka.group import (
    RackAssignor,
    RackOptimal,
    RackRange,
    RackRoundRobin,
    RackSticky,
    V3Metadata,
    attach,
    rack_consumer,
)
from rackwise.adapters.clients.group import AssignorRule
from rackwise.core.errors import InvalidConfig, RackMismatch, UnsupportedClient
from rackwise.core.wire.consumer import (
    Subscription,
    decode_assignment,
    decode_blob,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)

BROKERS = {1: "a", 2: "b", 3: "c"}
NEAR = {"t": [[1], [2], [3]]}
BOTH = {"t": [[1, 2], [2, 1]]}


class Failing(RackAssignor):
    """An assignor with a fault."""

    rule = AssignorRule(name="failing")

    def decide(self, _members, _racks):
        message = "no answer today"
        raise ValueError(message)


def given(partitions):
    return ConsumerProtocolMemberAssignment.decode(encode_assignment(3, partitions))


def lead(assignor, *others, brokers=BROKERS, topics=NEAR):
    """One round in which the assignor leads `m0`, decoded as the client decodes."""
    told = [assignor.metadata({"t"}), *others]
    members = {f"m{i}": ConsumerProtocol.METADATA.decode(data) for i, data in enumerate(told)}
    answers = assignor.assign(aiokafka_metadata(brokers, topics), members)
    return {member: decode_assignment(data).partitions for member, data in answers.items()}


@pytest.mark.parametrize("assignor", [RackRange, RackSticky, RackOptimal])
def test_what_a_leader_answers_is_local(assignor):
    leader = assignor("c")
    found = lead(leader, *(assignor(rack).metadata({"t"}) for rack in "ab"))
    assert found == {"m0": tps("t-2"), "m1": tps("t-0"), "m2": tps("t-1")}
    assert (leader.last_report.local, leader.fallbacks, leader.last_error) == (3, 0, None)


def test_roundrobin_looks_at_no_rack():
    found = lead(RackRoundRobin("c"), RackRoundRobin("a").metadata({"t"}))
    assert found == {"m0": tps("t-0 t-2"), "m1": tps("t-1")}


def test_instance_ids_travel_in_the_blob():
    first, second = RackRange(), RackRange()

    def use(*consumers):
        for consumer, member in zip(consumers, (first, second), strict=True):
            attach(consumer, member)

    with_consumer(
        use,
        {"group_instance_id": "i-2", "partition_assignment_strategy": [first]},
        {"group_instance_id": "i-1", "partition_assignment_strategy": [second]},
    )
    found = lead(first, second.metadata({"t"}))
    assert found == {"m0": tps("t-2"), "m1": tps("t-0 t-1")}


@pytest.mark.parametrize("assignor", [RackSticky, RackOptimal])
def test_members_keep_what_they_had(assignor):
    leader, other = assignor(None), assignor(None)
    leader.on_assignment(given(tps("t-2")))
    other.on_assignment(given(tps("t-0 t-1")))
    assert lead(leader, other.metadata({"t"})) == {"m0": tps("t-2"), "m1": tps("t-0 t-1")}


def test_a_memory_is_no_claim():
    told = RackOptimal("a")
    told.on_assignment(given(tps("t-0")))
    said = decode_subscription(told.metadata({"t"}))
    assert (said.owned, said.rack) == ((), "a")
    assert decode_blob(said.user_data).owned == tps("t-0")


def java(rack):
    return encode_subscription(Subscription(topics=("t",), user_data=None, rack=rack))


@pytest.mark.parametrize("assignor", [RackRange, RackSticky, RackOptimal])
def test_a_leader_reads_the_racks_of_members_that_are_not_ours(monkeypatch, assignor):
    monkeypatch.setattr(ConsumerProtocol, "METADATA", ConsumerProtocolMemberMetadata)
    leader = assignor("c")
    found = lead(leader, java("a"), java("b"))
    assert found == {"m0": tps("t-2"), "m1": tps("t-0"), "m2": tps("t-1")}
    assert leader.last_report.unknown == 0


def test_the_decoder_reads_what_only_aiokafka_can():
    old = ConsumerProtocolMemberMetadata(-1, ["t"], b"").encode()
    read = V3Metadata.decode(old)
    assert (read.subscription, read.rack) == (["t"], None)


def test_the_built_in_assignors_read_what_ours_say():
    members = {
        f"m{i}": ConsumerProtocol.METADATA.decode(RackRange(rack).metadata({"t"}))
        for i, rack in enumerate("ab")
    }
    found = RangePartitionAssignor.assign(aiokafka_metadata(BROKERS, NEAR), members)
    assert sum(len(each.partitions()) for each in found.values()) == 3


def test_what_a_cooperative_member_of_another_client_reads_is_withheld():
    reading = Subscription(topics=("t",), owned=tps("t-0 t-1"), generation=3, rack="b")
    leader = RackOptimal("a")
    found = lead(leader, encode_subscription(reading), brokers={1: "a", 2: "b"}, topics=BOTH)
    assert found == {"m0": (), "m1": tps("t-0")}
    assert leader._participant._last[0].withheld == {tps("t-1")[0]: "m0"}


class TestNothingLeavesACallback:
    def test_an_assignor_that_fails_is_replaced_by_range_without_racks(self):
        """F31: an assignor that raises leaves no callback, and its group goes on."""
        leader = Failing("a")
        assert lead(leader, Failing("b").metadata({"t"})) == {
            "m0": tps("t-0 t-1"),
            "m1": tps("t-2"),
        }
        assert (leader.fallbacks, str(leader.last_error)) == (1, "no answer today")

    def test_what_is_none_is_counted(self):
        member = RackRange("r" * 2**15)
        assert decode_subscription(member.metadata({"t"})).topics == ("t",)
        assert decode_assignment(member.assign(None, {"m": None})["m"]).partitions == ()
        member.on_assignment(None)
        assert member.fallbacks == 3


def with_consumer(use, *configs, make=AIOKafkaConsumer):
    """Call `use` with consumers of aiokafka that never meet a broker, one for each configs."""

    async def made():
        consumers = [make("t", bootstrap_servers=NOWHERE, group_id="g", **each) for each in configs]
        try:
            use(*consumers)
        finally:
            for each in consumers:
                await each.stop()

    asyncio.run(made())


class TestAttach:
    @pytest.mark.parametrize("client_rack", [None, "b"])
    def test_to_a_consumer_in_another_rack_is_refused(self, client_rack):
        member = RackRange("a")
        with pytest.raises(RackMismatch, match='expected "a" as the assignor reports it'):
            with_consumer(
                lambda made: attach(made, member),
                {"client_rack": client_rack, "partition_assignment_strategy": [member]},
            )

    def test_of_an_assignor_that_is_not_the_consumers_is_refused(self):
        member = RackRange("a")
        with pytest.raises(InvalidConfig, match="is not in the partition_assignment_strategy"):
            with_consumer(
                lambda made: attach(made, member),
                {"client_rack": "a", "partition_assignment_strategy": [RackRange("a")]},
            )
        assert member.attached() is None

    def test_to_no_consumer_is_refused(self):
        with pytest.raises(UnsupportedClient, match="expected a consumer of aiokafka, got object"):
            attach(object(), RackRange("a"))

    def test_of_one_assignor_to_two_consumers_is_refused(self):
        member = RackRange("a")

        def use(first, second):
            for _ in range(2):
                attach(first, member)
            with pytest.raises(InvalidConfig, match="already attached to another consumer"):
                attach(second, member)

        config = {"client_rack": "a", "partition_assignment_strategy": [member]}
        with_consumer(use, config, config)

    def test_lets_a_leader_ask_when_racks_change_for_good(self, monkeypatch):
        asked = []
        monkeypatch.setattr(private, "request_rejoin", asked.append)
        monkeypatch.setattr(private, "generation", lambda _consumer: 7)
        member = RackSticky("a")

        def use(consumer):
            attach(consumer, member)
            cluster = consumer._client.cluster
            cluster.update_metadata(aiokafka_answer(BROKERS, NEAR))
            lead(member, RackSticky("b").metadata({"t"}))
            member.on_assignment(given(tps("t-0")))
            cluster.update_metadata(aiokafka_answer({1: "a", 2: "b"}, NEAR))
            cluster.update_metadata(aiokafka_answer(BROKERS, NEAR))
            assert asked == []
            for _ in range(2):
                cluster.update_metadata(aiokafka_answer(BROKERS, {"t": [[1], [2], [1]]}))
            assert asked == [consumer]
            member.on_metadata(None)
            assert (
                decode_blob(decode_subscription(member.metadata({"t"})).user_data).generation == 7
            )

        with_consumer(use, {"client_rack": "a", "partition_assignment_strategy": [member]})
        assert member.fallbacks == 1


class TestRackConsumer:
    def test_takes_classes_objects_and_the_clients_own(self, caplog):
        mine = RackOptimal(balance="per-topic")
        strategy = [mine, RackRange, RangePartitionAssignor]

        def use(consumer):
            optimal, plain, theirs = consumer._partition_assignment_strategy
            assert (optimal, theirs) == (mine, RangePartitionAssignor)
            assert isinstance(plain, RackRange)
            for each in (optimal, plain):
                said = decode_subscription(each.metadata({"t"}))
                assert (said.rack, each.attached()) == ("a", consumer)
                assert decode_blob(said.user_data).instance_id == "i"
            assert consumer._client_rack == "a"
            assert consumer.subscription() == {"t"}

        configs = {"client_rack": "a", "group_instance_id": "i"}
        with_consumer(
            use, {**configs, "partition_assignment_strategy": strategy}, make=rack_consumer
        )
        assert caplog.records == []

    def test_has_range_unless_told_otherwise(self):
        def use(consumer):
            (member,) = consumer._partition_assignment_strategy
            assert (type(member), member.attached()) == (RackRange, consumer)

        with_consumer(use, {"client_rack": "a"}, make=rack_consumer)

    @pytest.mark.parametrize(
        ("configs", "error", "told"),
        [
            ({"client_rack": None}, InvalidConfig, "expected the rack of this process, got none"),
            ({"client_rack": ""}, InvalidConfig, "expected the rack of this process, got none"),
            (
                {"client_rack": "a", "partition_assignment_strategy": RackRange},
                InvalidConfig,
                "at least one of them from rackwise.aiokafka, got rackwise.aiokafka.RackRange",
            ),
            (
                {"client_rack": "a", "partition_assignment_strategy": [RackRange("b")]},
                RackMismatch,
                'expected "b" as the assignor reports it, got "a"',
            ),
        ],
    )
    def test_refuses_before_it_creates_a_consumer(self, configs, error, told):
        with pytest.raises(error, match=told):
            rack_consumer("t", **configs)
