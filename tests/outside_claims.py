"""What a plan file states, computed again from the cluster alone by sums over its lists.

It imports nothing of the planner, and reads the document, not the classes of a plan. Loads, bounds
and dual prices are left to the outside model (`tests/solver/planning/test_outside_model.py`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.core.racks import crossing_level
from rackwise.core.traffic import usd_nano

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.model import Cluster
    from rackwise.core.traffic import Price


def check(document: Mapping[str, Any], cluster: Cluster, prices: Sequence[Price]) -> None:
    """Assert that lists, bytes, dollars and sums of the document are those of the cluster.

    `prices`: one price for all levels; empty without.
    """
    rows = {(p.topic, p.partition): p for p in cluster.partitions}
    racks = {broker.id: broker.rack for broker in cluster.brokers}
    moves = [*document["moves"], *document.get("later", [])]
    seen = set()
    copied = copied_bytes = cross_bytes = changed = reordered = firsts = unknown = dollars = 0
    for move in moves:
        place = (move["topic"], move["partition"])
        assert place not in seen
        seen.add(place)
        row = rows[place]
        before, after = move["before"], move["after"]
        assert before == list(row.replicas)
        assert before != after
        added = [broker for broker in after if broker not in before]
        size = row.bytes
        crossing = [b for b in added if crossing_level(racks[row.leader], racks[b]) > 0]
        assert move["bytes"] == size
        assert move["cross_bytes"] == size * len(crossing)
        if prices:
            (price,) = prices
            ends = (price.nano_usd_per_gb_out, price.nano_usd_per_gb_in)
            usd = len(crossing) * sum(usd_nano(size, end, price.gb_bytes) for end in ends)
            assert move["usd_nano"] == usd
            dollars += usd
        copied += len(added)
        copied_bytes += size * len(added)
        cross_bytes += size * len(crossing)
        changed += set(before) != set(after)
        reordered += set(before) == set(after)
        firsts += before[0] != after[0]
    totals = document["totals"]
    assert totals["moves"] == copied
    assert totals["repair_moves"] + totals["balance_moves"] == copied
    assert (totals["bytes"], totals["cross_bytes"]) == (copied_bytes, cross_bytes)
    assert (totals["partitions"], totals["order_only"]) == (changed, reordered)
    assert (totals["leader_changes"], totals["unknown_sizes"]) == (firsts, unknown)
    assert totals["usd_nano"] == (dollars if prices else None)
    cost = {"moves": copied, "bytes": copied_bytes, "usd": dollars}[document["minimise"]]
    verdict = document["verdict"]
    if document["goal"]["name"] == "leaders":
        cost = firsts
    assert (verdict["cost"], verdict["lower_bound"], verdict["gap"]) == (cost, cost, 0)
    if "max_moves" in document:
        now = sum(len(set(m["after"]) - set(m["before"])) for m in document["moves"])
        assert now <= document["max_moves"]
    held = {place: list(row.replicas) for place, row in rows.items()}
    held.update({(m["topic"], m["partition"]): m["after"] for m in moves})
    for group in document["fair"]["groups"]:
        loads = [sum(b in each for each in held.values()) for b in group["brokers"]]
        assert sum(loads) == group["total"]
        for load, low, high in zip(loads, group["low"], group["high"], strict=True):
            assert low <= load <= high
