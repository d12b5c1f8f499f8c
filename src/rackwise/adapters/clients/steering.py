"""The state of one topic in a producer plug-in, for any client.

```
client                          here                       core
metadata, or what broke it      see                        TopicPartitioner.set_view
a record that may go anywhere   peek, add or defer of choice: the choice and its windows
a window began, a window ended  began -> opens, ends       WindowLedger.open_window, end_window
completion of a marked record   done                       WindowLedger.done
every window's end              -> the load, the split     set_load, set_split where it grew old
```

Windows are marked, not records. A window's last record represents the window, because a partition
keeps its order. With `partitioner.availability.timeout.ms` the first record is marked too, so that
a dead leader is detected while a window is open.

```
records of a window   o o o o o o o o
marked                ^ with a time-out
                                    ^ always
```

The caller holds the topic's `lock`; one event loop needs no lock. `acquire` and `release` are the
lock's own methods: for each record they cost half of what a `with` does. Callers catch and record
exceptions. The client then chooses the partition as it does without the plug-in.

Source: KIP-794, KIP-1123; `RecordAccumulator` and `BuiltInPartitioner` of Kafka 4.4.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from threading import Lock
from typing import TYPE_CHECKING, Final, cast

from rackwise.core.partitioner import (
    PRODUCER,
    PRODUCER_RULES,
    PartitionLoad,
    QueueEntry,
    TopicPartitioner,
    TopicView,
    WindowLedger,
    upstream_load,
)
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rackwise.core.findings import Finding
    from rackwise.core.partitioner import (
        PartitionerConfig,
        PartitionerCounters,
        UpstreamLoad,
    )

NOBODY: Final = -1
"""The node of a partition that has no leader."""
DRAW_BITS: Final = 31
PHASES: Final = 16
KEPT: Final = 3
"""A stale split is kept for this many times its validity."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class SplitTerms:
    """A split as one client received it."""

    shares: Mapping[str, float]
    """Leader rack -> share."""
    weights: Mapping[str, float] | None = None
    """The leaders' weights that the split was computed for; None = not checked."""
    valid_for_ms: int | None = None
    """How long the split is valid; None = without limit."""


class Steering:
    """One topic of one producer.

    `choice`: chooses the partition. `lock`: callers hold it during every call here. `is_stale`: the
    view must be renewed. `has_drawn`: a window has begun, and `began` was not called for it yet.
    `ends`, `opens`: marks that wait for the window's last and first record.

    `room`: the bytes that the window can still take without an end; such records go to `partition`.
    The sender of such a record subtracts its bytes from `room` and adds 1 to `in_room`, without the
    lock: `+=` and `-=` of an attribute are not interrupted while Python has a global lock. `settle`
    counts all of them in the choice at once, and runs before every other change here. A record that
    is sent while it runs is counted by the next one, because nobody sets these numbers: everybody
    adds to them.
    `rng`: random numbers. `clock`: monotonic seconds; None: no ledger, as there are no completions.
    `marked_every`: how many windows make a batch. If above 1, one in so many windows of a partition
    is marked, and a batch weighs only behind another one. With an availability timeout it is 1.
    """

    __slots__ = (
        "_clock",
        "_config",
        "_first_room",
        "_given_ms",
        "_is_timed",
        "_late_nodes",
        "_marked_every",
        "_rng",
        "_seen",
        "_split",
        "_split_state",
        "_stale_ms",
        "_unmarked",
        "acquire",
        "choice",
        "due_ms",
        "ends",
        "has_drawn",
        "hold",
        "in_room",
        "is_stale",
        "ledger",
        "lock",
        "opens",
        "partition",
        "release",
        "room",
        "view",
    )

    def __init__(
        self,
        config: PartitionerConfig,
        view: TopicView,
        *,
        rng: Random,
        clock: Callable[[], float] | None,
        late_nodes: Callable[[], frozenset[int]] = frozenset,
        marked_every: int = 1,
    ) -> None:
        self._config = config
        self._clock = clock
        self._late_nodes = late_nodes
        self._rng = rng
        self._is_timed = config.availability_timeout_ms > 0 and clock is not None
        self._marked_every = 1 if self._is_timed else marked_every
        # partition -> windows that ended since the last one with a mark
        self._unmarked: dict[int, int] = {}
        self._seen: set[int] = set()
        self._split: SplitTerms | None = None
        self._split_state = _NO_SPLIT
        self._given_ms = 0
        self._stale_ms: int | None = None
        self.lock = Lock()
        self.acquire, self.release = self.lock.acquire, self.lock.release
        self.ledger = WindowLedger(config.availability_timeout_ms) if clock else None
        self.view = view
        self.choice = TopicPartitioner(
            config, view, rng=cast("Random", self), on_window_end=self._window_ended
        )
        self.hold = self.choice.hold
        if config.max_skew is not None:
            self.choice.set_split(None, phase=self._phase())
        self.has_drawn = False
        self.partition = NOBODY
        self.room = self.in_room = self._first_room = 0
        self.is_stale = False
        self.ends: list[int] = []
        self.opens: list[int] = []
        self.due_ms: int | None = None
        for finding in config.problems(list(view.racks.values())):
            warn(finding)

    def getrandbits(self, bits: int) -> int:
        """Random bits; the choice calls this when a window begins."""
        self.has_drawn = True
        return self._rng.getrandbits(bits)

    def see(self, view: TopicView) -> None:
        """Use the metadata's current view; the racks of brokers that are gone stay known."""
        if not self.view.racks.keys() <= view.racks.keys():
            view = TopicView(view.leaders, {**self.view.racks, **view.racks})
        if view != self.view:
            self.view = view
            self.settle()
            self.choice.set_view(view)
            if self._split is not None:
                self._look_at_split(self.now_ms())

    def steer(self, size: int) -> int:
        """Choose and count the partition of a record, for clients that ask once per record."""
        partition = self.chosen()
        self.choice.add(size)
        return partition

    def chosen(self) -> int:
        """Choose the partition of a record without counting it."""
        if self.due_ms is not None:
            self.look_at_time()
        partition = self.choice.peek()
        if self.has_drawn:
            self.began(partition)
        return partition

    def open_room(self) -> None:
        """Let the sender continue with the window, unless it is over or leaders are timed."""
        if self.due_ms is None and not self.has_drawn and self.choice.current is not None:
            self.partition = self.choice.current
            size = self._config.sticky_bytes - self.choice.window_bytes
            self._first_room += size
            self.room += size

    def settle(self) -> None:
        """Count the records that used `room`, and close it."""
        records, room = self.in_room, self.room
        self.in_room -= records
        self.room -= room
        if records:
            self.choice.add_many(self._first_room - room, records)
        self._first_room = 0

    def began(self, partition: int) -> None:
        """Note the begin of a window: mark its first record if leaders are timed."""
        self.has_drawn = False
        self._seen.add(partition)
        if self._is_timed and self.ledger is not None:
            self.opens.append(
                self.ledger.open_window(partition, self.node(partition), self.now_ms())
            )
            self.due_ms = self.ledger.next_deadline_ms

    def look_at_time(self) -> None:
        """Renew the load when a leader may be late by now, or may be tried again."""
        now_ms = self.now_ms()
        if self.due_ms is not None and now_ms >= self.due_ms:
            self.choice.set_load(self._load(now_ms))

    def look_at_nodes(self) -> None:
        """Renew the load because the set of late nodes has changed."""
        self.settle()
        if self.ledger is not None:
            self.choice.set_load(self._load(self.now_ms()))

    def take_marks(self) -> list[int]:
        """Return all waiting marks and remove them here."""
        taken = self.opens + self.ends
        self.opens, self.ends = [], []
        return taken

    def refused(self) -> None:
        """Note that the client refused the marked record; the next record is the window's first."""
        self.done(self.take_marks(), ok=False)
        self.has_drawn = True

    def done(self, marks: list[int], *, ok: bool) -> None:
        """Note that the record with these marks is acknowledged, or failed."""
        if self.ledger is not None:
            now_ms = self.now_ms() if self._is_timed else 0
            for token in marks:
                self.ledger.done(token, now_ms, ok=ok)
            if self._is_timed:
                self.due_ms = self.ledger.next_deadline_ms

    def set_split(self, terms: SplitTerms | None) -> None:
        """Give windows to leader racks by share until the split is too old; None: no split."""
        self._split, self._split_state = terms, _NO_SPLIT
        self._stale_ms = None
        self.choice.set_split(None if terms is None else terms.shares, phase=self._phase())
        if terms is not None:
            self._split_state = _FRESH
            self._given_ms = self.now_ms()
            self._look_at_split(self._given_ms)

    def counters(self) -> PartitionerCounters:
        """The counters of this topic so far."""
        self.settle()
        return self.choice.counters(self.ledger)

    def node(self, partition: int) -> int:
        """The leader of a partition, below 0 for none."""
        leaders = self.view.leaders
        leader = leaders[partition] if partition < len(leaders) else None
        return NOBODY if leader is None else leader

    def now_ms(self) -> int:
        """The time; 0 without a clock."""
        return 0 if self._clock is None else int(self._clock() * 1000)

    def _phase(self) -> int:
        """A random phase, so that producers that begin together begin with different racks."""
        return self._rng.getrandbits(DRAW_BITS) % PHASES

    def _window_ended(self, partition: int) -> PartitionLoad | UpstreamLoad | None:
        """Mark the window's last record, if it is due; returns a new load for the next draw."""
        if self.ledger is None:
            return None
        # only late leaders and old splits need the time
        now_ms = self.now_ms() if self._is_timed or self._split is not None else 0
        if self._split is not None:
            self._look_at_split(now_ms)
        if self._marked_every > 1:
            # the first counts differ, so that partitions are not all marked at one time
            count = (self._unmarked.get(partition, partition) + 1) % self._marked_every
            self._unmarked[partition] = count
            if count:
                return None
        self.ends.append(self.ledger.end_window(partition, self.node(partition), now_ms))
        return self._load(now_ms)

    def _load(self, now_ms: int) -> PartitionLoad | UpstreamLoad | None:
        if self.ledger is None:
            return None
        found = self.ledger.load(now_ms)
        if self._marked_every > 1:
            # the first batch is in flight; KIP-794 weighs those that wait behind it
            waiting = {each: count - 1 for each, count in found.windows.items() if count > 1}
            found = PartitionLoad(waiting, found.excluded_nodes)
        late = self._late_nodes()
        self.due_ms = self.ledger.next_deadline_ms if self._is_timed else None
        if self._config.semantics == "kip":
            if late:
                return PartitionLoad(found.windows, found.excluded_nodes | late)
            return found
        late |= found.excluded_nodes
        leaders, racks = self.view.leaders, self.view.racks
        entries = [
            QueueEntry(
                each,
                leaders[each],
                None if leaders[each] is None else racks.get(self.node(each)),
                found.windows.get(each, 0),
                excluded=leaders[each] in late,
            )
            for each in sorted(self._seen)
            if each < len(leaders)
        ]
        return upstream_load(entries, len(leaders))

    def _look_at_split(self, now_ms: int) -> None:
        """Mark the split as stale when it is, and drop it after its extra time."""
        terms = self._split
        if terms is None:
            return
        valid_ms = terms.valid_for_ms
        is_old = valid_ms is not None and now_ms - self._given_ms > valid_ms
        if is_old or (terms.weights is not None and not self._has_weights(terms.weights)):
            self._stale_ms = now_ms if self._stale_ms is None else self._stale_ms
        else:
            self._stale_ms = None
        state = self._state_of_split(now_ms, valid_ms)
        if state != self._split_state:
            if state == _STALE:
                warn(self._staleness(terms, now_ms if is_old else None))
            self._split_state = state
            shares = None if state == _GIVEN_UP else terms.shares
            self.choice.set_split(shares, phase=self._phase(), stale=state != _FRESH)

    def _staleness(self, terms: SplitTerms, old_at_ms: int | None) -> Finding:
        """The finding of a stale split; `old_at_ms` None: the leaders' weights have changed."""
        if old_at_ms is not None:
            wanted = f"a split of at most {terms.valid_for_ms} ms"
            had = f"one of {old_at_ms - self._given_ms} ms"
        else:
            wanted = f"a split for leaders {_text(self.view.leader_weights())}"
            had = f"one for {_text(terms.weights or {})}"
        hint = "run rackwise producer split again"
        return PRODUCER_RULES.finding(
            "stale-split", where=PRODUCER, wanted=wanted, had=had, hint=hint
        )

    def _state_of_split(self, now_ms: int, valid_ms: int | None) -> str:
        if self._stale_ms is None:
            return _FRESH
        if valid_ms is not None and now_ms - self._stale_ms > KEPT * valid_ms:
            return _GIVEN_UP
        return _STALE

    def _has_weights(self, weights: Mapping[str, float]) -> bool:
        """Whether the leaders' distribution over racks still equals that of the split."""
        now = self.view.leader_weights()
        whole, before = sum(now.values()), sum(weights.values())
        racks = {*now, *weights}
        return all(
            abs(now.get(rack, 0) * before - weights.get(rack, 0.0) * whole)
            <= _NEAR * before * whole
            for rack in racks
        )


_NO_SPLIT, _FRESH, _STALE, _GIVEN_UP = "none", "fresh", "stale", "given up"
_NEAR = 1e-9


def warn(finding: Finding) -> None:
    """Log a finding about a producer."""
    log.warning(
        "%s: wanted %s, had %s; %s", finding.rule, finding.wanted, finding.had, finding.hint
    )


def _text(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{escaped(rack)} {weights[rack]:g}" for rack in sorted(weights))
