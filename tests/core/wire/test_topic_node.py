"""Topic nodes of versions 1 to 3, read and written."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_nodes import JSON
from json_schemas import check, fault
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.json.forms import Definitions
from rackwise.core.wire import (
    ReplicaSet,
    TopicNode,
    dropped_topic_fields,
    read_topic_node,
    write_topic_node,
)
from rackwise.core.wire.topic_node import RECEIVED, TOPIC_BYTES
from registrations import TOPIC_3, TOPICS, check_topic_law, mutated

MOVING = TopicNode(
    topic="t",
    version=3,
    topic_id="AAAAAAAAAAAAAAAAAAAAAQ",
    partitions={
        0: ReplicaSet(replicas=(1, 2)),
        10: ReplicaSet(replicas=(2, 3, 1), adding=(1,), removing=(2,)),
    },
)
STILL = TopicNode(topic="t", partitions={0: ReplicaSet(replicas=(0, 1))})


def node(**changed):
    fields = {"version": 3, "partitions": {"0": [1, 2]}} | changed
    return json.dumps(fields).encode()


class TestVectors:
    def test_version_3(self):
        assert read_topic_node("t", TOPIC_3) == MOVING
        assert write_topic_node(MOVING, version=3) == TOPIC_3

    def test_version_1_has_partitions_alone(self):
        data = b'{"version":1,"partitions":{"0":[0,1]}}'
        assert write_topic_node(STILL, version=1) == data
        assert read_topic_node("t", data).partitions == STILL.partitions

    def test_version_2_names_what_moves(self):
        assert write_topic_node(MOVING, version=2) == (
            b'{"version":2,"partitions":{"0":[1,2],"10":[2,3,1]},"adding_replicas":{"10":[1]},'
            b'"removing_replicas":{"10":[2]}}'
        )
        assert write_topic_node(STILL, version=2).endswith(
            b',"adding_replicas":{},"removing_replicas":{}}'
        )

    def test_the_topic_id_is_dropped_below_version_3(self):
        assert dropped_topic_fields(MOVING, version=2) == ("topic_id",)
        assert dropped_topic_fields(MOVING, version=3) == ()
        assert dropped_topic_fields(STILL, version=1) == ()


class TestReading:
    @pytest.mark.parametrize("version", [None, 0, -1, "3", True, 7])
    def test_the_version_is_not_looked_at(self, version):
        read = read_topic_node("t", node(version=version))
        assert read.partitions == {0: ReplicaSet(replicas=(1, 2))}
        assert read.version == (7 if version == 7 else 0)

    def test_maps_that_are_absent_are_empty(self):
        expected = read_topic_node("t", b'{"partitions":{}}')
        assert expected == TopicNode(topic="t", version=0, partitions={})
        nulls = b'{"partitions":{},"adding_replicas":null,"removing_replicas":null,"topic_id":null}'
        assert read_topic_node("t", nulls) == expected

    def test_partitions_that_only_come_or_go_are_kept(self):
        data = node(adding_replicas={"2": [8]}, removing_replicas={"1": [9]})
        read = read_topic_node("t", data)
        assert read.partitions == {
            0: ReplicaSet(replicas=(1, 2)),
            1: ReplicaSet(replicas=(), removing=(9,)),
            2: ReplicaSet(replicas=(), adding=(8,)),
        }
        assert read_topic_node("t", write_topic_node(read, version=3)) == read

    def test_fields_that_are_not_known_are_written_again(self):
        read = read_topic_node("t", node(later=[1], also={}))
        assert read.extra == {"later": [1], "also": {}}
        assert write_topic_node(read, version=3).endswith(b',"also":{},"later":[1]}')

    @pytest.mark.parametrize(
        ("change", "told"),
        [
            ({"partitions": {"00": [1]}}, '.partitions: partition "00" is not a number'),
            ({"partitions": {"-1": [1]}}, '.partitions: partition "-1" is not a number'),
            ({"partitions": {"2147483648": []}}, '.partitions: partition "2147483648"'),
            ({"partitions": {"٣": []}}, ".partitions: partition"),
            ({"partitions": {"\x1b": []}}, '.partitions: partition "\\x1b"'),
            ({"partitions": None}, ".partitions: expected an object of partitions"),
            ({"partitions": [[1]]}, ".partitions: expected an object of partitions"),
            ({"partitions": {"0": [-1]}}, '.partitions["0"]: expected a list of broker ids'),
            ({"partitions": {"0": [True]}}, '.partitions["0"]: expected a list of broker ids'),
            ({"partitions": {"0": [1, 1.0]}}, '.partitions["0"]: expected a list of broker ids'),
            ({"partitions": {"0": [2**31]}}, '.partitions["0"]: expected a list of broker ids'),
            (
                {"partitions": {"0": [1, 2, 1]}},
                '.partitions["0"]: expected a list of broker ids, each once',
            ),
            ({"partitions": {"0": 1}}, '.partitions["0"]: expected a list of broker ids'),
            (
                {"adding_replicas": {"0": "1"}},
                '.adding_replicas["0"]: expected a list of broker ids',
            ),
            ({"removing_replicas": [0]}, ".removing_replicas: expected an object of partitions"),
            ({"topic_id": "a"}, ".topic_id: expected 22 characters of base64url"),
            ({"topic_id": 7}, ".topic_id: expected 22 characters of base64url"),
        ],
    )
    def test_what_is_refused_and_where(self, change, told):
        with pytest.raises(RemoteProtocolError) as refused:
            read_topic_node("t", node(**change))
        assert str(refused.value).startswith(f"invalid /brokers/topics/t at ${told}")
        assert refused.value.where.startswith("/brokers/topics/t $.")

    def test_the_cap(self):
        data = node()
        assert read_topic_node("t", data + b" " * (TOPIC_BYTES - len(data)))
        with pytest.raises(RemoteProtocolError, match="at most 4194304 bytes"):
            read_topic_node("t", data + b" " * TOPIC_BYTES)

    def test_the_name_is_shown_escaped(self):
        with pytest.raises(RemoteProtocolError) as refused:
            read_topic_node("\x1b", b"")
        assert refused.value.where == "/brokers/topics/\\x1b"

    @given(mutated(TOPIC_3))
    def test_mutations_are_read_or_the_one_error(self, data):
        try:
            read = read_topic_node("t", data)
        except RemoteProtocolError as error:
            assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)
            assert 0 <= error.offset <= len(data)  # noqa: PT017
        else:
            check_topic_law(read, 3)

    @given(st.dictionaries(st.sampled_from(["partitions", "adding_replicas", "topic_id"]), JSON))
    def test_any_object_is_read_or_the_one_error(self, fields):
        try:
            read_topic_node("t", node(**fields))
        except RemoteProtocolError as error:
            assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)


class TestWriting:
    @given(TOPICS, st.integers(2, 3))
    def test_what_is_written_is_read_again(self, topic, version):
        check_topic_law(topic, version)

    @given(TOPICS.filter(lambda t: not any(p.adding + p.removing for p in t.partitions.values())))
    def test_version_1_holds_what_does_not_move(self, topic):
        check_topic_law(topic, 1)

    @pytest.mark.parametrize("moving", [{"adding": (1,)}, {"removing": (1,)}])
    def test_version_1_holds_no_reassignment(self, moving):
        told = TopicNode(topic="t", partitions={4: ReplicaSet(replicas=(1, 2), **moving)})
        with pytest.raises(
            LocalProtocolError, match="version 1 holds no reassignment; partition 4 has one"
        ):
            write_topic_node(told, version=1)

    @pytest.mark.parametrize("version", [0, 4, True, 2.0, "3"])
    @pytest.mark.parametrize("call", [write_topic_node, dropped_topic_fields])
    def test_versions_are_1_to_3(self, call, version):
        with pytest.raises(LocalProtocolError, match="invalid topic node version: expected 1 to 3"):
            call(STILL, version=version)

    @pytest.mark.parametrize(
        ("changed", "told"),
        [
            (
                {"partitions": {-1: ReplicaSet(replicas=())}},
                "expected a number from 0 to 2147483647",
            ),
            (
                {"partitions": {True: ReplicaSet(replicas=())}},
                "expected a number from 0 to 2147483647",
            ),
            ({"topic_id": "short"}, "expected 22 characters of base64url, got short"),
            ({"extra": {"version": 1}}, "expected a name that no known field has, got version"),
            ({"extra": {"x": {1, 2}}}, "expected strict JSON"),
        ],
    )
    def test_what_is_refused(self, changed, told):
        fields = {"topic": "t", "partitions": {}} | changed
        with pytest.raises(LocalProtocolError, match=told):
            write_topic_node(TopicNode(**fields), version=3)

    @pytest.mark.parametrize("ids", [(True,), (-1,), (2**31,), (1, 1), ("1",)])
    @pytest.mark.parametrize("name", ["replicas", "adding", "removing"])
    def test_replicas_are_broker_ids_each_once(self, name, ids):
        with pytest.raises(LocalProtocolError, match=f"{name}: expected broker ids, each once,"):
            ReplicaSet(**({"replicas": ()} | {name: ids}))


def test_the_schema_of_a_received_node():
    definitions = Definitions()
    schema = RECEIVED.schema(definitions)
    document = {"version": 3, "topic_id": None, "partitions": {"0": [1]}, "later": 1}
    document |= {"adding_replicas": {}, "removing_replicas": None}
    check(document, schema, {"$defs": definitions})
    assert fault(document | {"partitions": {"0": [-1]}}, schema, {"$defs": definitions})
