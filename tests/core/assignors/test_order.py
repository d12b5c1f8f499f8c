"""Members in Kafka's order, and in the order of Java's hash maps."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from assignments import consumer_vectors
from rackwise.core.assignors.order import (
    bucket_order,
    coordinator_order,
    hash_order,
    java_hash,
    member_order,
    topic_id_hash,
    topic_id_key,
    utf16_key,
)
from strategies import MEMBER_IDS

HASH_CASES = consumer_vectors("java_hash_order")["cases"]


class TestMemberOrder:
    """KIP-345: static members first, by instance id, so that a restart changes nothing."""

    @pytest.mark.parametrize("case", consumer_vectors("member_order"))
    def test_vectors(self, case):
        assert list(member_order(dict(case["members"]))) == case["expected"]

    def test_texts_are_compared_as_java_compares_them(self):
        assert member_order({"\uffee": None, "\U0001f600": None, "a": None}) == (
            "a",
            "\U0001f600",
            "\uffee",
        )

    def test_an_empty_instance_id_is_one(self):
        assert member_order({"a": None, "b": ""}) == ("b", "a")


class TestHashOrder:
    @pytest.mark.parametrize("case", HASH_CASES)
    def test_vectors(self, case):
        assert list(hash_order(case["ids"])) == case["expected"]

    @pytest.mark.parametrize(
        ("text", "code"), [("", 0), ("Aa", 2112), ("BB", 2112), ("\U0001f600", 1772899)]
    )
    def test_hash_codes(self, text, code):
        assert java_hash(text) == code

    def test_a_bucket_keeps_the_order_of_insertion(self):
        assert bucket_order([16, 1, 0, 32]) == (0, 2, 3, 1)

    def test_a_map_grows_when_more_than_three_quarters_are_in(self):
        twelve = [16, *range(1, 12)]
        assert bucket_order(twelve)[0] == 0
        assert bucket_order([*twelve, 12])[-1] == 0

    def test_a_bucket_with_nine_keys_doubles_a_small_map(self):
        eight = [32 * key for key in range(1, 8)] + [16]
        assert bucket_order([*eight, 1])[:8] == tuple(range(8))
        assert bucket_order([*eight, 512, 1]) == (0, 1, 2, 3, 4, 5, 6, 8, 9, 7)

    def test_a_large_map_does_not_grow_for_a_full_bucket(self):
        full = [64 * key for key in range(1, 20)]
        assert bucket_order([*full, 63, 32])[-2:] == (20, 19)

    @given(st.lists(MEMBER_IDS, unique=True, max_size=30))
    def test_every_member_is_in_the_order_once(self, ids):
        assert sorted(hash_order(ids)) == sorted(ids)


def test_utf16_keys_take_lone_surrogates():
    assert utf16_key("\ud800") == b"\xd8\x00"


class TestCoordinatorOrder:
    """The order in which the group coordinator hands members to its assignors (KIP-848)."""

    def test_as_a_timeline_hash_map_and_a_hash_map_of_kafka_4_3_walk(self):
        ids = ["-", "AaAaconsumer-", "consumer-", "consumer-x-0consumer-", "f3Aa--", "q1", "r2"]
        assert coordinator_order([*ids, "s3"]) == (
            *("r2", "q1", "s3", "consumer-", "consumer-x-0consumer-"),
            *("f3Aa--", "AaAaconsumer-", "-"),
        )

    def test_members_with_one_hash_code_come_in_reverse_order_of_joining(self):
        assert coordinator_order(["Aa", "BB"]) == ("BB", "Aa")

    @given(st.lists(MEMBER_IDS, unique=True, max_size=30))
    def test_every_member_is_in_the_order_once(self, ids):
        assert sorted(coordinator_order(ids)) == sorted(ids)


class TestTopicIds:
    @pytest.mark.parametrize(
        ("topic_id", "code"),
        [
            ("AAAAAAAAAAAAAAAAAAAAAQ", 1),
            ("_____________________w", 0),
            ("AAAAAAAAAAH__________w", 1),
        ],
    )
    def test_hash_codes(self, topic_id, code):
        assert topic_id_hash(topic_id) == code

    def test_ids_compare_as_signed_integers(self):
        low, high = "_____________________w", "AAAAAAAAAAAAAAAAAAAAAQ"
        assert sorted([high, low], key=topic_id_key) == [low, high]

    def test_a_copied_set_has_room_from_the_start(self):
        twelve = [16, *range(1, 12)]
        assert bucket_order(twelve)[0] == 0
        assert bucket_order(twelve, is_copied=True)[-1] == 0
