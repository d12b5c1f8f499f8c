"""Fleet files: found upwards, read with references to the environment and to files."""

from __future__ import annotations

import pytest

from rackwise.adapters.files import find_fleet_file, read_fleet_file
from rackwise.core.errors import InvalidConfig, InvalidFleetFile

TWO = """\
[defaults]
policy = "policy.toml"

[clusters.eu]
bootstrap = "k1:9092"
command_config = "${env:SECRETS}/eu.properties"
flows = ["flows", "s3://bucket/eu"]

[clusters.us]
bootstrap = "${file:us.txt}"
addresses = ["pods.csv", "/machines.csv"]
"""
CANARY = "canary-7f3"


@pytest.fixture
def written(tmp_path):
    def write(text):
        path = tmp_path / "rackwise.toml"
        path.write_text(text)
        return path

    return write


def refused(path, environ=None, **options):
    with pytest.raises((InvalidFleetFile, InvalidConfig)) as raised:
        read_fleet_file(path, environ=environ or {}, **options)
    return raised.value


def test_paths_begin_at_the_folder_of_the_file_and_references_are_replaced(written):
    path = written(TWO)
    (path.parent / "us.txt").write_text("k2:9092,k3:9092\n")
    fleet = read_fleet_file(path, environ={"SECRETS": "/run/secrets"})
    eu, us = fleet.clusters
    assert eu.command_config == "/run/secrets/eu.properties"
    assert eu.policy == us.policy == str(path.parent / "policy.toml")
    assert eu.flows == (str(path.parent / "flows"), "s3://bucket/eu")
    assert us.addresses == (str(path.parent / "pods.csv"), "/machines.csv")
    assert us.servers == ("k2:9092", "k3:9092")
    assert fleet.name == str(path)


@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_the_line_feed_at_the_end_of_a_file_is_not_its_text(written, end):
    path = written('[clusters.eu]\nbootstrap = "k:1"\nowner = "team ${file:owner}!"\n')
    (path.parent / "owner").write_bytes(b"a\nb" + end.encode())
    assert read_fleet_file(path, environ={}).clusters[0].owner == "team a\nb!"


def test_a_missing_variable_names_the_line_the_cluster_the_key_and_the_variable(written):
    path = written(TWO)
    (path.parent / "us.txt").write_text("k2:9092")
    error = refused(path)
    assert error.message == (
        f"invalid {path}:6 at clusters.eu.command_config: the variable SECRETS is not set"
    )
    assert (error.hint, error.where) == ("set SECRETS", f"{path}:6")


def test_a_missing_file_names_the_line_the_cluster_and_the_key(written):
    path = written(TWO)
    error = refused(path, {"SECRETS": "/s"})
    assert error.message.startswith(f"invalid {path}:10 at clusters.us.bootstrap: ")
    assert "us.txt cannot be read: No such file or directory" in error.message


def test_one_cluster_alone_does_not_need_the_references_of_another(written):
    path = written(TWO)
    fleet = read_fleet_file(path, environ={"SECRETS": "/s"}, only="eu")
    assert [each.name for each in fleet.clusters] == ["eu"]
    error = refused(path, only="euu")
    assert error.message == f'no cluster is called "euu" in {path}'
    assert error.hint == "did you mean eu? clusters: eu, us"


@pytest.mark.parametrize("text", ["${x}", "${env:}", "a${", "${env:A", "${ENV:A}", "$${nested"])
def test_another_text_after_dollar_and_brace_is_refused(written, text):
    error = refused(written(f'[clusters.eu]\nbootstrap = "k:1"\nowner = "{text}"\n'), {"A": "x"})
    assert 'expected "${env:NAME}" or "${file:PATH}"' in error.message
    assert ":3 at clusters.eu.owner" in error.message


@pytest.mark.parametrize("zone", ["Europe/Atlantis", "Europe", "America/New_York/x"])
@pytest.mark.parametrize("place", ["clusters.eu", "defaults"])
def test_a_window_in_a_time_zone_that_is_not_known_is_refused(written, place, zone):
    tables = {"clusters.eu": ['bootstrap = "k:1"']}
    tables.setdefault(place, []).append(f'window = "22:00-05:00 {zone}"')
    lines = [line for name, keys in tables.items() for line in (f"[{name}]", *keys)]
    error = refused(written("\n".join(lines)))
    assert f"at {place}.window: expected hours in a known time zone, got " in error.message
    assert zone in error.message
    assert "install the package tzdata" in error.hint


@pytest.mark.parametrize("key", ["bootstrap", "window", "throttle"])
def test_a_value_from_a_reference_is_in_no_error(written, key):
    keys = {"bootstrap": '"k:1"', key: '"${env:HIDDEN}"'}
    lines = "\n".join(f"{name} = {value}" for name, value in keys.items())
    error = refused(written(f"[clusters.eu]\n{lines}\n"), {"HIDDEN": CANARY})
    assert '"${env:HIDDEN}"' in error.message
    assert CANARY not in f"{error.message} {error.hint} {error.as_dict()}"


def test_a_time_zone_from_a_reference_is_in_no_error(written):
    path = written('[clusters.eu]\nbootstrap = "k:1"\nwindow = "22:00-05:00 ${env:HIDDEN}"\n')
    error = refused(path, {"HIDDEN": "Europe/Hidden"})
    assert "${env:HIDDEN}" in error.message
    assert "Europe/Hidden" not in f"{error.message} {error.hint} {error.as_dict()}"


def test_content_of_a_file_that_is_no_text_is_not_shown(written):
    path = written('[clusters.eu]\nbootstrap = "${file:b}"\n')
    (path.parent / "b").write_bytes(b"\xff" + CANARY.encode())
    error = refused(path)
    assert "expected UTF-8" in error.message
    assert CANARY not in str(error.as_dict())


def test_a_syntax_error_and_a_folder_are_refused(written, tmp_path):
    error = refused(written('[clusters.eu\nbootstrap = "k:1"\n'))
    assert (type(error), error.where) == (InvalidFleetFile, f"{tmp_path}/rackwise.toml:1")
    assert "expected a regular file, got a folder" in refused(tmp_path).message
    assert "at most 4 bytes" in refused(tmp_path / "rackwise.toml", max_bytes=4).message


def test_the_file_is_found_in_the_folder_or_above_it(written, tmp_path):
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    assert find_fleet_file(below) is None
    path = written(TWO)
    assert find_fleet_file(below) == find_fleet_file(tmp_path) == path
    nearer = tmp_path / "a" / "rackwise.toml"
    nearer.mkdir()
    assert find_fleet_file(below) == path
    nearer.rmdir()
    nearer.write_text("")
    assert find_fleet_file(below) == nearer
