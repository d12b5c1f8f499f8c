"""A cluster without brokers: the mock of librdkafka, in this process, for faults on demand.

```
with MockCluster(["az1", "az2", "az3"]) as cluster:      # brokers 1, 2, 3
    cluster.topic("orders", partitions=3)                # led by 1, 2, 3
    cluster.rtt(1, 300)                                  # broker 1 answers 300 ms late
    cluster.leader("orders", 0, 2)                       # partition 0 moves
    cluster.down(3)
    cluster.bootstrap                                    # 127.0.0.1:40815,127.0.0.1:44491,...
```

A real broker cannot delay its answers by a given time, or move a leader between two records, on
demand. The mock serves producers and metadata with racks, and keeps records in memory. It does not
answer describe_cluster, describe_topics and create_topics, elects no leaders and copies to no
replicas: code that depends on these needs real brokers.

The library is the one in the wheel of confluent-kafka, called by ctypes. kafka-python needs
`api_version=(2, 1)` with it.

Source: librdkafka's `rdkafka_mock.h`.
"""

from __future__ import annotations

import ctypes
import time
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self


class MockClusterError(RuntimeError):
    """The mock cluster of librdkafka is not available, or rejected a command."""


REPLICAS: Final = 3
BREATH_S: Final = 0.002
"""The mock's thread sleeps for a second on a call that arrives before the thread waits again."""
_PRODUCER: Final = 0
_TEXT_BYTES: Final = 512
_CALLS: Final = {
    "rd_kafka_conf_new": (ctypes.c_void_p, ()),
    "rd_kafka_conf_set": (ctypes.c_int, "pttti"),
    "rd_kafka_new": (ctypes.c_void_p, "ipti"),
    "rd_kafka_destroy": (None, "p"),
    "rd_kafka_mock_cluster_new": (ctypes.c_void_p, "pi"),
    "rd_kafka_mock_cluster_bootstraps": (ctypes.c_char_p, "p"),
    "rd_kafka_mock_cluster_destroy": (None, "p"),
    "rd_kafka_mock_broker_set_rack": (ctypes.c_int, "pit"),
    "rd_kafka_mock_broker_set_rtt": (ctypes.c_int, "pii"),
    "rd_kafka_mock_broker_set_down": (ctypes.c_int, "pi"),
    "rd_kafka_mock_broker_set_up": (ctypes.c_int, "pi"),
    "rd_kafka_mock_topic_create": (ctypes.c_int, "ptii"),
    "rd_kafka_mock_partition_set_leader": (ctypes.c_int, "ptii"),
}
"""Function -> type of its result, and of its arguments: p pointer, t text, i integer."""
_KINDS: Final = {"p": ctypes.c_void_p, "t": ctypes.c_char_p, "i": ctypes.c_int}


class MockCluster:
    """Brokers 1, 2, .. in these racks, None for a broker without one; a context manager.

    Raises `MockClusterError` where the library is missing or has no mock.
    """

    def __init__(self, racks: Sequence[str | None]) -> None:
        if not racks:
            raise MockClusterError("invalid racks: expected 1 or more, got 0")
        self._library = _library()
        self._client: int | None = None
        self._cluster: int | None = None
        self.brokers = len(racks)
        try:
            self._start()
            for broker, rack in enumerate(racks, start=1):
                if rack is not None:
                    self._do("broker_set_rack", broker, rack.encode())
        except BaseException:
            self.close()
            raise

    def _start(self) -> None:
        conf = self._library.rd_kafka_conf_new()
        text = ctypes.create_string_buffer(_TEXT_BYTES)
        self._library.rd_kafka_conf_set(conf, b"log_level", b"0", text, _TEXT_BYTES)
        self._client = self._library.rd_kafka_new(_PRODUCER, conf, text, _TEXT_BYTES)
        if not self._client:
            raise MockClusterError(f"librdkafka cannot create a client: {text.value.decode()}")
        self._cluster = self._library.rd_kafka_mock_cluster_new(self._client, self.brokers)
        if not self._cluster:
            raise MockClusterError(f"librdkafka cannot create a cluster of {self.brokers} brokers")

    @property
    def bootstrap(self) -> str:
        """`host:port` of every broker, separated by commas, as clients expect it."""
        found: bytes = self._library.rd_kafka_mock_cluster_bootstraps(self._alive())
        return found.decode()

    def topic(self, name: str, *, partitions: int) -> None:
        """Create a topic; partition p is led by broker p mod brokers + 1."""
        self._do("topic_create", name.encode(), partitions, min(REPLICAS, self.brokers))
        for partition in range(partitions):
            self.leader(name, partition, partition % self.brokers + 1)

    def leader(self, topic: str, partition: int, broker: int | None) -> None:
        """Make this broker the leader of a partition; None: no leader.

        A producer of librdkafka that still sends to a partition without a leader ends the process:
        the mock names the current leader in its answer, and has none.
        """
        self._do(
            "partition_set_leader", topic.encode(), partition, -1 if broker is None else broker
        )

    def rack(self, broker: int, rack: str) -> None:
        """Move a broker to another rack."""
        self._do("broker_set_rack", broker, rack.encode())

    def rtt(self, broker: int, milliseconds: int) -> None:
        """Delay the answers of a broker."""
        self._do("broker_set_rtt", broker, milliseconds)

    def down(self, broker: int) -> None:
        """Close the connections of a broker and reject new ones; it keeps its leaderships."""
        self._do("broker_set_down", broker)

    def up(self, broker: int) -> None:
        """Let a broker accept connections again."""
        self._do("broker_set_up", broker)

    def close(self) -> None:
        """End the cluster; a second call does nothing."""
        if self._cluster:
            self._library.rd_kafka_mock_cluster_destroy(self._cluster)
        if self._client:
            self._library.rd_kafka_destroy(self._client)
        self._cluster = self._client = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _alive(self) -> int:
        if self._cluster is None:
            raise MockClusterError("the mock cluster is closed")
        return self._cluster

    def _do(self, call: str, *arguments: int | bytes) -> None:
        code = getattr(self._library, f"rd_kafka_mock_{call}")(self._alive(), *arguments)
        time.sleep(BREATH_S)
        if code:
            message = f"the mock cluster rejected {call} {arguments!r}: librdkafka error {code}"
            raise MockClusterError(message)


def _library() -> ctypes.CDLL:
    found = find_spec("confluent_kafka")
    if found is None or found.origin is None:
        raise MockClusterError("confluent-kafka, which contains the mock cluster, is not installed")
    beside = Path(found.origin).parent.with_name("confluent_kafka.libs")
    return load_library(sorted(beside.glob("librdkafka-*")) or sorted(beside.glob("librdkafka*")))


def load_library(files: Sequence[Path]) -> ctypes.CDLL:
    """The first of these libraries, with typed calls. Raises `MockClusterError`."""
    if not files:
        raise MockClusterError("the wheel of confluent-kafka contains no librdkafka")
    try:
        library = ctypes.CDLL(str(files[0]))
        for name, (answer, kinds) in _CALLS.items():
            call = getattr(library, name)
            call.restype, call.argtypes = answer, [_KINDS[kind] for kind in kinds]
    except (OSError, AttributeError) as error:
        raise MockClusterError(f"librdkafka has no mock cluster: {error}") from error
    return library
