"""`import rackwise` is light, and its public names are those that are promised."""

import json
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from zipfile import ZipFile

import pytest

import rackwise
from rackwise import pipeline
from rackwise.adapters import files
from rackwise.cli.app import COMMANDS

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


SOURCES = Path(rackwise.__file__).parent
IMPORTED = re.compile(r"from (\S+) import \w+ as (\w+)")


@pytest.mark.parametrize("door", sorted(SOURCES.rglob("__init__.pyi")), ids=str)
def test_no_name_of_a_front_door_is_hidden_by_the_module_that_has_it(door):
    """Python sets a module as an attribute of its package, so the name would become the module."""
    package = ".".join(["rackwise", *door.parent.relative_to(SOURCES).parts])
    found = IMPORTED.findall(door.read_text())
    assert [name for source, name in found if source == f"{package}.{name}"] == []


def test_import_rackwise_loads_nothing_heavy():
    assert set(HEAVY) & set(loaded("import rackwise")) == set()


CLIENTS = ("kafka_python", "aiokafka", "confluent")


@pytest.mark.parametrize("client", CLIENTS)
def test_the_front_door_of_a_client_loads_nothing_heavy_until_a_name_is_used(client):
    heavy = set(HEAVY) & set(loaded(f"from rackwise import {client}; dir({client})"))
    assert heavy == set()


@pytest.mark.parametrize(
    ("client", "library"),
    [("kafka_python", "kafka"), ("aiokafka", "aiokafka"), ("confluent", "confluent_kafka")],
)
def test_a_name_of_a_client_loads_its_library_and_no_other(client, library):
    found = set(loaded(f"from rackwise.{client} import RackAwareProducer"))
    assert {"kafka", "aiokafka", "confluent_kafka"} & found == {library}


@pytest.mark.parametrize("client", CLIENTS)
def test_every_name_of_a_client_resolves(client):
    door = import_module(f"rackwise.{client}")
    plug_ins = import_module(f"rackwise.adapters.clients.{client}")
    assert "RackAwareProducer" in dir(door)
    for name in dir(door):
        assert getattr(door, name) is getattr(plug_ins, name)


def test_the_command_line_loads_only_what_parses_it():
    heavy = set(HEAVY) - {"typer"}
    every = "import rackwise.cli.main; from rackwise.cli.app import COMMANDS, build_app"
    assert heavy & set(loaded(f"{every}; build_app(*COMMANDS)")) == set()


def test_a_command_loads_no_other_one():
    names = "'broker-id', 'acquire', '--server-properties', '/nonexistent', '--key', 'text:a'"
    found = loaded(f"from rackwise.cli.main import run; run([{names}])")
    assert MODULES & set(found) == {"rackwise.cli.broker_id.commands"}


def test_the_list_of_commands_loads_none():
    quiet = "sys.stdout = io.StringIO(); run(['--help']); sys.stdout = sys.__stdout__"
    assert not MODULES & set(loaded(f"import io, sys; from rackwise.cli.main import run; {quiet}"))


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
def test_every_public_name_resolves_and_a_class_keeps_the_module_that_defines_it(name):
    value = getattr(rackwise, name)
    assert vars(rackwise)[name] is value
    if isinstance(value, type):
        assert vars(import_module(value.__module__))[value.__name__] is value


@pytest.mark.parametrize("package", [rackwise, files, pipeline])
def test_the_names_shown_are_the_names_of_the_stub(package):
    stub = Path(package.__file__).with_suffix(".pyi").read_text()
    lines = [line for line in stub.splitlines() if line.startswith("from rackwise")]
    assert dir(package) == package.__all__ == sorted({line.split()[-1] for line in lines})
    assert len(lines) == len(package.__all__) == stub.count("import ") - ("Callable" in stub)


def test_the_names_of_a_package_in_a_zip_file(tmp_path):
    root = Path(rackwise.__file__).parent
    with ZipFile(tmp_path / "rackwise.zip", "w") as archive:
        for file in sorted(root.rglob("*.py*")):
            if "__pycache__" not in file.parts:
                archive.write(file, file.relative_to(root.parent))
    names = "from rackwise import Rack, __file__; from rackwise.adapters.files import parse_plan"
    done = subprocess.run(
        [sys.executable, "-c", f"{names}; print(__file__)"],
        env={"PYTHONPATH": str(tmp_path / "rackwise.zip")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.startswith(str(tmp_path))


@pytest.mark.parametrize("name", files.__all__)
def test_every_name_of_the_files_resolves(name):
    assert getattr(files, name) is not None


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'Manager'"):
        _ = rackwise.Manager
    with pytest.raises(AttributeError, match="no attribute 'Manager'"):
        _ = files.Manager
