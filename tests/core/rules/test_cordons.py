"""The rule about cordoned log folders (KIP-1066)."""

from dataclasses import replace

from rackwise.core.audit import audit
from rackwise.core.model import LogDir
from small_clusters import messages, small_cluster

OPEN, CORDONED = LogDir(path="/data/a"), LogDir(path="/data/b", is_cordoned=True)
FAILED = LogDir(path="/data/c", error="KafkaStorageError")


def found(*folders):
    cluster = small_cluster({1: "a", 2: "b"}, {"t-0": [1, 2]})
    first, second = cluster.brokers
    brokers = (replace(first, log_dirs=folders), second)
    return messages(audit(replace(cluster, brokers=brokers)), "cordoned")


def test_a_broker_whose_healthy_folders_are_all_cordoned_takes_no_new_replicas():
    wanted = "broker 1: wanted no cordoned log folder; had "
    effect = "; the broker takes no new replicas"
    assert found(CORDONED) == [f"{wanted}1 of 1 log folder: /data/b{effect}"]
    assert found(CORDONED, FAILED) == [f"{wanted}1 of 2 log folders: /data/b{effect}"]


def test_a_broker_with_another_folder_still_takes_replicas():
    assert found(OPEN, CORDONED) == [
        "broker 1: wanted no cordoned log folder; had 1 of 2 log folders: /data/b"
    ]


def test_no_cordon_is_no_finding():
    assert found() == found(OPEN) == found(OPEN, FAILED) == []
