"""Leaders and racks for confluent-kafka, which does not report their changes to a producer.

```
at construction          the rack source must answer, else RackSourceError
first record of a topic  its metadata is waited for, as other clients do before they send
every 30 s               a daemon thread asks; sooner by topic.metadata.refresh.interval.ms
statistics.interval.ms   leaders come with them instead; only racks are still asked for
a broker went away       leaders are asked for at once, then 6 times more, each twice as late, for
                         elections take time; racks at the last of these
```

A source that queries the lost broker blocks for its own timeout. So while leaders move, the source
is called only for a leader whose rack is missing. After an error the last answer stays in use.

Source: librdkafka's CONFIGURATION.md and STATISTICS.md.
"""

from __future__ import annotations

import threading
import weakref
from typing import TYPE_CHECKING, Final

from rackwise.adapters.clients.rack_source import unanswered
from rackwise.core.partitioner import TopicView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from rackwise.adapters.clients.rack_source import RackSource

REFRESH_S: Final = 30.0
METADATA_S: Final = 10.0
"""The longest wait for leaders: of a topic's first record, and of a refresh."""
SOON_S: Final = 0.25
SOON_TURNS: Final = 6


class LeaderViews:
    """The views of a producer's topics; a separate thread refreshes them until `close`.

    `producer`: an object with `list_topics`. `took(topic, view)`: receives each view, on that
    thread or on the caller's. `failed(error)`: receives each error. Raises `RackSourceError`.
    """

    def __init__(
        self,
        producer: Any,  # noqa: ANN401 (untyped)
        racks: RackSource,
        *,
        every_s: float,
        took: Callable[[str, TopicView], None],
        failed: Callable[[Exception], None],
        has_statistics: bool,
    ) -> None:
        try:
            self._racks: Mapping[int, str | None] = dict(racks())
        except Exception as error:
            raise unanswered(error) from error
        self._source = racks
        self._producer = producer
        self._took, self._failed = took, failed
        self._every_s = every_s
        self._has_statistics = has_statistics
        self._leaders: dict[str, tuple[int | None, ...]] = {}
        self._wake = threading.Event()
        self._is_over = False
        self._soon = 0
        self._thread = threading.Thread(
            target=_keep_fresh,
            args=(weakref.ref(self), self._wake),
            name="rackwise leaders",
            daemon=True,
        )
        self._thread.start()

    def knows(self, topic: str) -> bool:
        """Whether a topic was requested before, even without success."""
        return topic in self._leaders

    def ask(self, topic: str) -> None:
        """Wait for the leaders of a topic. Raises the client's error; the next refresh retries."""
        self._leaders.setdefault(topic, ())
        try:
            metadata = self._producer.list_topics(topic, timeout=METADATA_S).topics[topic]
            self.told(topic, {number: each.leader for number, each in metadata.partitions.items()})
        except Exception:
            self.stale()
            raise

    def told(self, topic: str, leaders: Mapping[int, int]) -> None:
        """Use partition -> leader, below 0 for none, from metadata or statistics."""
        if not leaders:
            self.stale()
            return
        rows = (leaders.get(partition, -1) for partition in range(max(leaders) + 1))
        self._leaders[topic] = tuple(None if leader < 0 else leader for leader in rows)
        self._tell(topic)

    def stale(self) -> None:
        """Refresh now and a few more times, after an error."""
        if self._soon == 0:
            self._soon = SOON_TURNS
            self._wake.set()

    def close(self) -> None:
        """End the thread."""
        self._is_over = True
        self._wake.set()

    def refresh(self) -> None:
        """Refresh leaders, and racks when they are due; after an error the old values stay."""
        for topic in list(self._leaders):
            if self._is_over:
                return
            try:
                if not (self._has_statistics and self._leaders[topic]):
                    self.ask(topic)
            except Exception as error:  # noqa: BLE001, the last answer stays
                self._failed(error)
        if self._soon == 0 or self._has_strangers():
            self._ask_racks()

    def _ask_racks(self) -> None:
        try:
            racks = dict(self._source())
            if racks != self._racks:
                self._racks = racks
                for topic in [name for name, leaders in list(self._leaders.items()) if leaders]:
                    self._tell(topic)
        except Exception as error:  # noqa: BLE001, the last answer stays
            self._failed(error)

    @property
    def is_over(self) -> bool:
        """Whether it was closed."""
        return self._is_over

    def wait_s(self) -> float:
        """Seconds until the next refresh."""
        if self._soon == 0:
            return self._every_s
        self._soon -= 1
        late = float(1 << (SOON_TURNS - 1 - self._soon))
        return min(self._every_s, SOON_S * late)

    def _has_strangers(self) -> bool:
        """Whether the rack of some leader is missing."""
        return any(
            leader is not None and leader not in self._racks
            for leaders in list(self._leaders.values())
            for leader in leaders
        )

    def _tell(self, topic: str) -> None:
        self._took(topic, TopicView(leaders=self._leaders[topic], racks=self._racks))


def _keep_fresh(weak: weakref.ref[LeaderViews], wake: threading.Event) -> None:
    """Refresh while the views are in use; between turns this thread holds no reference to them."""
    while True:
        views = weak()
        if views is None or views.is_over:
            return
        wait_s = views.wait_s()
        del views
        wake.wait(wait_s)
        wake.clear()
        views = weak()
        if views is None or views.is_over:
            return
        views.refresh()
        del views
