"""Simulates the effect of a mode of choosing partitions on racks and brokers.

Goals, in order: the code that chooses for a real producer also chooses here, with one
`TopicPartitioner` and one `WindowLedger` per producer; faults change the code's view through the
same load signal; the same numbers and seed give the same result.

The model. One producer per client rack sends its free bytes at an even rate. A window is one event,
at its last record. Its bytes enter the FIFO of the leader's broker. The broker processes them at
`broker_bytes_per_s` and answers `rtt_ms` later. Pinned bytes use the partitions of their rack in
turn.

```
        producer a, 100 kB/s, windows of 17 kB              broker 1, rtt 2
 170 ms  choice: 0 on broker 1        starts 170, 0.2 of work, answered 172.2
 340 ms  answers until now are taken, the load is set, the next choice
```

Modes: `uniform`, not rack-aware (KIP-794); `kip`, KIP-1123 by its text; `upstream`, as released in
Kafka 4.4; `bounded`, `kip` with each producer's row of the split. Faults: `down`, a broker
processes nothing for a while, and its leaders do not move; `slow`, it answers later.

What this does not do: elect leaders, batch, compress, time out, or decide anything. Source:
KIP-1123, KIP-794.
"""

from __future__ import annotations

import heapq
import math
from collections import Counter
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.errors import SplitError
from rackwise.core.partitioner.choice.config import PartitionerConfig
from rackwise.core.partitioner.choice.ledger import WindowLedger
from rackwise.core.partitioner.choice.sticky import TopicPartitioner
from rackwise.core.partitioner.choice.view import QueueEntry, upstream_load
from rackwise.core.partitioner.split.rates import GREATEST, RackColumns
from rackwise.core.partitioner.split.split import split_by_balance
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from rackwise.core.partitioner.choice.view import PartitionLoad, TopicView, UpstreamLoad
    from rackwise.core.partitioner.split.rates import RackRates

Mode: TypeAlias = Literal["uniform", "kip", "upstream", "bounded"]
MODES: tuple[Mode, ...] = ("uniform", "kip", "upstream", "bounded")
PHASES = 16
"""Producers skip 0 to 15 windows of their schedule, so that they do not use one rack at once."""

# Field that must be above 0 -> hint.
_ABOVE_0 = {
    "sticky_bytes": "use the producer's batch.size",
    "record_bytes": "use the mean size of a record, 12 bytes of overhead in it",
    "broker_bytes_per_s": "use what one of your brokers can process, such as 1e8",
    "duration_ms": "a minute is enough where a producer ends 100 windows in it",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokerFault:
    """A broker that answers nothing, or answers late, for some time."""

    broker: int
    at_ms: float
    """The start of the fault."""
    for_ms: float
    """The duration of the fault."""
    kind: Literal["down", "slow"]
    """`down` answers nothing; `slow` answers after `rtt_ms`."""
    rtt_ms: float = 0.0

    def covers(self, now_ms: float) -> bool:
        """Whether the fault is active."""
        return self.at_ms <= now_ms < self.at_ms + self.for_ms


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerScenario:
    """The input of a replay: a topic, the rates, the mode, and the faults.

    Raises `SplitError`.
    """

    view: TopicView
    rates: RackRates
    weights: Mapping[str, float]
    """Leader rack -> the load that it should take, as a ratio."""
    mode: Mode
    eps: float = 0.1
    """The bound; only for mode `bounded`."""
    sticky_bytes: int = 16_384
    """Bytes of a window."""
    record_bytes: int = 1_000
    """Bytes of a record, as the partitioner counts it."""
    broker_bytes_per_s: float = 1e8
    rtt_ms: float = 2.0
    duration_ms: float = 60_000.0
    availability_timeout_ms: int = 0
    faults: tuple[BrokerFault, ...] = ()

    def __post_init__(self) -> None:
        for name, hint in _ABOVE_0.items():
            value = getattr(self, name)
            if not 0 < value <= GREATEST:
                raise SplitError(
                    f"invalid {name}: expected a number above 0, up to 2^63, got {value}",
                    wanted="> 0, <= 2^63",
                    had=value,
                    hint=hint,
                )
        if self.mode not in MODES:
            raise SplitError(
                f"invalid mode: expected one of {', '.join(MODES)}, got {escaped(self.mode)}",
                wanted=", ".join(MODES),
                had=self.mode,
                hint=f"give one of them, such as {MODES[-1]}",
            )

    @property
    def window_bytes(self) -> int:
        """Bytes of a window: whole records, at least `sticky_bytes`."""
        return math.ceil(self.sticky_bytes / self.record_bytes) * self.record_bytes

    @property
    def windows(self) -> int:
        """The approximate number of windows."""
        rates = (*self.rates.free.values(), *self.rates.pinned.values())
        return int(math.fsum(rates) * self.duration_ms / 1000 / self.window_bytes)


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulationResult:
    """The result of a replay."""

    mode: Mode
    local_share: float
    """Share of the free bytes that stay in their rack; 1 if there were none."""
    cross_bytes_per_s: float
    """Free bytes to other racks."""
    rack_load: Mapping[str, float]
    """Leader rack -> bytes_per_s, including pinned bytes."""
    partition_load: tuple[float, ...]
    """Partition -> bytes_per_s, including pinned bytes."""
    load_factor: float
    """The greatest load / mean of a rack with weight."""
    partition_load_factor: float
    """The greatest load / mean of a partition."""
    undelivered_bytes: int
    """Bytes unanswered at the end, including bytes in flight."""
    windows: int
    """Windows of free bytes."""
    fallbacks: Mapping[str, int]
    """Reason -> windows."""


def simulate_producers(
    scenario: ProducerScenario,
    *,
    rng: Random,
    advance: Callable[[int], None] | None = None,
) -> SimulationResult:
    """Replay a scenario. `advance` receives the number of windows done. Raises `SplitError`."""
    columns = RackColumns.of(scenario.rates, scenario.weights)
    brokers = _Brokers(scenario)
    senders: list[_Producer | _Pinned] = [
        *_create_producers(scenario, rng),
        *_create_pinned(scenario),
    ]
    every = 1 << 10
    # a heap of (time of the next window, index of the sender)
    queue = [(sender.window_ms * rng.random(), i) for i, sender in enumerate(senders)]
    heapq.heapify(queue)
    done = 0
    while queue and queue[0][0] < scenario.duration_ms:
        now, i = queue[0]
        senders[i].window(now, brokers)
        heapq.heapreplace(queue, (now + senders[i].window_ms, i))
        done += 1
        if advance is not None and not done % every:
            advance(every)
    return _build_result(
        scenario, columns, brokers, [s for s in senders if isinstance(s, _Producer)]
    )


class _Brokers:
    """The FIFOs of the brokers, and the bytes of each partition."""

    def __init__(self, scenario: ProducerScenario) -> None:
        # [partitions], the bytes that each partition received
        self.load = [0] * len(scenario.view.leaders)
        self.undelivered = 0
        self._scenario = scenario
        # node -> when its FIFO is empty
        self._free_at: dict[int, float] = {}
        self._down = self._faults_by_broker("down")
        self._slow = self._faults_by_broker("slow")

    def send(self, partition: int, now: float) -> float:
        """Put a window into the leader's FIFO; returns the answer's time, infinity if no leader."""
        scenario, size = self._scenario, self._scenario.window_bytes
        self.load[partition] += size
        node = scenario.view.leaders[partition]
        answered = math.inf if node is None else self._answer_time(node, now, size)
        if answered > scenario.duration_ms:
            self.undelivered += size
        return answered

    def _answer_time(self, node: int, now: float, size: int) -> float:
        """When the node answers a window that arrives now, in ms."""
        start = max(now, self._free_at.get(node, 0.0))
        left = size * 1000 / self._scenario.broker_bytes_per_s
        for fault in self._down.get(node, ()):
            if start + left <= fault.at_ms:
                break
            if start < fault.at_ms + fault.for_ms:
                left -= max(0.0, fault.at_ms - start)
                start = fault.at_ms + fault.for_ms
        self._free_at[node] = start + left
        slow = [fault.rtt_ms for fault in self._slow.get(node, ()) if fault.covers(start)]
        return start + left + max(slow, default=self._scenario.rtt_ms)

    def _faults_by_broker(self, kind: str) -> dict[int, list[BrokerFault]]:
        found: dict[int, list[BrokerFault]] = {}
        for fault in sorted(self._scenario.faults, key=lambda fault: fault.at_ms):
            if fault.kind == kind:
                found.setdefault(fault.broker, []).append(fault)
        return found


class _Producer:
    """All clients of a rack, modelled as one producer."""

    def __init__(
        self,
        scenario: ProducerScenario,
        config: PartitionerConfig,
        bytes_per_s: float,
        rng: Random,
    ) -> None:
        self.window_ms = scenario.window_bytes * 1000 / bytes_per_s
        self._view = scenario.view
        self._size = scenario.window_bytes
        self._is_upstream = config.semantics == "upstream"
        self._ledger = WindowLedger(config.availability_timeout_ms)
        # a heap of (time of the answer, token)
        self._answers: list[tuple[float, int]] = []
        # the tokens of the window that is being sent
        self._tokens: list[int] = []
        # the partitions that had a record
        self._used: set[int] = set()
        self._now = 0.0
        own = Random(rng.getrandbits(64))  # noqa: S311 (a simulation)
        self.partitioner = TopicPartitioner(
            config, scenario.view, rng=own, on_window_end=self._end_window
        )

    def window(self, now: float, brokers: _Brokers) -> None:
        """Send one window."""
        self._now = now
        while self._answers and self._answers[0][0] <= now:
            at, token = heapq.heappop(self._answers)
            self._ledger.done(token, int(at), ok=True)
        partition = self.partitioner.peek()
        node = self._view.leaders[partition]
        if node is not None:
            self._tokens.append(self._ledger.open_window(partition, node, int(now)))
        self.partitioner.add(self._size)
        answered = brokers.send(partition, now)
        for token in self._tokens:
            heapq.heappush(self._answers, (answered, token))
        self._tokens.clear()

    def _end_window(self, partition: int) -> PartitionLoad | UpstreamLoad | None:
        """The load at the end of a window."""
        node, now = self._view.leaders[partition], int(self._now)
        if node is not None:
            self._tokens.append(self._ledger.end_window(partition, node, now))
        self._used.add(partition)
        load = self._ledger.load(now)
        return self._upstream_load(load) if self._is_upstream else load

    def _upstream_load(self, load: PartitionLoad) -> UpstreamLoad | None:
        view = self._view
        return upstream_load(
            [
                QueueEntry(
                    partition,
                    view.leaders[partition],
                    view.leader_rack(partition),
                    load.windows.get(partition, 0),
                    excluded=view.leaders[partition] in load.excluded_nodes,
                )
                for partition in sorted(self._used)
            ],
            len(view.leaders),
        )


class _Pinned:
    """The pinned bytes of a rack, sent to its partitions in turn."""

    def __init__(self, partitions: list[int], window_ms: float) -> None:
        self.window_ms = window_ms
        self._partitions = partitions
        self._sent = 0

    def window(self, now: float, brokers: _Brokers) -> None:
        """Send one window."""
        brokers.send(self._partitions[self._sent % len(self._partitions)], now)
        self._sent += 1


def _create_producers(scenario: ProducerScenario, rng: Random) -> Iterator[_Producer]:
    rows = (
        split_by_balance(scenario.rates, scenario.weights, scenario.eps).shares
        if scenario.mode == "bounded"
        else {}
    )
    for rack, rate in scenario.rates.free.items():
        if not rate:
            continue
        config = PartitionerConfig(
            rack_aware=scenario.mode != "uniform",
            rack=rack,
            sticky_bytes=scenario.sticky_bytes,
            semantics="upstream" if scenario.mode == "upstream" else "kip",
            availability_timeout_ms=scenario.availability_timeout_ms,
        )
        producer = _Producer(scenario, config, rate, rng)
        if rack in rows:
            producer.partitioner.set_split(rows[rack], phase=rng.randrange(PHASES))
        yield producer


def _create_pinned(scenario: ProducerScenario) -> Iterator[_Pinned]:
    view = scenario.view
    for rack, rate in scenario.rates.pinned.items():
        partitions = [p for p in range(len(view.leaders)) if view.leader_rack(p) == rack]
        if rate and not partitions:
            raise SplitError(
                f"rack {escaped(rack)} receives pinned bytes but has no leader",
                wanted="a leader",
                had=0,
                hint="are the leaders missing in the snapshot?",
                where=rack,
            )
        if rate:
            yield _Pinned(partitions, scenario.window_bytes * 1000 / rate)


def _build_result(
    scenario: ProducerScenario,
    columns: RackColumns,
    brokers: _Brokers,
    producers: list[_Producer],
) -> SimulationResult:
    counters = [producer.partitioner.counters() for producer in producers]
    free = sum(each.total_bytes for each in counters)
    local = sum(each.local_bytes for each in counters)
    seconds = scenario.duration_ms / 1000
    racks = dict.fromkeys(columns.racks, 0.0)
    for partition, size in enumerate(brokers.load):
        rack = scenario.view.leader_rack(partition)
        if rack is not None:
            racks[rack] = racks.get(rack, 0.0) + size / seconds
    total = sum(brokers.load) / seconds
    whole = math.fsum(columns.weights)
    factors = [
        racks[rack] / (total * (weight / whole))
        for rack, weight in zip(columns.racks, columns.weights, strict=True)
        if weight and total
    ]
    fallbacks: Counter[str] = Counter()
    for each in counters:
        fallbacks.update(each.fallbacks)
    mean = total / len(brokers.load)
    return SimulationResult(
        mode=scenario.mode,
        local_share=local / free if free else 1.0,
        cross_bytes_per_s=(free - local) / seconds,
        rack_load=MappingProxyType(racks),
        partition_load=tuple(size / seconds for size in brokers.load),
        load_factor=max(factors, default=1.0),
        partition_load_factor=max(brokers.load) / seconds / mean if mean else 1.0,
        undelivered_bytes=brokers.undelivered,
        windows=free // scenario.window_bytes,
        fallbacks=MappingProxyType(dict(sorted(fallbacks.items()))),
    )
