"""A small proved plan, and the same with forged parts, for checks to find."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rackwise.core.planning.plan import plan
from small_clusters import small_cluster

if TYPE_CHECKING:
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Plan

ZONES = {1: "/a", 2: "/b", 3: "/c", 4: "/a", 5: "/b", 6: "/c"}
GROWN = {"t-0": [1, 2, 3], "t-1": [2, 3, 1], "t-2": [3, 1, 2], "t-3": [1, 2, 3]}


def grown() -> tuple[Cluster, Plan]:
    """Brokers 4, 5 and 6 joined empty; six moves."""
    cluster = small_cluster(ZONES, GROWN)
    return cluster, plan(cluster)


def with_certificate(made: Plan, **fields: Any) -> Plan:
    """The plan, with some fields of its certificate replaced."""
    certificate = replace(made.certificates[0], **fields)
    fair = replace(made.fair, groups=certificate.groups)
    return replace(made, certificates=(certificate, *made.certificates[1:]), fair=fair)


def with_move(made: Plan, at: int, **fields: Any) -> Plan:
    """The plan, with some fields of one move replaced."""
    moves = list(made.moves)
    moves[at] = replace(moves[at], **fields)
    return replace(made, moves=tuple(moves))
