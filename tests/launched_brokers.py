"""Real Kafka brokers that are started by `rackwise broker-id acquire -- java ...`.

```
ServerProcess (guard) -> rackwise broker-id acquire -> sh, writes its process id -> java kafka.Kafka
```

A broker has two log dirs. It is killed as a machine dies: SIGKILL to Java itself.
"""

from __future__ import annotations

import os
import re
import shutil
import signal
import sys
from contextlib import closing, suppress
from pathlib import Path

from kafka_servers import KRAFT_SET
from kafka_traffic import until
from rackwise.adapters.kafka import connect
from rackwise.adapters.launch.views import stores
from rackwise.adapters.sandbox import KAFKA_3_9, resolve
from rackwise.adapters.sandbox.blueprint import (
    ClusterSpec,
    new_uuid,
    properties_text,
)
from rackwise.adapters.sandbox.kraft import LOG4J2, common_properties
from rackwise.adapters.sandbox.ports import HOST, free_ports, is_open
from rackwise.adapters.sandbox.process import ServerProcess
from rackwise.adapters.sandbox.ready import zookeeper_mode
from rackwise.adapters.sandbox.zookeeper import zookeeper_blueprint
from rackwise.adapters.zookeeper import ZooKeeperView
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.nodes import parse_mapping
from rackwise.core.identity.nodes.store import HOSTS, OWNERS
from rackwise.core.json import strict as strict_json

NOTE_PID = 'echo $$ > "$0"; exec "$@"'
RACKWISE = (sys.executable, "-m", "rackwise.cli", "broker-id")
START_S = 90.0
SESSION = {"zookeeper.session.timeout.ms": "6000"}


class LaunchedBroker:
    """A broker to `start`, `kill` and `wipe`; `command` starts it without Rackwise.

    All brokers are on the host `host`, so `number` tells them apart; `options` go to each start.
    """

    def __init__(self, *, home, command, number, endpoint, options=()):
        self.home, self.number, self.endpoint = home, number, endpoint
        self.key = f"host-{number}"
        self.properties = home / "server.properties"
        self.command, self.options = tuple(command), tuple(options)
        self.dirs = (home / "data" / "a", home / "data" / "b")
        self.report, self.pid = home / "report.json", home / "broker.pid"
        self.process = ServerProcess(name=f"broker of {self.key}", command=(), folder=home)

    def start(self, *options, key=None, plainly=False):
        """Start through `acquire`; with `plainly`, as Kafka starts it."""
        for file in (self.report, self.pid, self.process.log):
            file.unlink(missing_ok=True)
        command = ("sh", "-c", NOTE_PID, str(self.pid), *self.command)
        self.process.command = (
            command if plainly else (*self.acquiring(*options, key=key), *command)
        )
        self.process.start()

    def acquiring(self, *options, key=None):
        """The words before the command."""
        files = ("--server-properties", str(self.properties), "--report", str(self.report))
        own = ("--key", "text:host", "--instance", str(self.number))
        named = own if key is None else ("--key", f"text:{key}")
        return (*RACKWISE, "acquire", *files, *named, *self.options, *options, "--")

    def acquired(self):
        """The report of the running start; fails if that start has ended."""
        until(lambda: self.report.exists() or not self.process.is_running, self.key, START_S)
        assert self.report.exists(), self.told()
        return strict_json.parse(self.report.read_bytes(), where="report", error=InvalidConfig)

    def refused(self):
        """Exit status and output of a start that ends without a broker."""
        until(lambda: not self.process.is_running, f"{self.key} to be refused", START_S)
        return self.process.exit_status, self.told()

    def told(self):
        return self.process.log.read_text(errors="replace")

    def kill(self):
        """SIGKILL to the broker; its supervisor ends with 137."""
        os.kill(int(self.pid.read_text()), signal.SIGKILL)
        until(lambda: not self.process.is_running, f"the supervisor of {self.key} to end")
        self.process.should_run = False
        assert self.process.exit_status == 128 + signal.SIGKILL, self.told()

    def stop(self):
        """Stop in order, by SIGTERM to the supervisor, which passes it on."""
        self.process.stop()

    def wipe(self):
        """Give the broker empty disks."""
        for each in self.dirs:
            shutil.rmtree(each, ignore_errors=True)
            each.mkdir(parents=True)

    def metas(self):
        """The lines of each `meta.properties`."""
        return [(each / "meta.properties").read_text().splitlines() for each in self.dirs]

    def close(self):
        """Kill a supervisor that takes too long; its broker then lives on."""
        self.process.close()
        if self.pid.exists():
            pid = int(self.pid.read_text())
            with suppress(FileNotFoundError, ProcessLookupError):
                if os.fsencode(self.home) in Path(f"/proc/{pid}/cmdline").read_bytes():
                    os.kill(pid, signal.SIGKILL)


class Launched:
    """What clusters of both modes have in common; `brokers` are not started yet."""

    def __init__(self):
        self.brokers = {}
        self.servers = []

    @property
    def bootstrap(self):
        return ",".join(each.endpoint for each in self.brokers.values())

    def up(self, *numbers):
        """Start these, or all, and wait until each is confirmed; number -> id."""
        numbers = numbers or tuple(self.brokers)
        for each in numbers:
            self.brokers[each].start()
        return {each: self.confirmed(each) for each in numbers}

    def confirmed(self, number):
        """Wait until a broker is registered, confirmed and listening, which comes last; its id."""
        broker = self.brokers[number]

        def is_up():
            assert broker.process.is_running, broker.told()
            is_registered = "broker-id: registered as" in broker.told()
            return is_registered and is_open(int(broker.endpoint.rpartition(":")[2]))

        until(is_up, f"{broker.key} to be registered and to listen", START_S)
        return broker.acquired()["id"]

    def admin(self):
        return closing(connect(self.bootstrap))

    def mapping(self, key):
        """The id that the store has for a key."""
        with closing(stores.open_store(self.url, None, read_only=True)) as store:
            path = f"{HOSTS}/{key}"
            node = store.read((path,))[path]
            return None if node is None else parse_mapping(node, key=key).broker_id

    def has_owner(self, broker_id):
        with closing(stores.open_store(self.url, None, read_only=True)) as store:
            path = f"{OWNERS}/{broker_id}"
            return store.read((path,))[path] is not None

    def __enter__(self):
        try:
            self.begin()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        for each in (*self.brokers.values(), *self.servers):
            each.close()


class ZooKeeperBrokers(Launched):
    """Kafka 3.9 on a ZooKeeper of its own; ids are generated, sessions last 6 s.

    `is_adopted`: the store of ids is created later, when brokers run.
    """

    def __init__(
        self,
        *,
        java_home,
        folder,
        brokers=3,
        protocol="PLAINTEXT",
        overrides=None,
        options=(),
        is_adopted=False,
    ):
        super().__init__()
        self.is_adopted = is_adopted
        settings = {"broker.id": "-1", "num.recovery.threads.per.data.dir": "1", **SESSION}
        request = ClusterSpec(
            brokers=brokers,
            racks=(),
            java_home=java_home,
            jars=resolve(KAFKA_3_9),
            heap_mib=256,
            overrides={**settings, **(overrides or {})},
        )
        folder.mkdir(parents=True, exist_ok=True)
        blueprint = zookeeper_blueprint(request, folder)
        self.zookeeper, self.port = blueprint.zookeeper, blueprint.zookeeper_port
        self.servers = [self.zookeeper]
        self.url = f"zookeeper://{HOST}:{self.port}"
        for number, server in blueprint.servers.items():
            altered(server.folder / "server.properties", protocol)
            self.brokers[number] = LaunchedBroker(
                home=server.folder,
                command=server.command,
                number=number,
                endpoint=f"{HOST}:{blueprint.ports[number]}",
                options=options,
            )

    def begin(self):
        self.zookeeper.start()
        until(lambda: zookeeper_mode(self.port) is not None, "ZooKeeper", START_S)
        if not self.is_adopted:
            stores.init_store(self.url, None)
        for each in self.brokers.values():
            each.wipe()

    def view(self):
        """A store and its view of brokers and replicas."""
        store = stores.open_store(self.url, None, read_only=True)
        return closing(store), ZooKeeperView(store)


class KraftBrokers(Launched):
    """Kafka 4.x with its own controller and brokers without a node.id; a silent broker has 9 s."""

    def __init__(self, *, java_home, folder, url, brokers=3, overrides=None, options=()):
        super().__init__()
        folder.mkdir(parents=True, exist_ok=True)
        self.url, self.folder = url, folder
        self.overrides = overrides or {}
        self.cluster = new_uuid()
        self.request = ClusterSpec(
            brokers=brokers, racks=(), java_home=java_home, jars=resolve(KRAFT_SET), heap_mib=256
        )
        (folder / "log4j2.properties").write_text(properties_text(LOG4J2))
        controller, *ports = free_ports(1 + brokers)
        self.controller_port = controller
        self.controller = self._controller()
        self.servers = [self.controller]
        listed = ",".join(f"{HOST}:{port}" for port in ports)
        for number, port in enumerate(ports):
            home = self._home(f"broker-{number}", self._broker(number, port))
            command = self._command(home)
            self.brokers[number] = LaunchedBroker(
                home=home,
                command=(*command, "--override", "node.id={broker.id}"),
                number=number,
                endpoint=f"{HOST}:{port}",
                options=("--store", url, "--bootstrap-server", listed, *options),
            )

    def begin(self):
        self.controller.start()
        until(lambda: is_open(self.controller_port), "the controller", START_S)
        stores.init_store(self.url, None)
        for each in self.brokers.values():
            each.wipe()

    def _command(self, home):
        logging = f"-Dlog4j2.configurationFile={(self.folder / 'log4j2.properties').as_uri()}"
        return (*self.request.java(logging), "kafka.Kafka", str(home / "server.properties"))

    def _home(self, name, properties):
        home = self.folder / name
        (home / "data").mkdir(parents=True)
        common = {
            "controller.quorum.voters": f"3000@{HOST}:{self.controller_port}",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "log.dirs": f"{home}/data",
        }
        settings = {**common_properties("1"), **common, **properties, **self.overrides}
        (home / "server.properties").write_text(properties_text(settings))
        return home

    def _controller(self):
        listener = f"CONTROLLER://{HOST}:{self.controller_port}"
        home = self._home(
            "controller",
            {"process.roles": "controller", "node.id": "3000", "listeners": listener},
        )
        meta = {"version": "1", "cluster.id": self.cluster, "node.id": "3000"}
        text = properties_text(meta | {"directory.id": new_uuid()})
        (home / "data" / "meta.properties").write_text(text)
        return ServerProcess(name="controller", command=self._command(home), folder=home)

    def _broker(self, number, port):
        data = self.folder / f"broker-{number}" / "data"
        return {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://{HOST}:{port}",
            "log.dirs": f"{data}/a,{data}/b",
        }


def altered(properties, protocol):
    """Give a broker of the sandbox a second log dir and one protocol."""
    text = re.sub(r"(?m)^log\.dirs=(.*)$", r"log.dirs=\1/a,\1/b", properties.read_text())
    properties.write_text(text.replace("listeners=PLAINTEXT:", f"listeners={protocol}:"))
