"""`rackwise topic` on one topic of a real cluster, and how the brokers describe the topic."""

from __future__ import annotations

from kafka_traffic import until
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from refusals import called

NAME = "placed"


def document(text):
    return parse(text.encode(), where="stdout", error=InvalidConfig)


def topic(cluster, verb, *words):
    return called("topic", verb, NAME, "--bootstrap-server", cluster.bootstrap, *words)


def sized(partitions, replication):
    return ["--partitions", partitions, "--replication-factor", replication]


def described(admin):
    """The replicas of each partition in order, and each leader."""
    (found,) = admin.describe_topics([NAME])
    told = sorted(found["partitions"], key=lambda each: each["partition_index"])
    return [each["replica_nodes"] for each in told], [each["leader_id"] for each in told]


def shows(admin, rows):
    """Law: all brokers soon describe exactly these rows, in order, and the first of each leads."""
    until(lambda: described(admin)[0] == rows, f"{rows} to be described")
    until(lambda: described(admin)[1] == [row[0] for row in rows], "the first of each row to lead")
