"""Sums of the bill: roll-ups with shares, the matrix, and the law that all of them are the bill."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, time, timedelta
from decimal import Decimal

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pyarrow import parquet

from billed_rows import CENT_EACH_WAY, billed, fleet_of, rows_of
from rackwise.core.errors import InvalidPrices
from rackwise.core.history import StandingDay
from rackwise.core.owners import OwnerGlob, Owners
from rackwise.pipeline.bill.coded_fleet import CodedFleet
from rackwise.pipeline.bill.cost import Pricing, price_traffic
from rackwise.pipeline.bill.gold.tables import bill
from rackwise.pipeline.bill.model import ROLL_UPS
from rackwise.pipeline.bill.roll_ups import matrix, ordered, roll_up, standings
from rackwise.pipeline.bill.traffic import merge_sources, traffic
from rackwise.pipeline.engines.local import LocalEngine
from small_fleets import DAY, DAY_NUMBER, GIB, facts, price

ROWS = [
    {"from": "/eu/a", "to": "/eu/b", "bytes": 3 * GIB},
    {"from": "/eu/a", "to": "/eu/b", "bytes": GIB, "kind": 0},
    {"from": "/eu/a", "to": "/us/a", "bytes": 5 * GIB},
    {"from": "/eu/a", "to": "/eu/a", "bytes": 7 * GIB},
    {"from": "/eu/b", "to": None, "bytes": 11 * GIB, "topic": 0},
]


KEYS = {"by_topic": ["topic"], "by_kind": ["kind"], "by_level": ["level", "level_name"]}


ABSURD = [{"from": "/eu/a", "to": "/eu/b", "bytes": GIB, "day": DAY_NUMBER + n} for n in (0, 1)]
"""Each costs less than a billion dollars, and both together more."""
ABSURD_PRICE = price(nano_usd_per_gb_out=6 * 10**17, nano_usd_per_gb_in=0)


def test_a_sum_of_a_billion_dollars_is_one_line():
    days = (DAY, DAY + timedelta(days=1))
    gold = billed(ABSURD, prices=[ABSURD_PRICE], days=days)
    wanted = "^expected less than 1000000000 dollars for a sum of rows, got 1200000000.0"
    for total in (
        lambda rows: roll_up(rows, ["kind"]),
        lambda rows: matrix(rows, ["region", "zone"]),
    ):
        with pytest.raises(InvalidPrices, match=wanted):
            total(gold)
    assert len(roll_up(gold, ["day"])) == 2


def test_the_bill_of_no_traffic_has_empty_tables(tmp_path):
    since = datetime.combine(DAY, time(), UTC)
    day = StandingDay(cluster="demo", day=DAY, since=since, until=since + timedelta(hours=1))
    made = bill(LocalEngine(), {}, days=[day], precedence=(), prices=(), folder=str(tmp_path))
    assert {name: [*rows] for name, rows in made.roll_ups.items()} == {
        name: [] for name in ROLL_UPS
    }
    columns = parquet.read_schema(tmp_path / "by_topic/part-00000.parquet").names
    assert columns[:2] == ["cluster", "topic"]
    assert "share" in columns


class TestRollUps:
    def rows(self, gold, name):
        return rows_of(ordered([roll_up(gold, KEYS[name])], KEYS[name]))

    def test_bytes_and_dollars_of_each_key(self):
        gold = billed(ROWS)
        measures = ("bytes_local", "bytes_cross", "bytes_unknown", "usd", "share")
        found = [
            tuple(getattr(row, m) for m in ("topic", *measures))
            for row in self.rows(gold, "by_topic")
        ]
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

    def test_a_sum_of_nothing_and_of_unknown_dollars_is_null(self):
        rows = [
            {"from": "/eu/a", "to": "/eu/a", "bytes": GIB},
            {"from": "/eu/b", "to": None, "bytes": 2 * GIB},
            {"from": "/eu/b", "to": "/eu/a", "bytes": GIB, "kind": 0},
        ]
        gold = billed(rows, levels=("region", "zone"))
        found = {row.kind: (row.usd, row.usd_high, row.share) for row in self.rows(gold, "by_kind")}
        assert found == {
            "produce": (Decimal("0.02"), Decimal("0.02"), 1.0),
            "fetch": (None, Decimal("0.04"), None),
        }
        (topic,) = self.rows(gold, "by_topic")
        assert (topic.usd, topic.usd_high) == (Decimal("0.02"), Decimal("0.06"))

    def test_shares_are_shares_of_bytes_if_there_are_no_dollars(self):
        gold = billed(ROWS, prices=[price(level="rack")])
        found = {row.level: (row.usd, row.share) for row in self.rows(gold, "by_level")}
        assert found == {
            2: (None, 4 / 27),
            1: (None, 5 / 27),
            0: (Decimal(0), 7 / 27),
            -1: (None, 11 / 27),
        }

    def test_clusters_are_joined_and_the_most_expensive_row_is_first(self):
        """Dollars before nothing and nothing before null; then bytes that cross, then the names."""
        gold = billed(ROWS)
        parts = [
            roll_up(gold.set_column(1, "cluster", pa.array([name] * len(gold))), ("level",))
            for name in ("b", "a")
        ]
        found = [(row.cluster, row.level, row.share) for row in rows_of(ordered(parts, ("level",)))]
        assert found == [
            *(("a", 2, 0.5), ("b", 2, 0.5)),
            *(("a", 0, 0.0), ("b", 0, 0.0)),
            *(("a", 1, None), ("b", 1, None)),
            *(("a", -1, None), ("b", -1, None)),
        ]

    def test_a_share_is_the_quotient_of_the_nearest_floats(self):
        """Also of dollars with more digits than a float has."""
        usd = [Decimal("123456789.123456789"), Decimal("1.000000001"), None]
        made = roll_up(billed(ROWS), ("level",)).slice(0, 3)
        made = made.set_column(
            made.column_names.index("usd"), "usd", pa.array(usd, pa.decimal128(18, 9))
        )
        whole = float(usd[0] + usd[1])
        found = {row.usd: row.share for row in rows_of(ordered([made], ("level",)))}
        assert found == {one: one and float(one) / whole for one in usd}

    def test_sums_of_no_rows_are_empty(self):
        gold = billed([])
        assert len(ordered([roll_up(gold, ("topic",))], ("topic",))) == 0
        assert len(matrix(gold, ("zone",))) == len(standings(gold)) == 0

    def test_the_matrix_has_the_ancestors_of_every_level(self):
        gold = billed(ROWS, levels=("region", "zone"))
        found = {
            (row.level_name, row.from_rack, row.to_rack): (row.bytes // GIB, row.usd)
            for row in rows_of(matrix(gold, ("region", "zone")))
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

    def test_rows_and_columns_of_the_matrix_sum_to_the_traffic(self):
        gold = billed(ROWS, levels=("region", "zone"))
        sums = Counter()
        for row in rows_of(matrix(gold, ("region", "zone"))):
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
    @settings(max_examples=40)
    @given(FLOWS)
    def test_the_sums_of_every_roll_up_are_the_bill(self, flows):
        """Law: by topic, group, owner and pair of racks, the bill is the same to the nano.

        It holds for all days together, and for each cluster, day and kind; the bytes are those of
        the flows.
        """
        fleet = fleet_of(
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
        coded_fleet = CodedFleet.of(fleet)
        pricing = Pricing.of(
            fleet,
            coded_fleet,
            prices=CENT_EACH_WAY,
            levels=("region", "zone"),
            days=[DAY + timedelta(days=number) for number in range(3)],
            owners=OWNERS,
        )
        gold = price_traffic(merge_sources(traffic(facts(coded), coded_fleet)), pricing)
        rows = rows_of(gold)
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
        for name, key in ROLL_UPS.items():
            part = rows_of(roll_up(gold, key))
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
        for name in PAYERS:
            found_bytes, found_usd = Counter(), Counter()
            for row in rows_of(roll_up(gold, (*ROLL_UPS[name], "day", "kind"))):
                place = (row.cluster, row.day, row.kind)
                found_bytes[place] += row.bytes_local + row.bytes_cross + row.bytes_unknown
                found_usd[place] += row.usd or 0
            assert (+found_bytes, +found_usd) == (+bytes_, +usd), name
