"""`rackwise sandbox`: runs a real Kafka cluster on this machine until Ctrl-C."""

from __future__ import annotations

import os
import shlex
import sys
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.shell import Shell, escaped_lines
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    from rackwise.adapters.sandbox import Sandbox
    from rackwise.cli.documents import SandboxDocument

LOOK_EVERY_S = 0.5
KraftVersion = Literal["4.4", "4.3"]
NEWEST: KraftVersion = "4.4"


def sandbox(
    context: typer.Context,
    brokers: Annotated[int, typer.Option(min=1, metavar="N", help="Start this many brokers.")] = 4,
    racks: Annotated[
        str,
        typer.Option(
            metavar="RACKS",
            help="Assign these racks, separated by commas, to the brokers in turn. An empty one is "
            "no rack: 'a,b,' gives every third broker none.",
        ),
    ] = "a,b,c",
    kafka: Annotated[
        KraftVersion | None,
        typer.Option(help="Kafka version to start in KRaft mode [default: 4.4]."),
    ] = None,
    zookeeper: Annotated[
        bool, typer.Option("--zookeeper", help="Start Kafka 3.9 on ZooKeeper, not in KRaft mode.")
    ] = False,
    server_assignor: Annotated[
        Path | None,
        typer.Option(
            metavar="JAR",
            help="Start the brokers with this jar of server-side assignors. Groups of the consumer "
            "protocol can then set group.remote.assignor to rack-optimal or rack-sticky.",
        ),
    ] = None,
    folder: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="Keep logs and data in this empty folder. [default: a temporary one]",
        ),
    ] = None,
) -> int:
    """Start a real Kafka cluster on loopback; Ctrl-C stops it.

    Needs Java 17 or later; downloads the jars once. Prints the bootstrap server when all brokers
    are ready. Exit codes: 0 after Ctrl-C, 143 after SIGTERM, 1 error or the last broker died.
    """
    shell: Shell = context.obj
    if zookeeper and kafka is not None:
        raise InvalidConfig(
            f"invalid options: --zookeeper starts Kafka 3.9, --kafka {kafka} starts KRaft mode",
            wanted="one of --kafka and --zookeeper",
            had="both",
            hint="omit one of --kafka and --zookeeper",
            where="--kafka",
        )
    if server_assignor is not None:
        check_server_assignor(server_assignor, zookeeper=zookeeper)
    version = None if zookeeper else kafka or NEWEST
    java_home, start = prepare(shell, version, server_assignor)
    kind = "3.9 on ZooKeeper" if version is None else f"{version} in KRaft mode"
    shell.note(f"starting {brokers} broker{'s' * (brokers > 1)} of Kafka {kind}")
    with shell.progress("brokers ready", total=brokers) as advance:
        cluster = start(
            java_home=java_home,
            brokers=brokers,
            racks=[rack.strip() or None for rack in racks.split(",")],
            folder=folder,
            advance=advance,
        )
    with cluster:
        try:
            show(shell, cluster, has_zookeeper=zookeeper)
            watch(shell, cluster)
        except KeyboardInterrupt:
            shell.note("stopping")
    return 0


def check_server_assignor(jar: Path, *, zookeeper: bool) -> None:
    """Reject a jar that does not exist, or that Kafka 3.9 would not use. Raises `InvalidConfig`."""
    if zookeeper:
        reject_combined(
            "--zookeeper",
            ["--server-assignor"],
            hint="server-side assignors need Kafka 4; omit --zookeeper",
        )
    if not jar.is_file():
        raise InvalidConfig(
            f"invalid jar of server-side assignors: expected a file, got {escaped(str(jar))}",
            wanted="a file",
            had=str(jar),
            hint="build it with make server-assignor in a checkout",
            where="--server-assignor",
        )


def prepare(
    shell: Shell, version: KraftVersion | None, server_assignor: Path | None
) -> tuple[Path, Callable[..., Sandbox]]:
    """Find Java and fetch the jars; return Java's home and the function that starts a cluster.

    `version` None is Kafka 3.9 on ZooKeeper, which takes no `server_assignor`.
    """
    from rackwise.adapters.sandbox import KAFKA_3_9, KRAFT_JARS, Sandbox, locked_jars, resolve
    from rackwise.pipeline.runtime.java import find_java

    java = find_java(os.environ, warn=shell.note)
    jars = KAFKA_3_9 if version is None else KRAFT_JARS[version]
    size = sum(jar.size for jar in locked_jars(jars))
    with shell.progress("bytes of jars", total=size) as advance:
        resolve(jars, advance=advance)
    if version is None:
        return java.home, Sandbox.zookeeper
    return java.home, partial(Sandbox.kraft, version=version, server_assignor=server_assignor)


def show(shell: Shell, cluster: Sandbox, *, has_zookeeper: bool) -> None:
    """Print the brokers, then flush the bootstrap server to stdout: a script may wait for it."""
    for broker in cluster.brokers:
        rack = "without a rack" if broker.rack is None else f"in rack {broker.rack}"
        shell.note(f"broker {broker.id} {rack}, process {cluster.pid(broker.id)}")
    script = cluster.folder / "kafka-server-start.sh"
    restart = shlex.join([str(script), f"{cluster.folder}/broker-N/server.properties"])
    shell.note(f"restart broker N by hand: {restart}")
    shell.note(f"logs and data: {cluster.folder}")
    shell.note("press Ctrl-C to stop it")
    keeper = cluster.zookeeper_connect if has_zookeeper else None
    if shell.is_json:
        shell.document(document(cluster, keeper))
    else:
        shell.data(f"bootstrap-server {cluster.bootstrap}")
        if keeper is not None:
            shell.data(f"zookeeper-connect {keeper}")
    sys.stdout.flush()


def document(cluster: Sandbox, keeper: str | None) -> SandboxDocument:
    """The running cluster; `keeper`: the address of ZooKeeper, None in KRaft mode."""
    from rackwise.cli.documents import SandboxBrokerDocument, SandboxDocument

    return SandboxDocument(
        bootstrap_server=cluster.bootstrap,
        zookeeper_connect=keeper,
        folder=str(cluster.folder),
        brokers=tuple(
            SandboxBrokerDocument(
                id=broker.id,
                rack=None if broker.rack is None else str(broker.rack),
                host=broker.host,
                port=broker.port,
                pid=cluster.pid(broker.id),
            )
            for broker in cluster.brokers
        ),
    )


def watch(shell: Shell, cluster: Sandbox) -> None:
    """Warn of each server that ends by itself. Raises `ServerDied` when no broker serves."""
    reported: set[str] = set()
    while True:
        for death in cluster.deaths():
            if death.message not in reported:
                reported.add(death.message)
                shell.warn(f"{death.message}\n{escaped_lines(death.hint or '')}")
        if not cluster.has_brokers:
            raise cluster.deaths()[-1]
        time.sleep(LOOK_EVERY_S)
