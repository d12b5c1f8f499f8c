"""The goal in a plan file: what was asked for, read strictly.

```
{"name":"drain","brokers":[7],"rebalance":false}     {"name":"set-rf","by_topic":[["orders*",3]],..}
{"name":"replace","pairs":[[7,12]]}                  {"name":"add","brokers":[[13,"/eu/a"]]}
```
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.files.plan.write import NAMES
from rackwise.core.errors import InvalidRack
from rackwise.core.planning.model import Add, Drain, Repair, Replace, SetReplication
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.json.node import Node
    from rackwise.core.planning.model import Goal

_PAIR = 2
_MAX_REPLICATION = 2**15 - 1


def goal_from(node: Node) -> Goal:
    """The goal that an object says; a fault and `Repair` where it says none."""
    name = node.value.get("name") if isinstance(node.value, dict) else None
    if not isinstance(name, str) or name not in _KINDS:
        node.wrong(f"a goal named one of {', '.join(_KINDS)}")
        return Repair()
    if name in _READERS:
        return _READERS[name](node)
    node.members(("name",))
    goal: Goal = _KINDS[name]()
    return goal


def rack_from(node: Node) -> Rack:
    """A rack that is one; a fault where it is none."""
    rack = Rack(node.text("a rack or null"))
    try:
        rack.levels  # noqa: B018 (reading it is the check)
    except InvalidRack as error:
        if isinstance(node.value, str):
            node.wrong("a rack", hint=error.hint)
    return rack


def _drain(node: Node) -> Drain:
    fields = node.members(("brokers", "name", "rebalance"))
    return Drain(
        brokers=tuple(item.broker_id() for item in fields["brokers"].items()),
        rebalance=fields["rebalance"].flag(),
    )


def _replace(node: Node) -> Replace:
    fields = node.members(("name", "pairs"))
    pairs = [_pair(item, "a pair of broker ids") for item in fields["pairs"].items()]
    return Replace(
        pairs=tuple((old.broker_id(), new.broker_id()) for old, new in filter(None, pairs))
    )


def _set_replication(node: Node) -> SetReplication:
    fields = node.members(("by_topic", "name", "rebalance"))
    pairs = [_pair(item, "a pair of glob and replicas") for item in fields["by_topic"].items()]
    return SetReplication(
        by_topic=tuple(
            (glob.name("a glob"), size.integer("a number of replicas", 1, _MAX_REPLICATION))
            for glob, size in filter(None, pairs)
        ),
        rebalance=fields["rebalance"].flag(),
    )


def _add(node: Node) -> Add:
    fields = node.members(("brokers", "name"))
    pairs = [_pair(item, "a pair of broker id and rack") for item in fields["brokers"].items()]
    return Add(
        brokers=tuple((broker.broker_id(), rack_from(rack)) for broker, rack in filter(None, pairs))
    )


def _pair(node: Node, wanted: str) -> tuple[Node, Node] | None:
    items = node.items(wanted)
    if len(items) == _PAIR:
        return items[0], items[1]
    if isinstance(node.value, list):
        node.wrong(wanted)
    return None


_KINDS: Mapping[str, Callable[[], Goal]] = {name: kind for kind, name in NAMES.items()}
_READERS: Mapping[str, Callable[[Node], Goal]] = {
    "drain": _drain,
    "replace": _replace,
    "set-rf": _set_replication,
    "add": _add,
}
