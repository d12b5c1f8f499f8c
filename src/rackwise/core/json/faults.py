"""What is wrong in one file: the first fault is raised, the others are counted.

A reader that stops at the first fault makes the user fix a file once per fault; one that prints all
faults hides the first. So every check records its fault and continues with a stand-in, and
`raise_if_any` ends the reading with one sentence:

```
invalid plan.json at $.moves[3]: key "topic" appears twice (and 2 more faults)
```
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from rackwise.core.errors import InputError

SHOWN = 60
"""Characters of a value that a message shows."""

_KEYS_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Fault:
    """One thing that is wrong: `place` is a JSON path, `:LINE`, or empty for the whole file."""

    place: str
    sentence: str
    wanted: object = None
    had: object = None
    hint: str | None = None


class Faults:
    """The faults of one file.

    `error`: the class of errors for this file; `file`: its name as given; `hint`: the hint of every
    fault, where it is always the same; `locate`: JSON path -> the file and the line, for a format
    whose lines are known.
    """

    __slots__ = ("count", "error", "file", "first", "hint", "locate")

    def __init__(
        self,
        file: str,
        error: type[InputError],
        *,
        hint: str | None = None,
        locate: Callable[[str], str] | None = None,
    ) -> None:
        self.hint = hint
        self.locate = locate
        self.file = file
        self.error = error
        self.first: Fault | None = None
        self.count = 0

    def add(self, fault: Fault, *, others: int = 0) -> None:
        """Record a fault, and count `others` like it."""
        self.first = self.first or fault
        self.count += 1 + others

    def wrong(self, place: str, wanted: str, had: object, *, hint: str | None = None) -> None:
        """Record `PLACE: expected WANTED, got HAD`; `had` is a value of the document."""
        shown = shown_value(had)
        self.add(
            Fault(
                place=place,
                sentence=f"expected {wanted}, got {shown}",
                wanted=wanted,
                had=shown,
                hint=hint,
            )
        )

    def missing(self, place: str, key: str, present: Iterable[str]) -> None:
        """Record that the object at `place` lacks a key; `present`: the keys that it has."""
        self.add(
            Fault(
                place=place,
                sentence=f'missing key "{key}"',
                wanted=key,
                had=", ".join(map(quoted, sorted(present)[:_KEYS_SHOWN])),
                hint="write null for an unknown value, and keep the key",
            )
        )

    def unknown(self, place: str, key: str, known: Collection[str]) -> None:
        """Record that the object at `place` has a key that is not one of its format."""
        self.add(
            Fault(
                place=place,
                sentence=f"unknown key {quoted(key)}",
                wanted=", ".join(sorted(known)),
                had=quoted(key),
                hint="remove it; if a newer Rackwise wrote the file, upgrade Rackwise",
            )
        )

    def raise_if_any(self) -> None:
        """Raise the file's error class for the first fault, naming how many others there are."""
        if self.first is not None:
            raise self._error(self.first, self.count - 1)

    def last(self, fault: Fault, *, others: int = 0) -> InputError:
        """The error to raise for a fault after which nothing else can be read."""
        self.add(fault, others=others)
        return self._error(self.first or fault, self.count - 1)

    def shown_place(self, place: str) -> str:
        """The place as an error shows it."""
        return place

    def _error(self, fault: Fault, others: int) -> InputError:
        more = f" (and {others} more fault{'s' if others > 1 else ''})" if others else ""
        is_line = fault.place.startswith(":")
        shown = self.shown_place(fault.place)
        at = fault.place if is_line else f" at {shown}" if shown else ""
        file = self.file if self.locate is None else self.locate(fault.place)
        where = f"{file}{fault.place}" if is_line else fault.place or file
        return self.error(
            f"invalid {escaped(file)}{at}: {fault.sentence}{more}",
            wanted=fault.wanted,
            had=fault.had,
            hint=self.hint or fault.hint,
            where=where if self.locate is None else file,
        )


def shown_value(value: object) -> str:
    r"""A value as its JSON text, escaped and cut to a length that fits a line.

    >>> shown_value(True), shown_value("a\x1bb"), shown_value({"a": [1]})
    ('true', '"a\\x1bb"', 'an object')
    """
    if isinstance(value, str):
        return quoted(value)
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list" if value else "an empty list"
    text = escaped(json.dumps(value, default=str))
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}..."


def quoted(text: str) -> str:
    """A text from outside between quotes, escaped and cut to a length that fits a line."""
    cut = text if len(text) <= SHOWN else text[:SHOWN]
    return f'"{escaped(cut)}"' + ("" if cut == text else "...")
