"""`rackwise audit`: is a cluster rack-safe, and what does losing a rack do."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig, Server, SnapshotFile, check_source, cluster_of
from rackwise.core.errors import Infeasible, InvalidConfig, PartialRacks
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.core.audit import Findings, RackLoss
    from rackwise.core.model import Cluster, FairLoads
    from rackwise.core.policy import Policy

FORMAT = "rackwise.audit/1"
STEPS = 4
"""What progress counts: reading, fair loads, judging, losing racks."""


FailOn = Literal["error", "warning", "info", "never"]
"""From which severity on findings make the exit code 2."""


def audit(
    context: typer.Context,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    policy: Annotated[
        Path | None, typer.Option(metavar="FILE", help="What is wanted, TOML; else the defaults.")
    ] = None,
    rule: Annotated[
        list[str] | None, typer.Option(metavar="RULE", help="Only this rule; repeatable.")
    ] = None,
    fail_on: Annotated[
        FailOn | None, typer.Option(help="Exit 2 from this severity on; else the policy's.")
    ] = None,
    lose: Annotated[
        list[str] | None, typer.Option(metavar="RACK", help="Lose only this rack; repeatable.")
    ] = None,
) -> int:
    """Judge replica placement against racks and policy; say what the loss of each rack does.

    Reads only. Exit: 0 no finding from --fail-on on, 2 there are some, 1 error.
    """
    shell: Shell = context.obj
    check_source(snapshot, bootstrap_server, client_config)
    from rackwise.core.audit import audit as judge

    with shell.progress("audit", total=STEPS) as advance:
        cluster = cluster_of(shell, snapshot, bootstrap_server, client_config)
        advance(1)
        wanted = policy_for(shell, policy, cluster)
        fair = fair_for(shell, cluster, wanted, rules=rule)
        advance(1)
        findings = judge(cluster, wanted, rules=rule or None, fair=fair)
        advance(1)
        losses = _losses(cluster, wanted, lose)
        advance(1)
    for note in cluster.notes:
        shell.warn(escaped(f"{note.kind}: {note.text}"))
    threshold = fail_on or wanted.audit.fail_on
    if shell.is_json:
        shell.document(_document(cluster, findings, losses, threshold, has_names=bool(lose)))
    else:
        from rackwise.cli.audit.text import audit_text

        shell.text(
            audit_text(cluster, findings, losses, has_names=bool(lose), has_color=shell.has_color())
        )
    return 2 if len(findings.at_least(threshold)) else 0


def policy_for(shell: Shell, path: Path | None, cluster: Cluster) -> Policy:
    """The policy of a file, checked against the cluster; the defaults where there is none."""
    from rackwise.core.policy import DEFAULT_POLICY

    if path is None:
        return DEFAULT_POLICY
    from rackwise.adapters import files

    read = files.read_policy(path, max_bytes=shell.max_input)
    read.check(cluster)
    return read.policy


def fair_for(
    shell: Shell, cluster: Cluster, policy: Policy, *, rules: Sequence[str] | None = None
) -> FairLoads | None:
    """What each broker should hold; None where no rule asks for it, or nobody can say.

    `rules`: those that are judged; None and empty are all.
    """
    from rackwise.core.audit import needs_fair_loads
    from rackwise.core.planning.plan import fair_loads

    if rules and not needs_fair_loads(rules):
        return None
    try:
        return fair_loads(cluster, policy)
    except (Infeasible, PartialRacks) as error:
        shell.note(f"loads are not judged: {escaped(error.message)}")
        return None


def _losses(cluster: Cluster, policy: Policy, wanted: Sequence[str] | None) -> tuple[RackLoss, ...]:
    from rackwise.core.audit import blast_radius

    losses = blast_radius(cluster, policy)
    if not wanted:
        return losses
    known = {loss.rack for loss in losses}
    for rack in wanted:
        if rack not in known:
            raise InvalidConfig(
                f'invalid --lose: expected a rack of the cluster, got "{escaped(rack)}"',
                wanted="a rack of the cluster",
                had=rack,
                hint="racks: " + ", ".join(escaped(loss.rack) for loss in losses),
            )
    return tuple(loss for loss in losses if loss.rack in wanted)


def _document(
    cluster: Cluster,
    findings: Findings,
    losses: Sequence[RackLoss],
    fail_on: str,
    *,
    has_names: bool,
) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "cluster_id": cluster.cluster_id,
        "taken_at": cluster.taken_at,
        "source": cluster.source,
        "brokers": len(cluster.brokers),
        "topics": len(cluster.topics),
        "partitions": len(cluster.partitions),
        "fail_on": fail_on,
        "counts": dict(findings.counts),
        "findings": [finding.as_dict() for finding in findings],
        "not_checked": dict(findings.not_checked),
        "blast_radius": [loss_document(loss, has_names=has_names) for loss in losses],
        "notes": [{"kind": note.kind, "text": note.text} for note in cluster.notes],
    }


def loss_document(loss: RackLoss, *, has_names: bool) -> dict[str, Any]:
    """One rack's loss; names of partitions only where the rack was asked for."""
    from rackwise.cli.audit.text import partition_names

    names = {
        "offline_partitions": partition_names(loss.offline),
        "under_min_isr_partitions": partition_names(loss.under_min_isr),
    }
    return {
        "rack": loss.rack,
        "level": loss.level,
        "level_name": loss.level_name,
        "brokers": list(loss.brokers),
        "offline": len(loss.offline),
        "under_min_isr": len(loss.under_min_isr),
        "leaders_lost": loss.leaders_lost,
        "top_survivor": None
        if loss.top_survivor is None
        else {"broker": loss.top_survivor[0], "leaders": loss.top_survivor[1]},
        "replicas_lost": loss.replicas_lost,
        "bytes_to_restore": loss.bytes_to_restore,
        "unknown_sizes": loss.unknown_sizes,
        **(names if has_names else {}),
    }
