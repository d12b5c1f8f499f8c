"""`rackwise what-if`: audits and plans a cluster before and after a change."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.audit.audit import loss_document
from rackwise.cli.plan.goals import (
    check_globs,
    parse_broker_id,
    parse_broker_rack,
    parse_replication,
)
from rackwise.cli.plan.job import PlanJob, at_rest, gather_job
from rackwise.cli.plan.search import READ, SEARCH, search_plan
from rackwise.cli.shell import Shell
from rackwise.cli.source import PolicyFile, PriceTable, Provider
from rackwise.core.errors import InputError, InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from rackwise.cli.plan.documents import WhatIfDocument, WhatIfSideDocument
    from rackwise.cli.plan.what_if_text import WhatIfSide
    from rackwise.core.planning.diff import FindingsDiff
    from rackwise.core.planning.what_if import Change


def what_if(
    context: typer.Context,
    snapshot: Annotated[
        Path,
        typer.Option(metavar="FILE", help="Read the cluster from this snapshot, FILE or FILE.gz."),
    ],
    lose: Annotated[
        list[str] | None,
        typer.Option(
            metavar="RACK", help="Simulate the loss of all brokers of this rack. May be repeated."
        ),
    ] = None,
    lose_broker: Annotated[
        list[str] | None,
        typer.Option(metavar="ID", help="Simulate the loss of this broker. May be repeated."),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=RACK", help="Add an empty broker. May be repeated."),
    ] = None,
    move: Annotated[
        list[str] | None,
        typer.Option(metavar="ID=RACK", help="Move a broker to another rack. May be repeated."),
    ] = None,
    rf: Annotated[
        list[str] | None,
        typer.Option(
            metavar="GLOB=N", help="Give topics N replicas. May be repeated; a later value wins."
        ),
    ] = None,
    policy: PolicyFile = None,
    prices: PriceTable = None,
    provider: Provider = None,
) -> int:
    """Show what a change breaks, what the loss of a rack then does, and what a plan would cost.

    Brokers are added and moved first, then lost. Reads only. Exit codes: 0 no new finding, 2
    findings that are new or may be, 1 error.
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
    from rackwise.core.planning.diff import compare_findings
    from rackwise.core.planning.what_if import what_if as cluster_after
    from rackwise.core.planning.what_if import what_if_policy

    with shell.progress("what if", total=2 * (READ + SEARCH)) as advance:
        job = _job(shell, snapshot, policy=policy, prices=prices, provider=provider)
        check_globs(
            "--rf", (parse_replication(word, name="--rf")[0] for word in rf or ()), job.cluster
        )
        changed = replace(
            job,
            cluster=cluster_after(job.cluster.settled(job.policy.racks.map), *changes),
            policy=what_if_policy(job.policy, *changes),
        )
        advance(READ)
        before = _evaluate(shell, job, advance)
        advance(READ)
        after = _evaluate(shell, changed, advance)
    found = compare_findings(before.findings, after.findings)
    if shell.is_json:
        from rackwise.cli.plan.documents import CODEC

        shell.document(_document(changes, before, after, found), CODEC)
    else:
        from rackwise.cli.plan.what_if_text import what_if_text

        shell.text(what_if_text(changes, before, after, found, has_color=shell.has_color()))
    new = (found.introduced, found.maybe_introduced)
    return 2 if any(each.at_least(job.policy.audit.fail_on) for each in new) else 0


def _changes(
    add: Sequence[str],
    move: Sequence[str],
    lose: Sequence[str],
    lose_broker: Sequence[str],
    rf: Sequence[str],
) -> Iterator[Change]:
    """Parse the changes in the order they apply. Raises `InvalidConfig`, `InvalidRack`."""
    from rackwise.core.planning.model import SetReplication
    from rackwise.core.planning.what_if import AddBroker, LoseBroker, LoseRack, MoveBroker

    yield from (AddBroker(*parse_broker_rack("--add", word)) for word in add)
    yield from (MoveBroker(*parse_broker_rack("--move", word)) for word in move)
    yield from (LoseRack(rack) for rack in lose)
    yield from (LoseBroker(parse_broker_id("--lose-broker", word)) for word in lose_broker)
    if rf:
        yield SetReplication(by_topic=tuple(parse_replication(word, name="--rf") for word in rf))


def _job(
    shell: Shell,
    snapshot: Path,
    *,
    policy: Path | None,
    prices: Path | None,
    provider: str | None,
) -> PlanJob:
    from rackwise.adapters import files
    from rackwise.core.planning.model import Balance

    cluster = files.read_snapshot(snapshot, max_bytes=shell.max_input)
    return gather_job(
        shell,
        at_rest(cluster, assume_target=False),
        Balance(),
        policy=policy,
        minimise=None,
        prices=prices,
        provider=provider,
    )


def _evaluate(shell: Shell, job: PlanJob, advance: Callable[[int], None]) -> WhatIfSide:
    from rackwise.cli.plan.what_if_text import WhatIfSide
    from rackwise.core.audit import audit, blast_radius

    totals, fair, error = None, None, None
    try:
        plan = search_plan(shell, job, advance)
    except InputError as raised:
        error = raised
    else:
        # The moves of a plan take as much memory as the cluster; only sums are shown.
        totals, fair = plan.totals, plan.fair.loads()
        del plan
    losses = blast_radius(job.cluster, job.policy)
    return WhatIfSide(
        cluster=job.cluster,
        findings=audit(job.cluster, job.policy, fair=fair),
        losses=tuple(loss_document(loss, has_names=False) for loss in losses),
        totals=totals,
        error=error,
    )


def _document(
    changes: Sequence[Change], before: WhatIfSide, after: WhatIfSide, found: FindingsDiff
) -> WhatIfDocument:
    from rackwise.cli.documents import finding_rows
    from rackwise.cli.plan.diff import not_compared_rows
    from rackwise.cli.plan.documents import WhatIfDocument
    from rackwise.cli.plan.what_if_text import what_if_change_text

    return WhatIfDocument(
        cluster_id=before.cluster.cluster_id,
        taken_at=before.cluster.taken_at,
        changes=tuple(map(what_if_change_text, changes)),
        before=_side_document(before),
        after=_side_document(after),
        fixed=finding_rows(found.fixed),
        introduced=finding_rows(found.introduced),
        maybe_fixed=finding_rows(found.maybe_fixed),
        maybe_introduced=finding_rows(found.maybe_introduced),
        not_compared=not_compared_rows(found),
    )


def _side_document(side: WhatIfSide) -> WhatIfSideDocument:
    from rackwise.cli.plan.documents import WhatIfSideDocument

    return WhatIfSideDocument(
        findings=side.findings.counts,
        not_checked=side.findings.not_checked,
        blast_radius=side.losses,
        plan=side.totals,
        no_plan=None if side.error is None else side.error.message,
    )
