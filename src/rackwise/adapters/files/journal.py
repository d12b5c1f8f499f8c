"""`rackwise.journal/1`: a write-ahead journal of a run.

Goals, in order: each action is on the disk before it is executed; after a kill, every line but the
last one is complete; a damaged journal is never accepted.

Each line is one object in canonical JSON, chained to the line before:

```
{"at":"..","check":"9c1d..","format":"rackwise.journal/1","plan":"5f..","seq":1,"type":"begin"}
{"at":"..","check":"07aa..","partitions":[["orders",4]],"seq":2,"type":"batch_intent"}
                    |
                    16 hex digits of SHA-256 over the check before it and the line without `check`
```

The first line begins a run of one plan. `append` returns when the line is on the disk. A last line
without a line feed was cut by a kill. Its action was not started, so the line is dropped, and the
file is truncated before the next line is written. Any other line that is not valid is damage: the
journal is rejected with line and offset.

What this does not do: know the types of lines.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.state_folder import MODE_FILE, unwritable
from rackwise.adapters.files.writing import sync_folder
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.canonical import Json, canonical_json
from rackwise.core.json.strict import parse
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

FORMAT = "rackwise.journal/1"
CHECK_DIGITS = 16
BEGIN = "begin"
_REJECTS = -1
"""In place of a descriptor: no line is written after a failure; writing to it is an error."""
OWN = frozenset({"seq", "at", "type", "check", "format"})
"""Keys that the journal adds; only a line of the type `begin` has `format`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JournalEntry:
    """One line: its number from 1, its time, its type and its other fields."""

    seq: int
    at: str
    type: str
    fields: Mapping[str, Any]


class Journal:
    """An open journal of one plan; `open_journal` opens it, `close` closes it."""

    def __init__(self, path: Path, entries: Sequence[JournalEntry], check: str, end: int) -> None:
        self.path = path
        self._entries = [*entries]
        self._check = check
        self._end = end
        self._descriptor: int | None = None

    @property
    def entries(self) -> tuple[JournalEntry, ...]:
        """All lines, in order."""
        return tuple(self._entries)

    def append(self, type_: str, fields: Mapping[str, Json], *, at: str) -> JournalEntry:
        """Write one line and sync it to the disk. Raises `JournalUnwritable`.

        After that error the file ends with the line before, and further lines are rejected.
        """
        entry = JournalEntry(seq=len(self._entries) + 1, at=at, type=type_, fields=fields)
        body: dict[str, Json] = {**fields, "seq": entry.seq, "at": at, "type": type_}
        if type_ == BEGIN:
            body["format"] = FORMAT
        check = _check_of(self._check, body)
        line = canonical_json({**body, "check": check}).encode() + b"\n"
        try:
            if self._descriptor is None:
                self._descriptor = self._opened()
            self._write(self._descriptor, line)
        except OSError as cause:
            self._undo()
            why = cause.strerror or str(cause)
            raise unwritable(self.path, why, has_lines=bool(self._entries)) from None
        self._entries.append(entry)
        self._check = check
        self._end += len(line)
        return entry

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None and self._descriptor >= 0:
            os.close(self._descriptor)
        self._descriptor = None

    def _opened(self) -> int:
        flags = os.O_WRONLY | os.O_CLOEXEC | os.O_NOFOLLOW
        if not self._end:
            flags |= os.O_CREAT
        descriptor = os.open(self.path, flags, MODE_FILE)
        try:
            os.ftruncate(descriptor, self._end)
            os.fsync(descriptor)
            sync_folder(self.path.parent)
        except BaseException:
            os.close(descriptor)
            raise
        return descriptor

    def _write(self, descriptor: int, line: bytes) -> None:
        at = self._end
        rest = memoryview(line)
        while rest:
            count = os.pwrite(descriptor, rest, at)
            at += count
            rest = rest[count:]
        os.fsync(descriptor)

    def _undo(self) -> None:
        """Truncate the part of a line that was written; a reader would drop it anyway."""
        if self._descriptor is None or self._descriptor < 0:
            self._descriptor = _REJECTS
            return
        try:
            os.ftruncate(self._descriptor, self._end)
        except OSError:
            return
        finally:
            os.close(self._descriptor)
            self._descriptor = _REJECTS


def journal_path(folder: Path, plan: str) -> Path:
    """The path of the journal of a plan; `plan`: its SHA-256."""
    return folder / f"{plan}.journal"


def open_journal(folder: Path, plan: str) -> Journal:
    """Open the journal of a plan and read its lines; writes nothing.

    Raises `InvalidPlan` for a journal that is damaged or of another plan, `JournalUnwritable` if
    it cannot be read.
    """
    path = journal_path(folder, plan)
    if not os.path.lexists(path):
        return Journal(path, (), "", 0)
    if path.is_symlink():
        raise unwritable(path, "it is a link")
    data = _read(path)
    journal = parse_journal(data, path)
    _check_plan(journal, plan)
    return journal


def parse_journal(data: bytes, path: Path) -> Journal:
    """Parse the bytes of a journal. Raises `InvalidPlan`."""
    entries: list[JournalEntry] = []
    check, end = "", 0
    whole = data[: data.rfind(b"\n") + 1]
    for number, line in enumerate(whole.split(b"\n")[:-1], start=1):
        entry, check = _entry(line, path, number, end, check)
        entries.append(entry)
        end += len(line) + 1
    return Journal(path, entries, check, end)


def _read(path: Path) -> bytes:
    try:
        return read_bytes(path, error=InvalidPlan, max_bytes=MAX_BYTES)
    except InvalidPlan:
        raise
    except ValueError as cause:
        raise unwritable(path, str(cause)) from None


def _entry(
    line: bytes, path: Path, number: int, offset: int, before: str
) -> tuple[JournalEntry, str]:
    """One line, and its check. Raises `InvalidPlan`."""
    try:
        body = parse(line, where=str(path), error=InvalidPlan)
    except InvalidPlan as error:
        raise _damaged(path, number, offset, error.message) from None
    if not isinstance(body, dict) or not all(
        isinstance(body.get(key), str) for key in ("at", "type", "check")
    ):
        raise _damaged(
            path,
            number,
            offset,
            "expected the keys at, type and check with texts, got a line without them",
        )
    check = body.pop("check")
    if type(body.get("seq")) is not int or body["seq"] != number:
        raise _damaged(path, number, offset, f"expected seq {number}, got {body.get('seq')}")
    wanted = _computed(before, body)
    if wanted is None:
        raise _damaged(path, number, offset, "expected integers and texts, got others")
    if check != wanted:
        raise _damaged(path, number, offset, f"expected check {wanted}, got {check}")
    if number == 1 and (body["type"] != BEGIN or body.get("format") != FORMAT):
        raise _damaged(path, number, offset, f"expected {BEGIN} of {FORMAT}, got another line")
    entry = JournalEntry(
        seq=number,
        at=body["at"],
        type=body["type"],
        fields={key: value for key, value in body.items() if key not in OWN},
    )
    return entry, check


def _computed(before: str, body: dict[str, Any]) -> str | None:
    """The check that the line should have; None for a line that cannot be canonical JSON."""
    try:
        return _check_of(before, body)
    except (TypeError, ValueError):
        return None


def _check_of(before: str, body: dict[str, Json]) -> str:
    text = before + canonical_json(body)
    return hashlib.sha256(text.encode()).hexdigest()[:CHECK_DIGITS]


def _check_plan(journal: Journal, plan: str) -> None:
    entries = journal.entries
    if not entries:
        return
    first = entries[0]
    had = first.fields.get("plan")
    if had != plan:
        raise InvalidPlan(
            f"invalid {escaped(str(journal.path))}: expected the journal of plan {plan[:12]}, "
            f"got that of plan {escaped(str(had))[:12]}",
            wanted=plan,
            had=had,
            hint="move the file away; rackwise status shows where the plan stands without it",
            where=f"{journal.path}:1",
        )


def _damaged(path: Path, number: int, offset: int, why: str) -> InvalidPlan:
    return InvalidPlan(
        f"invalid {escaped(str(path))}:{number}: offset {offset}: expected a whole journal, "
        f"got a damaged line: {escaped(why)}",
        wanted="a whole journal",
        had=why,
        hint="rackwise status shows where the plan stands without it; with the file moved away "
        "rackwise apply begins from what the cluster shows",
        where=f"{path}:{number}",
    )
