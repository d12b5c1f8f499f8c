"""The jars of Spark's Kafka connector: asked of real servers, fetched by Spark's own Ivy."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path

import pyspark
import pytest

from maven_repositories import MODULE, OWN, files_of, repository
from rackwise.core.errors import ConnectorMissing
from rackwise.pipeline.stream import maven
from rackwise.pipeline.stream.connector import connector_conf, coordinate_for
from stream_runs import ended, started

pytestmark = pytest.mark.java

LINE = ".".join(pyspark.__version__.split(".")[:2])
OLDER, OTHER_LINE = f"{LINE}.0", "3.5.8"


@pytest.fixture
def found(tmp_path, monkeypatch):
    """The names of the jars that are found, by the conf and the address of a repository."""

    def names(address, **conf):
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
        given = {"spark.jars.ivy": str(tmp_path / "ivy"), "a": "b", **conf}
        whole = connector_conf(given)
        assert {key: whole[key] for key in given} == given
        paths = [Path(path) for path in whole["spark.jars"].split(",")]
        assert all(path.is_file() for path in paths)
        return [path.name for path in paths]

    return names


def jars(version):
    return [f"{MODULE}-{version}.jar", "kafka-clients-3.9.2.jar"]


@pytest.mark.parametrize(
    ("versions", "is_listed", "expected"),
    [
        ((OTHER_LINE, OLDER, f"{LINE}.0-preview9"), True, OLDER),
        ((OLDER, f"{LINE}.99"), True, f"{LINE}.99"),
        pytest.param(
            *((OLDER, pyspark.__version__, f"{LINE}.99"), True, pyspark.__version__),
            marks=pytest.mark.long,
        ),
        ((OLDER,), False, OLDER),
    ],
)
def test_it_is_the_version_of_spark_else_the_newest_of_its_line(
    found, versions, is_listed, expected
):
    with repository(files_of(*versions, is_listed=is_listed)) as (address, asked):
        assert found(address) == jars(expected)
    assert all("spark-tags" not in path for path in asked)


def test_what_was_fetched_once_is_used_without_the_repository(found):
    with repository(files_of(OLDER)) as (address, _):
        assert found(address) == jars(OLDER)
    assert found(address) == jars(OLDER)


def test_the_repositories_of_the_conf_are_asked_too(found):
    with repository(files_of(OTHER_LINE)) as (other, _), repository(files_of(OLDER)) as (own, _):
        assert found(other, **{"spark.jars.repositories": own}) == jars(OLDER)


@pytest.mark.long
def test_the_settings_of_ivy_say_which_repositories_there_are(found, tmp_path):
    with repository(files_of(OLDER)) as (address, _):
        settings = tmp_path / "settings.xml"
        settings.write_text(
            '<ivysettings><settings defaultResolver="own"/><resolvers>'
            f'<ibiblio name="own" m2compatible="true" root="{address}"/></resolvers></ivysettings>'
        )
        conf = {"spark.jars.ivySettings": str(settings)}
        assert found("http://127.0.0.1:1/", **conf) == jars(OLDER)


def without(files, part):
    return {path: content for path, content in files.items() if part not in path}


@pytest.mark.parametrize(
    ("files", "options", "reason"),
    [
        ({}, {}, f" has no {LINE}.x"),
        (files_of(OTHER_LINE), {}, f" has no {LINE}.x"),
        ({}, {"code": 407}, ": answers 407"),
        ({}, {"hangs_at": OWN}, ": no answer in 2 s"),
        pytest.param(
            *(files_of(OLDER), {"hangs_at": "kafka-clients"}, "Read timed out"),
            marks=pytest.mark.long,
        ),
        (without(files_of(OLDER), "kafka-clients"), {}, "kafka-clients;3.9.2"),
    ],
)
def test_a_connector_that_cannot_be_had_is_one_line(found, monkeypatch, files, options, reason):
    """Soon, with the version that was asked for and what to do."""
    monkeypatch.setattr(maven, "ANSWER_S", 2.0)
    begun = time.monotonic()
    with repository(files, **options) as (address, _), pytest.raises(ConnectorMissing) as missing:
        found(address)
    assert time.monotonic() - begun < 30
    text = missing.value.message
    assert text.startswith(
        f"expected Spark's Kafka connector org.apache.spark:{MODULE}:{LINE}.x from {address}, got "
        "none: "
    )
    assert reason in text
    assert "\n" not in text
    assert "spark.jars=" in missing.value.hint
    assert "JAVA_HOME" not in text + missing.value.hint


@pytest.mark.parametrize(
    "address", ["http://user:hidden@127.0.0.1:1/", "https://user:hidden@h/", "x://user:hidden@h/"]
)
def test_a_password_in_an_address_is_not_shown(found, address):
    with pytest.raises(ConnectorMissing) as missing:
        found(address)
    assert "hidden" not in missing.value.message


GIVEN = [
    ({"spark.jars": "x.jar"}, {}, ""),
    ({"spark.jars.packages": "g:a:1"}, {}, ""),
    ({"spark.driver.extraClassPath": f"/lib/a.jar:/lib/{MODULE}-1.jar"}, {}, ""),
    ({}, {"PYSPARK_SUBMIT_ARGS": "--packages g:a:1 pyspark-shell"}, ""),
    ({}, {"PYSPARK_GATEWAY_PORT": "1"}, ""),
    ({}, {"SPARK_REMOTE": "sc://h"}, ""),
    ({}, {}, "# no\nspark.jars.packages  g:a:1\n"),
    ({}, {}, "spark.jars=x.jar"),
]


@pytest.mark.parametrize(("conf", "env", "defaults"), GIVEN)
def test_jars_that_are_given_are_used_as_they_are(tmp_path, monkeypatch, conf, env, defaults):
    (tmp_path / "spark-defaults.conf").write_text(defaults)
    no = {"DEFAULT_ARTIFACT_REPOSITORY": "http://127.0.0.1:1/", "HOME": str(tmp_path)}
    env = {"PATH": os.environ["PATH"], "SPARK_CONF_DIR": str(tmp_path), **no, **env}
    monkeypatch.setattr(os, "environ", env)
    assert connector_conf(conf) == conf


def test_the_spark_of_spark_home_is_the_one_that_runs(tmp_path, monkeypatch):
    """It has another version than PySpark, and perhaps the connector."""
    home = tmp_path / "spark"
    (home / "jars").mkdir(parents=True)
    for name in ("core", "tags"):
        (home / "jars" / f"spark-{name}_2.13-4.7.3.jar").touch()
    (ivy,) = Path(pyspark.__file__).parent.glob("jars/ivy-*.jar")
    shutil.copy(ivy, home / "jars")
    monkeypatch.setenv("SPARK_HOME", str(home))
    monkeypatch.setenv("HOME", str(tmp_path))
    with repository(files_of("4.7.2", OLDER)) as (address, _):
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
        assert f"{MODULE}-4.7.2.jar" in connector_conf({})["spark.jars"]
    (home / "jars" / f"{MODULE}-4.7.3.jar").touch()
    assert connector_conf({}) == {}


@pytest.mark.spark
def test_the_command_ends_with_one_line(tmp_path):
    """In a process of its own: Java would write to the terminal itself."""
    place = ["--out", str(tmp_path / "out"), "--checkpoint", str(tmp_path / "mark")]
    command = ["stream", "run", "--bootstrap-server", "127.0.0.1:1", *place]
    with repository({}) as (address, _):
        env = {"DEFAULT_ARTIFACT_REPOSITORY": address, "HOME": str(tmp_path)}
        code, out, err = ended(started("-m", "rackwise.cli", *command, **env))
    assert (code, out) == (1, "")
    message, hint = err.splitlines()
    assert message.startswith("error: expected Spark's Kafka connector")
    assert hint.startswith("hint: give local jars with --conf spark.jars=")
    assert [*tmp_path.iterdir()] == []


@pytest.mark.spark
@pytest.mark.connect
def test_a_session_that_runs_is_told_the_coordinate(spark, monkeypatch):
    """The version that a repository has; that of Spark if none answers."""
    name = f"org.apache.spark:{MODULE}"
    with repository(files_of(OLDER)) as (address, _):
        monkeypatch.setenv("DEFAULT_ARTIFACT_REPOSITORY", address)
        assert coordinate_for(spark) == f"{name}:{OLDER}"
    assert coordinate_for(spark) == f"{name}:{spark.version}"
