"""What a cluster of the sandbox is made of, before anything runs."""

from __future__ import annotations

import base64
import os
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwise.adapters.sandbox.ports import HOST
from rackwise.core.errors import InvalidConfig
from rackwise.core.model import Broker
from rackwise.core.racks import Rack

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rackwise.adapters.sandbox.process import ServerProcess

FEW_BROKERS = 6
"""Up to this many brokers the sessions are short, so that a dead broker is seen soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """What was asked for; `racks` go round over the brokers, None stands for a broker without one.

    `overrides` are lines of every broker's `server.properties`; they win over the sandbox's own,
    and None takes a line away.
    `hosts` are loopback addresses, one per broker, where all are not to share one.
    `proxies` are loopback ports, one per broker, that a listener of its own is advertised at.
    """

    brokers: int
    racks: Sequence[str | None]
    java_home: Path
    jars: Sequence[Path]
    heap_mib: int
    overrides: Mapping[str, str | None] = field(default_factory=dict)
    hosts: Sequence[str] = ()
    proxies: Sequence[int] = ()

    def __post_init__(self) -> None:
        if self.brokers < 1:
            raise InvalidConfig(
                f"invalid brokers: expected 1 or more, got {self.brokers}",
                wanted=1,
                had=self.brokers,
                hint="set 1 or more brokers",
            )
        if len(self.proxies) not in {0, self.brokers}:
            raise InvalidConfig(
                f"invalid proxies: expected one port for each of {self.brokers} brokers, got "
                f"{len(self.proxies)}",
                wanted=self.brokers,
                had=len(self.proxies),
                hint="set one port per broker, or none",
            )
        for rack in self.racks:
            if rack is not None:
                _ = Rack(rack).levels

    def host_of(self, broker: int) -> str:
        """The address it listens at and is described by."""
        return self.hosts[broker] if self.hosts else HOST

    def with_overrides(self, properties: Mapping[str, str]) -> dict[str, str]:
        """A broker's properties with what was asked for in their stead."""
        wanted = {**properties, **self.overrides}
        return {key: value for key, value in wanted.items() if value is not None}

    @property
    def is_small(self) -> bool:
        """Whether the brokers are few enough to promise quick heartbeats on two cores."""
        return self.brokers <= FEW_BROKERS

    def rack_of(self, broker: int) -> str | None:
        """Its rack: the racks are dealt in turn."""
        return self.racks[broker % len(self.racks)] if self.racks else None

    def java(self, *options: str, heap_mib: int | None = None) -> list[str]:
        """The start of a command: Java, tuned for a quick start of many small servers."""
        heap = heap_mib or self.heap_mib
        return [
            str(self.java_home.absolute() / "bin" / "java"),
            f"-Xmx{heap}m",
            f"-Xms{heap // 2}m",
            "-XX:+UseSerialGC",
            "-XX:TieredStopAtLevel=1",
            "-XX:-UsePerfData",
            "-Djava.awt.headless=true",
            *options,
            "-cp",
            os.pathsep.join(str(jar) for jar in self.jars),
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Blueprint:
    """Written folders and unstarted servers: broker id -> process; ZooKeeper where there is one.

    `ports` are those of the brokers, by id; `proxied` those that only their proxies know.
    """

    brokers: tuple[Broker, ...]
    ports: Sequence[int]
    servers: Mapping[int, ServerProcess]
    zookeeper: ServerProcess | None = None
    zookeeper_port: int | None = None
    proxied: Sequence[int] = ()


def describe_brokers(request: ClusterSpec, ports: Sequence[int]) -> tuple[Broker, ...]:
    """The brokers 0..n-1 as the cluster will describe them."""
    racks = [request.rack_of(broker) for broker in range(request.brokers)]
    return tuple(
        Broker(
            id=number,
            rack=None if rack is None else Rack(rack),
            host=request.host_of(number),
            port=port,
        )
        for number, (rack, port) in enumerate(zip(racks, ports, strict=True))
    )


def properties_text(properties: Mapping[str, str]) -> str:
    r"""A Java properties file, `key=value` a line, with `\` escaped and non-ASCII as `\uNNNN`."""
    return "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(value: str) -> str:
    utf16 = value.replace("\\", "\\\\").replace("\n", "\\n").encode("utf-16-be")
    units = [int.from_bytes(utf16[at : at + 2]) for at in range(0, len(utf16), 2)]
    return "".join(chr(unit) if unit < 0x7F else f"\\u{unit:04x}" for unit in units)  # noqa: PLR2004


def new_uuid() -> str:
    """A fresh id in Kafka's text form: 16 random bytes, URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(secrets.token_bytes(16)).rstrip(b"=").decode()
