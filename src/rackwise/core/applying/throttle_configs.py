"""Throttle configs (KIP-73) of a run: how to compute, merge and restore their values.

Goals, in order: an operator's throttle is bit for bit the same after the run; no throttle of this
tool outlives the run unreported; the values are exactly those of Kafka's own tool.

Algorithm. The sources of a move are the replicas that hold the data, without the replicas that are
being added. The destinations of a move are the target replicas that are not sources. A topic lists
`partition:source` for its leaders and `partition:destination` for its followers, sorted as text,
joined by commas. A list is merged with the existing one; `*` already means all, and stays. A rate
is one number per broker.

Clearing. If the value is still ours, the prior value is restored; if there was none, the key is
deleted. If somebody has changed the value since, only our entries are removed from a list, and a
rate stays unchanged. An absent key stays absent.

```
prior    ours            now                    then
absent   0:1,0:4         0:1,0:4                deleted
7:9      0:1,0:4,7:9     0:1,0:4,7:9            7:9
7:9      0:1,0:4,7:9     0:1,0:4,7:9,8:2        7:9,8:2     an operator added 8:2
absent   5000            9000                   9000        an operator set it, so it stays
```

What this does not do: clear all throttles, as `kafka-reassign-partitions --verify` does, the
operator's own among them. All rates are bytes per second.

Source: KIP-73; `ReassignPartitionsCommand.calculateProposedMoveMap`, `calculateLeaderThrottles`,
`calculateFollowerThrottles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.applying.model import Entry, ThrottleKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.model import RateConflict
    from rackwise.core.model import PartitionId

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
RATES = (LEADER_RATE, FOLLOWER_RATE)
LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)

_ALL = "*"

RestoreAction: TypeAlias = Literal["none", "set", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottledMove:
    """The brokers of one move, sorted."""

    partition: PartitionId
    sources: tuple[int, ...]
    """Brokers that send."""
    destinations: tuple[int, ...]
    """Brokers that receive."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ThrottleRestore:
    """How to restore one key."""

    act: RestoreAction
    value: str | None = None
    is_changed: bool = False
    """Whether others changed the value after us."""


def throttled_move(
    partition: PartitionId,
    replicas: Iterable[int],
    adding: Iterable[int],
    target: Iterable[int],
) -> ThrottledMove:
    """Sources and destinations of a move to `target`, which may replace a running one.

    Source: `ReassignPartitionsCommand.calculateProposedMoveMap`.
    """
    sources = set(replicas) - set(adding)
    return ThrottledMove(
        partition=partition,
        sources=tuple(sorted(sources)),
        destinations=tuple(sorted(set(target) - sources)),
    )


def throttled_replicas(flows: Iterable[ThrottledMove]) -> tuple[dict[str, str], dict[str, str]]:
    """Topic -> its list of throttled leaders, and topic -> its list of throttled followers."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    for flow in flows:
        topic, number = flow.partition
        leaders.setdefault(topic, set()).update(f"{number}:{each}" for each in flow.sources)
        followers.setdefault(topic, set()).update(f"{number}:{each}" for each in flow.destinations)
    return _join_lists(leaders), _join_lists(followers)


def _join_lists(lists: Mapping[str, set[str]]) -> dict[str, str]:
    return {topic: ",".join(sorted(entries)) for topic, entries in lists.items() if entries}


def throttle_values(flows: Iterable[ThrottledMove], rate: int) -> dict[ThrottleKey, str]:
    """Key -> value on a cluster without throttles: rates of the brokers, lists of the topics.

    Moves that copy nothing are left out.
    """
    copies = [flow for flow in flows if flow.destinations]
    sources = sorted({each for flow in copies for each in flow.sources})
    destinations = sorted({each for flow in copies for each in flow.destinations})
    values = {ThrottleKey("broker", str(each), LEADER_RATE): str(rate) for each in sources}
    for each in destinations:
        values[ThrottleKey("broker", str(each), FOLLOWER_RATE)] = str(rate)
    for key, lists in zip(LISTS, throttled_replicas(copies), strict=True):
        for topic in sorted(lists):
            values[ThrottleKey("topic", topic, key)] = lists[topic]
    return values


def merge_value(
    key: ThrottleKey, ours: str, now: str | None, entry: Entry | None, over: RateConflict
) -> str:
    """The value of a key, merged with its value `now`; `entry`: our earlier values, if any.

    A list contains both. Where others set the rate, `over` decides.
    """
    if key.kind == "topic":
        return merge_lists(now, ours)
    is_theirs = now is not None and (entry is None or now not in entry.ours)
    if not is_theirs or now is None or over == "ours":
        return ours
    return now if over == "keep" else max(now, ours, key=bytes_per_s)


def merge_lists(now: str | None, ours: str) -> str:
    """Both lists in one, sorted as text; `*` means all, and stays."""
    entries = _entries(now)
    return _ALL if _ALL in entries else ",".join(sorted(entries | _entries(ours)))


def bytes_per_s(value: str | None) -> int:
    """A rate as Kafka reads it; -1 for a text that is no number."""
    text = (value or "").strip()
    return int(text) if text.isascii() and text.isdigit() else -1


def update_entry(key: ThrottleKey, entry: Entry | None, now: str | None, value: str) -> Entry:
    """The entry after `value` replaces `now`.

    A value of others becomes the new prior value, without our entries.
    """
    if entry is None:
        return Entry(prior=now, ours=(value,))
    ours = (*(each for each in entry.ours if each != value), value)
    if now is None or now == entry.prior or now in entry.ours:
        prior = None if now is None else entry.prior
    else:
        prior = now if key.kind == "broker" else _remove_ours(entry, now)
    return Entry(prior=prior, ours=ours)


def restore(key: ThrottleKey, entry: Entry, now: str | None) -> ThrottleRestore:
    """How to restore a key that this tool set."""
    if now is None or now == entry.prior:
        return ThrottleRestore(act="none")
    if now in entry.ours:
        if entry.prior is None:
            return ThrottleRestore(act="delete")
        return ThrottleRestore(act="set", value=entry.prior)
    if key.kind == "broker":
        return ThrottleRestore(act="none", is_changed=True)
    rest = _remove_ours(entry, now)
    if rest == now:
        return ThrottleRestore(act="none", is_changed=True)
    if not rest and entry.prior is None:
        return ThrottleRestore(act="delete", is_changed=True)
    return ThrottleRestore(act="set", value=rest, is_changed=True)


def _remove_ours(entry: Entry, now: str) -> str:
    """The list without our entries."""
    ours = {each for value in entry.ours for each in _entries(value)} - _entries(entry.prior)
    kept = [each.strip() for each in now.split(",")]
    if not ours.intersection(kept):
        return now
    return ",".join(each for each in kept if each not in ours)


def _entries(value: str | None) -> set[str]:
    """The entries of a list of throttled replicas."""
    return {each.strip() for each in (value or "").split(",")} - {""}
