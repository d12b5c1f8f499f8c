"""Hypothesis strategies for files and nodes about identities, and nodes to hold bytes."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from rackwise.core.constants import GREATEST_ID
from rackwise.core.identity.model import KeyMapping, MetaProperties, Owner
from rackwise.core.identity.nodes.nodes import MissingMarker
from rackwise.core.identity.nodes.store import StoredNode

IDS = st.integers(0, GREATEST_ID)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
KEYS = st.text("abcABC019._:-", min_size=1, max_size=8)
ENDPOINTS = st.frozensets(st.sampled_from(["k1:9092", "k2:9093", "[::1]:9092", "K1:9092"]))
JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=6,
)
OF_KAFKA = ("version", "broker.id", "node.id", "cluster.id", "directory.id")

META = st.builds(
    MetaProperties,
    version=st.sampled_from([0, 1]),
    broker_id=st.none() | IDS,
    cluster_id=st.none() | TEXTS,
    directory_id=st.none() | st.sampled_from(["hZdBPDQtQ5a6SD2yXr6ExA", "_" * 22, "A" * 20 + "ZA"]),
    extra=st.dictionaries(TEXTS.filter(lambda key: key not in OF_KAFKA), TEXTS, max_size=3),
)
MAPPINGS = st.builds(
    KeyMapping,
    key=KEYS,
    broker_id=IDS,
    version=st.integers(0, 9),
    node_version=st.integers(0, 9),
    extra=st.dictionaries(
        TEXTS.filter(lambda key: key not in {"version", "broker.id"}), JSON, max_size=3
    ),
)
OWNERS = st.builds(
    Owner,
    broker_id=IDS,
    key=KEYS,
    incarnation=st.none() | st.integers(0, 2**63 - 1),
    endpoints=ENDPOINTS,
)
MARKERS = st.builds(
    MissingMarker,
    broker_id=IDS,
    leader=st.integers(0, 2**63 - 1),
    last_key=st.none() | KEYS,
    last_endpoints=ENDPOINTS,
    since_ms=st.just(2),
    node_version=st.just(3),
)


def node(data: bytes | dict, *, version: int = 3, session: int | None = None) -> StoredNode:
    """A node with these bytes or this object; created at 1, modified at 2, czxid 4."""
    content = data if isinstance(data, bytes) else json.dumps(data).encode()
    return StoredNode(
        data=content, version=version, created_ms=1, modified_ms=2, czxid=4, session=session
    )
