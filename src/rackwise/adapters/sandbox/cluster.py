"""Real Kafka clusters on this machine, for tests and for people; loopback only.

```
with Sandbox.kraft(brokers=4, racks=("a", "b", "c"), java_home=home) as cluster:
    cluster.bootstrap            # 127.0.0.1:40123,127.0.0.1:40125,...
    cluster.kill(2)              # SIGKILL
    cluster.wait_until_gone(2)   # until the other brokers have noticed
    cluster.start(2)
    cluster.wait_until_ready()
```

Each server is a Java process under a guard (`guard.py`): when the process that created the sandbox
ends for any reason, its servers end too. The kernel chooses the ports. If another process takes a
port before its server has bound it, the whole cluster is started once more.

Leaving the block kills the servers; the data remains only for inspection. Without `folder` a
temporary folder is used and deleted.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.adapters.sandbox.blueprint import START_SCRIPT, Blueprint, ClusterSpec
from rackwise.adapters.sandbox.jars import resolve
from rackwise.adapters.sandbox.kraft import finalize_features, kraft_blueprint
from rackwise.adapters.sandbox.lock import DEFAULT_KAFKA, KAFKA_3_9, KRAFT_JARS
from rackwise.adapters.sandbox.ports import HOST, is_open
from rackwise.adapters.sandbox.ready import listed_ports, wait_until_true, zookeeper_mode
from rackwise.adapters.sandbox.zookeeper import zookeeper_blueprint
from rackwise.core.errors import InvalidConfig, ServerDied, WorldError
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import TracebackType
    from typing import Self

    from rackwise.adapters.sandbox.process import ServerProcess
    from rackwise.core.model import Broker

BlueprintBuilder = Callable[[ClusterSpec, Path], Blueprint]
RACKS = ("a", "b", "c")
HEAP_MIB = 256
ASSIGNORS_WITH_JAR = (
    "uniform,range,io.rackwise.assignor.RackOptimalAssignor,io.rackwise.assignor.RackStickyAssignor"
)
"""`group.consumer.assignors` of brokers with the jar of the server-side assignors; the first one is
the default of groups that ask for none."""


def ignore(_count: int) -> None:
    """Ignore the progress."""


UNCHANGED: Mapping[str, str | None] = MappingProxyType({})
READY_S = 60.0
READY_S_PER_BROKER = 10.0
GONE_S = 60.0
PORT_TAKEN = ("Address already in use", "BindException")
PORT_TAKEN_LINES = 1000


class Sandbox:
    """A running cluster, created by `kraft` or `zookeeper`, ended by `close` or its `with` block.

    `brokers` are its brokers in id order, as it will describe them. `folder` contains `broker-N`,
    each with `server.properties`, `server.log` and `data`, and `kafka-server-start.sh`, with which
    people start a broker themselves.
    """

    def __init__(self, blueprint: Blueprint, folder: Path, *, is_temporary: bool) -> None:
        self.brokers: tuple[Broker, ...] = blueprint.brokers
        self.folder = folder
        self._blueprint = blueprint
        self._servers = blueprint.servers
        self._is_temporary = is_temporary

    @classmethod
    def kraft(
        cls,
        *,
        java_home: Path,
        version: str = DEFAULT_KAFKA,
        brokers: int = 4,
        racks: Sequence[str | None] = RACKS,
        folder: Path | None = None,
        overrides: Mapping[str, str | None] = UNCHANGED,
        heap_mib: int = HEAP_MIB,
        hosts: Sequence[str] = (),
        proxies: Sequence[int] = (),
        server_assignor: Path | None = None,
        advance: Callable[[int], None] = ignore,
    ) -> Self:
        """Start Kafka in KRaft mode and wait until it is ready.

        `version` is a key of `KRAFT_JARS`. `racks` are given to the brokers in turn; `()` means
        that no broker has a rack. `overrides` are lines of every broker's `server.properties`; the
        value None removes a line. `folder` must be empty or not exist. `hosts` are loopback
        addresses, one per broker; by default all brokers share one. `proxies` are loopback ports,
        one per broker; each proxy forwards to its port in `proxied_ports`. `server_assignor` is the
        jar of the server-side assignors; groups of the consumer protocol may then ask for them by
        name. `advance(count)` is called with the number of brokers that became ready. Raises
        `JarMissing`, `InvalidConfig`, `InvalidRack`, `ServerDied`, `WorldError`.
        """
        if version not in KRAFT_JARS:
            known = ", ".join(KRAFT_JARS)
            raise InvalidConfig(
                f"invalid Kafka version: expected one of {known}, got {version}",
                wanted=known,
                had=version,
                hint=f"use version {DEFAULT_KAFKA}",
            )
        jars = resolve(KRAFT_JARS[version])
        if server_assignor is not None:
            jars.append(server_assignor.absolute())
            overrides = {"group.consumer.assignors": ASSIGNORS_WITH_JAR, **overrides}
        request = ClusterSpec(
            brokers=brokers,
            racks=racks,
            java_home=java_home,
            jars=jars,
            heap_mib=heap_mib,
            overrides=overrides,
            hosts=hosts,
            proxies=proxies,
        )
        return cls._started(request, kraft_blueprint, folder, advance)

    @classmethod
    def zookeeper(
        cls,
        *,
        java_home: Path,
        brokers: int = 3,
        racks: Sequence[str | None] = RACKS,
        folder: Path | None = None,
        overrides: Mapping[str, str | None] = UNCHANGED,
        heap_mib: int = HEAP_MIB,
        advance: Callable[[int], None] = ignore,
    ) -> Self:
        """Start Kafka 3.9 on one ZooKeeper; arguments and errors are those of `kraft`."""
        request = ClusterSpec(
            brokers=brokers,
            racks=racks,
            java_home=java_home,
            jars=resolve(KAFKA_3_9),
            heap_mib=heap_mib,
            overrides=overrides,
        )
        return cls._started(request, zookeeper_blueprint, folder, advance)

    @classmethod
    def _started(
        cls,
        request: ClusterSpec,
        draw: BlueprintBuilder,
        folder: Path | None,
        advance: Callable[[int], None],
        *,
        may_retry: bool = True,
    ) -> Self:
        home = _empty_folder(folder)
        sandbox = cls(draw(request, home), home, is_temporary=folder is None)
        try:
            sandbox._start_all(advance)
        except BaseException as error:
            has_lost_port = isinstance(error, ServerDied) and sandbox._has_lost_port()
            sandbox.close()
            if not (has_lost_port and may_retry):
                raise
        else:
            return sandbox
        if folder is not None:
            _remove_contents(folder)
        return cls._started(request, draw, folder, advance, may_retry=False)

    @property
    def bootstrap(self) -> str:
        """`host:port` of every broker, separated by commas, as clients expect it."""
        return ",".join(f"{broker.host}:{broker.port}" for broker in self.brokers)

    @property
    def proxied_ports(self) -> Sequence[int]:
        """Loopback ports to which the proxies forward, by broker; empty without proxies."""
        return self._blueprint.proxied

    @property
    def zookeeper_connect(self) -> str:
        """`host:port` of ZooKeeper. Raises `InvalidConfig` in KRaft mode."""
        _ = self.zookeeper_server
        return f"{HOST}:{self._blueprint.zookeeper_port}"

    @property
    def zookeeper_server(self) -> ServerProcess:
        """The process of ZooKeeper, to pause, kill, start. Raises `InvalidConfig` in KRaft mode."""
        if self._blueprint.zookeeper is None:
            raise InvalidConfig(
                "invalid cluster: expected ZooKeeper mode, got KRaft mode",
                hint="create it with Sandbox.zookeeper",
            )
        return self._blueprint.zookeeper

    def start(self, broker: int) -> None:
        """Start a broker that is down; `wait_until_ready` waits for it."""
        self._server(broker).start()

    def stop(self, broker: int) -> None:
        """SIGTERM: a controlled shutdown; its leaders move first."""
        self._server(broker).stop()

    def kill(self, broker: int) -> None:
        """SIGKILL."""
        self._server(broker).kill()

    def pause(self, broker: int) -> None:
        """SIGSTOP: the broker keeps its sockets and answers nothing."""
        self._server(broker).pause()

    def resume(self, broker: int) -> None:
        """SIGCONT."""
        self._server(broker).resume()

    def restart(self, broker: int) -> None:
        """`stop`, then `start`."""
        self.stop(broker)
        self.start(broker)

    def pid(self, broker: int) -> int | None:
        """Process id of a broker; None while it is down."""
        server = self._server(broker)
        return server.pid if server.is_running else None

    def log_tail(self, broker: int, lines: int) -> list[str]:
        """The last log lines of a broker, oldest first."""
        return self._server(broker).log_tail(lines)

    def deaths(self) -> list[ServerDied]:
        """One error for each server that ended without being stopped or killed here."""
        return [server.death_error() for server in self._processes() if server.has_died]

    @property
    def has_brokers(self) -> bool:
        """Whether a broker is still running, or serves again because somebody restarted it."""
        return any(server.is_running for server in self._servers.values()) or any(
            is_open(port, host=broker.host or HOST)
            for broker, port in zip(self.brokers, self._blueprint.ports, strict=True)
        )

    def wait_until_ready(
        self, timeout_s: float | None = None, *, advance: Callable[[int], None] = ignore
    ) -> None:
        """Wait until all servers that run, and are not paused, serve.

        A broker serves when it accepts connections (`advance` counts these) and the cluster lists
        it as not fenced; ZooKeeper serves when `srvr` has a Mode. Raises `ServerDied` for the first
        server that ended by itself, or after `timeout_s`.
        """
        limit_s = (
            READY_S + READY_S_PER_BROKER * len(self.brokers) if timeout_s is None else timeout_s
        )
        reported = 0

        def is_ready() -> bool:
            nonlocal reported
            for death in self.deaths():
                raise death
            wanted = self._awake()
            accepting = sum(is_open(int(each.port or 0), host=each.host or HOST) for each in wanted)
            advance(max(0, accepting - reported))
            reported = max(reported, accepting)
            if not self._has_zookeeper() or accepting < len(wanted):
                return False
            return all(
                view is not None and view.issuperset(each.port for each in wanted)
                for view in listed_ports(wanted)
            )

        if not wait_until_true(is_ready, limit_s):
            raise self._timeout_error(limit_s)

    def wait_until_gone(self, broker: int, timeout_s: float = GONE_S) -> None:
        """Wait until the others list this broker as fenced or not at all. Raises `WorldError`."""
        _ = self._server(broker)
        port = self._blueprint.ports[broker]

        def is_gone() -> bool:
            return all(
                view is not None and port not in view for view in listed_ports(self._awake())
            )

        if not wait_until_true(is_gone, timeout_s):
            raise WorldError(
                f"broker {broker} is still in the cluster after {timeout_s:.0f} s",
                hint="stop, kill or pause it first",
            )

    def close(self) -> None:
        """Kill every server; delete the folder if it is a temporary one."""
        self._kill_all()
        if self._is_temporary:
            shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _start_all(self, advance: Callable[[int], None]) -> None:
        if self._blueprint.zookeeper is not None:
            self._blueprint.zookeeper.start()
            self.wait_until_ready()
        for server in self._servers.values():
            server.start()
        self.wait_until_ready(advance=advance)
        if self._blueprint.zookeeper is None:
            finalize_features(self.bootstrap)

    def _kill_all(self) -> None:
        for server in self._processes():
            server.send_sigkill()
        for server in self._processes():
            server.close()

    def _has_zookeeper(self) -> bool:
        """Whether ZooKeeper serves, where the cluster has one that is not paused or down."""
        keeper, port = self._blueprint.zookeeper, self._blueprint.zookeeper_port
        if keeper is None or port is None or not keeper.is_awake:
            return True
        return zookeeper_mode(port) is not None

    def _timeout_error(self, limit_s: float) -> ServerDied:
        awake = [server for server in self._processes() if server.is_awake]
        return ServerDied(
            f"{counted(len(awake), 'server')} did not become ready within {limit_s:.0f} s",
            wanted="ready",
            had="starting",
            hint="\n".join(server.log_hint() for server in awake[:1]),
            where=str(self.folder),
        )

    def _awake(self) -> list[Broker]:
        """The brokers that run and are not paused."""
        return [self.brokers[each] for each, server in self._servers.items() if server.is_awake]

    def _processes(self) -> list[ServerProcess]:
        keeper = self._blueprint.zookeeper
        return [*([] if keeper is None else [keeper]), *self._servers.values()]

    def _server(self, broker: int) -> ServerProcess:
        if broker not in self._servers:
            raise InvalidConfig(
                f"invalid broker: expected 0 to {len(self.brokers) - 1}, got {broker}",
                wanted=f"0 to {len(self.brokers) - 1}",
                had=broker,
            )
        return self._servers[broker]

    def _has_lost_port(self) -> bool:
        """Whether a server ended because another process had taken its port."""
        return any(
            mark in line
            for server in self._processes()
            if server.has_died
            for line in server.log_tail(PORT_TAKEN_LINES)
            for mark in PORT_TAKEN
        )


def _empty_folder(folder: Path | None) -> Path:
    """The absolute path of an empty folder: a new temporary one, or the given one."""
    if folder is None:
        return Path(tempfile.mkdtemp(prefix="rackwise-sandbox-"))
    home = folder.absolute()
    try:
        home.mkdir(parents=True, exist_ok=True)
        is_empty = not any(home.iterdir())
    except OSError as error:
        raise InvalidConfig(
            f"invalid folder: expected an empty folder, got {home}: {error.strerror}",
            wanted="an empty folder",
            had=str(home),
            hint="choose another folder",
        ) from error
    if is_empty:
        return home
    if (home / START_SCRIPT).exists() and (home / "broker-0").is_dir():
        what = "which has the brokers of an earlier sandbox"
        hint = "choose another folder, or remove this one: a sandbox that has ended starts no more"
    else:
        what, hint = "which is not empty", "choose another folder, or empty this one"
    raise InvalidConfig(
        f"invalid folder: expected an empty folder, got {home}, {what}",
        wanted="an empty folder",
        had=str(home),
        hint=hint,
    )


def _remove_contents(folder: Path) -> None:
    """Delete what the first attempt wrote."""
    for entry in folder.iterdir():
        if entry.is_dir():
            shutil.rmtree(entry)
        else:
            entry.unlink()
