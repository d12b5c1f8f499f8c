"""`rackwise plan set-rf --placer`: a placer chooses the brokers, and the search does not."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.placer_options import (
    PlacerOptions,
    Seed,
    create_placer,
    parse_placer_options,
    print_generated_seed,
    seeded_random,
)
from rackwise.cli.plan.goals import goal_text, note_empty_topics, replication_by_topic
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.cli.shell import Shell
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Goal, Plan, Totals
    from rackwise.core.policy import Policy

GOAL = "set-rf"
"""The only goal that a placer can reach."""
REASON = "replication"
"""The rule that all moves of this goal repair."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacerChoice:
    """The placer of a plan; None if the search finds the moves."""

    placer: Annotated[
        str | None,
        typer.Option(
            "--placer",
            metavar="NAME",
            help="Let this placer choose the brokers, for the goal set-rf: ring, levels or one of "
            "an installed package. The plan has no proof.",
        ),
    ] = None
    placer_option: PlacerOptions = None
    seed: Seed = None

    def __post_init__(self) -> None:
        """Reject options of a placer without a placer."""
        given = {"--placer-option": bool(self.placer_option), "--seed": self.seed is not None}
        names = [name for name, is_given in given.items() if is_given]
        if self.placer is None and names:
            raise InvalidConfig(
                f"{names[0]} requires --placer",
                wanted="--placer",
                had=names[0],
                hint=f"omit {names[0]}, or name a placer: --placer ring",
            )

    def check(self, goal: str, others: Mapping[str, object]) -> None:
        """Reject goals and options that only the search knows. Raises `InvalidConfig`.

        `others`: such an option -> its value.
        """
        if self.placer is None:
            return
        if goal != GOAL:
            raise InvalidConfig(
                f"--placer requires the goal {GOAL}, got {goal}",
                wanted=GOAL,
                had=goal,
                hint="omit --placer: for other goals the search chooses the brokers",
            )
        reject_combined(
            "--placer",
            [name for name, value in others.items() if value],
            hint="omit them, or omit --placer to find the cheapest moves",
        )


def placed_plan(
    shell: Shell,
    choice: PlacerChoice,
    goal: Goal,
    cluster: Cluster,
    policy: Policy,
    *,
    is_rack_unaware: bool,
) -> Plan:
    """Return the plan with the rows of the placer, without the hashes of a file.

    Topics that the policy excludes stay as they are; topics without partitions are noted. Raises
    the errors of `change_replication`.
    """
    from rackwise.core.applying.foreign import foreign_plan
    from rackwise.core.placement import RackMode
    from rackwise.core.placement.topics import change_topics

    name = choice.placer or ""
    options = parse_placer_options(choice.placer_option)
    placer = create_placer(name, options)
    seed, rng = seeded_random(choice.seed)
    mapped = cluster.mapped(policy.racks.map)
    sizes = {
        topic: size
        for topic, size in replication_by_topic(goal, mapped).items()
        if not policy.rules_of(topic, ()).exclude
    }
    rows = change_topics(
        mapped,
        sizes,
        placer=placer,
        racks=RackMode.DISABLED if is_rack_unaware else RackMode.ENFORCED,
        rng=rng,
    )
    note_empty_topics(shell, [topic for topic in sizes if topic not in rows])
    print_generated_seed(shell, seed if choice.seed is None else None)
    made = foreign_plan(
        cluster.settled(policy.racks.map),
        {
            (topic, partition): placement[partition]
            for topic, placement in rows.items()
            for partition in placement
        },
    )
    chosen = " ".join([name, *(f"{key}={value}" for key, value in options.items())])
    problem = f"placer {chosen} with seed {seed} chose the brokers, and not the search"
    return replace(
        made,
        goal=goal,
        moves=tuple(replace(move, reasons=(REASON,)) for move in made.moves),
        verdict=replace(made.verdict, problems=(problem,)),
    )


def placed_text(plan: Plan, *, has_color: bool) -> str:
    """Format one line per move, an empty line and the summary, which claims no least cost."""
    from rackwise.cli.plan.move_text import moves_text
    from rackwise.cli.tables import labelled_text

    removed = sum(len(move.removed) for move in plan.moves)
    moves = (
        f"{counted(plan.totals.moves, 'replica')} added and {removed} removed, "
        f"in {counted(len(plan.moves), 'partition')}"
    )
    rows = (
        ("goal", goal_text(plan.goal)),
        ("moves", moves if plan.moves else "none: nothing to move"),
        ("bytes", _bytes_text(plan.totals)),
        ("proof", f"not proved: {escaped(plan.verdict.problems[0])}"),
    )
    return "\n".join(
        filter(None, (moves_text(plan.moves, has_color=has_color), labelled_text(rows)))
    )


def _bytes_text(totals: Totals) -> str:
    from rackwise.report.formats import sizes_text

    return f"{sizes_text(totals.bytes, totals.unknown_sizes)} to copy" if totals.moves else ""
