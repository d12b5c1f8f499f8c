"""Duplicates: which of two rows of one flow counts, with and without a direction in the log.

All scenes are processed together, each on another day, because a Spark plan takes longer than its
rows.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from flow_rows import (
    BROKER,
    INGRESS,
    LOGGED,
    NO_DATA,
    NOON,
    SECOND,
    THIRD,
    UNLOGGED,
    answer,
    collect_facts,
    fleet_of,
)
from small_fleets import cluster

pytestmark = pytest.mark.spark

DAY_S = 86_400
SIX = "2001:db8:0:ff::1"
FROM_BROKER = answer(bytes="700")
AT_CLIENT = {"interface_id": "eni-k", "flow_direction": "ingress"}
VECTOR = [
    ({}, "kept"),
    (INGRESS, "duplicate-side"),
    ({**INGRESS, "srcaddr": UNLOGGED, "bytes": "500"}, "kept"),
    (FROM_BROKER, "kept"),
    (FROM_BROKER | AT_CLIENT, "duplicate-side"),
    ({**INGRESS, "bytes": "60", "action": "REJECT"}, "rejected"),
    ({"dstport": "443", "bytes": "77"}, "not-kafka"),
    ({**INGRESS, **NO_DATA, "log_status": "NODATA"}, "nodata"),
]
"""Interfaces of clients and brokers are logged, except that of one client."""

WITH_DIRECTION = {
    "both sides logged": VECTOR,
    "logged on another day only": [(INGRESS, "kept")],
    "a malformed row tells who is logged": [
        ({"bytes": "x"}, "malformed:bytes"),
        (INGRESS, "duplicate-side"),
    ],
    "a container behind its machine's address": [
        ({"srcaddr": "100.64.0.1", "pkt_srcaddr": LOGGED}, "kept"),
        (INGRESS, "duplicate-side"),
        ({**INGRESS, "srcaddr": "100.64.0.1"}, "kept"),
    ],
    "ipv6, however it is written": [
        ({"srcaddr": "2001:db8::7", "dstaddr": SIX}, "kept"),
        ({**INGRESS, "srcaddr": "2001:DB8:0::0:7", "dstaddr": SIX}, "duplicate-side"),
        ({**INGRESS, "srcaddr": "2001:db8:9::7", "dstaddr": SIX}, "kept"),
        ({**INGRESS, "srcaddr": "2001:db8::7", "dstaddr": "2001:db8:0:ff::2"}, "not-kafka"),
    ],
}


def without_directions(scene):
    """The scene in a log without directions."""
    return [({**row, "flow_direction": None}, reason) for row, reason in scene]


TEN, ELEVEN = "10.1.0.10", "10.1.0.11"
WITHOUT_DIRECTION = {
    "both sides logged": without_directions(VECTOR),
    "direction in some rows": [
        ({"interface_id": "eni-t", "srcaddr": "10.1.0.8"}, "kept"),
        ({**INGRESS, "srcaddr": "10.1.0.8"}, "duplicate-side"),
        *without_directions(
            [
                ({"interface_id": "eni-t", "srcaddr": "10.1.0.8", "bytes": "1"}, "kept"),
                ({"interface_id": "eni-t", "srcaddr": "10.1.0.8", "dstport": "22"}, "not-kafka"),
                ({"interface_id": "eni-t", "srcaddr": "10.1.0.8", "dstaddr": TEN}, "not-kafka"),
            ]
        ),
    ],
    "an interface that only forwards": without_directions(
        [
            ({"interface_id": "eni-nat", "srcaddr": "10.1.0.9"}, "duplicate-side"),
            ({"interface_id": "eni-nat", "srcaddr": "10.1.5.9", "dstaddr": SECOND}, "kept"),
            ({"interface_id": "eni-9", "srcaddr": "10.1.0.9"}, "kept"),
            ({"interface_id": "eni-9", "srcaddr": "10.1.0.9", "dstaddr": TEN}, "not-kafka"),
        ]
    ),
    "one pair, and nobody else's": without_directions(
        [
            ({"interface_id": "eni-l", "srcaddr": TEN, "dstaddr": THIRD}, "kept"),
            (answer(interface_id="eni-l", srcaddr=THIRD, dstaddr=TEN), "kept"),
        ]
    ),
    "one pair, and the broker's address is another interface's": without_directions(
        [
            ({"interface_id": "eni-o", "srcaddr": ELEVEN}, "kept"),
            ({"interface_id": "eni-b", "srcaddr": ELEVEN}, "duplicate-side"),
        ]
    ),
    "one pair on two interfaces": without_directions(
        [
            ({"interface_id": "eni-1", "srcaddr": "10.1.0.12", "dstaddr": SECOND}, "once"),
            ({"interface_id": "eni-2", "srcaddr": "10.1.0.12", "dstaddr": SECOND}, "once"),
        ]
    ),
}


@pytest.fixture(scope="module")
def fleet():
    made = cluster()
    first, *others = made.brokers
    brokers = (replace(first, addresses=(BROKER, SIX)), *others)
    return fleet_of({"demo.json": replace(made, brokers=brokers)})


def reasons_of_scenes(spark, fleet, scenes, **options):
    """Scene -> reasons of its rows; each scene is on another day."""
    rows = []
    for number, scene in enumerate(scenes.values()):
        start = NOON + number * DAY_S
        rows += [{"start": str(start), "end": str(start + 60)} | row for row, _ in scene]
    facts = iter(collect_facts(spark, rows, fleet, **options))
    return {name: [next(facts) for _ in scene] for name, scene in scenes.items()}


@pytest.fixture(scope="module")
def with_direction(spark, fleet):
    return reasons_of_scenes(spark, fleet, WITH_DIRECTION)


@pytest.fixture(scope="module")
def without_direction(spark, fleet):
    return reasons_of_scenes(spark, fleet, WITHOUT_DIRECTION, has_direction=False)


def reasons(facts):
    return [fact.reason for fact in facts]


@pytest.mark.connect
@pytest.mark.parametrize("scene", WITH_DIRECTION)
def test_a_flow_logged_on_both_sides_counts_once(with_direction, scene):
    assert reasons(with_direction[scene]) == [reason for _, reason in WITH_DIRECTION[scene]]


def test_each_flow_is_counted_once_in_bytes(with_direction, without_direction):
    for facts in (with_direction, without_direction):
        kept = [fact for fact in facts["both sides logged"] if fact.reason == "kept"]
        assert sum(fact.bytes for fact in kept) == 2200


@pytest.mark.parametrize(
    "scene", [name for name in WITHOUT_DIRECTION if "two interfaces" not in name]
)
def test_without_direction_the_own_address_is_the_one_in_all_rows(without_direction, scene):
    assert reasons(without_direction[scene]) == [reason for _, reason in WITHOUT_DIRECTION[scene]]


def test_interfaces_with_the_same_two_addresses_get_one_each(without_direction):
    assert sorted(reasons(without_direction["one pair on two interfaces"])) == [
        "duplicate-side",
        "kept",
    ]


@pytest.mark.parametrize(("side", "kept"), [("egress", [0, 3, 8]), ("broker", [1, 2, 3, 8])])
def test_a_selected_side(spark, fleet, side, kept):
    between = answer(dstaddr=SECOND)
    rows = [row for row, _ in VECTOR]
    rows += [between, between | {"interface_id": "eni-c", "flow_direction": "ingress"}]
    facts = collect_facts(spark, rows, fleet, side=side)
    assert [fact.row_offset for fact in facts if fact.reason == "kept"] == kept
