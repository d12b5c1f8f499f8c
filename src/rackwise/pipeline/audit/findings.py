"""Findings of a whole fleet as one table, from `core.audit`.

The driver audits the last snapshot of each cluster, because the driver has already parsed it. An
audit takes no longer than reading the file; 200 clusters of 5,000 partitions take a few seconds. So
each rule has one implementation, and Spark gets the findings as columns.

What this does not do: audit earlier snapshots of a cluster; compute fair loads (the rules that need
them are in `not_checked`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.core.audit import audit
from rackwise.core.findings import NONE
from rackwise.core.policy import DEFAULT_POLICY, Policy
from rackwise.core.text import escaped
from rackwise.core.view import distinct
from rackwise.pipeline.schemas import FINDING, arrow_schema

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray
    from pyspark.sql import DataFrame, SparkSession

    from rackwise.core.audit import Findings
    from rackwise.pipeline.fleet.fleet import Fleet

BATCH_ROWS = 1 << 16
"""Findings of a batch, at most."""
PART_ROWS = 1 << 20
"""Findings whose columns are made at once: their texts stay below 2 GiB."""


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
        part.slice(first, BATCH_ROWS)
        for one in audits
        for part in _parts(one, schema)
        for first in range(0, len(part), BATCH_ROWS)
    ]
    return pa.Table.from_batches(batches, schema=schema)


def _parts(one: ClusterFindings, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    for first in range(0, len(one.findings), PART_ROWS):
        found = one.findings[first : first + PART_ROWS]
        columns = {"cluster": pa.repeat(one.cluster, len(found)), **_columns(found)}
        arrays = [columns[field.name].cast(field.type) for field in schema]
        yield pa.RecordBatch.from_arrays(arrays, schema=schema)


def _columns(found: Findings) -> dict[str, pa.Array]:
    """The columns of FINDING, without an object for each finding."""
    codes = found.columns
    row = codes["row"]
    partition = np.full(len(row), NONE, dtype=np.int32)
    partition[row != NONE] = found.table.partition[row[row != NONE]]
    columns = {
        "rule": _texts([rule.name for rule in found.rules], codes["rule"]),
        "severity": _texts([str(rule.severity) for rule in found.rules], codes["rule"]),
        "topic": _texts(found.table.topics, codes["topic"]),
        "partition": pa.array(partition, mask=partition == NONE),
        "broker": pa.array(codes["broker"], mask=codes["broker"] == NONE),
        "level": _texts(found.levels, codes["level"]),
        "wanted": _texts([wanted for wanted, _ in found.texts], codes["text"]),
        "had": _texts([had for _, had in found.texts], codes["text"]),
    }
    return columns | {"message": _messages(found, columns["partition"])}


def _texts(values: Sequence[str], codes: NDArray[np.signedinteger]) -> pa.Array:
    return pa.array(values, pa.string()).take(pa.array(codes, mask=codes == NONE))


def _messages(found: Findings, partition: pa.Array) -> pa.Array:
    """The message of each finding: a place, and one of few claims."""
    codes = found.columns
    claim, examples = distinct([codes[name] for name in ("rule", "level", "text")])
    claims = [found[example].claim for example in examples.tolist()]
    names = pa.array([escaped(name) for name in found.table.topics], pa.string())
    topics = names.take(pa.array(codes["topic"], mask=codes["topic"] == NONE))
    places = pc.binary_join_element_wise(topics, partition.cast(pa.string()), "-")
    is_other = codes["row"] == NONE  # a few: findings of brokers, topics and the cluster
    others = [found[at].place for at in np.flatnonzero(is_other).tolist()]
    places = pc.replace_with_mask(places, pa.array(is_other), pa.array(others, pa.string()))
    return pc.binary_join_element_wise(places, _texts(claims, claim), ": ")
