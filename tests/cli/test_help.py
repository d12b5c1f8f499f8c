"""`--help`: every command under a heading with an example; the examples are command lines."""

from __future__ import annotations

import re
import shlex
import shutil
from itertools import pairwise
from pathlib import Path

import pytest

from command_lines import LEAVES
from rackwise.cli.app import COMMANDS
from rackwise.cli.main import run
from rackwise.cli.shell import Shell
from rackwise.cli.usage.help import Heading
from rackwise.core.json.strict import parse

ROOT = Path(__file__).parents[2]
DEMO = ROOT / "examples" / "demo"
EXAMPLES = [example for command in COMMANDS.values() for example in command.examples]
WIDTH = 80


def words_of(example):
    return shlex.split(example.replace("\\\n", " "))


@pytest.fixture
def shown(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(WIDTH))

    def show(*words):
        assert run([*words, "--help"]) == 0
        return capsys.readouterr().out

    return show


@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_has_a_heading_and_an_example(name):
    command = COMMANDS[name]
    assert command.group != Heading.OTHER, "name the group of the command in COMMANDS"
    assert command.example, "write an example of the command in COMMANDS"
    assert all(f"{each} ".startswith(f"{name} ") for each in command.examples)


def test_commands_stand_in_the_order_of_the_headings(shown):
    groups = [command.group for command in COMMANDS.values()]
    assert sorted(groups, key=list(Heading).index) == groups
    headings = re.findall(r"^([A-Z][a-z]+):$", shown(), re.MULTILINE)
    assert headings == ["Options", *dict.fromkeys(groups)]


def test_the_help_lists_each_command_with_its_example_below(shown):
    lines = shown().splitlines()
    listed = {
        line.split(maxsplit=1)[0]: (line.split(maxsplit=1)[1], after)
        for line, after in pairwise(lines)
        if after.startswith("    rackwise ")
    }
    assert listed == {
        name: (command.summary, f"    rackwise {command.example.splitlines()[0]}")
        for name, command in COMMANDS.items()
    }


@pytest.mark.parametrize("name", ["", *(COMMANDS | LEAVES)])
def test_no_help_is_wider_than_the_terminal(shown, name):
    assert [line for line in shown(*name.split()).splitlines() if len(line) > WIDTH] == []


@pytest.mark.parametrize("name", LEAVES)
def test_the_help_of_a_command_ends_with_its_examples(shown, name):
    own = [each for each in EXAMPLES if f"{each} ".startswith(f"{name} ")]
    assert own, f"write an example of {name} in COMMANDS"
    head = "  Examples:" if own[1:] else "  Example:"
    text = "".join(f"rackwise {each}\n" for each in own)
    indented = "".join(f"    {line}\n" for line in text.splitlines())
    assert shown(*name.split()).endswith(f"\n\n{head}\n{indented}")


@pytest.mark.parametrize("example", EXAMPLES)
def test_the_command_line_takes_every_example(example):
    words = words_of(example)
    name = words.pop(0)
    if name not in LEAVES:
        name = f"{name} {words.pop(0)}"
    context = LEAVES[name].make_context(name, words, obj=Shell())
    assert context.args == []


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The working folder that the examples are written for: two snapshots and a table of rates."""
    monkeypatch.chdir(tmp_path)
    shutil.copy(DEMO / "earlier.json.gz", "yesterday.json.gz")
    shutil.copy(DEMO / "snapshot.json.gz", "today.json.gz")
    shutil.copy(ROOT / "examples" / "producers" / "rates.json", "rates.json")
    return tmp_path


ON_FILES = (
    *("audit", "diff", "what-if", "plan", "proof", "explain", "place", "placers"),
    *("consumer", "producer"),
)


def test_examples_that_need_only_files_run_one_after_the_other(folder, capsys):
    for name in ON_FILES:
        for example in COMMANDS[name].examples:
            code = run(words_of(example))
            captured = capsys.readouterr()
            assert code in {0, 2}, f"{example}: {captured.err}"
            assert captured.out
        if name == "plan":
            run(words_of(COMMANDS[name].example))
            capsys.readouterr()
    assert (folder / "plan.json").exists()


ON_A_CLUSTER = ("snapshot", "topic", "plan", "apply", "status", "throttles", "rollback", "doctor")


@pytest.mark.kafka
def test_examples_that_need_a_cluster_run_on_a_real_one(folder, kraft_cluster, capsys, state):
    from contextlib import closing

    from kafka_traffic import delete
    from rackwise.adapters.kafka import connect

    examples = [COMMANDS[name].example for name in ON_A_CLUSTER]
    examples[1:2] = COMMANDS["topic"].examples
    try:
        for example in examples:
            code = run(words_of(example.replace("kafka-1:9092", kraft_cluster.bootstrap)))
            captured = capsys.readouterr()
            assert code in {0, 2}, f"{example}: {captured.err}"
    finally:
        with closing(connect(kraft_cluster.bootstrap)) as admin:
            delete(admin, "orders")
    assert parse((folder / "plan.json").read_bytes(), where="plan.json", error=ValueError)
    assert state.exists()
