"""Facts from flow logs: kinds, racks, hours, and the reasons of rows that do not count."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from flow_rows import (
    BROKER,
    LOGGED,
    NO_DATA,
    NOON,
    SECOND,
    THIRD,
    UNLOGGED,
    answer,
    bronze,
    buckets_of,
    collect_facts,
    fleet_of,
)
from rackwise.core.inventory.addresses import AddressRow
from rackwise.core.racks import Rack
from small_fleets import cluster, group

pytestmark = pytest.mark.spark

HOUR_S = 3600
A, B, C = 2, 3, 4
"""Codes of /eu/a, /eu/b and /eu/c; 1 is /eu."""
MEMBER, QUARREL = "10.1.0.50", "10.1.0.51"
READERS = group(
    "readers",
    ("m0", "/eu/c", MEMBER, [("orders", 0)]),
    ("m1", "/eu/b", QUARREL, [("orders", 1)]),
    ("m2", "/eu/c", QUARREL, [("orders", 2)]),
    ("m3", None, LOGGED, []),
)
OTHER = {7: "/eu/b"}
CASES = {
    "produce": {},
    "fetch": answer(),
    "request of a follower": {"srcaddr": SECOND},
    "copy to a follower": answer(dstaddr=SECOND),
    "client in a longer subnet": {"srcaddr": UNLOGGED},
    "client in no subnet": {"srcaddr": "192.168.0.1"},
    "client whose group member says its rack": {"srcaddr": MEMBER},
    "client whose members disagree": {"srcaddr": QUARREL},
    "client on the broker's host": {"srcaddr": BROKER},
    "other cluster": {"dstaddr": "10.0.0.7"},
    "broker of another cluster": {"srcaddr": "10.0.0.7"},
    "other port": {"dstport": "22"},
    "not TCP": {"protocol": "17"},
    "SKIPDATA": {**NO_DATA, "log_status": "SKIPDATA"},
    "NODATA": {**NO_DATA, "log_status": "NODATA"},
    "rejected": {"action": "REJECT"},
    "no action": {"action": "-"},
    "rejected on another port": {"action": "REJECT", "dstport": "22"},
    "the day before": {"start": str(NOON - 86_400), "end": str(NOON - 86_340)},
    "the day after": {"start": str(NOON + 86_400), "end": str(NOON + 86_460)},
    "an hour before the snapshot": {"start": str(NOON - 13 * HOUR_S)},
}


@pytest.fixture(scope="module")
def facts(spark):
    fleet = fleet_of(
        {
            "demo.json": cluster(groups=[READERS]),
            "other.json": cluster(OTHER, {}, cluster_id="other"),
        },
    )
    rows = [{"interface_id": f"eni-{n}"} | row for n, row in enumerate(CASES.values())]
    rows = [{"end": str(int(row.get("start", NOON)) + 60)} | row for row in rows]
    days = (date(2026, 10, 31), date(2026, 11, 1))
    made = collect_facts(spark, rows, fleet, side="auto", days=days)
    return dict(zip(CASES, made, strict=True))


@pytest.mark.parametrize(
    ("case", "kind", "client_rack", "broker", "broker_rack", "peer", "peer_rack"),
    [
        ("produce", 0, A, 1, A, 0, 0),
        ("fetch", 1, A, 1, A, 0, 0),
        ("request of a follower", 2, 0, 2, B, 1, A),
        ("copy to a follower", 2, 0, 1, A, 2, B),
        ("client in a longer subnet", 0, C, 1, A, 0, 0),
        ("client in no subnet", 0, 0, 1, A, 0, 0),
        ("client whose group member says its rack", 0, C, 1, A, 0, 0),
        ("client whose members disagree", 0, A, 1, A, 0, 0),
        ("client on the broker's host", 0, 0, 1, A, 0, 0),
        ("other cluster", 0, A, 4, B, 0, 0),
        ("broker of another cluster", 0, 0, 1, A, 0, 0),
    ],
)
def test_kind_and_racks_follow_from_the_two_ends(
    facts, case, kind, client_rack, broker, broker_rack, peer, peer_rack
):
    fact = facts[case]
    assert fact.reason == "kept"
    assert (fact.kind, fact.client_rack) == (kind, client_rack)
    assert (fact.broker, fact.broker_rack) == (broker, broker_rack)
    assert (fact.peer, fact.peer_rack) == (peer, peer_rack)
    assert fact.cluster == (2 if case == "other cluster" else 1)


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("other port", "not-kafka"),
        ("not TCP", "not-kafka"),
        ("SKIPDATA", "skipdata"),
        ("NODATA", "nodata"),
        ("rejected", "rejected"),
        ("no action", "rejected"),
        ("rejected on another port", "rejected"),
        ("the day before", "kept"),
        ("the day after", "other-day"),
    ],
)
def test_the_reason_is_the_first_that_holds(facts, case, reason):
    assert facts[case].reason == reason


@pytest.mark.connect
def test_a_fact_has_time_bytes_and_source(facts):
    fact = facts["produce"]
    assert fact.window_start.timestamp() == NOON
    assert (fact.window_s, fact.day) == (60, NOON // 86_400)
    assert (fact.bytes, fact.packets, fact.source, fact.quality) == (1000, 7, 1, 0)
    assert (fact.client_ip, fact.client, fact.topic, fact.partition) == (
        *(10 * 2**24 + 2**16 + 7, 0, 0, None),
    )


def test_a_replicate_flow_has_no_client(facts):
    assert facts["copy to a follower"].client_ip is None


def test_hours_before_the_first_snapshot_are_estimates(facts):
    assert facts["an hour before the snapshot"].quality == 2
    assert facts["the day before"].quality == 2


@pytest.mark.connect
def test_columns_that_no_file_has_are_null_in_all_rows(spark):
    from rackwise.pipeline.ingest.formats import flow_facts

    lacking = ("pkt_srcaddr", "pkt_dstaddr", "malformed", "raw")
    fleet = fleet_of()
    rows = bronze(
        spark, [dict.fromkeys(lacking) | row for row in ({}, {"bytes": "x"}, {"action": "REJECT"})]
    )
    facts, wanted = (
        sorted(
            flow_facts(made, fleet, buckets_of(fleet), format="vpc").collect(),
            key=lambda fact: fact.row_offset,
        )
        for made in (rows.drop(*lacking), rows)
    )
    assert facts == wanted
    assert [fact.reason for fact in facts] == ["kept", "malformed:bytes", "rejected"]


HOURS = {
    "before all": (-11, BROKER, (2, A, 1)),
    "after the first snapshot, in its hour": (-10.5, BROKER, (0, A, 1)),
    "the first snapshot's": (-9, BROKER, (0, A, 1)),
    "its last hour": (-3, BROKER, (0, A, 1)),
    "the second's first hour": (-2, BROKER, (0, C, 1)),
    "long after": (9, BROKER, (0, C, 1)),
    "a broker that came later": (-5, THIRD, (2, C, 3)),
    "a broker that came later, in a covered hour": (-1, THIRD, (0, C, 3)),
    "a broker that left": (3, SECOND, (2, B, 2)),
    "a broker that left, in a covered hour": (-5, SECOND, (0, B, 2)),
}


def test_racks_are_those_of_the_latest_snapshot_at_or_before_the_hour(spark):
    fleet = fleet_of(
        {
            "a.json": cluster({1: "/eu/a", 2: "/eu/b"}, {}, taken_at="2026-11-01T01:20:00Z"),
            "b.json": cluster({1: "/eu/c", 3: "/eu/c"}, {}, taken_at="2026-11-01T10:00:00Z"),
        },
    )
    rows = [
        {"dstaddr": broker, "start": str(at), "end": str(at)}
        for hour, broker, _ in HOURS.values()
        for at in [int(NOON + hour * HOUR_S)]
    ]
    copies = [answer(dstaddr=SECOND), answer(srcaddr=SECOND, dstaddr=THIRD, start=str(NOON - 9000))]
    facts = collect_facts(spark, [*rows, *copies], fleet)
    assert {
        case: (fact.quality, fact.broker_rack, fact.broker)
        for case, fact in zip(HOURS, facts, strict=False)
    } == {case: wanted for case, (_, _, wanted) in HOURS.items()}
    assert [(f.kind, f.quality, f.broker, f.peer) for f in facts[-2:]] == [
        (2, 2, 1, 2),
        (2, 2, 2, 3),
    ]


def test_a_broker_is_known_from_the_first_snapshot_of_an_hour_that_has_it_as_it_is(spark):
    fleet = fleet_of(
        {
            "a.json": cluster({1: "/eu/a", 2: "/eu/b"}, {}, taken_at="2026-11-01T12:10:00Z"),
            "b.json": cluster(
                {1: "/eu/a", 2: "/eu/c", 3: "/eu/c"}, {}, taken_at="2026-11-01T12:20:00Z"
            ),
        },
    )
    brokers = (BROKER, SECOND, THIRD)
    facts = collect_facts(
        spark,
        [
            {"dstaddr": broker, "start": str(NOON + minute * 60), "end": str(NOON + minute * 60)}
            for minute in (5, 15, 25)
            for broker in brokers
        ],
        fleet,
    )
    assert [(fact.quality, fact.broker_rack) for fact in facts] == [
        *((2, A), (2, C), (2, C)),
        *((0, A), (2, C), (2, C)),  # the rack of the second has changed, the third is new
        *((0, A), (0, C), (0, C)),
    ]


def test_the_zone_of_the_interface_is_the_rack_of_the_end_that_it_is(spark):
    """Racks are paths here, and the zone is the level at their end."""
    nowhere = "192.168.0.1"
    cases = [
        ({"srcaddr": nowhere, "az_id": "c"}, C),
        ({"srcaddr": nowhere, "pkt_srcaddr": nowhere, "az_id": "c"}, C),
        (answer(dstaddr=nowhere, flow_direction="ingress", az_id="b"), B),
        ({"srcaddr": UNLOGGED, "az_id": "a"}, C),  # its subnet
        ({"srcaddr": MEMBER, "az_id": "a"}, C),  # its member
        ({"srcaddr": nowhere, "az_id": "z"}, 0),
        ({"srcaddr": nowhere, "az_id": "-"}, 0),
        # The interface is the broker's, or another end is behind it.
        ({"srcaddr": nowhere, "flow_direction": "ingress", "az_id": "c"}, 0),
        (answer(dstaddr=nowhere, az_id="c"), 0),
        ({"srcaddr": "100.64.0.1", "pkt_srcaddr": nowhere, "az_id": "c"}, 0),
    ]
    fleet = fleet_of({"demo.json": cluster(groups=[READERS])})
    rows = [{"interface_id": f"eni-{n}"} | row for n, (row, _) in enumerate(cases)]
    facts = collect_facts(spark, rows, fleet, side="egress")
    assert [fact.client_rack for fact in facts] == [rack for _, rack in cases]


def address_row(address, rack, start_s=None, end_s=None):
    start, end = (s and datetime.fromtimestamp(s, UTC) for s in (start_s, end_s))
    return AddressRow(address=address, rack=Rack(rack), start=start, end=end)


def test_the_row_of_an_address_wins_while_it_applies(spark):
    """A member in /eu/c and a client of a subnet in /eu/a have other racks for an hour."""
    addresses = [
        address_row(MEMBER, "/eu/b", NOON, NOON + HOUR_S),
        address_row(LOGGED, "/eu/b", NOON, NOON + HOUR_S),
        address_row("2001:db8::7", "/eu/a"),
        address_row(BROKER, "/eu/c"),
    ]

    def at(second, **fields):
        return fields | {"start": str(NOON + second), "end": str(NOON + second + 60)}

    cases = [
        (at(0, srcaddr=MEMBER), B),
        (at(HOUR_S, srcaddr=MEMBER), C),
        (at(-60, srcaddr=MEMBER), C),
        (at(-30, srcaddr=MEMBER), B),
        (at(0), B),
        (at(HOUR_S), A),
        (answer(**at(0)), B),
        (at(0, srcaddr="2001:db8::7"), A),
        (at(0, srcaddr="2001:db8::8"), B),
        (at(0, srcaddr=SECOND), 0),  # a copy between brokers has no client
    ]
    fleet = fleet_of({"demo.json": cluster(groups=[READERS])})
    rows = [{"interface_id": f"eni-{n}"} | row for n, (row, _) in enumerate(cases)]
    facts = collect_facts(spark, rows, fleet, side="egress", addresses=addresses)
    assert [fact.client_rack for fact in facts] == [rack for _, rack in cases]
