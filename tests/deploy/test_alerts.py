"""The alert rules and the dashboard, on a real Prometheus that scrapes a real node_exporter."""

import json
import re
import shlex
import shutil
import subprocess
from contextlib import ExitStack, closing, contextmanager

import pytest
from typer.main import get_command

import prometheus_tools
from kafka_traffic import (
    consumer,
    create,
    delete,
    produce,
    read_all,
    replicas_by_each_broker,
    until,
)
from nights import FIRST, SECOND, THIRD, Fleet
from prometheus_servers import Exporter, Prometheus, program
from rackwise.adapters.files import publish
from rackwise.adapters.kafka import connect
from rackwise.cli.app import COMMANDS, build_app
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.report.metrics import nightly, run  # noqa: F401 (they register their metrics)
from rackwise.report.metrics.exposition import AUDIT, NIGHTLY, RUN
from refusals import called
from report.metrics.test_node_exporter import checked
from report.summaries import summary
from shown_commands import ROOT

pytestmark = [pytest.mark.prometheus, pytest.mark.timeout(300)]

RULES = ROOT / "deploy" / "prometheus" / "alerts.yml"
RULES_TEST = RULES.with_name("alerts_test.yml")
DASHBOARD = ROOT / "deploy" / "grafana" / "rackwise.json"
NAME = re.compile(r"\brackwise_\w+")
METRICS = {f"{each.prefix}{one.name}" for each in (RUN, AUDIT, NIGHTLY) for one in each.metrics}
TOPIC, READ = "one-rack", "read-across"
ONE_RACK = [[0, 3], [3, 0]]
"""Brokers 0 and 3 are both in rack a."""
NIGHT = {
    "began": "2026-11-26T02:00:00Z",
    "ended": "2026-11-26T02:03:00Z",
    "last_success": "2026-11-26T02:03:00Z",
    "seconds": 180,
    "exit": 2,
    "fleet_failed": 0,
    "unsent": 0,
    "clusters": [
        {"name": "shop", "failed": 0, "last_success": "2026-11-26T02:03:00Z", "moves": 12}
    ],
}
FINDINGS = "Findings"
UNSAFE = ("RackwisePartitionsUnsafe", "one-rack")
OFFLINE = ("RackwiseOfflineOnRackLoss", "one-rack")


def promtool(*words, cwd=None):
    done = subprocess.run(
        [program(prometheus_tools.PROMTOOL), *words],
        cwd=cwd,
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout + done.stderr


def queries(cluster=".*"):
    """(title of the panel, query of these clusters) of the dashboard."""
    board = parse(DASHBOARD.read_bytes(), where="dashboard", error=InvalidConfig)
    for panel in board["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], target["expr"].replace("$cluster", cluster)


class TestFiles:
    def test_promtool_finds_no_fault_in_the_rules(self):
        code, told = promtool("check", "rules", "--lint-fatal", RULES)
        assert code == 0, told

    def test_each_rule_fires_when_it_says_and_not_before(self):
        code, told = promtool("test", "rules", RULES_TEST)
        assert code == 0, told

    def test_each_rule_has_a_case(self):
        alerts = re.findall(r"- alert: (\w+)", RULES.read_text())
        cases = RULES_TEST.read_text()
        fired = {
            name
            for name, found in re.findall(r"alertname: (\w+)\n +exp_alerts:(.*)\n", cases)
            if not found
        }
        assert fired == set(alerts)

    def test_no_summary_has_a_noun_after_its_value_which_may_be_one(self):
        summaries = re.findall(r"summary: (.*)\n", RULES.read_text())
        assert len(summaries) == RULES.read_text().count("- alert:")
        assert [each for each in summaries if re.search(r"\{\{ \$value \}\} \w", each)] == []

    def test_a_rule_that_fires_too_early_fails_its_case(self, tmp_path):
        text = RULES.read_text().replace("partitions_unsafe > 0", "partitions_unsafe >= 0")
        (tmp_path / RULES.name).write_text(text)
        shutil.copy(RULES_TEST, tmp_path)
        assert promtool("test", "rules", RULES_TEST.name, cwd=tmp_path)[0] != 0

    @pytest.mark.parametrize("file", [RULES, DASHBOARD], ids=lambda file: file.name)
    def test_each_metric_is_one_that_a_command_writes(self, file):
        named = set(NAME.findall(file.read_text()))
        assert named - METRICS == set()
        assert len(named) > 4


def told_commands():
    """Each command that an annotation tells, with labels such as Prometheus puts in."""
    rules = re.sub(r"^ *#.*$", "", RULES.read_text(), flags=re.MULTILINE)
    text = " ".join(rules.split()).replace("{{ $labels.cluster }}", "prod-eu")
    found = re.findall(r"`rackwise ([^`]+)`", text.replace("{{ $labels.rack }}", "/eu/a"))
    return sorted(set(found))


class TestCommands:
    @pytest.mark.parametrize("text", told_commands())
    def test_each_command_of_an_annotation_is_one_that_runs_for_the_cluster(self, text):
        name, *words = shlex.split(text)
        command = get_command(build_app(*COMMANDS)).commands[name]
        given = command.make_context(name, words).params
        assert given["cluster"] == "prod-eu"
        assert "{{" not in text

    def test_the_commands_are_found(self):
        assert [text for text in told_commands() if "--lose /eu/a" in text]


def audit(cluster, file):
    """Write the metrics of the topic's audit; its exit code."""
    seen = file.parent / "one-rack.json"
    words = ("--bootstrap-server", cluster.bootstrap, "--topics", TOPIC)
    assert called("snapshot", *words, "--out", seen)[0] == 0
    code, _, err = called("audit", "--snapshot", seen, "--metrics", file)
    assert code in {0, 2}, err
    return code


@pytest.mark.kafka
def test_the_alert_fires_for_a_cluster_made_unsafe_and_stops_after_the_repair(
    kraft_cluster, tmp_path, monkeypatch
):
    """On the way, each query of the dashboard returns data."""
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    folder = tmp_path / "textfile"
    folder.mkdir()
    document = summary(topics=70, clusters=2)
    bill = tmp_path / "bill"
    files = {"summary.json": json.dumps(document).encode()}
    publish(bill, run_id=document["run_id"], files=files, tables="tables")
    assert called("report", bill, "--metrics", folder / "bill.prom")[0] == 0
    (folder / "nightly.prom").write_text(nightly.nightly_metrics(NIGHT))
    audited, plan = folder / "audit.prom", tmp_path / "plan.json"
    with closing(connect(kraft_cluster.bootstrap)) as admin, closing(Exporter(folder)) as exporter:
        create(admin, TOPIC, ONE_RACK)
        try:
            assert audit(kraft_cluster, audited) == 2
            targets = [exporter.address]
            with closing(Prometheus(tmp_path, targets=targets, rules=RULES)) as prometheus:
                until(lambda: prometheus.firing() >= {UNSAFE, OFFLINE}, "the alerts to fire")
                empty = [each for each in queries() if not prometheus.samples(each[1])]
                assert empty == []
                clusters = {
                    each["cluster"] for each, _ in prometheus.samples("rackwise_partitions")
                }
                assert "one-rack" in clusters

                source = ("--bootstrap-server", kraft_cluster.bootstrap)
                assert called("plan", "repair", *source, "--topics", TOPIC, "--out", plan)[0] == 2
                assert called("apply", plan, *source)[0] == 0
                until(lambda: audit(kraft_cluster, audited) == 0, "the audit to find nothing")
                until(
                    lambda: not prometheus.firing() & {UNSAFE, OFFLINE}, "the alerts to stop firing"
                )
        finally:
            delete(admin, TOPIC)


def of_nights(prometheus):
    """(name, cluster) of the alerts that fire for figures of a night; others fire for their age."""
    names = {"RackwisePartitionsUnsafe", "RackwiseNightlyClusterFailed"}
    return {each for each in prometheus.firing() if each[0] in names}


@pytest.mark.long
@pytest.mark.kafka
def test_the_alerts_fire_on_what_a_night_wrote_and_stop_when_its_plan_was_applied(
    kraft_cluster, tmp_path, monkeypatch
):
    """The alert of the cluster that is down continues after the second night."""
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    hasty = tmp_path / "hasty.properties"
    hasty.write_text("default.api.timeout.ms=1000\n")
    clusters = {
        "eu": {"bootstrap": kraft_cluster.bootstrap, "addresses": "addresses.csv"},
        "down": {"bootstrap": "127.0.0.1:1", "command_config": hasty.name},
    }
    (tmp_path / "addresses.csv").write_text("address,rack\n127.0.0.1,b\n")
    fleet = Fleet(tmp_path, clusters, defaults={"provider": "aws"})
    metrics = fleet.data / "metrics"
    unsafe, failed = ("RackwisePartitionsUnsafe", "eu"), ("RackwiseNightlyClusterFailed", "down")
    with closing(connect(kraft_cluster.bootstrap)) as admin, ExitStack() as stack:
        for name, placement in ((TOPIC, ONE_RACK), (READ, [[0, 1], [1, 2]])):
            stack.callback(delete, admin, name)
            create(admin, name, placement)
        traffic = stack.enter_context(reads_and_writes(kraft_cluster.bootstrap))
        traffic()
        first = fleet.night(FIRST)
        assert first.code == 3, first
        exporter = stack.enter_context(closing(Exporter(metrics)))
        prometheus = stack.enter_context(
            closing(Prometheus(tmp_path, targets=[exporter.address], rules=RULES))
        )
        until(lambda: of_nights(prometheus) == {unsafe, failed}, "the alerts of the night to fire")
        assert FINDINGS not in empty_panels(prometheus, "eu")
        assert FINDINGS not in empty_panels(prometheus, ".*")

        plan = fleet.data / "plans" / "eu" / "2026-11-26.json"
        code, _, err = called("apply", plan, "--fleet", fleet.file, "--cluster", "eu")
        assert code == 0, err
        moves = fleet.moves("eu", "2026-11-26")
        wanted = {(row, tuple(after)) for topic, row, after in moves if topic == TOPIC}
        assert {row for row, _ in wanted} == {0, 1}
        until(
            lambda: replicas_by_each_broker(admin, TOPIC) == wanted,
            "each broker to show the repair",
        )
        until(lambda: of_nights(prometheus) == {unsafe, failed}, "the alerts to fire until a night")
        traffic()
        second = fleet.night(SECOND)
        assert second.code == 3, second
        assert fleet.moves("eu", "2026-11-27") == []
        until(
            lambda: of_nights(prometheus) == {failed}, "the alert of the repaired cluster to stop"
        )
        traffic()
        assert fleet.night(THIRD).code == 3
        wait_for_the_night(prometheus, metrics / "nightly.prom")
        no_finding_is_left = {FINDINGS}
        assert empty_panels(prometheus, "eu") == no_finding_is_left
        assert empty_panels(prometheus, ".*") == no_finding_is_left
        found, is_readable = exporter.scraped()
        assert is_readable
        readers = (("cluster", "eu"), ("group", "readers"))
        assert found["rackwise_cross_rack_usd_30d_by_group", readers] > 0
        written = {file.name: checked(file.read_text()) for file in metrics.glob("*.prom")}
        assert written == {"nightly.prom": ("", 0), "rackwise.prom": ("", 0)}


@contextmanager
def reads_and_writes(bootstrap):
    """A function that writes to a topic, reads the records in a group, and commits.

    The reader names no rack: the table of addresses has it.
    """
    with consumer(bootstrap, "readers", [READ], client_id="reader") as member:

        def once():
            produce(bootstrap, {(READ, 0): 300, (READ, 1): 300})
            read_all(member, 600)
            member.commit()

        yield once


def wait_for_the_night(prometheus, file):
    """Wait until Prometheus has the end of the run that a file has."""
    query = "rackwise_nightly_last_end_timestamp_seconds"
    end = float(re.search(rf"^{query} (\S+)", file.read_text(), re.MULTILINE)[1])
    until(
        lambda: [float(value) for _, value in prometheus.samples(query)] == [end],
        "the figures of the last night",
    )


def empty_panels(prometheus, cluster):
    """Panels of the dashboard with a query that has no sample of these clusters."""
    return {title for title, query in queries(cluster) if not prometheus.samples(query)}
