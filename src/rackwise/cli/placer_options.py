"""Placers by name, their options on the command line, and the seed of their random numbers.

A package offers a placer with an entry point of the group `rackwise.placers`, in pyproject.toml:

    [project.entry-points."rackwise.placers"]
    nearest = "my_package.placing:Nearest"

The value is a class whose instances have a `name` and a `place(request)`; the fields of a dataclass
are its options.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import Field, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

import typer

from rackwise.cli.usage.key_values import parse_pairs
from rackwise.core.errors import InvalidConfig, InvalidPlacer, RackwiseError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

    from rackwise.cli.shell import Shell
    from rackwise.core.placement import Draws, Placer

GROUP = "rackwise.placers"
BUILT_IN = "built in"
NOTHING = "none"
"""The text for an option without a value."""
SWITCHES = {"true": True, "false": False}
SEED_END = 1 << 31
"""Generated seeds are below this."""

PlacerOptions = Annotated[
    list[str] | None,
    typer.Option(
        "--placer-option", metavar="K=V", help="Set an option of the placer. May be repeated."
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed",
        metavar="N",
        help="Use this random seed. Equal seeds give equal placements. If you omit it, a seed is "
        "generated and printed.",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class AvailablePlacer:
    """A placer that `--placer` accepts."""

    name: str
    kind: type
    distribution: str | None
    """The package that offers it; None for a built-in placer."""

    @property
    def options(self) -> tuple[Field[Any], ...]:
        """The fields that can be set."""
        if not is_dataclass(self.kind):
            return ()
        return tuple(each for each in fields(self.kind) if each.init)

    @property
    def about(self) -> str:
        """The first sentence of its docstring, without the dot; empty without a docstring."""
        if is_dataclass(self.kind) and (self.kind.__doc__ or "").startswith(self.kind.__name__):
            return ""
        first = (self.kind.__doc__ or "").strip().split("\n\n", maxsplit=1)[0]
        return " ".join(first.split()).split(". ", maxsplit=1)[0].removesuffix(".")


def placer_names() -> list[str]:
    """Return all names: the built-in placers, then the others in order."""
    from rackwise.core.placement import PLACERS

    return [*PLACERS, *sorted({entry.name for entry in _entries()} - set(PLACERS))]


def find_placer(name: str) -> AvailablePlacer:
    """Find the placer of that name.

    Raises `InvalidConfig` for an unknown name; `InvalidPlacer` for a name that is used twice, or if
    the class cannot be loaded or is no class.
    """
    from rackwise.core.placement import PLACERS

    entries = [entry for entry in _entries() if entry.name == name]
    owners = [_distribution(entry) for entry in entries]
    if name in PLACERS:
        owners.insert(0, BUILT_IN)
    if len(owners) > 1:
        raise InvalidPlacer(
            f'expected one placer named "{escaped(name)}", got {len(owners)}: {_and(owners)}',
            wanted=1,
            had=len(owners),
            hint=f"uninstall {owners[-1]}, or have it give its placer another name",
        )
    if name in PLACERS:
        return AvailablePlacer(name=name, kind=PLACERS[name], distribution=None)
    if not entries:
        known = ", ".join(placer_names())
        raise InvalidConfig(
            f'invalid --placer: expected one of {known}, got "{escaped(name)}"',
            wanted=known,
            had=name,
            hint="run rackwise placers to list them, or install the package that offers it",
        )
    return AvailablePlacer(name=name, kind=_loaded(entries[0], owners[0]), distribution=owners[0])


def create_placer(name: str, options: Mapping[str, str]) -> Placer:
    """Create a placer from its name and its options as text.

    Raises `InvalidConfig` for an unknown option or an invalid value, and the errors of
    `find_placer`.
    """
    offer = find_placer(name)
    values = {}
    for key, text in options.items():
        values[key] = _value(_type_of(offer, key), key, text)
    try:
        placer: Placer = offer.kind(**values)
    except RackwiseError:
        raise
    except Exception as error:
        raise InvalidPlacer(
            f'placer "{escaped(name)}" cannot be created: {type(error).__name__}: {error}',
            wanted="an instance",
            had=type(error).__name__,
            hint="run rackwise placers to list its options",
        ) from error
    return placer


def parse_placer_options(texts: Sequence[str] | None) -> dict[str, str]:
    """Parse the values of `--placer-option`. Raises `InvalidConfig`."""
    return parse_pairs(texts, option="--placer-option", example="balance=racks")


def _entries() -> Sequence[EntryPoint]:
    from importlib.metadata import entry_points

    return tuple(entry_points(group=GROUP))


def _distribution(entry: EntryPoint) -> str:
    return "an unknown distribution" if entry.dist is None else str(entry.dist.name)


def _and(owners: Sequence[str]) -> str:
    return " and ".join(each if each == BUILT_IN else f"offered by {each}" for each in owners)


def _loaded(entry: EntryPoint, owner: str) -> type:
    try:
        kind: object = entry.load()
    except Exception as error:
        raise InvalidPlacer(
            f'placer "{escaped(entry.name)}" of {owner} cannot be loaded: '
            f"{type(error).__name__}: {error}",
            wanted=entry.value,
            had=type(error).__name__,
            hint=f"repair or uninstall {owner}",
        ) from error
    if not isinstance(kind, type):
        raise InvalidPlacer(
            f'placer "{escaped(entry.name)}" of {owner} must be a class; {entry.value} is '
            f"of type {type(kind).__name__}",
            wanted="a class",
            had=type(kind).__name__,
            hint=f"repair or uninstall {owner}",
        )
    return kind


def _type_of(offer: AvailablePlacer, key: str) -> object:
    """Return the type of an option; `str` if its annotation cannot be read."""
    known = [each.name for each in offer.options]
    if key not in known:
        has = f"one of {', '.join(known)}" if known else "none"
        raise InvalidConfig(
            f'invalid option of placer "{escaped(offer.name)}": expected {has}, got {escaped(key)}',
            wanted=", ".join(known),
            had=key,
            hint="run rackwise placers to list the options of each placer",
        )
    try:
        return get_type_hints(offer.kind).get(key, str)
    except (NameError, TypeError):
        return str


def _value(kind: object, key: str, text: str) -> object:
    """Parse the value of an option. A type that we cannot parse receives the text."""
    kinds = get_args(kind) if get_origin(kind) not in {None, Literal} else (kind,)
    if type(None) in kinds and text == NOTHING:
        return None
    if bool in kinds and text in SWITCHES:
        return SWITCHES[text]
    for number in (int, float):
        if number in kinds:
            try:
                return number(text)
            except ValueError:
                continue
    if str in kinds or not {bool, int, float} & set(kinds):
        return text
    noun = "true or false" if bool in kinds else "a number"
    noun += f" or {NOTHING}" if type(None) in kinds else ""
    raise InvalidConfig(
        f'invalid {escaped(key)}: expected {noun}, got "{escaped(text)}"',
        wanted=noun,
        had=text,
        hint="run rackwise placers to list the options with their defaults",
    )


def seeded_random(seed: int | None) -> tuple[int, Draws]:
    """Return the seed, generated if None, and the random numbers that Java makes from it."""
    from rackwise.core.placement import JavaRandom

    if seed is None:
        import secrets

        seed = secrets.randbelow(SEED_END)
    return seed, JavaRandom(seed)


def print_generated_seed(shell: Shell, seed: int | None) -> None:
    """Print a generated seed, so that the run can be repeated; nothing for None."""
    if seed is not None:
        shell.note(f"generated seed {seed}: --seed {seed} gives the same rows again")
