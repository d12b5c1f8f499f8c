"""The proof in a plan file: fair loads, certificates and the verdict, read strictly.

Mappings by broker id are JSON objects, whose keys are the ids as decimal text without leading
zeros. A group's `low` and `high` are as long as its `brokers`, and no low is above its high.
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.json.declare import MAX_ID
from rackwise.core.planning.model import Certificate, Cut, Fair, Group, TopicPrice, Verdict

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwise.core.json.node import Node

_FAIR = ("cuts", "groups", "leader_groups", "topic_caps")
_CERTIFICATE = (
    "cuts",
    "groups",
    "lower_bound",
    "objective",
    "prices",
    "topic_prices",
    "unit",
)
_VERDICT = (
    "cost",
    "gap",
    "is_fair",
    "is_heuristic",
    "is_legal",
    "lower_bound",
    "problems",
    "text",
)
_TOPIC_PRICE = 4
_LEAST = -(2**63)


def fair_from(node: Node) -> Fair:
    """What is fair."""
    fields = node.members(_FAIR)
    return Fair(
        groups=_groups(fields["groups"]),
        cuts=_cuts(fields["cuts"]),
        topic_caps=MappingProxyType(
            {
                topic: _by_broker(caps, "a number of replicas", 0)
                for topic, caps in fields["topic_caps"].entries()
            }
        ),
        leader_groups=_groups(fields["leader_groups"]),
    )


def certificate_from(node: Node) -> Certificate:
    """One certificate."""
    fields = node.members(_CERTIFICATE)
    return Certificate(
        objective=fields["objective"].name(),
        unit=fields["unit"].name(),
        groups=_groups(fields["groups"]),
        cuts=_cuts(fields["cuts"]),
        prices=_by_broker(fields["prices"], "a price", _LEAST),
        topic_prices=tuple(_topic_prices(fields["topic_prices"])),
        lower_bound=fields["lower_bound"].integer("a lower bound", _LEAST),
    )


def verdict_from(node: Node) -> Verdict:
    """The verdict; its text has to be what the rest of it says."""
    fields = node.members(_VERDICT)
    verdict = Verdict(
        cost=fields["cost"].integer("a cost", _LEAST),
        lower_bound=fields["lower_bound"].integer("a lower bound", _LEAST),
        gap=fields["gap"].integer("a gap", _LEAST),
        is_legal=fields["is_legal"].flag(),
        is_fair=fields["is_fair"].flag(),
        problems=tuple(item.text() for item in fields["problems"].items()),
        is_heuristic=fields["is_heuristic"].flag(),
    )
    if fields["text"].text() != verdict.text and isinstance(fields["text"].value, str):
        fields["text"].wrong(f'"{verdict.text}"')
    return verdict


def _groups(node: Node) -> tuple[Group, ...]:
    return tuple(map(_group, node.items("a list of groups")))


def _group(node: Node) -> Group:
    fields = node.members(("brokers", "high", "low", "total"))
    brokers = _brokers(fields["brokers"])
    low, high = _numbers(fields["low"]), _numbers(fields["high"])
    for key, found in (("low", low), ("high", high)):
        if len(found) != len(brokers) and isinstance(fields[key].value, list):
            fields[key].wrong(f"as many numbers as brokers, {len(brokers)}")
    if any(least > most for least, most in zip(low, high, strict=False)):
        fields["low"].wrong("no low above its high")
    return Group(
        brokers=brokers, low=low, high=high, total=fields["total"].integer("a number of replicas")
    )


def _cuts(node: Node) -> tuple[Cut, ...]:
    return tuple(map(_cut, node.items("a list of cuts")))


def _cut(node: Node) -> Cut:
    fields = node.members(("brokers", "least", "reason"))
    return Cut(
        brokers=_brokers(fields["brokers"]),
        least=fields["least"].integer("a number of replicas"),
        reason=fields["reason"].text(),
    )


def _brokers(node: Node) -> tuple[int, ...]:
    return tuple(item.broker_id() for item in node.items("a list of broker ids"))


def _numbers(node: Node) -> tuple[int, ...]:
    return tuple(item.integer("a number of replicas") for item in node.items("a list of numbers"))


def _by_broker(node: Node, wanted: str, low: int) -> Mapping[int, int]:
    found: dict[int, int] = {}
    for key, item in node.entries():
        is_id = key.isascii() and key.isdigit() and str(int(key[:20])) == key
        if is_id and int(key) <= MAX_ID:
            found[int(key)] = item.integer(wanted, low)
        else:
            node.faults.wrong(node.path, "a broker id as key", key)
    return MappingProxyType(dict(sorted(found.items())))


def _topic_prices(node: Node) -> Iterator[TopicPrice]:
    wanted = "topic, broker, cap and price"
    for item in node.items("a list of topic prices"):
        cells = item.items(wanted)
        if len(cells) == _TOPIC_PRICE:
            topic, broker, cap, price = cells
            yield TopicPrice(
                topic=topic.name("a topic name"),
                broker=broker.broker_id(),
                cap=cap.integer("a number of replicas"),
                price=price.integer("a price from 0 on"),
            )
        elif isinstance(item.value, list):
            item.wrong(wanted)
