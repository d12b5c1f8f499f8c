"""A parsed table as values with their key paths, so that every error names its key.

```
("topics", 1, "spread", "zone")   ->   topics[1].spread.zone        (dotted, the default)
                                  ->   policy.toml:14               (a reader of files)
```

What this does not do: know what the keys mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from rackwise.core.errors import InvalidPolicy
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Sequence

T = TypeVar("T")
KeyPath: TypeAlias = tuple[str | int, ...]
"""The place of a value: keys of tables, indices of lists."""


def dotted(path: KeyPath) -> str:
    """`topics[1].spread.zone`; the empty path is `policy`.

    >>> dotted(("topics", 1, "spread", "zone"))
    'topics[1].spread.zone'
    """
    text = "".join(f"[{key}]" if isinstance(key, int) else f".{escaped(key)}" for key in path)
    return text.removeprefix(".") or "policy"


def shown(value: object) -> str:
    """A value as an error shows it.

    >>> shown(True), shown("a"), shown({"b": 1})
    ('true', '"a"', 'a table')
    """
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str):
        return f'"{escaped(value)}"'
    if isinstance(value, dict | list):
        return "a table" if isinstance(value, dict) else "a list"
    return "nothing" if value is None else escaped(str(value))


def refusal(
    path: KeyPath,
    message: str,
    where: Callable[[KeyPath], str],
    *,
    wanted: object,
    had: object,
    hint: str | None = None,
) -> InvalidPolicy:
    """The error about the value at a path: `invalid policy.toml:14 at topics[1].match: ...`."""
    place = where(path)
    file = "policy" if where is dotted else escaped(place)
    at = f" at {dotted(path)}" if path else ""
    return InvalidPolicy(
        f"invalid {file}{at}: {message}", wanted=wanted, had=had, hint=hint, where=place
    )


@dataclass(frozen=True, slots=True)
class Value:
    """One value of a table; `where`: key path -> what an error gives as its place.

    Every method raises `InvalidPolicy` where the value is not of the kind it gives.
    """

    value: Any
    path: KeyPath
    where: Callable[[KeyPath], str]

    def error(
        self, message: str, *, wanted: object, had: object, hint: str | None = None
    ) -> InvalidPolicy:
        """An error about this value."""
        return refusal(self.path, message, self.where, wanted=wanted, had=had, hint=hint)

    def unlike(self, wanted: str, *, hint: str | None = None) -> InvalidPolicy:
        """The error that something else is expected here."""
        had = shown(self.value)
        return self.error(f"expected {wanted}, got {had}", wanted=wanted, had=had, hint=hint)

    def at(self, key: str | int, value: object) -> Value:
        """A value inside this one."""
        return Value(value, (*self.path, key), self.where)

    def entries(self) -> Iterator[tuple[str, Value]]:
        """Keys and values of a table with any keys."""
        if not isinstance(self.value, dict):
            raise self.unlike("a table")
        for key, value in self.value.items():
            yield key, self.at(key, value)

    def parts(self, known: Collection[str]) -> dict[str, Value]:
        """Keys and values of a table whose keys are all known."""
        found = dict(self.entries())
        for key, value in found.items():
            if key not in known:
                raise value.error(
                    f"unknown key {shown(key)}",
                    wanted=", ".join(known),
                    had=key,
                    hint=f"known keys: {', '.join(known)}",
                )
        return found

    def items(self) -> tuple[Value, ...]:
        """Values of a list."""
        if not isinstance(self.value, list):
            raise self.unlike("a list")
        return tuple(self.at(i, value) for i, value in enumerate(self.value))

    def integer(self, least: int, *, hint: str | None = None) -> int:
        """An integer of `least` or more; `true` is none."""
        if type(self.value) is int and self.value >= least:
            return self.value
        raise self.unlike(f"an integer of {least} or more", hint=hint)

    def text(self) -> str:
        """A text that is not empty."""
        if isinstance(self.value, str) and self.value:
            return self.value
        raise self.unlike("a text")

    def choice(self, options: Sequence[T], *, or_else: str = "") -> T:
        """One of the options; `or_else` names what else would do."""
        for option in options:
            if type(self.value) is type(option) and self.value == option:
                return option
        raise self.unlike(f"one of {', '.join(map(shown, options))}{or_else}")

    def key(self) -> int:
        """The broker id or partition number that is the last key of the path."""
        key = str(self.path[-1])
        if key.isascii() and key.isdigit():
            return int(key)
        raise self.error(
            f"expected a key that is an integer of 0 or more, got {shown(key)}",
            wanted="an integer of 0 or more",
            had=key,
        )
