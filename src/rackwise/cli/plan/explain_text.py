"""The sentences of `rackwise explain`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.plan.text import MONTH_DAYS, amount
from rackwise.cli.tables import ids
from rackwise.core.planning.model import is_limited
from rackwise.core.text import counted, escaped
from rackwise.core.traffic import usd_of
from rackwise.report.formats import usd_text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rackwise.core.planning.model import Plan
    from rackwise.core.planning.reasons.model import (
        BrokerLoad,
        Extra,
        LeaderReason,
        OtherTarget,
        PartitionReason,
    )

REPLICATION = "replication"


def sentences(reason: PartitionReason, plan: Plan) -> Iterator[str]:
    """Say why the plan moves the partition, or leaves it."""
    yield _first(reason)
    if any((move.topic, move.partition) == (reason.topic, reason.partition) for move in plan.later):
        yield (
            f"This plan copies at most {counted(plan.max_moves or 0, 'replica')}, so it leaves "
            "this move for later."
        )
    for rule in reason.rules:
        level = "" if rule.level is None else f" at {escaped(rule.level)}"
        yield (
            f"It breaks {rule.rule}{level}: expected {escaped(rule.wanted)}, "
            f"got {escaped(rule.had)}."
        )
    if reason.state == "moved":
        yield from _moved(reason, plan)
    elif reason.state == "kept":
        yield from _kept(reason, plan)
    if reason.leader is not None:
        yield from _leader(reason.leader)
    elif reason.state == "reordered":
        yield "The order behind the preferred leader makes the leaders after a failure even."


def _first(reason: PartitionReason) -> str:
    name = f"{escaped(reason.topic)}-{reason.partition}"
    before, after = ids(reason.before), ids(reason.after)
    match reason.state:
        case "moved":
            return f"{name} moves from {before} to {after}."
        case "reordered":
            return f"{name} keeps its brokers, and its list changes from {before} to {after}."
        case "kept":
            rules = "" if reason.rules else ", and it breaks no rule about its list"
            return f"{name} is not moved: it keeps {before}{rules}."
        case "excluded":
            return f"{name} is not moved: its topic is excluded, so it keeps {before}."
        case "untouched":
            return f"{name} is not moved: the goal does not touch it, so it keeps {before}."
        case "unusable":
            return (
                f"{name} is not moved: it keeps {before}, because it has a replica on a broker "
                "that is not live or is to be drained, and the goal does not replace it."
            )
        case "cordoned":
            verb = "is" if len(reason.cordoned) == 1 else "are"
            return (
                f"{name} is not moved: it keeps {before}, because {_brokers(reason.cordoned)} "
                f"{verb} cordoned and Kafka accepts no new list that names a cordoned broker."
            )


def _brokers(brokers: tuple[int, ...]) -> str:
    return f"broker{'s' * (len(brokers) > 1)} {', '.join(map(str, brokers))}"


def _moved(reason: PartitionReason, plan: Plan) -> Iterator[str]:
    causes = [*_caps(reason, plan), *(["the loads of the brokers"] if plan.fair.groups else [])]
    if causes and not reason.rules:
        yield f"No rule about its list requires this: it moves because of {' and '.join(causes)}."
    for load in reason.given:
        yield f"{_broker(load)} gives a replica: {_load(load, 'replica')}."
        if load.broker in reason.cordoned:
            yield (
                f"Broker {load.broker} is cordoned, and Kafka accepts no new list that names a "
                "cordoned broker."
            )
    for load in reason.taken:
        yield f"{_broker(load)} takes a replica: {_load(load, 'replica')}."
        other = _best(reason, load.broker)
        if other is None:
            yield f"No other broker may take the place of broker {load.broker}."
        elif other.extra is not None:
            yield _other(other, other.extra)
    yield from _stay(reason, plan)


def _caps(reason: PartitionReason, plan: Plan) -> Iterator[str]:
    """Format the caps on the topic of the brokers that lose a replica, if there are any."""
    caps = plan.fair.topic_caps.get(reason.topic, {})
    found = [load.broker for load in reason.given if load.broker in caps]
    if found:
        told = ", ".join(f"{caps[broker]} on broker {broker}" for broker in found)
        yield f"topic_spread (most replicas of the topic: {told})"


def _stay(reason: PartitionReason, plan: Plan) -> Iterator[str]:
    if not reason.can_stay:
        yield f"Keeping its brokers is not possible: {_why_not(plan)}."
    elif reason.stay is None:
        verdict = escaped(plan.verdict.text)
        yield f"The plan is not proved ({verdict}): what keeping its brokers costs is not known."
    else:
        priced = ", ".join(
            f"broker {load.broker}: {load.price}"
            for load in (*reason.given, *reason.taken)
            if load.price is not None
        )
        if reason.stay.amount:
            more = _more(reason.stay)
            yield f"By the dual prices ({priced}), keeping its brokers would cost {more}."
        else:
            yield (
                f"The dual prices ({priced}) do not exclude a plan that keeps its brokers and is "
                "as cheap."
            )


def _why_not(plan: Plan) -> str:
    """Say what a set has to do that the set before does not."""
    if is_limited(plan.goal):
        return (
            "a set of usable brokers must have the size that the goal asks for and break no rule "
            "more than its other replicas require"
        )
    return "a set of usable brokers must keep the rules"


def _kept(reason: PartitionReason, plan: Plan) -> Iterator[str]:
    other = next(iter(reason.others), None)
    if plan.certificates and not _has_sets(plan):
        yield "The plan chooses leaders only: every partition keeps its brokers."
    elif other is None:
        yield "No set that differs in one broker is legal."
    elif other.extra is not None:
        yield _other(other, other.extra)


def _other(other: OtherTarget, extra: Extra) -> str:
    if extra.amount:
        return f"Broker {other.broker} instead of {other.instead_of} would cost {_more(extra)}."
    return (
        f"The dual prices do not exclude a plan with broker {other.broker} instead of "
        f"{other.instead_of} that is as cheap."
    )


def _has_sets(plan: Plan) -> bool:
    return any(one.objective == plan.minimise for one in plan.certificates)


def _best(reason: PartitionReason, broker: int) -> OtherTarget | None:
    return next((one for one in reason.others if one.instead_of == broker), None)


def _more(extra: Extra) -> str:
    """Format `at least 1 replica more`."""
    if extra.objective == REPLICATION:
        usd = usd_text(usd_of(extra.amount * MONTH_DAYS))
        return f"as many replicas, but at least {usd} per {MONTH_DAYS} days more for replication"
    return f"at least {amount(extra.amount, extra.objective)} more"


def _broker(load: BrokerLoad) -> str:
    return f"Broker {load.broker}" + ("" if load.rack is None else f" ({escaped(load.rack)})")


def _load(load: BrokerLoad, noun: str) -> str:
    """Format `it has 7 replicas, takes 0, gives 1 and ends with 6; fair is 5 to 6`."""
    had = counted(load.before, noun)
    text = f"it has {had}, takes {load.takes}, gives {load.gives} and ends with {load.after}"
    if load.low is None:
        return text
    fair = f"{load.low}" if load.low == load.high else f"{load.low} to {load.high}"
    return f"{text}; fair is {fair}"


def _leader(reason: LeaderReason) -> Iterator[str]:
    old, new = reason.before.broker, reason.after.broker
    change = f"The preferred leader changes from {old} to {new}"
    match reason.cause:
        case "gone":
            yield f"{change}, because broker {old} loses its replica."
        case "unusable":
            yield f"{change}, because broker {old} is not live, or is to be drained."
        case "not-eligible":
            yield f"{change}, because the policy does not let broker {old} lead it."
        case "loads":
            yield f"{change}, because of the leaders of the brokers."
            for load in (reason.before, reason.after):
                yield f"{_broker(load)}: {_load(load, 'preferred leader')}."
    if reason.extra is not None:
        if reason.extra.amount:
            yield f"Keeping broker {old} as leader would cost {_more(reason.extra)}."
        else:
            yield (
                f"The dual prices do not exclude a plan that keeps broker {old} as leader and is "
                "as cheap."
            )
