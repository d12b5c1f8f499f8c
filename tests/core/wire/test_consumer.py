"""What members and leader of a group send each other, byte for byte."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignments import consumer_vectors, pairs, tps
from group_messages import GENERATIONS, PARTITIONS, RACKS, SUBSCRIPTIONS
from rackwise.core.errors import LocalProtocolError, RemoteProtocolError
from rackwise.core.wire.consumer import (
    Blob,
    LeaderNote,
    MemberAssignment,
    Subscription,
    decode_assignment,
    decode_blob,
    decode_cooperative_user_data,
    decode_leader_note,
    decode_sticky_user_data,
    decode_subscription,
    encode_assignment,
    encode_blob,
    encode_cooperative_user_data,
    encode_leader_note,
    encode_sticky_user_data,
    encode_subscription,
)

VECTORS = consumer_vectors("wire")
WRECKS = st.binary(max_size=40) | st.tuples(
    SUBSCRIPTIONS.map(encode_subscription), st.integers(0, 60), st.binary(max_size=4)
).map(lambda told: told[0][: told[1]] + told[2] + told[0][told[1] + len(told[2]) :])


def by_id(section):
    return [pytest.param(entry, id=entry["id"]) for entry in VECTORS[section]]


def octets(text):
    return None if text is None else bytes.fromhex(text)


def subscription_of(told):
    return Subscription(
        version=told["version"],
        topics=tuple(told["topics"]),
        user_data=octets(told["user_data"]),
        owned=pairs(told["owned"]),
        generation=told["generation"],
        rack=told["rack"],
    )


def without_what_the_version_lacks(subscription):
    lacks = {"owned": ()} if subscription.version < 1 else {}
    lacks |= {"generation": -1} if subscription.version < 2 else {}
    lacks |= {"rack": None} if subscription.version < 3 else {}
    return replace(subscription, **lacks)


class TestSubscription:
    @pytest.mark.parametrize("entry", by_id("subscription"))
    def test_is_read(self, entry):
        assert decode_subscription(octets(entry["bytes"])) == subscription_of(entry["decoded"])

    @pytest.mark.parametrize("entry", [e for e in by_id("subscription") if "encode" in e.values[0]])
    def test_is_written(self, entry):
        assert encode_subscription(subscription_of(entry["encode"])).hex() == entry["bytes"]

    @pytest.mark.parametrize("entry", by_id("subscription_bad"))
    def test_that_is_none_is_refused(self, entry):
        with pytest.raises(RemoteProtocolError, match=r"^offset \d+: expected .*, got .*$"):
            decode_subscription(octets(entry["bytes"]))

    @given(SUBSCRIPTIONS)
    def test_what_was_written_is_read(self, subscription):
        read = decode_subscription(encode_subscription(subscription))
        assert read == without_what_the_version_lacks(subscription)

    @given(WRECKS)
    def test_any_bytes_are_read_or_refused_at_an_offset_within(self, data):
        try:
            read = decode_subscription(data)
        except RemoteProtocolError as error:
            assert 0 <= error.offset <= len(data)  # noqa: PT017
        else:
            assert read.generation >= -1

    @pytest.mark.parametrize("version", [-1, 4])
    def test_of_another_version_is_not_written(self, version):
        with pytest.raises(LocalProtocolError, match="from 0 to 3"):
            encode_subscription(Subscription(version=version, topics=()))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"topics": ("t" * 2**15,)},
            {"topics": ("\ud800",)},
            {"topics": (), "generation": 2**31},
        ],
        ids=["too long", "half a pair", "too large"],
    )
    def test_that_does_not_fit_is_not_written(self, wrong):
        with pytest.raises(LocalProtocolError, match=r"expected .*, got |STRING holds"):
            encode_subscription(Subscription(**wrong))


class TestAssignment:
    @pytest.mark.parametrize("entry", by_id("assignment"))
    def test_is_written_and_read(self, entry):
        told = entry["encode"]
        partitions, user_data = pairs(told["partitions"]), octets(told["user_data"])
        data = octets(entry["bytes"])
        assert encode_assignment(told["version"], partitions, user_data) == data
        assert decode_assignment(data) == MemberAssignment(
            version=told["version"], partitions=partitions, user_data=user_data
        )

    @given(st.integers(0, 3), PARTITIONS, st.none() | st.binary(max_size=4))
    def test_any_is_read_as_it_was_written(self, version, partitions, user_data):
        ours = decode_assignment(encode_assignment(version, partitions, user_data))
        assert (ours.partitions, ours.user_data) == (partitions, user_data)

    @given(WRECKS)
    def test_any_bytes_are_read_or_refused(self, data):
        try:
            assert decode_assignment(data).version >= 0
        except RemoteProtocolError as error:
            assert error.offset <= len(data)  # noqa: PT017


class TestUserData:
    @pytest.mark.parametrize("entry", by_id("sticky_user_data"))
    def test_of_sticky_is_read(self, entry):
        generation = -1 if entry["generation"] is None else entry["generation"]
        read = decode_sticky_user_data(octets(entry["bytes"]))
        assert read == (pairs(entry["owned"]), generation)

    def test_of_sticky_is_written_as_java_does(self):
        (entry,) = (each for each in VECTORS["sticky_user_data"] if each["id"] == "v1")
        data = encode_sticky_user_data(pairs(entry["owned"]), entry["generation"])
        assert data.hex() == entry["bytes"]

    @pytest.mark.parametrize("data", [None, b""])
    def test_that_is_absent_says_nothing(self, data):
        assert decode_sticky_user_data(data) == ((), -1)
        assert decode_cooperative_user_data(data) == -1
        assert decode_blob(data) is None

    @pytest.mark.parametrize("entry", VECTORS["cooperative_user_data"])
    def test_of_cooperative_sticky(self, entry):
        data = octets(entry["bytes"])
        assert encode_cooperative_user_data(entry["generation"]) == data
        assert decode_cooperative_user_data(data) == entry["generation"]

    def test_a_generation_below_none_is_none(self):
        assert decode_cooperative_user_data(bytes.fromhex("80000000")) == -1

    @given(st.binary(max_size=30))
    def test_any_bytes_are_sticky_or_nothing(self, data):
        owned, generation = decode_sticky_user_data(data)
        assert isinstance(owned, tuple)
        assert generation >= -1

    @given(PARTITIONS, GENERATIONS)
    def test_what_was_written_for_sticky_is_read(self, owned, generation):
        data = encode_sticky_user_data(owned, generation)
        assert decode_sticky_user_data(data) == (owned, generation)


class TestBlob:
    @pytest.mark.parametrize("entry", VECTORS["rackwise_blob"])
    def test_is_written_and_read(self, entry):
        owned, data = pairs(entry["owned"]), octets(entry["bytes"])
        assert encode_blob(entry["rack"], entry["instance"], entry["generation"], owned) == data
        assert decode_blob(data) == Blob(
            rack=entry["rack"],
            instance_id=entry["instance"],
            generation=entry["generation"],
            owned=owned,
        )

    @given(RACKS, RACKS, GENERATIONS, PARTITIONS)
    def test_is_found_behind_the_fields_of_any_assignor(self, rack, instance, generation, owned):
        blob = encode_blob(rack, instance, generation, owned)
        wanted = Blob(rack=rack, instance_id=instance, generation=generation, owned=owned)
        for before in (b"", encode_sticky_user_data(owned, 7), encode_cooperative_user_data(7)):
            assert decode_blob(before + blob) == wanted
        assert decode_sticky_user_data(encode_sticky_user_data(owned, 7) + blob) == (owned, 7)

    @pytest.mark.parametrize("data", [b"RW\x02\xff\xff", b"rack", encode_sticky_user_data((), 1)])
    def test_of_somebody_else_is_none(self, data):
        assert decode_blob(data) is None

    def test_that_is_cut_is_refused(self):
        whole = encode_blob("a", None, 7, tps("t-0"))
        with pytest.raises(RemoteProtocolError) as caught:
            decode_blob(whole[:-1])
        assert caught.value.offset <= len(whole)
        assert "RW" not in str(caught.value)


class TestRackBefore:
    @given(RACKS, RACKS, GENERATIONS, PARTITIONS)
    def test_changes_the_bytes_and_nothing_that_a_leader_reads(
        self, rack, instance, generation, owned
    ):
        plain = encode_blob(rack, instance, generation, owned)
        asking = encode_blob(rack, instance, generation, owned, rack_before="")
        assert plain != asking
        assert decode_blob(asking) == decode_blob(plain)


class TestLeaderNote:
    @given(RACKS, st.booleans())
    def test_is_read_as_it_was_written(self, rack, is_leader):
        note = encode_leader_note(rack, is_leader=is_leader)
        assert decode_leader_note(note) == LeaderNote(rack=rack or None, is_leader=is_leader)

    @pytest.mark.parametrize("data", [None, b"", b"RA", b"RA\x02\x00\x01a\x01", b"other"])
    def test_of_another_leader_is_none(self, data):
        assert decode_leader_note(data) is None

    @pytest.mark.parametrize("data", [b"RA\x01", b"RA\x01\x00\x01a", b"RA\x01\x00\x01a\x02"])
    def test_that_cannot_be_read_is_refused(self, data):
        with pytest.raises(RemoteProtocolError):
            decode_leader_note(data)
