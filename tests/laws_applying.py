"""The promises that every run keeps; imports no code of the decision.

Each helper raises `AssertionError` naming the law.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.applying.actions import Alter, Elect, SetThrottles
from rackwise.core.applying.journal.lines import (
    BatchIntent,
    Begin,
    ElectIntent,
    End,
    ThrottleIntent,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from modelled_kafka import ModelledKafka
    from rackwise.core.applying.actions import Action
    from rackwise.core.applying.model import Caps, ThrottleKey
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import Move

Moves: TypeAlias = "Mapping[PartitionId, Move]"


def check_budget(world: ModelledKafka) -> None:
    """No run begins more moves than its budget; a killed run and the next ones are one run."""
    begun: set[PartitionId] = set()
    most, is_killed = None, False
    for line in world.journal:
        if isinstance(line, Begin):
            if not is_killed or line.mode != "apply" or line.next_moves != most:
                begun.clear()
            most, is_killed = line.next_moves, line.mode == "apply"
        elif isinstance(line, End):
            is_killed = False
        elif isinstance(line, BatchIntent) and line.act == "move":
            begun.update(line.partitions)
            assert most is None or len(begun) <= most, "a run begins more than its budget"


def check_announced(moves: Moves, world: ModelledKafka, action: Action) -> None:
    """Every effect is in the journal before its request, and is what the plan says."""
    if isinstance(action, Alter):
        intent = world.journal[-1]
        assert isinstance(intent, BatchIntent), "a request is announced by the line before it"
        assert intent.partitions == tuple(which for which, _ in action.targets)
        for which, target in action.targets:
            move = moves[which]
            wanted = {"move": move.after, "cancel": None, "reorder": move.before}[intent.act]
            assert target == wanted, "nothing is asked for that is not in the plan"
            before = world.partitions[which].replicas if intent.act == "reorder" else move.before
            keeps = target is not None and len(target) == len(before)
            assert action.allow_replication_factor_change or keeps, (
                "lists that change their length are asked for with the flag"
            )
    if isinstance(action, Elect):
        intent = world.journal[-1]
        assert isinstance(intent, ElectIntent), "an election is announced by the line before it"
        assert intent.partitions == action.partitions
    if isinstance(action, SetThrottles):
        announced = {
            setting.key
            for line in world.journal
            if isinstance(line, ThrottleIntent)
            for setting in line.settings
        }
        assert {key for key, _ in action.changes} <= announced, "only announced keys are touched"


def check_caps(
    moves: Moves,
    world: ModelledKafka,
    caps: Caps,
    action: Action,
    leaders: Mapping[PartitionId, int | None],
) -> None:
    """No limit is passed, requests included; `leaders` are those that the run saw last.

    A leader that dies may leave another broker above its limit; nothing is added to that broker.
    """
    if not isinstance(action, Alter) or any(target is None for _, target in action.targets):
        return
    asked = {which for which, _ in action.targets}
    placed = {which: {*world.partitions[which].replicas} for which in asked}
    assert len(asked) <= caps.per_request
    into: Counter[int] = Counter()
    out_of: Counter[int | None] = Counter()
    sizes = []
    for which, held in world.partitions.items():
        if which in asked:
            adding = tuple(each for each in moves[which].after if each not in placed[which])
        else:
            adding = held.adding
        into.update(adding)
        if adding:
            out_of[leaders.get(which)] += 1
            sizes.append(held.bytes * len(adding))
    assert len(asked | {w for w, h in world.partitions.items() if h.adding}) <= caps.at_once
    assert max(into.values(), default=0) <= caps.per_broker, "incoming of a broker"
    giving = {leaders.get(which) for which in asked if {*moves[which].after} - placed[which]}
    assert all(out_of[each] <= caps.per_leader for each in giving - {None}), "of a leader"
    if caps.bytes_in_flight is not None and len(sizes) > 1:
        assert sum(sizes) <= caps.bytes_in_flight, "bytes in flight"


def check_lists(moves: Moves, world: ModelledKafka) -> None:
    """No partition ever has a replica list that is neither its list before nor its list after."""
    for which, move in moves.items():
        held = world.partitions.get(which)
        if held is None:
            continue
        placed = {each for each in held.replicas if each not in held.adding}
        assert placed in (set(move.before), set(move.after)), "moved to where no plan has it"
        assert set(held.replicas) <= {*move.before, *move.after}


def check_throttled(world: ModelledKafka, action: Action) -> None:
    """No copy starts on brokers without a throttle."""
    if not isinstance(action, Alter):
        return
    for (topic, number), target in action.targets:
        added = set(target or ()) - set(world.partitions[topic, number].replicas)
        listed = world.topic_configs.get(topic, {}).get(
            "follower.replication.throttled.replicas", ""
        )
        for broker in added:
            assert listed == "*" or f"{number}:{broker}" in listed.split(","), "not throttled"
            rate = world.broker_configs.get(broker, {}).get("follower.replication.throttled.rate")
            assert rate or broker not in world.live, "no rate"


def check_final(moves: Iterable[Move], world: ModelledKafka) -> None:
    """All lists are those of the plan, in order, and no reassignment is running."""
    for move in moves:
        held = world.partitions[move.topic, move.partition]
        assert held.replicas == move.after, f"final is not the plan: {held}"
        assert not held.adding
        assert not held.removing


def check_restored(
    prior: tuple[dict[int, dict[str, str]], dict[str, dict[str, str]]],
    world: ModelledKafka,
    added: Mapping[ThrottleKey, str] | None = None,
) -> None:
    """Throttles are as before, bit for bit; entries that others `added` meanwhile are kept."""
    brokers, topics = world.configs()
    for key, entry in (added or {}).items():
        now = topics.setdefault(key.name, {}).pop(key.key, "")
        was = prior[1].get(key.name, {}).pop(key.key, "")
        assert sorted({*now.split(","), ""}) == sorted({*was.split(","), entry, ""})
    left = {topic: keys for topic, keys in topics.items() if keys}
    assert (brokers, left) == (
        prior[0],
        {topic: keys for topic, keys in prior[1].items() if keys},
    ), "throttles are not as before"
