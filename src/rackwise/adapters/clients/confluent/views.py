"""Leaders and racks for confluent-kafka, which does not report their changes to a producer.

```
at construction          a daemon thread asks for the racks; the constructor does not wait
first steered record of  its leaders are waited for, as other clients do before they send: up to
a topic                  3 s, and up to 0.5 s if a broker refuses connections
no broker answers        nothing waits any more; the thread asks every 2 s until one does
every 30 s               the thread asks again; sooner by topic.metadata.refresh.interval.ms
statistics.interval.ms   leaders come with them instead; only racks are still asked for
a broker went away       leaders are asked for at once, then 6 times more, each twice as late, for
                         elections take time; racks at the last of these
```

A topic without a view is not steered: librdkafka chooses its partitions. A source that queries the
lost broker blocks for its own timeout. So while leaders move, the source is called only for a
leader whose rack is missing. After an error the last answer stays in use. One line is logged for an
outage, however many errors it has.

Source: librdkafka's CONFIGURATION.md and STATISTICS.md.
"""

from __future__ import annotations

import logging
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Final

from rackwise.adapters.clients.rack_source import unanswered
from rackwise.core.partitioner import TopicView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from rackwise.adapters.clients.rack_source import RackSource

REFRESH_S: Final = 30.0
METADATA_S: Final = 10.0
"""The longest wait of the thread for the leaders of a topic."""
FIRST_S: Final = 3.0
"""The longest wait of a topic's first record."""
OUTAGE_S: Final = 0.5
"""The same if a broker is known to be lost: others may answer."""
TURN_S: Final = 0.02
"""The time between two looks of a waiting first record at the client's errors."""
MISSING_S: Final = 2.0
SOON_S: Final = 0.25
SOON_TURNS: Final = 6

log = logging.getLogger(__name__)


class LeaderViews:
    """The views of a producer's topics; a separate thread refreshes them until `close`.

    `client`: an object with `list_topics`. `every_s`: seconds between two refreshes.
    `took(topic, view)`: receives each view, on that thread or on the caller's. `failed(error)`:
    receives each error. `has_statistics`: leaders come by `told`.
    """

    def __init__(
        self,
        client: Any,  # noqa: ANN401 (untyped)
        racks: RackSource,
        *,
        every_s: float,
        took: Callable[[str, TopicView], None],
        failed: Callable[[Exception], None],
        has_statistics: bool,
    ) -> None:
        self._source = racks
        self._racks: Mapping[int, str | None] | None = None
        self._client = client
        self._took, self._failed = took, failed
        self._every_s = every_s
        self._has_statistics = has_statistics
        self._leaders: dict[str, tuple[int | None, ...]] = {}
        self._new: deque[str] = deque()
        # topic -> when it was added, as long as records wait for it
        self._awaited: dict[str, float] = {}
        self._adding = threading.Lock()
        # the topics of which a broker has answered
        self._met: set[str] = set()
        self._wake = threading.Event()
        self._news = threading.Event()
        self._is_over = False
        self._is_out = False
        # whether a first record may wait: the last question was answered
        self._answers = True
        self._soon = 0
        self._asks_racks = False
        self._due_s = time.monotonic() + every_s
        self._thread = threading.Thread(
            target=_keep_fresh,
            args=(weakref.ref(self), self._wake),
            name="rackwise leaders",
            daemon=True,
        )
        self._thread.start()

    def is_awaited(self, topic: str) -> bool:
        """Whether a record that is steered waits for the view of a topic."""
        return topic not in self._leaders or topic in self._awaited

    def add(self, topic: str) -> None:
        """Request the view of a topic, unless that was done before."""
        if topic in self._leaders:
            return
        with self._adding:
            if topic in self._leaders:
                return
            self._awaited[topic] = time.monotonic()
            self._leaders[topic] = ()
        self._new.append(topic)
        self._wake.set()

    def meet(self, topic: str, look: Callable[[], None] | None = None) -> None:
        """Request the view of a topic, and wait for it unless no broker answers.

        `look`: called while waiting, without a lock; it lets the client report its errors, and may
        call the callbacks of the user.
        """
        self.add(topic)
        while self._answers and not self._is_over:
            begun_s = self._awaited.get(topic)
            if begun_s is None:
                return
            if time.monotonic() - begun_s > (OUTAGE_S if self._is_out else FIRST_S):
                self.lost(f"the leaders of topic {topic} are not known yet")
                self._answers = False
            self._news.clear()
            if look is not None:
                look()
            self._news.wait(TURN_S)
        self._awaited.pop(topic, None)

    def told(self, topic: str, leaders: Mapping[int, int]) -> None:
        """Use partition -> leader, below 0 for none, from metadata or statistics."""
        if leaders:
            rows = (leaders.get(partition, -1) for partition in range(max(leaders) + 1))
            self._leaders[topic] = tuple(None if leader < 0 else leader for leader in rows)
            self._tell(topic)

    def lost(self, reason: object, *, all_brokers: bool = False) -> None:
        """Refresh because a broker is lost; the first call of an outage logs a line."""
        if all_brokers:
            self._answers = False
        self._note_outage(reason)
        self.stale()

    def stale(self, after_s: float = 0.0) -> None:
        """Refresh after so many seconds and a few more times, because of an error."""
        if self._soon == 0:
            self._soon = SOON_TURNS
            self._due_s = time.monotonic() + after_s
            self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._is_over = True
        self._wake.set()

    def turn(self) -> float:
        """Ask for what is missing or due. Returns the seconds until the next turn."""
        if self._racks is None and not self._is_over:
            self._ask_racks()
        while self._new and not self._is_over:
            self._ask(self._new.popleft())
        if time.monotonic() >= self._due_s and not self._is_over:
            self._refresh()
            self._due_s = time.monotonic() + self._wait_s()
        return max(0.0, self._due_s - time.monotonic())

    def ended(self) -> bool:
        """Whether it was closed; then the client and the source are let go."""
        if self._is_over:
            del self._client, self._source
        return self._is_over

    def _refresh(self) -> None:
        """Refresh leaders, and racks when they are due; after an error the old values stay."""
        is_well = True
        for topic in list(self._leaders):
            if self._is_over:
                return
            if is_well and not (self._has_statistics and self._leaders[topic]):
                is_well = self._ask(topic)
        if self._is_over:
            return
        if self._racks is None or self._asks_racks or self._has_strangers():
            is_well = self._ask_racks() and is_well
        if is_well and self._soon == 0:
            self._is_out = False

    def _ask(self, topic: str) -> bool:
        """Ask for the leaders of a topic; returns whether a broker answered."""
        try:
            metadata = self._client.list_topics(topic, timeout=METADATA_S).topics[topic]
            self._answers = True
            self.told(topic, {number: each.leader for number, each in metadata.partitions.items()})
            if topic not in self._met:
                self._note_met(topic)
        except Exception as error:  # noqa: BLE001, the last answer stays
            self._noted(error)
            return False
        return True

    def _note_met(self, topic: str) -> None:
        """End the wait of a topic's first record; ask soon again if it has no partition yet."""
        self._met.add(topic)
        self._awaited.pop(topic, None)
        self._news.set()
        if not self._leaders[topic]:
            self.stale(SOON_S)

    def _ask_racks(self) -> bool:
        """Ask for the racks; returns whether the source answered."""
        try:
            racks = dict(self._source())
            self._answers = True
            if racks != self._racks:
                self._racks = racks
                for topic in list(self._leaders):
                    self._tell(topic)
        except Exception as error:  # noqa: BLE001, the last answer stays
            self._noted(unanswered(error))
            return False
        return True

    def _noted(self, error: Exception) -> None:
        """Keep an error of the client or of the source, and ask again soon."""
        if not self._is_over:
            self._failed(error)
            self._answers = False
            self._note_outage(error)
            self.stale(SOON_S)

    def _note_outage(self, reason: object) -> None:
        self._news.set()
        if not self._is_out:
            self._is_out = True
            log.warning(
                "%s; leaders and racks are asked for again, the last answers stay in use", reason
            )

    def _wait_s(self) -> float:
        """Seconds until the next refresh."""
        if self._soon:
            self._soon -= 1
            self._asks_racks = self._soon == 0
            late = float(1 << (SOON_TURNS - 1 - self._soon))
            return min(self._every_s, SOON_S * late)
        self._asks_racks = True
        is_known = self._racks is not None and self._answers
        return self._every_s if is_known else min(self._every_s, MISSING_S)

    def _has_strangers(self) -> bool:
        """Whether the rack of some leader is missing."""
        return any(
            leader is not None and leader not in (self._racks or {})
            for leaders in list(self._leaders.values())
            for leader in leaders
        )

    def _tell(self, topic: str) -> None:
        if self._racks is not None and self._leaders[topic]:
            self._took(topic, TopicView(leaders=self._leaders[topic], racks=self._racks))


def _keep_fresh(weak: weakref.ref[LeaderViews], wake: threading.Event) -> None:
    """Refresh while the views are in use; between turns this thread holds no reference to them."""
    while True:
        views = weak()
        if views is None or views.ended():
            return
        wait_s = views.turn()
        del views
        wake.wait(wait_s)
        wake.clear()
