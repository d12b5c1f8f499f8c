"""Topic nodes of every version: which ids replicas use, and who is in sync."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from identity_nodes import IDS, JSON, node
from rackwise.core.identity.nodes.node_json import NO_LEADER
from rackwise.core.identity.nodes.topics import (
    PartitionState,
    parse_state,
    parse_topic,
    state_path,
    used_ids,
)
from rackwise.core.identity.refusals import StoreCorrupt
from rackwise.core.wire.topic_node import TOPIC_BYTES

V3 = {
    "version": 3,
    "topic_id": "AAAAAAAAAAAAAAAAAAAAAQ",
    "partitions": {"0": [1, 7, 2], "1": [2]},
    "adding_replicas": {"0": [2]},
    "removing_replicas": {"0": [1]},
}


class TestTopic:
    """KIP-426: "Collect all broker ids by reading all ZooKeeper nodes /brokers/topics/<topic>"."""

    def test_partitions_hold_the_union_while_a_reassignment_runs(self):
        assert parse_topic(node(V3), topic="t") == {0: (1, 7, 2), 1: (2,)}

    @pytest.mark.parametrize("version", [1, 2, 3, 9])
    def test_versions_1_and_2_lack_fields(self, version):
        data = {"version": version, "partitions": V3["partitions"]}
        assert parse_topic(node(data), topic="t") == {0: (1, 7, 2), 1: (2,)}

    def test_ids_that_are_named_there_alone_are_used_too(self):
        data = V3 | {"adding_replicas": {"0": [9], "2": [8]}, "removing_replicas": None}
        assert parse_topic(node(data), topic="t") == {0: (1, 7, 2, 9), 1: (2,), 2: (8,)}

    def test_used_ids(self):
        assert used_ids([{0: (1, 7)}, {}, {0: (9,), 3: ()}]) == {1, 7, 9}
        assert used_ids([]) == frozenset()

    @pytest.mark.parametrize(
        "change",
        [
            {"version": 0},
            {"version": None},
            {"partitions": None},
            {"partitions": []},
            {"partitions": {"a": [1]}},
            {"partitions": {"01": [1]}},
            {"partitions": {"-1": [1]}},
            {"partitions": {"2147483648": [1]}},
            {"partitions": {"0": 1}},
            {"partitions": {"0": [True]}},
            {"partitions": {"0": [1.0]}},
            {"partitions": {"0": [-1]}},
            {"partitions": {"0": [2**31]}},
            {"adding_replicas": {"0": "1"}},
            {"removing_replicas": [0]},
            {"partitions": {"0": [1, 7, 1]}},
            {"topic_id": "t"},
        ],
    )
    def test_a_corrupt_topic_is_an_error_and_never_passed_over(self, change):
        with pytest.raises(StoreCorrupt) as refused:
            parse_topic(node(V3 | change), topic="t")
        assert refused.value.where == "/brokers/topics/t"

    @pytest.mark.parametrize(
        ("change", "wanted"),
        [
            ({"version": None}, "a version from 1 on"),
            ({"partitions": {"01": [1]}}, "partitions from 0 to 2147483647"),
            ({"adding_replicas": {"0": [-1]}}, "a list of broker ids, each once"),
        ],
    )
    def test_the_error_says_what_is_wanted_and_what_the_node_holds(self, change, wanted):
        with pytest.raises(StoreCorrupt) as refused:
            parse_topic(node(V3 | change), topic="t")
        assert refused.value.wanted == wanted
        assert str(refused.value).startswith(
            f'invalid /brokers/topics/t: expected {wanted}, got {{"version": '
        )

    def test_the_cap(self):
        data = json.dumps(V3).encode()
        assert parse_topic(node(data + b" " * (TOPIC_BYTES - len(data))), topic="t")
        with pytest.raises(StoreCorrupt, match="at most 4194304 bytes"):
            parse_topic(node(b" " * (TOPIC_BYTES + 1)), topic="t")

    @pytest.mark.parametrize(
        "piece", [b'"', b'\\"', b'"\\"', b'"\\\\"', b"[", b"[]", b'{"0":', b"0", b"-", b"\xff"]
    )
    def test_no_bytes_take_more_than_linear_time(self, piece):
        with pytest.raises(StoreCorrupt):
            parse_topic(node(piece * (2**20 // len(piece))), topic="t")


class TestState:
    def test_leader_and_in_sync_replicas(self):
        data = {"controller_epoch": 1, "leader": 7, "version": 1, "leader_epoch": 0, "isr": [7, 1]}
        assert parse_state(node(data), topic="t", partition=4) == PartitionState(
            leader=7, isr=(7, 1)
        )

    def test_nobody_leads(self):
        data = {"leader": NO_LEADER, "isr": [7]}
        assert parse_state(node(data), topic="t", partition=4).leader == NO_LEADER

    @pytest.mark.parametrize(
        "data",
        [
            *({"leader": -2, "isr": []}, {"leader": 7}, {"isr": [7]}),
            *({"leader": 7, "isr": isr} for isr in ([-1], [True], [1.0], [2**31], {"7": 7})),
        ],
    )
    def test_what_is_refused(self, data):
        with pytest.raises(StoreCorrupt) as refused:
            parse_state(node(data), topic="t", partition=4)
        assert refused.value.where == state_path("t", 4)
        assert state_path("t", 4) == "/brokers/topics/t/partitions/4/state"


REPLICAS = st.dictionaries(
    st.integers(0, 2**31 - 1), st.lists(IDS, max_size=4, unique=True), max_size=4
)


@given(REPLICAS)
def test_every_replica_is_used(partitions):
    data = {"version": 1, "partitions": {str(number): ids for number, ids in partitions.items()}}
    read = parse_topic(node(data), topic="t")
    assert read == {number: tuple(ids) for number, ids in partitions.items()}
    assert used_ids([read]) == {id_ for ids in partitions.values() for id_ in ids}


@given(st.dictionaries(st.sampled_from(["version", "partitions", "leader", "isr"]), JSON))
def test_any_object_is_read_or_the_one_error(data):
    for read in (
        lambda: parse_topic(node(data), topic="t"),
        lambda: parse_state(node(data), topic="t", partition=0),
    ):
        try:
            read()
        except StoreCorrupt as error:
            assert error.message.isprintable()  # noqa: PT017 (any error of the class will do)
