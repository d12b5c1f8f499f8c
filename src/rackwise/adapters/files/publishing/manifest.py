"""The manifest of a result, `rackwise.manifest/1`: its run, its tables, its days and its files."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.core.errors import InvalidConfig, OtherFormat
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import OMITTED
from rackwise.core.json.node import document

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwise.core.json.declare import Bytes, Count, NameOrNull
    from rackwise.core.json.faults import Faults

FORMAT = "rackwise.manifest/1"
MANIFEST = "manifest.json"


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


def read_manifest(path: Path, other: type[InvalidConfig | OtherFormat]) -> tuple[Manifest, Faults]:
    """A manifest and its faults. Raises `other` for another format, `InvalidConfig`."""
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


def manifest_sha256(manifest: Path) -> str:
    """The version of a result: SHA-256 of its manifest."""
    return hashlib.sha256(read_bytes(manifest, error=InvalidConfig)).hexdigest()
