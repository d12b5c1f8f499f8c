"""`rackwise what-if`: a cluster judged before and after a change that nobody made."""

from __future__ import annotations

import pytest

from consumer_snapshots import document
from rackwise.adapters.files import write_snapshot
from refusals import called
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
GOOD = {"t-0": [1, 2, 3], "t-1": [4, 5, 6], "t-2": [2, 3, 1], "t-3": [5, 6, 4]}
SIZES = dict.fromkeys(GOOD, 2**30)


@pytest.fixture
def run_what_if(tmp_path):
    """Run what-if on a cluster; return exit code, stdout and stderr."""

    def run(*words, racks=RACKS, policy=None):
        snapshot = tmp_path / "s.json"
        write_snapshot(small_cluster(racks, GOOD, sizes=SIZES, min_isr=2), snapshot)
        if policy is not None:
            (tmp_path / "p.toml").write_text(f'format = "rackwise.policy/1"\n{policy}\n')
            words = (*words, "--policy", tmp_path / "p.toml")
        return called("what-if", "--snapshot", snapshot, *words)

    return run


def test_losing_a_rack(run_what_if):
    code, out, err = run_what_if("--lose", "/a")
    assert (code, err) == (2, "")
    parts = out.rstrip("\n").split("\n\n")
    assert parts[0] == "small at 2026-11-21T08:30:00Z, changed: lose /a"
    assert ["dead-replica", "error", "0", "4"] in [line.split() for line in parts[1].splitlines()]
    assert "error   t-0: dead-replica: wanted live brokers only; had 1" in parts[2]
    worst = [line.split()[0] for line in parts[2].splitlines()[1:]]
    assert worst == sorted(worst, key=["error", "warning", "info"].index)
    assert {*worst} == {"error", "warning", "info"}
    assert any(line.split()[:3] == ["/b", "0", "0"] for line in parts[3].splitlines())
    moves = next(line.split() for line in parts[-1].splitlines() if line.startswith("moves"))
    assert moves[:2] == ["moves", "0"]
    rates = [line[:31] for line in parts[-1].splitlines() if "replication" in line]
    assert rates == [
        "replication across racks before",
        "replication across racks after ",
        "change of replication in 30 day",
    ]


def test_a_change_that_breaks_nothing(run_what_if):
    code, out, err = run_what_if("--add", "7=/a", policy='balance = { replicas = "off" }')
    assert (code, err) == (0, "")
    assert out.splitlines()[2] == "no findings"


def test_many_changes_at_once(run_what_if):
    words = ["--add", "7=/d", "--move", "4=/b", "--lose-broker", "3", "--rf", "t=2", "--rf", "*=1"]
    code, out, _ = run_what_if(*words)
    assert code == 2
    assert out.splitlines()[0].endswith(
        "changed: add 7=/d, move 4=/b, lose broker 3, rf t=2, rf *=1"
    )


def test_a_broker_that_joins_a_lost_rack_is_lost_with_it(run_what_if):
    printed = document(run_what_if("--lose", "/a", "--add", "7=/a", "--json")[1])
    assert printed["changes"] == ["add 7=/a", "lose /a"]
    assert printed["after"]["no_plan"] is None or "7" not in printed["after"]["no_plan"]


def test_as_json(run_what_if):
    code, out, _ = run_what_if("--lose-broker", "1", "--json")
    printed = document(out)
    assert (code, printed["format"]) == (2, "rackwise.what-if/1")
    assert printed["before"]["findings"] == {}
    assert printed["after"]["findings"]["dead-replica"] == 2
    assert printed["before"]["plan"]["moves"] == 0
    assert printed["after"]["plan"]["moves"] == 2
    assert {each["rule"] for each in printed["introduced"]} >= {"dead-replica", "under-replicated"}
    assert printed["fixed"] == []
    assert [loss["rack"] for loss in printed["before"]["blast_radius"]] == ["/a", "/b", "/c"]


def test_where_no_plan_exists_the_reason_is_told(run_what_if):
    policy = '[[topics]]\nmatch = ["*"]\nspread = { zone = "distinct" }'
    code, out, _ = run_what_if("--lose", "/a", policy=policy)
    assert code == 2
    assert "no plan after: " in out
    printed = document(run_what_if("--lose", "/a", "--json", policy=policy)[1])
    assert printed["after"]["plan"] is None
    assert "3 distinct" in printed["after"]["no_plan"]


def test_what_the_policy_calls_no_difference_is_none(run_what_if):
    policy = 'audit = { fail_on = "never" }'
    assert run_what_if("--lose", "/a", policy=policy)[0] == 0


def test_plans_are_summed_up_and_not_sealed(run_what_if, monkeypatch):
    """The hashes of a plan file cost more than the sums that are shown."""
    monkeypatch.setattr("rackwise.adapters.files.sealed_with_data", lambda _: pytest.fail("sealed"))
    assert run_what_if("--lose", "/a")[0] == 2


def test_a_rule_that_is_not_checked_after_the_change_is_no_zero(tmp_path):
    """No plan exists for 30 replicas on six brokers, so no load is fair and none is checked."""
    crowded = small_cluster(RACKS, {**GOOD, "u-0": [1, 2, 3], "u-1": [1, 2, 3]}, sizes=None)
    write_snapshot(crowded, tmp_path / "s.json")
    words = ("what-if", "--snapshot", tmp_path / "s.json", "--rf", "t=30")
    code, out, _ = called(*words)
    assert code == 2
    rows = [line.split() for line in out.splitlines() if line.startswith("replica-balance ")]
    assert rows[0][2] != "0"
    assert rows[0][3:] == ["not", "checked"]
    assert "findings fixed" not in out
    assert "not checked in the cluster after: fair loads were not given" in out
    printed = document(called(*words, "--json")[1])
    assert printed["fixed"] == []
    assert {each["rule"] for each in printed["maybe_fixed"]} >= {"replica-balance"}
    assert "replica-balance" in {each["rule"] for each in printed["not_compared"]}


def test_a_finding_that_may_be_new_is_a_difference(tmp_path):
    """Before the move no broker has a rack; after it two replicas are known to share one."""
    write_snapshot(small_cluster({1: None, 2: None, 3: None}, {"t-0": [1, 2]}), tmp_path / "s.json")
    moves = [word for id_ in (1, 2) for word in ("--move", f"{id_}=/a")]
    words = ("what-if", "--snapshot", tmp_path / "s.json", *moves, "--move", "3=/b")
    code, out, _ = called(*words)
    assert code == 2
    assert "only in the cluster after, perhaps not new" in out
    assert "error   t-0: spread-even" in out
    printed = document(called(*words, "--json")[1])
    assert [each["rule"] for each in printed["introduced"]] == []
    assert "spread-even" in {each["rule"] for each in printed["maybe_introduced"]}


def test_a_cluster_without_racks_lists_what_was_never_checked(run_what_if):
    code, out, _ = run_what_if("--lose-broker", "1", racks=dict.fromkeys(RACKS))
    assert code == 2
    assert "not checked\n  spread-even, spread-distinct, spread-at-least, rack-count: no" in out
