"""Kafka in KRaft mode: folders formatted and configured for n brokers on loopback.

With three or more brokers the nodes 0-2 are controllers too, so that the death of one keeps the
quorum; with fewer brokers only node 0 is. Writing `meta.properties` formats the log folders
(KIP-631: version 1, cluster, node and directory id) and saves one Java start per broker.

```
node 0  broker controller  rack a        node 3  broker  rack a
node 1  broker controller  rack b        node 4  broker  rack b     ...
node 2  broker controller  rack c
```

With proxies each broker has one more listener, PROXIED, which is advertised at the port of its
proxy. Clients that connect through a proxy stay behind the proxies; brokers and other clients use
none.

```
client --> proxy --> PROXIED  broker 0  PLAINTEXT <-- brokers, ready checks, other clients
```
"""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

from rackwise.adapters.sandbox.blueprint import (
    Blueprint,
    describe_brokers,
    new_uuid,
    properties_text,
    write_start_script,
)
from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.adapters.sandbox.process import ServerProcess
from rackwise.adapters.sandbox.ready import wait_until_true
from rackwise.core.errors import WorldError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from rackwise.adapters.sandbox.blueprint import ClusterSpec

CONTROLLERS = 3
FIXED_FEATURES = {"metadata.version", "kraft.version"}
"""Set by the format: the newest metadata version, and version 0 of the static quorum."""
FEATURES_S = 30.0
LOG4J2 = {
    "rootLogger.level": "info",
    "rootLogger.appenderRef.console.ref": "console",
    "appender.console.type": "Console",
    "appender.console.name": "console",
    "appender.console.layout.type": "PatternLayout",
    "appender.console.layout.pattern": "[%d] %p %m (%c)%n",
}


def kraft_blueprint(request: ClusterSpec, folder: Path) -> Blueprint:
    """Write `broker-N`, `log4j2.properties` and the start script in `folder`; start nothing."""
    counts = {
        "PLAINTEXT": request.brokers,
        "CONTROLLER": _controllers(request),
        "PROXIED": len(request.proxies),
    }
    drawn = iter(free_ports(sum(counts.values())))
    ports = {listener: list(islice(drawn, count)) for listener, count in counts.items()}
    logging = folder / "log4j2.properties"
    logging.write_text(properties_text(LOG4J2))
    start = [*request.java(f"-Dlog4j2.configurationFile={logging.as_uri()}"), "kafka.Kafka"]
    write_start_script(folder, start)
    cluster = new_uuid()
    servers = {
        node: _node(request, node, folder, cluster=cluster, ports=ports, start=start)
        for node in range(request.brokers)
    }
    return Blueprint(
        brokers=describe_brokers(request, ports["PLAINTEXT"]),
        ports=ports["PLAINTEXT"],
        servers=servers,
        proxied=ports["PROXIED"],
    )


def _controllers(request: ClusterSpec) -> int:
    return CONTROLLERS if request.brokers >= CONTROLLERS else 1


def _node(
    request: ClusterSpec,
    node: int,
    folder: Path,
    *,
    cluster: str,
    ports: Mapping[str, Sequence[int]],
    start: Sequence[str],
) -> ServerProcess:
    home = folder / f"broker-{node}"
    data = home / "data"
    data.mkdir(parents=True)
    formatted = {"version": "1", "cluster.id": cluster, "node.id": str(node)}
    formatted["directory.id"] = new_uuid()
    (data / "meta.properties").write_text(properties_text(formatted))
    properties = _properties(request, node, ports) | {"log.dirs": str(data)}
    configured = home / "server.properties"
    configured.write_text(properties_text(request.with_overrides(properties)))
    return ServerProcess(name=f"broker {node}", command=[*start, str(configured)], folder=home)


def _properties(
    request: ClusterSpec, node: int, ports: Mapping[str, Sequence[int]]
) -> dict[str, str]:
    controllers = ports["CONTROLLER"]
    voters = ",".join(f"{voter}@{HOST}:{each}" for voter, each in enumerate(controllers))
    advertised = f"PLAINTEXT://{request.host_of(node)}:{ports['PLAINTEXT'][node]}"
    listeners, roles = advertised, "broker"
    if node < len(controllers):
        listeners += f",CONTROLLER://{HOST}:{controllers[node]}"
        roles = "broker,controller"
    if request.proxies:
        host = request.host_of(node)
        listeners += f",PROXIED://{host}:{ports['PROXIED'][node]}"
        advertised += f",PROXIED://{host}:{request.proxies[node]}"
    rack = request.rack_of(node)
    replicas = str(min(3, request.brokers))
    return {
        "process.roles": roles,
        "node.id": str(node),
        "controller.quorum.voters": voters,
        "listeners": listeners,
        **({"advertised.listeners": advertised} if request.proxies else {}),
        "controller.listener.names": "CONTROLLER",
        "listener.security.protocol.map": ",".join(f"{listener}:PLAINTEXT" for listener in ports),
        **({} if rack is None else {"broker.rack": rack}),
        **common_properties(replicas),
        "share.coordinator.state.topic.replication.factor": replicas,
        "share.coordinator.state.topic.min.isr": "1",
        "share.coordinator.state.topic.num.partitions": "3",
        **_session_timeouts(request),
    }


def common_properties(replicas: str) -> dict[str, str]:
    """Properties of brokers in every mode: small thread pools, small internal topics."""
    return {
        "replica.selector.class": "org.apache.kafka.common.replica.RackAwareReplicaSelector",
        "offsets.topic.replication.factor": replicas,
        "offsets.topic.num.partitions": "3",
        "transaction.state.log.replication.factor": replicas,
        "transaction.state.log.min.isr": "1",
        "transaction.state.log.num.partitions": "3",
        "group.initial.rebalance.delay.ms": "0",
        "num.network.threads": "2",
        "num.io.threads": "2",
        "log.cleaner.dedupe.buffer.size": "2097152",
    }


def _session_timeouts(request: ClusterSpec) -> dict[str, str]:
    """Time after which a silent broker is fenced: seconds for few brokers, longer for many."""
    if request.is_small:
        return {"broker.session.timeout.ms": "3000", "broker.heartbeat.interval.ms": "500"}
    return {
        "broker.session.timeout.ms": "18000",
        "initial.broker.registration.timeout.ms": "300000",
        "controller.quorum.election.timeout.ms": "5000",
        "controller.quorum.fetch.timeout.ms": "10000",
    }


def finalize_features(bootstrap: str) -> None:
    """Enable every stable feature at its newest level, as Kafka's own format does (KIP-1022).

    Without it the new consumer protocol, share groups and other features of 4.x are disabled,
    because the written `meta.properties` carry no feature levels. Raises `WorldError`.
    """
    from rackwise.adapters.kafka.connect import ask, connect

    doing = "finalize its features"
    with connect(bootstrap) as admin:
        wanted = {
            name: levels["supported"][1]
            for name, levels in ask(admin, admin.describe_features, doing=doing).items()
            if name not in FIXED_FEATURES
        }
        ask(admin, lambda: admin.update_features(wanted), doing=doing)

        def are_finalized() -> bool:
            now = ask(admin, admin.describe_features, doing=doing)
            return all(now[name].get("finalized", (0, 0))[1] == wanted[name] for name in wanted)

        if not wait_until_true(are_finalized, FEATURES_S):
            raise WorldError(
                f"features {', '.join(wanted)} were not finalized within {FEATURES_S:.0f} s",
                wanted=str(wanted),
            )
