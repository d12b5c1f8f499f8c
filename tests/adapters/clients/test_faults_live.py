"""Every record is read, and none twice for nothing, while brokers and members die and racks change.

Two groups read the same topic at the same time: an eager one of both clients, and a cooperative one
that also has a member in a process of its own.
"""

from __future__ import annotations

from contextlib import closing, contextmanager

import pytest

from assignments import group_of
from at_least_once import CommittingCrew, committing, has_uncommitted, load
from kafka_traffic import create, until
from rackwise.adapters.clients.aiokafka import group as aiokafka_group
from rackwise.adapters.clients.kafka_python.group import RackOptimal
from rackwise.adapters.kafka import connect
from rackwise.core.assignors import explain
from rackwise.core.assignors.order import java_hash
from rackwise.core.assignors.watch import MIN_INTERVAL_MS

TOPIC = "faults"
SPREAD = [[0, 1], [1, 2], [2, 0], [0, 2], [1, 0], [2, 1]]
RACKS = ["a", "b", "c"]
OFFSETS_PARTITIONS = 3
EAGER = "eager"


class Clock:
    seconds = 0.0

    def __call__(self):
        return self.seconds


def coordinated(group):
    """The partition of the offsets topic that a group is kept in."""
    signed = (java_hash(group) + 2**31) % 2**32 - 2**31
    return abs(signed) % OFFSETS_PARTITIONS


KEEPING = next(
    name for name in map("keeping-{}".format, range(99)) if coordinated(name) == coordinated(EAGER)
)
"""A group with the same coordinator."""


def coordinator_of(crews):
    """The broker that all groups agree on."""
    found = set()

    def is_one():
        found.clear()
        found.update(crew.readers["m-a"].consumer._coordinator.coordinator_id for crew in crews)
        return len(found) == 1 and None not in found

    until(is_one, "one coordinator")
    return int(str(*found).removeprefix("coordinator-"))


def replica_racks(racks):
    return {TOPIC: [[racks[broker] for broker in brokers] for brokers in SPREAD]}


def change_rack(cluster, broker, rack):
    """Of a broker that is down: it starts in another one."""
    path = cluster.folder / f"broker-{broker}" / "server.properties"
    lines = [line for line in path.read_text().splitlines() if not line.startswith("broker.rack=")]
    path.write_text("\n".join([*lines, f"broker.rack={rack}", ""]))


@contextmanager
def two_groups(bootstrap, clock):
    """With members in racks a and b each."""
    with (
        CommittingCrew(bootstrap, EAGER, [TOPIC]) as eager,
        CommittingCrew(bootstrap, KEEPING, [TOPIC]) as keeping,
    ):
        eager.join("m-a", RackOptimal("a", mode="eager", clock=clock))
        eager.join_aiokafka("m-b", aiokafka_group.RackOptimal("b", clock=clock))
        for rack in "ab":
            keeping.join(f"m-{rack}", RackOptimal(rack, clock=clock))
        yield eager, keeping


def check_rest(crews, racks, acknowledged):
    """Each group is whole and as local as can be, and reads what was written until now."""
    for crew in crews:
        crew.rest(racks)
        best = explain(group_of([TOPIC], **crew.racks), racks).best_local
        until(lambda crew=crew, best=best: crew.local(racks) == best, "the best assignment", 60)
        crew.rest(racks)
        ids = set(acknowledged)
        until(lambda crew=crew, ids=ids: crew.ledger.has_read(ids), "what was written", 60)
        assert crew.ledger.broken == []


@pytest.mark.kafka
@pytest.mark.fault
@pytest.mark.long
def test_every_record_is_read_though_a_member_and_the_coordinator_are_killed(make_kraft, tmp_path):
    """The coordinator leads partitions, too, and comes back in another rack."""
    cluster, clock, notes = make_kraft(brokers=len(RACKS)), Clock(), tmp_path / "notes"
    racks, moved = replica_racks(RACKS), [*RACKS]
    with closing(connect(cluster.bootstrap)) as admin:
        create(admin, TOPIC, SPREAD)
    with two_groups(cluster.bootstrap, clock) as crews:
        with load(cluster.bootstrap, TOPIC, len(SPREAD)) as acknowledged:
            check_rest(crews, racks, acknowledged)
            with committing(cluster.bootstrap, KEEPING, TOPIC, rack="c", notes=notes) as member:
                until(lambda: has_uncommitted(notes), "records that only it has read", 60)
                broker = coordinator_of(crews)
                member.kill()
                cluster.kill(broker)
                member.join()
            crews[1].ledger.absorb(notes)
            cluster.wait_until_gone(broker)
            check_rest(crews, racks, acknowledged)
            clock.seconds += 2 * MIN_INTERVAL_MS / 1000
            old = [crew.generation() for crew in crews]
            moved[broker] = RACKS[broker - 1]
            change_rack(cluster, broker, moved[broker])
            cluster.start(broker)
            cluster.wait_until_ready()
            for crew, was in zip(crews, old, strict=True):
                until(
                    lambda crew=crew, was=was: crew.generation() not in {None, was}, "a round", 60
                )
            check_rest(crews, replica_racks(moved), acknowledged)
        check_rest(crews, replica_racks(moved), acknowledged)
    assert crews[1].ledger.twice() > 0
