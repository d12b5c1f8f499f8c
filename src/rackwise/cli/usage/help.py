"""The help: commands under headings, each with an example, and the examples of one command."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from typer.core import TyperGroup

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Iterable


class Heading(StrEnum):
    """What a command is for: a heading of `rackwise --help`."""

    LOOK = "Look"
    REPAIR = "Repair"
    PLACE = "Place"
    CLIENTS = "Clients"
    COST = "Cost"
    IDENTITY = "Identity"
    LAB = "Lab"
    OTHER = "Other"


class Command(NamedTuple):
    """A command or a group of commands."""

    module: str
    """Below `rackwise.cli`."""
    summary: str
    """One line of `rackwise --help`."""
    group: Heading = Heading.OTHER
    """Its heading in `rackwise --help`. A test rejects `OTHER`."""
    example: str = ""
    """A command line for `rackwise --help`, without `rackwise`; lines of at most 67 columns."""
    more: tuple[str, ...] = ()
    """More examples. `rackwise NAME --help` shows those that begin with NAME."""

    @property
    def examples(self) -> tuple[str, ...]:
        """All examples."""
        return (self.example, *self.more)


class GroupedHelp(TyperGroup):
    """Lists commands under the headings of `rich_help_panel`, each with its epilog below it."""

    @override
    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 (typer hides both)
        """Write one section for each heading, in the order of the commands."""
        del ctx
        width = max(map(len, self.commands), default=0)
        sections: dict[str, list[str]] = {}
        for name, command in self.commands.items():
            lines = sections.setdefault(str(vars(command)["rich_help_panel"]), [])
            lines.append(f"  {name:<{width}}  {command.short_help}")
            lines.append(f"    {command.epilog}".replace("\n", "\n    "))
        for heading, lines in sections.items():
            formatter.write("\n".join([f"\n{heading}:", *lines, ""]))


def examples_text(name: str, examples: Iterable[str]) -> str | None:
    """The examples that begin with `name`, as the end of a help text; none if there are none."""
    own = [each for each in examples if f"{each} ".startswith(f"{name} ")]
    if not own:
        return None
    lines = "\n".join(f"rackwise {each}" for each in own).replace("\n", "\n  ")
    # The first line keeps the formatter from joining the others.
    return f"\b\nExample{'s' if own[1:] else ''}:\n  {lines}"
