"""Leaders, and brokers that are away, from librdkafka's statistics.

```
state                        counts as
UP UPDATE REAUTH             there
INIT                         as before; there, once it has been so for longer than the timeout
DOWN, TRY_CONNECT and so on  away, once it has not been there for longer than the timeout
```

INIT is a broker to which no connection was needed. An excluded broker needs no connection either,
so this state makes it usable again.

Source: librdkafka's STATISTICS.md.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import ViewError
from rackwise.core.json import strict as strict_json

if TYPE_CHECKING:
    from collections.abc import Mapping

_THERE = frozenset({"UP", "UPDATE", "REAUTH"})
_UNASKED = "INIT"


@dataclass(frozen=True, slots=True)
class BrokerState:
    """A broker's connection: its state, and for how long."""

    state: str
    age_ms: int


@dataclass(frozen=True, slots=True)
class Statistics:
    """The parts of a statistics document that the plug-in uses."""

    leaders: Mapping[str, Mapping[int, int]]
    """Topic -> partition -> leader, -1 = none."""
    brokers: Mapping[int, BrokerState]
    """Node -> its connection."""


def read_statistics(text: str) -> Statistics:
    """Parse the document that `stats_cb` receives. Raises `ViewError`."""
    found: Any = strict_json.parse(text.encode(), where="statistics", error=ViewError)
    try:
        leaders = {
            topic: {
                int(number): int(each["leader"])
                for number, each in of_topic["partitions"].items()
                if int(number) >= 0
            }
            for topic, of_topic in found["topics"].items()
        }
        brokers = {
            int(each["nodeid"]): BrokerState(str(each["state"]), int(each["stateage"]) // 1000)
            for each in found["brokers"].values()
            if int(each["nodeid"]) >= 0
        }
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ViewError(
            f"invalid statistics of librdkafka: expected topics and brokers, got {error!r}",
            wanted="topics, brokers",
            had=repr(error),
            hint="install confluent-kafka 2.16 or later",
        ) from error
    return Statistics(leaders, brokers)


class AwayNodes:
    """Nodes that have been away for longer than a timeout; with 0 no node is ever away."""

    __slots__ = ("_away", "_since_ms", "_timeout_ms")

    def __init__(self, timeout_ms: int) -> None:
        self._timeout_ms = timeout_ms
        self._since_ms: dict[int, int] = {}
        self._away: frozenset[int] = frozenset()

    def nodes(self) -> frozenset[int]:
        """The nodes that are away by the last statistics."""
        return self._away

    def look(self, brokers: Mapping[int, BrokerState], now_ms: int) -> bool:
        """Use new statistics; True if the set of away nodes has changed."""
        for node, found in brokers.items():
            if found.state == _UNASKED and found.age_ms <= self._timeout_ms:
                continue
            if found.state in _THERE or found.state == _UNASKED:
                self._since_ms.pop(node, None)
            else:
                self._since_ms.setdefault(node, now_ms - found.age_ms)
        before = self._away
        if self._timeout_ms:
            self._away = frozenset(
                node for node, since in self._since_ms.items() if now_ms - since > self._timeout_ms
            )
        return self._away != before
