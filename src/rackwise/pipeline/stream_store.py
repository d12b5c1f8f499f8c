"""Where a stream writes: folders per batch, and one small file that makes a batch count.

Goals, in order: every message of the topic is in exactly one batch that counts, whatever is killed
when; a reader never sees half a batch; no reader needs Spark's own log.

```
DIR/stream/epoch=<token>/batch_id=7/*.parquet     written first; without its mark nobody reads it
DIR/stream/_committed/<token>-7.json              the mark, renamed into place last
CHECKPOINT/rackwise.json                          the token, made with the checkpoint
```

Spark writes down the offsets of a batch before it runs it and that it is done after; a batch that
was killed between runs again with the same number and the same offsets:

```
killed                         the next run
before or in the Parquet       writes the folder anew
after it, before the mark      writes the folder anew
after the mark                 finds the mark and leaves the batch as it is
```

A new checkpoint begins again at batch 0, so it gets a token of its own and never meets an old one.

What this does not do: take away old batches; follow a DIR on an object store.
"""

from __future__ import annotations

import json
import os
import re
import secrets
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import CheckpointMismatch
from rackwise.core.strict_json import NotStrict, read_object
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "rackwise.stream/1"
MARK = "rackwise.json"
STREAM = "stream"
COMMITTED = "_committed"
LARGEST_MARK = 1 << 24
TOKEN = re.compile(r"[0-9a-f]{16}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch that counts.

    `offsets`: `topic-partition` -> first offset, and last; `reasons`: reason -> messages; `bytes`:
    of the rows of kept messages; `days`: first and last day of their windows, since 1970-01-01.
    """

    token: str
    batch_id: int
    reasons: Mapping[str, int]
    bytes: int
    offsets: Mapping[str, tuple[int, int]]
    days: tuple[int, int] | None

    @property
    def messages(self) -> int:
        """All of them, kept or not."""
        return sum(self.reasons.values())


class Store:
    """The batches below one result folder."""

    def __init__(self, out: str) -> None:
        self.out = str(Path(out).absolute())
        self._marks = Path(self.out, STREAM, COMMITTED)

    def folder(self, token: str, batch_id: int) -> str:
        """Where a batch lies, or will."""
        return f"{self.out}/{STREAM}/epoch={token}/batch_id={batch_id}"

    def is_committed(self, token: str, batch_id: int) -> bool:
        """Whether the batch counts."""
        return self._mark(token, batch_id).exists()

    def commit(self, batch: Batch) -> None:
        """Make a batch count; its folder is whole by now."""
        self._marks.mkdir(parents=True, exist_ok=True)
        _write(self._mark(batch.token, batch.batch_id), {"format": FORMAT, **asdict(batch)})

    def batches(self) -> tuple[Batch, ...]:
        """All batches that count, by token and number. Raises `CheckpointMismatch`."""
        found = []
        for path in self._marks.glob("*.json"):
            fields = _read(path)
            del fields["format"]
            days, offsets = fields.pop("days"), fields.pop("offsets")
            found.append(
                Batch(
                    **fields,
                    days=None if days is None else (days[0], days[1]),
                    offsets={key: (ends[0], ends[1]) for key, ends in offsets.items()},
                )
            )
        return tuple(sorted(found, key=lambda each: (each.token, each.batch_id)))

    def _mark(self, token: str, batch_id: int) -> Path:
        return self._marks / f"{token}-{batch_id}.json"


def token_of(checkpoint: str, store: Store) -> str:
    """The token of a checkpoint, made with it. Raises `CheckpointMismatch`.

    A checkpoint belongs to one result folder: elsewhere its next batch would lack those before.
    """
    folder = Path(checkpoint)
    mark = folder / MARK
    if mark.exists():
        fields = _read(mark)
        token, had = fields.get("token"), fields.get("out")
        if had != store.out or not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise CheckpointMismatch(
                f"the checkpoint {escaped(checkpoint)} belongs to {escaped(str(had))}; "
                f"{escaped(store.out)} is wanted",
                wanted=store.out,
                had=had,
                hint="give the --out it was made with, or another --checkpoint",
                where=str(mark),
            )
        return token
    if folder.exists() and any(folder.iterdir()):
        raise CheckpointMismatch(
            f"a checkpoint of rackwise stream is wanted; {escaped(checkpoint)} was made by another",
            wanted=MARK,
            had=None,
            hint="give --checkpoint an empty folder, or a new name",
            where=checkpoint,
        )
    folder.mkdir(parents=True, exist_ok=True)
    token = secrets.token_hex(8)
    _write(mark, {"format": FORMAT, "out": store.out, "token": token})
    return token


def _read(path: Path) -> dict[str, Any]:
    """A mark. Raises `CheckpointMismatch` for one of another format."""
    try:
        fields = read_object(path.read_bytes(), most=LARGEST_MARK)
    except NotStrict as error:
        fields = {"format": f"no JSON: {error}"}
    if fields.get("format") != FORMAT:
        raise CheckpointMismatch(
            f"format {FORMAT} is wanted in {escaped(str(path))}; it has "
            f"{escaped(str(fields.get('format')))}",
            wanted=FORMAT,
            had=fields.get("format"),
            hint="it was written by another version of Rackwise, or is damaged: give another "
            "--out and --checkpoint",
            where=str(path),
        )
    return fields


def _write(path: Path, fields: Mapping[str, Any]) -> None:
    """Write a mark aside, wait until it is on the disk, rename it into place."""
    aside = path.with_name(f".{path.name}.{os.getpid()}.unfinished")
    with aside.open("w", encoding="utf-8") as file:
        json.dump(fields, file, sort_keys=True)
        file.flush()
        os.fsync(file.fileno())
    aside.rename(path)
    folder = os.open(path.parent, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
