"""`rackwise explain`: why a plan moves one partition, or leaves it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from rackwise.core.model import Cluster, PartitionId

TOPICS_SHOWN = 12


def explain(
    context: typer.Context,
    plan: Annotated[
        Path, typer.Argument(metavar="PLAN", help="A plan written by rackwise plan --out.")
    ],
    partition: Annotated[
        str,
        typer.Argument(
            metavar="TOPIC-PARTITION", help="A partition, such as orders-4. It need not move."
        ),
    ],
    snapshot: Annotated[
        Path, typer.Option(metavar="FILE", help="The snapshot that the plan was built from.")
    ],
) -> int:
    """Say why a plan moves a partition, or leaves it: rules, loads, targets, and what others cost.

    The costs follow from the dual prices of the plan, and hold for every fair and legal plan. Reads
    only. Exit codes: 0 explained, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters import files
    from rackwise.cli.plan.proof import cluster_of_plan
    from rackwise.core.planning.reasons.reasoning import reason_of

    with shell.progress("explain") as advance:
        made = files.read_plan(plan, max_bytes=shell.max_input)
        whole = files.read_snapshot(snapshot, max_bytes=shell.max_input)
        advance(1)
        cluster = cluster_of_plan(made, whole, plan_name=str(plan), snapshot_name=str(snapshot))
        found = reason_of(
            cluster,
            files.plan_policy(made, where=str(plan)),
            made,
            parse_partition(partition, cluster),
            prices=files.plan_prices(made, where=str(plan)),
        )
    from rackwise.cli.plan.explain_text import sentences

    told = tuple(sentences(found, made))
    if shell.is_json:
        from rackwise.cli.plan.documents import CODEC, PartitionReasonDocument

        document = PartitionReasonDocument(plan_sha256=made.sha256, reason=found, sentences=told)
        shell.document(document, CODEC)
    else:
        shell.text("\n".join(told))
    return 0


def parse_partition(text: str, cluster: Cluster) -> PartitionId:
    """Parse `orders-4`. Raises `InvalidConfig` for a partition that the cluster does not have."""
    topic, _, number = text.rpartition("-")
    known = cluster.partitions
    if topic in known.topics:
        numbers = known.partition[known.topic == known.topics.index(topic)].tolist()
        if number in map(str, numbers):
            return topic, int(number)
        hint = f"partitions of {escaped(topic)}: {numbers[0]} to {numbers[-1]}"
    elif not known.topics:
        hint = "the plan's cluster has no topics"
    else:
        hint = f"topics: {names_text(known.topics, most=TOPICS_SHOWN)}"
    raise InvalidConfig(
        f"invalid TOPIC-PARTITION: expected a partition of the plan's cluster, got {escaped(text)}",
        wanted="TOPIC-PARTITION",
        had=text,
        hint=hint,
    )
