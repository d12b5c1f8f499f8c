"""Ready checks: the servers themselves are asked, until a deadline."""

from __future__ import annotations

import socket
import time
from typing import TYPE_CHECKING, Any

from rackwise.adapters.sandbox.ports import HOST
from rackwise.core.errors import WorldError

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

    from rackwise.core.model import Broker

POLL_S = 0.1
ANSWER_S = 5.0


def wait_until_true(condition: Callable[[], bool], timeout_s: float) -> bool:
    """Check `condition` repeatedly until it holds (True) or the time is over (False)."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(POLL_S)
    return True


def listed_ports(
    brokers: Collection[Broker], timeout_s: float = ANSWER_S
) -> list[frozenset[int] | None]:
    """For each broker, the ports of the brokers that it lists as not fenced.

    None stands for a broker that does not answer or is not listed. Ports and not ids, because the
    cluster may generate the ids. Every broker is asked, because each learns from the controller in
    its own time.
    """
    if not brokers:
        return []
    ports = [broker.port for broker in brokers]
    from kafka.protocol.admin import DescribeClusterRequest

    from rackwise.adapters.kafka.connect import connect, send_to_each

    bootstrap = ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    try:
        with connect(bootstrap, timeout_s=timeout_s) as admin:
            listed = admin._manager.cluster.brokers()  # noqa: SLF001 (the public method asks any one)
            nodes = {broker.port: broker.node_id for broker in listed}
            requests = {
                nodes[port]: DescribeClusterRequest(include_fenced_brokers=True)
                for port in ports
                if port in nodes
            }
            answers = send_to_each(admin, requests)
    except WorldError:
        return [None for _ in ports]
    return [_unfenced(answers.get(nodes.get(port, -1))) for port in ports]


def _unfenced(answer: Any) -> frozenset[int] | None:  # noqa: ANN401 (a message of kafka-python)
    if answer is None or isinstance(answer, Exception):
        return None
    return frozenset(broker.port for broker in answer.brokers if not broker.is_fenced)


def zookeeper_mode(port: int) -> str | None:
    """The `Mode:` of ZooKeeper's `srvr` answer, such as `standalone`; None while it serves nobody.

    ZooKeeper answers `ruok` before it accepts sessions; `srvr` has its Mode line only afterwards.
    """
    try:
        with socket.create_connection((HOST, port), ANSWER_S) as connection:
            connection.sendall(b"srvr")
            with connection.makefile("rb") as answer:
                text = answer.read(65536).decode("ascii", errors="replace")
    except OSError:
        return None
    modes = [line.partition(":")[2].strip() for line in text.splitlines() if line[:5] == "Mode:"]
    return modes[0] if modes else None
