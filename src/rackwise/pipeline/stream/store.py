"""The store of a stream: one folder per batch, and one small mark file that commits the batch.

Goals, in order: every message of the topic is in exactly one committed batch, whichever process is
killed at any time; a reader never sees half a batch; no reader needs Spark's own log.

```
DIR/stream/epoch=<token>/batch_id=7/attempt=3f9c/*.parquet   its messages, written first
DIR/stream_gold/epoch=<token>/batch_id=7/attempt=3f9c/       its sums; not read without the mark
DIR/stream/_committed/<token>-7.json                         the mark, written last
CHECKPOINT/rackwise.json                                     the token, created with the checkpoint
```

Spark records the offsets of a batch before the batch runs, and records the end of the batch after
it. A batch that is killed in between runs again with the same number and the same offsets, as a new
attempt. An executor that outlives its driver continues to write into a folder that no reader opens:

```
killed                         the next run
before or in the Parquet       writes another attempt
after it, before the mark      writes another attempt
after the mark                 finds the mark and leaves the batch as it is
```

The first mark of a batch is final; after that, other attempts are removed. A new checkpoint starts
again at batch 0. It gets its own token, so its batches never collide with older ones.

A checkpoint belongs to its DIR; their last batches are equal or differ by one. A checkpoint that
was restored from a copy would give new records the numbers of committed batches and lose them, so
it is rejected. A DIR that lacks batches and a truncated Spark log are rejected too.

What this does not do: remove old batches; support a DIR on an object store.
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
ANOTHER = CheckpointMismatch.remedy


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A committed batch."""

    token: str
    """The token of its checkpoint."""
    batch_id: int
    """Spark's number of the batch."""
    attempt: str
    """The committed attempt."""
    reasons: Mapping[str, int]
    """Reason -> messages."""
    bytes: int
    """Bytes of the rows of kept messages."""
    offsets: Mapping[str, tuple[int, int]]
    """`topic-partition` -> first and last offset."""
    days: tuple[int, int] | None
    """First and last day of its messages, in days since 1970-01-01; None for an empty batch."""

    @property
    def messages(self) -> int:
        """The number of all messages, kept or not."""
        return sum(self.reasons.values())


class StoreDisk:
    """The steps that write a mark, one call each; the process may end between any two."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents."""
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """Create a file that is not yet visible to readers, and wait until it is on the disk.

        If that fails, there is no file. Raises `OSError` with the path.
        """
        file = path.open("xb")
        try:
            with file:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
        except BaseException as error:
            path.unlink(missing_ok=True)
            if isinstance(error, OSError):  # one of a descriptor has no path
                raise OSError(error.errno, error.strerror, str(path)) from None
            raise

    def place(self, beside: Path, path: Path) -> None:
        """Give a file its name, unless another file has that name."""
        try:
            path.hardlink_to(beside)
        except FileExistsError:
            return

    def remove(self, path: Path) -> None:
        """Remove a file or a folder; files that a dying executor still adds may remain."""
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
    """The batches in one result folder."""

    def __init__(self, out: str, disk: StoreDisk | None = None) -> None:
        self.out = str(Path(out).absolute())
        self.disk = disk or StoreDisk()
        self._marks = Path(self.out, STREAM, COMMITTED)

    def folder(self, token: str, batch_id: int, attempt: str, *, table: str = STREAM) -> str:
        """The folder of an attempt at a batch; `table`: `stream` or `stream_gold`."""
        return f"{self._batch(table, token, batch_id)}/attempt={attempt}"

    def folder_of(self, batch: Batch, *, table: str = STREAM) -> str:
        """The folder of a committed batch."""
        return self.folder(batch.token, batch.batch_id, batch.attempt, table=table)

    def begin(self, token: str) -> None:
        """Create the folders for the batches of a new checkpoint."""
        self.disk.make_folder(self._epoch(STREAM, token))
        self.disk.sync(self._epoch(STREAM, token).parent)

    def has(self, token: str) -> bool:
        """Whether this result folder belongs to the checkpoint with this token."""
        return self._epoch(STREAM, token).is_dir()

    def committed(self, token: str, batch_id: int) -> Batch | None:
        """The batch, or None if it is not committed. Raises `CheckpointMismatch`."""
        mark = self._mark(token, batch_id)
        return _batch(mark) if mark.exists() else None

    def commit(self, batch: Batch) -> None:
        """Commit a batch, unless it is committed; the caller has written its folders completely."""
        self.disk.make_folder(self._marks)
        mark = self._mark(batch.token, batch.batch_id)
        _write(self.disk, mark, {"format": FORMAT, **asdict(batch)})
        self.tidy(_batch(mark))

    def tidy(self, batch: Batch) -> None:
        """Remove all attempts at a batch except the committed one."""
        for table in (STREAM, SUMS):
            folder = Path(self._batch(table, batch.token, batch.batch_id))
            for path in sorted(folder.glob("attempt=*")):
                if path.name != f"attempt={batch.attempt}":
                    self.disk.remove(path)

    def batches(self) -> tuple[Batch, ...]:
        """All committed batches, by token and number. Raises `CheckpointMismatch`."""
        found = [_batch(path) for path in self._marks.glob("[!.]*.json")]
        return tuple(sorted(found, key=lambda each: (each.token, each.batch_id)))

    def numbers(self, token: str) -> list[int]:
        """Numbers of the committed batches of a checkpoint, sorted."""
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
    """The token of a checkpoint; creates it for a new checkpoint. Raises `CheckpointMismatch`.

    A checkpoint belongs to one result folder. In another folder, the earlier batches would be
    missing.
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
    """Check that Spark's logs are complete and at the last batch of the tables, or one after it."""
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
    """Whether this is a Spark log file: an optional version, then at least `least` JSON objects."""
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
    """The fields of a mark. Raises `CheckpointMismatch` for another format."""
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
    """Write a mark to a new file whose name nobody can foresee, and give it the mark's name."""
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}{UNFINISHED}")
    disk.write(beside, json.dumps(fields, sort_keys=True).encode())
    disk.place(beside, path)
    disk.sync(path.parent)
    disk.remove(beside)
