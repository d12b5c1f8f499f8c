"""`rackwise consumer`: measures how local groups read and simulates other assignors."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.consumer.checks import warn_of_added_racks
from rackwise.cli.consumer.groups import (
    GroupOptions,
    check_one_group,
    check_out,
    gather_groups,
    keep_assignable,
    parse_added_members,
    warn_of_unknowns,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import (
    ClusterSource,
    CommandConfig,
    Groups,
    LevelNames,
    PriceTable,
    Provider,
    Server,
    SnapshotFile,
)
from rackwise.core.errors import MissingDependency
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.cli.consumer.groups import EvaluatedGroup
    from rackwise.core.assignors import (
        AssignmentReport,
        BrokerReads,
        Members,
        Review,
        SimulatedAssignor,
    )
    from rackwise.core.model import Cluster

TargetName = Literal["follower", "leader", "nearest"]
BalanceName = Literal["total", "per-topic", "columns"]
ROUNDS = 12

app = typer.Typer(
    help="Measure how local the reads of consumer groups are, and how local they could be.",
    rich_markup_mode=None,
)

MemberRacks = Annotated[
    list[str] | None,
    typer.Option(metavar="MEMBER=RACK", help="Set the rack of a member. May be repeated."),
]
ClientRacks = Annotated[
    list[str] | None,
    typer.Option(
        metavar="GLOB=RACK",
        help="Set the rack of members that report none, by client id. May be repeated.",
    ),
]
TargetOption = Annotated[
    TargetName,
    typer.Option(
        help="Choose what members read: a replica in their rack (follower), the leader, or the "
        "nearest replica."
    ),
]
WeightsFile = Annotated[
    Path | None,
    typer.Option(
        metavar="CSV",
        help="Also count bytes, and optimize bytes. Columns of the file: "
        "topic,partition,bytes_per_s.",
    ),
]
BalanceOption = Annotated[
    BalanceName,
    typer.Option(
        help="Choose what the best assignment spreads evenly: all partitions (total), the "
        "partitions of each topic, or co-partitioned topics (columns)."
    ),
]


@app.command()
def evaluate(
    context: typer.Context,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    command_config: CommandConfig = None,
    group: Groups = None,
    rack: MemberRacks = None,
    client_rack: ClientRacks = None,
    target: TargetOption = "follower",
    weights: WeightsFile = None,
    balance: BalanceOption = "total",
    provider: Provider = None,
    prices: PriceTable = None,
    levels: LevelNames = None,
) -> int:
    """Report how much each group reads locally, how much it could, and what limits it.

    Also report what it would read locally with Kafka's own assignors on the broker (KIP-848).
    Reads only. Exit codes: 0 no better assignment is known, 2 a better one exists, 1 error.
    """
    shell: Shell = context.obj
    source = ClusterSource(snapshot, bootstrap_server, command_config)
    options = GroupOptions.of(group, rack, client_rack, weights)
    cluster, groups, skipped = gather_groups(shell, source, options)
    from rackwise.cli.consumer import text as output
    from rackwise.cli.consumer.outlook import read_pricing, server_outlook

    pricing = read_pricing(
        shell, cluster, provider=provider, prices=prices, levels=levels, target=target
    )
    found = []
    with shell.progress("groups", total=len(groups)) as advance:
        for each in groups:
            result, brokers = _review(shell, cluster, each, target, balance)
            found.append((each, result, brokers, server_outlook(each, pricing)))
            advance(1)
    for each, result, _, _ in found:
        warn_of_unknowns(shell, each.described, result.now)
    if any(result.best is None and result.explanation is not None for _, result, _, _ in found):
        shell.warn("the number of moves is unknown without ortools: pip install rackwise")
    if shell.is_json:
        from rackwise.cli.consumer.documents import CODEC, evaluation_document

        shell.document(
            evaluation_document(cluster, found, skipped, target=target, balance=balance), CODEC
        )
    else:
        shell.text("\n\n".join(output.evaluation_text(*each) for each in found))
    return 2 if any(result.is_better for _, result, _, _ in found) else 0


@app.command()
def simulate(
    context: typer.Context,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    command_config: CommandConfig = None,
    group: Groups = None,
    assignor: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Simulate range, roundrobin, sticky, cooperative-sticky, rack-optimal, or Kafka's "
            "assignors on the broker: server-uniform, server-range. May be repeated. "
            "[default: all]",
        ),
    ] = None,
    add: Annotated[
        list[str] | None,
        typer.Option(metavar="RACK=N", help="Add N members in a rack. May be repeated."),
    ] = None,
    remove: Annotated[
        list[str] | None,
        typer.Option(metavar="MEMBER", help="Remove this member. May be repeated."),
    ] = None,
    rounds: Annotated[
        int, typer.Option(metavar="N", min=1, help="Stop after this many rebalances.")
    ] = ROUNDS,
    out: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the assignments as JSON; FILE.gz is compressed."),
    ] = None,
    rack: MemberRacks = None,
    client_rack: ClientRacks = None,
    target: TargetOption = "follower",
    weights: WeightsFile = None,
    balance: BalanceOption = "total",
) -> int:
    """Simulate assignors on a group, also with members added or removed.

    Writes only --out. Exit codes: 0 done, 1 error.
    """
    shell: Shell = context.obj
    source = ClusterSource(snapshot, bootstrap_server, command_config)
    options = GroupOptions.of(group, rack, client_rack, weights)
    more = parse_added_members(add)
    check_out(out, snapshot)
    cluster, groups, skipped = gather_groups(shell, source, options)
    groups, skipped = keep_assignable(shell, groups, skipped, is_named=bool(options.groups))
    check_one_group(groups, add=more, remove=remove or ())
    warn_of_added_racks(shell, cluster, more)
    from rackwise.cli.consumer import text as output
    from rackwise.core.assignors import change_members

    found = []
    for each in groups:
        members = change_members(each.described.members, add=more, remove=remove or ())
        runs = _Simulation(each, members, target, balance, rounds)
        found.append((each, runs.now(), len(members), runs.all(shell, assignor)))
    for each, now, _, _ in found:
        warn_of_unknowns(shell, each.described, now)
    if out is not None:
        from rackwise.adapters import files
        from rackwise.cli.consumer.documents import CODEC, assignments_document
        from rackwise.cli.documents import as_json
        from rackwise.core.json.canonical import canonical_json

        document = as_json(assignments_document(cluster, found), CODEC)
        data = (canonical_json(document) + "\n").encode()
        files.write_bytes(out, files.packed(data) if out.suffix == ".gz" else data)
    if shell.is_json:
        from rackwise.cli.consumer.documents import CODEC, simulation_document

        shell.document(
            simulation_document(cluster, found, skipped, target=target, balance=balance), CODEC
        )
    else:
        shell.text("\n\n".join(output.simulation_text(*each) for each in found))
    return 0


def _review(
    shell: Shell, cluster: Cluster, group: EvaluatedGroup, target: TargetName, balance: BalanceName
) -> tuple[Review, Mapping[int, BrokerReads]]:
    """Review a group and count its reads per broker, which the target `nearest` does not tell.

    Without ortools the best assignment of some groups is unknown. A warning names them.
    """
    from rackwise.core.assignors import (
        SHARE,
        WITHOUT_CHOICE,
        Review,
        reads_by_broker,
        review,
        target_of,
    )
    from rackwise.core.assignors import evaluate as measure

    description = group.described
    protocol = description.group.protocol
    target = target_of(description.group, target)
    arguments = (description.assignment, description.members, group.racks)
    try:
        if protocol in WITHOUT_CHOICE:
            now = measure(*arguments, target=target, weights=group.weights)
            found = Review(now=now, best=None, explanation=None, is_better=False)
        else:
            found = review(*arguments, target=target, balance=balance, weights=group.weights)
    except MissingDependency as error:
        shell.warn(
            f"{escaped(description.group.group)}: the best assignment is unknown: "
            f"{error.message}; {error.hint}"
        )
        now = measure(*arguments, target=target, weights=group.weights)
        found = Review(now=now, best=None, explanation=None, is_better=False)
    if target == "nearest" or protocol == SHARE:
        return found, {}
    brokers = reads_by_broker(
        description.assignment,
        description.members,
        cluster,
        selector="rack-aware" if target == "follower" else "leader",
        weights=group.weights,
    )
    return found, brokers


class _Simulation:
    """Simulates several assignors on one group."""

    def __init__(
        self,
        group: EvaluatedGroup,
        members: Members,
        target: TargetName,
        balance: BalanceName,
        rounds: int,
    ) -> None:
        self._group = group
        self._members = members
        self._target = target
        self._balance = balance
        self._rounds = rounds

    def now(self) -> AssignmentReport:
        """Measure the current assignment."""
        from rackwise.core.assignors import evaluate as measure

        group = self._group
        return measure(
            group.described.assignment,
            group.described.members,
            group.racks,
            target=self._target,
            weights=group.weights,
        )

    def all(self, shell: Shell, names: Sequence[str] | None) -> tuple[SimulatedAssignor, ...]:
        """Run each assignor. Without `names`, one that needs a missing package is skipped."""
        from rackwise.core.assignors import (
            ASSIGNORS,
            CONSUMER,
            SERVER_ASSIGNORS,
            simulate_assignor,
        )

        found = []
        assignors = tuple(dict.fromkeys(names or (*ASSIGNORS, *SERVER_ASSIGNORS)))
        with shell.progress("assignors", total=len(assignors)) as advance:
            for name in assignors:
                try:
                    found.append(
                        simulate_assignor(
                            name,
                            self._members,
                            self._group.racks,
                            target=self._target,
                            balance=self._balance,
                            weights=self._group.weights,
                            max_rounds=self._rounds,
                            before=self._group.described.members,
                            topic_ids=self._group.topic_ids,
                            is_on_server=self._group.described.group.protocol == CONSUMER,
                        )
                    )
                except MissingDependency as error:
                    if names:
                        raise
                    shell.warn(f"{name} is skipped: {error.message}; {error.hint}")
                advance(1)
        return tuple(found)
