"""The documents of `rackwise audit`, `snapshot`, `doctor` and `upgrade check`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from rackwise.cli.documents import ClusterDocument

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.cli.documents import (
        FindingDocument,
        HintedFindingDocument,
        NoteDocument,
        ReadingFindingDocument,
    )
    from rackwise.core.json.declare import OMITTED


@dataclass(frozen=True, slots=True, kw_only=True)
class SurvivorDocument:
    """The broker that leads the most partitions after the loss of a rack."""

    broker: int
    """Id of the broker."""
    leaders: int
    """Partitions that it leads."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackLossDocument:
    """What the loss of one rack does."""

    rack: str
    """The lost rack."""
    level: int
    """Number of its level, from 1, the coarsest."""
    level_name: str
    """Name of its level."""
    brokers: tuple[int, ...]
    """Ids of the lost brokers."""
    offline: int
    """Partitions without a replica that may lead."""
    under_min_isr: int
    """Partitions with fewer in-sync replicas than `min.insync.replicas`."""
    leaders_lost: int
    """Partitions that lose their leader."""
    top_survivor: SurvivorDocument | None
    """The broker that leads the most partitions afterwards; null if no broker is left."""
    replicas_lost: int
    """Replicas on the lost brokers."""
    bytes_to_restore: int
    """Bytes of the lost replicas whose size is known."""
    unknown_sizes: int
    """Lost replicas of unknown size."""
    offline_partitions: Annotated[tuple[str, ...] | None, OMITTED] = None
    """Names of the offline partitions, with `--lose`."""
    under_min_isr_partitions: Annotated[tuple[str, ...] | None, OMITTED] = None
    """Names of the partitions under their minimum, with `--lose`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditDocument(ClusterDocument):
    """The findings of an audit, and what the loss of each rack does."""

    format: Literal["rackwise.audit/1"] = "rackwise.audit/1"
    fail_on: Literal["error", "warning", "info", "never"]
    """The lowest severity that makes the exit code 2."""
    counts: Mapping[str, int]
    """Rule -> number of its findings."""
    findings: tuple[FindingDocument, ...]
    """All findings, in order of place."""
    not_checked: Mapping[str, str]
    """Rule -> why it was not checked."""
    blast_radius: tuple[RackLossDocument, ...]
    """The loss of each rack."""
    notes: tuple[NoteDocument, ...]
    """What the reader of the cluster could not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SnapshotSummaryDocument(ClusterDocument):
    """What a snapshot file holds."""

    format: Literal["rackwise.snapshot-summary/1"] = "rackwise.snapshot-summary/1"
    file: str
    """Path of the snapshot file."""
    brokers_live: int
    """Number of live brokers."""
    brokers_without_rack: int
    """Number of brokers without a rack."""
    brokers_cordoned: int
    """Number of brokers that take no new replicas: all their healthy log folders are cordoned."""
    racks: int
    """Number of racks."""
    groups: int
    """Number of consumer groups."""
    rates: int
    """Number of partitions whose bytes per second are known."""
    notes: tuple[NoteDocument, ...]
    """What the reader of the cluster could not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DoctorDocument(ClusterDocument):
    """What keeps clients from reading in their own rack."""

    format: Literal["rackwise.doctor/1"] = "rackwise.doctor/1"
    groups: int
    """Number of consumer groups."""
    client_racks: tuple[str, ...]
    """Racks of `--client-rack` and of the members of groups."""
    probes: int
    """Number of answers of leaders to `--probe`."""
    counts: Mapping[str, int]
    """Rule -> number of its findings."""
    findings: tuple[ReadingFindingDocument, ...]
    """All findings, causes before their effects."""
    not_checked: Mapping[str, str]
    """Rule -> why it was not checked."""
    notes: tuple[NoteDocument, ...]
    """What the reader of the cluster could not see."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeMemberDocument:
    """One broker of a rolling upgrade."""

    id: int
    """Id of the broker."""
    version: int
    """Version of its registration in ZooKeeper."""
    software: str | None
    """Version of its software; null if it was not given."""
    ibp: str | None
    """Its `inter.broker.protocol.version`; null if it was not given."""
    rack: str | None
    """Its rack, as registered or as given."""
    endpoints: tuple[str, ...]
    """Its registered endpoints."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UpgradeDocument:
    """The next step of KIP-36's rolling upgrade."""

    format: Literal["rackwise.upgrade/1"] = "rackwise.upgrade/1"
    target: str
    """The `inter.broker.protocol.version` to upgrade to."""
    wanted_version: int
    """The registration version that every broker then has, or a later one."""
    step: int | None
    """Number of the next step, 1 to 4; null if all are done."""
    to_do: str | None
    """What to do in that step."""
    waiting: tuple[int, ...]
    """Ids of the brokers for which the step is not done."""
    unknown: tuple[int, ...]
    """Ids of the brokers for which it is not known whether the step is done."""
    brokers: tuple[UpgradeMemberDocument, ...]
    """All registered brokers."""
    findings: tuple[HintedFindingDocument, ...]
    """Brokers and clients that the upgrade would break."""
