"""Nodes are read where they say it without doubt; what is written is read back."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_nodes import JSON, MAPPINGS, MARKERS, OWNERS, node
from rackwise.core.identity.model import Claim, KeyMapping, Owner, Registration
from rackwise.core.identity.nodes import nodes
from rackwise.core.identity.nodes.nodes import (
    MAPPING_BYTES,
    NODE_BYTES,
    MissingMarker,
    format_claim,
    format_mapping,
    format_missing,
    format_owner,
    ids_in_names,
    listener_endpoint,
    parse_claim,
    parse_cluster_id,
    parse_mapping,
    parse_missing,
    parse_owner,
    parse_registration,
)
from rackwise.core.identity.nodes.store import StoredNode
from rackwise.core.identity.refusals import MappingCorrupt, StoreCorrupt

CRUEL = {
    "empty": b"",
    "binary": b"\xff\xfe\x00",
    "byte order mark": b'\xef\xbb\xbf{"version":0,"broker.id":7}',
    "no object": b"[7]",
    "a number": b"7",
    "cut off": b'{"version":0,"broker.id":7',
    "two documents": b'{"version":0,"broker.id":7}{}',
    "NaN": b'{"version":0,"broker.id":7,"x":NaN}',
    "minus infinity": b'{"version":0,"broker.id":7,"x":-Infinity}',
    "1e400": b'{"version":0,"broker.id":7,"x":1e400}',
    "a key twice": b'{"version":0,"broker.id":7,"broker.id":8}',
    "a key twice inside": b'{"version":0,"broker.id":7,"x":[{"a":1,"a":1}]}',
    "5000 digits": b'{"version":0,"broker.id":7,"x":' + b"7" * 3000 + b"}",
    "65 bits": b'{"version":0,"broker.id":7,"x":9223372036854775808}',
    "deep": b'{"version":0,"broker.id":7,"x":' + b"[" * 70 + b"]" * 70 + b"}",
    "deep and unbalanced": b"[" * 4000,
    "half a pair": b'{"version":0,"broker.id":7,"x":"\\ud800"}',
    "half a pair as key": b'{"version":0,"broker.id":7,"x":[{"\\udc00":1}]}',
    "a control character": b'{"version":0,"broker.id":7,"x":"\n"}',
}


class TestMapping:
    """KIP-426: "a text-formatted JSON object is stored at the permanent ZooKeeper node"."""

    def test_the_object_of_the_kip(self):
        assert parse_mapping(node(b'{\n"version": 0,\n"broker.id": 10\n}'), key="h7") == KeyMapping(
            key="h7", broker_id=10, version=0, node_version=3
        )

    def test_version_will_be_bumped_as_new_keys_are_added(self):
        read = parse_mapping(node(b'{"version":3,"broker.id":7,"x":[1,{"y":"\\u00e9"}]}'), key="h7")
        assert (read.broker_id, read.version, read.extra) == (7, 3, {"x": [1, {"y": "é"}]})
        assert format_mapping(read) == '{"version":3,"broker.id":7,"x":[1,{"y":"é"}]}'.encode()

    @pytest.mark.parametrize("data", CRUEL.values(), ids=CRUEL.keys())
    def test_hostile_bytes(self, data):
        with pytest.raises(MappingCorrupt) as refused:
            parse_mapping(node(data), key="h7")
        assert refused.value.where == "/brokers/hosts/h7"
        assert refused.value.hint
        assert refused.value.message.isprintable()
        assert len(refused.value.message) < 1100

    def test_a_hint_names_the_key(self):
        with pytest.raises(MappingCorrupt) as refused:
            parse_mapping(node(b"{"), key="h7")
        assert refused.value.hint == "write the mapping again: broker-id assign h7 ID --force"

    def test_one_that_the_store_denies_is_unreadable(self):
        denied = StoredNode(
            data=b"", version=0, created_ms=0, modified_ms=0, czxid=0, is_denied=True
        )
        with pytest.raises(MappingCorrupt, match="the store denies READ") as refused:
            parse_mapping(denied, key="h7")
        assert refused.value.where == "/brokers/hosts/h7"

    @pytest.mark.parametrize("value", [True, 7.0, "7", None, -1, 2**31, [], {}])
    @pytest.mark.parametrize("name", ["version", "broker.id"])
    def test_no_id_is_guessed(self, name, value):
        with pytest.raises(MappingCorrupt, match=f"expected {name} from 0 to 2147483647"):
            parse_mapping(node({"version": 0, "broker.id": 7} | {name: value}), key="h7")

    @pytest.mark.parametrize("data", [b'{"broker.id":7}', b'{"version":0}'])
    def test_both_keys_must_be_there(self, data):
        with pytest.raises(MappingCorrupt):
            parse_mapping(node(data), key="h7")

    def test_depth_200_000_is_no_crash(self):
        depth = 200_000
        with pytest.raises(StoreCorrupt, match="at most 65536 bytes"):
            parse_owner(node(b"[" * depth + b"]" * depth), id=7)
        with pytest.raises(StoreCorrupt, match="64 levels"):
            parse_owner(node(b"[" * 30_000 + b"]" * 30_000), id=7)

    def test_64_levels_are_read(self):
        data = b'{"version":0,"broker.id":7,"x":' + b"[" * 63 + b"]" * 63 + b"}"
        assert parse_mapping(node(data), key="h").broker_id == 7

    @pytest.mark.parametrize("text", ['"', "\\", '\\"', '"[', '\\\\"[[', "]", '[{"'])
    def test_brackets_and_quotes_within_texts_are_texts(self, text):
        mapping = KeyMapping(key="h", broker_id=7, extra={text * 70: [text * 70]})
        assert parse_mapping(node(format_mapping(mapping)), key="h").extra == mapping.extra

    def test_the_cap(self):
        filler = "x" * (MAPPING_BYTES - len('{"version":0,"broker.id":7,"x":""}'))
        full = KeyMapping(key="h", broker_id=7, extra={"x": filler})
        assert parse_mapping(node(format_mapping(full)), key="h").extra == {"x": filler}
        with pytest.raises(MappingCorrupt, match="at most 4096 bytes"):
            parse_mapping(node(b'{"version":0,"broker.id":7,"x":"' + b"x" * 4096 + b'"}'), key="h")

    def test_none_is_written_that_would_not_be_read_again(self):
        with pytest.raises(MappingCorrupt, match="at most 4096 bytes"):
            format_mapping(KeyMapping(key="h", broker_id=7, extra={"x": "x" * 4096}))

    def test_an_error_repeats_200_bytes_escaped(self):
        with pytest.raises(MappingCorrupt) as refused:
            parse_mapping(node(b"\x1b[31m\xff" + b"x" * 1000), key="h\u202e7")
        assert refused.value.had.startswith("\\x1b[31m\\xff")
        assert refused.value.had.endswith("x... (1006 bytes)")
        assert "\u202e" not in refused.value.message

    @given(MAPPINGS)
    def test_what_is_written_is_read_back(self, mapping):
        data = format_mapping(mapping)
        assert parse_mapping(node(data, version=mapping.node_version), key=mapping.key) == mapping
        shuffled = KeyMapping(
            key=mapping.key,
            broker_id=mapping.broker_id,
            version=mapping.version,
            extra=dict(reversed(mapping.extra.items())),
        )
        assert format_mapping(shuffled) == data


V1 = {"version": 1, "host": "k1", "port": 9092, "jmx_port": -1, "timestamp": "1"}
LISTENERS = ["PLAINTEXT://k1:9092", "SSL://[::1]:9093"]
V5 = V1 | {
    "version": 5,
    "endpoints": LISTENERS,
    "rack": "a",
    "listener_security_protocol_map": {"PLAINTEXT": "PLAINTEXT", "SSL": "SSL"},
    "features": {},
}


class TestRegistration:
    def test_version_1_has_one_host(self):
        assert parse_registration(node(V1, session=5), id=7) == Registration(
            broker_id=7,
            endpoints=frozenset({"k1:9092"}),
            listeners={"PLAINTEXT": "k1:9092"},
            session=5,
            incarnation=4,
            registered_ms=1,
        )

    @pytest.mark.parametrize("version", [2, 3, 4, 5, 6, 99])
    def test_later_versions_have_endpoints(self, version):
        read = parse_registration(node(V5 | {"version": version, "later": {}}), id=7)
        assert read.endpoints == {"k1:9092", "[::1]:9093"}
        assert read.listeners == {"PLAINTEXT": "k1:9092", "SSL": "[::1]:9093"}

    def test_a_broker_with_tls_alone_has_no_host(self):
        only_tls = V5 | {"host": None, "port": -1, "endpoints": ["SSL://k1:9093"]}
        assert parse_registration(node(only_tls), id=7).endpoints == {"k1:9093"}

    def test_an_endpoint_without_a_host_is_not_known(self):
        assert (
            parse_registration(node(V5 | {"endpoints": ["PLAINTEXT://:9092"]}), id=7).endpoints
            == set()
        )
        assert parse_registration(node(V5 | {"endpoints": [""]}), id=7).endpoints == set()
        assert parse_registration(node(V1 | {"port": -1}), id=7).endpoints == set()

    @pytest.mark.parametrize(
        "change",
        [
            {"version": 0},
            {"version": "5"},
            {"endpoints": None},
            {"endpoints": "SSL://k1:9093"},
            {"endpoints": [7]},
            {"endpoints": ["k1:9093"]},
            {"endpoints": ["SSL://k1:99999"]},
            {"endpoints": ["SSL://k 1:9093"]},
            {"version": 1, "host": None},
            {"version": 1, "host": ""},
            {"version": 1, "port": True},
            {"version": 1, "port": 65536},
            {"version": 1, "port": -2},
        ],
    )
    def test_what_is_refused(self, change):
        with pytest.raises(StoreCorrupt) as refused:
            parse_registration(node(V5 | change), id=7)
        assert refused.value.where == "/brokers/ids/7"

    @pytest.mark.parametrize("data", CRUEL.values(), ids=CRUEL.keys())
    def test_hostile_bytes(self, data):
        with pytest.raises(StoreCorrupt):
            parse_registration(node(data), id=7)

    def test_the_cap(self):
        data = json.dumps(V5).encode()
        assert parse_registration(node(data + b" " * (NODE_BYTES - len(data))), id=7)
        with pytest.raises(StoreCorrupt, match="at most 65536 bytes"):
            parse_registration(node(data + b" " * NODE_BYTES), id=7)


@pytest.mark.parametrize(
    ("uri", "endpoint"),
    [
        ("PLAINTEXT://k1:9092", "k1:9092"),
        ("A_B-1://10.0.0.1:1", "10.0.0.1:1"),
        ("X://[fe80::1%eth0]:9092", "[fe80::1%eth0]:9092"),
        ("X://:9092", None),
        ("X://k1:0", None),
        ("X://k1:-1", None),
    ],
)
def test_listeners(uri, endpoint):
    assert listener_endpoint(uri) == endpoint


@pytest.mark.parametrize("uri", ["k1:9092", "X://k 1:9092", "X://k1:65536", "X://k1:99999999999"])
def test_what_is_no_listener(uri):
    with pytest.raises(ValueError, match=re.escape(uri)):
        listener_endpoint(uri)


class TestOurs:
    def test_a_claim_goes_with_its_session(self):
        data = format_claim(key="h7", host="h", pid=1, nonce="n", since_ms=9)
        assert json.loads(data) == {"key": "h7", "host": "h", "pid": 1, "nonce": "n", "since_ms": 9}  # noqa: TID251 (checks what others read)
        assert parse_claim(node(data, session=5), id=7) == Claim(
            broker_id=7, key="h7", nonce="n", session=5
        )
        with pytest.raises(StoreCorrupt, match="expected an ephemeral node"):
            parse_claim(node(data), id=7)

    @pytest.mark.parametrize("change", [{"key": ""}, {"key": 7}, {"nonce": None}])
    def test_a_claim_says_whose_it_is(self, change):
        with pytest.raises(StoreCorrupt, match="as text"):
            parse_claim(node({"key": "h7", "nonce": "n"} | change, session=5), id=7)

    @given(OWNERS)
    def test_owners(self, owner):
        assert parse_owner(node(format_owner(owner)), id=owner.broker_id) == owner

    def test_an_owner_as_it_is_written(self):
        owner = Owner(broker_id=7, key="h7", incarnation=4, endpoints=frozenset({"b:1", "a:1"}))
        assert format_owner(owner) == (
            b'{"version":0,"key":"h7","incarnation":4,"endpoints":["a:1","b:1"]}'
        )

    @pytest.mark.parametrize("endpoints", [None, "a:1", [7]])
    def test_an_owner_has_a_list_of_endpoints(self, endpoints):
        data = {"version": 0, "key": "h7", "incarnation": 4, "endpoints": endpoints}
        with pytest.raises(StoreCorrupt, match="endpoints as a list of texts"):
            parse_owner(node(data), id=7)

    @given(MARKERS)
    def test_markers(self, marker):
        assert parse_missing(node(format_missing(marker)), id=marker.broker_id) == marker

    def test_a_marker_as_it_is_written(self):
        assert format_missing(MissingMarker(broker_id=7, leader=9)) == (
            b'{"version":0,"leader":9,"last_key":null,"last_endpoints":[]}'
        )

    def test_the_id_of_the_cluster(self):
        assert parse_cluster_id(node(b'{"version":"1","id":"c"}')) == "c"
        with pytest.raises(StoreCorrupt, match="/cluster/id: expected id as text"):
            parse_cluster_id(node(b'{"version":"1"}'))

    def test_names_of_children(self):
        assert ids_in_names(["0", "7", "07", "-1", "2147483647", "2147483648", "x", ""]) == {
            0,
            7,
            2**31 - 1,
        }


READERS = {
    "mapping": lambda read: parse_mapping(read, key="h"),
    "registration": lambda read: parse_registration(read, id=7),
    "claim": lambda read: parse_claim(read, id=7),
    "owner": lambda read: parse_owner(read, id=7),
    "missing": lambda read: parse_missing(read, id=7),
    "cluster": nodes.parse_cluster_id,
}
NAMES = ["version", "broker.id", "host", "port", "endpoints", "key", "nonce", "leader", "id"]
OBJECTS = st.dictionaries(st.sampled_from(NAMES), JSON, max_size=6)


@pytest.mark.parametrize("read", READERS.values(), ids=READERS.keys())
@given(data=st.binary(max_size=60) | OBJECTS, session=st.sampled_from([None, 5]))
def test_any_node_is_read_or_the_one_error(read, data, session):
    try:
        read(node(data, session=session))
    except (StoreCorrupt, MappingCorrupt) as error:
        assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)
