"""The archive of Spark's classes: its place, its options, and a session that uses it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rackwise.core.errors import InvalidConfig, SessionConflict
from rackwise.core.json.strict import parse
from rackwise.pipeline.runtime.class_archive import archive_options, archive_path, stored_classes

LOADS = """
import os, sys
from rackwise.pipeline.runtime.class_archive import archive_options
from rackwise.pipeline.runtime.java import find_java
from rackwise.pipeline.runtime.session import JAVA_OPTIONS, session, settings

stored = archive_options(find_java(os.environ).home, os.environ)
log = f"-Xlog:class+load:file={sys.argv[1]}"
java = settings("local[2]", "small", {}, java_options=[*stored, log])[JAVA_OPTIONS]
with session(master="local[2]", profile="small", conf={JAVA_OPTIONS: java}) as spark:
    spark.range(10).selectExpr("sum(id)").collect()
"""


def java_in(folder, content="java"):
    (folder / "bin").mkdir(parents=True)
    (folder / "bin" / "java").write_text(content)
    return folder


def test_each_java_has_an_archive_of_its_own(tmp_path):
    env = {"RACKWISE_CACHE": str(tmp_path / "cache")}
    one, other = java_in(tmp_path / "one"), java_in(tmp_path / "other")
    place = archive_path(one, env)
    assert place.parent == tmp_path / "cache"
    assert place == archive_path(one, env) != archive_path(other, env)
    os.utime(one / "bin" / "java", (1, 1))
    assert archive_path(one, env) != place, "another Java was installed there"


def test_java_gets_an_archive_only_if_there_is_one(tmp_path):
    env = {"RACKWISE_CACHE": str(tmp_path / "cache")}
    java = java_in(tmp_path / "java")
    assert archive_options(java, env) == ()
    place = archive_path(java, env)
    place.parent.mkdir()
    place.touch()
    assert archive_options(java, env)[0] == f"-XX:SharedArchiveFile={place}"
    spaced = archive_path(java, {"RACKWISE_CACHE": str(tmp_path / "my cache")})
    spaced.parent.mkdir()
    spaced.touch()
    options = archive_options(java, {"RACKWISE_CACHE": str(tmp_path / "my cache")})
    assert options[0] == f'"-XX:SharedArchiveFile={spaced}"'


@pytest.mark.spark
@pytest.mark.classic
def test_a_java_that_runs_already_is_left_alone(spark):
    with (
        pytest.raises(SessionConflict, match="expected no running Java of Spark"),
        stored_classes(os.environ),
    ):
        pass
    assert spark.range(3).count() == 3


@pytest.mark.spark
@pytest.mark.classic
@pytest.mark.long
@pytest.mark.timeout(600)
def test_later_sessions_take_their_classes_from_the_archive(tmp_path):
    env = {**os.environ, "RACKWISE_CACHE": str(tmp_path / "my cache")}
    command = [Path(sys.executable).with_name("rackwise"), "--json", "spark-cache"]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    made = parse(done.stdout.encode(), where="stdout", error=InvalidConfig)
    assert [Path(made["path"])] == list((tmp_path / "my cache").iterdir())
    assert made["bytes"] == Path(made["path"]).stat().st_size
    assert "Traceback" not in done.stderr
    log = tmp_path / "classes.log"
    started = subprocess.run(
        [sys.executable, "-c", LOADS, log], env=env, capture_output=True, text=True, check=True
    )
    assert started.stdout == ""
    loads = [
        line
        for line in log.read_text().splitlines()
        if "org.apache.spark" in line and "Lambda" not in line
    ]
    stored = [line for line in loads if "shared objects file (top)" in line]
    assert len(stored) > 0.8 * len(loads) > 800, "lambdas aside, which Java makes at run time"
