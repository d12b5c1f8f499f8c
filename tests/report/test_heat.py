"""Heat tables: cells from rack to rack, local bytes, and sums."""

from decimal import Decimal

from rackwise.report.heat import MAPS, RACKS, crossing_of, heat_maps
from report.summaries import summary


def pair(a, b, count, usd="0.000000000", cluster="demo", level=1):
    return {
        "cluster": cluster,
        "level": level,
        "level_name": "zone",
        "from_rack": a,
        "to_rack": b,
        "bytes": count,
        "usd": usd,
    }


def test_sums_exclude_local_and_unknown_bytes():
    rows = [
        pair("a", "a", 5),
        pair("a", "b", 7, "0.000000007"),
        pair("b", "a", 2, "0.000000002"),
        pair("a", "(unknown)", 3),
    ]
    (heat,), left_out = heat_maps(rows)
    assert left_out == 0
    assert heat.sums == {"level": 1, "bytes": 17, "bytes-cross": 9, "usd": "0.000000009"}
    assert [row.crossing.bytes.text for row in heat.rows] == ["7 bytes", "2 bytes"]
    assert [cell.bytes.text for cell in heat.received] == ["2 bytes", "7 bytes", "0 bytes"]
    assert heat.crossing.bytes.text == "9 bytes"


def test_a_rack_and_its_descendant_are_local():
    assert crossing_of("/eu", "/eu/a") == "local"
    assert crossing_of("/eu", "/europe") == "cross"
    assert crossing_of("eu", "eu/a") == "cross"
    assert crossing_of("", "a") == "unknown"


def test_the_unknown_rack_is_last_and_empty_rows_are_left_out():
    (heat,), _ = heat_maps([pair("z", "(unknown)", 1), pair("z", "a", 1)])
    assert [rack.text for rack in heat.racks] == ["a", "(unknown)"]
    assert [row.rack.text for row in heat.rows] == ["z"]


def test_warmth_is_the_share_of_the_largest_crossing_cell():
    (heat,), _ = heat_maps([pair("a", "b", 80), pair("b", "a", 10), pair("a", "a", 800)])
    steps = [cell.step for row in heat.rows for cell in row.cells if cell]
    assert steps == [None, 8, 1]


def test_unpriced_cells_have_no_number():
    (heat,), _ = heat_maps([pair("a", "b", 80, None)])
    assert heat.crossing.usd.text == "not known"
    assert heat.sums["usd"] is None


def test_a_sum_over_a_cell_without_a_price_is_at_least_the_known_dollars():
    rows = [
        pair("a", "b", 2**30, "0.010000000"),
        pair("a", "c", 2**40, None),
        pair("b", "c", 2**30, "0.020000000"),
    ]
    (heat,), _ = heat_maps(rows)
    assert heat.crossing.usd.text == "at least $0.03"
    assert [row.crossing.usd.text for row in heat.rows] == ["at least $0.01", "$0.02"]
    assert [cell.usd.text for cell in heat.received] == ["$0.01", "at least $0.02"]
    assert heat.sums["usd"] == "0.030000000"


def test_racks_with_the_fewest_bytes_are_left_out_with_a_note():
    rows = [pair(f"r{i:02}", f"r{(i + 1) % 20:02}", i + 1) for i in range(20)]
    (heat,), _ = heat_maps(rows)
    assert len({rack.text for rack in heat.racks} | {row.rack.text for row in heat.rows}) == RACKS
    assert heat.hidden == "4 more racks in csv/by_pair.csv"
    assert heat.sums["bytes-cross"] == sum(range(1, 21))


def test_the_most_expensive_clusters_are_first_and_the_rest_is_counted():
    rows = [pair("a", "b", 1, f"0.00000000{i}", cluster=f"c{i}") for i in range(9)]
    maps, left_out = heat_maps(rows)
    assert [heat.cluster for heat in maps] == ["c8", "c7", "c6", "c5", "c4", "c3"]
    assert left_out == 9 - MAPS


def test_levels_of_a_cluster_stay_together_coarsest_first():
    document = summary(clusters=2, racks=("/eu/a", "/us/a"), levels=("region", "zone"), topics=1)
    maps, _ = heat_maps(document["matrix"])
    assert [heat.level for heat in maps] == ["region", "zone", "region", "zone"]
    assert maps[0].cluster == maps[1].cluster


def test_cells_of_a_level_sum_to_the_run():
    document = summary()
    (heat,), _ = heat_maps(document["matrix"])
    assert Decimal(heat.sums["usd"]) == Decimal(document["verdict"]["usd"])
