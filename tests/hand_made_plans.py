"""Plans for a running cluster, written by a test: partition -> target list."""

from __future__ import annotations

from collections import Counter

from kafka.admin import ConfigResource, ConfigResourceType

from kafka_traffic import until
from rackwise.adapters.files.plan.format import policy_sha256
from rackwise.adapters.files.plan.write import sealed, write_plan
from rackwise.adapters.kafka import read_cluster
from rackwise.core.planning.model import (
    Balance,
    Fair,
    MadeFrom,
    Move,
    Plan,
    SeenBroker,
    Totals,
    Verdict,
)

TAKEN_AT = "2026-11-01T00:00:00Z"
NO_POLICY = 'format = "rackwise.policy/1"\n'


def hand_made(admin, afters, **changes):
    """A sealed plan; `afters[topic, partition]` is the target list."""
    cluster = read_cluster(admin, taken_at=TAKEN_AT)
    rows = {(row.topic, row.partition): row for row in cluster.partitions}
    moves = tuple(
        Move(
            topic=topic,
            partition=partition,
            topic_id=cluster.topics[topic].id,
            before=rows[topic, partition].replicas,
            after=tuple(after),
            bytes=rows[topic, partition].bytes,
            reasons=("by-hand",),
        )
        for (topic, partition), after in afters.items()
    )
    cost = sum(len(move.added) for move in moves)
    plan = {
        "cluster_id": cluster.cluster_id,
        "made_from": MadeFrom(
            snapshot_sha256="",
            brokers={each.id: SeenBroker(each.rack, each.is_fenced) for each in cluster.brokers},
            policy=NO_POLICY,
            policy_sha256=policy_sha256(NO_POLICY),
            partitions=Counter(topic for topic, _ in rows if topic in {each for each, _ in afters}),
        ),
        "goal": Balance(),
        "minimise": "moves",
        "solver": "by hand",
        "moves": moves,
        "totals": Totals(moves=cost),
        "fair": Fair(),
        "certificates": (),
        "verdict": Verdict(cost=cost, lower_bound=0, gap=cost, is_legal=True, is_fair=False),
    }
    return sealed(Plan(**(plan | changes)))


def plan_file(path, admin, afters, **changes):
    """The path of a plan file that holds such a plan."""
    write_plan(hand_made(admin, afters, **changes), path)
    return str(path)


def lists(admin, topic):
    """Partition -> its replicas, as a broker shows them."""
    (found,) = admin.describe_topics([topic])
    return {each["partition_index"]: each["replica_nodes"] for each in found["partitions"]}


def shown(admin, topic, wanted):
    """Law: every broker soon shows these replicas, in order."""
    until(lambda: lists(admin, topic) == wanted, f"{topic} to be {wanted}")


def leaders(admin, topic):
    """Partition -> its leader."""
    (found,) = admin.describe_topics([topic])
    return {each["partition_index"]: each["leader_id"] for each in found["partitions"]}


def configs(admin, topic):
    """All configs of a topic and of the four brokers, whoever set them."""
    asked = [ConfigResource(ConfigResourceType.TOPIC, topic)]
    asked += [ConfigResource(ConfigResourceType.BROKER, str(each)) for each in range(4)]
    found = {}
    for each in asked:
        for kind, named in admin.describe_configs([each]).items():
            for name, keys in named.items():
                found |= {(kind, name, key): printed["value"] for key, printed in keys.items()}
    return found
