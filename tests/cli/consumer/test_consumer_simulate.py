"""`rackwise consumer simulate`; what the guide shows; both commands without a solver."""

from __future__ import annotations

import gzip
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from assignments import hide_solver
from consumer_snapshots import cluster, document, eighty_five, group, limited, member, said
from refusals import called


@pytest.fixture
def call(tmp_path):
    return partial(said, tmp_path)


@pytest.fixture
def no_solver(monkeypatch):
    hide_solver(monkeypatch)


class TestSimulate:
    def test_a_row_for_each_assignor(self, call):
        code, out, err = call("simulate", eighty_five())
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert lines[0] == "billing  classic range  6 members  60 partitions"
        assert lines[1].split() == [
            "assignor",
            "local",
            "share",
            "smallest",
            "largest",
            "moves",
            "rounds",
        ]
        assert lines[2].split() == ["now", "51", "85", "%", "10", "10", "0"]
        assert [line.split()[0] for line in lines[3:]] == [
            "range",
            "roundrobin",
            "sticky",
            "cooperative-sticky",
            "rack-optimal",
            "server-uniform",
            "server-range",
        ]
        assert lines[-3].split()[1:] == ["60", "100", "%", "10", "10", "9", "2"]

    def test_an_assignor_on_the_broker_keeps_what_a_group_of_its_protocol_owns(self, call):
        value = eighty_five()
        modern = replace(value.groups[0], protocol="consumer", assignor="uniform")
        for each, expected in ((value.groups[0], ["60", "100"]), (modern, ["51", "85"])):
            _, out, _ = call(
                "simulate", replace(value, groups=(each,)), "--assignor", "server-uniform"
            )
            assert out.splitlines()[-1].split()[1:3] == expected

    def test_members_added_and_removed(self, call):
        change = ["--add", "use1-az1=3", "--add", "use1-az1=1", "--remove", "m1"]
        terms = ["--assignor", "rack-optimal"]
        code, out, _ = call("simulate", limited(), *terms, *change)
        assert code == 0
        assert out.splitlines()[0].endswith("15 partitions  simulated with 8 members")
        assert out.splitlines()[-1].split()[:4] == ["rack-optimal", "14", "93", "%"]

    def test_partitions_of_a_removed_member_count_as_moves(self, call):
        pair = cluster([1, 2], group(member("m", "use1-az1", [0]), member("n", "use1-az2", [1])))
        _, out, _ = call("simulate", pair, "--assignor", "sticky", "--remove", "m")
        last = out.splitlines()[-1].split()
        assert last == ["sticky", "1", "50", "%", "2", "2", "1", "1"]

    def test_one_document(self, call):
        terms = ["--assignor", "range", "--assignor", "cooperative-sticky", "--rounds", "1"]
        code, out, err = call("simulate", eighty_five(), "--json", *terms)
        assert (code, err) == (0, "")
        told = document(out)
        assert told["format"] == "rackwise.consumer-simulation/1"
        (found,) = told["groups"]
        assert (found["members"], found["members_simulated"]) == (6, 6)
        assert found["now"]["local"] == 51
        assert [(each["assignor"], each["rounds"]) for each in found["assignors"]] == [
            ("range", 1),
            ("cooperative-sticky", None),
        ]
        assert found["assignors"][1]["partitions"] == 60

    def test_out_is_compressed_and_is_never_the_snapshot_that_is_read(self, call, tmp_path):
        terms = ["--assignor", "range", "--add", "zzz=1", "--out"]
        code, _, err = call("simulate", eighty_five(), *terms, tmp_path / "o.json.gz")
        assert code == 0
        assert err.startswith("warning: --add: 1 member in racks without a broker: zzz (racks")
        told = document(gzip.decompress((tmp_path / "o.json.gz").read_bytes()).decode())
        assert told["groups"][0]["group"] == "billing"
        (tmp_path / "link").symlink_to("s.json.gz")
        before = (tmp_path / "s.json.gz").read_bytes()
        code, out, err = call("simulate", eighty_five(), *terms, tmp_path / "link")
        assert (code, out) == (1, "")
        message = f"expected another file than the snapshot, got {tmp_path / 'link'}"
        assert err.startswith(f"error: invalid --out: {message}\n")
        assert (tmp_path / "s.json.gz").read_bytes() == before

    def test_not_settled_in_so_many_rounds(self, call):
        terms = ["--assignor", "rack-optimal", "--rounds", "1"]
        assert call("simulate", eighty_five(), *terms)[1].endswith("not settled\n")

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            (["--add", "a=x"], "invalid --add: expected RACK=N, N from 0 to 9999, got x"),
            (["--add", "a=99999"], "invalid --add: expected RACK=N, N from 0 to 9999, got 99999"),
            (
                [word for number in range(6) for word in ("--remove", f"m{number}")],
                (
                    "invalid --remove: expected at least 1 member to remain, got every member\n"
                    "hint: keep one of them in"
                ),
            ),
            (["--add", "4"], "invalid --add: expected RACK=N, got 4"),
            (["--remove", "x"], "invalid member to remove: expected a member of the group, got x"),
            (
                ["--assignor", "uniform"],
                "invalid assignor: expected one of range, roundrobin, sticky, ",
            ),
            (["--rounds", "0"], "Invalid value for '--rounds'"),
        ],
    )
    def test_invalid_options_are_rejected(self, call, options, message):
        code, out, err = call("simulate", eighty_five(), *options)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: {message}")

    def test_only_one_group_is_changed(self, call):
        value = eighty_five()
        both = replace(value, groups=(*value.groups, replace(value.groups[0], group="two")))
        code, _, err = call("simulate", both, "--add", "use1-az1=1")
        assert code == 1
        assert err == (
            "error: expected 1 group with --add and --remove, got 2\nhint: name it with --group G\n"
        )


class TestTheGuide:
    """What docs/guides/consumers.md shows is what is printed."""

    ROOT = Path(__file__).parents[3]
    GUIDE = ROOT / "docs" / "guides" / "consumers.md"

    def shown(self, call, verb, value, *options):
        page = self.GUIDE.read_text().replace("\n   ", "\n")
        assert call(verb, value, *options)[1] in page

    def test_groups(self, call):
        self.shown(call, "evaluate", eighty_five())
        self.shown(call, "simulate", eighty_five())

    def test_the_change_to_the_consumer_protocol(self, call, tmp_path):
        rates = tmp_path / "rates.csv"
        rows = [f"orders,{number},1000000" for number in range(60)]
        rates.write_text("\n".join(["topic,partition,bytes_per_s", *rows]))
        self.shown(call, "evaluate", eighty_five(), "--weights", rates, "--provider", "aws")

    def test_the_bundled_cluster(self):
        source = ["--snapshot", self.ROOT / "examples" / "demo" / "snapshot.json.gz"]
        code, out, _ = called("consumer", "evaluate", *source, "--group", "analytics")
        assert code == 2
        assert out in self.GUIDE.read_text()

    def test_a_group_that_racks_limit(self, call):
        search = limited()
        search = replace(search, groups=(replace(search.groups[0], group="search"),))
        self.shown(call, "evaluate", search)
        self.shown(call, "simulate", search, "--assignor", "rack-optimal", "--add", "use1-az1=4")


@pytest.mark.usefixtures("no_solver")
class TestWithoutASolver:
    def test_the_best_is_known_and_its_moves_are_unknown(self, call):
        code, out, err = call("evaluate", eighty_five())
        assert code == 2
        assert out.splitlines()[0] == (
            "billing  classic range  6 members  60 partitions  local 51 (85 %)  best 60 (100 %)"
        )
        assert err == (
            "warning: the number of moves is unknown without ortools: pip install rackwise\n"
        )
        assert document(call("evaluate", eighty_five(), "--json")[1])["groups"][0]["best"] is None

    @pytest.mark.parametrize("options", [["--balance", "per-topic"], ["--weights"]])
    def test_where_an_optimum_is_needed_it_says_what_to_install(self, call, tmp_path, options):
        if options == ["--weights"]:
            weights = tmp_path / "w.csv"
            weights.write_text("topic,partition,bytes_per_s\norders,0,2048\n")
            options = [*options, weights]
        code, out, err = call("evaluate", eighty_five(), *options)
        assert code == 0
        assert err.startswith(
            "warning: billing: the best assignment is unknown: ortools is not installed; plans and "
            "optimal assignments require it; pip install rackwise\n"
        )
        assert out.splitlines()[0].endswith("  local 51 (85 %)  best unknown")
        assert "busiest broker 1: 20 of 60 partitions" in out
        assert ("  crosses zone: 9 partitions, " in out) == ("--weights" in options)
        assert ", best " not in out

    def test_the_other_groups_are_evaluated(self, call):
        value = eighty_five()
        (billing,) = value.groups
        first, *others = billing.members
        mixed = (replace(first, topics=()), *others)
        both = (replace(billing, group="mixed", members=mixed), billing)
        both = replace(value, groups=both)
        code, out, err = call("evaluate", both)
        assert code == 2
        assert [part.split("best ")[1].splitlines()[0] for part in out.split("\n\n")] == [
            "unknown",
            "60 (100 %)",
        ]
        assert err.count("the best assignment is unknown: ") == 1
        assert "warning: the number of moves is unknown without ortools: pip install" in err
        unknown, _ = document(call("evaluate", both, "--json")[1])["groups"]
        assert (unknown["best_local"], unknown["is_better"]) == (None, None)
        assert call("evaluate", both, "--group", "mixed")[0] == 0

    def test_rack_optimal_is_skipped_unless_requested(self, call):
        code, out, err = call("simulate", eighty_five())
        assert code == 0
        assert [line.split()[0] for line in out.splitlines()[-3:]] == [
            "cooperative-sticky",
            "server-uniform",
            "server-range",
        ]
        assert err.startswith("warning: rack-optimal is skipped: ortools is not installed")
        assert call("simulate", eighty_five(), "--assignor", "rack-optimal")[0] == 1
