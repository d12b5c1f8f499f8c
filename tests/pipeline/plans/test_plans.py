"""Plans of a fleet: each cluster has a row, with core's plan and a checked proof or a reason."""

from __future__ import annotations

import os
from dataclasses import replace
from decimal import Decimal
from functools import partial

import numpy as np
import pytest

from checked_plans import check
from metered_clusters import SELECTOR
from planner_vectors import generated_cluster
from rackwise.adapters import files
from rackwise.core.audit import audit
from rackwise.core.blast import blast_radius
from rackwise.core.errors import BytesLost
from rackwise.core.model import Configs, Group, GroupMember, Offsets
from rackwise.core.planning.model import Repair
from rackwise.core.planning.plan import plan
from rackwise.core.policy import Policy
from rackwise.core.racks import Rack
from rackwise.core.traffic import exact_usd_text, prices_of
from small_fleets import GIB, cluster, price

pytestmark = pytest.mark.spark
PRICES = (price(), price(provider="other"))
RACKS = {1: "a", 2: "a", 3: "b", 4: "c"}
IN_A = {f"in-{rack}": Rack("a") for rack in "bc"}


def clusters():
    """Clusters by name: two to repair, one sound, one without price, three unplannable."""
    random = generated_cluster("random", 12, 3, 600, 3)
    sizes = random.partitions.bytes * 123_456_789
    moving = cluster(RACKS, {"t": [(1, 3)]})
    table = moving.partitions
    found = {
        "blind": cluster(RACKS, {"t": [(1, 2), (3, 1)]}, size=3 * GIB),
        "deep": cluster({1: "/eu/a", 2: "/eu/a", 3: "/eu/b"}, {"t": [(1, 2)]}),
        "fine": cluster(RACKS, {"t": [(1, 3)]}, size=GIB),
        "moving": replace(moving, partitions=replace(table, adding=table.replicas)),
        "partly": cluster({1: "a", 2: None}, {"t": [(1, 2)]}),
        "random": replace(random, partitions=replace(random.partitions, bytes=sizes)),
        "small": cluster({1: "a"}, {"<t>": [(1, 9)] * 7}),
    }
    return {name: replace(one, cluster_id=name) for name, one in found.items()}


CLUSTERS = clusters()


def planning(goal="repair"):
    from rackwise.pipeline.plans.task import Planning

    return Planning(
        goal_name=goal,
        parse=partial(files.parse_snapshot, where="a snapshot"),
        sealed=files.sealed_for,
    )


def snapshots(chosen):
    from rackwise.pipeline.fleet.snapshots import read_snapshots

    contents = [(f"{name}.json", files.snapshot_bytes(one)) for name, one in chosen.items()]
    return read_snapshots(contents, planning().parse)[0]


def analyzed(spark, tables, *, chosen=CLUSTERS, **more):
    from rackwise.pipeline.job import analyze
    from rackwise.pipeline.request import AnalyzeRequest

    request = AnalyzeRequest(
        version="0.1.0",
        snapshots=snapshots(chosen),
        tables=str(tables),
        prices=PRICES,
        planning=planning(),
        **more,
    )
    return analyze(spark, request)


@pytest.fixture(scope="module")
def steps():
    return []


@pytest.fixture(scope="module")
def made(spark, tmp_path_factory, steps):
    return analyzed(
        spark,
        tmp_path_factory.mktemp("tables"),
        progress=lambda number, of, name: steps.append(f"{number}/{of} {name}"),
    )


@pytest.fixture(scope="module")
def rows(made):
    return {row["cluster"]: row for row in made.summary["plans"]["rows"]}


@pytest.mark.connect
def test_every_cluster_has_a_row_with_a_plan_or_the_reason(rows):
    assert {name: row["status"] for name, row in rows.items()} == {
        **dict.fromkeys(("blind", "deep", "fine", "random"), "planned"),
        **dict.fromkeys(("moving", "partly"), "refused"),
        "small": "infeasible",
    }
    assert rows["small"]["reason"].startswith("<t>-0: expected ")
    assert rows["small"]["reason"].endswith("; and 2 more")
    assert "expected a rack on every live broker" in rows["partly"]["reason"]
    assert rows["partly"]["hint"]
    assert "1 reassignment in progress: t-0" in rows["moving"]["reason"]
    for row in rows.values():
        is_planned = row["status"] == "planned"
        known = ("moves", "partitions", "cost", "lower_bound", "gap", "verdict", "solver", "file")
        assert all((row[name] is not None) == is_planned for name in known), row
        assert (row["reason"] is None) == is_planned


class TestRatesFromEarlierSnapshots:
    """The monthly change of a plan for snapshots that meter their cluster."""

    HOUR_BYTES = 3600 * 10**6

    def look(self, name, hour, *, bytes_=None, cluster_id="metered", **columns):
        """Cluster `name` at an hour; t-0 on two brokers of one rack grows by 1 MB/s."""
        one = cluster(RACKS, {"t": [(1, 2), (3, 1)]}, cluster_id=cluster_id)
        size = GIB + hour * self.HOUR_BYTES if bytes_ is None else bytes_
        fields = {
            "bytes": np.array([size, GIB]),
            "offsets": Offsets(
                start=np.zeros(2, np.int64),
                end=np.array([hour * 3600, 1]),
                leader_epoch=np.zeros(2, np.int32),
            ),
        }
        return replace(
            one,
            name=name,
            taken_at=f"2026-11-{1 + hour // 24:02}T{hour % 24:02}:00:00Z",
            topics={"t": replace(one.topics["t"], id="x", cleanup_policy="delete")},
            partitions=replace(one.partitions, **(fields | columns)),
        )

    def read_look(self, hour):
        """A look at followers that serve the group of their rack; all that is written is read."""
        groups = tuple(
            Group(
                group=f"in-{rack}",
                protocol="consumer",
                members=(
                    GroupMember(
                        member_id=rack,
                        client_id="x",
                        address="10.9.0.1",
                        rack=Rack(rack),
                        partitions=(("t", 0),),
                    ),
                ),
                committed={"t": (hour * 3600, None)},
            )
            for rack in "bc"
        )
        configs = Configs(brokers=dict.fromkeys(RACKS, SELECTOR))
        return replace(self.look("m", hour), groups=groups, configs=configs)

    def rows(self, spark, tmp_path, *looks, **more):
        named = {f"{number}": one for number, one in enumerate(looks)}
        made = analyzed(spark, tmp_path, chosen=named, **more)
        return made, {row["cluster"]: row for row in made.summary["plans"]["rows"]}

    def test_the_change_is_priced_with_the_growth_of_a_day(self, spark, tmp_path):
        old = self.look("m", 0, bytes_=0)  # more than a day before the last: not used
        looks = [old, *(self.look("m", hour) for hour in (2, 9, 26))]
        made, rows = self.rows(spark, tmp_path, *looks)
        month = 30 * 86_400 * 10**6
        assert rows["m"]["monthly_cross_bytes"] == month
        dollars = Decimal(month) * 2 / 100 / GIB
        assert Decimal(rows["m"]["monthly_usd"]) == pytest.approx(dollars, abs=Decimal("1e-6"))
        assert rows["m"]["monthly_reason"] is None
        (content,) = made.files.values()
        proved = check(looks[-1], Policy(), files.parse_plan(content, where="a plan"))
        assert proved.is_proved

    @pytest.mark.parametrize(("clients", "sign"), [({}, -1), ({"client_group": IN_A}, 1)])
    def test_reads_that_move_to_another_rack_have_a_price(self, spark, tmp_path, clients, sign):
        """The new replica of t-0 is in b or c: the group there reads it instead of the leader."""
        looks = [self.read_look(hour) for hour in (2, 26)]
        _, rows = self.rows(spark, tmp_path, *looks, clients=clients)
        dollars = Decimal(30 * 86_400 * 10**6) * 2 / 100 / GIB
        found = Decimal(rows["m"]["monthly_reads_usd"])
        assert found == pytest.approx(sign * dollars, abs=Decimal("1e-6"))
        assert rows["m"]["monthly_reads_reason"] is None

    @pytest.mark.parametrize(
        "columns",
        [{"offsets": None}, {"bytes_in_per_s": np.array([5, 5])}, {"bytes_": 0}],
        ids=["no-offsets", "own-rates", "shrunk"],
    )
    def test_without_a_usable_pair_the_snapshot_alone_counts(self, spark, tmp_path, columns):
        last = self.look("m", 1, **columns)
        _, rows = self.rows(spark, tmp_path, self.look("m", 0), last)
        own_rates = "bytes_in_per_s" in columns
        wanted = 5 * 30 * 86_400 if own_rates else None
        assert rows["m"]["monthly_cross_bytes"] == wanted
        assert (rows["m"]["monthly_reason"] is None) == own_rates


def test_plans_equal_those_of_core_with_proof_and_price(made, rows):
    prices = tuple(prices_of(PRICES, "aws"))
    for name, row in rows.items():
        if row["status"] != "planned":
            continue
        used = () if name == "deep" else prices
        wanted = plan(CLUSTERS[name], Policy(), Repair(), prices=used)
        content = made.files[row["file"]]
        read = files.parse_plan(content, where=row["file"])
        assert read.moves == wanted.moves
        assert read.made_from.snapshot_sha256 == files.fingerprint(CLUSTERS[name])
        assert check(CLUSTERS[name], Policy(), read).is_proved
        assert (row["moves"], row["cost"], row["lower_bound"], row["gap"], row["verdict"]) == (
            wanted.totals.moves,
            wanted.verdict.cost,
            wanted.verdict.lower_bound,
            0,
            "proved",
        )
        nano = wanted.totals.usd_nano
        assert row["usd"] == (None if nano is None else f"{Decimal(nano).scaleb(-9):.9f}")
        assert row["solver"] == wanted.solver
        assert row["file"] == f"plans/{list(rows).index(name) + 1:04}-{read.sha256[:8]}.json"
    assert rows["blind"]["usd"] == "0.060000000"
    assert (rows["fine"]["moves"], rows["fine"]["usd"]) == (0, "0.000000000")
    assert rows["deep"]["bytes"] is None
    assert rows["random"]["moves"] > 100


def test_the_summary_has_the_sums_of_the_plans(made, rows):
    part = made.summary["plans"]
    planned = [row for row in rows.values() if row["status"] == "planned"]
    assert (part["goal"], part["clusters"], part["planned"], part["proved"]) == ("repair", 7, 4, 4)
    assert part["moves"] == sum(row["moves"] for row in planned)
    assert (part["bytes"], part["usd"]) == (None, None)
    names = ("findings", "blast", "plans", "history")
    assert made.summary["csv"] == [f"csv/{name}.csv" for name in names]
    assert len(list(made.csv["plans"][1])) == 7


def test_each_row_and_the_sum_have_the_change_of_the_monthly_bill(made, rows):
    """A rate that is not known makes the change null, with a reason; never 0."""
    prices = tuple(prices_of(PRICES, "aws"))
    unknown = []
    for name, row in rows.items():
        if row["status"] != "planned":
            assert (row["monthly_usd"], row["monthly_reason"]) == (None, None)
            continue
        used = () if name == "deep" else prices
        monthly = plan(CLUSTERS[name], Policy(), Repair(), prices=used).totals.monthly
        nano = monthly.replication_usd_nano
        assert row["monthly_usd"] == (None if nano is None else exact_usd_text(nano))
        assert row["monthly_cross_bytes"] == monthly.replication_cross_bytes
        assert row["monthly_reason"] == monthly.replication_reason
        reads = monthly.reads_usd_nano
        assert row["monthly_reads_usd"] == (None if reads is None else exact_usd_text(reads))
        assert row["monthly_reads_reason"] == monthly.reads_reason
        unknown += [name] if nano is None else []
    assert rows["fine"]["monthly_usd"] == "0.000000000"
    assert "rackwise snapshot --measure" in rows["blind"]["monthly_reason"]
    assert "blind" in unknown
    part = made.summary["plans"]["monthly"]
    assert (part["usd"], part["unknown"]) == (None, len(unknown))
    assert part["reason"] == f"{unknown[0]}: {rows[unknown[0]]['monthly_reason']}"


def test_known_changes_are_summed():
    from rackwise.pipeline.plans.fleet_plans import Plans
    from rackwise.pipeline.summary.document import plans_part

    def row(name, usd, reads):
        numbers = dict.fromkeys(("moves", "partitions", "bytes"), 1)
        return {
            "cluster": name,
            "status": "planned",
            "verdict": "proved",
            "usd": Decimal(1),
            "monthly_usd": usd,
            "monthly_reason": None if usd is not None else "why",
            "monthly_reads_usd": reads,
            "monthly_reads_reason": None if reads is not None else "so",
            **numbers,
        }

    rows = [row("a", Decimal("2.5"), None), row("b", Decimal("-0.000000001"), Decimal(0))]
    part = plans_part(Plans(goal="repair", rows=rows, files={}))
    total = "2.499999999"
    assert part["monthly"] == {"usd": total, "usd_known": total, "unknown": 0, "reason": None}
    assert part["monthly_reads"] == {
        "usd": None,
        "usd_known": "0.000000000",
        "unknown": 1,
        "reason": "a: so",
    }
    nothing = plans_part(Plans(goal="repair", rows=[], files={}))["monthly"]
    assert nothing == {"usd": None, "usd_known": None, "unknown": 0, "reason": None}


def test_tables_hold_plans_and_moves(spark, made, rows):
    from rackwise.pipeline.schemas import PLAN, PLAN_SUMMARY

    plans = spark.read.parquet(f"{made.tables}/gold/plan_summary")
    assert plans.schema == PLAN_SUMMARY
    assert [row.cluster for row in plans.collect()] == sorted(rows)
    moves = spark.read.parquet(f"{made.tables}/gold/plan")
    assert moves.schema == PLAN
    found = [row.asDict() for row in moves.collect()]
    for name in ("blind", "deep", "random"):
        wanted = plan(
            CLUSTERS[name], Policy(), Repair(), prices=tuple(prices_of(PRICES, "aws")[:0])
        )
        of_cluster = [row for row in found if row["cluster"] == name]
        assert [(row["topic"], row["partition"], tuple(row["after"])) for row in of_cluster] == [
            (move.topic, move.partition, move.after) for move in wanted.moves
        ]
        assert (
            sum(len(set(r["after"]) - set(r["before"])) for r in of_cluster)
            == (rows[name]["moves"])
        )
        assert all(row["reasons"] == ["spread-even"] for row in of_cluster)
    nano = sum((row["usd"] for row in found if row["cluster"] == "random"), Decimal(0))
    assert f"{nano:.9f}" == rows["random"]["usd"]


def test_findings_and_losses_of_a_generated_cluster_equal_core(spark, made):
    one = CLUSTERS["random"]
    gold = spark.read.parquet(f"{made.tables}/gold/finding").where("cluster = 'random'")
    assert [row.asDict() for row in gold.collect()] == [
        {"cluster": "random", **finding.as_dict()} for finding in audit(one)
    ]
    blast = spark.read.parquet(f"{made.tables}/gold/blast").where("cluster = 'random'")
    assert [
        (
            row.rack,
            row.partitions_offline,
            row.leaders_lost,
            row.replicas_lost,
            row.bytes_to_restore,
        )
        for row in blast.collect()
    ] == [
        (loss.rack, len(loss.offline), loss.leaders_lost, loss.replicas_lost, loss.bytes_to_restore)
        for loss in blast_radius(one)
    ]


def test_steps_are_reported(made, steps):
    assert made
    assert steps[-2:] == ["9/11 gold: plans", "10/11 gold: proofs"]


def test_a_second_run_gives_the_same_plans(spark, made, tmp_path, monkeypatch):
    """With rounds of two clusters, only the progress messages differ."""
    from rackwise.pipeline.plans import fleet_plans

    monkeypatch.setattr(fleet_plans, "LEAST_AT_ONCE", 2)
    reported = []
    again = analyzed(spark, tmp_path, progress=lambda _number, _of, name: reported.append(name))
    assert again.summary == made.summary
    assert again.files == made.files
    assert reported[-5:] == [
        *(f"gold: plans, clusters {first} to {first + 1} of 7" for first in (1, 3, 5)),
        "gold: plans, clusters 7 to 7 of 7",
        "gold: proofs",
    ]


def test_a_cluster_without_a_row_stops_the_run(spark, tmp_path, monkeypatch):
    from rackwise.pipeline.engines.spark import SessionEngine
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.plans import fleet_plans

    monkeypatch.setattr(fleet_plans, "rounds", lambda latest: [latest[:1]])
    chosen = {name: CLUSTERS[name] for name in ("deep", "fine")}
    fleet = fleet_of_snapshots(snapshots(chosen))
    with pytest.raises(BytesLost, match="expected one row of plans for each of 2 clusters, got 1"):
        fleet_plans.plan_clusters(SessionEngine(spark), fleet, planning(), str(tmp_path))


@pytest.mark.long
def test_a_failed_cluster_does_not_affect_the_others(spark, tmp_path):
    """One raises an unexpected exception, one kills its process; the others have plans."""
    from rackwise.pipeline.engines.spark import SessionEngine
    from rackwise.pipeline.fleet.fleet import fleet_of_snapshots
    from rackwise.pipeline.plans.fleet_plans import plan_clusters

    parse = planning().parse

    def breaking(content):
        found = parse(content)
        if found.cluster_id == "blind":
            raise ZeroDivisionError("a fault of ours")
        if found.cluster_id == "random":
            os._exit(9)
        return found

    fleet = fleet_of_snapshots(snapshots(CLUSTERS))
    broken = replace(planning(), parse=breaking)
    made = plan_clusters(SessionEngine(spark), fleet, broken, str(tmp_path))
    rows = {row["cluster"]: row for row in made.rows}
    assert {name: row["status"] for name, row in rows.items()} == {
        **dict.fromkeys(("blind", "random"), "failed"),
        **dict.fromkeys(("deep", "fine"), "planned"),
        **dict.fromkeys(("moving", "partly"), "refused"),
        "small": "infeasible",
    }
    assert rows["blind"]["reason"] == "ZeroDivisionError: a fault of ours"
    assert rows["random"]["reason"].startswith("its task ended: ")
    assert all("please report it" in rows[name]["hint"] for name in ("blind", "random"))
    assert sorted(made.files) == [rows["deep"]["file"], rows["fine"]["file"]]
