"""`import rackwise` is light, and its names are those it promises."""

import json
import subprocess
import sys

import pytest

import rackwise
from rackwise import pipeline
from rackwise.adapters import files
from rackwise.cli.app import COMMANDS
from rackwise.cli.main import run

HEAVY = [
    *["aiokafka", "confluent_kafka", "jinja2", "kafka", "kazoo", "numpy", "ortools"],
    *["pandas", "plotly", "pyarrow", "pyspark", "rich", "typer"],
]


MODULES = {f"rackwise.cli.{command.module}" for command in COMMANDS.values()}


def loaded(statement: str) -> list[str]:
    script = f"{statement}\nimport sys, json\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    return json.JSONDecoder().decode(done.stdout)


def test_import_rackwise_loads_nothing_heavy():
    assert set(HEAVY) & set(loaded("import rackwise")) == set()


def test_the_command_line_loads_only_what_parses_it():
    heavy = set(HEAVY) - {"typer"}
    every = "import rackwise.cli.main; from rackwise.cli.app import COMMANDS, app_of"
    assert heavy & set(loaded(f"{every}; app_of(*COMMANDS)")) == set()


def test_a_command_loads_no_other_one():
    names = "'broker-id', 'acquire', '--server-properties', '/nonexistent', '--key', 'text:a'"
    found = loaded(f"from rackwise.cli.main import run; run([{names}])")
    assert MODULES & set(found) == {"rackwise.cli.broker_id.commands"}


def test_the_list_of_commands_loads_none_and_cuts_no_line_short(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    quiet = "sys.stdout = io.StringIO(); run(['--help']); sys.stdout = sys.__stdout__"
    assert not MODULES & set(loaded(f"import io, sys; from rackwise.cli.main import run; {quiet}"))
    assert run(["--help"]) == 0
    listed = capsys.readouterr().out.split("Commands:\n")[1].splitlines()[: len(COMMANDS)]
    assert [line.split(maxsplit=1) for line in listed] == [
        [name, command.summary] for name, command in COMMANDS.items()
    ]


def test_what_starts_a_broker_loads_no_tables():
    heavy = set(HEAVY) - {"kazoo"}
    room = "rackwise.adapters"
    assert heavy & set(loaded(f"import {room}.launch, {room}.zookeeper, {room}.files")) == set()


def test_the_pipeline_room_opens_without_spark():
    assert "pyspark" not in loaded("from rackwise import pipeline as rp; dir(rp)")


def test_a_name_of_the_pipeline_room_is_the_same_whoever_has_loaded_its_file():
    names = [name for name in pipeline.__all__ if name not in {"Java", "find_java"}]
    assert {"formats", "job", "session", "tables"} <= set(names)
    for name in names * 2:
        assert getattr(pipeline, name) is getattr(pipeline, name)
    assert pipeline.find_java is pipeline.find_java
    assert pipeline.Java.__name__ == "Java"


@pytest.mark.parametrize("name", rackwise.__all__)
def test_every_promised_name_resolves_to_the_front_door(name):
    value = getattr(rackwise, name)
    if isinstance(value, type):
        assert value.__module__ == "rackwise"


def test_the_names_shown_are_the_names_promised():
    assert dir(rackwise) == sorted(rackwise.__all__) == sorted(rackwise._HOMES)


@pytest.mark.parametrize("name", files.__all__)
def test_every_name_of_the_files_resolves(name):
    assert getattr(files, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Manager'"):
        _ = rackwise.Manager
    with pytest.raises(AttributeError, match="no attribute 'Manager'"):
        _ = files.Manager
