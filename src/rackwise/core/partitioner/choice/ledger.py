"""The backlog of each partition, and the nodes that answer too late: one callback per window.

A producer library reports when a record is acknowledged, but a callback for each record is slow.
Here only the last record of a window has one. It represents the window, because a partition keeps
its order. So

```
windows[p] = windows of p that ended and are not yet acknowledged, those in flight too
```

With an availability timeout T > 0 the first record of a window has a callback as well: with slow
traffic a window stays open for minutes, and only its first record shows a dead leader in time. A
record with a callback is marked. Each node is in one state:

```
state      becomes    when
in use     late       its oldest marked record without answer is older than T; k = 0,
                      retry at now + T
late       probing    now >= retry
probing    waiting    a window opens on it: its first record is the probe
waiting    late       the probe failed or is older than T; k = min(5, k + 1),
                      retry at now + T * 2^k
the last   in use     any marked record of it is acknowledged; k = 0
three
```

Late and waiting nodes are excluded with all their partitions, idle ones too. A probing node is
usable, so that one window tests it. The longest wait is T for the probe and 32 T for its retry.

```
T = 100    0 opened   101 late, retry 201   201 probing   202 opened: waiting   250 acknowledged
excluded   -          1                     -             1                     -
```

What this does not do: read a clock (`now_ms` is an argument and does not run backwards), or choose.
T = 0 excludes nothing. Source: KIP-794, `partitioner.availability.timeout.ms`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from rackwise.core.partitioner.choice.view import PartitionLoad

LONGEST_WAIT = 5
"""The greatest k: a dead node is tried again after 32 times the timeout."""
IN_USE, LATE, PROBING, WAITING = "in use", "late", "probing", "waiting"


@dataclass(slots=True)
class _NodeState:
    """The state of one node."""

    marks: dict[int, int] = field(default_factory=dict)
    """Token -> time of the mark, oldest first."""
    state: str = IN_USE
    """One of the four states in the table at the head of this file."""
    doublings: int = 0
    """k: the next retry comes after T * 2^k."""
    due_ms: int = 0
    """The time of the retry."""
    probe: int = 0
    """The token of the probe."""
    probed_ms: int = 0
    """When the probe was sent."""


_NO_NODES: frozenset[int] = frozenset()


class WindowLedger:
    """The unacknowledged windows of one producer and topic; not thread-safe.

    `availability_timeout_ms`: T, 0 = no node is ever excluded.
    """

    __slots__ = (
        "_ends",
        "_nodes",
        "_owner",
        "_timeout_ms",
        "_token",
        "_windows",
        "acknowledged",
        "exclusions",
        "failed",
        "probes",
        "readmissions",
    )

    def __init__(self, availability_timeout_ms: int) -> None:
        self._timeout_ms = availability_timeout_ms
        # the last token; each marked record has its own
        self._token = 0
        # partition -> windows that ended and are not acknowledged, without zeros
        self._windows: dict[int, int] = {}
        # token of a window's last record -> partition
        self._ends: dict[int, int] = {}
        # token -> the node that must answer, only with a timeout
        self._owner: dict[int, int] = {}
        self._nodes: dict[int, _NodeState] = {}
        # how often a node was excluded, admitted again, and probed
        self.exclusions = self.readmissions = self.probes = 0
        # the windows that were acknowledged, and those that failed
        self.acknowledged = self.failed = 0

    def open_window(self, partition: int, node: int, now_ms: int) -> int:  # noqa: ARG002
        """Note that a window's first record is sent; returns the token for `done`."""
        token = self._add_mark(node, now_ms)
        if self._timeout_ms:
            self._advance(node, now_ms)
            node_state = self._nodes[node]
            if node_state.state == PROBING:
                node_state.state, node_state.probe, node_state.probed_ms = WAITING, token, now_ms
                self.probes += 1
        return token

    def end_window(self, partition: int, node: int, now_ms: int) -> int:
        """Note that a window's last record is sent; returns the token for `done`."""
        token = self._add_mark(node, now_ms)
        self._ends[token] = partition
        self._windows[partition] = self._windows.get(partition, 0) + 1
        return token

    def done(self, token: int, now_ms: int, *, ok: bool) -> None:
        """Note that a token's record is acknowledged, or failed; a token counts once."""
        partition = self._ends.pop(token, None)
        if partition is not None:
            self.acknowledged += ok
            self.failed += not ok
            remaining = self._windows.pop(partition) - 1
            if remaining:
                self._windows[partition] = remaining
        node = self._owner.pop(token, None)
        if node is not None:
            self._record_answer(self._nodes[node], token, now_ms, ok=ok)

    def load(self, now_ms: int) -> PartitionLoad:
        """The current load, for `TopicPartitioner.set_load`."""
        return PartitionLoad(self._windows.copy(), self.excluded_nodes(now_ms))

    def excluded_nodes(self, now_ms: int) -> frozenset[int]:
        """The nodes in the states late and waiting."""
        if not self._nodes:
            return _NO_NODES
        for node in self._nodes:
            self._advance(node, now_ms)
        return frozenset(
            node for node, node_state in self._nodes.items() if node_state.state in {LATE, WAITING}
        )

    @property
    def next_deadline_ms(self) -> int | None:
        """The next time when `excluded_nodes` may change without an answer; None: never."""
        dues = (self._due_ms(node_state) for node_state in self._nodes.values())
        return min((due for due in dues if due is not None), default=None)

    def _add_mark(self, node: int, now_ms: int) -> int:
        """Mark a record that is sent to the node. Returns its token."""
        self._token += 1
        if self._timeout_ms:
            self._nodes.setdefault(node, _NodeState()).marks[self._token] = now_ms
            self._owner[self._token] = node
        return self._token

    def _due_ms(self, node_state: _NodeState) -> int | None:
        """When the node's state changes without an answer; None: never."""
        if node_state.state == LATE:
            return node_state.due_ms
        if node_state.state == WAITING:
            return node_state.probed_ms + self._timeout_ms + 1
        if node_state.state == IN_USE and node_state.marks:
            return next(iter(node_state.marks.values())) + self._timeout_ms + 1
        return None

    def _advance(self, node: int, now_ms: int) -> None:
        """Update a node's state to the current time."""
        node_state = self._nodes[node]
        due = self._due_ms(node_state)
        if due is None or now_ms < due:
            return
        if node_state.state == LATE:
            node_state.state = PROBING
        elif node_state.state == WAITING:
            self._fail_probe(node_state, now_ms)
        else:
            node_state.state, node_state.due_ms = LATE, now_ms + self._timeout_ms
            self.exclusions += 1

    def _fail_probe(self, node_state: _NodeState, now_ms: int) -> None:
        """Note that the probe failed."""
        node_state.doublings = min(LONGEST_WAIT, node_state.doublings + 1)
        node_state.state, node_state.due_ms = (
            LATE,
            now_ms + (self._timeout_ms << node_state.doublings),
        )

    def _record_answer(self, node_state: _NodeState, token: int, now_ms: int, *, ok: bool) -> None:
        """Update a node's state after the answer to a marked record."""
        del node_state.marks[token]
        if node_state.state == IN_USE:
            return
        if ok:
            node_state.state, node_state.doublings = IN_USE, 0
            self.readmissions += 1
        elif node_state.state == WAITING and token == node_state.probe:
            self._fail_probe(node_state, now_ms)
