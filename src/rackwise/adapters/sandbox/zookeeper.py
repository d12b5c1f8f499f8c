"""Kafka 3.9 in ZooKeeper mode: one ZooKeeper 3.8 and n brokers on loopback.

3.9 is the last version of Kafka that runs on ZooKeeper. Broker ids are 0..n-1. The override
`broker.id=-1` makes Kafka generate them instead, from 1001 on in order of registration; the ids of
the sandbox then only name its processes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.sandbox.blueprint import (
    Blueprint,
    describe_brokers,
    properties_text,
    write_start_script,
)
from rackwise.adapters.sandbox.kraft import common_properties
from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.adapters.sandbox.process import ServerProcess

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from rackwise.adapters.sandbox.blueprint import ClusterSpec

ZOOKEEPER_HEAP_MIB = 128
LOG4J = {
    "log4j.rootLogger": "INFO, console",
    "log4j.appender.console": "org.apache.log4j.ConsoleAppender",
    "log4j.appender.console.layout": "org.apache.log4j.PatternLayout",
    "log4j.appender.console.layout.ConversionPattern": "[%d] %p %m (%c)%n",
}


def zookeeper_blueprint(request: ClusterSpec, folder: Path) -> Blueprint:
    """Write `zookeeper`, `broker-N`, logging and the start script in `folder`; start nothing."""
    zookeeper_port, *ports = free_ports(1 + request.brokers)
    (folder / "log4j.properties").write_text(properties_text(LOG4J))
    start = [*request.java(_logging(folder)), "kafka.Kafka"]
    write_start_script(folder, start)
    return Blueprint(
        brokers=describe_brokers(request, ports),
        ports=ports,
        servers={
            broker: _broker(request, broker, folder, port, zookeeper_port, start)
            for broker, port in enumerate(ports)
        },
        zookeeper=_zookeeper(request, folder, zookeeper_port),
        zookeeper_port=zookeeper_port,
    )


def _zookeeper(request: ClusterSpec, folder: Path, port: int) -> ServerProcess:
    home = folder / "zookeeper"
    (home / "data").mkdir(parents=True)
    configured = home / "zoo.cfg"
    properties = {
        "dataDir": str(home / "data"),
        "clientPort": str(port),
        "clientPortAddress": HOST,
        "tickTime": "1000",
        "admin.enableServer": "false",
        "4lw.commands.whitelist": "*",
    }
    configured.write_text(properties_text(properties))
    command = [
        *request.java(_logging(folder), heap_mib=ZOOKEEPER_HEAP_MIB),
        "org.apache.zookeeper.server.ZooKeeperServerMain",
        str(configured),
    ]
    return ServerProcess(name="ZooKeeper", command=command, folder=home)


def _broker(
    request: ClusterSpec,
    broker: int,
    folder: Path,
    port: int,
    zookeeper_port: int,
    start: Sequence[str],
) -> ServerProcess:
    home = folder / f"broker-{broker}"
    data = home / "data"
    data.mkdir(parents=True)
    rack = request.rack_of(broker)
    properties = {
        "broker.id": str(broker),
        "listeners": f"PLAINTEXT://{HOST}:{port}",
        "zookeeper.connect": f"{HOST}:{zookeeper_port}",
        "zookeeper.session.timeout.ms": "6000",
        "log.dirs": str(data),
        **({} if rack is None else {"broker.rack": rack}),
        **common_properties(str(min(3, request.brokers))),
    }
    configured = home / "server.properties"
    configured.write_text(properties_text(request.with_overrides(properties)))
    return ServerProcess(name=f"broker {broker}", command=[*start, str(configured)], folder=home)


def _logging(folder: Path) -> str:
    return f"-Dlog4j.configuration={(folder / 'log4j.properties').as_uri()}"
