"""Throttles of KIP-73: whom a move concerns, how ours join what stands there, how they leave again.

Goals, in order: an operator's throttle is as it was, bit for bit, when we are gone; ours never
outlives us unseen; what is set is exactly what Kafka's own tool would set.

Algorithm. The sources of a move are the replicas that hold the data, so without those being added;
its destinations are the targets that are not among them. A topic lists `partition:source` for its
leaders and `partition:destination` for its followers, sorted as text, joined by commas. A list is
merged with what stands there; `*` already means all, and stays. A rate is one number per broker.

Taking off: where the value is what we set, the prior one comes back (absent: the key is deleted).
Where others have changed it since, only our own entries are taken out of a list, and a rate is left
as it is. What is absent stays absent.

```
prior    ours            now                    then
absent   0:1,0:4         0:1,0:4                deleted
7:9      0:1,0:4,7:9     0:1,0:4,7:9            7:9
7:9      0:1,0:4,7:9     0:1,0:4,7:9,8:2        7:9,8:2     someone added 8:2
absent   5000            9000                   9000        someone set it, it is theirs
```

What this does not do: clear all throttles, as `kafka-reassign-partitions --verify` does, the
operator's own among them. Numbers of bytes are per second everywhere.

Source: KIP-73; `ReassignPartitionsCommand.calculateProposedMoveMap`, `calculateLeaderThrottles`,
`calculateFollowerThrottles`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.applying.model import Entry, ThrottleKey

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rackwise.core.applying.model import Over, PartitionId

LEADER_RATE = "leader.replication.throttled.rate"
FOLLOWER_RATE = "follower.replication.throttled.rate"
LEADER_REPLICAS = "leader.replication.throttled.replicas"
FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"
RATES = (LEADER_RATE, FOLLOWER_RATE)
LISTS = (LEADER_REPLICAS, FOLLOWER_REPLICAS)

_ALL = "*"

Act: TypeAlias = Literal["none", "set", "delete"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flow:
    """Whom one move concerns: brokers that send, and brokers that receive; both sorted."""

    partition: PartitionId
    sources: tuple[int, ...]
    destinations: tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Restored:
    """What to do with one key. `is_changed`: others had changed it since we set it."""

    act: Act
    value: str | None = None
    is_changed: bool = False


def flow_of(
    partition: PartitionId,
    replicas: Iterable[int],
    adding: Iterable[int],
    target: Iterable[int],
) -> Flow:
    """Sources and destinations of a move to `target`, which may replace one that is under way.

    Source: `ReassignPartitionsCommand.calculateProposedMoveMap`.
    """
    sources = set(replicas) - set(adding)
    return Flow(
        partition=partition,
        sources=tuple(sorted(sources)),
        destinations=tuple(sorted(set(target) - sources)),
    )


def throttled_replicas(flows: Iterable[Flow]) -> tuple[dict[str, str], dict[str, str]]:
    """Topic -> its list of throttled leaders, and topic -> its list of throttled followers."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    for flow in flows:
        topic, number = flow.partition
        leaders.setdefault(topic, set()).update(f"{number}:{each}" for each in flow.sources)
        followers.setdefault(topic, set()).update(f"{number}:{each}" for each in flow.destinations)
    return _joined(leaders), _joined(followers)


def _joined(lists: Mapping[str, set[str]]) -> dict[str, str]:
    return {topic: ",".join(sorted(entries)) for topic, entries in lists.items() if entries}


def throttles(flows: Iterable[Flow], rate: int) -> dict[ThrottleKey, str]:
    """Key -> value, were nothing set yet: rates of the brokers, lists of the topics.

    Moves that copy nothing are left out.
    """
    copies = [flow for flow in flows if flow.destinations]
    sources = sorted({each for flow in copies for each in flow.sources})
    destinations = sorted({each for flow in copies for each in flow.destinations})
    wanted = {ThrottleKey("broker", str(each), LEADER_RATE): str(rate) for each in sources}
    for each in destinations:
        wanted[ThrottleKey("broker", str(each), FOLLOWER_RATE)] = str(rate)
    for key, lists in zip(LISTS, throttled_replicas(copies), strict=True):
        for topic in sorted(lists):
            wanted[ThrottleKey("topic", topic, key)] = lists[topic]
    return wanted


def joined(key: ThrottleKey, ours: str, now: str | None, entry: Entry | None, over: Over) -> str:
    """What the key is to be, with what stands there `now`; `entry`: ours from before, if any.

    A list has both; of a rate of others `over` decides.
    """
    if key.kind == "topic":
        return merged(now, ours)
    is_theirs = now is not None and (entry is None or now not in entry.ours)
    if not is_theirs or now is None or over == "ours":
        return ours
    return now if over == "keep" else max(now, ours, key=bytes_per_s)


def merged(now: str | None, ours: str) -> str:
    """Both lists in one, sorted as text; `*` is all, and stays."""
    entries = _entries(now)
    return _ALL if _ALL in entries else ",".join(sorted(entries | _entries(ours)))


def bytes_per_s(value: str | None) -> int:
    """A rate as Kafka reads it; -1 for what is no number."""
    text = (value or "").strip()
    return int(text) if text.isascii() and text.isdigit() else -1


def entry_of(key: ThrottleKey, entry: Entry | None, now: str | None, value: str) -> Entry:
    """The entry once `value` is set where `now` stands.

    What stands there and is not ours is the new prior value, without our own part.
    """
    if entry is None:
        return Entry(prior=now, ours=(value,))
    ours = (*(each for each in entry.ours if each != value), value)
    if now is None or now == entry.prior or now in entry.ours:
        prior = None if now is None else entry.prior
    else:
        prior = now if key.kind == "broker" else _without(entry, now)
    return Entry(prior=prior, ours=ours)


def restored(key: ThrottleKey, entry: Entry, now: str | None) -> Restored:
    """How a key of ours becomes what it was."""
    if now is None or now == entry.prior:
        return Restored(act="none")
    if now in entry.ours:
        if entry.prior is None:
            return Restored(act="delete")
        return Restored(act="set", value=entry.prior)
    if key.kind == "broker":
        return Restored(act="none", is_changed=True)
    left = _without(entry, now)
    if left == now:
        return Restored(act="none", is_changed=True)
    if not left and entry.prior is None:
        return Restored(act="delete", is_changed=True)
    return Restored(act="set", value=left, is_changed=True)


def _without(entry: Entry, now: str) -> str:
    """A list without our own entries."""
    ours = {each for value in entry.ours for each in _entries(value)} - _entries(entry.prior)
    kept = [each.strip() for each in now.split(",")]
    if not ours.intersection(kept):
        return now
    return ",".join(each for each in kept if each not in ours)


def _entries(value: str | None) -> set[str]:
    return {each.strip() for each in (value or "").split(",")} - {""}
