"""Facts to traffic: the packed key, precedence, and bytes without a topic spread over topics."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from plain_gold import ip, plain_gold
from rackwise.core.racks import Rack
from rackwise.core.traffic import RateRow, apportion, rates_of
from small_fleets import CENT, DAY_NUMBER, DEMO_READERS, cluster, facts, group, parsed, price

pytestmark = pytest.mark.spark
NO_RATES = rates_of([])


def fleet_of(spark, clusters=None, **more):
    from rackwise.pipeline.fleet.fleet import frames
    from rackwise.pipeline.fleet.snapshots import read_snapshots

    clusters = clusters or {"demo.json": cluster(groups=[DEMO_READERS])}
    return frames(spark, read_snapshots(*parsed(clusters))[0], **more)


def counted(df):
    return Counter(tuple(row) for row in df.collect())


class TestRows:
    @pytest.mark.connect
    def test_data_flows_from_producer_leader_and_sender(self, spark):
        from rackwise.pipeline.bill.traffic import traffic

        fleet = fleet_of(spark)
        seen = {"broker": 1, "broker_rack": 2, "client_rack": 3, "topic": 1, "bytes": 5}
        rows = [
            seen | {"kind": 0, "client": 1},
            seen | {"kind": 0, "client": 1, "window_s": 1},
            seen | {"kind": 1, "source": 3, "quality": 2},
            seen | {"kind": 2, "peer": 3, "peer_rack": 4, "client_rack": 0},
            seen | {"kind": 3},
        ]
        found = traffic(facts(spark, rows), fleet)
        assert found.columns == [
            *("day", "cluster", "kind", "source", "quality"),
            *("topic", "via", "client", "from_rack", "to_rack", "bytes"),
        ]
        assert counted(found) == {
            (DAY_NUMBER, 1, 0, 1, 0, 1, 0, 1, 3, 2, 10): 1,
            (DAY_NUMBER, 1, 1, 3, 2, 1, 0, 0, 2, 3, 5): 1,
            (DAY_NUMBER, 1, 2, 1, 0, 1, 0, 0, 2, 4, 5): 1,
            (DAY_NUMBER, 1, 3, 1, 0, 1, 0, 0, 2, 3, 5): 1,
        }

    def test_bytes_without_a_topic_keep_the_address_or_the_pair_of_brokers(self, spark):
        from rackwise.pipeline.bill.traffic import traffic

        fleet = fleet_of(spark)
        known, unknown = ip("10.1.0.2"), ip("10.9.9.9")
        rows = [
            {"kind": 1, "client_ip": known, "bytes": 1},
            {"kind": 1, "client_ip": unknown, "bytes": 2},
            {"kind": 1, "client_ip": known, "topic": 1, "bytes": 4},
            {"kind": 2, "broker": 1, "peer": 3, "bytes": 8},
            {"kind": 2, "broker": 1, "peer": 3, "topic": 1, "bytes": 16},
        ]
        found = traffic(facts(spark, rows), fleet).select("kind", "topic", "via", "bytes")
        assert counted(found) == {
            (1, 0, 2 * 4 + 0, 1): 1,  # the second address times (brokers + 1) plus no broker
            (1, 0, 0, 2): 1,
            (1, 1, 0, 4): 1,
            (2, 0, 1 * 4 + 3, 8): 1,  # sender times (brokers + 1) plus receiver
            (2, 1, 0, 16): 1,
        }

    def test_no_facts_give_no_rows(self, spark):
        from rackwise.pipeline.bill.traffic import traffic

        assert counted(traffic(facts(spark, []), fleet_of(spark))) == {}

    def test_the_plan_has_one_hash_aggregate_and_only_broadcast_joins(self, spark, capsys):
        from rackwise.pipeline.bill.traffic import traffic

        fleet = fleet_of(spark)
        rows = [{"client_ip": 1, "bytes": 1}]
        traffic(facts(spark, rows), fleet).explain()
        plan = capsys.readouterr().out
        assert plan.count("HashAggregate") == 2  # partial and final
        assert "BroadcastHashJoin" in plan
        for slow in ("BroadcastNestedLoopJoin", "SortMergeJoin", "BatchEvalPython", "ArrowEval"):
            assert slow not in plan


class TestPrecedence:
    def test_only_the_most_trusted_source_of_a_day_and_kind_is_billed(self, spark):
        from rackwise.pipeline.bill.traffic import traffic, with_precedence

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
        found = with_precedence(traffic(facts(spark, rows), fleet_of(spark)))
        money = found.where("is_billed").select("day", "kind", "source", "bytes")
        assert counted(money) == {
            (DAY_NUMBER, 0, 1, 2): 1,
            (DAY_NUMBER, 1, 3, 32): 1,
            (DAY_NUMBER, 2, 2, 64): 1,
            (DAY_NUMBER + 1, 0, 2, 128): 1,
        }
        assert found.count() == len(rows)


class TestApportion:
    def spread(self, spark, fleet, rows, rates=NO_RATES, lower=None, metered=None):
        from rackwise.pipeline.bill.traffic import apportion, traffic
        from rackwise.pipeline.bill.weights import weights

        seen = None if lower is None else traffic(facts(spark, lower), fleet)
        meter = None if metered is None else facts(spark, metered)
        given = weights(spark, fleet, rates, seen=seen, metered=meter)
        found = apportion(traffic(facts(spark, rows), fleet), given, len(fleet.names.brokers))
        return counted(found.select("kind", "topic", "client", "quality", "bytes"))

    def test_shares_are_those_of_core(self, spark):
        from rackwise.pipeline.bill.traffic import BY_PAIR, traffic
        from rackwise.pipeline.bill.traffic import apportion as spread
        from rackwise.pipeline.schemas import WEIGHT

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
        frame = spark.createDataFrame(
            [
                (BY_PAIR, a * 4 + b, 0, topic, 0, weight)
                for (a, b), of_pair in weights.items()
                for topic, weight in enumerate(of_pair, 1)
            ],
            WEIGHT,
        )
        found = spread(traffic(facts(spark, rows), fleet_of(spark)), frame, 3)
        shares = {(row.day, row.topic): row.bytes for row in found.collect()}
        for day, pair in days:
            wanted = apportion(totals[day], weights[pair])
            assert [shares.get((day, topic), 0) for topic, _ in enumerate(wanted, 1)] == list(
                wanted
            )

    @pytest.mark.connect
    def test_bytes_of_a_client_go_to_the_partitions_assigned_at_its_address(self, spark):
        both = [
            group("g", ("m", None, "10.1.0.1", [("a", 0), ("a", 1), ("a", 2)])),
            group("h", ("n", None, "10.1.0.1", [("b", 0)])),
        ]
        topics = {"a": [(1,)] * 3, "b": [(1,)]}
        fleet = fleet_of(spark, {"demo.json": cluster(topics=topics, groups=both)})
        row = {"kind": 1, "client_ip": ip("10.1.0.1"), "bytes": 101}
        assert self.spread(spark, fleet, [row]) == {(1, 1, 1, 1, 76): 1, (1, 2, 2, 1, 25): 1}

    def test_an_address_counts_for_the_members_of_its_last_snapshot(self, spark):
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
        found = self.spread(spark, fleet_of(spark, looks), rows)
        assert found == {(1, 1, 1, 1, 3): 1, (1, 2, 2, 1, 5): 1}

    def test_metered_bytes_of_the_day_come_before_those_of_all_days(self, spark):
        topics = {"a": [(1, 2)], "b": [(1, 2)]}
        fleet = fleet_of(spark, {"demo.json": cluster(topics=topics)})
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
        found = self.spread(spark, fleet, rows, metered=metered)
        # Day 0 has topic 1 alone, day 1 has 1 : 9, and day 2 the sum of both days, 31 : 9.
        shares = ((1, 40), (1, 4), (2, 36), (1, 31), (2, 9))
        assert found == {
            (kind, topic, 0, 1, bytes_): 1 for kind in range(3) for topic, bytes_ in shares
        }

    def test_bytes_of_a_client_at_an_ipv6_address(self, spark):
        six = group("g", ("m", None, "2001:db8::7", [("a", 0), ("b", 0)]))
        topics = {"a": [(1,)], "b": [(1,)]}
        fleet = fleet_of(spark, {"demo.json": cluster(topics=topics, groups=[six])})
        row = {"kind": 1, "client_ip": ip("2001:db8:0::7"), "bytes": 5}
        assert self.spread(spark, fleet, [row]) == {(1, 1, 1, 1, 3): 1, (1, 2, 1, 1, 2): 1}

    def test_weights_are_rates_if_all_topics_have_a_rate(self, spark):
        both = [group("g", ("m", None, "10.1.0.1", [("a", 0), ("a", 1), ("b", 0)]))]
        topics = {"a": [(1,)] * 2, "b": [(1,)]}
        fleet = fleet_of(spark, {"demo.json": cluster(topics=topics, groups=both)})
        row = {"kind": 1, "client_ip": ip("10.1.0.1"), "bytes": 100}
        rate_a = RateRow(cluster="demo", topic="a", bytes_in_per_s=10)
        rate_b = RateRow(cluster="demo", topic="b", bytes_in_per_s=90)
        found = self.spread(spark, fleet, [row], rates_of([rate_a, rate_b]))
        assert found == {(1, 1, 1, 1, 10): 1, (1, 2, 1, 1, 90): 1}
        found = self.spread(spark, fleet, [row], rates_of([rate_b]))
        assert found == {(1, 1, 1, 1, 67): 1, (1, 2, 1, 1, 33): 1}

    def test_weights_come_from_a_less_trusted_source_if_there_is_one(self, spark):
        fleet = fleet_of(spark, topics=[("demo", "clicks")])
        row = {"kind": 1, "client": 1, "client_ip": ip("10.1.0.1"), "bytes": 100}
        lower = [
            {"kind": 1, "client": 1, "source": 2, "topic": 1, "bytes": 3},
            {"kind": 1, "client": 1, "source": 2, "topic": 2, "bytes": 1},
            {"kind": 1, "client": 0, "source": 2, "topic": 2, "bytes": 50},
            {"kind": 0, "client": 1, "source": 2, "topic": 2, "bytes": 50},
        ]
        found = self.spread(spark, fleet, [row], lower=lower)
        assert found == {(1, 1, 1, 1, 75): 1, (1, 2, 1, 1, 25): 1}

    def test_replication_goes_to_partitions_of_the_leader_and_the_follower(self, spark):
        topics = {"a": [(1, 2), (1, 2), (2, 1)], "b": [(1, 2, 3)], "c": [(1, 3)]}
        fleet = fleet_of(spark, {"demo.json": cluster(topics=topics)})
        rows = [
            {"kind": 2, "broker": 1, "peer": 2, "bytes": 90},
            {"kind": 2, "broker": 2, "peer": 1, "bytes": 7},
            {"kind": 2, "broker": 3, "peer": 1, "bytes": 5, "quality": 2},
        ]
        assert self.spread(spark, fleet, rows) == {
            (2, 1, 0, 1, 60 + 7): 1,
            (2, 2, 0, 1, 30): 1,
            (2, 0, 0, 2, 5): 1,  # nothing is led there: the topic stays unknown
        }

    def test_bytes_of_an_unknown_client_keep_the_unknown_topic(self, spark):
        rows = [{"kind": 1, "client_ip": ip("10.9.0.1"), "bytes": 5}, {"kind": 0, "bytes": 7}]
        assert self.spread(spark, fleet_of(spark), rows) == {(1, 0, 0, 0, 5): 1, (0, 0, 0, 0, 7): 1}

    def test_known_topics_stay_and_estimates_stay_estimates(self, spark):
        rows = [
            {"kind": 1, "topic": 1, "bytes": 5},
            {"kind": 1, "quality": 2, "client_ip": ip("10.1.0.1"), "bytes": 7},
        ]
        found = self.spread(spark, fleet_of(spark), rows)
        assert found == {(1, 1, 0, 0, 5): 1, (1, 1, 1, 2, 7): 1}


def random_world(spark, rng, clusters):
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
    fleet = fleet_of(spark, made, racks=map(Rack, racks))
    rows = [random_fact(rng, fleet, clusters) for _ in range(10_000)]
    rates = rates_of(
        RateRow(cluster="c0", topic=name, bytes_in_per_s=rng.randint(0, 10**6)) for name in names
    )
    return fleet, rows, rates


def random_fact(rng, fleet, clusters):
    from small_fleets import FACT

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


@pytest.mark.parametrize("clusters", [1, pytest.param(3, marks=pytest.mark.long)])
def test_spark_gold_is_plain_python_gold(spark, clusters):
    from datetime import timedelta

    from pyspark.sql import functions as F  # noqa: N812

    from rackwise.pipeline.bill.cost import price_traffic
    from rackwise.pipeline.bill.traffic import apportion, traffic, with_precedence
    from rackwise.pipeline.bill.weights import weights
    from small_fleets import DAY

    fleet, rows, rates = random_world(spark, random.Random(clusters), clusters)
    levels = ("region", "zone")

    def gold(frame):
        ranked = with_precedence(traffic(frame, fleet))
        money, lower = ranked.where("is_billed"), ranked.where(~F.col("is_billed"))
        spread = apportion(
            money, weights(spark, fleet, rates, seen=lower), len(fleet.names.brokers)
        )
        days = [DAY + timedelta(days=n) for n in range(3)]
        return price_traffic(spread, fleet, prices=PRICES, levels=levels, days=days)

    frame = facts(spark, rows)
    columns = (
        *("day", "cluster", "kind", "topic", "client_group", "from_rack", "to_rack"),
        *("level", "quality", "bytes", "usd", "price_row"),
    )
    found = counted(gold(frame).select(*columns))
    assert found == plain_gold(rows, fleet, rates, PRICES, levels)
    assert found == counted(gold(frame.repartition(7)).select(*columns))
