"""Garbage among mappings: by incarnation, not by name."""

import pytest

from identities import claim, mapping, owner
from rackwise.core.identity.model import Registration
from rackwise.core.identity.nodes.store import Check, Delete, Put
from rackwise.core.identity.operator.garbage import (
    delete_operations,
    garbage,
    garbage_with_winners,
    literal_garbage,
)

NOW = 100_000
G, G2 = mapping("g", 7, node_version=4), mapping("g2", 7, node_version=5)


def live(*endpoints, since_ms=0, incarnation=500):
    return {
        7: Registration(
            broker_id=7,
            endpoints=frozenset(endpoints),
            incarnation=incarnation,
            registered_ms=since_ms,
        )
    }


def keys(mappings, registered, owners=None, claims=None):
    found = garbage(mappings, registered, claims or {}, owners or {}, now_ms=NOW)
    return [each.key for each in found]


class TestNeitherNameNorHostIsNeeded:
    """For each node /brokers/ids/N, read the hostname h. If there is a node /brokers/hosts/g whose
    value is N, and g != h, then this is a garbage node.
    """

    def test_the_owner_of_this_registration_wins(self):
        assert keys([G, G2], live(), {7: owner(7, key="g2")}) == ["g"]

    def test_without_an_owner_and_without_names_nothing_is_garbage(self):
        assert keys([G, G2], live()) == []

    def test_an_owner_of_an_earlier_registration_says_nothing(self):
        assert keys([G, G2], live(), {7: owner(7, key="g2", incarnation=499)}) == []

    def test_the_winners_mapping_must_be_there(self):
        assert keys([G], live(), {7: owner(7, key="g2")}) == []
        assert keys([G, mapping("g2", 8)], live(), {7: owner(7, key="g2")}) == []

    def test_not_before_a_minute_of_the_stores_clock(self):
        owners = {7: owner(7, key="g2")}
        assert keys([G, G2], live(since_ms=NOW - 59_999), owners) == []
        assert keys([G, G2], live(since_ms=NOW - 60_000), owners) == ["g"]

    def test_not_while_it_is_claimed(self):
        assert keys([G, G2], live(), {7: owner(7, key="g2")}, {7: claim(7)}) == []

    def test_not_while_nobody_has_the_id(self):
        assert keys([G, G2], {}, {7: owner(7, key="g2")}) == []


class TestByName:
    @pytest.mark.parametrize(
        ("winner", "endpoint"),
        [
            ("Kafka1", "kafka1.example:9092"),
            ("kafka1.example", "KAFKA1.example:9092"),
            ("kafka1", "kafka1:9092"),
            ("10.0.0.1", "10.0.0.1:9092"),
            ("fd00::1", "[fd00::1]:9092"),
        ],
    )
    def test_a_key_that_is_a_host_name_of_the_broker_wins(self, winner, endpoint):
        mappings = [G, mapping(winner, 7)]
        assert keys(mappings, live(endpoint, "other:9093")) == ["g"]

    def test_the_first_label_of_an_address_is_no_name(self):
        assert keys([G, mapping("10", 7)], live("10.0.0.1:9092")) == []

    def test_two_names_of_one_broker_both_stay(self):
        both = [mapping("kafka1", 7), mapping("kafka1.example", 7)]
        assert keys(both, live("kafka1.example:9092")) == []

    def test_the_owner_counts_more_than_a_name(self):
        named = mapping("kafka1", 7)
        assert keys([named, G2], live("kafka1:9092"), {7: owner(7, key="g2")}) == ["kafka1"]


class TestWithoutZooKeeper:
    def test_the_owner_with_the_same_endpoints_wins(self):
        there = live("a:9092", incarnation=None, since_ms=None)
        mine = {7: owner(7, key="g2", incarnation=None, at=frozenset({"a:9092"}))}
        other = {7: owner(7, key="g2", incarnation=None, at=frozenset({"b:9092"}))}
        assert keys([G, G2], there, mine) == ["g"]
        assert keys([G, G2], there, other) == []
        assert keys([G, G2], live(incarnation=None, since_ms=None), {7: owner(7, key="g2")}) == []

    def test_a_name_is_not_enough(self):
        there = live("g2:9092", incarnation=None, since_ms=None)
        assert keys([G, G2], there) == []


class TestDeleting:
    def test_one_commit_at_the_versions_that_were_read(self):
        pairs = garbage_with_winners([G2, G], live(), {}, {7: owner(7, key="g2")}, now_ms=NOW)
        assert pairs == ((G, G2),)
        assert delete_operations(*pairs[0], registration_version=1) == (
            Put("/brokers/id_alloc", b""),
            Check("/brokers/ids/7", 1),
            Check("/brokers/hosts/g2", 5),
            Delete("/brokers/hosts/g", 4),
        )

    def test_a_store_without_registrations_does_not_check_them(self):
        operations = delete_operations(G, G2, registration_version=None)
        assert [type(each) for each in operations] == [Put, Check, Delete]


def test_to_the_letter_it_deletes_live_mappings_where_host_is_null():
    mappings = [G2, G, mapping("h9", 9)]
    assert [m.key for m in literal_garbage(mappings, {7: "g2"})] == ["g"]
    assert [m.key for m in literal_garbage(mappings, {7: None, 9: None})] == ["g", "g2", "h9"]
