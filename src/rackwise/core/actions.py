"""Do this first: at most five actions, the most urgent first.

Goals, in order: what loses data or availability comes before dollars; every action has its lines to
set and its commands to run; an amount that is not known is None, never 0.

```
1  repair, by risk        a rack whose loss takes partitions offline; at most `MOST_REPAIRS` of them
2  savings, by dollars    the largest first, by what is proved at least, then by what it is at most
3  repair, without risk   partitions that break a rule, and go offline with no single rack
4  measure                dollars or monthly changes that are not known, and what makes them known
```

The measurement has a place of its own: it is the cure of what the other actions cannot say.

A repair needs a plan that moves something. If every rule is kept and a rack still takes partitions
offline, more replicas are needed, and the command shows which partitions these are. A cluster that
has no plan gets the command that says why. Savings overlap: each is stated alone.

Limits: no prices and no plans of its own, and no order between clusters of equal risk but by name.
Other leaders (`leader-moves`) are no action: no command chooses leaders by what is read from them.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from rackwise.core.savings.model import ASSIGNMENT, FOLLOWER_FETCH, PRODUCING
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

ACTIONABLE: Final = (FOLLOWER_FETCH, ASSIGNMENT, PRODUCING)
"""The savings that are actions."""
MOST: Final = 5
MOST_REPAIRS: Final = 3
"""Repairs before the first saving, at most; further ones follow the savings."""
RUN: Final = "run"
"""The place of a line that is a command."""
RACK: Final = "client.rack=RACK"
SELECTOR: Final = "replica.selector.class=org.apache.kafka.common.replica.RackAwareReplicaSelector"
ASSIGNOR: Final = (
    "partition.assignment.strategy=org.apache.kafka.clients.consumer.CooperativeStickyAssignor"
)
THROTTLE: Final = "50MB"


class ClusterPlaces(NamedTuple):
    """Where the commands of a cluster find it."""

    cluster: str
    """Name of the cluster."""
    snapshot: str
    """Path of its snapshot."""
    server: str | None
    """Address of a live broker; None if the snapshot has none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterRisk:
    """What is unsafe in a cluster, and the plan that repairs it."""

    places: ClusterPlaces
    offline: int
    """Partitions that go offline with the rack whose loss takes most."""
    rack: str | None
    """That rack; None if no rack can be lost."""
    unsafe: int
    """Partitions that break a rule of severity error."""
    moves: int | None
    """Replicas that the plan moves; None without a plan."""
    file: str | None
    """Path of the plan file."""
    reason: str | None
    """Why there is no plan; None if there is one, or if none was requested."""
    usd_once: int | None
    """Nano-dollars of the moves; None if unknown."""
    usd_monthly: int | None
    """Nano-dollars that the plan adds in 30 days; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PossibleSaving:
    """What one change saves in 30 days, if it is made alone."""

    places: ClusterPlaces
    saving: str
    """Name of the saving."""
    subject: str | None
    """The client group or the topic; None for the whole cluster."""
    low: int | None
    """Nano-dollars that are saved at least; None if unknown."""
    high: int | None
    """Nano-dollars that are saved at most; None if unknown."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmeasured:
    """What is not known of a cluster because it was not measured."""

    places: ClusterPlaces
    unattributed: int
    """Bytes across racks of no known topic."""
    has_unknown_plan: bool
    """Whether the monthly change of its plan is unknown."""


class Step(NamedTuple):
    """One line to set or to run."""

    where: str
    """Where the line is set; `run` for a command."""
    line: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One action: what, why, what it costs or saves, and how."""

    kind: str
    """`repair`, `replicas`, `measure`, or the name of a saving."""
    cluster: str
    """Name of the cluster."""
    title: str
    """What to do."""
    why: str
    """Why, without dollars."""
    partitions_offline: int = 0
    """Partitions that go offline with one rack."""
    usd_once: int | None = None
    """One-time nano-dollars; None if unknown, or if there are none."""
    usd_monthly: int | None = None
    """Nano-dollars that it adds in 30 days; None if unknown, or for a saving."""
    saves_low: int | None = None
    """Nano-dollars that it saves in 30 days, at least; None if unknown, or if it saves nothing."""
    saves_high: int | None = None
    """Nano-dollars that it saves in 30 days, at most."""
    steps: tuple[Step, ...]


def first_actions(
    repairs: Sequence[ClusterRisk],
    savings: Sequence[PossibleSaving],
    unmeasured: Sequence[Unmeasured],
) -> tuple[Action, ...]:
    """At most `MOST` actions, the most urgent first."""
    risky = sorted(
        (one for one in repairs if one.offline),
        key=lambda one: (-one.offline, -one.unsafe, one.places.cluster),
    )
    others = sorted(
        (one for one in repairs if one.unsafe and not one.offline),
        key=lambda one: (-one.unsafe, one.places.cluster),
    )
    paying = sorted(
        (
            one
            for one in savings
            if one.saving in ACTIONABLE and max(one.low or 0, one.high or 0) > 0
        ),
        key=lambda one: (
            -(one.low or 0),
            -(one.high or 0),
            one.places.cluster,
            one.saving,
            one.subject or "",
        ),
    )
    found = [
        *map(_repair, risky[:MOST_REPAIRS]),
        *map(_saving, paying),
        *map(_repair, [*risky[MOST_REPAIRS:], *others]),
    ]
    last = _measurements(unmeasured)
    return (*found[: MOST - len(last)], *last)


def _repair(one: ClusterRisk) -> Action:
    name, places = escaped(one.places.cluster), one.places
    why = _risk(one)
    if one.file is not None and one.moves:
        return Action(
            kind="repair",
            cluster=places.cluster,
            title=f"Repair cluster {name}: move {counted(one.moves, 'replica')}",
            why=why,
            partitions_offline=one.offline,
            usd_once=one.usd_once,
            usd_monthly=one.usd_monthly,
            steps=(
                _run("rackwise", "proof", one.file, "--snapshot", places.snapshot),
                _run(
                    *("rackwise", "apply", one.file, "--bootstrap-server", _server(places)),
                    *("--throttle", THROTTLE),
                ),
            ),
        )
    if one.file is not None:
        return Action(
            kind="replicas",
            cluster=places.cluster,
            title=f"Add replicas in other racks of cluster {name}",
            why=f"{why}; no move repairs that",
            partitions_offline=one.offline,
            steps=(
                _run("rackwise", "audit", "--snapshot", places.snapshot, "--lose", one.rack or ""),
            ),
        )
    blocked = f"; there is no plan: {escaped(one.reason)}" if one.reason else ""
    return Action(
        kind="repair",
        cluster=places.cluster,
        title=f"Plan the repair of cluster {name}",
        why=why + blocked,
        partitions_offline=one.offline,
        steps=(
            _run("rackwise", "plan", "repair", "--snapshot", places.snapshot, "--out", "plan.json"),
        ),
    )


def _risk(one: ClusterRisk) -> str:
    """What is at risk, in one sentence without a full stop."""
    unsafe = (
        f"{counted(one.unsafe, 'partition')} {'is' if one.unsafe == 1 else 'are'} not rack-safe"
    )
    if not one.offline:
        return unsafe
    verb = "goes" if one.offline == 1 else "go"
    loss = (
        f"{counted(one.offline, 'partition')} {verb} offline when rack "
        f"{escaped(one.rack or '')} is lost"
    )
    return f"{loss}; {unsafe}" if one.unsafe else loss


def _saving(one: PossibleSaving) -> Action:
    name, subject = escaped(one.places.cluster), escaped(one.subject or "")
    titles = {
        FOLLOWER_FETCH: f"Let consumers of cluster {name} read from their own rack",
        ASSIGNMENT: f"Assign the partitions of group {subject} of cluster {name} by rack",
        PRODUCING: f"Let producers of topic {subject} of cluster {name} write to their own rack",
    }
    reasons = {
        FOLLOWER_FETCH: "consumers read from leaders in other racks (KIP-392)",
        ASSIGNMENT: "members of the group own partitions that are led in other racks (KIP-881)",
        PRODUCING: "producers write to leaders in other racks (KIP-1123)",
    }
    return Action(
        kind=one.saving,
        cluster=one.places.cluster,
        title=titles[one.saving],
        why=reasons[one.saving],
        saves_low=one.low,
        saves_high=one.high,
        steps=_steps_of_saving(one),
    )


def _steps_of_saving(one: PossibleSaving) -> tuple[Step, ...]:
    doctor = ("rackwise", "doctor", "--bootstrap-server", _server(one.places))
    if one.saving == FOLLOWER_FETCH:
        return (
            Step("server.properties of each broker, then restart it", SELECTOR),
            Step("each consumer, with its own rack", RACK),
            _run(*doctor),
        )
    if one.saving == ASSIGNMENT:
        return (
            *(
                Step("each consumer of the group, with its own rack", line)
                for line in (RACK, "group.protocol=classic", ASSIGNOR)
            ),
            _run(*doctor, "--group", one.subject or ""),
        )
    where = "each producer of the topic, with its own rack (Java 4.4.0 or later)"
    return (Step(where, RACK), Step(where, "partitioner.rack.aware=true"))


def _measurements(unmeasured: Sequence[Unmeasured]) -> list[Action]:
    """One action that measures the clusters of which something is not known."""
    missing = sorted(
        (one for one in unmeasured if one.unattributed or one.has_unknown_plan),
        key=lambda one: (-one.unattributed, one.places.cluster),
    )
    if not missing:
        return []
    first = missing[0].places
    more = f" and {counted(len(missing) - 1, 'other cluster')}" if len(missing) > 1 else ""
    causes = [
        *(["bytes across racks belong to no known topic"] if missing[0].unattributed else []),
        *(
            ["the monthly change of a repair is not known"]
            if any(one.has_unknown_plan for one in missing)
            else []
        ),
    ]
    return [
        Action(
            kind="measure",
            cluster=first.cluster,
            title=f"Measure the rates of cluster {escaped(first.cluster)}{more}",
            why="; ".join(causes),
            steps=(
                _run(
                    *("rackwise", "snapshot", "--bootstrap-server", _server(first)),
                    *("--measure", "60s", "--out", "measured.json.gz"),
                ),
            ),
        )
    ]


def _server(places: ClusterPlaces) -> str:
    return places.server or "HOST:PORT"


def _run(*words: str) -> Step:
    return Step(RUN, escaped(shlex.join(words)))
