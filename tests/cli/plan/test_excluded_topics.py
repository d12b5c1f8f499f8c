"""`rackwise plan --exclude` and `--no-internal`: what is left alone, and the proof knows it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rackwise.adapters.files import read_plan, write_snapshot
from refusals import called, check_refused
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
BLIND = {"__offsets-0": [1, 4, 2], "o-0": [1, 4, 2], "p-0": [1, 4, 5], "q-0": [1, 2, 3]}


@pytest.fixture
def snapshot(tmp_path):
    cluster = small_cluster(RACKS, BLIND)
    topics = dict(cluster.topics)
    topics["__offsets"] = replace(topics["__offsets"], is_internal=True)
    write_snapshot(replace(cluster, topics=topics), tmp_path / "s.json")
    return tmp_path / "s.json"


@pytest.mark.parametrize(
    ("options", "excluded"),
    [
        (["--no-internal"], {"__offsets"}),
        (["--exclude", "o", "--exclude", "[pq]"], {"o", "p", "q"}),
        (["--exclude", "p", "--no-internal", "--policy", "p.toml"], {"__offsets", "o", "p"}),
        (["--exclude", "p", "--disable-rack-aware"], {"p"}),
    ],
)
def test_the_plan_leaves_the_topics_alone_and_says_so(snapshot, monkeypatch, options, excluded):
    monkeypatch.chdir(snapshot.parent)
    policy = 'format = "rackwise.policy/1"\n[[topics]]\nmatch = ["o"]\nexclude = true\n'
    snapshot.with_name("p.toml").write_text(policy)
    out = snapshot.with_name("plan.json")
    code, printed, err = called("plan", "balance", "--snapshot", snapshot, "--out", out, *options)
    assert (code, err) == (2, "")
    assert f"\nfrozen   {len(excluded)} partition" in printed
    made = read_plan(out)
    assert not {move.topic for move in made.moves} & excluded
    assert made.left_alone.partitions == len(excluded)
    assert '"exclude":true' in made.made_from.policy
    assert f'"partitions":{len(excluded)}' in out.read_text()
    code, printed, _ = called("proof", out, "--snapshot", snapshot)
    assert code == 0, printed
    assert f"\nfrozen   {len(excluded)} partition" in printed


def test_violations_are_named_and_the_set_is_not_said_to_be_legal(snapshot):
    words = ["plan", "repair", "--snapshot", snapshot, "--exclude", "[op]"]
    out = snapshot.with_name("plan.json")
    _, printed, _ = called(*words, "--out", out)
    assert "frozen   2 partitions left alone" in printed.splitlines()
    assert "left     2 partitions break spread-even: o-0, p-0" in printed.splitlines()
    _, printed, _ = called("proof", out, "--snapshot", snapshot)
    assert "legal    yes: no partition breaks a rule more than before" in printed.splitlines()


def test_many_violations_are_counted(tmp_path):
    lists = {f"t-{n}": [1, 4, 2] for n in range(7)}
    write_snapshot(small_cluster(RACKS, lists), tmp_path / "s.json")
    _, printed, _ = called("plan", "balance", "--snapshot", tmp_path / "s.json", "--exclude", "t")
    assert "7 partitions break spread-even: t-0, t-1, t-2 and 4 more" in printed


def test_a_glob_without_a_topic_is_refused(snapshot):
    check_refused(
        ["plan", "balance", "--snapshot", snapshot, "--exclude", "z*"],
        'invalid --exclude: expected a pattern that matches a topic, got "z*"',
        "topics: __offsets, o, p, q",
    )


def test_a_selection_without_internal_topics_is_warned_of(snapshot):
    words = ("--topics", "o", "--no-internal", "--quiet")
    _, _, err = called("plan", "balance", "--snapshot", snapshot, *words)
    assert err == "warning: --no-internal has no effect: no selected topic is internal\n"


def test_a_snapshot_without_internal_topics_is_warned_of(tmp_path):
    write_snapshot(small_cluster(RACKS, {"o-0": [1, 4, 2]}), tmp_path / "s.json")
    code, printed, err = called(
        "plan", "balance", "--snapshot", tmp_path / "s.json", "--no-internal", "--quiet"
    )
    assert "frozen" not in printed
    assert (code, err) == (
        2,
        "warning: --no-internal has no effect: no topic of the snapshot is internal\n",
    )


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["drain", "4", "--exclude", "[op]"], ["broker 4 keeps 2 replicas"]),
        (["replace", "1=6", "--exclude", "q"], ["broker 1 keeps 1 replica"]),
        (
            ["drain", "1,2", "--exclude", "q"],
            ["broker 1 keeps 1 replica", "broker 2 keeps 1 replica"],
        ),
        (["drain", "4"], []),
    ],
)
def test_a_broker_that_keeps_replicas_is_named(snapshot, words, told):
    _, _, err = called("plan", *words, "--snapshot", snapshot, "--out", snapshot.parent / "p.json")
    assert [line.removeprefix("warning: ") for line in err.splitlines()] == [
        f"{one} of partitions that the plan leaves alone" for one in told
    ]
