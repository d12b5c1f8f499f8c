"""The documents of `rackwise snapshot --fleet`, `audit --fleet` and `plan --fleet`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from rackwise.adapters.files.plan.format import CODEC as PLAN_CODEC
from rackwise.cli.audit import documents as of_audit
from rackwise.cli.documents import DOCUMENTS
from rackwise.core.json.codec import Codec
from rackwise.core.planning.model import Totals

if TYPE_CHECKING:
    from rackwise.cli.audit.documents import AuditDocument, SnapshotSummaryDocument


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterErrorDocument:
    """Why a command failed on one cluster."""

    error: str
    """Class of the error."""
    message: str
    """What is wrong, as a sentence."""
    hint: str | None
    """What to do; null where nothing can be said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetClusterDocument:
    """What a command did with one cluster of a fleet."""

    name: str
    """Name of the cluster in the fleet file."""
    owner: str | None
    """Owner of the cluster in the fleet file."""
    exit: int
    """Exit code of the command on this cluster alone."""
    error: ClusterErrorDocument | None
    """Why the command failed; null if it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TakenSnapshotDocument(FleetClusterDocument):
    """The snapshot of one cluster."""

    snapshot: SnapshotSummaryDocument | None
    """What its file holds; null if no file was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditedClusterDocument(FleetClusterDocument):
    """The audit of one cluster."""

    audit: AuditDocument | None
    """Its findings; null if the cluster could not be audited."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedClusterDocument(FleetClusterDocument):
    """The plan of one cluster."""

    file: str | None
    """Path of the plan; null if no plan was written."""
    totals: Totals | None
    """Sums over its moves; null if no plan was written."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetDocument:
    """What all documents of a fleet have."""

    fleet: str
    """Path of the fleet file."""
    warnings: tuple[str, ...]
    """What is wrong between clusters, such as two with one cluster id."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetSnapshotDocument(FleetDocument):
    """The snapshots of all clusters of a fleet."""

    format: Literal["rackwise.fleet-snapshot/1"] = "rackwise.fleet-snapshot/1"
    clusters: tuple[TakenSnapshotDocument, ...]
    """The clusters, in order of the fleet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetAuditDocument(FleetDocument):
    """The audits of all clusters of a fleet."""

    format: Literal["rackwise.fleet-audit/1"] = "rackwise.fleet-audit/1"
    clusters: tuple[AuditedClusterDocument, ...]
    """The clusters, in order of the fleet file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlanDocument(FleetDocument):
    """The plans of all clusters of a fleet."""

    format: Literal["rackwise.fleet-plan/1"] = "rackwise.fleet-plan/1"
    clusters: tuple[PlannedClusterDocument, ...]
    """The clusters, in order of the fleet file."""


CODEC: Final = Codec(
    names=vars(of_audit),
    forms={
        Totals: PLAN_CODEC.form(Totals),
        of_audit.AuditDocument: DOCUMENTS.form(of_audit.AuditDocument),
        of_audit.SnapshotSummaryDocument: DOCUMENTS.form(of_audit.SnapshotSummaryDocument),
    },
)
"""Writes the document of each cluster as the command alone does, and totals as a plan does."""
