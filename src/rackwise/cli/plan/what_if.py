"""`rackwise what-if`: findings, blast radius and plan of a cluster before and after a change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.audit.audit import loss_document
from rackwise.cli.plan.goals import broker_id, check_globs, placed_broker, replication
from rackwise.cli.plan.plan import (
    READ,
    SEARCH,
    Job,
    PolicyPath,
    PricesPath,
    Provider,
    gathered,
    planned,
    settled,
)
from rackwise.cli.shell import Shell
from rackwise.cli.what_if_side import Judged
from rackwise.core.errors import InputError, InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rackwise.core.planning.diff import FindingsDiff
    from rackwise.core.planning.what_if import Change

FORMAT = "rackwise.what-if/1"


def what_if(
    context: typer.Context,
    snapshot: Annotated[
        Path, typer.Option(metavar="FILE", help="A file of rackwise snapshot, or FILE.gz.")
    ],
    lose: Annotated[
        list[str] | None, typer.Option(metavar="RACK", help="All its brokers die; repeatable.")
    ] = None,
    lose_broker: Annotated[
        list[str] | None, typer.Option(metavar="ID", help="A broker dies; repeatable.")
    ] = None,
    add: Annotated[
        list[str] | None, typer.Option(metavar="ID=RACK", help="An empty broker joins; repeatable.")
    ] = None,
    move: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=RACK", help="A broker is in another rack; repeatable."),
    ] = None,
    rf: Annotated[
        list[str] | None,
        typer.Option(metavar="GLOB=N", help="Topics have N replicas; repeatable, later ones win."),
    ] = None,
    policy: PolicyPath = None,
    prices: PricesPath = None,
    provider: Provider = None,
) -> int:
    """Suppose a change: what it breaks, what a lost rack then does, what a plan would cost.

    Brokers are added and moved first, then lost. Reads only. Exit: 0 no new finding, 2 there are
    some, 1 error.
    """
    shell: Shell = context.obj
    changes = tuple(_changes(add or (), move or (), lose or (), lose_broker or (), rf or ()))
    if not changes:
        raise InvalidConfig(
            "expected at least one change, got none",
            wanted="--lose, --lose-broker, --add, --move or --rf",
            had=0,
            hint="for example --lose use1-az1",
        )
    from rackwise.core.planning.diff import compared
    from rackwise.core.planning.what_if import suppose, suppose_policy

    with shell.progress("what if", total=2 * (READ + SEARCH)) as advance:
        job = _job(shell, snapshot, policy=policy, prices=prices, provider=provider)
        check_globs("--rf", (replication(word, name="--rf")[0] for word in rf or ()), job.cluster)
        supposed = replace(
            job,
            cluster=suppose(job.cluster, *changes),
            policy=suppose_policy(job.policy, *changes),
        )
        advance(READ)
        before = _judged(shell, job, advance)
        advance(READ)
        after = _judged(shell, supposed, advance)
    found = compared(before.findings, after.findings)
    if shell.is_json:
        shell.document(_document(changes, before, after, found))
    else:
        from rackwise.cli.plan.what_if_text import what_if_text

        shell.text(what_if_text(changes, before, after, found, has_color=shell.has_color()))
    threshold = job.policy.audit.fail_on
    counting = compared(
        before.findings.at_least(threshold), after.findings.at_least(threshold)
    ).introduced
    return 2 if counting else 0


def _changes(
    add: Sequence[str],
    move: Sequence[str],
    lose: Sequence[str],
    lose_broker: Sequence[str],
    rf: Sequence[str],
) -> Iterator[Change]:
    """In the order in which they are supposed. Raises `InvalidConfig`, `InvalidRack`."""
    from rackwise.core.planning.model import SetReplication
    from rackwise.core.planning.what_if import AddBroker, LoseBroker, LoseRack, MoveBroker

    yield from (AddBroker(*placed_broker("--add", word)) for word in add)
    yield from (MoveBroker(*placed_broker("--move", word)) for word in move)
    yield from (LoseRack(rack) for rack in lose)
    yield from (LoseBroker(broker_id("--lose-broker", word)) for word in lose_broker)
    if rf:
        yield SetReplication(by_topic=tuple(replication(word, name="--rf") for word in rf))


def _job(
    shell: Shell,
    snapshot: Path,
    *,
    policy: Path | None,
    prices: Path | None,
    provider: str | None,
) -> Job:
    from rackwise.adapters import files
    from rackwise.core.planning.model import Balance

    read = files.read_snapshot(snapshot, max_bytes=shell.max_input)
    return gathered(
        shell,
        settled(read, assume_target=False),
        Balance(),
        policy=policy,
        minimise=None,
        prices=prices,
        provider=provider,
    )


def _judged(shell: Shell, job: Job, advance: Callable[[int], None]) -> Judged:
    from rackwise.core.audit import audit, blast_radius

    plan, refusal = None, None
    try:
        plan = planned(shell, job, advance)
    except InputError as error:
        refusal = error
    return Judged(
        cluster=job.cluster,
        findings=audit(job.cluster, job.policy, fair=None if plan is None else plan.fair.loads()),
        losses=blast_radius(job.cluster, job.policy),
        plan=plan,
        refusal=refusal,
    )


def _document(
    changes: Sequence[Change], before: Judged, after: Judged, found: FindingsDiff
) -> dict[str, Any]:
    from rackwise.cli.plan.what_if_text import change_text

    return {
        "format": FORMAT,
        "cluster_id": before.cluster.cluster_id,
        "taken_at": before.cluster.taken_at,
        "changes": [change_text(change) for change in changes],
        "before": _side(before),
        "after": _side(after),
        "fixed": [finding.as_dict() for finding in found.fixed],
        "introduced": [finding.as_dict() for finding in found.introduced],
    }


def _side(judged: Judged) -> dict[str, Any]:
    from rackwise.adapters import files

    return {
        "findings": dict(judged.findings.counts),
        "not_checked": dict(judged.findings.not_checked),
        "blast_radius": [loss_document(loss, has_names=False) for loss in judged.losses],
        "plan": None if judged.plan is None else files.totals_json(judged.plan.totals),
        "no_plan": None if judged.refusal is None else judged.refusal.message,
    }
