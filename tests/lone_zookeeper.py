"""A single ZooKeeper, ready in a second: started, killed, started again on its data."""

from __future__ import annotations

import socket

from rackwise.adapters.sandbox import KAFKA_3_9, resolve
from rackwise.adapters.sandbox.blueprint import ClusterSpec, properties_text
from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.adapters.sandbox.ready import wait_until_true, zookeeper_mode
from rackwise.adapters.sandbox.zookeeper import zookeeper_blueprint

READY_S = 60.0


class LoneZooKeeper:
    """`connect` is host:port; `server` is the process to kill, pause and start."""

    def __init__(self, *, java_home, folder, settings=None):
        folder.mkdir(parents=True, exist_ok=True)
        request = ClusterSpec(
            brokers=1, racks=(), java_home=java_home, jars=resolve(KAFKA_3_9), heap_mib=128
        )
        blueprint = zookeeper_blueprint(request, folder)
        self.server = blueprint.zookeeper
        self.port = blueprint.zookeeper_port
        self.connect = f"{HOST}:{self.port}"
        self.url = f"zookeeper://{self.connect}"
        if settings:
            with (folder / "zookeeper" / "zoo.cfg").open("a") as file:
                file.write(properties_text(settings))

    def start(self):
        """Start it and wait until it accepts sessions."""
        self.server.start()
        if not wait_until_true(lambda: self.has_died() or zookeeper_mode(self.port), READY_S):
            message = f"ZooKeeper is not ready after {READY_S:.0f} s\n{self.server.log_hint()}"
            raise AssertionError(message)

    def has_died(self):
        if self.server.has_died:
            raise self.server.death_error()
        return False

    def told(self, word):
        """Its answer to a four letter word, such as `cons`, `dump`, `mntr`."""
        with socket.create_connection((HOST, self.port), 5.0) as connection:
            connection.sendall(word.encode())
            with connection.makefile("rb") as answer:
                return answer.read().decode(errors="replace")

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.server.close()


def free_port():
    return free_ports(1)[0]
