"""Publishes a result: writes the files of a run, renames one link, removes what is unreachable."""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rackwise.adapters.files.publishing.manifest import (
    MANIFEST,
    MANIFEST_FORM,
    Manifest,
    PublishedDay,
    PublishedFile,
    manifest_sha256,
)
from rackwise.adapters.files.publishing.read import ResultDays, check_out, known_tables
from rackwise.adapters.files.writing import not_written, sync_folder, unfinished_name, write_synced
from rackwise.core.errors import Conflict, InvalidConfig
from rackwise.core.json.canonical import canonical_json
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

CURRENT = "current"
RUNS = "runs"
TABLES = "tables/runs"

_RUN_ID = re.compile(r"[0-9a-f]{12}")
_RUN = re.compile(r"[0-9a-f]{12}(?:-[0-9]+)?")
_UNFINISHED = re.compile(r"\..*\.unfinished")
_FILE = re.compile(r"[A-Za-z0-9_]+[A-Za-z0-9_.-]*(?:/[A-Za-z0-9_]+[A-Za-z0-9_.-]*)*")


class Disk:
    """The steps of a publication, one call each. Tests end the process between any two."""

    def make_folder(self, path: Path) -> None:
        """Create a folder and its parents."""
        path.mkdir(parents=True, exist_ok=True)

    def write(self, path: Path, data: bytes) -> None:
        """Write a file that has no readers yet, and sync it."""
        write_synced(path, data)

    def link(self, path: Path, target: str) -> None:
        """Create or replace a symbolic link atomically."""
        beside = unfinished_name(path)
        beside.symlink_to(target)
        try:
            beside.rename(path)
        except BaseException:
            beside.unlink(missing_ok=True)
            raise

    def sync(self, folder: Path) -> None:
        """Sync the names in a folder."""
        sync_folder(folder)

    def remove(self, path: Path) -> None:
        """Remove a link, or a folder with its content."""
        if path.is_symlink():
            path.unlink()
        else:
            shutil.rmtree(path)


def free_run(runs: str | Path, run_id: str) -> str:
    """A name that is free in the folder of runs: `ID`, else `ID-2`, `ID-3`, ..."""
    name, number = run_id, 1
    while (Path(runs) / name).exists():
        number += 1
        name = f"{run_id}-{number}"
    return name


def publish(
    out: str | Path,
    *,
    run_id: str,
    files: Mapping[str, bytes],
    tables: str,
    table_format: Literal["parquet", "delta", "iceberg"] = "parquet",
    days: Sequence[PublishedDay] = (),
    after: ResultDays | None = None,
    disk: Disk | None = None,
) -> Path:
    """Publish a result in DIR, all or nothing; return the folder of its files.

    `run_id`: 12 hex digits; `files`: path below DIR, `/` between folders -> content; `tables`: the
    location of the run's tables, `tables/runs/NAME` for tables in DIR; `table_format`: their
    format; `days`: the days of the result, whose tables are kept; `after`: the result that this one
    continues. Raises `OtherFormat`, `InvalidConfig`, `WorldError`, and `Conflict` if DIR holds
    another result than `after`; the published result is unchanged then.
    """
    folder = Path(out)
    _check_names(run_id, files)
    work = disk or Disk()
    try:
        check_out(folder)
        work.make_folder(folder / RUNS)
        with locked(folder):
            place = folder / MANIFEST
            version = manifest_sha256(place) if place.exists() else None
            if after is not None and version != after.version:
                raise _changed(out)
            old = known_tables(folder)
            run = free_run(folder / RUNS, run_id)
            tops = sorted({path.partition("/")[0] for path in (*files, MANIFEST)})
            whole = _with_manifest(run_id, files, tables, days, table_format)
            try:
                _write_run(work, folder / RUNS / run, whole)
                work.sync(folder / RUNS)
                _link_tops(work, folder, tops)
                work.link(folder / CURRENT, f"{RUNS}/{run}")
            except BaseException:
                _remove_unpublished(work, folder, run, tops)
                raise
            work.sync(folder)
            _tidy(work, folder, run, tops)
            kept = {tables, *(day.tables for day in days if day.tables)}
            _tidy_tables(work, folder, run_id, tables, kept=kept, old=old)
    except OSError as cause:
        raise not_written(str(out), cause) from None
    return folder / RUNS / run


def _changed(out: str | Path) -> Conflict:
    return Conflict(
        f"another run published a result in {escaped(str(out))} meanwhile; nothing was published",
        wanted="the result that the run continues",
        had="another result",
        hint="run the command again",
        where=str(out),
    )


def _with_manifest(
    run_id: str,
    files: Mapping[str, bytes],
    tables: str,
    days: Sequence[PublishedDay],
    table_format: Literal["parquet", "delta", "iceberg"],
) -> dict[str, bytes]:
    manifest = Manifest(
        run_id=run_id,
        tables=tables,
        days=tuple(days),
        table_format=table_format,
        files={
            path: PublishedFile(bytes=len(data), sha256=hashlib.sha256(data).hexdigest())
            for path, data in files.items()
        },
    )
    text = canonical_json(MANIFEST_FORM.write(manifest))
    return {**files, MANIFEST: text.encode() + b"\n"}


def _check_names(run_id: str, files: Mapping[str, bytes]) -> None:
    """Reject file names with text from a cluster. Raises `InvalidConfig`."""
    if not _RUN_ID.fullmatch(run_id):
        raise InvalidConfig(
            f"expected a run id of 12 hex digits, got {escaped(run_id)}",
            wanted="12 hex digits",
            had=run_id,
        )
    for path in files:
        if not _FILE.fullmatch(path) or path.partition("/")[0] in {CURRENT, RUNS, MANIFEST}:
            raise InvalidConfig(
                f"expected a plain path below the folder, got {escaped(path)}",
                wanted="letters, digits, . _ -",
                had=path,
            )


@contextmanager
def locked(folder: Path, wait: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Hold the lock of a folder; `wait` is called once if another process holds it."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            wait()
            fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _write_run(disk: Disk, home: Path, files: Mapping[str, bytes]) -> None:
    folders = {home, *((home / path).parent for path in files)}
    for folder in sorted(folders):
        disk.make_folder(folder)
    for path in sorted(files):
        disk.write(home / path, files[path])
    for folder in sorted(folders):
        disk.sync(folder)


def _link_tops(disk: Disk, folder: Path, tops: list[str]) -> None:
    for name in tops:
        place, target = folder / name, f"{CURRENT}/{name}"
        if place.is_symlink() and str(place.readlink()) == target:
            continue
        if place.exists() or place.is_symlink():
            raise InvalidConfig(
                f"{escaped(str(place))} was not made by Rackwise; it would be replaced",
                wanted=f"a link to {target}",
                had="something else",
                hint="move it away, or give another --out",
                where=str(place),
            )
        disk.link(place, target)


def _remove_unpublished(disk: Disk, folder: Path, run: str, tops: list[str]) -> None:
    """Remove the files of a run that is not published, and its links without a target.

    A signal that comes while `CURRENT` is renamed is raised after it: the run is published then.
    """
    current = folder / CURRENT
    if current.is_symlink() and str(current.readlink()) == f"{RUNS}/{run}":
        return
    links = [folder / name for name in tops]
    idle = [link for link in links if link.is_symlink() and not link.exists()]
    for path in (folder / RUNS / run, *idle):
        with suppress(OSError):  # the error that ended the run counts
            disk.remove(path)


def _tidy(disk: Disk, folder: Path, run: str, tops: list[str]) -> None:
    """Remove unreachable files: other runs, and links without a target."""
    for path in sorted(folder.iterdir()):
        if not path.is_symlink():
            continue
        is_left = str(path.readlink()) == f"{CURRENT}/{path.name}" and path.name not in tops
        if is_left or _UNFINISHED.fullmatch(path.name):
            disk.remove(path)
    for path in sorted((folder / RUNS).iterdir()):
        if path.name != run and _RUN.fullmatch(path.name) and path.is_dir():
            disk.remove(path)


def _tidy_tables(
    disk: Disk, folder: Path, run_id: str, tables: str, *, kept: set[str], old: set[str]
) -> None:
    """Remove tables in DIR that no day names, and unfinished tables of this run id."""
    runs = folder / TABLES
    is_here = tables.startswith(f"{TABLES}/") and runs.is_dir()
    for path in sorted(runs.iterdir()) if is_here else ():
        name = f"{TABLES}/{path.name}"
        is_ours = _RUN.fullmatch(path.name) and not path.is_symlink()
        if is_ours and name not in kept and (name in old or path.name.partition("-")[0] == run_id):
            disk.remove(path)
