"""`rackwise audit`: checks placement and reports what the loss of each rack does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.shell import Shell, version
from rackwise.cli.source import ClusterSource, PolicyFile, utc_now
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import Infeasible, InvalidConfig, PartialRacks
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.cli.audit.documents import AuditDocument, RackLossDocument
    from rackwise.core.audit import Findings, RackLoss
    from rackwise.core.model import Cluster, FairLoads
    from rackwise.core.policy import Policy

STEPS = 4
"""Steps of the progress bar: reading, fair loads, audit, loss of racks."""


FailOn = Literal["error", "warning", "info", "never"]
"""The lowest severity that makes the exit code 2."""
GateFormat = Literal["junit", "sarif", "github"]
"""Formats of CI services."""


@with_option_groups()
def audit(
    context: typer.Context,
    source: ClusterSource,
    policy: PolicyFile = None,
    rule: Annotated[
        list[str] | None,
        typer.Option(metavar="RULE", help="Check only this rule. May be repeated."),
    ] = None,
    fail_on: Annotated[
        FailOn | None,
        typer.Option(
            help="Exit with 2 at findings of this severity or worse. [default: the policy's]"
        ),
    ] = None,
    lose: Annotated[
        list[str] | None,
        typer.Option(metavar="RACK", help="Report the loss of only this rack. May be repeated."),
    ] = None,
    metrics: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Also write the main figures to this file, in the text format of Prometheus.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Name of the cluster in --metrics and --format. [default: that of the fleet file "
            "or of the snapshot, or the id]",
        ),
    ] = None,
    format: Annotated[
        GateFormat | None,
        typer.Option(
            help="Print the findings for a CI service: JUnit XML, SARIF 2.1.0, or workflow "
            "commands of GitHub Actions."
        ),
    ] = None,
) -> int:
    """Check replica placement against racks and policy; report what the loss of each rack does.

    Reads only. Exit codes: 0 no finding of --fail-on or worse, 2 findings, 1 error, 3 a cluster
    of --fleet failed.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.writing import check_places, write_text
    from rackwise.cli.audit.snapshot import checked_name
    from rackwise.core.audit import audit as check_placement

    if format is not None:
        reject_combined(
            "--format",
            ["--json"] if shell.is_json else [],
            hint="--format sarif is JSON; --json prints the document of Rackwise",
        )
    check_places([metrics])
    if name is not None:
        checked_name(name)
    with shell.progress("audit", total=STEPS) as advance:
        cluster = source.read(shell)
        advance(1)
        checked_policy = read_policy(shell, policy, cluster)
        cluster = cluster.settled(checked_policy.racks.map)
        fair = try_fair_loads(shell, cluster, checked_policy, rules=rule)
        advance(1)
        findings = check_placement(cluster, checked_policy, rules=rule or None, fair=fair)
        advance(1)
        losses = _losses(cluster, checked_policy, lose)
        advance(1)
    for note in cluster.notes:
        shell.warn(escaped(f"{note.kind}: {note.text}"))
    called = name or source.name_of(cluster)
    if metrics is not None:
        from rackwise.report.metrics.run import audit_metrics

        figures = _figures(called, cluster, findings, losses, is_whole=not rule)
        write_text(metrics, audit_metrics(figures, now=utc_now()))
    threshold = fail_on or checked_policy.audit.fail_on
    if format is not None:
        shell.pieces(_gate_pieces(format, called, source, findings, threshold))
    elif shell.is_json:
        shell.document(_document(cluster, findings, losses, threshold, has_names=bool(lose)))
    else:
        from rackwise.cli.audit.text import audit_text

        shell.text(
            audit_text(
                cluster,
                findings,
                losses,
                name=name or cluster.name,
                has_names=bool(lose),
                has_color=shell.has_color(),
            )
        )
    return 2 if len(findings.at_least(threshold)) else 0


def _gate_pieces(
    format: GateFormat, name: str, source: ClusterSource, findings: Findings, fail_on: FailOn
) -> Iterable[str]:
    from rackwise.core.findings import NOT_ASKED_FOR, Severity
    from rackwise.core.rules import RULES
    from rackwise.report.gate.github import github_pieces
    from rackwise.report.gate.junit import junit_pieces
    from rackwise.report.gate.model import GateReport
    from rackwise.report.gate.sarif import sarif_pieces

    worst_first = [*Severity]
    count = 0 if fail_on == "never" else worst_first.index(Severity(fail_on)) + 1
    render = {"junit": junit_pieces, "sarif": sarif_pieces, "github": github_pieces}[format]
    return render(
        GateReport(
            version=version(),
            source=name if source.snapshot is None else str(source.snapshot),
            rules={
                name: rule
                for name, rule in RULES.items()
                if findings.not_checked.get(name) != NOT_ASKED_FOR
            },
            findings=findings,
            by_rule=findings.by_rule,
            not_checked=findings.not_checked,
            failing=frozenset(worst_first[:count]),
        )
    )


def read_policy(shell: Shell, path: Path | None, cluster: Cluster) -> Policy:
    """Read a policy and check it against the cluster. Without a file, return the defaults."""
    from rackwise.core.policy import DEFAULT_POLICY

    if path is None:
        return DEFAULT_POLICY
    from rackwise.adapters import files

    policy_file = files.read_policy(path, max_bytes=shell.max_input)
    policy_file.check(cluster)
    return policy_file.policy


def try_fair_loads(
    shell: Shell, cluster: Cluster, policy: Policy, *, rules: Sequence[str] | None = None
) -> FairLoads | None:
    """Compute the fair load of each broker; None if no rule needs it or it cannot be computed.

    `rules`: the rules to check; None or empty means all.
    """
    from rackwise.core.audit import needs_fair_loads
    from rackwise.core.planning.plan import fair_loads

    if rules and not needs_fair_loads(rules):
        return None
    try:
        return fair_loads(cluster, policy)
    except (Infeasible, PartialRacks) as error:
        shell.note(f"loads are not checked: {escaped(error.message)}")
        return None


def _losses(cluster: Cluster, policy: Policy, racks: Sequence[str] | None) -> tuple[RackLoss, ...]:
    from rackwise.core.audit import blast_radius

    losses = blast_radius(cluster, policy)
    if not racks:
        return losses
    known = {loss.rack for loss in losses}
    for rack in racks:
        if rack not in known:
            raise InvalidConfig(
                f'invalid --lose: expected a rack of the cluster, got "{escaped(rack)}"',
                wanted="a rack of the cluster",
                had=rack,
                hint="racks: " + (", ".join(escaped(loss.rack) for loss in losses) or "none"),
            )
    return tuple(loss for loss in losses if loss.rack in racks)


def _figures(
    name: str, cluster: Cluster, findings: Findings, losses: Sequence[RackLoss], *, is_whole: bool
) -> dict[str, Any]:
    """Return the figures of an audit for its metrics. `is_whole`: every rule was selected."""
    from rackwise.core.audit import unsafe_partitions
    from rackwise.core.rules import RULES

    return {
        "clusters": [
            {
                "name": name,
                "taken_at": cluster.taken_at,
                "partitions": len(cluster.partitions),
                "partitions_unsafe": unsafe_partitions(findings) if is_whole else None,
            }
        ],
        "blast": [
            {"cluster": name, "rack": loss.rack, "partitions_offline": len(loss.offline)}
            for loss in losses
        ],
        "findings": {
            "by_rule": [
                {"cluster": name, "rule": rule, "severity": RULES[rule].severity, "count": count}
                for rule, count in findings.counts.items()
            ],
        },
    }


def _document(
    cluster: Cluster,
    findings: Findings,
    losses: Sequence[RackLoss],
    fail_on: FailOn,
    *,
    has_names: bool,
) -> AuditDocument:
    from rackwise.cli.audit.documents import AuditDocument
    from rackwise.cli.documents import cluster_fields, finding_rows, note_rows

    return AuditDocument(
        **cluster_fields(cluster),
        fail_on=fail_on,
        counts=findings.counts,
        findings=finding_rows(findings),
        not_checked=findings.not_checked,
        blast_radius=tuple(loss_document(loss, has_names=has_names) for loss in losses),
        notes=note_rows(cluster.notes),
    )


def loss_document(loss: RackLoss, *, has_names: bool) -> RackLossDocument:
    """Describe the loss of one rack. `has_names`: list the partitions by name."""
    from rackwise.cli.audit.documents import RackLossDocument, SurvivorDocument
    from rackwise.cli.audit.text import partition_names

    survivor = None
    if loss.top_survivor is not None:
        survivor = SurvivorDocument(broker=loss.top_survivor[0], leaders=loss.top_survivor[1])
    return RackLossDocument(
        rack=loss.rack,
        level=loss.level,
        level_name=loss.level_name,
        brokers=tuple(loss.brokers),
        offline=len(loss.offline),
        under_min_isr=len(loss.under_min_isr),
        leaders_lost=loss.leaders_lost,
        top_survivor=survivor,
        replicas_lost=loss.replicas_lost,
        bytes_to_restore=loss.bytes_to_restore,
        unknown_sizes=loss.unknown_sizes,
        offline_partitions=tuple(partition_names(loss.offline)) if has_names else None,
        under_min_isr_partitions=tuple(partition_names(loss.under_min_isr)) if has_names else None,
    )
