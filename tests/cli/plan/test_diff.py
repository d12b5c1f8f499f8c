"""`rackwise diff`: any two of snapshots, plans and reassignments."""

from __future__ import annotations

from dataclasses import replace

import pytest

from consumer_snapshots import document
from plans import plan_of
from rackwise.adapters.files import write_plan, write_reassignment, write_snapshot
from refusals import called, check_refused
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/a", 3: "/b", 4: "/c"}
LISTS = {"orders-0": [1, 3, 4], "orders-1": [2, 3, 4]}


@pytest.fixture
def write(tmp_path):
    """Write a side to a file of its own; give the path."""
    writers = {"cluster": write_snapshot, "plan": write_plan, "lists": write_reassignment}

    def written(name, kind, value):
        path = tmp_path / name
        writers[kind](value, path)
        return path

    return written


def cluster(lists=LISTS, racks=RACKS, **fields):
    return small_cluster(racks, lists, **fields)


class TestEqual:
    def test_snapshots(self, write):
        a, b = (write(name, "cluster", cluster()) for name in ("a.json", "b.json.gz"))
        assert called("diff", a, b) == (0, "equal\n", "")

    def test_plans(self, write):
        a, b = (write(name, "plan", plan_of()) for name in ("a.json", "b.json"))
        assert called("diff", a, b) == (0, "equal\n", "")

    def test_a_plan_and_its_kafka_json_differ_in_what_they_tell_alone(self, write):
        plan = plan_of()
        after = {(move.topic, move.partition): move.after for move in plan.moves}
        a, b = write("a.json", "plan", plan), write("b.json", "lists", after)
        code, out, err = called("diff", a, b, "--json")
        printed = document(out)
        assert (code, err) == (0, "")
        assert (printed["a"], printed["b"], printed["is_equal"]) == ("plan", "reassignment", True)


class TestSnapshots:
    def test_lists_brokers_and_findings(self, write):
        a = write("a.json", "cluster", cluster())
        b = write(
            "b.json",
            "cluster",
            cluster({"orders-0": [1, 2, 3], "orders-1": [2, 3, 4]}, {1: "/a", 2: "/a", 3: "/b"}),
        )
        code, out, err = called("diff", a, b)
        assert (code, err) == (2, "")
        lines = out.splitlines()
        assert lines[0].startswith("1 partition and 1 broker differ; ")
        assert "~ broker 4  /c -> -  in one file only" in lines
        assert "~ orders-0  1,3,4 led by 1 -> 1,2,3 led by 1  brokers differ" in lines
        assert "error   orders-1: dead-replica: wanted live brokers only; had 4" in lines

    def test_a_policy_says_what_is_a_finding(self, write, tmp_path):
        a = write("a.json", "cluster", cluster())
        b = write("b.json", "cluster", cluster({"orders-0": [1, 2, 3], "orders-1": [2, 3, 4]}))
        policy = tmp_path / "p.toml"
        policy.write_text(
            'format = "rackwise.policy/1"\n[[topics]]\nmatch = ["*"]\nspread = { zone = "off" }\n'
        )
        introduced = document(called("diff", a, b, "--json")[1])["introduced"]
        allowed = document(called("diff", a, b, "--policy", policy, "--json")[1])["introduced"]
        assert {each["rule"] for each in introduced} - {each["rule"] for each in allowed} == {
            "spread-even"
        }

    def test_many_findings_are_cut_in_the_text(self, write):
        good = {f"t-{i}": [1, 3, 4] for i in range(60)}
        bad = {f"t-{i}": [1, 2, 3] for i in range(60)}
        a, b = write("a.json", "cluster", cluster(good)), write("b.json", "cluster", cluster(bad))
        code, out, _ = called("diff", a, b)
        assert code == 2
        assert "and 10 more; --json has all 60" in out


class TestPlans:
    def test_moves_and_totals(self, write):
        plan = plan_of()
        first, second = plan.moves
        other = plan_of(
            moves=(replace(first, after=(1, 4, 3)),), totals=replace(plan.totals, moves=1)
        )
        code, out, err = called("diff", write("a", "plan", plan), write("b", "plan", other))
        assert (code, err) == (2, "")
        lines = out.splitlines()
        assert "~ orders-4  1,2,4 => 1,3,4 -> 1,2,4 => 1,4,3  order differs" in lines
        assert any(line.startswith("~ orders-5  3,1,9 => 1,3,4 -> -") for line in lines)
        assert next(line.split() for line in lines if line.startswith("moves")) == [
            "moves",
            "2",
            "1",
        ]
        assert second.partition == 5

    def test_as_json(self, write):
        plan = plan_of()
        other = plan_of(moves=plan.moves[:1])
        a, b = write("a", "plan", plan), write("b", "plan", other)
        printed = document(called("diff", "--json", a, b)[1])
        assert printed["format"] == "rackwise.diff/1"
        assert printed["partitions"] == [
            {
                "topic": "orders",
                "partition": 5,
                "what": "missing",
                "a": {"after": [1, 3, 4], "before": [3, 1, 9], "leader": None},
                "b": None,
            }
        ]
        assert printed["totals"]["moves"] == {"a": 2, "b": 2}


class TestRefused:
    def test_what_is_none_of_the_three(self, tmp_path, write):
        a = write("a.json", "cluster", cluster())
        b = tmp_path / "b.json"
        b.write_text("[]")
        check_refused(
            ["diff", a, b], f"invalid {b} at $: expected an object, got an empty list", None, file=b
        )

    def test_a_file_of_another_format_of_ours(self, tmp_path, write):
        a = write("a.json", "cluster", cluster())
        b = tmp_path / "b.json"
        b.write_text('{"format":"rackwise.plan/9"}')
        code, out, err = called("diff", a, b)
        assert (code, out) == (1, "")
        assert "$.format: expected format 1, got 9" in err

    def test_a_policy_for_what_is_not_audited_is_told(self, write, tmp_path):
        a, b = (write(name, "plan", plan_of()) for name in ("a.json", "b.json"))
        policy = tmp_path / "p.toml"
        policy.write_text('format = "rackwise.policy/1"\n')
        code, out, err = called("diff", a, b, "--policy", policy)
        assert (code, out) == (0, "equal\n")
        assert err.startswith("warning: --policy has no effect: only two snapshots are audited")


def test_hostile_names_are_escaped(write):
    a = write("a", "lists", {("\u202e", 0): (1,)})
    b = write("b", "lists", {("\u202e", 0): (2,)})
    code, out, _ = called("diff", a, b)
    assert code == 2
    assert "~ \\u202e-0  1 -> 2  brokers differ" in out
    assert all(line.isprintable() for line in out.splitlines())


BLIND = dict.fromkeys(RACKS)
UNEVEN = {"orders-0": [1, 2, 3]}


class TestWhatWasNotChecked:
    def test_findings_of_a_cluster_that_lost_its_racks_are_not_fixed(self, write):
        a = write("a.json", "cluster", cluster(UNEVEN))
        b = write("b.json", "cluster", cluster(UNEVEN, BLIND))
        code, out, _ = called("diff", a, b)
        assert code == 2
        assert "; 0 findings fixed, 4 introduced; " in out
        reason = "not checked in b: no broker has a rack"
        rows = [line for line in out.splitlines() if reason in line]
        assert rows
        assert rows[0].startswith("  spread-even, ")
        assert rows[0].endswith(" only in a")
        printed = document(called("diff", a, b, "--json")[1])
        assert printed["fixed"] == []
        assert {each["rule"] for each in printed["introduced"]} == {"rack-missing"}
        assert "spread-even" in {each["rule"] for each in printed["maybe_fixed"]}
        reasons = {each["rule"]: (each["a"], each["b"]) for each in printed["not_compared"]}
        assert reasons["spread-even"] == (None, "no broker has a rack")

    def test_findings_of_rules_that_were_not_checked_before_are_listed(self, write):
        a = write("a.json", "cluster", cluster(UNEVEN, BLIND))
        b = write("b.json", "cluster", cluster(UNEVEN))
        code, out, _ = called("diff", a, b)
        assert code == 2
        assert "; 4 findings fixed, 0 introduced; " in out
        assert "only in b, perhaps not new" in out
        assert any(line.startswith("error   orders-0: spread-even") for line in out.splitlines())

    def test_rules_that_neither_file_let_check_are_listed(self, write):
        a = write("a.json", "cluster", cluster(LISTS, BLIND))
        b = write("b.json", "cluster", cluster(UNEVEN, BLIND))
        code, out, _ = called("diff", a, b)
        assert code == 2
        assert "not checked\n  spread-even, spread-distinct, spread-at-least, rack-count: no" in out
        printed = document(called("diff", a, b, "--json")[1])
        assert printed["not_compared"] == []
        assert printed["not_checked"]["spread-even"] == "no broker has a rack"

    def test_a_snapshot_and_a_plan_have_no_findings_to_compare(self, write):
        """Nothing is audited, so no number of findings is shown, not even 0."""
        a, b = write("a.json", "cluster", cluster()), write("b.json", "plan", plan_of())
        code, out, _ = called("diff", a, b)
        assert code == 2
        assert out.splitlines()[0].endswith(" 0 brokers differ")
        assert "finding" not in out
        printed = document(called("diff", a, b, "--json")[1])
        names = ("fixed", "introduced", "maybe_fixed", "maybe_introduced", "not_compared")
        assert [printed[name] for name in (*names, "not_checked")] == [None] * 6
