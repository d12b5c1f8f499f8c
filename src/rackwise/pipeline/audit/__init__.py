"""The audit of every cluster of a fleet, as tables."""

from rackwise.pipeline.audit.findings import (
    ClusterFindings,
    audit_fleet,
    finding_table,
    findings,
)

__all__ = ["ClusterFindings", "audit_fleet", "finding_table", "findings"]
