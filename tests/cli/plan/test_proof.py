"""`rackwise proof`: a plan judged again, by who did not make it."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace

import pytest

from consumer_snapshots import document
from rackwise.adapters.files import read_plan, write_plan, write_snapshot
from refusals import called
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
LISTS = {"t-0": [1, 4, 2], "t-1": [1, 2, 3], "t-2": [2, 3, 1], "t-3": [3, 1, 2]}
SIZES = dict.fromkeys(LISTS, 2**30)


@pytest.fixture
def files(tmp_path):
    """A snapshot and a plan for it, made by these words; give both paths."""

    def make(*words, **fields):
        snapshot, plan = tmp_path / "s.json", tmp_path / "plan.json"
        write_snapshot(small_cluster(RACKS, LISTS, sizes=SIZES, **fields), snapshot)
        called("plan", *words, "--snapshot", snapshot, "--out", plan)
        return plan, snapshot

    return make


class TestProved:
    @pytest.mark.parametrize(
        "words",
        [
            ["repair"],
            ["balance"],
            ["balance", "--solver", "flow"],
            ["balance", "--minimise", "bytes"],
            ["drain", "1", "--rebalance"],
            ["set-rf", "t=2"],
            ["add", "7=/a", "8=/b", "9=/c"],
            ["leaders"],
            ["repair", "--topics", "t*"],
        ],
    )
    def test_what_plan_made(self, files, words):
        plan, snapshot = files(*words)
        code, out, err = called("proof", plan, "--snapshot", snapshot)
        assert (code, err) == (0, "")
        assert out.splitlines()[1].startswith("policy   the default policy, sha256 ")
        assert out.splitlines()[2:4] == [
            "legal    yes: every set follows the rules",
            "fair     yes: no fairer loads exist",
        ]

    def test_in_dollars_with_the_prices_in_the_plan(self, files, tmp_path):
        prices = tmp_path / "prices.csv"
        prices.write_text(
            "provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,"
            "valid_from,valid_to,source,is_checked\n"
            "own,*,zone,*,0.3,0.000000001,1000000000,2020-01-01,,here,false\n"
        )
        words = ("--minimise", "usd", "--provider", "own", "--prices", str(prices))
        plan, snapshot = files("balance", *words)
        prices.unlink()
        code, out, err = called("proof", plan, "--snapshot", snapshot)
        assert (code, err) == (0, "")
        assert out.splitlines()[0].endswith(" to pay once")
        assert " no fair and legal plan costs less than $0." in out

    def test_from_what_was_taken_as_arrived(self, files):
        fields = {"adding": {"t-0": [4]}, "removing": {"t-0": [2]}}
        plan, snapshot = files("repair", "--assume", "target", **fields)
        assert called("proof", plan, "--snapshot", snapshot)[0] == 0

    def test_as_json(self, files):
        plan, snapshot = files("balance")
        printed = document(called("proof", plan, "--snapshot", snapshot, "--json")[1])
        made = read_plan(plan)
        assert printed["format"] == "rackwise.proof/1"
        assert printed["plan_sha256"] == made.sha256
        assert (printed["is_proved"], printed["verdict"], printed["gap"]) == (True, "proved", 0)
        assert (printed["cost"], printed["lower_bound"]) == (made.totals.moves,) * 2


class TestPolicy:
    RELAXED = 'format = "rackwise.policy/1"\nbalance = { replicas = "off", leaders = "keep" }\n'

    @pytest.fixture
    def relaxed(self, tmp_path):
        path = tmp_path / "relaxed.toml"
        path.write_text(self.RELAXED)
        return path

    def test_what_it_changes_is_printed(self, files, relaxed):
        plan, snapshot = files("balance", "--policy", relaxed)
        code, out, _ = called("proof", plan, "--snapshot", snapshot)
        assert code == 0
        assert out.splitlines()[1].startswith(
            'policy   balance.leaders = "keep", balance.replicas = "off", sha256 '
        )
        printed = document(called("proof", plan, "--snapshot", snapshot, "--json")[1])
        assert printed["policy_settings"] == [
            'balance.leaders = "keep"',
            'balance.replicas = "off"',
        ]
        assert printed["policy_sha256"] == read_plan(plan).made_from.policy_sha256

    def test_more_than_six_settings_are_counted(self, files, relaxed):
        weights = ", ".join(f"{broker} = 2" for broker in RACKS)
        relaxed.write_text(f"{self.RELAXED}brokers.weights = {{ {weights} }}\n")
        plan, snapshot = files("balance", "--policy", relaxed)
        policy = called("proof", plan, "--snapshot", snapshot)[1].splitlines()[1]
        assert policy.startswith('policy   balance.leaders = "keep", ')
        assert ", brokers.weights.4 = 2 and 2 more, sha256 " in policy

    def test_that_of_the_reviewer_is_required(self, files, relaxed, tmp_path):
        plan, snapshot = files("balance", "--policy", relaxed)
        assert called("proof", plan, "--snapshot", snapshot, "--policy", relaxed)[0] == 0
        yours = tmp_path / "yours.toml"
        yours.write_text('format = "rackwise.policy/1"\n# no setting\n')
        code, out, _ = called("proof", plan, "--snapshot", snapshot, "--policy", yours)
        assert code == 2
        assert out.endswith('expected your policy, got one with balance.replicas = "off"\n')


class TestNotProved:
    def test_a_plan_that_names_no_snapshot(self, files):
        plan, snapshot = files("repair")
        made = read_plan(plan)
        write_plan(replace(made, made_from=replace(made.made_from, snapshot_sha256="")), plan)
        code, _, err = called("proof", plan, "--snapshot", snapshot)
        assert code == 1
        assert "expected the hash of the snapshot that the plan was built from, got none" in err

    def test_one_needless_move(self, files):
        plan, snapshot = files("repair")
        made = read_plan(plan)
        extra = replace(made.moves[0], partition=1, before=(1, 2, 3), after=(4, 2, 3))
        write_plan(replace(made, moves=(*made.moves, extra)), plan)
        code, out, err = called("proof", plan, "--snapshot", snapshot)
        assert (code, err) == (2, "")
        assert "minimal  gap 1: it costs 2 replicas, the lower bound is 1 replica" in out

    def test_a_set_that_breaks_a_rule(self, files):
        plan, snapshot = files("repair")
        made = read_plan(plan)
        wrong = replace(made.moves[0], after=(1, 2, 5))
        write_plan(replace(made, moves=(wrong,)), plan)
        code, out, _ = called("proof", plan, "--snapshot", snapshot)
        assert code == 2
        assert "legal    no" in out
        assert "problem  " in out
        assert "t-0" in out

    def test_loads_that_are_not_fair(self, files):
        plan, snapshot = files("balance")
        made = read_plan(plan)
        write_plan(replace(made, moves=made.moves[:1]), plan)
        printed = document(called("proof", plan, "--snapshot", snapshot, "--json")[1])
        assert (printed["is_fair"], printed["is_proved"]) == (False, False)
        assert printed["problems"]

    def test_sums_that_are_not_those_of_the_moves(self, files):
        plan, snapshot = files("repair")
        made = read_plan(plan)
        write_plan(replace(made, totals=replace(made.totals, bytes=1)), plan)
        code, out, _ = called("proof", plan, "--snapshot", snapshot)
        assert code == 2
        assert out.endswith("problem  totals: expected bytes 1073741824, got 1\n")


def test_no_solver_is_loaded(files):
    plan, snapshot = files("balance")
    script = (
        "import sys; from rackwise.cli.main import run; "
        f"code = run(['proof', {str(plan)!r}, '--snapshot', {str(snapshot)!r}]); "
        "sys.exit(code or any(name.startswith('ortools') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
