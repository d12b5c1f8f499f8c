"""Brokers with listeners of a test's own, beside the usual one."""

from __future__ import annotations

from contextlib import contextmanager

from kafka_servers import KRAFT_SET
from rackwise.adapters.sandbox import Sandbox, resolve
from rackwise.adapters.sandbox.blueprint import ClusterSpec
from rackwise.adapters.sandbox.kraft import kraft_blueprint
from rackwise.adapters.sandbox.ports import free_ports


@contextmanager
def broker_with(listeners, folder, java_home, overrides, *, host="127.0.0.1"):
    """A running broker with these listeners, name -> protocol; `addresses`: name -> HOST:PORT."""
    known = ",".join(f"{name}:{protocol}" for name, protocol in listeners.items())
    request = ClusterSpec(
        brokers=1,
        racks=("a",),
        java_home=java_home,
        jars=resolve(KRAFT_SET),
        heap_mib=256,
        overrides={
            "listener.security.protocol.map": f"PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,{known}",
            **overrides,
        },
    )
    blueprint = kraft_blueprint(request, folder)
    ports = dict(zip(listeners, free_ports(len(listeners)), strict=True))
    properties = folder / "broker-0" / "server.properties"
    lines = properties.read_text().splitlines()
    (had,) = [line for line in lines if line.startswith("listeners=")]
    more = [f"{name}://{host}:{port}" for name, port in ports.items()]
    properties.write_text("\n".join([*lines, ",".join([had, *more]), ""]))
    with Sandbox(blueprint, folder, is_temporary=False) as broker:
        broker.start(0)
        broker.wait_until_ready()
        broker.addresses = {name: f"{host}:{port}" for name, port in ports.items()}
        yield broker
