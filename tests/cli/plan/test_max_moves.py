"""`rackwise plan --max-moves`: what fits, what is left for later, and that `proof` knows both."""

from __future__ import annotations

import pytest

from rackwise.adapters.files import read_plan, write_snapshot
from rackwise.core.json.strict import parse
from refusals import called, check_refused
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
LISTS = {"o-0": [1, 4], "o-1": [1, 4, 2], "o-2": [2, 5, 3], "p-0": [3, 6]}


@pytest.fixture
def snapshot(tmp_path):
    write_snapshot(small_cluster(RACKS, LISTS), tmp_path / "s.json")
    return tmp_path / "s.json"


@pytest.fixture
def limited(snapshot):
    """A plan of two of four moves."""
    out = snapshot.with_name("plan.json")
    code, printed, _ = called(
        "plan", "repair", "--max-moves", "2", "--snapshot", snapshot, "--out", out
    )
    return code, printed.splitlines(), out


ROWS = [
    "now      2 replicas in 2 partitions, at most 2 replicas",
    "later    2 replicas in 2 partitions; no plan gets from there to the goal with fewer",
    "         2 partitions for spread-even",
]


def test_the_worst_fit_and_the_rest_is_told(limited):
    code, printed, out = limited
    assert code == 2
    assert [line for line in printed if line in ROWS] == ROWS
    made = read_plan(out)
    assert {(move.topic, move.partition) for move in made.moves} == {("o", 0), ("p", 0)}
    assert {(move.topic, move.partition) for move in made.later} == {("o", 1), ("o", 2)}


def test_the_proof_covers_both(limited, snapshot):
    *_, out = limited
    code, printed, _ = called("proof", out, "--snapshot", snapshot)
    assert code == 0
    assert [line for line in printed.splitlines() if line in ROWS] == ROWS
    _, printed, _ = called("proof", out, "--snapshot", snapshot, "--json")
    document = parse(printed.encode(), where="stdout", error=ValueError)
    assert (document["moves"], document["later"], document["cost"]) == (2, 2, 4)
    assert document["left_alone"] is None


def test_what_is_left_for_later_is_explained(limited, snapshot):
    *_, out = limited
    _, printed, _ = called("explain", out, "o-1", "--snapshot", snapshot)
    assert printed.splitlines()[1] == (
        "This plan copies at most 2 replicas, so it leaves this move for later."
    )
    assert "for later" not in called("explain", out, "o-0", "--snapshot", snapshot)[1]


def test_what_is_least_in_bytes_is_not_said_of_replicas(snapshot):
    words = ["plan", "repair", "--max-moves", "2", "--snapshot", snapshot, "--minimise", "bytes"]
    assert "later    2 replicas in 2 partitions" in called(*words)[1].splitlines()


def test_a_limit_that_is_not_reached_changes_nothing(snapshot):
    words = ["plan", "repair", "--snapshot", snapshot]
    assert called(*words, "--max-moves", "4") == called(*words)


@pytest.mark.parametrize("most", ["0", "-1", "1000000001"])
def test_numbers_that_are_none(snapshot, most):
    check_refused(
        ["plan", "repair", "--max-moves", most, "--snapshot", snapshot],
        f"invalid --max-moves: expected 1 to 1000000000 replicas, got {most}",
        "for example --max-moves 200",
    )


def test_no_change_that_fits(tmp_path):
    write_snapshot(small_cluster(RACKS | {7: "/a"}, {"o-0": [1, 4, 7]}), tmp_path / "s.json")
    check_refused(
        ["plan", "repair", "--max-moves", "1", "--snapshot", tmp_path / "s.json"],
        "invalid --max-moves: expected at least 2, the replicas that the smallest change adds, "
        "got 1",
        "use --max-moves 2 or more",
    )
