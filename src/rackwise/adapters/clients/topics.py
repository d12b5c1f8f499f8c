"""All topics of one producer; the three plug-ins share this class."""

from __future__ import annotations

import logging
import random
from typing import TYPE_CHECKING

from rackwise.adapters.clients.producer_options import invalid_option
from rackwise.adapters.clients.steering import DRAW_BITS, SplitTerms, Steering
from rackwise.core.partitioner import TopicPartitioner, TopicView

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from rackwise.core.partitioner import PartitionerConfig, PartitionerCounters

log = logging.getLogger(__name__)


class Failures:
    """Errors that did not reach the client: their number and the last one; the first is logged."""

    __slots__ = ("count", "last")

    def __init__(self) -> None:
        self.count = 0
        self.last: Exception | None = None

    def note(self, error: Exception) -> None:
        """Count an error that is logged elsewhere."""
        self.count += 1
        self.last = error

    def keep(self, error: Exception) -> None:
        """Count an error, and log the first."""
        self.note(error)
        if self.count == 1:
            log.warning("rack-aware partitioning failed; the client goes on", exc_info=error)


class SteeredTopics:
    """The topics of one producer by name, `by_name`; a topic is added at its first record.

    `rng`: random numbers. `clock`: seconds, monotonic, None = no ledger. `late_nodes`: nodes that
    the client itself reports as unavailable. `marked_every`: as in `Steering`. `failures`: errors
    that did not reach the client.
    """

    def __init__(
        self,
        config: PartitionerConfig,
        *,
        rng: random.Random | None = None,
        clock: Callable[[], float] | None = None,
        late_nodes: Callable[[], frozenset[int]] = frozenset,
        marked_every: int = 1,
    ) -> None:
        self.config = config
        self.clock = clock
        self.failures = Failures()
        self.by_name: dict[str, Steering] = {}
        self._rng = rng or random.Random()  # noqa: S311 (no secret)
        self._spare = random.Random()  # noqa: S311 (no secret)
        self._late_nodes = late_nodes
        self._marked_every = marked_every
        self._splits: dict[str, SplitTerms | None] = {}

    def met(self, topic: str, view: TopicView) -> Steering:
        """Add a topic with its first view; a second caller gets the object of the first."""
        made = Steering(
            self.config,
            view,
            rng=self._rng,
            clock=self.clock,
            late_nodes=self._late_nodes,
            marked_every=self._marked_every,
        )
        steering = self.by_name.setdefault(topic, made)
        with steering.lock:
            if topic in self._splits:
                steering.set_split(self._splits[topic])
        return steering

    def failed(self, topic: str, error: Exception) -> None:
        """Note a failed choice; the record then goes to any partition."""
        self.failures.keep(error)
        steering = self.by_name.get(topic)
        if steering is not None:
            steering.choice.count_internal()

    def any_of(self, partitions: list[int]) -> int:
        """One of these partitions, each with the same probability."""
        return partitions[self._spare.getrandbits(DRAW_BITS) % len(partitions)]

    def stale(self, _metadata: object = None) -> None:
        """Mark every topic's view as stale; it is renewed at the topic's next record."""
        for steering in list(self.by_name.values()):
            steering.is_stale = True

    def counters(self) -> Mapping[str, PartitionerCounters]:
        """Topic -> counters, for topics that had a record, sorted by name."""
        found = {}
        for topic, steering in sorted(self.by_name.copy().items()):
            with steering.lock:
                found[topic] = steering.counters()
        return found

    def set_split(
        self,
        topic: str,
        shares: Mapping[str, float] | None,
        *,
        weights: Mapping[str, float] | None = None,
        valid_for_ms: int | None = None,
    ) -> None:
        """This client's shares of a topic: leader rack -> share, adding up to 1; None = none.

        `weights`: the weights that the split was computed for. The split is stale if the leaders'
        weights differ. `valid_for_ms`: how long the split is valid. A stale split is kept for 3
        times as long, then dropped. A plug-in without a clock never drops it. Raises `SplitError`,
        and `PartitionerConfigError` under semantics `upstream`, or where a partitioner of the
        user's own chooses.
        """
        if self.config.custom_partitioner is not None:
            raise invalid_option(
                "split",
                "a producer that Rackwise steers",
                f"one with {self.config.custom_partitioner}",
                "leave the option partitioner out",
            )
        TopicPartitioner(self.config, _ANY_VIEW, rng=self._spare).set_split(shares)
        terms = None if shares is None else SplitTerms(shares, weights, valid_for_ms)
        self._splits[topic] = terms
        steering = self.by_name.get(topic)
        if steering is not None:
            with steering.lock:
                steering.set_split(terms)


class SteersTopics:
    """The methods that every plug-in offers."""

    topics: SteeredTopics
    """The topics of the producer; `topics.failures` holds errors."""

    def counters(self) -> Mapping[str, PartitionerCounters]:
        """Topic -> counters, for topics that had a record."""
        return self.topics.counters()

    def set_split(
        self,
        topic: str,
        shares: Mapping[str, float] | None,
        *,
        weights: Mapping[str, float] | None = None,
        valid_for_ms: int | None = None,
    ) -> None:
        """This client's shares of a topic, as in `SteeredTopics.set_split`."""
        self.topics.set_split(topic, shares, weights=weights, valid_for_ms=valid_for_ms)


_ANY_VIEW = TopicView(leaders=(None,), racks={})
