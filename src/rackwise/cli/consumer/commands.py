"""`rackwise consumer`: is a group as local as it can be, and what would another assignor do."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.consumer.checks import tell_added
from rackwise.cli.consumer.groups import (
    Source,
    Wishes,
    added,
    check_one_group,
    check_out,
    gathered,
    tell_unknown,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig, Server, SnapshotFile, check_source
from rackwise.core.errors import MissingDependency
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.cli.consumer.groups import Judged
    from rackwise.core.assignors import (
        AssignmentReport,
        BrokerReads,
        Members,
        Review,
        Simulated,
    )
    from rackwise.core.model import Cluster

TargetName = Literal["follower", "leader", "nearest"]
BalanceName = Literal["total", "per-topic", "columns"]
ROUNDS = 12

app = typer.Typer(
    help="Consumer groups: how local their reads are, and how local they could be.",
    rich_markup_mode=None,
)

GroupNames = Annotated[
    list[str] | None, typer.Option(metavar="G", help="Only this group; repeatable.")
]
MemberRacks = Annotated[
    list[str] | None,
    typer.Option(metavar="MEMBER=RACK", help="Where a member is; repeatable."),
]
ClientRacks = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB=RACK",
        help="Where members are that show no rack, by their client id; repeatable.",
    ),
]
TargetOption = Annotated[
    TargetName, typer.Option(help="What is read: a replica in the rack, the leader, the nearest.")
]
WeightsFile = Annotated[
    Path | None, typer.Option(metavar="CSV", help="topic,partition,bytes_per_s: count bytes too.")
]
BalanceOption = Annotated[BalanceName, typer.Option(help="What the best keeps even.")]


@app.command()
def evaluate(
    context: typer.Context,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    group: GroupNames = None,
    rack: MemberRacks = None,
    client_rack: ClientRacks = None,
    target: TargetOption = "follower",
    weights: WeightsFile = None,
    balance: BalanceOption = "total",
) -> int:
    """Say how much each group reads in its own racks, how much it could, and what limits it.

    Reads only. Exit: 0 nothing better is known, 2 a better assignment exists, 1 error.
    """
    shell: Shell = context.obj
    check_source(snapshot, bootstrap_server, client_config)
    source = Source(snapshot, bootstrap_server, client_config)
    wishes = Wishes.of(group, rack, client_rack, weights)
    cluster, groups, left_out = gathered(shell, source, wishes)
    from rackwise.cli.consumer import text as form

    found = []
    with shell.progress("groups", total=len(groups)) as advance:
        for each in groups:
            found.append((each, *_reviewed(shell, cluster, each, target, balance)))
            advance(1)
    for each, result, _ in found:
        tell_unknown(shell, each.described, result.now)
    if any(result.best is None and result.explanation is not None for _, result, _ in found):
        shell.warn("moves are not known without ortools: pip install 'rackwise[plan]'")
    if shell.is_json:
        terms = {"target": target, "balance": balance}
        shell.document(form.evaluation_document(cluster, found, left_out, **terms))
    else:
        shell.text("\n\n".join(form.evaluation_text(*each) for each in found))
    return 2 if any(result.is_better for _, result, _ in found) else 0


@app.command()
def simulate(
    context: typer.Context,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    group: GroupNames = None,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="range, roundrobin, sticky, cooperative-sticky or rack-optimal; repeatable, "
            "all five by default.",
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="RACK=N", help="N more members in a rack; repeatable."),
    ] = None,
    remove: Annotated[
        list[str] | None, typer.Option(metavar="MEMBER", help="Without this one; repeatable.")
    ] = None,
    rounds: Annotated[
        int, typer.Option(metavar="N", min=1, help="So many rebalances at most.")
    ] = ROUNDS,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write who would read what, as JSON; FILE.gz is packed."),
    ] = None,
    rack: MemberRacks = None,
    client_rack: ClientRacks = None,
    target: TargetOption = "follower",
    weights: WeightsFile = None,
    balance: BalanceOption = "total",
) -> int:
    """Say what each assignor would make of a group, with members added or removed.

    Writes no file but --out. Exit: 0 done, 1 error.
    """
    shell: Shell = context.obj
    check_source(snapshot, bootstrap_server, client_config)
    source = Source(snapshot, bootstrap_server, client_config)
    wishes = Wishes.of(group, rack, client_rack, weights)
    more = added(add)
    check_out(out, snapshot)
    cluster, groups, left_out = gathered(shell, source, wishes)
    check_one_group(groups, add=more, remove=remove or ())
    tell_added(shell, cluster, more)
    from rackwise.cli.consumer import text as form
    from rackwise.core.assignors import changed

    found = []
    for each in groups:
        members = changed(each.described.members, add=more, remove=remove or ())
        runs = _Runs(each, members, target, balance, rounds)
        found.append((each, runs.now(), len(members), runs.all(shell, assignor)))
    for each, now, _, _ in found:
        tell_unknown(shell, each.described, now)
    if out is not None:
        from rackwise.adapters import files
        from rackwise.core.json.canonical import canonical_json

        told = canonical_json(form.assignments_document(cluster, found)) + "\n"
        data = told.encode()
        files.write_bytes(out, files.packed(data) if out.suffix == ".gz" else data)
    if shell.is_json:
        terms = {"target": target, "balance": balance}
        shell.document(form.simulation_document(cluster, found, left_out, **terms))
    else:
        shell.text("\n\n".join(form.simulation_text(*each) for each in found))
    return 0


def _reviewed(
    shell: Shell, cluster: Cluster, judged: Judged, target: TargetName, balance: BalanceName
) -> tuple[Review, Mapping[int, BrokerReads]]:
    """The verdict, and what each broker gives; nobody knows that of the target `nearest`.

    Without ortools some groups have no best that is known: they are named, the others go on.
    """
    from rackwise.core.assignors import Review, reads_by_broker, review
    from rackwise.core.assignors import evaluate as measure

    told = judged.described
    given = (told.assignment, told.members, judged.racks)
    try:
        found = review(*given, target=target, balance=balance, weights=judged.weights)
    except MissingDependency as error:
        shell.warn(
            f"{escaped(told.group.group)}: the best is not known: {error.message}; {error.hint}"
        )
        now = measure(*given, target=target, weights=judged.weights)
        found = Review(now=now, best=None, explanation=None, is_better=False)
    if target == "nearest":
        return found, {}
    brokers = reads_by_broker(
        told.assignment,
        told.members,
        cluster,
        selector="rack-aware" if target == "follower" else "leader",
        weights=judged.weights,
    )
    return found, brokers


class _Runs:
    """One group through several assignors."""

    def __init__(
        self,
        judged: Judged,
        members: Members,
        target: TargetName,
        balance: BalanceName,
        rounds: int,
    ) -> None:
        self._judged = judged
        self._members = members
        self._target = target
        self._balance = balance
        self._rounds = rounds

    def now(self) -> AssignmentReport:
        """What the group has."""
        from rackwise.core.assignors import evaluate as measure

        told, judged = self._judged.described, self._judged
        return measure(
            told.assignment,
            told.members,
            judged.racks,
            target=self._target,
            weights=judged.weights,
        )

    def all(self, shell: Shell, names: Sequence[str] | None) -> tuple[Simulated, ...]:
        """Where each assignor leaves it; what was not asked for by name may be left out."""
        from rackwise.core.assignors import ASSIGNORS, simulated

        found = []
        wanted = tuple(dict.fromkeys(names or ASSIGNORS))
        with shell.progress("assignors", total=len(wanted)) as advance:
            for name in wanted:
                try:
                    found.append(
                        simulated(
                            name,
                            self._members,
                            self._judged.racks,
                            target=self._target,
                            balance=self._balance,
                            weights=self._judged.weights,
                            max_rounds=self._rounds,
                            before=self._judged.described.members,
                        )
                    )
                except MissingDependency as error:
                    if names:
                        raise
                    shell.warn(f"{name} is left out: {error.message}; {error.hint}")
                advance(1)
        return tuple(found)
