"""The specification of a sandbox cluster, and its written folders before anything runs."""

from __future__ import annotations

import base64
import os
import secrets
import shlex
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

START_SCRIPT = "kafka-server-start.sh"
"""Name of the script in the folder with which people start a broker."""
PLAIN = {chr(point) for point in range(0x20, 0x7F)}
"""Characters that a line of a properties file may have as they are."""
FEW_BROKERS = 6
"""Up to this many brokers have short sessions, so that the cluster notices a dead broker soon."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterSpec:
    """The specification of a cluster."""

    brokers: int
    racks: Sequence[str | None]
    """Given to the brokers in turn; None: a broker without a rack."""
    java_home: Path
    jars: Sequence[Path]
    heap_mib: int
    overrides: Mapping[str, str | None] = field(default_factory=dict)
    """Lines of every broker's `server.properties`; they win over the sandbox's own, None removes a
    line."""
    hosts: Sequence[str] = ()
    """Loopback addresses, one per broker; empty: all brokers share one."""
    proxies: Sequence[int] = ()
    """Loopback ports, one per broker, at which a separate listener is advertised."""

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

    def host_of(self, broker: int) -> str:
        """The address at which the broker listens and which the cluster reports."""
        return self.hosts[broker] if self.hosts else HOST

    def with_overrides(self, properties: Mapping[str, str]) -> dict[str, str]:
        """A broker's properties with the overrides applied."""
        wanted = {**properties, **self.overrides}
        return {key: value for key, value in wanted.items() if value is not None}

    @property
    def is_small(self) -> bool:
        """Whether the brokers are few enough for short sessions on two cores."""
        return self.brokers <= FEW_BROKERS

    def rack_of(self, broker: int) -> str | None:
        """The rack of a broker; the racks are given to the brokers in turn."""
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
    """Written folders and servers that are not started."""

    brokers: tuple[Broker, ...]
    ports: Sequence[int]
    """Ports of the brokers, by id."""
    servers: Mapping[int, ServerProcess]
    """Broker id -> its process."""
    zookeeper: ServerProcess | None = None
    """None in KRaft mode."""
    zookeeper_port: int | None = None
    proxied: Sequence[int] = ()
    """Ports that only the proxies know, by broker id."""


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
    r"""A Java properties file, `key=value` a line, with `\` escaped.

    What is no printable ASCII is written as `\uNNNN`; a colon stays, so that people can read it.
    """
    return "".join(f"{key}={_escaped(value)}\n" for key, value in properties.items())


def _escaped(value: str) -> str:
    utf16 = value.replace("\\", "\\\\").encode("utf-16-be")
    units = [int.from_bytes(utf16[at : at + 2]) for at in range(0, len(utf16), 2)]
    text = "".join(chr(unit) if chr(unit) in PLAIN else f"\\u{unit:04x}" for unit in units)
    return f"\\{text}" if text.startswith(" ") else text  # Java skips spaces before a value


def write_start_script(folder: Path, command: Sequence[str]) -> None:
    """Write `folder/kafka-server-start.sh`, which people run as Kafka's script of that name.

    `command` starts a broker; the arguments of the script follow it.
    """
    script = folder / START_SCRIPT
    script.write_text(
        "#!/bin/sh\n"
        "# Start a broker: kafka-server-start.sh FILE [--override KEY=VALUE ...]\n"
        f'exec {shlex.join(command)} "$@"\n'
    )
    script.chmod(0o755)


def new_uuid() -> str:
    """A new id in Kafka's text form: 16 random bytes, URL-safe base64 without padding."""
    return base64.urlsafe_b64encode(secrets.token_bytes(16)).rstrip(b"=").decode()
