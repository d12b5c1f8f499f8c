"""Duplicates: which of two rows of one flow counts, with and without a direction in the log."""

from __future__ import annotations

import pytest

from flow_rows import (
    BROKER,
    INGRESS,
    LOGGED,
    NO_DATA,
    NOON,
    ROW,
    SECOND,
    UNLOGGED,
    answer,
    fleet_of,
    judged,
)

pytestmark = pytest.mark.spark

VECTOR = [
    ({}, "kept"),
    (INGRESS, "duplicate-side"),
    ({**INGRESS, "srcaddr": UNLOGGED, "bytes": "500"}, "kept"),
    (answer(bytes="700"), "kept"),
    (answer(bytes="700", interface_id="eni-k", flow_direction="ingress"), "duplicate-side"),
    ({**INGRESS, "bytes": "60", "action": "REJECT"}, "rejected"),
    ({"dstport": "443", "bytes": "77"}, "not-kafka"),
    ({**INGRESS, **NO_DATA, "log_status": "NODATA"}, "nodata"),
]
"""Client and broker interfaces both logged, and one client that is not."""
BETWEEN_BROKERS = [
    (answer(dstaddr=SECOND, bytes="30"), "kept"),
    (answer(dstaddr=SECOND, bytes="30", interface_id="eni-c", flow_direction="ingress"), "dup"),
]


@pytest.fixture(scope="module")
def fleet(spark):
    return fleet_of(spark)


def reasons(facts):
    return [fact.reason for fact in facts]


def test_a_flow_seen_from_both_sides_counts_once(spark, fleet):
    facts = judged(spark, [row for row, _ in VECTOR], fleet)
    assert reasons(facts) == [reason for _, reason in VECTOR]
    assert sum(fact.bytes for fact in facts if fact.reason == "kept") == 2200


def test_without_direction_the_own_address_is_the_one_in_all_rows_of_an_interface(spark, fleet):
    rows = [row | {"flow_direction": None} for row, _ in VECTOR]
    assert reasons(judged(spark, rows, fleet, is_told=False)) == [r for _, r in VECTOR]


def test_a_direction_that_is_told_wins_and_the_others_are_inferred(spark, fleet):
    rows = [
        row if place % 2 else row | {"flow_direction": "-"} for place, (row, _) in enumerate(VECTOR)
    ]
    assert reasons(judged(spark, rows, fleet, is_told=False)) == [r for _, r in VECTOR]


def test_interfaces_with_the_same_two_addresses_get_one_each(spark, fleet):
    pair = [
        {"interface_id": "eni-1", "flow_direction": None},
        {"interface_id": "eni-2", "flow_direction": None},
        answer(interface_id="eni-1", flow_direction=None, bytes="700"),
        answer(interface_id="eni-2", flow_direction=None, bytes="700"),
    ]
    facts = judged(spark, pair, fleet, is_told=False)
    assert sorted((f.kind, f.reason, f.bytes) for f in facts) == [
        (0, "duplicate-side", 1000),
        (0, "kept", 1000),
        (1, "duplicate-side", 700),
        (1, "kept", 700),
    ]


def test_an_interface_that_sees_one_pair_only_is_the_broker_s_unless_another_one_is(spark, fleet):
    lone = [
        {"interface_id": "eni-b", "flow_direction": None},
        {"interface_id": "eni-b", "flow_direction": None, "start": str(NOON + 1)},
    ]
    assert reasons(judged(spark, lone, fleet, is_told=False)) == ["kept", "kept"]
    owned = [
        *lone,
        {"interface_id": "eni-b", "srcaddr": UNLOGGED, "flow_direction": None},
        {"flow_direction": None},
        {"flow_direction": None, "start": str(NOON + 1)},
    ]
    assert reasons(judged(spark, owned, fleet, is_told=False)) == [
        *("duplicate-side", "duplicate-side", "kept", "kept", "kept")
    ]


def test_rows_of_an_interface_that_only_forwards_count_as_ingress(spark, fleet):
    rows = [
        {"interface_id": "eni-nat", "flow_direction": None},
        {"interface_id": "eni-nat", "srcaddr": UNLOGGED, "dstaddr": SECOND, "flow_direction": None},
        {"flow_direction": None},
        {"flow_direction": None, "dstaddr": "10.9.9.9"},
    ]
    assert reasons(judged(spark, rows, fleet, is_told=False)) == [
        *("duplicate-side", "kept", "kept", "not-kafka")
    ]


def test_who_is_logged_is_judged_day_by_day(spark, fleet):
    later = {"start": str(NOON + 86_400), "end": str(NOON + 86_460)}
    assert reasons(judged(spark, [{}, INGRESS, INGRESS | later], fleet)) == [
        *("kept", "duplicate-side", "kept")
    ]


def test_a_malformed_row_still_tells_that_its_interface_is_logged(spark, fleet):
    assert reasons(judged(spark, [{"bytes": "x"}, INGRESS], fleet)) == [
        *("malformed:bytes", "duplicate-side")
    ]


@pytest.mark.parametrize(
    ("side", "kept"),
    [("egress", [0, 3, 8]), ("broker", [1, 2, 3, 8])],
)
def test_a_side_taken_by_decree(spark, fleet, side, kept):
    rows = [row for row, _ in (*VECTOR, *BETWEEN_BROKERS)]
    facts = judged(spark, rows, fleet, side=side)
    assert [fact.row_offset for fact in facts if fact.reason == "kept"] == kept


def test_ipv6_is_logged_as_ipv4_is(spark):
    from small_fleets import cluster

    six = cluster({1: "/eu/a"}, {})
    broker = six.brokers[0]
    object.__setattr__(broker, "addresses", (BROKER, "2001:db8:0:ff::1"))
    rows = [
        {"srcaddr": "2001:db8::7", "dstaddr": "2001:db8:0:ff::1"},
        {"srcaddr": "2001:db8:0:0:0:0:0:7", "dstaddr": "2001:DB8:0:FF::1", **INGRESS},
        {"srcaddr": "2001:db8:9::7", "dstaddr": "2001:db8:0:ff::1", **INGRESS},
        {"srcaddr": LOGGED, "dstaddr": "2001:db8:0:ff::2"},
    ]
    facts = judged(spark, [ROW | row for row in rows], fleet_of(spark, {"six.json": six}))
    assert [(f.reason, f.client_ip, f.client_rack) for f in facts[:3]] == [
        ("kept", None, 3),
        ("duplicate-side", None, 3),
        ("kept", None, 0),
    ]
    assert facts[3].reason == "not-kafka"
