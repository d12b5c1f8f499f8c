"""The options of `rackwise analyze` that are values: read and checked."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Literal, cast

from rackwise.core.errors import InvalidConfig
from rackwise.core.savings import EPS
from rackwise.core.text import alternatives, escaped
from rackwise.pipeline.ingest.formats import FORMATS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

CHOICES = {
    "flow_format": tuple(FORMATS),
    "side": ("auto", "egress", "broker"),
    "dedupe": ("side", "exact"),
    "keep": ("bronze",),
    "goal": ("repair", "balance"),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The options that are values, checked."""

    flow_format: str
    levels: tuple[str, ...]
    first_day: date | None
    last_day: date | None
    side: Literal["auto", "egress", "broker"]
    dedupe: Literal["side", "exact"]
    max_quarantine: Decimal
    keep: tuple[str, ...]
    eps: tuple[float, ...]
    unkeyed: Mapping[str, float]
    conf: Mapping[str, str]
    goal: str | None


def wanted(
    *,
    flow_format: str,
    levels: str | None,
    first_day: str | None,
    last_day: str | None,
    side: str,
    dedupe: str,
    max_quarantine: str,
    keep: Sequence[str],
    eps: Sequence[str],
    unkeyed: Sequence[str],
    conf: Sequence[str],
    goal: str,
    no_plans: bool,
) -> Wanted:
    """The options as values; no goal is no plans. Raises `InvalidConfig` for one that is none."""
    first, last = _day("--from", first_day), _day("--to", last_day)
    if first and last and last < first:
        raise InvalidConfig(
            f"invalid --to: expected --from ({first}) or later, got {last}",
            wanted=str(first),
            had=str(last),
            hint="both days are included: use --from DAY --to DAY for one day",
        )
    for one in keep:
        _one_of("keep", one)
    return Wanted(
        flow_format=_one_of("flow_format", flow_format),
        levels=_levels(levels),
        first_day=first,
        last_day=last,
        side=cast("Literal['auto', 'egress', 'broker']", _one_of("side", side)),
        dedupe=cast("Literal['side', 'exact']", _one_of("dedupe", dedupe)),
        max_quarantine=_share(max_quarantine),
        keep=tuple(sorted(set(keep))),
        eps=tuple(sorted({_bound(text) for text in eps})) or EPS,
        unkeyed=dict(_unkeyed(text) for text in unkeyed),
        conf=dict(_pair(text) for text in conf),
        goal=None if no_plans else _one_of("goal", goal),
    )


def _one_of(name: str, text: str) -> str:
    choices = CHOICES[name]
    if text not in choices:
        option = f"--{name.replace('_', '-')}"
        raise InvalidConfig(
            f"invalid {option}: expected {alternatives(choices)}, got {escaped(text)}",
            wanted=", ".join(choices),
            had=text,
            hint=f"choose one of these for {option}",
        )
    return text


def _day(option: str, text: str | None) -> date | None:
    if text is None:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise InvalidConfig(
            f"invalid {option}: expected a day such as 2026-11-01, got {escaped(text)}",
            wanted="2026-11-01",
            had=text,
            hint="write year, month and day with hyphens",
        ) from None


def _levels(text: str | None) -> tuple[str, ...]:
    names = tuple(name.strip() for name in text.split(",")) if text is not None else ()
    if len(set(names)) != len(names) or not all(name.isprintable() and name for name in names):
        raise InvalidConfig(
            "invalid --levels: expected different names, coarsest first, got "
            f"{escaped(text or '')}",
            wanted="region,zone",
            had=text,
            hint="for example --levels region,zone",
        )
    return names


def _share(text: str) -> Decimal:
    try:
        share = Decimal(text)
    except InvalidOperation:
        share = Decimal(-1)
    if not (share.is_finite() and 0 <= share <= 1):
        raise InvalidConfig(
            f"invalid --max-quarantine: expected a share from 0 to 1, got {escaped(text)}",
            wanted="0..1",
            had=text,
            hint="write 0.01 for one row in a hundred",
        )
    return share


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _bound(text: str) -> float:
    bound = _number(text)
    if not bound >= 0:
        raise InvalidConfig(
            f"invalid --eps: expected a number from 0 to inf, got {escaped(text)}",
            wanted="0..inf",
            had=text,
            hint="write 0.1 to let a rack take a tenth more than its even part, inf for any amount",
        )
    return bound


def _unkeyed(text: str) -> tuple[str, float]:
    topic, _, number = text.rpartition("=")
    share = _number(number)
    if not (topic and 0 <= share <= 1):
        raise InvalidConfig(
            f"invalid --unkeyed-share: expected TOPIC=SHARE, got {escaped(text)}",
            wanted="TOPIC=0..1",
            had=text,
            hint="for example --unkeyed-share orders=0.8",
        )
    return topic, share


def _pair(text: str) -> tuple[str, str]:
    key, is_pair, value = text.partition("=")
    if not (key and is_pair):
        raise InvalidConfig(
            f"invalid --conf: expected KEY=VALUE, got {escaped(text)}",
            wanted="KEY=VALUE",
            had=text,
            hint="for example --conf spark.driver.memory=2g",
        )
    return key, value
