"""The format `rackwise.plan/1`: how the classes of a plan become a document and back.

The fields are declared in `core.planning.model`. Here is what a declaration does not say: the
member that names the kind of a goal, the checks between the fields of one object, and racks as
texts.
"""

# ruff: noqa: D102 (what Form says of a method holds in every form)

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING

from rackwise.adapters.files.snapshot.format import RackForm
from rackwise.core.errors import InvalidRack
from rackwise.core.json.codec import Codec, ObjectRules, Tagged
from rackwise.core.json.faults import Fault, quoted
from rackwise.core.json.forms import TextForm
from rackwise.core.override import override
from rackwise.core.planning.model import (
    NEW_PLAN,
    Add,
    Balance,
    BrokerGroup,
    Drain,
    Goal,
    Leaders,
    MadeFrom,
    Move,
    Plan,
    Repair,
    Replace,
    SetReplication,
    Verdict,
)
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.json.node import JsonNode
    from rackwise.core.model import PartitionId
    from rackwise.core.planning.model import SeenBroker

FORMAT = "rackwise.plan/1"

GOALS: dict[str, type] = {
    "repair": Repair,
    "balance": Balance,
    "drain": Drain,
    "replace": Replace,
    "set-rf": SetReplication,
    "add": Add,
    "leaders": Leaders,
}
"""Name of a goal -> its class."""


class CheckedRackForm(RackForm):
    """A rack of 0 to 16 levels as its text."""

    @override
    def read(self, node: JsonNode) -> Rack:
        rack = super().read(node)
        if isinstance(node.value, str):
            try:
                rack.levels  # noqa: B018 (reading it is the check)
            except InvalidRack as error:
                node.wrong(self.wanted, hint=error.hint)
        return rack


def policy_sha256(text: str) -> str:
    """SHA-256 of a policy's text, in lower-case hex."""
    return sha256(text.encode()).hexdigest()


def _check_group(group: BrokerGroup, node: JsonNode) -> None:
    size = len(group.brokers)
    for key, numbers in (("low", group.low), ("high", group.high)):
        if len(numbers) != size:
            node.at(key).wrong(f"as many numbers as brokers, {size}")
    if any(low > high for low, high in zip(group.low, group.high, strict=False)):
        node.at("low").wrong("no low above its high")


def _check_made_from(made_from: MadeFrom, node: JsonNode) -> None:
    if made_from.policy_sha256 != policy_sha256(made_from.policy):
        node.at("policy_sha256").wrong("the hash of the policy", hint=NEW_PLAN)


def _check_move(move: Move, node: JsonNode) -> None:
    for key, brokers in (("before", move.before), ("after", move.after)):
        if not brokers:
            node.at(key).wrong("at least one broker", hint=NEW_PLAN)
        if len(set(brokers)) < len(brokers):
            _name_repeated(node.at(key), brokers)
    if move.before == move.after and move.before:
        node.at("after").wrong("another list than before", hint=NEW_PLAN)


def _name_repeated(node: JsonNode, brokers: Sequence[int]) -> None:
    for place, broker in enumerate(brokers):
        if broker in brokers[:place]:
            node.at(place).wrong("each broker once", hint=NEW_PLAN)


def _check_plan(plan: Plan, node: JsonNode) -> None:
    known = plan.made_from.brokers
    seen: set[PartitionId] = set()
    if plan.later and plan.max_moves is None:
        node.at("later").wrong("no later moves without max_moves", hint=NEW_PLAN)
    _check_moves("moves", plan.moves, known, seen, node)
    _check_moves("later", plan.later, known, seen, node)


def _check_moves(
    name: str,
    listed: Sequence[Move],
    known: Mapping[int, SeenBroker],
    seen: set[PartitionId],
    node: JsonNode,
) -> None:
    """Name repeated partitions and unknown brokers; `seen`: the partitions before."""
    moves = node.at(name) if listed else node
    for index, move in enumerate(listed):
        key = (move.topic, move.partition)
        if key in seen and move.topic:
            partition = quoted(f"{move.topic}-{move.partition}")
            node.faults.add(
                Fault(
                    place=moves.at(index).path,
                    sentence=f"expected each partition once, got {partition} twice",
                    wanted="each partition once",
                    had="2",
                    hint=NEW_PLAN,
                )
            )
        seen.add(key)
        if known.keys() >= set(move.after):
            continue
        after = moves.at(index).at("after")
        for place, broker in enumerate(move.after):
            if broker not in known and broker not in move.after[:place]:
                after.at(place).wrong("a broker of made_from.brokers", hint=NEW_PLAN)


CODEC = Codec(
    names={"Rack": Rack},
    forms={Rack: CheckedRackForm()},
    rules={
        BrokerGroup: ObjectRules(check=_check_group),
        MadeFrom: ObjectRules(check=_check_made_from),
        Move: ObjectRules(check=_check_move),
        Verdict: ObjectRules(derived={"text": TextForm()}),
        Plan: ObjectRules(constants={"format": FORMAT}, check=_check_plan, checks_faulty=True),
    },
    unions={Goal: Tagged(tag="name", kinds=GOALS, wanted="a goal")},
)

PLAN = CODEC.object(Plan)
"""The form of a plan file."""
