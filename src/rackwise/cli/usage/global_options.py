"""Words that the parser does not read as users write them: global options, and a bare `--fleet`.

Users may write global options anywhere on the command line before `--`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

SWITCHES = ("--json", "--quiet", "--debug")
VALUED = ("--color", "--max-input")


def globals_first(arguments: Sequence[str]) -> list[str]:
    """Return the arguments, global options first. Users may write them anywhere before `--`."""
    front, rest = split_globals(arguments)
    return [*front, *rest]


def global_options(arguments: Sequence[str]) -> list[str]:
    """Return only the global options, unchanged."""
    return split_globals(arguments)[0]


def split_globals(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Return the global options, and the other arguments."""
    front: list[str] = []
    rest: list[str] = []
    pending = iter(arguments)
    for argument in pending:
        if argument == "--":
            rest += [argument, *pending]
        elif argument in SWITCHES or argument.startswith(tuple(f"{name}=" for name in VALUED)):
            front.append(argument)
        elif argument in VALUED and (value := next(pending, None)) is not None:
            front += [argument, value]
        else:
            rest.append(argument)
    return front, rest


def bare_fleet_with_value(arguments: Sequence[str]) -> list[str]:
    """The arguments, each `--fleet` without a value as `--fleet=`.

    >>> bare_fleet_with_value(["audit", "--fleet", "--cluster", "lab"])
    ['audit', '--fleet=', '--cluster', 'lab']
    """
    following = [*arguments[1:], "--"][: len(arguments)]
    end = arguments.index("--") if "--" in arguments else len(arguments)
    return [
        "--fleet=" if at < end and each == "--fleet" and after.startswith("-") else each
        for at, (each, after) in enumerate(zip(arguments, following, strict=True))
    ]
