"""Faults of a TOML file, in the words of TOML: each names the line of the file and the path.

```
("topics", 1, "spread", "zone")   ->   $.topics[1].spread.zone
invalid policy.toml:14 at $.topics[1].spread.zone: expected even, distinct, off or ..
```
"""

# ruff: noqa: D102 (what Faults says of a method holds here too)

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.json.faults import Fault, Faults, quoted
from rackwise.core.json.strict import key_path
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable


KeyPath: TypeAlias = tuple[str | int, ...]
"""The place of a value: keys of tables, indices of lists."""

Where: TypeAlias = "Callable[[str], str] | None"
"""JSON path -> the file and the line; None for a value without a file."""


def json_path(keys: KeyPath) -> str:
    """The JSON path of a place.

    >>> json_path(("topics", 1, "spread", "zone"))
    '$.topics[1].spread.zone'
    """
    path = "$"
    for key in keys:
        path = f"{path}[{key}]" if isinstance(key, int) else key_path(path, key)
    return path


class TomlFaults(Faults):
    """The faults of one TOML file; `locate`: JSON path -> the file and the line."""

    __slots__ = ()

    @override
    def wrong(self, place: str, wanted: str, had: object, *, hint: str | None = None) -> None:
        wanted = "a table" if wanted == "an object" else wanted
        if isinstance(had, dict):
            sentence = f"expected {wanted}, got a table"
            self.add(Fault(place=place, sentence=sentence, wanted=wanted, had="a table", hint=hint))
        else:
            super().wrong(place, wanted, had, hint=hint)

    @override
    def missing(self, place: str, key: str, present: Iterable[str]) -> None:
        self.add(
            Fault(
                place=place,
                sentence=f"missing key {quoted(key)}",
                wanted=key,
                had=", ".join(present),
                hint=f"add {key}, which has no default",
            )
        )

    @override
    def unknown(self, place: str, key: str, known: Collection[str]) -> None:
        self.add(
            Fault(
                place=key_path(place, key),
                sentence=f"unknown key {quoted(key)}",
                wanted=", ".join(known),
                had=key,
                hint=f"known keys: {', '.join(known)}",
            )
        )
