"""The settings and commands that the report recommends exist."""

import importlib
import re
import shlex
from copy import deepcopy

import pytest
from typer.main import get_command

from rackwise.cli.app import COMMANDS, build_app
from rackwise.core.savings import CONDITIONS
from rackwise.report.savings import SETTINGS, _bound, section, sentence
from report.summaries import summary

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


@pytest.mark.parametrize(
    ("bytes_low", "bytes_high", "lead", "line"),
    [
        (
            2**30,
            2**31,
            "All changes together save between 1.00 GiB and 2.00 GiB of 1 day observed",
            "1.00 GiB to 2.00 GiB of 1 day observed: ",
        ),
        (
            None,
            None,
            "How much all changes save is not known: the sizes are not known",
            "not known: the sizes are not known",
        ),
    ],
)
def test_without_dollars_bytes_are_shown_and_without_both_why(bytes_low, bytes_high, lead, line):
    document = deepcopy(summary())
    total = document["savings"]["total"]
    total |= {key: None for key in total if key.startswith("usd")}
    total |= {"bytes_low": bytes_low, "bytes_high": bytes_high}
    total["reason"] = "the sizes are not known"
    assert section(document).lead == lead
    assert sentence(document).startswith(line)
