"""When the leader of a group asks for a new assignment, in kafka-python's own objects."""

from __future__ import annotations

import pytest

from assignments import tps
from client_metadata import BROKERS, TOPICS, answer, consumer, given, lead
from rackwise.adapters.clients.kafka_python.group import (
    RackCooperativeSticky,
    RackRange,
    attach,
)


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def attached(clock):
    """A consumer whose assignor has just led a round, and that metadata can be told to."""
    assignor = RackRange("a", clock=clock)
    with consumer(assignor, client_rack="a") as made:
        attach(made, assignor)
        made._client.cluster.update_metadata(answer(BROKERS, TOPICS))
        lead(assignor, RackRange("b").metadata({"t"}))
        made._coordinator.rejoin_needed = False
        assignor.on_assignment(given(tps("t-0 t-2")), 1)
        yield made


def shown(made, brokers, topics, in_sync=None):
    """Whether the consumer means to join again after it saw this."""
    made._client.cluster.update_metadata(answer(brokers, topics, in_sync))
    asked, made._coordinator.rejoin_needed = made._coordinator.rejoin_needed, False
    return asked


class TestTheWatch:
    def test_a_restart_of_a_broker_asks_for_nothing(self, attached):
        assert not shown(attached, {1: "a", 2: "b"}, TOPICS)
        assert not shown(attached, BROKERS, TOPICS)

    def test_a_replica_in_another_rack_asks_once(self, attached):
        moved = {"t": [[1, 3], [2, 3], [3, 1]]}
        assert shown(attached, BROKERS, moved)
        assert not shown(attached, BROKERS, moved)

    def test_a_replica_that_still_copies_asks_for_nothing(self, attached):
        begun = {"t": [[1, 2, 3], [2, 3], [3, 1]]}
        assert not shown(attached, BROKERS, begun, in_sync=TOPICS)
        assert shown(attached, BROKERS, begun)

    def test_another_leader_asks_for_nothing(self, attached):
        assert not shown(attached, BROKERS, {"t": [[2, 1], [3, 2], [1, 3]]})

    def test_a_change_too_soon_is_asked_for_later(self, attached, clock):
        assert shown(attached, BROKERS, {"t": [[1, 3], [2, 3], [3, 1]]})
        clock.seconds = 59
        assert not shown(attached, BROKERS, {"t": [[2, 3], [2, 3], [3, 1]]})
        clock.seconds = 60
        assert shown(attached, BROKERS, {"t": [[2, 3], [2, 3], [3, 1]]})

    def test_a_change_while_the_group_assigns_is_asked_for_behind_it(self, attached):
        (assignor,) = attached.config["partition_assignment_strategy"]
        lead(assignor, RackRange("b").metadata({"t"}))
        assert not shown(attached, BROKERS, {"t": [[1, 3], [2, 3], [3, 1]]})
        assignor.on_assignment(given(tps("t-0")), 2)
        assert attached._coordinator.rejoin_needed

    def test_only_the_leader_asks(self, attached):
        (assignor,) = attached.config["partition_assignment_strategy"]
        assignor.metadata({"t"})
        assignor.on_assignment(given(tps("t-0")), 2)
        assert not shown(attached, BROKERS, {"t": [[1, 3], [2, 3], [3, 1]]})

    def test_a_member_that_does_not_lead_remembers_racks_of_brokers(self):
        member = RackRange("c")
        with consumer(member, client_rack="c") as made:
            attach(made, member)
            made._client.cluster.update_metadata(answer(BROKERS, TOPICS))
            lead(member, topics={"t": [[3], [1]]}, brokers={1: "a", 2: "b"})
        assert member.last_report.local == 1

    def test_a_leader_that_withheld_something_asks(self):
        leader, other = RackCooperativeSticky("a"), RackCooperativeSticky("b")
        with consumer(leader, client_rack="a") as made:
            attach(made, leader)
            made._client.cluster.update_metadata(answer(BROKERS, TOPICS))
            other.on_assignment(given(tps("t-0 t-1 t-2")), 3)
            lead(leader, other.metadata({"t"}))
            made._coordinator.rejoin_needed = False
            leader.on_assignment(given(()), 4)
            assert made._coordinator.rejoin_needed
            lead(leader)
            made._coordinator.rejoin_needed = False
            leader.on_assignment(given(tps("t-0 t-1 t-2")), 5)
            assert not made._coordinator.rejoin_needed


@pytest.mark.parametrize(("after", "told"), [(BROKERS, 0), ({**BROKERS, 2: "z"}, 1)])
def test_without_a_consumer_changes_are_logged_when_they_are_met(caplog, after, told):
    caplog.set_level("INFO", logger="rackwise")
    leader = RackRange("a")
    lead(leader)
    lead(leader, brokers=after)
    found = [each for each in caplog.messages if "since the last round" in each]
    assert found == ["range: racks of 2 partitions changed since the last round"] * told
