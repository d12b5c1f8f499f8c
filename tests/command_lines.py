"""Command lines of manifests and units, parsed by the real command line and not run."""

import shlex
from functools import cache

from typer.main import get_command

from rackwise.cli.app import COMMANDS, build_app


@cache
def commands():
    """Name of a command -> the command, or its group of commands."""
    return get_command(build_app(*COMMANDS)).commands


def leaves():
    """Name -> command, those of groups by both names."""
    found = {}
    for name, command in commands().items():
        inner = getattr(command, "commands", None)
        found |= {f"{name} {each}": inner[each] for each in inner} if inner else {name: command}
    return found


LEAVES = leaves()


def parsed(words):
    """Name and parameters of `rackwise WORDS`; what the command line rejects raises."""
    name, *rest = words
    command = commands()[name]
    while hasattr(command, "commands"):
        name, *rest = rest
        command = command.commands[name]
    with command.make_context(name, list(rest)) as context:
        return name, context.params


def of_shell(text):
    """The words of the one `rackwise` command in a line of a shell."""
    (line,) = [part for part in text.split(";") if part.split()[0].endswith("rackwise")]
    return shlex.split(line)[1:]
