"""The sticky partitioner: one partition for a window of records, then another (KIP-794, KIP-1123).

Goals, in order: batches fill, so a producer stays on a partition for `sticky_bytes` = S at least;
each window goes where the candidates' draw says; a record costs a comparison and an addition,
however many partitions there are.

A window starts with a draw of one number of 31 bits. `add` counts a record after it has its
partition, so the record that crosses S stays. The window ends

```
at S      if the client may switch: its last batch there is absent or full
at 2 S    in any case, so that batches of 12 kB and 4 kB do not alternate, and no window lasts for
          ever
earlier   semantics kip: the partition can no longer be used and another can; checked by the next
          `peek` after the view or the load changed
```

```
S = 100     add 60   add 60 (not yet: the batch is open)   add 90: 210 >= 200, ends
S = 100     add 60   add 60 (may switch): 120 >= 100, ends
```

When the next partition is drawn: under `kip` at the next `peek`, so that a load set in between
counts; under `upstream` at once when a window ends, as `updatePartitionInfo` does.

Some clients ask twice for the record that opens a batch (kafka-python: `partition`,
`on_new_batch`, `partition`). They use `defer` and `new_batch`. `defer` holds a record and counts it
at the next call. `new_batch` drops the held record, because the client will ask for it again.

```
defer 112     held 112, window 0
new_batch     held -,   window 61: a batch's header
defer 112     held 112, window 61
defer 112     held 112, window 173
```

What this does not do: lock, read metadata or a clock, count acknowledgements. Source:
`BuiltInPartitioner` of kafka-clients 4.4.0, KIP-794, KIP-1123; KAFKA-9965, KAFKA-13303 (asked
twice).
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rackwise.core.partitioner.choice.counters import ByteCount, PartitionerCounters, nonzero_counts
from rackwise.core.partitioner.choice.java_client import UpstreamChoice
from rackwise.core.partitioner.choice.keys import BATCH_OVERHEAD
from rackwise.core.partitioner.choice.kip1123 import DRAW_BITS, Candidates, KipChoice
from rackwise.core.partitioner.choice.leaders import LeadersByRack

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random
    from typing import TypeAlias

    from rackwise.core.partitioner.choice.config import PartitionerConfig
    from rackwise.core.partitioner.choice.ledger import WindowLedger
    from rackwise.core.partitioner.choice.view import PartitionLoad, TopicView, UpstreamLoad

    Load: TypeAlias = PartitionLoad | UpstreamLoad | None

GOLDEN_SECTION = round((5**0.5 - 1) / 2 * 2**DRAW_BITS)
"""The step between two even draws, in units of a draw of 31 bits."""
NONE = -1
"""The current partition where there is none; an integer keeps the hot path free of checks."""


class TopicPartitioner:
    """The choice for one topic; not thread-safe."""

    __slots__ = (
        "_attributed",
        "_choice",
        "_config",
        "_current",
        "_drawn",
        "_draws",
        "_fallbacks",
        "_held",
        "_held_may_switch",
        "_hold_below",
        "_is_even",
        "_is_upstream",
        "_last_number",
        "_leaders",
        "_on_window_end",
        "_quiet_below",
        "_records",
        "_refused",
        "_rng",
        "_steered",
        "_sticky_bytes",
        "_switches",
        "_unsteered",
        "_window_bytes",
        "_windows",
    )

    def __init__(
        self,
        config: PartitionerConfig,
        view: TopicView,
        *,
        rng: Random,
        on_window_end: Callable[[int], Load] | None = None,
    ) -> None:
        """Start without a partition.

        `rng` gives one `getrandbits(31)` per draw; with even draws only the first one is random.
        `on_window_end`: called before the next draw, with the partition whose window ended by its
        size. The load that it returns is set; None keeps the old load.
        """
        self._config = config
        self._rng = rng
        self._on_window_end = on_window_end
        self._leaders = LeadersByRack(config, view)
        self._is_upstream = config.semantics == "upstream"
        self._is_even = config.draws == "even"
        choice = UpstreamChoice if self._is_upstream else KipChoice
        self._choice: KipChoice | UpstreamChoice = choice(config, self._leaders)
        self._sticky_bytes = config.sticky_bytes
        self._current = NONE
        # the candidates of the last draw
        self._drawn: Candidates | None = None
        self._last_number: int | None = None
        # `add` and `hold` take their fast path below these sizes of the window; 0 = never
        self._quiet_below = self._hold_below = 0
        # bytes of the window, and how many of them are counted as sent to a leader
        self._window_bytes = self._attributed = 0
        # bytes of the held record; 0 = no record is held
        self._held = 0
        self._held_may_switch = False
        self._records = 0
        self._steered, self._unsteered = (
            ByteCount(len(config.client_levels), config.local_depth) for _ in range(2)
        )
        self._windows: Counter[str] = Counter()
        self._switches: Counter[str] = Counter()
        self._fallbacks: Counter[str] = Counter()
        self._refused = self._draws = 0

    def peek(self) -> int:
        """The partition of the next record; draws one if there is none."""
        return self._current if self._quiet_below else self._check_partition()

    def ends_window(self, size: int, *, may_switch: bool = True) -> bool:
        """Whether `add` would end the window; changes nothing."""
        return self._ends(self._window_bytes + size, may_switch=may_switch)

    def add(self, size: int, *, may_switch: bool = True) -> bool:
        """Count the bytes of a record for the current partition, 0 = no record.

        `may_switch`: the client's last batch there is absent or full. Returns True if the window
        ended.
        """
        window_bytes = self._window_bytes + size
        if window_bytes < self._quiet_below:
            self._window_bytes = window_bytes
            self._records += size > 0
            return False
        if size:
            if self._current == NONE:
                self._draw()
            self._records += 1
        return self._count(size, may_switch=may_switch)

    def add_many(self, size: int, records: int) -> None:
        """Count records of the current partition whose total size does not end the window."""
        self._window_bytes += size
        self._records += records

    def defer(self, size: int, *, may_switch: bool = False) -> int:
        """The partition of a record of `size` >= 1; the record is held, the next call counts it.

        `may_switch`: counting it may end the window before twice the sticky size.
        """
        window_bytes = self._window_bytes + self._held
        self._records += 1
        if window_bytes < self._quiet_below:
            self._window_bytes = window_bytes
            self._held = size
            self._allow_hold(may_switch=may_switch)
            return self._current
        if self._held:
            self._count(self._held, may_switch=self._held_may_switch)
        self._held = size
        partition = self.peek()
        self._allow_hold(may_switch=may_switch)
        return partition

    def hold(self, size: int) -> int:
        """`defer` if no window ends and no draw is needed; else do nothing and return -1."""
        window_bytes = self._window_bytes + self._held
        if window_bytes >= self._hold_below:
            return NONE
        self._window_bytes = window_bytes
        self._held = size
        self._records += 1
        return self._current

    def new_batch(self) -> None:
        """Note a new batch: drop the held record, switch if due, count a batch's header."""
        self.drop()
        self._count(0, may_switch=True)
        self._window_bytes += BATCH_OVERHEAD

    def drop(self) -> None:
        """Drop the held record; the client asks for it again or never sends it."""
        if self._held:
            self._held = 0
            self._records -= 1

    def redraw(self) -> int:
        """Draw again for a window that has no record yet, after `set_view`."""
        if self._drawn is not None and self._current != NONE:
            self._count_windows(self._drawn, -1)
            self._current = NONE
            self._recheck_later()
        return self.peek()

    def set_view(self, view: TopicView) -> None:
        """Use other leaders; never draws."""
        self._attribute_bytes()
        self._leaders = LeadersByRack(self._config, view)
        self._choice.set_leaders(self._leaders)
        self._recheck_later()

    def set_load(self, load: Load) -> None:
        """Use another load; never draws. Raises `TypeError` for the other semantics' load."""
        self._choice.set_load(load)
        self._recheck_later()

    def set_split(
        self, shares: Mapping[str, float] | None, *, phase: int = 0, stale: bool = False
    ) -> None:
        """This client's shares of its windows: leader rack -> share, adding up to 1; None = none.

        `phase`: number of windows of the schedule to skip. `stale`: the split is too old, or for
        other leaders; with shares None it was dropped for that reason. Each window then counts as
        `stale-split`. Raises `SplitError`, and `PartitionerConfigError` under semantics `upstream`.
        """
        self._choice.set_split(shares, phase=phase, stale=stale)

    def candidates(self) -> Candidates:
        """The candidates of the next window; changes nothing."""
        return self._choice.candidates()

    def counters(self, ledger: WindowLedger | None = None) -> PartitionerCounters:
        """A snapshot with the counters of the topic's ledger; a held record counts as sent."""
        self._steered.records = self._records
        uncounted = self._window_bytes - self._attributed + self._held
        is_placed = self._current != NONE
        common = self._leaders.common(self._current)
        return PartitionerCounters(
            steered=self._steered.snapshot(common=common, size=uncounted if is_placed else 0),
            unsteered=self._unsteered.snapshot(),
            windows=nonzero_counts(self._windows),
            switches=nonzero_counts(self._switches),
            fallbacks=nonzero_counts(self._fallbacks),
            exclusions=ledger.exclusions if ledger else 0,
            readmissions=ledger.readmissions if ledger else 0,
            probes=ledger.probes if ledger else 0,
            windows_acknowledged=ledger.acknowledged if ledger else 0,
            windows_failed=ledger.failed if ledger else 0,
            refused_records=self._refused,
        )

    def count_unsteered(self, partition: int, size: int) -> None:
        """Count a record that its key or its sender placed."""
        self._unsteered.records += 1
        self._unsteered.add(self._leaders.common(partition), size)

    def count_refused(self) -> None:
        """Count a record that the client rejected after its partition was chosen."""
        self._refused += 1

    def count_internal(self) -> None:
        """Count a window that went to any partition because a plug-in's callback failed."""
        self._fallbacks["internal"] += 1

    @property
    def current(self) -> int | None:
        """The partition of the current window, None between two windows."""
        return None if self._current == NONE else self._current

    @property
    def window_bytes(self) -> int:
        """Bytes of the window so far, without the held record."""
        return self._window_bytes

    @property
    def draws(self) -> int:
        """Number of draws so far. A window that is drawn again counts twice."""
        return self._draws

    def _ends(self, window_bytes: int, *, may_switch: bool) -> bool:
        size = self._sticky_bytes
        return window_bytes >= size and (may_switch or window_bytes >= 2 * size)

    def _count(self, size: int, *, may_switch: bool) -> bool:
        """Count bytes of the window, and end it if it is due."""
        self._window_bytes += size
        if self._current == NONE or not self._ends(self._window_bytes, may_switch=may_switch):
            return False
        partition = self._current
        self._close("size" if may_switch else "twice-size")
        load = self._on_window_end(partition) if self._on_window_end else None
        if load is not None:
            self._choice.set_load(load)
        if self._is_upstream:
            self._draw()
        return True

    def _close(self, why: str) -> None:
        """End the window for this reason; the next `peek` draws."""
        self._switches[why] += 1
        window_bytes = self._window_bytes
        self._steered.add(self._leaders.common(self._current), window_bytes - self._attributed)
        self._choice.window_done(window_bytes)
        self._window_bytes = self._attributed = self._quiet_below = self._hold_below = 0
        self._current = NONE

    def _check_partition(self) -> int:
        """End the window if its partition is unusable and another is usable; draw if needed."""
        if self._current != NONE and self._choice.leaves(self._current):
            self._close("unusable")
        if self._current == NONE:
            self._draw()
        self._quiet_below = self._sticky_bytes
        return self._current

    def _recheck_later(self) -> None:
        """Let the next `peek` check whether the partition is still usable."""
        self._quiet_below = self._hold_below = 0

    def _allow_hold(self, *, may_switch: bool) -> None:
        """Let `hold` continue with the window, unless counting the held record may end it."""
        self._held_may_switch = may_switch
        self._hold_below = 0 if may_switch else 2 * self._quiet_below

    def _draw(self) -> None:
        """Draw the partition of the next window."""
        among = self._choice.candidates()
        self._current = self._choice.draw(among, self._next_number())
        self._quiet_below = self._sticky_bytes
        self._draws += 1
        self._drawn = among
        self._count_windows(among, 1)

    def _next_number(self) -> int:
        """The next draw, of 31 bits. Every draw calls `rng`, so that a counting `rng` sees it."""
        drawn = self._rng.getrandbits(DRAW_BITS)
        if self._is_even:
            if self._last_number is not None:
                drawn = (self._last_number + GOLDEN_SECTION) % (1 << DRAW_BITS)
            self._last_number = drawn
        return drawn

    def _count_windows(self, among: Candidates, windows: int) -> None:
        """Add `windows` to the counters of the tier and of the reason of these candidates."""
        self._windows[among.tier] += windows
        if among.reason is not None:
            self._fallbacks[among.reason] += windows

    def _attribute_bytes(self) -> None:
        """Count the bytes of the window so far as sent to the current leader."""
        if self._current != NONE:
            size = self._window_bytes - self._attributed
            self._steered.add(self._leaders.common(self._current), size)
            self._attributed = self._window_bytes
