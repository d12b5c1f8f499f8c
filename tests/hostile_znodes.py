"""Nodes of Kafka and of the identity store, as whoever may write them could leave them.

ZooKeeper takes any bytes as the content of a node, at most about a million, and most characters in
a name: no C0 and C1, but bidirectional marks and separators of lines.
"""

from __future__ import annotations

import json

from hostile_groups import LONG
from hostile_text import HOSTILE
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    CLUSTER_ID,
    HOSTS,
    IDS,
    KNOWN,
    MISSING,
    OWNERS,
    RETIRED,
    TOPICS,
    Create,
)

NAME = "h\u202e\u2066\u200f\u2028\u2029\u200b\ufeff\"'`<&>,;|"
"""As hostile as a name of a node may be."""
MOST_BYTES = 1_000_000


def endpoint(text):
    return f"{text}://{text}:9092"


def registration(text, **changed):
    """A broker of 3.9, with this text wherever text may stand."""
    return {
        "version": 5,
        "host": text,
        "port": 9092,
        "endpoints": [endpoint(text)],
        "listener_security_protocol_map": {text: text},
        "timestamp": text,
        "jmx_port": -1,
        "features": {text: {"min_version": 1, "max_version": 1}},
        "rack": text,
        **changed,
    }


def listening(text):
    """The same, but its listeners are such that readers go on to the rack."""
    return registration(
        text,
        host="h1",
        endpoints=["PLAINTEXT://h1:9092"],
        listener_security_protocol_map={"PLAINTEXT": "PLAINTEXT"},
        timestamp="1",
        features={},
    )


def documents(text):
    """Path -> document; h1 had 1, h2 has 2, 3 is missing, 4 is claimed, 5 is retired."""
    owner = {"version": 0, "key": text, "incarnation": 1, "endpoints": [f"{text}:9092"]}
    missing = {"version": 0, "leader": 1, "last_key": text, "last_endpoints": [f"{text}:9092"]}
    claim = {"key": text, "host": text, "pid": text, "nonce": text, "since_ms": text}
    return {
        f"{IDS}/1": listening(text),
        f"{HOSTS}/h1": {"version": 0, "broker.id": 1, text: text},
        f"{HOSTS}/{NAME}": {"version": 0, "broker.id": 2},
        f"{HOSTS}/h2": {"version": 0, "broker.id": text},
        f"{OWNERS}/1": owner,
        f"{OWNERS}/3": owner,
        f"{MISSING}/3": missing,
        f"{CLAIMS}/4": claim,
        CLUSTER_ID: {"version": text, "id": text},
        f"{TOPICS}/{NAME}": {"version": 2, "partitions": {"0": [1, 3]}, "topic_id": text},
    }


def as_bytes(documents):
    return {path: json.dumps(each, ensure_ascii=False).encode() for path, each in documents.items()}


def of_one(data):
    """Every node with these bytes."""
    return dict.fromkeys(documents("x"), data)


STORES = {
    "text": as_bytes(documents(HOSTILE)),
    "long": as_bytes(documents(LONG)),
    "endpoints": as_bytes({**documents(HOSTILE), f"{IDS}/1": registration(HOSTILE)}),
    "keys": as_bytes(documents(NAME) | {f"{HOSTS}/k": {HOSTILE: 1, "broker.id": HOSTILE}}),
    "no UTF-8": of_one(b"\x1b[31m\xff\xfe\x9b"),
    "no JSON": of_one(f'{{"{HOSTILE}'.encode()),
    "huge": of_one(b'{"\x1b[31m' + b"\x1b" * (MOST_BYTES - 9)),
    "deep": of_one(b"[" * MOST_BYTES),
}
"""What is odd about the nodes -> path -> content."""


def put_nodes(store, nodes):
    """Write these nodes into a store that `broker-id init` made; `store` is open while they last.

    Registrations and claims end with their sessions.
    """
    parents = {CLUSTER_ID: "/cluster"}
    for path in (f"{KNOWN}/3", f"{RETIRED}/5", *nodes):
        if path in parents:
            store.commit([Create(parents[path], b"")])
        is_ephemeral = path.startswith((f"{IDS}/", f"{CLAIMS}/"))
        store.commit([Create(path, nodes.get(path, b""), ephemeral=is_ephemeral)])
