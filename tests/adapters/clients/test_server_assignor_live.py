"""Server-side assignors on brokers: members of confluent-kafka read in their own racks (KIP-848).

Three racks, one replica for each partition, so that a partition is local in one rack only.
"""

from __future__ import annotations

import multiprocessing
import time
from contextlib import closing, contextmanager

import pytest

from at_least_once import CommittingCrew, load
from consumer_groups import Crew, racks_of, topic_on
from kafka_servers import KAFKA_VERSION, or_failed
from kafka_traffic import until
from locality_table import measured_by_steps, printed
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.assignors import TopicPartition
from rackwise.core.assignors.order import java_hash
from server_jars import built_server_jar

pytestmark = pytest.mark.kafka

OPTIMAL = "rack-optimal"
LEADERS = [0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 2]
PLACEMENT = [[leader] for leader in LEADERS]
SESSIONS = {
    "group.consumer.session.timeout.ms": "6000",
    "group.consumer.min.session.timeout.ms": "6000",
    "group.consumer.heartbeat.interval.ms": "500",
    "group.consumer.min.heartbeat.interval.ms": "500",
    "offsets.topic.replication.factor": "3",
}
MEMBERS = {"m-a": "a", "m-b": "b", "m-c": "c"}


@pytest.fixture(scope="module")
def cluster(java_home, tmp_path_factory):
    """Three brokers in racks a, b, c, with the jar."""
    jar = built_server_jar(tmp_path_factory.mktemp("server-assignor"))
    folder = tmp_path_factory.mktemp("brokers")
    with or_failed(
        lambda: Sandbox.kraft(
            version=KAFKA_VERSION,
            brokers=3,
            java_home=java_home,
            folder=folder,
            overrides=SESSIONS,
            server_assignor=jar,
        )
    ) as started:
        yield started


@pytest.fixture
def admin(cluster):
    with closing(connect(cluster.bootstrap)) as made:
        yield made


@contextmanager
def crew_on(cluster, admin, topic, placement=PLACEMENT):
    with (
        topic_on(admin, topic, placement),
        Crew(cluster.bootstrap, f"group-of-{topic}", [topic]) as crew,
    ):
        yield crew


def settled(crew, racks, wanted):
    """Wait until all partitions have a reader, loads are even and `wanted` are local; the holders.

    On the way there partitions may be as local, while a member still has one too many.
    """
    found = []

    def is_settled():
        found[:] = [crew.assignment()]
        loads = [len(tps) for tps in found[0].partitions.values()]
        return (
            max(loads) - min(loads) <= 1
            and crew.is_whole(sum(map(len, racks.values())), found[0])
            and crew.local(racks, found[0]) == wanted
        )

    until(is_settled, f"{crew.group} to read {wanted} partitions in its own racks", 60)
    return found[0]


def moves(before, after):
    """How many partitions have another reader."""
    holder = {tp: name for name, tps in before.partitions.items() for tp in tps}
    return sum(holder[tp] != name for name, tps in after.partitions.items() for tp in tps)


def test_members_join_and_leave_and_a_replica_moves(cluster, admin):
    racks = {"steps": racks_of(cluster, PLACEMENT)}
    with crew_on(cluster, admin, "steps") as crew:
        for name, rack in MEMBERS.items():
            crew.join_by_brokers(name, OPTIMAL, rack)
        whole = settled(crew, racks, 12)
        assert all(len(tps) == 4 for tps in whole.partitions.values())
        # Each of 4 members gets 3 partitions, so two members share the 4 that are in rack a.
        crew.join_by_brokers("n-a", OPTIMAL, "a")
        joined = settled(crew, racks, 10)
        assert moves(whole, joined) == 3
        crew.leave("n-a")
        assert moves(joined, settled(crew, racks, 12)) == 3
        swapped = {TopicPartition("steps", 0): [1], TopicPartition("steps", 1): [0]}
        admin.alter_partition_reassignments(swapped)
        racks["steps"][0], racks["steps"][1] = ["b"], ["a"]
        changed = settled(crew, racks, 12)
        assert moves(whole, changed) == 2


@contextmanager
def broker_in_rack(cluster, broker, rack):
    """Restart a broker in another rack, and again in its own after the block."""
    file = cluster.folder / f"broker-{broker}" / "server.properties"
    before = file.read_text()
    own = f"broker.rack={cluster.brokers[broker].rack.text}"
    assert own in before.splitlines()
    try:
        file.write_text(before.replace(own, f"broker.rack={rack}"))
        cluster.restart(broker)
        cluster.wait_until_ready()
        yield
    finally:
        file.write_text(before)
        cluster.restart(broker)
        cluster.wait_until_ready()


@pytest.mark.long
def test_a_broker_returns_in_another_rack(cluster, admin):
    """The members in the new rack of the broker get its partitions."""
    racks = {"relocated": racks_of(cluster, PLACEMENT)}
    with crew_on(cluster, admin, "relocated") as crew:
        for name, rack in {"m-a": "a", "n-a": "a", "m-b": "b"}.items():
            crew.join_by_brokers(name, OPTIMAL, rack)
        before = settled(crew, racks, 8)
        with broker_in_rack(cluster, 1, "a"):
            racks["relocated"] = [["a", "a", "c"][leader : leader + 1] for leader in LEADERS]
            after = settled(crew, racks, 8)
            assert {LEADERS[tp.partition] for tp in after.partitions["m-b"]} == {2}
            assert moves(before, after) >= 8


def test_rack_sticky_is_local_too(cluster, admin):
    racks = {"sticky": racks_of(cluster, PLACEMENT)}
    with crew_on(cluster, admin, "sticky") as crew:
        for name, rack in MEMBERS.items():
            crew.join_by_brokers(name, "rack-sticky", rack)
        settled(crew, racks, 12)


@pytest.mark.parametrize("replication", [1, 2])
@pytest.mark.parametrize("assignor", [OPTIMAL, "rack-sticky"])
def test_its_rows_of_the_locality_table_in_the_guide(cluster, assignor, replication):
    def join(crew, name, rack):
        crew.join_by_brokers(name, assignor, rack)

    expected = printed(f"`{assignor}` of Rackwise on the broker", replication)
    topic = f"table-{assignor}-{replication}"
    measured_by_steps(cluster, join, topic, replication, expected=expected)


def _poll(bootstrap, group, topic, rack, has):
    crew = Crew(bootstrap, group, [topic])
    crew.join_by_brokers(f"k-{rack}", OPTIMAL, rack)
    while True:
        has.value = sum(map(len, crew.assignment().partitions.values()))
        time.sleep(0.1)


@pytest.mark.long
def test_a_member_is_killed(cluster, admin):
    racks = {"killed": racks_of(cluster, PLACEMENT)}
    context = multiprocessing.get_context("spawn")
    has = context.Value("i", 0)
    with crew_on(cluster, admin, "killed") as crew:
        for name in ("m-a", "m-b"):
            crew.join_by_brokers(name, OPTIMAL, MEMBERS[name])
        words = (cluster.bootstrap, crew.group, "killed", "c", has)
        process = context.Process(target=_poll, args=words, daemon=True)
        process.start()

        def is_spread():
            held = crew.assignment().partitions.values()
            return has.value == 4 and [len(tps) for tps in held] == [4, 4]

        until(is_spread, "each of the three members to have its partitions", 60)
        before = crew.assignment()
        process.kill()
        process.join()
        after = settled(crew, racks, 8)
        kept = {tp for tps in before.partitions.values() for tp in tps}
        assert len(kept) == 8
        for name, tps in before.partitions.items():
            assert set(tps) <= set(after.partitions[name])


def coordinator_of(admin, group):
    """The broker that leads the group's partition of the offsets topic."""
    (topic,) = admin.describe_topics(["__consumer_offsets"])
    number = (java_hash(group) & 0x7FFFFFFF) % len(topic["partitions"])
    (leader,) = (
        each["leader_id"] for each in topic["partitions"] if each["partition_index"] == number
    )
    return leader


@pytest.mark.long
def test_the_coordinator_restarts_and_nothing_moves(cluster, admin):
    racks = {"restarted": racks_of(cluster, PLACEMENT)}
    with crew_on(cluster, admin, "restarted") as crew:
        for name, rack in MEMBERS.items():
            crew.join_by_brokers(name, OPTIMAL, rack)
        before = settled(crew, racks, 12)
        cluster.restart(coordinator_of(admin, crew.group))
        cluster.wait_until_ready()
        assert moves(before, settled(crew, racks, 12)) == 0


def test_a_group_changes_to_the_consumer_protocol_and_back(cluster, admin):
    """One member after the other, under load; every record is read."""
    racks = {"rolling": racks_of(cluster, PLACEMENT)}
    with (
        topic_on(admin, "rolling", PLACEMENT),
        CommittingCrew(cluster.bootstrap, "rolling", ["rolling"]) as crew,
    ):

        def classic(name, rack):
            crew.join_confluent(name, "range", rack)

        def by_brokers(name, rack):
            crew.join_by_brokers(name, OPTIMAL, rack)

        with load(cluster.bootstrap, "rolling", len(PLACEMENT)) as written:
            for join in (classic, by_brokers, classic):
                for name, rack in MEMBERS.items():
                    if name in crew.readers:
                        crew.leave(name)
                    join(name, rack)
                    crew.rest(racks)
                if join is by_brokers:
                    settled(crew, racks, 12)
        until(lambda: crew.ledger.has_read(written), "all records")
        assert crew.ledger.broken == []
