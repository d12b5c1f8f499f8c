"""`rackwise place --all-topics` on real brokers, executed by Kafka's own tool and by `apply`."""

from __future__ import annotations

from contextlib import closing

import pytest

from kafka_reassign import executed, verified
from kafka_traffic import create, delete, until
from laws_placement import check_placement
from rackwise.adapters.files import parse_placement
from rackwise.adapters.kafka import connect, topic_rows
from refusals import called

BEFORE = {"moved-a": [[0, 3], [3, 0], [0, 3]], "moved-b": [[1, 2, 0], [2, 1, 3]]}
"""Brokers 0 and 3 are both in rack a."""

pytestmark = pytest.mark.kafka


@pytest.fixture
def admin(kraft_cluster):
    """An admin client on a cluster with both topics, which are gone afterwards."""
    with closing(connect(kraft_cluster.bootstrap)) as made:
        for name, rows in BEFORE.items():
            create(made, name, rows)
        until(lambda: all(topic_rows(made, name) for name in BEFORE), "the topics")
        yield made
        for name in BEFORE:
            delete(made, name)


def placed(cluster, *words):
    """The output of `place`, as text and as (topic, partition) -> brokers."""
    source = ["--bootstrap-server", cluster.bootstrap, "--all-topics", "moved-*"]
    code, out, err = called("place", *source, *words)
    assert code == 0, err
    return out


def shows(admin, lists):
    def rows():
        return {
            (name, number): row
            for name in BEFORE
            for number, row in topic_rows(admin, name).as_dict().items()
        }

    wanted = {key: list(row) for key, row in lists.items()}
    until(lambda: rows() == wanted, f"{wanted} to be shown")


@pytest.mark.usefixtures("state")
def test_kafkas_tool_and_apply_take_one_output_for_several_topics(
    kraft_cluster, java_home, admin, tmp_path
):
    bootstrap, file = kraft_cluster.bootstrap, tmp_path / "lists.json"
    file.write_text(placed(kraft_cluster, "--broker-list", "1,2,3", "--seed", 1))
    lists = parse_placement(file.read_bytes(), where="lists")
    assert [*lists] == [
        ("moved-a", 0),
        ("moved-a", 1),
        ("moved-a", 2),
        ("moved-b", 0),
        ("moved-b", 1),
    ]
    assert {id_ for row in lists.values() for id_ in row} == {1, 2, 3}
    assert [len(row) for row in lists.values()] == [2, 2, 2, 3, 3]
    names = [f"{topic}-{partition}" for topic, partition in lists]
    executed(java_home, bootstrap, file, names)
    verified(java_home, admin, bootstrap, file, names)
    shows(admin, lists)
    rows = topic_rows(admin, "moved-b")
    check_placement(rows, kraft_cluster.brokers[1:], replication=3, racks="aware")

    lines = placed(kraft_cluster, "--json", "--seed", 2)
    file.write_text(lines)
    same = placed(kraft_cluster, "--seed", 2)
    code, _, err = called("apply", file, "--bootstrap-server", bootstrap)
    assert code == 0, err
    shows(admin, parse_placement(same.encode(), where="same"))
