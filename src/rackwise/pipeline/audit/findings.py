"""Findings of a whole fleet as one table, each judged by `core.audit`.

Each cluster's last snapshot is judged on the driver, where it has been parsed anyway: an audit
takes no longer than the reading of its file, two hundred clusters of five thousand partitions a few
seconds. So there is one implementation of every rule, and what Spark gets are columns.

What this does not do: judge a snapshot that is not the last one of its cluster; fair loads (the
rules that compare with them are in `not_checked`).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING

import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema

from rackwise.core.audit import RULES, audit
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.pipeline.schemas import FINDING

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.audit import Findings
    from rackwise.pipeline.fleet.fleet import Fleet

STEP = 1 << 16
"""Findings that are Python objects at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFindings:
    """The findings of one cluster, by its name."""

    cluster: str
    findings: Findings


def audit_fleet(fleet: Fleet, policy: Policy = DEFAULT_POLICY) -> tuple[ClusterFindings, ...]:
    """Findings of every cluster, in order of their names.

    Raises `InvalidPolicy` for a policy that names what a cluster lacks.
    """
    return tuple(
        ClusterFindings(cluster=snapshot.name, findings=audit(snapshot.cluster, policy))
        for snapshot in fleet.latest
    )


def findings(spark: SparkSession, found: Iterable[ClusterFindings]) -> DataFrame:
    """FINDING: clusters by name, in each the order of `core.audit`."""
    return spark.createDataFrame(finding_table(found), FINDING)


def finding_table(found: Iterable[ClusterFindings]) -> pa.Table:
    """The same as Arrow columns."""
    schema = to_arrow_schema(FINDING, timezone="UTC")
    batches = [
        pa.RecordBatch.from_pylist(rows, schema=schema) for one in found for rows in _batches(one)
    ]
    return pa.Table.from_batches(batches, schema=schema)


def _batches(one: ClusterFindings) -> Iterator[list[dict[str, object]]]:
    rows = ({"cluster": one.cluster, **finding.as_dict()} for finding in one.findings)
    while batch := list(islice(rows, STEP)):
        yield batch


def worst(found: Sequence[ClusterFindings], count: int) -> list[dict[str, object]]:
    """The first `count` rows of FINDING by severity, worst first, then in order of the table."""
    severities = dict.fromkeys(rule.severity for rule in RULES.values())
    rows = (
        {"cluster": one.cluster, **finding.as_dict()}
        for severity in severities
        for one in found
        for finding in one.findings.of_severity(severity)
    )
    return list(islice(rows, count))
