"""`rackwise plan`: what it says and writes, and how it ends."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest

from consumer_snapshots import document
from rackwise.adapters import memory, solver_process
from rackwise.adapters.files import (
    fingerprint,
    parse_plan,
    parse_policy,
    policy_sha256,
    read_placement,
    read_plan,
    write_snapshot,
)
from rackwise.core import solver
from rackwise.core.planning.model import (
    Add,
    Balance,
    Drain,
    Leaders,
    LeftAlone,
    LeftViolation,
    Replace,
    SetReplication,
)
from rackwise.core.racks import Rack
from rackwise.core.solver import cheapest_flow
from rackwise.core.traffic import exact_dollars
from refusals import called
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
BLIND = {"t-0": [1, 4, 2], "t-1": [1, 2, 3], "t-2": [2, 3, 1], "t-3": [3, 1, 2]}
GOOD = {"t-0": [1, 2, 3], "t-1": [4, 5, 6], "t-2": [2, 3, 1], "t-3": [5, 6, 4]}
SIZES = dict.fromkeys(BLIND, 2**30)
IN_ONE_RACK = {f"t-{number}": [1, 4] if number % 2 else [2, 5] for number in range(12)}


@pytest.fixture
def run_plan(tmp_path):
    """Plan for a cluster; return exit code, stdout, stderr and the plan that was written."""

    def run(words, lists=BLIND, *, cluster=None, policy=None, **fields):
        snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
        write_snapshot(cluster or small_cluster(RACKS, lists, sizes=SIZES, **fields), snapshot)
        words = [*words, "--snapshot", snapshot, "--out", out]
        if policy is not None:
            (tmp_path / "p.toml").write_text(f'format = "rackwise.policy/1"\n{policy}\n')
            words += ["--policy", tmp_path / "p.toml"]
        code, printed, err = called("plan", *words)
        return code, printed, err, read_plan(out)

    return run


@pytest.mark.parametrize("option", ["--kafka-json", "--rollback-json"])
def test_where_one_file_cannot_be_none_is_written(tmp_path, option):
    snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
    write_snapshot(small_cluster(RACKS, BLIND, sizes=SIZES), snapshot)
    words = ["plan", "balance", "--snapshot", snapshot, "--out", out]
    code, printed, err = called(*words, option, tmp_path / "none" / "k.json")
    assert (code, printed, out.exists()) == (1, "", False)
    assert "none/k.json cannot be written: No such file or directory" in err


class TestExit:
    def test_nothing_to_move(self, run_plan):
        code, out, err, plan = run_plan(["balance"], GOOD)
        assert (code, err, plan.moves) == (0, "", ())
        assert out.splitlines()[1] == "moves    none: nothing to move"

    def test_moves(self, run_plan):
        code, out, err, plan = run_plan(["repair"])
        assert (code, err) == (2, "")
        assert out.splitlines()[0].startswith("~ t-0  1,4,2 -> ")
        assert (len(plan.moves), plan.verdict.text) == (1, "proved")


class TestGoals:
    @pytest.mark.parametrize(
        ("words", "goal"),
        [
            (["balance"], Balance()),
            (["leaders"], Leaders()),
            (["drain", "4"], Drain((4,))),
            (["drain", "4", "--rebalance"], Drain((4,), rebalance=True)),
            (["replace", "1=4"], Replace(((1, 4),))),
            (["set-rf", "t=2"], SetReplication((("t", 2),))),
            (["add", "7=/a", "8=/b"], Add(((7, Rack("/a")), (8, Rack("/b"))))),
        ],
    )
    def test_each_is_planned_and_in_the_file(self, run_plan, words, goal):
        lists = {name: [b for b in row if b != 4] for name, row in BLIND.items()}
        code, _, err, plan = run_plan(words, lists if words[0] == "replace" else BLIND)
        assert code in {0, 2}
        assert err == ""
        assert plan.goal == goal

    @pytest.mark.parametrize("cost", ["bytes", "usd"])
    def test_leaders_copy_nothing_so_they_take_no_cost_of_copies(self, tmp_path, cost):
        """The option had no effect."""
        snapshot = tmp_path / "s.json"
        write_snapshot(small_cluster(RACKS, BLIND), snapshot)
        words = ["plan", "leaders", "--snapshot", snapshot, "--minimise", cost]
        code, out, err = called(*words, "--provider", "aws")
        assert (code, out) == (1, "")
        assert err.startswith(f"error: the goal leaders cannot minimise {cost}: it copies nothing")

    @pytest.mark.parametrize("cost", ["bytes", "usd"])
    def test_the_cost_in_a_policy_does_not_concern_leaders(self, run_plan, cost):
        """Sizes were required, or prices, and neither was used."""
        cluster = small_cluster(RACKS, {"t-0": [1, 2], "t-1": [1, 3]})
        policy = f'cost = {{ minimise = "{cost}" }}'
        code, _, err, plan = run_plan(["leaders"], cluster=cluster, policy=policy)
        assert (code, err, plan.minimise) == (2, "", "moves")

    @pytest.mark.parametrize(
        ("words", "printed"),
        [
            (["drain", "3,6"], "rack /c has no broker left: its replicas move to other racks"),
            (["replace", "4=6", "1=5"], "rack /a has no broker left: its replicas move to other"),
            (["add", "7=/A", "8=/a"], "rack /A is new: the other brokers are in /a, /b, /c"),
        ],
    )
    def test_racks_that_end_empty_or_are_new_are_told(self, run_plan, words, printed):
        _, _, err, _ = run_plan(words, {"t-0": [1, 2], "t-1": [4, 3]})
        assert err.startswith(f"warning: {printed}")

    def test_leaders_of_lists_with_a_broker_that_is_not_listed_stay_and_are_named(self, run_plan):
        """The plan named broker 9 in new lists, and no command could read its file."""
        lists = {"t-0": [1, 2, 9], "t-1": [9, 1, 2], "t-2": [1, 2, 3], "t-3": [1, 3, 2]}
        code, out, _, plan = run_plan(["leaders"], lists)
        assert code == 2
        assert {move.partition for move in plan.moves} == {2, 3}
        assert plan.left_alone == LeftAlone(
            partitions=2,
            broken=(LeftViolation(rule="dead-replica", partitions=2, examples=("t-0", "t-1")),),
        )
        assert "left     2 partitions break dead-replica: t-0, t-1" in out

    def test_brokers_that_join_are_in_what_it_was_made_from(self, run_plan):
        *_, plan = run_plan(["add", "7=/a"])
        assert plan.made_from.brokers[7].rack == Rack("/a")
        assert any(7 in move.after for move in plan.moves)

    def test_drained_brokers_are_empty(self, run_plan):
        *_, plan = run_plan(["drain", "1"])
        assert {move.partition for move in plan.moves} == {0, 1, 2, 3}
        assert all(1 not in move.after for move in plan.moves)


class TestRackUnaware:
    """KIP-36: a reassignment that ignores racks."""

    DRAIN = ("drain", "1", "--disable-rack-aware")

    def test_only_replicas_of_the_drained_broker_move(self, run_plan):
        assert run_plan(["drain", "1", "--repair"], IN_ONE_RACK)[3].totals.moves == 12
        code, out, err, plan = run_plan([*self.DRAIN], IN_ONE_RACK)
        assert (code, err) == (2, "")
        assert plan.totals.moves == 6
        assert all(move.before == (1, 4) for move in plan.moves)
        assert "proved: no fair and legal plan costs less than 6 replicas" in out

    def test_brokers_without_a_rack_are_no_error(self, tmp_path):
        snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
        write_snapshot(small_cluster({1: "/a", 2: None, 3: "/a"}, {"t-0": [1, 2]}), snapshot)
        words = ["plan", "drain", "1", "--snapshot", snapshot, "--out", out]
        code, _, err = called(*words)
        assert code == 1
        assert "expected a rack on every live broker, got 1 broker of 3" in err
        assert called(*words, "--disable-rack-aware")[0] == 2
        (move,) = read_plan(out).moves
        assert move.after in {(3, 2), (2, 3)}

    def test_the_proof_names_the_policy(self, run_plan, tmp_path):
        run_plan([*self.DRAIN], IN_ONE_RACK)
        words = ["proof", tmp_path / "plan.json", "--snapshot", tmp_path / "s.json"]
        code, out, _ = called(*words)
        assert code == 0
        assert out.splitlines()[1].startswith('policy   racks.missing = "unaware", topics = [')


class TestMadeFrom:
    def test_the_snapshot_and_the_defaults(self, run_plan):
        *_, plan = run_plan(["balance"])
        made_from = plan.made_from
        assert made_from.snapshot_sha256 == fingerprint(small_cluster(RACKS, BLIND, sizes=SIZES))
        assert made_from.policy == 'format = "rackwise.policy/1"\n'
        assert {id_: seen.rack.text for id_, seen in made_from.brokers.items()} == RACKS
        assert (plan.cluster_id, plan.minimise, made_from.topics) == ("small", "moves", ("*",))

    def test_a_policy_word_for_word(self, run_plan):
        text = "# evenness is for others\nbalance = { replicas = 'off', leaders = 'keep' }"
        *_, plan = run_plan(["balance"], policy=text)
        assert plan.made_from.policy == f'format = "rackwise.policy/1"\n{text}\n'
        assert plan.made_from.policy_sha256 == policy_sha256(plan.made_from.policy)
        assert parse_policy(plan.made_from.policy.encode(), where="p").policy.topics == ()
        assert plan.totals.balance_moves == 0

    def test_what_the_policy_makes_small(self, run_plan):
        *_, plan = run_plan(["balance"], policy='cost = { minimise = "bytes" }')
        assert plan.minimise == "bytes"
        *_, plan = run_plan(
            ["balance", "--minimise", "moves"], policy='cost = { minimise = "bytes" }'
        )
        assert plan.minimise == "moves"

    def test_some_topics_alone(self, run_plan):
        lists = BLIND | {"u-0": [1, 4, 2]}
        *_, plan = run_plan(["repair", "--topics", "t*", "--topics", "t"], lists)
        assert {move.topic for move in plan.moves} == {"t"}
        assert plan.made_from.topics == ("t", "t*")
        assert plan.made_from.snapshot_sha256 == fingerprint(
            small_cluster(RACKS, BLIND, sizes=SIZES)
        )

    def test_a_glob_that_fits_nothing_is_told(self, run_plan):
        *_, err, _ = run_plan(["repair", "--topics", "t", "--topics", "x*"])
        assert err == "warning: not-visible: no topic that matches x* is in the snapshot\n"

    def test_what_reassigns_is_taken_as_arrived(self, run_plan):
        fields = {"adding": {"t-0": [4]}, "removing": {"t-0": [1]}}
        *_, plan = run_plan(["repair", "--assume", "target"], **fields)
        assert plan.moves == ()


class TestPrices:
    def test_of_a_provider_in_the_shipped_table(self, run_plan):
        _, out, _, plan = run_plan(["repair", "--provider", "aws"])
        assert plan.totals.usd_nano == plan.moves[0].usd_nano > 0
        assert any(line.startswith("price    $0.02 once") for line in out.splitlines())

    def test_of_the_policys_table_beside_it(self, run_plan, tmp_path):
        (tmp_path / "mine.csv").write_text(
            "provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,valid_from,valid_to,"
            "source,is_checked\nme,*,*,*,1,2,1073741824,2020-01-01,,s,true\n"
        )
        *_, plan = run_plan(
            ["repair"],
            policy='cost = { minimise = "usd", prices = "mine.csv", provider = "me" }',
        )
        assert (plan.minimise, plan.totals.usd_nano) == ("usd", 3 * 10**9)

    def test_nothing_is_priced_unasked(self, run_plan):
        _, out, _, plan = run_plan(["repair"])
        assert plan.totals.usd_nano is None
        assert "$" not in out

    def test_of_each_soft_rule(self, run_plan):
        code, out, _, plan = run_plan(["balance", "--price-rules"])
        moves = plan.totals.moves
        lines = out.splitlines()
        assert code == 2
        assert f"balance costs {moves - 1} of {moves} moves" in lines
        assert [line.split()[0] for line in lines[-2:]] == ["balance", "leaders"]

    def test_of_each_soft_rule_as_json(self, run_plan, tmp_path):
        *_, plan = run_plan(["balance"])
        words = ["--snapshot", tmp_path / "s.json", "--price-rules", "--json"]
        printed = document(called("plan", "balance", *words)[1])
        assert printed["format"] == "rackwise.priced-plan/1"
        assert printed["plan"]["sha256"] == plan.sha256
        assert [each["rule"] for each in printed["rules"]] == ["balance", "leaders"]
        first = printed["rules"][0]
        assert (first["with"]["moves"], first["without"]["moves"]) == (plan.totals.moves, 1)


RATED = {"t-0": [1, 2], "t-1": [4, 5]}
"""Leaders in /a. With a third replica in /c, each partition is copied to one more rack."""
MB_PER_S = 10**6
ONE_COPY = 30 * 2 * round(MB_PER_S * 86_400 * 10**7 / 2**30)
"""Nano-dollars per 30 days that one follower in another rack costs with aws, at 1 MB/s."""


def rated_cluster(*rates):
    cluster = small_cluster(RACKS, RATED)
    table = replace(cluster.partitions, bytes_in_per_s=np.array(rates, dtype=np.int64))
    return replace(cluster, partitions=table)


class TestPriceCap:
    """A plan above the cap is refused, and so is a plan whose monthly change is not known."""

    WORDS = ("set-rf", "t=3", "--provider", "aws")

    @pytest.mark.parametrize("cap", ["96.57", "1e6"])
    def test_a_plan_within_the_cap_is_written(self, run_plan, cap):
        cluster = rated_cluster(MB_PER_S, MB_PER_S)
        code, out, _, plan = run_plan([*self.WORDS, "--price-cap", cap], cluster=cluster)
        assert code == 2
        assert plan.totals.monthly.replication_usd_nano == 2 * ONE_COPY
        assert "monthly  this plan changes replication by +$96.56 per 30 days" in out.splitlines()

    def test_the_proof_of_its_file_includes_replication(self, run_plan, tmp_path):
        racks = {**RACKS, 7: "/a"}
        cluster = small_cluster(racks, {"t-0": [2, 1, 3]})
        rates = np.array([MB_PER_S], dtype=np.int64)
        cluster = replace(cluster, partitions=replace(cluster.partitions, bytes_in_per_s=rates))
        _, out, _, plan = run_plan(["set-rf", "t=4", "--provider", "aws"], cluster=cluster)
        assert plan.moves[0].added == (5,)
        told = "no such plan with as few moves has a lower price of replication than $96.56"
        assert told in out
        words = ["proof", tmp_path / "plan.json", "--snapshot", tmp_path / "s.json"]
        code, out, _ = called(*words)
        assert code == 0
        assert told in out
        printed = document(called(*words, "--json")[1])
        assert printed["replication"] == {
            "cost": 2 * ONE_COPY // 30,
            "lower_bound": 2 * ONE_COPY // 30,
        }

    def refused(self, tmp_path, cluster, *words):
        snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
        write_snapshot(cluster, snapshot)
        files = ["--out", out, "--kafka-json", tmp_path / "k.json"]
        code, printed, err = called("plan", *words, "--snapshot", snapshot, *files)
        assert (printed, [each.name for each in tmp_path.iterdir()]) == ("", ["s.json"])
        return code, err.splitlines()

    @pytest.mark.parametrize("cap", ["0", "96.55"])
    def test_a_dearer_plan_is_refused_and_nothing_is_written(self, tmp_path, cap):
        cluster = rated_cluster(MB_PER_S, MB_PER_S)
        code, lines = self.refused(tmp_path, cluster, *self.WORDS, "--price-cap", cap)
        assert (code, len(lines)) == (4, 2)
        above = exact_dollars(2 * ONE_COPY - int(float(cap) * 10**9))
        assert "got a plan that adds $96.5595" in lines[0]
        assert f"{above} above the cap" in lines[0]

    def test_an_unknown_change_is_refused_with_the_missing_rates(self, tmp_path):
        cluster = rated_cluster(-1, MB_PER_S)
        code, lines = self.refused(tmp_path, cluster, *self.WORDS, "--price-cap", "1000")
        assert (code, len(lines)) == (4, 2)
        assert "the rate of 1 moved partition is not known (t-0)" in lines[0]
        assert "rackwise snapshot --measure" in lines[1]

    def test_it_requires_prices(self, tmp_path):
        cluster = rated_cluster(MB_PER_S, MB_PER_S)
        code, lines = self.refused(tmp_path, cluster, "repair", "--price-cap", "1")
        assert (code, lines[0]) == (1, "error: --price-cap requires --provider")

    @pytest.mark.parametrize("cap", ["-1", "nan", "inf", "ten", "", "1e10"])
    def test_a_cap_that_is_no_price(self, tmp_path, cap):
        cluster = rated_cluster(MB_PER_S, MB_PER_S)
        code, lines = self.refused(tmp_path, cluster, *self.WORDS, "--price-cap", cap)
        assert code == 1
        assert lines[0].startswith("error: invalid --price-cap: expected dollars from 0 to ")

    def test_a_cluster_that_needs_no_move_has_no_unknown_change(self, run_plan):
        words = ["repair", "--provider", "aws", "--price-cap", "0"]
        code, out, *_ = run_plan(words, cluster=rated_cluster(-1, -1))
        assert code == 0
        assert "monthly" not in out


class TestFiles:
    def test_json_is_the_plan_file(self, run_plan, tmp_path):
        *_, plan = run_plan(["balance"])
        code, out, err = called("plan", "balance", "--snapshot", tmp_path / "s.json", "--json")
        assert (code, err) == (2, "")
        assert out.encode() == (tmp_path / "plan.json").read_bytes()
        assert parse_plan(out.encode(), where="stdout") == plan

    def test_kafkas_own_json_there_and_back(self, run_plan, tmp_path):
        there, back = tmp_path / "there.json", tmp_path / "back.json"
        *_, plan = run_plan(["balance", "--kafka-json", there, "--rollback-json", back])
        keyed = {(move.topic, move.partition): move for move in plan.moves}
        assert read_placement(there) == {key: move.after for key, move in keyed.items()}
        assert read_placement(back) == {key: move.before for key, move in keyed.items()}
        assert {key: BLIND[f"t-{key[1]}"] for key in keyed} == {
            key: list(move.before) for key, move in keyed.items()
        }

    def test_of_no_moves_what_kafka_refuses(self, run_plan, tmp_path):
        (tmp_path / "k.json").write_text("an older plan")
        run_plan(["balance", "--kafka-json", tmp_path / "k.json"], GOOD)
        assert (tmp_path / "k.json").read_text() == '{"version":1,"partitions":[]}\n'

    def test_nothing_is_written_unasked(self, run_plan, tmp_path):
        run_plan(["balance"])
        before = sorted(tmp_path.iterdir())
        code, _, err = called("plan", "balance", "--snapshot", tmp_path / "s.json")
        assert (code, sorted(tmp_path.iterdir())) == (2, before)
        assert err == "no file was written; use --out FILE to keep the plan for rackwise apply\n"

    def test_a_supposed_cluster_gives_a_hypothetical_plan(self, run_plan):
        hypothetical = replace(small_cluster(RACKS, BLIND), source="suppose")
        _, out, _, plan = run_plan(["repair"], cluster=hypothetical)
        assert plan.hypothetical
        assert "of a hypothetical cluster" in out

    def test_leaders_are_proved_in_changes_of_leaders(self, run_plan):
        _, out, _, plan = run_plan(["leaders"])
        assert plan.totals.leader_changes == 1
        assert out.splitlines()[-2].endswith(
            "no fair and legal plan costs less than 1 leader change"
        )


class TestSolvers:
    @pytest.mark.parametrize(("goal", "auto"), [("repair", "flow"), ("balance", "flow per rack")])
    def test_all_find_the_same_cost(self, run_plan, goal, auto):
        plans = [run_plan([goal, "--solver", solver])[3] for solver in ("auto", "flow")]
        assert {plan.verdict.cost for plan in plans} == {plans[0].verdict.lower_bound}
        assert [plan.solver.split(",")[0] for plan in plans] == [auto, "flow"]

    def test_a_search_that_is_stopped_at_once_says_so(self, run_plan):
        _, out, _, plan = run_plan(["balance", "--time-limit", "0.000001"])
        assert plan.verdict.text.startswith("heuristic")
        assert "the search was stopped" in out or "the loads are not fair" in out
        assert plan.verdict.is_legal


def test_the_time_limit_ends_a_flow_that_is_searched(run_plan, monkeypatch, tmp_path):
    """The flow was searched to its end, whatever the limit."""
    endless = tmp_path / "endless.sh"
    endless.write_text("#!/bin/sh\nexec sleep 600\n")
    endless.chmod(0o700)
    monkeypatch.setattr(solver_process, "MOST_ARCS_HERE", 0)
    monkeypatch.setattr(sys, "executable", str(endless))
    *_, plan = run_plan(["balance", "--solver", "flow", "--time-limit", "0.5"])
    assert plan.verdict.text.startswith("heuristic")
    assert (plan.solver, plan.verdict.is_legal) == ("none", True)


def test_memory_is_released_before_each_flow(run_plan, monkeypatch):
    """It was released where the search asked whether to stop."""
    calls = []
    real = cheapest_flow

    def solve(network):
        calls.append("solve")
        return real(network)

    monkeypatch.setattr(solver, "cheapest_flow", solve)
    monkeypatch.setattr(memory, "release_memory", lambda: calls.append("release"))
    run_plan(["balance", "--solver", "flow"])
    assert calls == ["release", "solve"] * (len(calls) // 2)
    assert calls


def test_the_same_file_whatever_the_hash_seed(run_plan, tmp_path):
    run_plan(["balance"])
    files = []
    for seed in ("1", "2"):
        words = ["plan", "balance", "--snapshot", str(tmp_path / "s.json"), "--json"]
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", *words],
            capture_output=True,
            check=False,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )
        assert done.returncode == 2
        files.append(done.stdout)
    assert files == [(tmp_path / "plan.json").read_bytes()] * 2
