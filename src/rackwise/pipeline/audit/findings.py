"""Findings of a whole fleet as one table, from `core.audit`.

The driver audits the last snapshot of each cluster, because the driver has already parsed it. An
audit takes no longer than reading the file; 200 clusters of 5,000 partitions take a few seconds. So
each rule has one implementation, and Spark gets the findings as columns.

What this does not do: audit earlier snapshots of a cluster; compute fair loads (the rules that need
them are in `not_checked`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa

from rackwise.core.audit import audit
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.pipeline.schemas import FINDING, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.audit import Findings
    from rackwise.pipeline.fleet.fleet import Fleet

BATCH_ROWS = 1 << 16
"""Maximum findings that exist as Python objects at the same time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFindings:
    """The name and the findings of one cluster."""

    cluster: str
    findings: Findings


def audit_fleet(fleet: Fleet, policy: Policy = DEFAULT_POLICY) -> tuple[ClusterFindings, ...]:
    """The findings of every cluster, in order of the cluster names.

    Raises `InvalidPolicy` if the policy names a topic, broker or level that a cluster lacks.
    """
    return tuple(
        ClusterFindings(cluster=snapshot.name, findings=audit(snapshot.cluster, policy))
        for snapshot in fleet.latest
    )


def findings(spark: SparkSession, audits: Iterable[ClusterFindings]) -> DataFrame:
    """FINDING, by cluster name, then in the order of `core.audit`."""
    return spark.createDataFrame(finding_table(audits), FINDING)


def finding_table(audits: Iterable[ClusterFindings]) -> pa.Table:
    """The findings as Arrow columns of FINDING."""
    schema = arrow_schema(FINDING)
    batches = [
        pa.RecordBatch.from_pylist(rows, schema=schema) for one in audits for rows in _batches(one)
    ]
    return pa.Table.from_batches(batches, schema=schema)


def _batches(one: ClusterFindings) -> Iterator[list[dict[str, object]]]:
    rows = ({"cluster": one.cluster, **finding.as_dict()} for finding in one.findings)
    while batch := list(islice(rows, BATCH_ROWS)):
        yield batch
