"""A directory store with nodes as Kafka, starts and watchers would leave them."""

from __future__ import annotations

import json
from contextlib import closing

from rackwise.adapters.files.identity.store import DirectoryStore, make_parents
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.model import KeyMapping, Owner
from rackwise.core.identity.nodes.nodes import format_mapping, format_owner
from rackwise.core.identity.nodes.store import (
    HOSTS,
    IDS,
    KNOWN,
    OWNERS,
    RETIRED,
    TOPICS,
    Create,
    Put,
)
from rackwise.core.json.strict import parse


def registered(host, *, told=True):
    """The content of a registration."""
    return json.dumps(
        {
            "version": 5,
            "host": host if told else None,
            "port": 9092 if told else -1,
            "endpoints": [f"SSL://{host}:9092"],
            "listener_security_protocol_map": {"SSL": "SSL"},
            "timestamp": "1",
            "jmx_port": -1,
            "features": {},
        }
    ).encode()


class Nodes:
    """Puts nodes into a store at `path`, one commit each."""

    def __init__(self, path):
        self.path = path
        self.url = f"file://{path}"
        make_parents(path)

    def put(self, path, data=b""):
        with closing(DirectoryStore(self.path)) as store:
            is_there = store.read([path])[path] is not None
            store.commit([Put(path, data) if is_there else Create(path, data)])

    def read(self, path):
        with closing(DirectoryStore(self.path)) as store:
            return store.read([path])[path]

    def children(self, path):
        with closing(DirectoryStore(self.path)) as store:
            return store.children(path)

    def mapping(self, key, broker_id):
        self.put(f"{HOSTS}/{key}", format_mapping(KeyMapping(key=key, broker_id=broker_id)))

    def registration(self, broker_id, host="h1", *, told=True):
        """A registration as a broker of 3.9 writes it; `told`: False = its field host is null."""
        self.put(f"{IDS}/{broker_id}", registered(host, told=told))

    def first_registrations(self, hosts):
        """Registrations of the ids from 0 on, in one commit."""
        with closing(DirectoryStore(self.path)) as store:
            made = {f"{IDS}/{number}": registered(host) for number, host in enumerate(hosts)}
            store.commit([Create(path, data) for path, data in made.items()])

    def owner(self, broker_id, key):
        """The session that wrote the present registration of this id."""
        incarnation = self.read(f"{IDS}/{broker_id}").czxid
        told = Owner(broker_id=broker_id, key=key, incarnation=incarnation)
        self.put(f"{OWNERS}/{broker_id}", format_owner(told))

    def topic(self, name, *replicas):
        """A topic whose partitions have these replicas."""
        rows = {str(number): list(ids) for number, ids in enumerate(replicas)}
        self.put(
            f"{TOPICS}/{name}",
            json.dumps({"version": 2, "partitions": rows}).encode(),
        )

    def state(self, topic, partition, *, leader, isr):
        """The in-sync replicas of one partition."""
        path = f"{TOPICS}/{topic}"
        for name in ("partitions", str(partition)):
            path += f"/{name}"
            self.put(path)
        told = {"controller_epoch": 1, "leader": leader, "version": 1, "leader_epoch": 0}
        self.put(f"{path}/state", json.dumps({**told, "isr": isr}).encode())

    def known(self, broker_id):
        self.put(f"{KNOWN}/{broker_id}")

    def retired(self, broker_id):
        self.put(f"{RETIRED}/{broker_id}")

    def dump(self):
        """Every byte below the folder."""
        return {
            str(file.relative_to(self.path)): file.read_bytes()
            for file in sorted(self.path.rglob("*"))
            if file.is_file()
        }

    def age(self, path, older_ms):
        """Set back the creation time of a node."""
        file = self.path / "state.json"
        state = parse(file.read_bytes(), where="state.json", error=InvalidConfig)
        state["nodes"][path]["created_ms"] -= older_ms
        file.write_text(json.dumps(state))
