"""What Prometheus says of the files: promtool finds no fault, and node_exporter serves each sample.

Debian's packages have both programs; see `prometheus_tools`.
"""

import json
import subprocess
import threading
from pathlib import Path

import pytest

import prometheus_tools
from prometheus_servers import Exporter, program
from rackwise.adapters.files import publish
from rackwise.cli.main import run
from rackwise.report.metrics.producer import producer_metrics
from rackwise.report.metrics.run import run_metrics
from report.metrics.exposition_text import read
from report.metrics.test_producer import counted
from report.metrics.test_run import CASES, NOW
from report.summaries import summary

pytestmark = [pytest.mark.prometheus, pytest.mark.timeout(300)]

SNAPSHOT = Path(__file__).parents[3] / "examples" / "demo" / "snapshot.json.gz"
WRITES = 20


def checked(text):
    """The complaints of `promtool check metrics`, and its exit code."""
    done = subprocess.run(
        [program(prometheus_tools.PROMTOOL), "check", "metrics"],
        input=text.encode(),
        capture_output=True,
        check=False,
    )
    return (done.stdout + done.stderr).decode(), done.returncode


@pytest.fixture(scope="module")
def audited(tmp_path_factory):
    """The file that `rackwise audit --metrics` writes about the bundled snapshot."""
    file = tmp_path_factory.mktemp("audit") / "audit.prom"
    assert run(["--quiet", "audit", "--snapshot", str(SNAPSHOT), "--metrics", str(file)]) == 2
    return file.read_text()


@pytest.fixture
def exporter(tmp_path):
    exporter = Exporter(tmp_path)
    yield exporter
    exporter.close()


@pytest.mark.parametrize("case", CASES)
def test_promtool_finds_no_fault_in_the_metrics_of_a_run(case):
    assert checked(run_metrics(summary(**CASES[case]), now=NOW)) == ("", 0)


def test_promtool_finds_no_fault_in_the_metrics_of_an_audit_and_of_producers(audited):
    assert checked(audited) == ("", 0)
    assert checked(producer_metrics({"orders": counted(), 'a\n"\\': counted()})) == ("", 0)


def test_promtool_finds_a_fault_where_there_is_one(audited):
    assert checked(audited + "# EOF\n")[1] == 0
    assert checked(audited + audited)[1] != 0
    assert checked(audited.replace("HELP rackwise_partitions ", "HELP rackwise_other "))[1] != 0


@pytest.mark.parametrize("case", CASES)
def test_node_exporter_serves_each_sample_of_a_run(case, exporter, tmp_path):
    text = run_metrics(summary(**CASES[case]), now=NOW)
    (tmp_path / "rackwise.prom").write_text(text)
    wanted = {place: float(value) for place, value in read(text).items()}
    assert exporter.scraped() == (wanted, True)


def test_node_exporter_serves_what_the_command_writes_of_a_bill(exporter, tmp_path):
    document = summary(topics=70, clusters=2)
    bill = tmp_path / "bill"
    text = json.dumps(document).encode()
    publish(bill, run_id=document["run_id"], files={"summary.json": text}, tables="tables")
    assert run(["--quiet", "report", str(bill), "--metrics", str(tmp_path / "bill.prom")]) == 0
    served, is_read = exporter.scraped()
    assert is_read
    names = {name for name, _ in served}
    assert names >= {
        "rackwise_partitions_offline_on_rack_loss",
        "rackwise_partitions_unsafe",
        "rackwise_cross_rack_usd_30d",
        "rackwise_savable_usd_30d",
        "rackwise_snapshot_age_seconds",
    }
    month = sum(value for (name, _), value in served.items() if name.endswith("_rack_usd_30d"))
    assert month == pytest.approx(float(document["verdict"]["usd_30d"]), rel=1e-12)


def test_node_exporter_serves_each_sample_of_an_audit(audited, exporter, tmp_path):
    (tmp_path / "audit.prom").write_text(audited)
    wanted = {place: float(value) for place, value in read(audited).items()}
    assert exporter.scraped() == (wanted, True)


def test_a_scrape_at_any_moment_sees_a_whole_file(audited, exporter, tmp_path):
    """The command writes again and again while node_exporter reads."""
    place = tmp_path / "audit.prom"
    place.write_text(audited)
    command = ["--quiet", "audit", "--snapshot", str(SNAPSHOT), "--rule", "offline"]
    is_over = threading.Event()
    scrapes = []

    def scrape():
        while not is_over.is_set():
            scrapes.append(exporter.scraped())

    reader = threading.Thread(target=scrape)
    reader.start()
    try:
        codes = [run([*command, "--metrics", str(place)]) for _ in range(WRITES)]
    finally:
        is_over.set()
        reader.join()
    assert set(codes) == {0}
    assert len(scrapes) > WRITES
    always = {("rackwise_partitions", (("cluster", "shop"),))}
    assert all(is_read and always <= set(served) for served, is_read in scrapes)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["audit.prom", "node_exporter.log"]
