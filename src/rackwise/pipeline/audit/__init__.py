"""The audit of every cluster of a fleet, as tables."""

from rackwise.pipeline.audit.findings import (
    ClusterFindings,
    audited,
    finding_table,
    findings,
    worst,
)

__all__ = ["ClusterFindings", "audited", "finding_table", "findings", "worst"]
