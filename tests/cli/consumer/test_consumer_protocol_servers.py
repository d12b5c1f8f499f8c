"""Groups of the consumer protocol on Kafka 4.3.1: what is said of them is what the broker does."""

from __future__ import annotations

from contextlib import closing, contextmanager
from dataclasses import replace

import pytest
from confluent_kafka import Consumer

from consumer_snapshots import document
from kafka_servers import or_failed
from kafka_traffic import create, until
from rackwise.adapters import files
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.assignors import assign_uniform, describe_group, find_group, replica_racks
from rackwise.core.assignors.order import java_hash
from refusals import called

pytestmark = pytest.mark.kafka

RACKS = ("a", "b", "c")
SIZES = {"orders": 12, "clicks": 7}
"""Partition i of each topic is on broker i mod 3 alone: RF 1."""


@pytest.fixture(scope="module")
def bootstrap(java_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kafka-4.3")
    with (
        or_failed(
            lambda: Sandbox.kraft(version="4.3", brokers=3, java_home=java_home, folder=folder)
        ) as cluster,
        closing(connect(cluster.bootstrap)) as admin,
    ):
        for topic, size in SIZES.items():
            create(admin, topic, [[number % 3] for number in range(size)])
        yield cluster.bootstrap


class Group:
    """Members of one group, by rack; all are polled by the test."""

    def __init__(self, bootstrap, name, assignor, topics):
        self.name, self.members = name, {}
        self._bootstrap, self._assignor, self._topics = bootstrap, assignor, topics

    def join(self, rack, *, is_classic=False, **config):
        protocol = (
            {"partition.assignment.strategy": "range", "session.timeout.ms": 6_000}
            if is_classic
            else {"group.protocol": "consumer", "group.remote.assignor": self._assignor}
        )
        member = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                "group.id": self.name,
                "client.rack": rack,
                **protocol,
                **config,
            }
        )
        member.subscribe(self._topics)
        self.members[rack] = member

    def read(self):
        """Rack -> what its member reads."""
        return {
            rack: sorted((tp.topic, tp.partition) for tp in member.assignment())
            for rack, member in self.members.items()
        }

    def settle(self):
        """Wait until each partition has one reader and the group is stable."""
        wanted = sorted((topic, n) for topic in self._topics for n in range(SIZES[topic]))
        spread = len(wanted) // len(self.members)

        def is_settled():
            for member in self.members.values():
                member.poll(0.05)
            read = self.read()
            return (
                sorted(tp for tps in read.values() for tp in tps) == wanted
                and min(map(len, read.values())) >= min(spread, 1)
                and self.command("evaluate")["state"] == "Stable"
            )

        until(is_settled, f"{self.name} to settle")
        return self.read()

    def command(self, verb, *options):
        words = ["consumer", verb, "--bootstrap-server", self._bootstrap, "--group", self.name]
        code, out, err = called(*words, *options, "--json")
        assert code in {0, 2}, err
        return document(out)["groups"][0]


@contextmanager
def group_of(*args):
    made = Group(*args)
    try:
        yield made
    finally:
        for member in made.members.values():
            member.close()


def local(read):
    """How many partitions are read in their own rack: broker i mod 3 is in rack a, b, c."""
    return sum(RACKS[n % 3] == rack for rack, tps in read.items() for _, n in tps)


@pytest.mark.parametrize("assignor", ["uniform", pytest.param("range", marks=pytest.mark.long)])
def test_evaluate_counts_what_the_members_read(bootstrap, assignor):
    with group_of(bootstrap, f"today-{assignor}", assignor, ["orders"]) as group:
        for rack in RACKS:
            group.join(rack)
        read = group.settle()
        told = group.command("evaluate")
        assert (told["protocol"], told["assignor"]) == ("consumer", assignor)
        assert (told["partitions"], told["local"], told["best_local"]) == (12, local(read), 12)
        assert {each["rack"]: each["local"] for each in told["by_member"]} == {
            rack: local({rack: tps}) for rack, tps in read.items()
        }
        assert [each["local"] for each in told["server_assignors"]] == [4, 4]
        # Each member has 4 consecutive partitions: 1 or 2 of them are in its rack.
        assert 3 <= local(read) <= 6


def test_range_is_predicted_to_the_partition(bootstrap):
    with group_of(bootstrap, "by-range", "range", [*SIZES]) as group:
        for rack in RACKS:
            group.join(rack)
        read = group.settle()
        (row,) = group.command("simulate", "--assignor", "server-range")["assignors"]
        assert (row["moves"], row["local"]) == (0, local(read))


@pytest.mark.long
def test_the_loss_of_a_classic_group_of_static_members_is_predicted(bootstrap):
    """They take over what they had; the loss comes with the first change of the group."""
    with group_of(bootstrap, "moving", "range", ["orders"]) as group:
        pods = {rack: {"group.instance.id": f"pod-{'cab'.index(rack)}"} for rack in RACKS}
        for rack in RACKS:
            group.join(rack, is_classic=True, **pods[rack])
        assert local(group.settle()) == 12
        told = group.command("evaluate")
        assert (told["protocol"], told["local"]) == ("classic", 12)
        _, predicted = told["server_assignors"]
        assert (predicted["assignor"], predicted["is_average"]) == ("range", False)
        for rack in RACKS:
            group.members.pop(rack).close()
            group.join(rack, **pods[rack])
        assert local(group.settle()) == 12
        group.join("another")
        settled_with(group, 4)
        group.members.pop("another").close()
        read = settled_with(group, 3)
        told = group.command("evaluate")
        assert (told["protocol"], told["assignor"]) == ("consumer", "range")
        assert told["local"] == local(read) == predicted["local"] == 3
        assert predicted["lost_local_share"] == 0.75


@pytest.mark.long
def test_what_uniform_makes_of_a_member_that_leaves_is_predicted(bootstrap, tmp_path):
    with group_of(bootstrap, "shrinking", "uniform", [*SIZES]) as group:
        for rack in RACKS:
            join_apart(group, rack)
        ids = {rack: member.memberid() for rack, member in group.members.items()}
        file = tmp_path / "predicted.json"
        options = ["--assignor", "server-uniform", "--remove", ids["b"], "--out", file]
        group.command("simulate", *options)
        told = document(file.read_text())["groups"][0]["assignors"][0]["members"]
        group.members.pop("b").close()
        assert group.settle() == {
            rack: sorted((t, n) for t, numbers in told[ids[rack]].items() for n in numbers)
            for rack in ("a", "c")
        }


@pytest.mark.long
def test_what_uniform_makes_of_members_that_join_is_predicted(bootstrap, tmp_path):
    """The ids of members decide, and they are known only after they have joined."""
    with group_of(bootstrap, "growing", "uniform", [*SIZES]) as group:
        join_apart(group, "a")
        for rack in "bc":
            before, after = join_apart(group, rack)
            file = tmp_path / f"{rack}.json"
            words = ["--bootstrap-server", group._bootstrap, "--no-sizes", "--out", file]
            assert called("snapshot", *words)[0] == 0
            predicted = predict(files.read_snapshot(file), group, before)
            assert after == predicted


def join_apart(group, rack):
    """Let a member join whose id has a bucket of its own in the coordinator's hash map.

    Of two in one bucket, the order in which they got there counts, and nobody reports it. Return
    what is read before that member joins, and after.
    """
    read = group.read()
    while True:
        before = read
        group.join(rack)
        read = settled_with(group, len(group.members))
        ids = [member.memberid() for member in group.members.values()]
        buckets = {(java_hash(each) ^ java_hash(each) >> 16) & 15 for each in ids}
        if len(buckets) == len(ids):
            return before, read
        group.members.pop(rack).close()
        read = settled_with(group, len(group.members))


def settled_with(group, members):
    """What is read once each member has something."""
    found = []

    def is_spread():
        found.append(group.settle())
        return all(found[-1].values()) and len(found[-1]) == members

    until(is_spread, f"{members} members to read")
    return found[-1]


def predict(cluster, group, before):
    """What `uniform` makes of the members of now, owning what they had before."""
    ids = {member.memberid(): rack for rack, member in group.members.items()}
    described = describe_group(find_group(cluster.groups, group.name))
    members = {
        key: replace(member, owned=tuple(before.get(ids[key], ())))
        for key, member in described.members.items()
    }
    made = assign_uniform(
        members,
        replica_racks(cluster, SIZES),
        topic_ids={name: topic.id for name, topic in cluster.topics.items()},
    )
    return {ids[key]: sorted(map(tuple, tps)) for key, tps in made.partitions.items()}
