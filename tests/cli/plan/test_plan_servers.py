"""A plan for running brokers, executed and undone by Kafka's own tool from our JSON."""

from __future__ import annotations

from contextlib import closing

import pytest

from kafka_reassign import executed, kafkas_tool, verified
from kafka_traffic import create, delete, produce, until
from rackwise.adapters.files import read_plan, read_snapshot
from rackwise.adapters.kafka import connect
from refusals import called

TOPIC = "planned"
BLIND = [[0, 3], [3, 0], [0, 3], [1, 2], [2, 1], [3, 0]]
"""Brokers 0 and 3 are both in rack a."""


@pytest.fixture
def admin(kraft_cluster):
    """An admin client on a cluster with the blind topic, which is gone afterwards."""
    with closing(connect(kraft_cluster.bootstrap)) as made:
        create(made, TOPIC, BLIND)
        yield made
        delete(made, TOPIC)


def snapshot(cluster, path):
    words = ["--bootstrap-server", cluster.bootstrap, "--topics", TOPIC, "--out", path]
    assert called("snapshot", *words)[0] == 0
    return [list(row.replicas) for row in read_snapshot(path).partitions]


def names(plan):
    keys = sorted((move.topic, move.partition) for move in plan.moves)
    return [f"{topic}-{partition}" for topic, partition in keys]


@pytest.mark.kafka
def test_kafkas_own_tool_reads_executes_and_verifies_our_json(
    kraft_cluster, java_home, admin, tmp_path
):
    bootstrap = kraft_cluster.bootstrap
    produce(bootstrap, {(TOPIC, partition): 20 for partition in range(len(BLIND))})
    seen, out = tmp_path / "seen.json.gz", tmp_path / "plan.json"
    forth, back = tmp_path / "forth.json", tmp_path / "back.json"
    assert snapshot(kraft_cluster, seen) == BLIND
    assert called("audit", "--snapshot", seen, "--rule", "spread-even")[0] == 2

    words = ["--snapshot", seen, "--out", out, "--kafka-json", forth, "--rollback-json", back]
    code, printed, _ = called("plan", "balance", *words)
    plan = read_plan(out)
    assert (code, plan.verdict.text) == (2, "proved")
    assert plan.totals.bytes > 20_000
    assert len(printed.split("\n\n")[0].splitlines()) == len(plan.moves)
    assert called("proof", out, "--snapshot", seen)[0] == 0

    executed(java_home, bootstrap, forth, names(plan))
    verified(java_home, admin, bootstrap, forth, names(plan))
    after = tmp_path / "after.json"
    wanted = {move.partition: list(move.after) for move in plan.moves}
    lists = [wanted.get(partition, list_) for partition, list_ in enumerate(BLIND)]
    until(lambda: snapshot(kraft_cluster, after) == lists, "every broker to know the new lists")
    assert called("audit", "--snapshot", after, "--fail-on", "error")[0] == 0
    assert called("plan", "repair", "--snapshot", after)[0] == 0

    executed(java_home, bootstrap, back, names(plan))
    until(lambda: not admin.list_partition_reassignments(), "the rollback to end")
    again = tmp_path / "again.json"
    until(lambda: snapshot(kraft_cluster, again) == BLIND, "every broker to know the old lists")


@pytest.mark.kafka
@pytest.mark.usefixtures("admin", "state")
def test_an_empty_list_is_verified_by_kafkas_tool_and_nothing_to_do_for_apply(
    kraft_cluster, java_home, tmp_path
):
    """`apply` ended with exit code 1: a crontab that plans and applies failed on a quiet night."""
    bootstrap, file = kraft_cluster.bootstrap, tmp_path / "empty.json"
    source = ["--bootstrap-server", bootstrap]
    words = [*source, "--topics", TOPIC, "--kafka-json", file]
    assert called("plan", "set-rf", f"{TOPIC}=2", *words)[0] == 0
    assert file.read_text() == '{"version":1,"partitions":[]}\n'
    asked = ("--reassignment-json-file", file)
    kafkas_tool(java_home, bootstrap, *asked, "--verify")
    said = kafkas_tool(java_home, bootstrap, *asked, "--execute", code=1)
    assert "Partition reassignment list cannot be empty" in said
    for verb, code, out in (
        ("apply", 0, "0 moves: nothing to do\n"),
        ("status", 0, "no moves\n"),
        ("rollback", 0, "0 moves: nothing to undo\n"),
    ):
        ended, printed, err = called(verb, file, *source)
        assert (ended, printed.startswith(out)) == (code, True), (printed, err)


@pytest.mark.kafka
def test_a_plan_straight_from_brokers_is_that_of_their_snapshot(kraft_cluster, admin, tmp_path):
    assert not admin.list_partition_reassignments()
    snapshot(kraft_cluster, tmp_path / "seen.json")
    live, filed = tmp_path / "live.json", tmp_path / "filed.json"
    source = ["--bootstrap-server", kraft_cluster.bootstrap, "--topics", TOPIC]
    assert called("plan", "balance", *source, "--kafka-json", live)[0] == 2
    words = ["--snapshot", tmp_path / "seen.json", "--kafka-json", filed]
    assert called("plan", "balance", *words)[0] == 2
    assert live.read_bytes() == filed.read_bytes()
