"""Plan files, format `rackwise.plan/1`: a plan read strictly, or refused with the place of a fault.

Goals, in order: `parse_plan(plan_bytes(p)) == p` of a sealed plan; nothing is carried out that no
planner wrote, so the hash must be that of the content; what is wrong is named by its JSON path,
wanted and had, with the number of further faults.

Of a move is refused: an empty list, a broker twice, a broker in `after` that the plan has not seen,
`before` equal to `after`, a partition that appears twice. `before` may name brokers that are gone.

What this does not do: judge whether the moves are legal, fair or few (a proof does), or whether the
cluster is still the one that the plan was made from (who carries it out does).
"""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import TYPE_CHECKING, get_args

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.plan.goal import goal_from, rack_from
from rackwise.adapters.files.plan.proof import certificate_from, fair_from, verdict_from
from rackwise.adapters.files.plan.write import FORMAT, policy_sha256
from rackwise.adapters.files.policy import parse_policy
from rackwise.adapters.files.tables.prices import parse_prices
from rackwise.core.audit import check_ignored
from rackwise.core.errors import InvalidPlan, InvalidPolicy, InvalidPrices
from rackwise.core.json.canonical import sha256_of
from rackwise.core.json.faults import Fault, quoted
from rackwise.core.json.node import document
from rackwise.core.json.strict import parse
from rackwise.core.planning.model import MadeFrom, Minimise, Move, Plan, SeenBroker, Steady, Totals
from rackwise.core.policy import policy_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence
    from pathlib import Path

    from rackwise.core.json.node import Node
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price

_KEYS = (
    "certificates",
    "cluster_id",
    "fair",
    "format",
    "goal",
    "hypothetical",
    "made_from",
    "minimise",
    "moves",
    "sha256",
    "solver",
    "totals",
    "verdict",
)
_MADE_FROM = ("brokers", "policy", "policy_sha256", "snapshot_sha256", "topics")
_NOT_ALWAYS = ("partitions", "prices")
"""A plan without moves has no counts of partitions, one made without prices has no prices."""
_MOVE = (
    "after",
    "before",
    "bytes",
    "cross_bytes",
    "partition",
    "reasons",
    "topic",
    "topic_id",
    "usd_nano",
)
_COUNTS = (
    "balance_moves",
    "bytes",
    "cross_bytes",
    "leader_changes",
    "moves",
    "order_only",
    "partitions",
    "partitions_at_least",
    "repair_moves",
    "unknown_sizes",
)
_TOTALS = (*_COUNTS, "steady_after", "steady_before", "usd_nano")
_STEADY = ("cross_bytes_per_s", "unknown_rates", "usd_nano_per_day")
_MAX_PARTITION = 2**31 - 1
_SHA256 = re.compile("[0-9a-f]{64}")
_EDITED = "make a new plan; change the policy instead of the plan file"


def read_plan(path: str | Path, *, max_bytes: int = MAX_BYTES) -> Plan:
    """The plan in a plan file, `.gz` too.

    Raises `InvalidConfig` where the path is no readable regular file within `max_bytes` (after
    unpacking), `InvalidPlan` where the content is no plan.
    """
    return parse_plan(read_bytes(path, error=InvalidPlan, max_bytes=max_bytes), where=str(path))


def parse_plan(data: bytes, *, where: str) -> Plan:
    """The plan in the content of a plan file; `where` names the file. Raises `InvalidPlan`."""
    root = document(data, where=where, error=InvalidPlan, format=FORMAT)
    fields = root.members(_KEYS)
    made_from = _made_from(fields["made_from"])
    plan = Plan(
        cluster_id=fields["cluster_id"].optional_name(),
        made_from=made_from,
        goal=goal_from(fields["goal"]),
        minimise=_minimise(fields["minimise"]),
        solver=fields["solver"].name(),
        moves=_moves(fields["moves"], made_from.brokers),
        totals=_totals(fields["totals"]),
        fair=fair_from(fields["fair"]),
        certificates=tuple(map(certificate_from, fields["certificates"].items())),
        verdict=verdict_from(fields["verdict"]),
        sha256=_sha256(fields["sha256"]),
        hypothetical=fields["hypothetical"].flag(),
    )
    root.faults.raise_if_any()
    _check_hash(root, plan.sha256)
    return plan


def plan_policy(plan: Plan, *, where: str) -> Policy:
    """The policy that a plan was made under, from its text; `where` names the plan's file.

    Raises `InvalidPlan` where the text is no policy.
    """
    text = plan.made_from.policy
    place = f"{where}: $.made_from.policy"
    try:
        if text.startswith("{"):
            policy = policy_of(parse(text.encode(), where=place, error=InvalidPolicy))
            check_ignored(policy)
            return policy
        return parse_policy(text.encode(), where=place).policy
    except InvalidPolicy as error:
        raise InvalidPlan(
            error.message,
            wanted=error.wanted,
            had=error.had,
            hint=_EDITED,
            where="$.made_from.policy",
        ) from None


def plan_prices(plan: Plan, *, where: str) -> tuple[Price, ...]:
    """The price rows that a plan was made with, none where it has none.

    Raises `InvalidPlan` where the text is no price table.
    """
    text = plan.made_from.prices
    if not text:
        return ()
    try:
        return parse_prices(text.encode(), where=f"{where}: $.made_from.prices")
    except InvalidPrices as error:
        raise InvalidPlan(
            error.message,
            wanted=error.wanted,
            had=error.had,
            hint=_EDITED,
            where="$.made_from.prices",
        ) from None


def _check_hash(root: Node, said: str) -> None:
    found = sha256_of({key: each for key, each in root.value.items() if key != "sha256"})
    if found != said:
        raise root.faults.last(
            Fault(
                place="$.sha256",
                sentence=f"expected the hash of the plan, {found[:16]}.., got {said[:16]}..",
                wanted=found,
                had=said,
                hint=_EDITED,
            )
        )


def _made_from(node: Node) -> MadeFrom:
    fields = node.members(_MADE_FROM, _NOT_ALWAYS)
    policy, said = fields["policy"].text(), _sha256(fields["policy_sha256"])
    if said and said != policy_sha256(policy):
        fields["policy_sha256"].wrong("the hash of the policy", hint=_EDITED)
    return MadeFrom(
        snapshot_sha256=_sha256(fields["snapshot_sha256"], or_empty=True),
        brokers=MappingProxyType(_brokers(fields["brokers"])),
        policy=policy,
        policy_sha256=said,
        topics=tuple(item.name("a glob") for item in fields["topics"].items("a list of globs")),
        partitions=MappingProxyType(_counts(fields["partitions"])),
        prices=fields["prices"].text("a price table"),
    )


def _counts(node: Node) -> dict[str, int]:
    """Topic -> number of its partitions; nothing where the file does not tell."""
    counts: dict[str, int] = {}
    if node.value is None:
        return counts
    for item in node.items("a list of topics"):
        fields = item.members(("count", "topic"))
        topic = fields["topic"].name("a topic name")
        if topic in counts:
            fields["topic"].wrong("a topic listed once", hint=_EDITED)
        counts[topic] = fields["count"].integer("a number of partitions", 1, _MAX_PARTITION)
    return counts


def _brokers(node: Node) -> dict[int, SeenBroker]:
    brokers: dict[int, SeenBroker] = {}
    for item in node.items("a list of brokers"):
        fields = item.members(("id", "is_fenced", "rack"))
        broker, is_fenced, rack = fields["id"].broker_id(), fields["is_fenced"], fields["rack"]
        if broker in brokers and isinstance(item.value, dict):
            fields["id"].wrong("a broker listed once", hint=_EDITED)
        brokers[broker] = SeenBroker(
            rack=None if rack.value is None else rack_from(rack),
            is_fenced=None if is_fenced.value is None else is_fenced.flag(),
        )
    return brokers


def _sha256(node: Node, *, or_empty: bool = False) -> str:
    text = node.text("a SHA-256 in hex")
    if isinstance(node.value, str) and not _SHA256.fullmatch(text) and (text or not or_empty):
        node.wrong("a SHA-256 in hex")
    return text


def _minimise(node: Node) -> Minimise:
    known: tuple[Minimise, ...] = get_args(Minimise)
    if node.value not in known:
        node.wrong(f"one of {', '.join(known)}")
        return known[0]
    return known[known.index(node.value)]


def _moves(node: Node, brokers: Mapping[int, SeenBroker]) -> tuple[Move, ...]:
    moves = []
    seen: set[tuple[str, int]] = set()
    for item in node.items("a list of moves"):
        move = _move(item, brokers)
        key = (move.topic, move.partition)
        if key in seen and isinstance(item.value, dict):
            _tell_twice(item, f"{move.topic}-{move.partition}")
        seen.add(key)
        moves.append(move)
    return tuple(moves)


def _tell_twice(item: Node, name: str) -> None:
    item.faults.add(
        Fault(
            place=item.path,
            sentence=f"expected each partition once, got {quoted(name)} twice",
            wanted=1,
            had=2,
            hint=_EDITED,
        )
    )


def _move(item: Node, brokers: Mapping[int, SeenBroker]) -> Move:
    fields = item.members(_MOVE)
    before, after = _replicas(fields["before"]), _replicas(fields["after"], known=brokers)
    if before == after and before:
        fields["after"].wrong("another list than before", hint=_EDITED)
    return Move(
        topic=fields["topic"].name("a topic name"),
        partition=fields["partition"].integer("a partition number", 0, _MAX_PARTITION),
        topic_id=fields["topic_id"].optional_name(),
        before=before,
        after=after,
        bytes=fields["bytes"].size(),
        cross_bytes=fields["cross_bytes"].size(),
        usd_nano=fields["usd_nano"].size("nano-dollars or null"),
        reasons=tuple(each.name("a reason") for each in fields["reasons"].items()),
    )


def _replicas(node: Node, *, known: Collection[int] | None = None) -> tuple[int, ...]:
    items = node.items("a list of broker ids")
    if isinstance(node.value, list) and not items:
        node.wrong("at least one broker", hint=_EDITED)
    brokers = tuple(item.broker_id() for item in items)
    _check_each(items, brokers, known)
    return brokers


def _check_each(
    items: Sequence[Node], brokers: Sequence[int], known: Collection[int] | None
) -> None:
    for place, (item, broker) in enumerate(zip(items, brokers, strict=True)):
        if broker in brokers[:place]:
            item.wrong("each broker once", hint=_EDITED)
        elif known is not None and broker not in known:
            item.wrong("a broker of made_from.brokers", hint=_EDITED)


def _totals(node: Node) -> Totals:
    fields = node.members(_TOTALS)
    counts = {key: fields[key].integer("a number from 0 on") for key in _COUNTS}
    return Totals(
        **counts,
        usd_nano=fields["usd_nano"].size("nano-dollars or null"),
        steady_before=_steady(fields["steady_before"]),
        steady_after=_steady(fields["steady_after"]),
    )


def _steady(node: Node) -> Steady | None:
    if node.value is None:
        return None
    fields = node.members(_STEADY)
    return Steady(
        cross_bytes_per_s=fields["cross_bytes_per_s"].integer("bytes per second"),
        usd_nano_per_day=fields["usd_nano_per_day"].size("nano-dollars or null"),
        unknown_rates=fields["unknown_rates"].integer("a number from 0 on"),
    )
