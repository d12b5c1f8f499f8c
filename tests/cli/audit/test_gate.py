"""`audit --format` and `plan --fail-on-moves`: what a CI job sees."""

from __future__ import annotations

import json
from xml.etree import ElementTree as ET

import pytest

from rackwise.adapters.files import write_snapshot
from rackwise.cli.main import run
from small_fleets import cluster


@pytest.fixture
def snapshot(tmp_path):
    """A cluster of two brokers in /eu/a and one in /eu/b; a topic has both replicas in /eu/a."""
    path = tmp_path / "demo.json"
    racks = {1: "/eu/a", 2: "/eu/a", 3: "/eu/b"}
    write_snapshot(cluster(racks, {"orders": ((1, 2), (2, 3), (3, 1))}), path)
    return path


@pytest.mark.parametrize("format_", ["junit", "sarif", "github"])
@pytest.mark.parametrize(("fail_on", "code"), [("error", 2), ("never", 0)])
def test_each_format_keeps_the_exit_code(snapshot, capsys, format_, fail_on, code):
    command = ["audit", "--snapshot", str(snapshot), "--fail-on", fail_on, "--format", format_]
    assert run(command) == code
    shown = capsys.readouterr().out
    failing = {
        "junit": lambda: int(ET.fromstring(shown).get("failures")),  # noqa: S314 (our own text)
        "sarif": lambda: json.JSONDecoder().decode(shown)["version"] == "2.1.0" and code,
        "github": lambda: int(shown.splitlines()[-1].split()[-4]),
    }[format_]()
    assert bool(failing) == bool(code)


def test_rules_that_were_not_asked_for_are_no_tests(snapshot, capsys):
    run(["audit", "--snapshot", str(snapshot), "--rule", "offline", "--format", "junit"])
    root = ET.fromstring(capsys.readouterr().out)  # noqa: S314 (our own text)
    assert [case.get("classname") for case in root.iter("testcase")] == ["offline"]


def test_format_and_json_exclude_each_other(snapshot, capsys):
    assert run(["audit", "--snapshot", str(snapshot), "--format", "sarif", "--json"]) == 1
    assert "--format cannot be combined with --json" in capsys.readouterr().err


@pytest.mark.parametrize(("most", "code"), [(None, 2), (0, 2), (1, 0), (5, 0)])
def test_a_plan_fails_on_more_moves_than_allowed(snapshot, capsys, most, code):
    options = [] if most is None else ["--fail-on-moves", str(most)]
    assert run(["plan", "repair", "--snapshot", str(snapshot), *options, "--json"]) == code
    assert len(json.JSONDecoder().decode(capsys.readouterr().out)["moves"]) == 1


def test_a_number_of_moves_below_zero_is_rejected(snapshot, capsys):
    assert run(["plan", "repair", "--snapshot", str(snapshot), "--fail-on-moves", "-1"]) == 1
    assert "invalid --fail-on-moves: expected 0 or more, got -1" in capsys.readouterr().err
