"""The rules of `tests/kafka_servers.py`, checked in separate runs of pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import rackwise
from rackwise.adapters.sandbox.ports import free_ports

TESTS = Path(__file__).parents[2]
SOURCE = Path(rackwise.__file__).parents[1]
SETTINGS = """\
[pytest]
markers =
    server
    java
    kafka
    zookeeper
    spark
    prometheus
"""
ALONE = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
"""Other plugins have no part in the rules, and take most of the time of a run."""
PLAIN = "def test_plain(): pass\n"
SERVER = "import pytest\n@pytest.mark.kafka\ndef test_server(kraft_cluster): pass\n"
SKIPPED = "import pytest\n@pytest.mark.kafka\ndef test_server(): pytest.skip('no time')\n"


COLLECTOR = "import pytest\n@pytest.mark.prometheus\ndef test_collector(): pass\n"


@pytest.fixture
def run(tmp_path):
    """Run pytest on some test files with the plugin alone: `run("...", KAFKA="0")`."""

    def run(*files, **environment):
        (tmp_path / "pytest.ini").write_text(SETTINGS)
        for number, text in enumerate(files):
            (tmp_path / f"test_{number}.py").write_text(text)
        kept = ("RACKWISE_REQUIRE_KAFKA", "RACKWISE_REQUIRE_PROMETHEUS", "KAFKA")
        own = {key: value for key, value in os.environ.items() if key not in kept}
        path = os.pathsep.join([str(SOURCE), str(TESTS)])
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "kafka_servers", "-p", "no:cacheprovider"],
            cwd=tmp_path,
            env=own | ALONE | {"PYTHONPATH": path} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def without_jars(tmp_path):
    """An environment in which no jar can be had."""
    (tmp_path / "home").mkdir()
    return {
        "HOME": str(tmp_path / "home"),
        "RACKWISE_CACHE": str(tmp_path / "cache"),
        "RACKWISE_MAVEN_URL": f"http://127.0.0.1:{free_ports(1)[0]}/maven2",
        "PATH": str(Path(sys.executable).parent),
    }


def first_lines(ran):
    """All that stands before the tests."""
    return ran.stdout.partition("test_0.py")[0]


def last_lines(ran):
    return ran.stdout.splitlines()[-4:]


def test_kafka_0_leaves_them_out_and_says_so_first_and_last(run):
    ran = run(PLAIN, SERVER, KAFKA="0")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    line = "left out: 1 test on real servers: KAFKA=0"
    assert "real Kafka: left out (KAFKA=0)" in first_lines(ran)
    assert line in first_lines(ran)
    assert line in last_lines(ran)
    assert "1 passed, 1 deselected" in ran.stdout


def test_a_run_of_none_but_those_left_out_is_no_failure(run):
    ran = run(SERVER, KAFKA="0")
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "left out: 1 test on real servers: KAFKA=0" in last_lines(ran)
    assert run("").returncode == 5


def test_a_missing_jar_leaves_them_out_and_says_which_first_and_last(run, without_jars):
    ran = run(PLAIN, SERVER, **without_jars)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    reason = "left out: 1 test on real servers: cannot fetch jar at.yawk.lz4:lz4-java:1.11.2"
    assert reason in first_lines(ran)
    assert any(line.startswith(reason) for line in last_lines(ran))


def test_required_a_missing_jar_fails_the_test_with_the_way_out(run, without_jars):
    ran = run(PLAIN, SERVER, RACKWISE_REQUIRE_KAFKA="1", **without_jars)
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "real Kafka: required (RACKWISE_REQUIRE_KAFKA=1)" in first_lines(ran)
    assert "cannot fetch jar at.yawk.lz4:lz4-java:1.11.2" in ran.stdout
    assert "hint: set RACKWISE_MAVEN_URL" in ran.stdout
    assert "1 passed, 1 error" in ran.stdout


def test_required_a_deliberate_skip_fails_the_run(run):
    ran = run(PLAIN, SKIPPED, RACKWISE_REQUIRE_KAFKA="1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "failed: 1 skipped where RACKWISE_REQUIRE_KAFKA=1 allows none" in ran.stdout
    assert "test_1.py::test_server: Skipped: no time" in ran.stdout


def test_required_a_file_that_skips_itself_fails_the_run(run):
    hidden = "import pytest\npytest.skip('not here', allow_module_level=True)\n"
    ran = run(PLAIN, hidden, RACKWISE_REQUIRE_KAFKA="1")
    assert ran.returncode == 1, ran.stdout + ran.stderr
    assert "test_1.py: Skipped: not here" in ran.stdout


def test_required_a_skip_of_a_plain_test_or_an_expected_failure_is_allowed(run):
    plain = "import pytest\ndef test_it(): pytest.skip('no time')\n"
    expected = (
        "import pytest\n@pytest.mark.kafka\n@pytest.mark.xfail\ndef test_it(): raise OSError\n"
    )
    ran = run(plain, expected, RACKWISE_REQUIRE_KAFKA="1")
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_not_required_a_deliberate_skip_is_allowed(run):
    ran = run(PLAIN, SKIPPED)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_required_and_refused_at_once_is_a_usage_error(run):
    ran = run(PLAIN, KAFKA="0", RACKWISE_REQUIRE_KAFKA="1")
    assert ran.returncode == 4
    assert "KAFKA=0 leaves real Kafka out, RACKWISE_REQUIRE_KAFKA=1 requires it" in ran.stderr


class TestPrometheus:
    @pytest.fixture
    def without(self, tmp_path):
        """An environment in which Prometheus and node_exporter cannot be had."""
        return {
            "RACKWISE_PROMETHEUS": str(tmp_path / "prometheus"),
            "PATH": str(Path(sys.executable).parent),
        }

    def test_what_cannot_be_fetched_leaves_them_out_and_says_so_first_and_last(self, run, without):
        ran = run(PLAIN, COLLECTOR, **without)
        assert ran.returncode == 0, ran.stdout + ran.stderr
        line = (
            "left out: 1 test on real servers: Prometheus and node_exporter are not on PATH and "
            "cannot be fetched: there is no apt-get"
        )
        assert line in first_lines(ran)
        assert line in last_lines(ran)
        assert "1 passed, 1 deselected" in ran.stdout

    def test_required_they_are_not_left_out(self, run, without):
        ran = run(PLAIN, COLLECTOR, RACKWISE_REQUIRE_PROMETHEUS="1", **without)
        assert "2 passed" in ran.stdout, ran.stdout + ran.stderr
        assert "left out" not in ran.stdout
