"""Traffic to dollars: levels, prices, exact money, roll-ups."""

from __future__ import annotations

from collections import Counter
from datetime import date, timedelta
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rackwise.core.errors import InvalidPrices
from rackwise.core.owners import OwnerGlob, Owners
from rackwise.core.racks import Rack
from rackwise.core.traffic import usd_nano
from small_fleets import CENT, DAY, DAY_NUMBER, GIB, cluster, facts, parsed, price

pytestmark = pytest.mark.spark


def fleet_of(spark, racks=(), clusters=("demo",), **more):
    from rackwise.pipeline.fleet.fleet import frames
    from rackwise.pipeline.fleet.snapshots import read_snapshots

    read, _ = read_snapshots(
        *parsed({f"{name}.json": cluster(cluster_id=name) for name in clusters})
    )
    return frames(spark, read, racks=map(Rack, racks), **more)


def traffic_of(spark, fleet, rows):
    """TRAFFIC from dictionaries with from, to (paths or None), bytes, kind, day."""
    from rackwise.pipeline.bill.traffic import merge_sources, traffic

    codes = {None: 0} | fleet.codes.racks
    given = [
        {
            "kind": row.get("kind", 1),
            "day": row.get("day", DAY_NUMBER),
            "topic": row.get("topic", 1),
            "broker_rack": codes[row["from"]],
            "client_rack": codes[row["to"]],
            "bytes": row["bytes"],
        }
        for row in rows
    ]
    return merge_sources(traffic(facts(spark, given), fleet))


CENT_EACH_WAY = (price(),)
LEVELS = ("region", "zone", "rack")


def billed(spark, rows, *, prices=CENT_EACH_WAY, levels=LEVELS, days=(DAY,)):
    from rackwise.pipeline.bill.cost import price_traffic

    fleet = fleet_of(spark, [row[end] for row in rows for end in ("from", "to") if row[end]])
    traffic = traffic_of(spark, fleet, rows)
    return price_traffic(traffic, fleet, prices=prices, levels=levels, days=days)


MONEY = [
    (26, 2 * CENT, 2**30, 0),
    (27, 2 * CENT, 2**30, 1),
    (53_687_091, 2 * CENT, 2**30, 1_000_000),
    (2**30, 2 * CENT, 2**30, 20_000_000),
    (543_581_798_400_000, 2 * CENT, 2**30, 10_125_000_000_000),
    (10**9, CENT, 10**9, 10_000_000),
    (9 * 10**17, 2 * CENT, 2**30, 16_763_806_343_078_613),
]


class TestMoney:
    def nanos(self, spark, rows):
        from pyspark.sql import functions as F  # noqa: N812

        from rackwise.pipeline.bill.cost import usd_nano as nano

        schema = "number int, bytes bigint, price bigint, gb bigint"
        frame = spark.createDataFrame([(i, *row) for i, row in enumerate(rows)], schema)
        found = frame.select("number", nano(F.col("bytes"), F.col("price"), F.col("gb")))
        return [row[1] for row in found.orderBy("number").collect()]

    @pytest.mark.connect
    def test_vectors(self, spark):
        assert self.nanos(spark, [row[:3] for row in MONEY]) == [row[3] for row in MONEY]

    @settings(max_examples=20)
    @given(
        st.lists(
            st.tuples(
                st.integers(0, 2**63 - 1),
                st.one_of(st.integers(0, 10**4), st.just(0)),
                st.sampled_from([10**9, 2**30]),
            ),
            min_size=1,
            max_size=30,
        )
    )
    def test_it_equals_the_function_of_core(self, spark, rows):
        assert self.nanos(spark, rows) == [usd_nano(*row) for row in rows]

    def test_a_large_price_of_few_bytes(self, spark):
        rows = [(10**7, 9_999_999 * 10**9, 10**9), (1, 9_999_999 * 10**9, 1)]
        assert self.nanos(spark, rows) == [usd_nano(*row) for row in rows]


class TestLevels:
    def test_distance_sets_the_price(self, spark):
        rows = [
            {"from": "/eu/a/r1", "to": to, "bytes": GIB}
            for to in ("/eu/a/r2", "/eu/b/r1", "/us/a/r1", "/eu/a/r1", "/eu/a", None)
        ]
        prices = [
            price(),
            price(level="region", nano_usd_per_gb_out=5 * CENT, nano_usd_per_gb_in=0),
            price(level="rack", nano_usd_per_gb_out=0, nano_usd_per_gb_in=0),
        ]
        found = {
            row.to_rack: (row.level, row.level_name, row.usd, row.quality)
            for row in billed(spark, rows, prices=prices).collect()
        }
        assert found == {
            "/eu/a/r2": (3, "rack", Decimal(0), "measured"),
            "/eu/b/r1": (2, "zone", Decimal("0.02"), "measured"),
            "/us/a/r1": (1, "region", Decimal("0.05"), "measured"),
            "/eu/a/r1": (0, "local", Decimal(0), "measured"),
            "/eu/a": (0, "local", Decimal(0), "estimated"),
            "(unknown)": (-1, "unknown", None, "measured"),
        }

    def test_a_level_without_a_row_is_unpriced_and_not_free(self, spark):
        rows = [
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/us/a", "bytes": GIB},
        ]
        found = {row.to_rack: row for row in billed(spark, rows).collect()}
        assert (found["/eu/b"].usd_out, found["/eu/b"].usd_in) == (Decimal("0.01"),) * 2
        assert found["/eu/b"].price_row == price().row
        away = found["/us/a"]
        assert (away.usd, away.usd_out, away.usd_in, away.price_row) == (None,) * 4

    def test_an_unknown_rack_costs_up_to_the_highest_price_of_the_run(self, spark):
        rows = [
            {"from": "/eu/a", "to": None, "bytes": GIB},
            {"from": None, "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/eu/a", "bytes": GIB},
        ]
        prices = [price(), price(region="us", nano_usd_per_gb_out=4 * CENT)]

        def highs(rows, prices):
            return {
                (row.from_rack, row.to_rack): (row.usd, row.usd_high, row.price_row)
                for row in billed(spark, rows, prices=prices).collect()
            }

        row_, free = prices[0].row, (Decimal(0), Decimal(0), None)
        assert highs(rows, prices) == {
            ("/eu/a", "(unknown)"): (None, Decimal("0.02"), None),
            ("(unknown)", "/eu/b"): (None, Decimal("0.02"), None),
            ("/eu/a", "/eu/b"): (Decimal("0.02"), Decimal("0.02"), row_),
            ("/eu/a", "/eu/a"): free,
        }
        american = [*rows, {"from": "/us/a", "to": "/us/a", "bytes": GIB}]
        prices += [price(level="region", nano_usd_per_gb_out=5 * CENT)]
        found = highs(american, prices)
        assert found["/eu/a", "(unknown)"][1] == Decimal("0.06")
        assert found["(unknown)", "/eu/b"][1] == Decimal("0.06")
        assert highs(american, prices[:2])["/eu/a", "(unknown)"][1] is None

    def test_the_region_is_the_senders(self, spark):
        rows = [
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/us/a", "to": "/us/b", "bytes": GIB},
        ]
        prices = [price(), price(region="us", nano_usd_per_gb_out=4 * CENT)]
        found = {row.from_rack: row.usd for row in billed(spark, rows, prices=prices).collect()}
        assert found == {"/eu/a": Decimal("0.02"), "/us/a": Decimal("0.05")}
        found = billed(spark, rows, prices=prices, levels=("area", "zone")).collect()
        assert {row.usd for row in found} == {Decimal("0.02")}

    def test_a_sender_without_region_has_the_price_for_any_region(self, spark):
        levels = ("planet", "region", "zone")
        rows = [
            {"from": "/mars", "to": "/earth/eu/a", "bytes": GIB},
            {"from": "/earth/eu/a", "to": "/mars", "bytes": GIB},
        ]
        prices = [price(level="planet"), price(region="eu", level="*", nano_usd_per_gb_out=0)]
        found = billed(spark, rows, prices=prices, levels=levels).collect()
        assert {row.from_rack: row.usd for row in found} == {
            "/mars": Decimal("0.02"),
            "/earth/eu/a": Decimal("0.01"),
        }

    def test_plain_names_are_one_level(self, spark):
        rows = [{"from": "use1-az1", "to": "use1-az2", "bytes": GIB}]
        (row,) = billed(spark, rows, levels=("zone",)).collect()
        assert (row.level, row.level_name, row.usd) == (1, "zone", Decimal("0.02"))

    def test_the_price_of_each_day(self, spark):
        later = DAY_NUMBER + 1
        rows = [
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB},
            {"from": "/eu/a", "to": "/eu/b", "bytes": GIB, "day": later},
        ]
        turn = date(2026, 11, 2)
        prices = [
            price(valid_to=turn),
            price(valid_from=turn, nano_usd_per_gb_in=0),
        ]
        found = billed(spark, rows, prices=prices, days=[DAY, turn]).collect()
        assert {row.day: row.usd for row in found} == {DAY: Decimal("0.02"), turn: Decimal("0.01")}

    def test_a_day_without_a_price_is_rejected(self, spark):
        rows = [{"from": "/eu/a", "to": "/eu/b", "bytes": GIB}]
        with pytest.raises(InvalidPrices, match="no price for level zone on 2026-11-01"):
            billed(spark, rows, prices=[price(valid_to=date(2026, 6, 1))])


ROWS = [
    {"from": "/eu/a", "to": "/eu/b", "bytes": 3 * GIB},
    {"from": "/eu/a", "to": "/eu/b", "bytes": GIB, "kind": 0},
    {"from": "/eu/a", "to": "/us/a", "bytes": 5 * GIB},
    {"from": "/eu/a", "to": "/eu/a", "bytes": 7 * GIB},
    {"from": "/eu/b", "to": None, "bytes": 11 * GIB, "topic": 0},
]


KEYS = {"by_topic": ["topic"], "by_kind": ["kind"], "by_level": ["level", "level_name"]}


class TestRollUps:
    def rows(self, gold, name):
        from rackwise.pipeline.bill.cost import roll_up

        return roll_up(gold, KEYS).where(f"roll_up = '{name}'").collect()

    def test_bytes_and_dollars_of_each_key(self, spark):
        gold = billed(spark, ROWS).cache()
        measures = ("bytes_local", "bytes_cross", "bytes_unknown", "usd", "share")
        found = [tuple(row[m] for m in ("topic", *measures)) for row in self.rows(gold, "by_topic")]
        assert found == [
            ("orders", 7 * GIB, 9 * GIB, 0, Decimal("0.080000000"), 1.0),
            ("(unknown)", 0, 0, 11 * GIB, None, None),
        ]
        by_kind = [
            (row.cluster, row.kind, row.usd, row.share) for row in self.rows(gold, "by_kind")
        ]
        assert by_kind == [
            ("demo", "fetch", Decimal("0.06"), 0.75),
            ("demo", "produce", Decimal("0.02"), 0.25),
        ]

    def test_a_sum_of_nothing_and_of_unknown_dollars_is_null(self, spark):
        rows = [
            {"from": "/eu/a", "to": "/eu/a", "bytes": GIB},
            {"from": "/eu/b", "to": None, "bytes": 2 * GIB},
            {"from": "/eu/b", "to": "/eu/a", "bytes": GIB, "kind": 0},
        ]
        gold = billed(spark, rows, levels=("region", "zone")).cache()
        found = {row.kind: (row.usd, row.usd_high, row.share) for row in self.rows(gold, "by_kind")}
        assert found == {
            "produce": (Decimal("0.02"), Decimal("0.02"), 1.0),
            "fetch": (None, Decimal("0.04"), None),
        }
        (topic,) = self.rows(gold, "by_topic")
        assert (topic.usd, topic.usd_high) == (Decimal("0.02"), Decimal("0.06"))

    def test_shares_are_shares_of_bytes_if_there_are_no_dollars(self, spark):
        gold = billed(spark, ROWS, prices=[price(level="rack")])
        found = {row.level: (row.usd, row.share) for row in self.rows(gold, "by_level")}
        assert found == {
            2: (None, 4 / 27),
            1: (None, 5 / 27),
            0: (Decimal(0), 7 / 27),
            -1: (None, 11 / 27),
        }

    def test_roll_ups_are_in_order(self, spark):
        from rackwise.pipeline.bill.cost import roll_up

        names = [row.roll_up for row in roll_up(billed(spark, ROWS), KEYS).collect()]
        assert list(dict.fromkeys(names)) == list(KEYS)
        assert len(names) == 2 + 2 + 4

    def test_roll_ups_of_no_rows_are_empty(self, spark):
        from rackwise.pipeline.bill.cost import matrix, roll_up

        gold = billed(spark, []).cache()
        assert roll_up(gold, KEYS).collect() == []
        assert matrix(gold, ("zone",)).collect() == []

    def test_the_matrix_has_the_ancestors_of_every_level(self, spark):
        from rackwise.pipeline.bill.cost import matrix

        gold = billed(spark, ROWS, levels=("region", "zone")).cache()
        found = {
            (row.level_name, row.from_rack, row.to_rack): (row.bytes // GIB, row.usd)
            for row in matrix(gold, ("region", "zone")).collect()
        }
        assert found == {
            ("region", "/eu", "/eu"): (11, Decimal(0)),
            ("region", "/eu", "/us"): (5, None),
            ("region", "/eu", "(unknown)"): (11, None),
            ("zone", "/eu/a", "/eu/a"): (7, Decimal(0)),
            ("zone", "/eu/a", "/eu/b"): (3, Decimal("0.06")),
            ("zone", "/eu/b", "/eu/a"): (1, Decimal("0.02")),
            ("zone", "/eu/a", "/us/a"): (5, None),
            ("zone", "/eu/b", "(unknown)"): (11, None),
        }

    def test_rows_and_columns_of_the_matrix_sum_to_the_traffic(self, spark):
        from rackwise.pipeline.bill.cost import matrix

        gold = billed(spark, ROWS, levels=("region", "zone")).cache()
        sums = Counter()
        for row in matrix(gold, ("region", "zone")).collect():
            sums[row.level] += row.bytes
        assert set(sums.values()) == {sum(row["bytes"] for row in ROWS)}


KINDS = ("produce", "fetch", "replicate", "other")
CLUSTERS = ("demo", "other")
PAYERS = ("by_topic", "by_group", "by_owner", "by_pair")
TOPICS = ("orders", "orders.eu", "clicks", "audit")
GROUPS = ("batch", "readers")
RACKS = ("/eu/a", "/eu/b", "/us/a")
OWNERS = Owners(
    topics=[
        OwnerGlob(glob="orders*", owner="shop", line=2),
        OwnerGlob(glob="*.eu", owner="europe", line=3),
    ],
    groups=[OwnerGlob(glob="batch", owner="data", line=4)],
)
FLOWS = st.lists(
    st.fixed_dictionaries(
        {
            "cluster": st.integers(1, 2),
            "kind": st.integers(0, 3),
            "day": st.integers(DAY_NUMBER, DAY_NUMBER + 2),
            "topic": st.integers(0, len(TOPICS)),
            "client": st.integers(0, len(GROUPS)),
            "broker_rack": st.integers(0, len(RACKS)),
            "client_rack": st.integers(0, len(RACKS)),
            "bytes": st.integers(0, 10**15),
        }
    ),
    max_size=30,
)


class TestChargeback:
    @settings(max_examples=4)
    @given(FLOWS)
    def test_the_sums_of_every_roll_up_are_the_bill(self, spark, flows):
        """Law: by topic, group, owner and pair of racks, the bill is the same to the nano.

        It holds for all days together, and for each cluster, day and kind; the bytes are those of
        the flows.
        """
        from rackwise.pipeline.bill.cost import price_traffic, roll_up
        from rackwise.pipeline.bill.model import ROLL_UPS
        from rackwise.pipeline.bill.traffic import merge_sources, traffic

        fleet = fleet_of(
            spark,
            RACKS,
            clusters=CLUSTERS,
            groups=GROUPS,
            topics=[(name, topic) for name in CLUSTERS for topic in TOPICS],
        )
        topics = [0, *(fleet.codes.topics[name] for name in TOPICS)]
        groups = [0, *(fleet.codes.clients[name] for name in GROUPS)]
        racks = [0, *(fleet.codes.racks[name] for name in RACKS)]
        coded = [
            flow
            | {"topic": topics[flow["topic"]], "client": groups[flow["client"]]}
            | {end: racks[flow[end]] for end in ("broker_rack", "client_rack")}
            for flow in flows
        ]
        gold = price_traffic(
            merge_sources(traffic(facts(spark, coded), fleet)),
            fleet,
            prices=CENT_EACH_WAY,
            levels=("region", "zone"),
            days=[DAY + timedelta(days=number) for number in range(3)],
            owners=OWNERS,
        ).cache()
        rows = gold.collect()
        for row in rows:
            known = [
                None if name == "(unknown)" else name for name in (row.topic, row.client_group)
            ]
            assert row.owner == OWNERS.of(*known)
        # A part whose dollars would be 0 and are not all known is null: it adds nothing.
        wanted = (
            sum(flow["bytes"] for flow in flows),
            sum((row.usd for row in rows if row.usd is not None), Decimal(0)),
        )
        found = roll_up(gold, ROLL_UPS).collect()
        for name in ROLL_UPS:
            part = [row for row in found if row.roll_up == name]
            assert (
                sum(row.bytes_local + row.bytes_cross + row.bytes_unknown for row in part),
                sum((row.usd for row in part if row.usd is not None), Decimal(0)),
            ) == wanted, name
            unknown = [row.bytes_unknown for row in part if row.usd is not None and not row.usd]
            assert not any(unknown), f"{name}: 0 dollars of bytes that are not known"
        bytes_, usd = Counter(), Counter()
        for flow in flows:
            day = DAY + timedelta(days=flow["day"] - DAY_NUMBER)
            place = (fleet.names.clusters[flow["cluster"] - 1], day, KINDS[flow["kind"]])
            bytes_[place] += flow["bytes"]
        for row in rows:
            usd[row.cluster, row.day, row.kind] += row.usd or 0
        split = roll_up(gold, {name: (*ROLL_UPS[name], "day", "kind") for name in PAYERS}).collect()
        for name in PAYERS:
            found_bytes, found_usd = Counter(), Counter()
            for row in split:
                if row.roll_up == name:
                    place = (row.cluster, row.day, row.kind)
                    found_bytes[place] += row.bytes_local + row.bytes_cross + row.bytes_unknown
                    found_usd[place] += row.usd or 0
            assert (+found_bytes, +found_usd) == (+bytes_, +usd), name
        gold.unpersist()
