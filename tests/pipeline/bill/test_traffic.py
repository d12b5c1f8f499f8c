"""Facts to traffic: the packed key, precedence, and bytes without a topic spread over topics."""

from __future__ import annotations

import random
from collections import Counter
from datetime import timedelta

import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from plain_gold import ip, plain_gold
from rackwise.core.racks import Rack
from rackwise.core.traffic import RateRow, apportion, rates_of
from rackwise.pipeline.bill import traffic as module
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.cost import Pricing
from rackwise.pipeline.bill.gold.cross_rack import bill_cluster
from rackwise.pipeline.bill.traffic import BY_PAIR, ROW, traffic, traffic_task, with_precedence
from rackwise.pipeline.bill.traffic import apportion as spread
from rackwise.pipeline.bill.weights import fleet_weights, merged, metered_weights, seen_weights
from rackwise.pipeline.columns import groups
from rackwise.pipeline.columns.groups import summed
from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
from rackwise.pipeline.fleet.snapshots import read_snapshots
from rackwise.pipeline.schemas import WEIGHT, arrow_schema
from small_fleets import (
    CENT,
    DAY,
    DAY_NUMBER,
    DEMO_READERS,
    FACT,
    cluster,
    counted,
    facts,
    group,
    parsed,
    price,
)

NO_RATES = rates_of([])


def fleet_of(clusters=None, **more):
    clusters = clusters or {"demo.json": cluster(groups=[DEMO_READERS])}
    return fleet_of_snapshots(read_snapshots(*parsed(clusters))[0], **more)


class TestRows:
    def test_data_flows_from_producer_leader_and_sender(self):
        fleet = fleet_of()
        seen = {"broker": 1, "broker_rack": 2, "client_rack": 3, "topic": 1, "bytes": 5}
        rows = [
            seen | {"kind": 0, "client": 1},
            seen | {"kind": 0, "client": 1, "window_s": 1},
            seen | {"kind": 1, "source": 3, "quality": 2},
            seen | {"kind": 2, "peer": 3, "peer_rack": 4, "client_rack": 0},
            seen | {"kind": 3},
        ]
        found = traffic(facts(rows), CodedFleet.of(fleet))
        assert found.column_names == [
            *("day", "cluster", "kind", "source", "quality"),
            *("topic", "via", "client", "from_rack", "to_rack", "bytes"),
        ]
        assert counted(found) == {
            (DAY_NUMBER, 1, 0, 1, 0, 1, 0, 1, 3, 2, 10): 1,
            (DAY_NUMBER, 1, 1, 3, 2, 1, 0, 0, 2, 3, 5): 1,
            (DAY_NUMBER, 1, 2, 1, 0, 1, 0, 0, 2, 4, 5): 1,
            (DAY_NUMBER, 1, 3, 1, 0, 1, 0, 0, 2, 3, 5): 1,
        }

    def test_bytes_without_a_topic_keep_the_address_or_the_pair_of_brokers(self):
        fleet = fleet_of()
        known, unknown = ip("10.1.0.2"), ip("10.9.9.9")
        rows = [
            {"kind": 1, "client_ip": known, "bytes": 1},
            {"kind": 1, "client_ip": unknown, "bytes": 2},
            {"kind": 1, "client_ip": known, "topic": 1, "bytes": 4},
            {"kind": 2, "broker": 1, "peer": 3, "bytes": 8},
            {"kind": 2, "broker": 1, "peer": 3, "topic": 1, "bytes": 16},
        ]
        found = traffic(facts(rows), CodedFleet.of(fleet))
        assert counted(found, "kind", "topic", "via", "bytes") == {
            (1, 0, 2 * 4 + 0, 1): 1,  # the second address times (brokers + 1) plus no broker
            (1, 0, 0, 2): 1,
            (1, 1, 0, 4): 1,
            (2, 0, 1 * 4 + 3, 8): 1,  # sender times (brokers + 1) plus receiver
            (2, 1, 0, 16): 1,
        }

    def test_no_facts_give_no_rows(self):
        assert counted(traffic(facts([]), CodedFleet.of(fleet_of()))) == {}

    def test_a_task_passes_on_the_sums_of_its_batches(self, monkeypatch):
        """Its memory is bounded, and nothing is lost or counted twice."""
        monkeypatch.setattr(groups, "MOST_GROUPS", 20)
        rng = random.Random(5)
        kinds = [{"kind": rng.randrange(4), "client": rng.randrange(40)} for _ in range(500)]
        table = facts([row | {"bytes": number} for number, row in enumerate(kinds)])
        coded = CodedFleet.of(fleet_of(groups=[f"group-{number}" for number in range(40)]))
        work = traffic_task(coded, lambda batch: batch)
        parts = list(work(iter(table.to_batches(max_chunksize=7))))
        assert len(parts) > 1
        whole = pa.Table.from_batches(parts)
        assert counted(summed(whole, ROW)) == counted(traffic(table, coded))
        assert len(whole) < len(table)


class TestPrecedence:
    def test_only_the_most_trusted_source_of_a_day_and_kind_is_billed(self):
        rows = [
            {"source": 2, "bytes": 1},
            {"source": 1, "bytes": 2},
            {"source": 6, "bytes": 4},
            {"kind": 1, "source": 2, "bytes": 8},
            {"kind": 1, "source": 4, "bytes": 16},
            {"kind": 1, "source": 3, "bytes": 32},
            {"kind": 2, "source": 2, "bytes": 64},
            {"day": DAY_NUMBER + 1, "source": 2, "bytes": 128},
        ]
        moved = traffic(facts(rows), CodedFleet.of(fleet_of()))
        billed, others = with_precedence(moved)
        assert counted(billed, "day", "kind", "source", "bytes") == {
            (DAY_NUMBER, 0, 1, 2): 1,
            (DAY_NUMBER, 1, 3, 32): 1,
            (DAY_NUMBER, 2, 2, 64): 1,
            (DAY_NUMBER + 1, 0, 2, 128): 1,
        }
        assert counted(billed) + counted(others) == counted(moved)


def weight_table(rows):
    """WEIGHT of cluster 1 from (basis, place, day, topic, client, weight)."""
    names = WEIGHT.fieldNames()
    whole = [dict(zip(names, (1, *row), strict=True)) for row in rows]
    return pa.Table.from_pylist(whole, schema=arrow_schema(WEIGHT))


class TestApportion:
    def spread(self, fleet, rows, rates=NO_RATES, lower=None, metered=None):
        coded = CodedFleet.of(fleet)
        given = [fleet_weights(fleet, rates)]
        given += [] if lower is None else [seen_weights(traffic(facts(lower), coded))]
        given += [] if metered is None else [metered_weights(facts(metered), coded)]
        found = spread(traffic(facts(rows), coded), merged(*given), coded.brokers)
        return counted(found, "kind", "topic", "client", "quality", "bytes")

    def test_shares_are_those_of_core(self):
        rng = random.Random(71)
        pairs = [(a, b) for a in (1, 2, 3) for b in (1, 2, 3) if a != b]
        weights = {
            pair: [rng.randint(1, 10**9) for _ in range(rng.randint(1, 8))] for pair in pairs
        }
        days = [(DAY_NUMBER + n, pair) for n, pair in enumerate(pairs * 10)]
        totals = {day: rng.randint(0, 2 ** rng.randint(0, 62)) for day, _ in days}
        rows = [
            {"day": day, "kind": 2, "broker": a, "peer": b, "bytes": totals[day]}
            for day, (a, b) in days
        ]
        given = weight_table(
            (BY_PAIR, a * 4 + b, 0, topic, 0, weight)
            for (a, b), of_pair in weights.items()
            for topic, weight in enumerate(of_pair, 1)
        )
        found = spread(traffic(facts(rows), CodedFleet.of(fleet_of())), given, 3)
        shares = {(row["day"], row["topic"]): row["bytes"] for row in found.to_pylist()}
        for day, pair in days:
            wanted = apportion(totals[day], weights[pair])
            assert [shares.get((day, topic), 0) for topic, _ in enumerate(wanted, 1)] == list(
                wanted
            )

    def test_bytes_of_a_client_go_to_the_partitions_assigned_at_its_address(self):
        both = [
            group("g", ("m", None, "10.1.0.1", [("a", 0), ("a", 1), ("a", 2)])),
            group("h", ("n", None, "10.1.0.1", [("b", 0)])),
        ]
        topics = {"a": [(1,)] * 3, "b": [(1,)]}
        fleet = fleet_of({"demo.json": cluster(topics=topics, groups=both)})
        row = {"kind": 1, "client_ip": ip("10.1.0.1"), "bytes": 101}
        assert self.spread(fleet, [row]) == {(1, 1, 1, 1, 76): 1, (1, 2, 2, 1, 25): 1}

    def test_an_address_counts_for_the_members_of_its_last_snapshot(self):
        topics = {"a": [(1,)], "b": [(1,)]}
        at = {
            "1.json": [("g", "10.1.0.1", "a"), ("g", "10.1.0.2", "a")],
            "2.json": [("h", "10.1.0.2", "b")],  # .1 has left, and .2 is another pod now
        }
        looks = {
            file: cluster(
                topics=topics,
                taken_at=f"2026-11-01T0{file[0]}:00:00Z",
                groups=[
                    group(name, (name + ip_, None, ip_, [(topic, 0)])) for name, ip_, topic in of
                ],
            )
            for file, of in at.items()
        }
        rows = [
            {"kind": 1, "client_ip": ip("10.1.0.1"), "bytes": 3},
            {"kind": 1, "client_ip": ip("10.1.0.2"), "bytes": 5},
        ]
        found = self.spread(fleet_of(looks), rows)
        assert found == {(1, 1, 1, 1, 3): 1, (1, 2, 2, 1, 5): 1}

    def test_metered_bytes_of_the_day_come_before_those_of_all_days(self):
        topics = {"a": [(1, 2)], "b": [(1, 2)]}
        fleet = fleet_of({"demo.json": cluster(topics=topics)})
        metered = [
            {"kind": kind, "day": DAY_NUMBER + day, "topic": topic, "bytes": bytes_, **ends}
            for kind, ends in (
                (0, {"broker": 1}),
                (1, {"broker": 1}),
                (2, {"broker": 1, "peer": 2}),
            )
            for day, topic, bytes_ in ((0, 1, 30), (1, 1, 1), (1, 2, 9))
        ]
        rows = [
            {"kind": kind, "day": DAY_NUMBER + day, "bytes": 40, **ends}
            for kind, ends in (
                (0, {"broker": 1}),
                (1, {"broker": 1}),
                (2, {"broker": 1, "peer": 2}),
            )
            for day in range(3)
        ]
        found = self.spread(fleet, rows, metered=metered)
        # Day 0 has topic 1 alone, day 1 has 1 : 9, and day 2 the sum of both days, 31 : 9.
        shares = ((1, 40), (1, 4), (2, 36), (1, 31), (2, 9))
        assert found == {
            (kind, topic, 0, 1, bytes_): 1 for kind in range(3) for topic, bytes_ in shares
        }

    def test_bytes_of_a_client_at_an_ipv6_address(self):
        six = group("g", ("m", None, "2001:db8::7", [("a", 0), ("b", 0)]))
        topics = {"a": [(1,)], "b": [(1,)]}
        fleet = fleet_of({"demo.json": cluster(topics=topics, groups=[six])})
        row = {"kind": 1, "client_ip": ip("2001:db8:0::7"), "bytes": 5}
        assert self.spread(fleet, [row]) == {(1, 1, 1, 1, 3): 1, (1, 2, 1, 1, 2): 1}

    def test_weights_are_rates_if_all_topics_have_a_rate(self):
        both = [group("g", ("m", None, "10.1.0.1", [("a", 0), ("a", 1), ("b", 0)]))]
        topics = {"a": [(1,)] * 2, "b": [(1,)]}
        fleet = fleet_of({"demo.json": cluster(topics=topics, groups=both)})
        row = {"kind": 1, "client_ip": ip("10.1.0.1"), "bytes": 100}
        rate_a = RateRow(cluster="demo", topic="a", bytes_in_per_s=10)
        rate_b = RateRow(cluster="demo", topic="b", bytes_in_per_s=90)
        found = self.spread(fleet, [row], rates_of([rate_a, rate_b]))
        assert found == {(1, 1, 1, 1, 10): 1, (1, 2, 1, 1, 90): 1}
        found = self.spread(fleet, [row], rates_of([rate_b]))
        assert found == {(1, 1, 1, 1, 67): 1, (1, 2, 1, 1, 33): 1}

    def test_weights_come_from_a_less_trusted_source_if_there_is_one(self):
        fleet = fleet_of(topics=[("demo", "clicks")])
        row = {"kind": 1, "client": 1, "client_ip": ip("10.1.0.1"), "bytes": 100}
        lower = [
            {"kind": 1, "client": 1, "source": 2, "topic": 1, "bytes": 3},
            {"kind": 1, "client": 1, "source": 2, "topic": 2, "bytes": 1},
            {"kind": 1, "client": 0, "source": 2, "topic": 2, "bytes": 50},
            {"kind": 0, "client": 1, "source": 2, "topic": 2, "bytes": 50},
        ]
        found = self.spread(fleet, [row], lower=lower)
        assert found == {(1, 1, 1, 1, 75): 1, (1, 2, 1, 1, 25): 1}

    def test_replication_goes_to_partitions_of_the_leader_and_the_follower(self):
        topics = {"a": [(1, 2), (1, 2), (2, 1)], "b": [(1, 2, 3)], "c": [(1, 3)]}
        fleet = fleet_of({"demo.json": cluster(topics=topics)})
        rows = [
            {"kind": 2, "broker": 1, "peer": 2, "bytes": 90},
            {"kind": 2, "broker": 2, "peer": 1, "bytes": 7},
            {"kind": 2, "broker": 3, "peer": 1, "bytes": 5, "quality": 2},
        ]
        assert self.spread(fleet, rows) == {
            (2, 1, 0, 1, 60 + 7): 1,
            (2, 2, 0, 1, 30): 1,
            (2, 0, 0, 2, 5): 1,  # nothing is led there: the topic stays unknown
        }

    def test_bytes_of_an_unknown_client_keep_the_unknown_topic(self):
        rows = [{"kind": 1, "client_ip": ip("10.9.0.1"), "bytes": 5}, {"kind": 0, "bytes": 7}]
        assert self.spread(fleet_of(), rows) == {(1, 0, 0, 0, 5): 1, (0, 0, 0, 0, 7): 1}

    def test_known_topics_stay_and_estimates_stay_estimates(self):
        rows = [
            {"kind": 1, "topic": 1, "bytes": 5},
            {"kind": 1, "quality": 2, "client_ip": ip("10.1.0.1"), "bytes": 7},
        ]
        found = self.spread(fleet_of(), rows)
        assert found == {(1, 1, 0, 0, 5): 1, (1, 1, 1, 2, 7): 1}


def random_world(rng, clusters):
    """A fleet with groups, and facts of all kinds and sources about it."""
    racks = ["/eu/a", "/eu/b", "/us/a", "/us/b/r1", "/us"]
    names = [f"t{i}" for i in range(7)]
    made = {}
    for number in range(clusters):
        brokers = {id_: rng.choice(racks) for id_ in range(1, 6)}
        topics = {
            name: [
                tuple(rng.sample(range(1, 6), rng.randint(1, 3))) for _ in range(rng.randint(1, 4))
            ]
            for name in names
        }
        every = [(name, i) for name, lists in topics.items() for i in range(len(lists))]
        members = [(f"m{m}", None, f"10.1.{m % 3}.{m}", rng.sample(every, 4)) for m in range(8)] + [
            ("six", None, "2001:db8::1", every[:1]),
            ("none", None, None, every[1:2]),
        ]
        made[f"c{number}.json"] = cluster(
            brokers,
            topics,
            cluster_id=f"c{number}",
            groups=[group("g", *members[:5]), group("h", *members[3:])],
        )
    fleet = fleet_of(made, racks=map(Rack, racks))
    rows = [random_fact(rng, fleet, clusters) for _ in range(10_000)]
    rates = rates_of(
        RateRow(cluster="c0", topic=name, bytes_in_per_s=rng.randint(0, 10**6)) for name in names
    )
    return fleet, rows, rates


def random_fact(rng, fleet, clusters):
    kind = rng.randrange(4)
    brokers = len(fleet.names.brokers)
    racks = len(fleet.names.racks)
    number = rng.randint(1, clusters)
    first = (number - 1) * 5
    member = f"10.1.{(m := rng.randrange(10)) % 3}.{m}"
    assert brokers == clusters * 5
    return FACT | {
        "day": DAY_NUMBER + rng.randrange(3),
        "cluster": number,
        "kind": kind,
        "source": rng.choice([1, 1, 1, 2, 3]),
        "quality": rng.choice([0, 0, 2]),
        "client_ip": rng.choice([None, ip(member), ip("2001:db8::1")]),
        "client": rng.choice([0, 0, 1, 2]),
        "client_rack": rng.randint(0, racks),
        "broker": first + rng.randint(1, 5),
        "broker_rack": rng.randint(0, racks),
        "peer": first + rng.randint(1, 5) if kind == 2 else 0,
        "peer_rack": rng.randint(0, racks) if kind == 2 else 0,
        "topic": rng.choice([0, 0, 1, 3, 7]),
        "bytes": rng.choice([0, 1, rng.randrange(10**6), rng.randrange(10**13)]),
    }


PRICES = (
    price(),
    price(level="region", nano_usd_per_gb_out=5 * CENT, nano_usd_per_gb_in=0, gb_bytes=10**9),
    price(kind="replicate", nano_usd_per_gb_out=1, nano_usd_per_gb_in=333),
    price(region="us", level="*", nano_usd_per_gb_in=7),
)


@pytest.mark.parametrize("clusters", [1, 3])
def test_the_bill_is_that_of_plain_python(clusters):
    """In any parts of the rows, and whether clusters are billed together or one by one."""
    fleet, rows, rates = random_world(random.Random(clusters), clusters)
    levels, coded = ("region", "zone"), CodedFleet.of(fleet)
    days = [DAY + timedelta(days=n) for n in range(3)]
    pricing = Pricing.of(fleet, coded, prices=PRICES, levels=levels, days=days)
    columns = (
        *("day", "cluster", "kind", "topic", "client_group", "from_rack", "to_rack"),
        *("level", "quality", "bytes", "usd", "price_row"),
    )
    wanted = plain_gold(rows, fleet, rates, PRICES, levels)
    given, moved = fleet_weights(fleet, rates), traffic(facts(rows), coded)
    assert counted(bill_cluster(moved, given, pricing), *columns) == wanted
    parts = [traffic(facts(rows[first::7]), coded) for first in range(7)]
    one_by_one = Counter()
    for cluster_ in range(1, clusters + 1):
        own, shares = (
            table.filter(pc.equal(table["cluster"], cluster_))
            for table in (pa.concat_tables(parts), given)
        )
        one_by_one += counted(bill_cluster(own, shares, pricing), *columns)
    assert one_by_one == wanted


@settings(max_examples=200)
@given(
    st.lists(st.integers(1, 10**18 - 1), min_size=1, max_size=12),
    st.lists(st.integers(0, 2**63 - 1), min_size=1, max_size=4),
)
def test_shares_of_any_size_are_those_of_core(weights, totals):
    """Also where a product needs 123 bits, or the sum of the weights does not fit into a long."""
    rows = [
        {"day": DAY_NUMBER + n, "kind": 2, "broker": 1, "peer": 2, "bytes": total}
        for n, total in enumerate(totals)
    ]
    given_ = weight_table(
        (BY_PAIR, 4 + 2, 0, topic, 0, weight) for topic, weight in enumerate(weights, 1)
    )
    found = spread(traffic(facts(rows), CodedFleet.of(fleet_of())), given_, 3)
    shares = {(row["day"], row["topic"]): row["bytes"] for row in found.to_pylist()}
    for day, total in enumerate(totals, DAY_NUMBER):
        wanted = apportion(total, weights)
        assert [shares.get((day, topic), 0) for topic, _ in enumerate(weights, 1)] == list(wanted)


def test_rows_are_spread_in_blocks(monkeypatch):
    """The blocks bound memory and change nothing, also where one row is more than a block."""
    weights = [3, 1, 4, 1, 5, 9, 2, 6]
    given_ = weight_table((BY_PAIR, 4 + 2, 0, topic, 0, w) for topic, w in enumerate(weights, 1))
    rows = [
        {"day": DAY_NUMBER + n, "kind": 2, "broker": 1, "peer": 2, "bytes": 1000 + n}
        for n in range(50)
    ]
    moved = traffic(facts(rows), CodedFleet.of(fleet_of()))
    whole = counted(spread(moved, given_, 3))
    for most in (1, 20):
        monkeypatch.setattr(module, "MOST_SPREAD", most)
        assert counted(spread(moved, given_, 3)) == whole
