"""What the rack-aware producers of confluent-kafka share: settings, topics, views, callbacks.

```
constructor     read_settings, SteeredTopics          without a broker
its last line   LeaderViews                           the thread that asks for leaders and racks
error_cb        a lost broker: leaders may move       then the caller's, or a line in the log
stats_cb        leaders, brokers that are away        then the caller's
delivery        marks of windows: done                then the caller's
```

With a custom partitioner there is none of it: the client works as it does without the plug-in.

Source: librdkafka's CONFIGURATION.md and STATISTICS.md.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from rackwise.adapters.clients.confluent.installed import (
    AdminClient,
    KafkaError,
    consistent,
    fnv1a,
    murmur2,
)
from rackwise.adapters.clients.confluent.settings import ProducerSettings, read_settings
from rackwise.adapters.clients.confluent.statistics import AwayNodes, read_statistics
from rackwise.adapters.clients.confluent.views import REFRESH_S, LeaderViews
from rackwise.adapters.clients.rack_source import admin_racks
from rackwise.adapters.clients.steering import warn
from rackwise.adapters.clients.topics import SteeredTopics, SteersTopics
from rackwise.core.partitioner import PRODUCER, PRODUCER_RULES
from rackwise.core.partitioner.choice.keys import RECORD_OVERHEAD

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from random import Random

    from rackwise.adapters.clients.rack_source import RackSource
    from rackwise.adapters.clients.steering import Steering
    from rackwise.core.partitioner import PartitionerConfig, TopicView

Theirs: TypeAlias = Any
"""Objects of confluent-kafka, which is written in C."""

ANY = -1
"""librdkafka's partition number for a record that its own partitioner places."""
STALE = {
    KafkaError.LEADER_NOT_AVAILABLE,
    KafkaError.NOT_LEADER_FOR_PARTITION,
    KafkaError.UNKNOWN_TOPIC_OR_PART,
}
"""Errors of a record after which its leader must be asked for again."""
ALL_BROKERS_DOWN = "_ALL_BROKERS_DOWN"
LOST = {"_TRANSPORT", "_RESOLVE", ALL_BROKERS_DOWN}
"""Names of librdkafka's errors about brokers that cannot be reached."""
_HASHES: Mapping[str, Callable[[bytes, int], int]] = {
    "consistent_random": consistent,
    "murmur2_random": murmur2,
    "fnv1a_random": fnv1a,
}
"""librdkafka's partitioners that leave records without a key to chance -> their hash of a key."""

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Terms:
    """What a rack-aware producer is given besides its settings."""

    config: PartitionerConfig | None
    """None: the settings have the options."""
    racks: RackSource | None
    """None: the brokers are asked."""
    client_rack: str | None
    """The rack of this client, unless the settings or the configuration have it."""
    rng: Random | None = None
    """Random numbers."""
    clock: Callable[[], float] = time.monotonic
    """Seconds, monotonic."""


class SteeredClient(SteersTopics):
    """The part of a rack-aware producer that does not depend on how it sends."""

    _settings: ProducerSettings
    _views: LeaderViews
    """Missing if a custom partitioner is in force: no record needs a leader then."""

    def _prepare(self, conf: object, terms: Terms) -> None:
        """Read the settings. Raises `PartitionerConfigError`."""
        self._settings = settings = read_settings(conf, terms.config, terms.client_rack)
        self._clock = terms.clock
        self._hash = _HASHES.get(settings.partitioner)
        self._away = AwayNodes(settings.config.availability_timeout_ms)
        only_errors = str(settings.conf.get("delivery.report.only.error", False)).lower()
        self.topics = SteeredTopics(
            settings.config,
            rng=terms.rng,
            clock=None if only_errors in {"true", "1"} else terms.clock,
            late_nodes=self._away.nodes,
        )
        self._by_name = self.topics.by_name
        self._is_custom = settings.is_custom
        self._ignores_keys = settings.config.ignore_keys

    def _look_for_leaders(self, terms: Terms, client: Theirs = None) -> None:
        """Begin to ask for leaders and racks; `client` None: by a connection of its own."""
        settings = self._settings
        if self._is_custom:
            self._warn_of_custom()
            return
        admin: Theirs = None
        if client is None or terms.racks is None:
            admin = AdminClient(settings.connection())
        every_ms = settings.refresh_ms
        self._views = LeaderViews(
            admin if client is None else client,
            terms.racks or admin_racks(admin),
            every_s=min(REFRESH_S, every_ms / 1000) if every_ms > 0 else REFRESH_S,
            took=self._took,
            failed=self.topics.failures.note,
            has_statistics=settings.has_statistics,
        )

    def _warn_of_custom(self) -> None:
        """Log that a custom partitioner leaves the partitioner's options without effect."""
        settings = self._settings
        if settings.partitioner != settings.config.custom_partitioner:
            for finding in settings.config.problems():
                warn(finding)
            return
        warn(
            PRODUCER_RULES.finding(
                "custom-partitioner",
                where=PRODUCER,
                wanted="no option partitioner, or one that ends with _random, for "
                "partitioner.rack.aware and partitioner.adaptive.partitioning.enable have no "
                "effect when a custom partitioner is used",
                had=settings.partitioner,
                hint="leave the option partitioner out",
            )
        )

    def _chained(self, *, error_cb: Theirs, stats_cb: Theirs) -> dict[str, Theirs]:
        """Those of these callbacks that the plug-in needs; each calls the caller's own."""
        if self._is_custom:
            return {}
        if self._settings.has_statistics:
            return {"error_cb": error_cb, "stats_cb": stats_cb}
        return {"error_cb": error_cb}

    def _close_views(self) -> None:
        """End the refreshes of leaders."""
        if not self._is_custom:
            self._views.close()

    def _is_steered(self, key: Theirs, partition: int) -> bool:
        """Whether a record may go to any partition, as the caller and librdkafka see it."""
        if partition != ANY or self._is_custom:
            return False
        return key is None or self._ignores_keys

    def _took(self, topic: str, view: TopicView) -> None:
        """Use new leaders or racks of a topic, from any source."""
        steering = self._by_name.get(topic)
        if steering is None:
            self.topics.met(topic, view)
        else:
            with steering.lock:
                steering.see(view)

    def delivered(self, steering: Steering, marks: list[int], error: Theirs) -> None:
        """Note that a marked record is acknowledged, or failed; `error`: of any kind."""
        try:
            with steering.lock:
                steering.done(marks, ok=error is None)
            if isinstance(error, KafkaError) and error.code() in STALE:
                self._views.stale()
        except Exception as problem:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(problem)

    def _note_error(self, error: Theirs, *, is_told: bool) -> None:
        """Refresh leaders after an error such as a lost broker; `is_told`: the caller sees it."""
        if error.name() in LOST:
            self._views.lost(error.str(), all_brokers=error.name() == ALL_BROKERS_DOWN)
        else:
            self._views.stale()
            if not is_told:
                log.warning("librdkafka: %s", error.str())

    def _note_statistics(self, text: str) -> None:
        """Use leaders and connections of librdkafka's statistics."""
        try:
            found = read_statistics(text)
            for topic in self._by_name.keys() & found.leaders.keys():
                self._views.told(topic, found.leaders[topic])
            if self._away.look(found.brokers, int(self._clock() * 1000)):
                for steering in list(self._by_name.values()):
                    with steering.lock:
                        steering.look_at_nodes()
        except Exception as error:  # noqa: BLE001, nothing of ours may leave a callback
            self.topics.failures.keep(error)

    def _count_unsteered(
        self, steering: Steering | None, key: Theirs, partition: int, size: int
    ) -> None:
        """Count a record that its key or its sender placed."""
        if steering is None:
            return
        try:
            if partition == ANY and key and self._hash is not None:
                text = key.encode() if isinstance(key, str) else key
                partition = self._hash(text, len(steering.view.leaders))
            with steering.lock:
                steering.choice.count_unsteered(partition, size)
        except Exception as error:  # noqa: BLE001, the record is on its way
            self.topics.failures.keep(error)


def size_of(value: str | bytes | None, key: str | bytes | None, headers: Theirs) -> int:
    """Bytes of a record before compression."""
    if key is None and headers is None and type(value) is bytes:
        return len(value) + RECORD_OVERHEAD
    pairs = headers.items() if isinstance(headers, dict) else headers or ()
    parts = [value, key, *(part for pair in pairs for part in pair)]
    return RECORD_OVERHEAD + sum(
        len(each.encode()) if isinstance(each, str) else len(each)
        for each in parts
        if each is not None
    )
