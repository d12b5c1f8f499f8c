"""Publishes a result folder atomically.

Goals, in order: a reader of the folder always finds one complete result; a killed run leaves the
published result as it was; a published result is on the disk; files that Rackwise did not write are
not touched.

The files of a run are written into its own folder and synced. Then one rename of the link `current`
publishes them. The names at the top are links through `current`, created once:

```
DIR/report.html   -> current/report.html        DIR/runs/5f0c9a7d21be/report.html
DIR/summary.json  -> current/summary.json                            /summary.json
DIR/csv           -> current/csv                                     /csv/by_topic.csv
DIR/manifest.json -> current/manifest.json                           /manifest.json
DIR/current       -> runs/5f0c9a7d21be          <- the one rename
```

The same input gives the same run id. If the folder of that id exists, the run uses `ID-2`, `ID-3`,
so that the published folder is never written to. After the rename, unreachable files are removed:
other runs, and tables in DIR of runs that no day names. Publishers hold a lock on DIR, which the
system releases with the process.

The manifest names the run, its tables and each file with its SHA-256. It also names, for each day
of each cluster, the tables of the run that computed it. A run that continues a result reads these
days first and publishes them with its own. If another run has published meanwhile, the publication
is rejected, because it would lose the days of the other run:

```
days   prod 2026-11-01   tables/runs/81c0f2aa9e07        an earlier run
       prod 2026-11-02   tables/runs/5f0c9a7d21be        this run
```

What this does not do: write the tables (see the pipeline); follow a DIR on an object store.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import shutil
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.writing import not_written, sync_folder, unfinished_name, write_synced
from rackwise.core.errors import Conflict, InputError, InvalidConfig, InvalidSummary, OtherFormat
from rackwise.core.json.canonical import canonical_json
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import OMITTED
from rackwise.core.json.node import document
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rackwise.core.json.declare import Bytes, Count, NameOrNull
    from rackwise.core.json.faults import Faults

FORMAT = "rackwise.manifest/1"
SUMMARY_FORMAT = "rackwise.summary/1"
MANIFEST = "manifest.json"
SUMMARY = "summary.json"
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


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedFile:
    """One file of a result."""

    bytes: Bytes | None
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedDay:
    """One day of one cluster in a result."""

    cluster: str
    """Cluster name."""
    day: str
    """The day, in UTC."""
    cluster_id: NameOrNull = None
    """Cluster id; null if unknown."""
    tables: NameOrNull = None
    """The tables of the run that computed the traffic of the day; null without traffic."""
    name_in_tables: NameOrNull = None
    """The name of the cluster in these tables."""
    since: NameOrNull = None
    """Start of the time that this run observed."""
    until: NameOrNull = None
    """End of the time that this run observed."""
    partitions: Count | None = None
    """Number of partitions in the last snapshot up to the day; null without one."""
    partitions_unsafe: Count | None = None
    """Number of them with a finding of severity error; null without a snapshot."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """The run, the tables and the files of a result."""

    run_id: str
    tables: str
    """The location of the tables."""
    files: Mapping[str, PublishedFile]
    """Path below the result -> the file."""
    days: Annotated[tuple[PublishedDay, ...], OMITTED] = ()
    """The days of each cluster, each with the run that computed it."""
    table_format: Annotated[Literal["parquet", "delta", "iceberg"], OMITTED] = "parquet"
    """The format of the tables: parquet, or parquet with the log of delta or iceberg."""


MANIFEST_FORM = Codec(rules={Manifest: ObjectRules(constants={"format": FORMAT})}).object(Manifest)
"""The form of a manifest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A published result folder."""

    folder: Path
    run_id: str
    tables: str
    """The location of the tables."""
    files: Mapping[str, str]
    """Path -> SHA-256."""
    days: tuple[PublishedDay, ...]
    """The days of each cluster, each with the run that computed it."""
    version: str
    """SHA-256 of the manifest."""
    summary: Mapping[str, Any]


def free_run(runs: str | Path, run_id: str) -> str:
    """A name that is free in the folder of runs: `ID`, else `ID-2`, `ID-3`, ..."""
    name, number = run_id, 1
    while (Path(runs) / name).exists():
        number += 1
        name = f"{run_id}-{number}"
    return name


@dataclass(frozen=True, slots=True, kw_only=True)
class ResultDays:
    """The days of the result in a folder, and the version of that result."""

    days: tuple[PublishedDay, ...] = ()
    version: str | None = None
    """SHA-256 of the manifest; None if there is no result."""


def read_days(out: str | Path) -> ResultDays:
    """The days of the result in DIR; none if there is no result, or one without days.

    Raises as `check_out` does.
    """
    if check_out(out) is None:
        return ResultDays()
    path = (Path(out) / MANIFEST).resolve()
    manifest, faults = _manifest(path, OtherFormat)
    faults.raise_if_any()
    return ResultDays(days=manifest.days, version=_sha256(path))


def _sha256(manifest: Path) -> str:
    return hashlib.sha256(read_bytes(manifest, error=InvalidConfig)).hexdigest()


def check_out(out: str | Path) -> str | None:
    """The location of the tables of the result in DIR; None if there is no result yet.

    Call this before long work. Raises `OtherFormat` for a result of another format,
    `InvalidConfig` if DIR is no folder.
    """
    folder = Path(out)
    if folder.exists() and not folder.is_dir():
        raise InvalidConfig(
            f"invalid {escaped(str(out))}: expected a folder or a new name, got something else",
            wanted="a folder",
            had="something else",
            hint="give --out the path of a folder",
            where=str(out),
        )
    if not (folder / MANIFEST).exists():
        return None
    manifest, _ = _manifest(folder / MANIFEST, OtherFormat)
    return manifest.tables


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
            version = _sha256(place) if place.exists() else None
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
                _take_back(work, folder, run, tops)
                raise
            work.sync(folder)
            _tidy(work, folder, run, tops)
            kept = {tables, *(day.tables for day in days if day.tables)}
            _tidy_tables(work, folder, run_id, tables, kept=kept, old=old)
    except OSError as cause:
        raise not_written(str(out), cause) from None
    return folder / RUNS / run


def read_published(out: str | Path, *, max_bytes: int = MAX_BYTES) -> Published:
    """The result in DIR: its manifest and its summary.

    Raises `InvalidConfig` where DIR holds none or one of another format, `InvalidSummary` where the
    summary is not the one that was published.
    """
    folder = Path(out)
    while (folder / MANIFEST).exists():
        home = (folder / MANIFEST).resolve().parent
        try:
            return _read(folder, home, max_bytes)
        except InputError:
            if home.exists():
                raise
    raise InvalidConfig(
        f"{escaped(str(out))} holds no result: {MANIFEST} is not there",
        wanted=MANIFEST,
        had=None,
        hint=f"rackwise analyze SNAPSHOT --out {escaped(str(out))} makes one",
        where=str(out),
    )


def _read(folder: Path, home: Path, max_bytes: int) -> Published:
    """The result in the folder `home`, which another publication may remove meanwhile."""
    manifest, faults = _manifest(home / MANIFEST, InvalidConfig)
    faults.raise_if_any()
    hashes = {path: file.sha256 for path, file in manifest.files.items()}
    data = read_bytes(home / SUMMARY, error=InvalidSummary, max_bytes=max_bytes)
    name = str(folder / SUMMARY)
    had = hashlib.sha256(data).hexdigest()
    if had != hashes.get(SUMMARY):
        raise InvalidSummary(
            f"{escaped(name)} was changed after it was published",
            wanted=hashes.get(SUMMARY),
            had=had,
            hint="run rackwise analyze again",
            where=name,
        )
    summary = document(data, where=name, error=InvalidSummary, format=SUMMARY_FORMAT)
    return Published(
        folder=home,
        run_id=manifest.run_id,
        tables=manifest.tables,
        files=hashes,
        days=manifest.days,
        version=_sha256(home / MANIFEST),
        summary=summary.value,
    )


def _manifest(path: Path, other: type[InvalidConfig | OtherFormat]) -> tuple[Manifest, Faults]:
    data = read_bytes(path, error=InvalidConfig)
    try:
        root = document(data, where=str(path), error=InvalidConfig, format=FORMAT)
    except InvalidConfig as error:
        raise other(
            error.message,
            wanted=error.wanted,
            had=error.had,
            hint=error.hint if other is InvalidConfig else "give another --out",
            where=error.where,
        ) from None
    return MANIFEST_FORM.read(root), root.faults


def _changed(out: str | Path) -> Conflict:
    return Conflict(
        f"another run published a result in {escaped(str(out))} meanwhile; nothing was published",
        wanted="the result that the run continues",
        had="another result",
        hint="run the command again",
        where=str(out),
    )


def known_tables(folder: Path) -> set[str]:
    """The locations of all tables of the result in DIR."""
    if not (folder / MANIFEST).exists():
        return set()
    manifest, _ = _manifest(folder / MANIFEST, OtherFormat)
    return {manifest.tables, *(day.tables for day in manifest.days if day.tables)}


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


def _take_back(disk: Disk, folder: Path, run: str, tops: list[str]) -> None:
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
