"""A row for each id, and what contradicts itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.model import Claim, KeyMapping, Owner, Registration
from rackwise.core.identity.operator.roster import (
    Census,
    UnreadableNode,
    disagreements,
    roster,
    row_of,
)

EMPTY = Census(mappings=(), registered={}, claims={}, owners={})
WHOLE = Census(
    mappings=(KeyMapping(key="h9", broker_id=9), KeyMapping(key="h7", broker_id=7)),
    registered={7: Registration(broker_id=7, incarnation=40, endpoints=frozenset({"h7:9092"}))},
    claims={},
    owners={
        7: Owner(broker_id=7, key="h7", incarnation=40, endpoints=frozenset({"h7:9092"})),
        9: Owner(broker_id=9, key="h9", incarnation=12),
    },
    retired=frozenset({4}),
    known=frozenset({7, 9}),
    used=frozenset({7, 9, 4}),
    missing_since_ms={9: 1_000},
    now_ms=41_000,
)
IDS = st.frozensets(st.integers(0, 9))


def of(census, number):
    return next(row for row in roster(census) if row.id == number)


def told(number=7, **changes):
    return disagreements(of(replace(WHOLE, **changes), number))


def test_nobody_is_nobody():
    assert roster(EMPTY) == ()
    row = row_of(EMPTY, 3)
    assert (row.keys, row.registration, row.has_replicas) == ((), None, None)
    assert not row.is_missing
    assert disagreements(row) == ()


def test_every_id_that_is_named_has_a_row_in_order():
    assert [row.id for row in roster(WHOLE)] == [4, 7, 9]


@given(IDS, IDS, IDS, IDS, IDS, st.none() | IDS)
def test_the_rows_are_the_ids_that_are_named(mapped, registered, claimed, retired, known, used):
    census = Census(
        mappings=tuple(KeyMapping(key=f"h{each}", broker_id=each) for each in mapped),
        registered={each: Registration(broker_id=each) for each in registered},
        claims={each: Claim(broker_id=each, key="k", nonce="", session=1) for each in claimed},
        owners={},
        retired=retired,
        known=known,
        used=used,
    )
    rows = roster(census)
    named = mapped | registered | claimed | retired | known | (used or frozenset())
    assert [row.id for row in rows] == sorted(named)
    missing = {row.id for row in rows if row.is_missing}
    assert missing == (known | (used or frozenset())) - registered - retired


def test_a_missing_id_is_known_used_or_both_and_neither_registered_nor_retired():
    assert [row.id for row in roster(WHOLE) if row.is_missing] == [9]
    assert of(WHOLE, 9).missing_ms == 40_000
    assert of(replace(WHOLE, missing_since_ms={}), 9).missing_ms is None
    assert of(replace(WHOLE, missing_since_ms={7: 1}), 7).missing_ms is None
    alone = replace(WHOLE, known=frozenset(), used=frozenset())
    assert not of(alone, 9).is_missing


def test_whether_it_has_replicas_is_not_known_where_topics_were_not_read():
    assert of(WHOLE, 9).has_replicas is True
    assert of(replace(WHOLE, used=frozenset()), 9).has_replicas is False
    assert of(replace(WHOLE, used=None), 9).has_replicas is None


def test_what_is_missing_is_not_known_where_nobody_said_what_is_registered():
    unseen = replace(WHOLE, registered={}, used=None, sees_cluster=False)
    assert [(row.is_missing, row.missing_ms) for row in roster(unseen)] == [(None, None)] * 3


@pytest.mark.parametrize("number", [4, 7, 9])
def test_what_belongs_together_agrees(number):
    assert told(number) == ()


def test_two_keys_of_one_id_are_told():
    both = (*WHOLE.mappings, KeyMapping(key="g", broker_id=7))
    assert told(mappings=both) == ("id 7 is mapped to 2 keys: g, h7",)


def test_a_retired_id_that_is_mapped_or_registered_is_told():
    assert told(retired=frozenset({7})) == ("id 7 is retired, and registered",)
    assert told(9, retired=frozenset({9})) == ("id 9 is retired, and mapped to h9",)


def test_a_claim_of_a_key_that_has_not_the_id_is_told():
    ours = Claim(broker_id=7, key="h7", nonce="n", session=1)
    assert told(claims={7: ours}) == ()
    assert told(claims={7: replace(ours, key="g")}) == ("g claims id 7, which is not mapped to it",)


def test_an_owner_whose_key_has_not_the_id_is_told():
    assert told(mappings=()) == ("h7 registered id 7, which is not mapped to it",)


def test_an_owner_that_was_never_registered_only_reserves_its_id():
    reserved = {5: Owner(broker_id=5, key="h5"), 7: Owner(broker_id=7, key="h5")}
    census = replace(WHOLE, owners=reserved)
    assert [row.id for row in roster(census)] == [4, 7, 9]
    assert of(census, 7).owner is None
    assert told(owners=reserved) == ()


def test_a_start_without_acquire_is_told():
    since = (
        "id 7 was registered without acquire since h7 last had it; if it is the same host, run: "
        "broker-id adopt 7, with the --key that its acquire uses"
    )
    mapped = (f"{since} (mapped: h7)",)
    later = {7: replace(WHOLE.registered[7], incarnation=41)}
    assert told(registered=later) == mapped
    assert told(registered=later, mappings=()) == (since,)
    same = {7: replace(WHOLE.registered[7], incarnation=None)}
    assert told(registered=same) == ()
    elsewhere = {7: replace(same[7], endpoints=frozenset({"x:1"}))}
    assert told(registered=elsewhere) == mapped


def test_a_node_that_cannot_be_read_keeps_what_is_wrong_and_what_to_do():
    error = InvalidConfig("invalid mapping: expected an id, got x", hint="write the id again")
    assert UnreadableNode.of(error) == ("invalid mapping: expected an id, got x", error.hint)
    assert UnreadableNode.of(InvalidConfig("x")).hint == ""
