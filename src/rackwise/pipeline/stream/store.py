"""Where a stream writes: folders per batch, and one small file that makes a batch count.

Goals, in order: every message of the topic is in exactly one batch that counts, whatever is killed
when; a reader never sees half a batch; no reader needs Spark's own log.

```
DIR/stream/epoch=<token>/batch_id=7/attempt=3f9c/*.parquet   its messages, written first
DIR/stream_gold/epoch=<token>/batch_id=7/attempt=3f9c/       its sums; without the mark unread
DIR/stream/_committed/<token>-7.json                         the mark, put in place last
CHECKPOINT/rackwise.json                                     the token, made with the checkpoint
```

Spark writes down the offsets of a batch before it runs it and that it is done after; a batch that
was killed between runs again with the same number and the same offsets, in an attempt of its own.
An executor that outlives its driver writes on where nobody looks:

```
killed                         the next run
before or in the Parquet       writes another attempt
after it, before the mark      writes another attempt
after the mark                 finds the mark and leaves the batch as it is
```

The first mark of a batch stands; once it does, other attempts are removed. A new checkpoint begins
again at batch 0, so it gets a token of its own and never meets an old one.

A checkpoint goes with its DIR, and both are at the same batch or one apart. One that was put back
from a copy would number what it reads like batches that count already, and lose it; it is refused,
as is a DIR that lacks batches, or a log of Spark's that was cut.

What this does not do: take away old batches; follow a DIR on an object store.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import CheckpointMismatch
from rackwise.core.json.strict import NotStrict, read_object
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

FORMAT = "rackwise.stream/1"
MARK = "rackwise.json"
STREAM = "stream"
SUMS = "stream_gold"
COMMITTED = "_committed"
LARGEST_MARK = 1 << 24
TOKEN = re.compile(r"[0-9a-f]{16}")
UNFINISHED = ".unfinished"
ANOTHER = "choose another --checkpoint: the topic is read again and each message counts once"


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch that counts.

    `attempt`: the one that counts; `offsets`: `topic-partition` -> first offset, and last;
    `reasons`: reason -> messages; `bytes`: of the rows of kept messages; `days`: first and last day
    to which its messages belong, since 1970-01-01.
    """

    token: str
    batch_id: int
    attempt: str
    reasons: Mapping[str, int]
    bytes: int
    offsets: Mapping[str, tuple[int, int]]
    days: tuple[int, int] | None

    @property
    def messages(self) -> int:
        """All of them, kept or not."""
        return sum(self.reasons.values())


class StoreDisk:
    """The steps of a mark, one call each: between any two the process may end."""

    def make_folder(self, path: Path) -> None:
        """Make a folder, and those above it."""
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """Write a file that nobody reads yet and wait until it is on the disk."""
        with path.open("wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())

    def place(self, beside: Path, path: Path) -> None:
        """Give a file its name, unless another one has it."""
        try:
            path.hardlink_to(beside)
        except FileExistsError:
            return

    def remove(self, path: Path) -> None:
        """Remove a file, or a folder; what a dying executor still adds to it may stay."""
        if path.is_dir():
            shutil.rmtree(path, ignore_errors=True)
        else:
            path.unlink(missing_ok=True)

    def sync(self, folder: Path) -> None:
        """Wait until the names in a folder are on the disk."""
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


class Store:
    """The batches below one result folder."""

    def __init__(self, out: str, disk: StoreDisk | None = None) -> None:
        self.out = str(Path(out).absolute())
        self.disk = disk or StoreDisk()
        self._marks = Path(self.out, STREAM, COMMITTED)

    def folder(self, token: str, batch_id: int, attempt: str, *, table: str = STREAM) -> str:
        """Where an attempt at a batch lies, or will; `table`: `stream` or `stream_gold`."""
        return f"{self._batch(table, token, batch_id)}/attempt={attempt}"

    def folder_of(self, batch: Batch, *, table: str = STREAM) -> str:
        """Where a batch that counts lies."""
        return self.folder(batch.token, batch.batch_id, batch.attempt, table=table)

    def begin(self, token: str) -> None:
        """Make room for the batches of a new checkpoint."""
        self.disk.make_folder(self._epoch(STREAM, token))
        self.disk.sync(self._epoch(STREAM, token).parent)

    def has(self, token: str) -> bool:
        """Whether this is the folder of a checkpoint."""
        return self._epoch(STREAM, token).is_dir()

    def committed(self, token: str, batch_id: int) -> Batch | None:
        """A batch, if it counts. Raises `CheckpointMismatch`."""
        mark = self._mark(token, batch_id)
        return _batch(mark) if mark.exists() else None

    def commit(self, batch: Batch) -> None:
        """Make a batch count, unless it does; its folders are whole by now."""
        self.disk.make_folder(self._marks)
        mark = self._mark(batch.token, batch.batch_id)
        _write(self.disk, mark, {"format": FORMAT, **asdict(batch)})
        self.tidy(_batch(mark))

    def tidy(self, batch: Batch) -> None:
        """Remove attempts at a batch other than the one that counts."""
        for table in (STREAM, SUMS):
            folder = Path(self._batch(table, batch.token, batch.batch_id))
            for path in sorted(folder.glob("attempt=*")):
                if path.name != f"attempt={batch.attempt}":
                    self.disk.remove(path)

    def batches(self) -> tuple[Batch, ...]:
        """All batches that count, by token and number. Raises `CheckpointMismatch`."""
        found = [_batch(path) for path in self._marks.glob("[!.]*.json")]
        return tuple(sorted(found, key=lambda each: (each.token, each.batch_id)))

    def numbers(self, token: str) -> list[int]:
        """Numbers of the batches of a checkpoint that count, sorted."""
        return sorted(
            int(path.stem.rpartition("-")[2]) for path in self._marks.glob(f"{token}-*.json")
        )

    def _epoch(self, table: str, token: str) -> Path:
        return Path(self.out, table, f"epoch={token}")

    def _batch(self, table: str, token: str, batch_id: int) -> str:
        return f"{self._epoch(table, token)}/batch_id={batch_id}"

    def _mark(self, token: str, batch_id: int) -> Path:
        return self._marks / f"{token}-{batch_id}.json"


def token_of(checkpoint: str, store: Store) -> str:
    """The token of a checkpoint, made with it. Raises `CheckpointMismatch`.

    A checkpoint belongs to one result folder: elsewhere its next batch would lack those before.
    """
    folder = Path(checkpoint)
    mark = folder / MARK
    if mark.exists():
        token = _read(mark).get("token")
        if not isinstance(token, str) or not TOKEN.fullmatch(token):
            raise CheckpointMismatch(
                f"invalid token in {escaped(str(mark))}: expected 16 hex digits, got "
                f"{escaped(str(token))}",
                wanted="16 hex digits",
                had=token,
                hint=f"the checkpoint is damaged: {ANOTHER}",
                where=str(mark),
            )
        if not store.has(token):
            raise CheckpointMismatch(
                f"the checkpoint {escaped(checkpoint)} belongs to another folder; "
                f"{escaped(store.out)} has none of its batches",
                wanted=f"epoch={token}",
                had=None,
                hint="give the --out that it was created with, or choose another --checkpoint",
                where=str(mark),
            )
        _check_logs(folder, token, store)
        return token
    if folder.exists() and not all(each.name.endswith(UNFINISHED) for each in folder.iterdir()):
        raise CheckpointMismatch(
            f"expected a checkpoint of rackwise stream, got {escaped(checkpoint)}, which another "
            "program created",
            wanted=MARK,
            had=None,
            hint="choose an empty folder or a new name for --checkpoint",
            where=checkpoint,
        )
    token = secrets.token_hex(8)
    store.begin(token)
    store.disk.make_folder(folder)
    _write(store.disk, mark, {"format": FORMAT, "token": token})
    return token


def _check_logs(folder: Path, token: str, store: Store) -> None:
    """Spark's own logs are whole, and at the batch at which the tables are, or one after it."""
    begun = [int(path.name) for path in (folder / "offsets").glob("[0-9]*")]
    done = [int(path.name) for path in (folder / "commits").glob("[0-9]*")]
    logs = {folder / "offsets" / str(max(begun, default="")): 2}
    logs |= {folder / "commits" / str(max(done, default="")): 1, folder / "metadata": 1}
    for path, least in logs.items():
        if path.is_file() and not _is_log(path.read_bytes(), least):
            raise CheckpointMismatch(
                f"expected one of Spark's logs in {escaped(str(path))}, got a file that was cut or "
                "changed",
                wanted="JSON",
                had=path.stat().st_size,
                hint=f"the checkpoint is damaged: {ANOTHER}",
                where=str(path),
            )
    had, last = store.numbers(token), max(begun, default=-1)
    if had == list(range(len(had))) and len(had) in {last, last + 1} - {-1}:
        return
    raise CheckpointMismatch(
        f"expected batches up to {last} in {escaped(store.out)}, because {escaped(str(folder))} "
        f"began them, got {len(had)} committed; the last is {max(had, default=None)}",
        wanted=last,
        had=max(had, default=None),
        hint=f"one of the two was restored from a copy: {ANOTHER}",
        where=str(folder),
    )


def _is_log(data: bytes, least: int) -> bool:
    """Whether this is a file of Spark's: perhaps a version, then at least so many JSON objects."""
    lines = data.splitlines()
    if lines and re.fullmatch(rb"v[0-9]+", lines[0]):
        lines = lines[1:]
    try:
        return len([read_object(line, most=LARGEST_MARK) for line in lines]) >= least
    except NotStrict:
        return False


def _batch(path: Path) -> Batch:
    fields = _read(path)
    del fields["format"]
    days, offsets = fields.pop("days"), fields.pop("offsets")
    return Batch(
        **fields,
        days=None if days is None else (days[0], days[1]),
        offsets={key: (ends[0], ends[1]) for key, ends in offsets.items()},
    )


def _read(path: Path) -> dict[str, Any]:
    """A mark. Raises `CheckpointMismatch` for one of another format."""
    try:
        fields = read_object(path.read_bytes(), most=LARGEST_MARK)
    except NotStrict as error:
        fields = {"format": f"no JSON: {error}"}
    if fields.get("format") != FORMAT:
        raise CheckpointMismatch(
            f"invalid format of {escaped(str(path))}: expected {FORMAT}, got "
            f"{escaped(str(fields.get('format')))}",
            wanted=FORMAT,
            had=fields.get("format"),
            hint="another version of Rackwise wrote it, or it is damaged: choose another "
            "--out and --checkpoint",
            where=str(path),
        )
    return fields


def _write(disk: StoreDisk, path: Path, fields: Mapping[str, Any]) -> None:
    """Write a mark aside, wait until it is on the disk, give it its name if none has it."""
    beside = path.with_name(f".{path.name}.{os.getpid()}{UNFINISHED}")
    disk.write(beside, json.dumps(fields, sort_keys=True).encode())
    disk.place(beside, path)
    disk.sync(path.parent)
    disk.remove(beside)
