"""The rack of each broker, for a client whose metadata has no racks.

librdkafka shows leaders, but no broker.rack: a producer on confluent-kafka needs a rack source.

```
fixed_racks({0: "use1-az1", 1: "use1-az2"})    what you know
admin_racks(AdminClient({...}))                what the brokers say, asked anew at every call
```

A source is called when topic metadata is refreshed, on a separate thread. If a call raises, the
last answer stays in use. Until a first call succeeds, records are not steered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.errors import RackSourceError
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from typing import Any

RackSource: TypeAlias = Callable[[], Mapping[int, str | None]]
"""Broker id -> rack, None for a broker without one; may raise."""

TIMEOUT_S = 10.0


def fixed_racks(racks: Mapping[int, str]) -> RackSource:
    """A source that always returns these racks. Raises `InvalidRack` for an invalid rack."""
    for rack in racks.values():
        _ = Rack(rack).levels
    known: Mapping[int, str | None] = dict(racks)
    return lambda: known


def admin_racks(admin: Any, *, timeout_s: float = TIMEOUT_S) -> RackSource:  # noqa: ANN401 (untyped)
    """A source that queries the brokers; `admin` is an AdminClient of confluent-kafka.

    A call raises `RackSourceError` if no broker answers in time.
    """

    def ask() -> Mapping[int, str | None]:
        try:
            described = admin.describe_cluster(request_timeout=timeout_s).result(timeout_s)
        except Exception as error:
            raise unanswered(error) from error
        return {node.id: node.rack for node in described.nodes}

    return ask


def unanswered(error: Exception) -> RackSourceError:
    """The log text for a source that failed."""
    if isinstance(error, RackSourceError):
        return error
    said = str(error) or type(error).__name__
    return RackSourceError(
        f"the source of the brokers' racks failed: {said}",
        wanted="broker id -> rack",
        had=said,
        hint="give the racks with fixed_racks, or check that the brokers answer DescribeCluster",
    )
