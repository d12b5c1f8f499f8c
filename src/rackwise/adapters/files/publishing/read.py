"""Reads a published result: its manifest, its summary, and the days that it has.

Another publication may remove the folder of the result while it is read; then the new one is read.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.publishing.manifest import (
    MANIFEST,
    PublishedDay,
    manifest_sha256,
    read_manifest,
)
from rackwise.core.errors import InputError, InvalidConfig, InvalidSummary, OtherFormat
from rackwise.core.json.node import document
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

SUMMARY_FORMAT = "rackwise.summary/1"
SUMMARY = "summary.json"


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
    manifest, faults = read_manifest(path, OtherFormat)
    faults.raise_if_any()
    return ResultDays(days=manifest.days, version=manifest_sha256(path))


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
    manifest, _ = read_manifest(folder / MANIFEST, OtherFormat)
    return manifest.tables


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
    manifest, faults = read_manifest(home / MANIFEST, InvalidConfig)
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
        version=manifest_sha256(home / MANIFEST),
        summary=summary.value,
    )


def known_tables(folder: Path) -> set[str]:
    """The locations of all tables of the result in DIR."""
    if not (folder / MANIFEST).exists():
        return set()
    manifest, _ = read_manifest(folder / MANIFEST, OtherFormat)
    return {manifest.tables, *(day.tables for day in manifest.days if day.tables)}
