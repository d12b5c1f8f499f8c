"""The settings and commands that the report recommends exist."""

import importlib
import re
import shlex

import pytest
from typer.main import get_command

from rackwise.cli.app import COMMANDS, build_app
from rackwise.core.savings import CONDITIONS
from rackwise.report.savings import SETTINGS, _bound

LINES = [line for places in SETTINGS.values() for _, lines in places for line in lines]
IMPORT = re.compile(r"from ([\w.]+) import (\w+(?:, \w+)*)")


def test_each_saving_has_settings():
    assert set(SETTINGS) == set(CONDITIONS)


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("from ")])
def test_imports_of_the_settings_exist(line):
    module, names = IMPORT.fullmatch(line).groups()
    there = importlib.import_module(module)
    assert [name for name in names.split(", ") if not hasattr(there, name)] == []


@pytest.mark.parametrize("line", [line for line in LINES if line.startswith("rackwise ")])
def test_options_of_the_commands_exist(line):
    words = shlex.split(line)
    command = get_command(build_app(*COMMANDS)).commands[words[1]]
    options = {name for parameter in command.params for name in parameter.opts}
    assert {word for word in words if word.startswith("--")} <= options


def test_a_bound_is_shown_in_per_cent():
    assert [_bound(eps) for eps in ("0", "0.05", "0.125", "1", "inf", None)] == [
        *("0 %", "5 %", "12.5 %", "100 %", "no bound (KIP-1123)"),
        None,
    ]
