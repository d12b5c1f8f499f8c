"""`--cluster` and `--fleet`: every command with brokers has them, and an explicit option wins."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Annotated

import pytest
import typer
from typer.main import get_command

from rackwise.cli.app import COMMANDS, build_app
from rackwise.cli.fleet.missing_values import missing_values
from rackwise.cli.fleet.options import with_fleet
from rackwise.cli.main import run
from rackwise.cli.shell import Shell
from rackwise.cli.usage.global_options import bare_fleet_with_value
from rackwise.core.errors import InvalidConfig
from rackwise.core.fleet_file import FleetCluster

TEXT = """\
[clusters.eu]
bootstrap = "k1:9092"
command_config = "eu.properties"
policy = "policy.toml"
prices = "prices.csv"
provider = "aws"
throttle = "50MB"

[clusters.us]
bootstrap = "k2:9092"
"""
ALL = FleetCluster(
    name="eu",
    servers=("k1:9092",),
    command_config="c",
    policy="p.toml",
    prices="p.csv",
    provider="aws",
    throttle="50MB",
)
EVERY = {"snapshot", "audit", "plan"}


def commands_of(group, before=""):
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands_of(command, f"{before}{name} ")
        else:
            yield before + name, {each.name: each for each in command.params}


def test_each_command_that_takes_brokers_takes_a_cluster_and_a_fleet_file():
    found = dict(commands_of(get_command(build_app(*COMMANDS))))
    connecting = {name for name, options in found.items() if "bootstrap_server" in options}
    named = {"apply", "resume", "rollback", "status", "throttle", "doctor", "topic create"}
    assert named | EVERY | {"consumer evaluate", "broker-id acquire"} <= connecting
    assert {name for name, options in found.items() if {"cluster", "fleet"} <= set(options)} == (
        connecting
    )
    assert {name for name, options in found.items() if "cluster_timeout" in options} == EVERY
    assert not any(options["bootstrap_server"].required for options in map(found.get, connecting))


@pytest.fixture
def called(tmp_path, monkeypatch):
    """Call a command that keeps its values, in a folder with a fleet file."""
    (tmp_path / "rackwise.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)

    def call(verb="apply", **values):
        kept = {}

        def command(
            context: typer.Context,  # noqa: ARG001 (as every command)
            bootstrap_server: Annotated[str, typer.Option()],
            command_config: Path | None = None,
            policy: Path | None = None,
            throttle: str | None = None,
        ) -> int:
            kept.update(
                bootstrap_server=bootstrap_server,
                command_config=command_config,
                policy=policy,
                throttle=throttle,
            )
            return 0

        absent = dict.fromkeys(
            ("bootstrap_server", "command_config", "policy", "throttle", "cluster", "fleet")
        )
        absent["context"] = SimpleNamespace(obj=Shell())
        assert with_fleet(command, verb)(**(absent | values)) == 0
        return kept

    return call


def test_a_cluster_gives_every_option_that_is_not_given(called, tmp_path):
    assert called(cluster="eu") == {
        "bootstrap_server": "k1:9092",
        "command_config": tmp_path / "eu.properties",
        "policy": tmp_path / "policy.toml",
        "throttle": "50MB",
    }
    assert called(cluster="us") == {
        "bootstrap_server": "k2:9092",
        "command_config": None,
        "policy": None,
        "throttle": None,
    }


def test_an_option_that_is_given_wins(called):
    given = {
        "bootstrap_server": "other:1",
        "command_config": Path("mine"),
        "policy": Path("my.toml"),
        "throttle": "1MB",
    }
    assert called(cluster="eu", **given) == given


@pytest.mark.parametrize(
    ("values", "name"),
    [
        ({"cluster": "eu"}, "eu"),
        ({"cluster": "eu", "bootstrap_server": "other:1"}, None),
        ({"bootstrap_server": "other:1"}, None),
    ],
)
def test_a_command_knows_the_name_of_the_cluster_that_it_reads(called, values, name):
    context = SimpleNamespace(obj=Shell())
    called(**values, context=context)
    assert context.obj.cluster_name == name


@pytest.mark.parametrize("verb", ["resume", "rollback", "topic alter"])
def test_the_throttle_is_that_of_commands_that_begin_a_run(called, verb):
    assert called(verb, cluster="eu")["throttle"] is None


def test_a_new_replication_factor_is_throttled_as_a_plan_is():
    values = {"throttle": None, "replication_factor": "3"}
    assert missing_values("topic alter", values, ALL) == {"throttle": "50MB"}
    assert missing_values("topic create", values, ALL) == {}


def test_the_file_may_be_named(called, tmp_path, monkeypatch):
    other = tmp_path / "elsewhere"
    other.mkdir()
    monkeypatch.chdir(other)
    assert called(cluster="us", fleet=str(tmp_path / "rackwise.toml"))["bootstrap_server"] == (
        "k2:9092"
    )


def test_a_cluster_without_a_fleet_file_says_where_it_was_looked_for(called, tmp_path):
    (tmp_path / "rackwise.toml").unlink()
    with pytest.raises(InvalidConfig, match=r"no rackwise\.toml in .* or above it") as raised:
        called(cluster="eu")
    assert raised.value.hint == "give the fleet file with --fleet FILE"


def test_a_command_for_one_cluster_rejects_a_fleet_without_a_cluster(called):
    with pytest.raises(InvalidConfig, match="--fleet requires --cluster"):
        called(fleet="")


def test_without_a_cluster_brokers_are_as_required_as_before(called):
    with pytest.raises(InvalidConfig, match="Missing option '--bootstrap-server'"):
        called()
    assert called(bootstrap_server="k:1")["bootstrap_server"] == "k:1"


def test_a_file_to_read_takes_the_place_of_the_brokers():
    values = dict.fromkeys(("bootstrap_server", "command_config", "policy"), None)
    found = missing_values("audit", values | {"snapshot": Path("s.json")}, ALL)
    assert found == {"policy": Path("p.toml")}
    assert missing_values("audit", values, ALL)["command_config"] == Path("c")


def test_other_brokers_get_neither_the_login_nor_the_name_of_the_cluster():
    absent = dict.fromkeys(("bootstrap_server", "command_config", "policy", "name"), None)
    found = missing_values("snapshot", absent | {"bootstrap_server": "lab:9092"}, ALL)
    assert found == {"policy": Path("p.toml")}
    assert set(missing_values("snapshot", absent, ALL)) == set(absent)


def test_prices_are_given_with_their_provider_and_not_to_a_placer():
    values = dict.fromkeys(("prices", "provider", "placer"), None)
    assert missing_values("plan", values, ALL) == {"prices": Path("p.csv"), "provider": "aws"}
    assert missing_values("plan", values | {"placer": "ring"}, ALL) == {}
    only_prices = FleetCluster(name="eu", servers=("k:1",), prices="p.csv")
    assert missing_values("plan", values, only_prices) == {}


@pytest.mark.parametrize("verb", ["snapshot", "audit"])
def test_a_snapshot_and_the_metrics_of_an_audit_take_the_name_of_their_cluster(verb):
    assert missing_values(verb, {"name": None}, ALL) == {"name": "eu"}
    assert missing_values("topic create", {"name": None}, ALL) == {}


@pytest.mark.parametrize(
    ("words", "wanted"),
    [
        ("audit --fleet", "audit --fleet="),
        ("audit --fleet --cluster eu", "audit --fleet= --cluster eu"),
        ("audit --fleet f.toml", "audit --fleet f.toml"),
        ("audit --fleet=f.toml -x", "audit --fleet=f.toml -x"),
        ("plan repair --fleet -- --fleet", "plan repair --fleet= -- --fleet"),
        ("", ""),
    ],
)
def test_a_fleet_without_a_value_is_the_file_that_is_found(words, wanted):
    assert bare_fleet_with_value(words.split()) == wanted.split()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["audit", "--cluster-timeout", "5s"], "--cluster-timeout requires --fleet"),
        (["audit", "--snapshots", "x"], "--snapshots requires --fleet"),
        (["audit", "--fleet", "--cluster", "eu", "--snapshots", "x"], "without --cluster"),
        (["audit", "--fleet", "--snapshot", "x"], "--fleet cannot be combined with --snapshot"),
        (["audit", "--fleet", "--metrics", "x"], "--fleet cannot be combined with --metrics"),
        (["snapshot", "--fleet", "--out", "o", "--name", "x"], "cannot be combined with --name"),
        (["audit", "--fleet", "--format", "sarif"], "--fleet cannot be combined with --format"),
        (["plan", "repair", "--fleet"], "--fleet requires --out"),
        (["plan", "--fleet", "--quiet", "repair"], "--fleet requires --out"),
        (
            ["plan", "repair", "--fleet", "--price-rules", "--out", "o"],
            "--fleet cannot be combined with --price-rules",
        ),
        (["plan", "repair", "--fleet", "--out", "rackwise.toml"], "expected a folder"),
        (["audit", "--fleet", "--cluster-timeout", "0.5s"], "expected at least 1s"),
        (["audit", "--fleet", "nope.toml"], "nope.toml cannot be read"),
        (["status", "p.json", "--fleet", "--cluster", "euu"], "no cluster is called"),
    ],
)
def test_options_that_do_not_fit_are_one_line_and_exit_code_1(
    tmp_path, monkeypatch, capsys, words, message
):
    (tmp_path / "rackwise.toml").write_text(TEXT)
    monkeypatch.chdir(tmp_path)
    assert run(words) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.startswith("error: ")
    assert "hint: " in error
