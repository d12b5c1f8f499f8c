"""A parsed table -> Policy: every key known, every value in its range, or one clear error.

The table is what a TOML or JSON parser gives. Checked here is all that needs no cluster: keys,
types, ranges, `min` over `max`, `count` or `pin` above `replication`, and what
the keys of one block cannot ask for at once (`limits`):

```
count = [{ rack = "/eu", min = 2, max = 1 }]
    -> topics[0].count[0]: expected min of at most max, got min 2 and max 1
spread = { zone = "evne" }
    -> topics[0].spread.zone: expected one of "even", "distinct", "off", got "evne"
weights = { 4 = 0 }
    -> brokers.weights.4: expected an integer of 1 or more, got 0
```

What this does not do: read a file, or know which levels, brokers and racks there are (`checking`).
"""

from __future__ import annotations

from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import InvalidRack
from rackwise.core.findings import Severity
from rackwise.core.policy.limits import fault_in
from rackwise.core.policy.model import (
    AtLeast,
    AuditPolicy,
    BalancePolicy,
    BrokerPolicy,
    CostPolicy,
    Policy,
    RackCount,
    RackPolicy,
    Slack,
    Spread,
    TopicBlock,
)
from rackwise.core.policy.table import Value, dotted, shown
from rackwise.core.racks import MAX_LEVELS, Rack
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rackwise.core.policy.table import KeyPath

POLICY_FORMAT = "rackwise.policy/1"
UNNAMED_LEVELS = ("zone", *(f"level{i}" for i in range(1, MAX_LEVELS + 1)))
"""What levels may be called when `racks.levels` names none."""


def policy_of(table: Mapping[str, object], *, where: Callable[[KeyPath], str] = dotted) -> Policy:
    """The policy that a parsed table says.

    `where`: key path -> what an error gives as its place. Raises `InvalidPolicy`.
    """
    root = Value(table, (), where)
    parts = root.parts(("format", "racks", "brokers", "balance", "cost", "audit", "topics"))
    _check_format(parts.get("format", root.at("format", None)))
    racks = _racks(parts["racks"]) if "racks" in parts else RackPolicy()
    said: dict[str, Any] = {
        key: read(parts[key]) for key, read in _SECTIONS.items() if key in parts
    }
    if "audit" in parts:
        said["audit"] = _audit(parts["audit"], racks.levels)
    if "topics" in parts:
        said["topics"] = tuple(_block(block, racks.levels) for block in parts["topics"].items())
    return Policy(racks=racks, **said)


def _check_format(value: Value) -> None:
    if value.value != POLICY_FORMAT:
        raise value.unlike(
            shown(POLICY_FORMAT),
            hint=f'begin the policy with format = "{POLICY_FORMAT}", or upgrade rackwise',
        )


def _ids(value: Value) -> tuple[int, ...]:
    """Broker ids, rising."""
    found: set[int] = set()
    for item in value.items():
        if (broker := item.integer(0)) in found:
            raise item.error(
                f"broker {broker} appears twice", wanted="each broker once", had=broker
            )
        found.add(broker)
    return tuple(sorted(found))


def _texts(value: Value) -> tuple[str, ...]:
    """Texts in their order."""
    found: dict[str, None] = {}
    for item in value.items():
        if (text := item.text()) in found:
            raise item.error(f"{shown(text)} appears twice", wanted="each name once", had=text)
        found[text] = None
    return tuple(found)


def _racks(value: Value) -> RackPolicy:
    parts = value.parts(("levels", "missing"))
    said: dict[str, Any] = {}
    if "missing" in parts:
        said["missing"] = parts["missing"].choice(("error", "one-rack", "unaware"))
    if "levels" in parts:
        said["levels"] = levels = _texts(parts["levels"])
        if len(levels) > MAX_LEVELS:
            raise parts["levels"].error(
                f"expected at most {MAX_LEVELS} levels, got {len(levels)}",
                wanted=MAX_LEVELS,
                had=len(levels),
            )
    return RackPolicy(**said)


def _brokers(value: Value) -> BrokerPolicy:
    parts = value.parts(("drain", "exclude", "no_lead", "weights"))
    said: dict[str, Any] = {key: _ids(part) for key, part in parts.items() if key != "weights"}
    if "weights" in parts:
        hint = "list a broker that must hold nothing in drain"
        weights = {
            weight.key(): weight.integer(1, hint=hint) for _, weight in parts["weights"].entries()
        }
        said["weights"] = MappingProxyType(dict(sorted(weights.items())))
    return BrokerPolicy(**said)


def _balance(value: Value) -> BalancePolicy:
    parts = value.parts(("replicas", "leaders", "failover"))
    said: dict[str, Any] = {}
    if "replicas" in parts:
        said["replicas"] = _replicas(parts["replicas"])
    if "leaders" in parts:
        said["leaders"] = parts["leaders"].choice(("even", "keep", "off"))
    if "failover" in parts:
        said["failover"] = parts["failover"].choice((True, False))
    return BalancePolicy(**said)


def _replicas(value: Value) -> str | Slack:
    if isinstance(value.value, dict) and value.value:
        hint = 'no slack at all is replicas = "even"'
        return Slack(value.parts(("slack",))["slack"].integer(0, hint=hint))
    return value.choice(("even", "off"), or_else=" or { slack = N }")


def _cost(value: Value) -> CostPolicy:
    parts = value.parts(("minimise", "prices", "provider"))
    said: dict[str, Any] = {key: part.text() for key, part in parts.items()}
    if "minimise" in parts:
        said["minimise"] = parts["minimise"].choice(("moves", "bytes", "usd"))
    return CostPolicy(**said)


_SECTIONS: Mapping[str, Callable[[Value], Any]] = MappingProxyType(
    {"brokers": _brokers, "balance": _balance, "cost": _cost}
)


def _audit(value: Value, levels: Sequence[str]) -> AuditPolicy:
    parts = value.parts(("fail_on", "rack_loss", "ignore"))
    said: dict[str, Any] = {}
    if "fail_on" in parts:
        said["fail_on"] = parts["fail_on"].choice((*map(str, Severity), "never"))
    if "rack_loss" in parts:
        said["rack_loss"] = _rack_loss(parts["rack_loss"], levels)
    if "ignore" in parts:
        said["ignore"] = _texts(parts["ignore"])
    return AuditPolicy(**said)


def _rack_loss(value: Value, levels: Sequence[str]) -> tuple[str, ...]:
    if isinstance(value.value, str):
        value.choice(("off",), or_else=" or a list of levels")
        return ()
    for item in value.items():
        _check_level(item, item.text(), levels)
    return _texts(value)


def _check_level(value: Value, level: str, levels: Sequence[str]) -> None:
    known = levels or UNNAMED_LEVELS
    if level not in known:
        raise value.error(
            f"no level is called {shown(level)}",
            wanted=", ".join(known),
            had=level,
            hint=f"levels: {', '.join(map(escaped, known))}; racks.levels names them",
        )


def _block(value: Value, levels: Sequence[str]) -> TopicBlock:
    parts = value.parts(("match", *_BLOCK_KEYS))
    match = _texts(parts["match"]) if "match" in parts else ()
    if not match:
        raise value.error(
            "expected match with one glob or more, got none",
            wanted="match",
            had=None,
            hint='match = ["*"] is every topic',
        )
    said: dict[str, Any] = {
        key: read(parts[key]) for key, read in _BLOCK_KEYS.items() if key in parts
    }
    block = TopicBlock(match=match, **said)
    for level in block.spread:
        _check_level(parts["spread"].at(level, level), level, levels)
    fault = fault_in(
        spread={_place_of(level, levels): spread for level, spread in block.spread.items()},
        count=block.count or (),
        pin=block.pin or {},
        replication=block.replication,
    )
    if fault is not None:
        raise parts[fault.key].error(
            fault.message, wanted=fault.wanted, had=fault.had, hint=fault.hint
        )
    return block


def _place_of(level: str, levels: Sequence[str]) -> int:
    """Index of a level; without names `zone` and `level1` are 0, `level2` is 1."""
    return levels.index(level) if levels else max(UNNAMED_LEVELS.index(level) - 1, 0)


def _spread(value: Value) -> Mapping[str, Spread]:
    return MappingProxyType({level: _spread_of(item) for level, item in value.entries()})


def _spread_of(value: Value) -> Spread:
    if isinstance(value.value, dict) and value.value:
        return AtLeast(value.parts(("at_least",))["at_least"].integer(1))
    options: tuple[Spread, ...] = ("even", "distinct", "off")
    return value.choice(options, or_else=" or { at_least = N }")


def _count(value: Value) -> tuple[RackCount, ...]:
    found: dict[str, RackCount] = {}
    for item in value.items():
        count = _count_of(item)
        if count.rack in found:
            raise item.error(
                f"rack {shown(count.rack)} appears twice", wanted="each rack once", had=count.rack
            )
        found[count.rack] = count
    return tuple(found.values())


def _count_of(value: Value) -> RackCount:
    parts = value.parts(("rack", "exactly", "min", "max"))
    if set(parts) not in _COUNT_FORMS:
        had = ", ".join(parts) or "nothing"
        raise value.error(
            f"expected rack with exactly, or with min, max or both, got {had}",
            wanted="{ rack = R, exactly = N } or { rack = R, min = N, max = N }",
            had=had,
        )
    rack = _rack_text(parts["rack"])
    numbers = {key: part.integer(0) for key, part in parts.items() if key != "rack"}
    least = numbers.get("exactly", numbers.get("min", 0))
    most = numbers.get("exactly", numbers.get("max"))
    if most is not None and least > most:
        raise value.error(
            f"expected min of at most max, got min {least} and max {most}",
            wanted=most,
            had=least,
            hint="raise max or lower min; one number alone is exactly = N",
        )
    return RackCount(rack=rack, min=least, max=most)


_COUNT_FORMS = (
    {"rack", "exactly"},
    {"rack", "min"},
    {"rack", "max"},
    {"rack", "min", "max"},
)


def _rack_text(value: Value) -> str:
    text = value.text()
    try:
        levels = Rack(text).levels
    except InvalidRack as error:
        raise value.error(
            error.message, wanted=error.wanted, had=error.had, hint=error.hint
        ) from None
    if not levels:
        raise value.unlike("a rack below the root")
    return text


def _leader_racks(value: Value) -> tuple[str, ...]:
    racks = _texts(value)
    for item in value.items():
        _rack_text(item)
    return racks


def _pin(value: Value) -> Mapping[int, tuple[int, ...]]:
    return MappingProxyType({item.key(): _ids(item) for _, item in value.entries()})


_BLOCK_KEYS: Mapping[str, Callable[[Value], Any]] = MappingProxyType(
    {
        "spread": _spread,
        "topic_spread": lambda value: value.choice(("off", "even")),
        "replication": lambda value: value.integer(1),
        "count": _count,
        "count_others": lambda value: value.choice(("none", "any")),
        "pin": _pin,
        "leader_racks": _leader_racks,
    }
)
