"""Do this first: the actions of a summary, each with what it costs or saves and its commands."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from rackwise.report.formats import change_text, name_text, usd_text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.report.sentences import Summary

OF_SAVINGS: Final = frozenset({"follower-fetch", "assignment", "producing"})


@dataclass(frozen=True, slots=True)
class ShownAction:
    """One action as the page shows it."""

    cluster: str
    title: str
    why: str
    money: str
    """What it costs or saves; empty where it does neither."""
    steps: tuple[tuple[str, str], ...]
    """(where, line) pairs; `run` for a command."""


def actions(summary: Summary) -> tuple[ShownAction, ...]:
    """The actions, the most urgent first."""
    return tuple(
        ShownAction(
            name_text(one["cluster"]),
            name_text(one["title"]),
            name_text(one["why"]),
            _money(one),
            tuple((name_text(step["where"]), name_text(step["line"])) for step in one["steps"]),
        )
        for one in summary["actions"]
    )


def sentence(summary: Summary) -> str:
    """The first action in one line; empty without an action."""
    for one in actions(summary):
        return one.title + (f" ({one.money})" if one.money else "")
    return ""


def _money(one: Mapping[str, Any]) -> str:
    if one["kind"] in OF_SAVINGS:
        return _saved(one["saves_low_usd"], one["saves_high_usd"])
    if one["usd_once"] is None and one["usd_monthly"] is None:
        return ""
    once = "a price not known" if one["usd_once"] is None else usd_text(one["usd_once"])
    if one["usd_monthly"] is None:
        return f"costs {once} once, change per 30 days not known"
    return f"costs {once} once, {change_text(one['usd_monthly'])} per 30 days"


def _saved(low: str | None, high: str | None) -> str:
    if low is not None and low == high:
        return f"saves {usd_text(low)} per 30 days"
    if low is not None and high is not None:
        return f"saves between {usd_text(low)} and {usd_text(high)} per 30 days"
    if high is not None:
        return f"saves at most {usd_text(high)} per 30 days"
    return f"saves at least {usd_text(low)} per 30 days" if low is not None else ""
