"""Registrations and topic nodes: samples of every version, strategies, laws of both directions."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from identity_nodes import JSON
from rackwise.core.errors import LocalProtocolError
from rackwise.core.wire import (
    BrokerRegistration,
    Endpoint,
    ReplicaSet,
    SecurityProtocol,
    TopicNode,
    dropped_fields,
    dropped_topic_fields,
    read_registration,
    read_topic_node,
    write_registration,
    write_topic_node,
)

PLAINTEXT, SSL = SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL
V1 = '{"version":1,"host":"host1","port":9092,"jmx_port":9999,"timestamp":"2233345666"'
V2 = f'{V1.replace("1", "2", 1)},"endpoints":["PLAINTEXT://host1:9092","SSL://host1:9093"]'
V3 = f'{V2.replace("2", "3", 1)},"rack":"dc1"'
V4 = (
    f"{V3.replace('3', '4', 1)},"
    '"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT","SSL":"SSL"}'
)
V5 = f'{V4.replace("4", "5", 1)},"features":{{"feature1":{{"min_version":1,"max_version":2}}}}'
SAMPLES = {
    number: (text + "}").encode() for number, text in enumerate((V1, V2, V3, V4, V5), start=1)
}
"""Version -> the node of broker 1."""

TOPIC_3 = (
    b'{"version":3,"partitions":{"0":[1,2],"10":[2,3,1]},"adding_replicas":{"10":[1]},'
    b'"removing_replicas":{"10":[2]},"topic_id":"AAAAAAAAAAAAAAAAAAAAAQ"}'
)


def endpoint(text, protocol=None):
    """An endpoint from `SSL://host1:9093`; the default protocol is the listener's name."""
    listener, _, rest = text.partition("://")
    host, _, port = rest.rpartition(":")
    return Endpoint(
        listener=listener,
        protocol=SecurityProtocol[listener] if protocol is None else protocol,
        host=host.strip("[]") or None,
        port=int(port),
    )


def sample(**changed):
    """Broker 1 as version 5 has it."""
    told = BrokerRegistration(
        broker_id=1,
        version=5,
        endpoints=(endpoint("PLAINTEXT://host1:9092"), endpoint("SSL://host1:9093")),
        rack="dc1",
        host="host1",
        port=9092,
        jmx_port=9999,
        timestamp_ms=2233345666,
        features={"feature1": (1, 2)},
    )
    return replace(told, **changed)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
INT16 = st.integers(-(2**15), 2**15 - 1)
INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
HOSTS = st.none() | st.sampled_from(["host1", "::1", "fe80::b1da:69ca:57f7:63d8%3", "MyHost", "-"])
NAMES = st.sampled_from(["CLIENT", "REPLICATION", "A_B-1", ""])
FOREIGN = st.text("abcxyz", min_size=1, max_size=4)


def endpoints(*, is_named=True):
    """Endpoints of distinct listeners; `is_named`: also with names that are no protocol."""
    plain = st.builds(
        lambda protocol, host, port: Endpoint(
            listener=protocol.name, protocol=protocol, host=host, port=port
        ),
        st.sampled_from(SecurityProtocol),
        HOSTS,
        INT32,
    )
    named = st.builds(
        Endpoint, listener=NAMES, protocol=st.sampled_from(SecurityProtocol), host=HOSTS, port=INT32
    )
    return st.lists(
        plain | named if is_named else plain, max_size=4, unique_by=lambda each: each.listener
    ).map(tuple)


def registrations(*, is_named=True):
    """Any registration that version 5 holds, or 3 if no listener has a name of its own."""
    return st.builds(
        BrokerRegistration,
        broker_id=st.integers(0, 2**31 - 1),
        version=st.integers(1, 5),
        endpoints=endpoints(is_named=is_named),
        rack=st.none() | TEXTS,
        jmx_port=st.none() | INT32,
        timestamp_ms=st.none() | INT64,
        features=st.dictionaries(TEXTS, st.tuples(INT16, INT16), max_size=2),
        extra=st.dictionaries(FOREIGN, JSON, max_size=2),
    )


def as_held(r, version):
    """What a version keeps of `r`; does not use the writer."""
    dropped = dropped_fields(r, version=version)
    plain = next((each for each in r.endpoints if each.protocol is PLAINTEXT), None)
    held = replace(
        r,
        version=version,
        host=plain.host if plain else None,
        port=plain.port if plain else -1,
        jmx_port=-1 if r.jmx_port is None else r.jmx_port,
    )
    if "endpoints" in dropped:
        held = replace(held, endpoints=(replace(plain, listener="PLAINTEXT"),))
    if "rack" in dropped:
        held = replace(held, rack=None)
    return replace(held, features={}) if "features" in dropped else held


def check_registration_law(r, version):
    """Law:

    a registration is read as written, except for dropped fields, or rejected with a reason.
    """
    try:
        data = write_registration(r, version=version)
    except LocalProtocolError:
        assert version < 4, "law of registrations: from version 4 on all is held"
        return
    read = read_registration(r.broker_id, data)
    assert read == as_held(r, version), "law of registrations: read(write(r)) = r"
    assert write_registration(read, version=version) == data, "law of registrations: stable bytes"


REPLICAS = st.lists(st.integers(0, 2**31 - 1), max_size=4, unique=True).map(tuple)
TOPICS = st.builds(
    TopicNode,
    topic=st.just("t"),
    version=st.integers(1, 3),
    topic_id=st.none() | st.sampled_from(["AAAAAAAAAAAAAAAAAAAAAQ", "hZdBPDQtQ5a6SD2yXr6ExA"]),
    partitions=st.dictionaries(
        st.integers(0, 2**31 - 1),
        st.builds(ReplicaSet, replicas=REPLICAS, adding=REPLICAS, removing=REPLICAS),
        max_size=4,
    ),
    extra=st.dictionaries(FOREIGN, JSON, max_size=2),
)


def check_topic_law(t, version):
    """Law: a written topic node is read again, below version 3 without its topic id."""
    data = write_topic_node(t, version=version)
    read = read_topic_node(t.topic, data)
    dropped = dropped_topic_fields(t, version=version)
    expected = replace(t, version=version, topic_id=None if dropped else t.topic_id)
    assert read == expected, "law of topic nodes: read(write(t)) = t"
    assert write_topic_node(read, version=version) == data, "law of topic nodes: stable bytes"


def mutated(data):
    """Strategy: these bytes with a part replaced, cut or doubled."""
    places = st.integers(0, len(data))
    return st.builds(
        lambda start, length, new: data[:start] + new + data[start + length :],
        places,
        st.integers(0, 8),
        st.binary(max_size=4) | st.sampled_from([b'"', b"{", b"}", b"[", b"null", b"-1", b","]),
    )
