"""The tiny clusters of the planner's vectors as questions, the generated ones by their recipe."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from naive_plan import Question
from rackwise.core.model import Broker, Cluster, PartitionTable, Ragged, Topic
from rackwise.core.policy import POLICY_FORMAT, Policy, policy_of
from rackwise.core.racks import Rack
from rackwise.core.traffic import Price
from small_clusters import small_cluster
from vectors import planner_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator

GB = 10**9
CENT = 10**7
"""Nano-dollars."""


QUESTIONS: dict[str, Question] = {}
"""Those of the cases by name: what one has worked out, all may read."""


@dataclass(frozen=True)
class Case:
    """One solve: what is asked, and what the file says of it, in GB or cents."""

    name: str
    cluster: Cluster
    policy: Policy
    minimise: str
    expect: dict[str, Any]

    @property
    def unit(self) -> int:
        """How many of ours one of the file's units is."""
        return {"moves": 1, "bytes": GB, "usd": CENT}[self.minimise]

    @property
    def question(self) -> Question:
        asked = Question(self.cluster, self.policy, self.minimise, _cents)
        return QUESTIONS.setdefault(self.name, asked)


CENTS = (
    Price(
        provider="test",
        region="*",
        level="*",
        kind="*",
        nano_usd_per_gb_out=CENT,
        nano_usd_per_gb_in=CENT,
        gb_bytes=GB,
        valid_from=date(2020, 1, 1),
        valid_to=None,
        source="test",
        is_checked=True,
        row="test",
    ),
)
"""The vectors' prices, the same as `_cents`."""


def _cents(leader: Rack | None, target: Rack | None, bytes_: int) -> int:
    """One cent per GB out and one in whenever racks differ."""
    return 0 if leader == target else 2 * CENT * bytes_ // GB


def tiny_cases() -> Iterator[Case]:
    """Every solve of every tiny cluster."""
    for plan in planner_vectors()["plans"]:
        sizes = {f"{p[0]}-{p[1]}": GB * (p[3] if len(p) > 3 else 1) for p in plan["partitions"]}
        cluster = small_cluster(
            {int(id_): rack for id_, rack in plan["brokers"].items()},
            {f"{p[0]}-{p[1]}": p[2] for p in plan["partitions"]},
            dead=plan.get("dead", ()),
            sizes=sizes,
        )
        for asked, expect in plan["expect"].items():
            minimise, _, more = asked.partition(" with ")
            said = dict(plan["policy"])
            if more:
                key, _, value = more.partition(" = ")
                said[f"topics.{key}"] = value
            name = plan["name"] if len(plan["expect"]) == 1 else f"{plan['name']}, {asked}"
            yield Case(name, cluster, _policy(plan["levels"], said), minimise, expect)


def _policy(levels: list[str], said: dict[str, Any]) -> Policy:
    tables: dict[str, Any] = {
        "format": POLICY_FORMAT,
        "racks": {"levels": levels},
        "brokers": {},
        "balance": {},
        "topics": [{"match": ["*"]}],
    }
    for dotted, value in said.items():
        table, _, key = dotted.partition(".")
        if key == "pin":
            pinned = {name.rpartition("-")[2]: brokers for name, brokers in value.items()}
            tables["topics"][0]["pin"] = pinned
        elif table == "topics":
            tables["topics"][0][key] = value
        else:
            tables[table][key] = value
    return policy_of(tables)


class Draws:
    """The recipe's generator."""

    def __init__(self) -> None:
        self.state = 1

    def __call__(self, n: int) -> int:
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.state >> 33) % n


def generated_lists(kind: str, brokers: int, racks: int, partitions: int, r: int) -> np.ndarray:
    """Replica lists of a generated cluster, int32 [partitions, r]."""
    draw = Draws()
    whole = [list(range(k, brokers, racks)) for k in range(racks)]
    old = [ids[:-1] if kind in {"grown", "messy"} else ids for ids in whole]
    present = sorted(id_ for ids in old for id_ in ids)
    lists = np.empty((partitions, r), dtype=np.int32)
    for p in range(partitions):
        if kind == "random":
            lists[p] = _distinct(r, lambda: draw(brokers))
        elif kind == "messy":
            lists[p] = _messy(draw, old, len(present), r)
        else:
            for j in range(r):
                ids = old[(p + j) % racks]
                m = len(ids)
                lists[p, j] = ids[(p // racks + j * (1 + p // (racks * m))) % m]
    return lists


def _distinct(wanted: int, one: Any) -> list[int]:
    found: list[int] = []
    while len(found) < wanted:
        candidate = one()
        if candidate not in found:
            found.append(candidate)
    return found


def _messy(draw: Draws, old: list[list[int]], present: int, r: int) -> list[int]:
    racks = len(old)
    if draw(5) == 0:
        return _distinct(r, lambda: min(draw(present), draw(present)))
    first = draw(racks)
    row = []
    for j in range(r):
        ids = old[(first + j) % racks]
        row.append(ids[min(draw(len(ids)), draw(len(ids)))])
    return row


def checksum(lists: np.ndarray) -> int:
    """The recipe's checksum."""
    positions = np.arange(1, lists.shape[1] + 1)
    rows = (lists.astype(np.int64) * positions).sum(axis=1)
    total = int((rows * np.arange(1, len(lists) + 1)).sum())
    return total % 1_000_000_007


def generated_cluster(kind: str, brokers: int, racks: int, partitions: int, r: int) -> Cluster:
    """A generated cluster, led by the first replicas, one byte each."""
    lists = generated_lists(kind, brokers, racks, partitions, r)
    return cluster_of(lists, brokers, racks, dead=(0,) if kind == "lost" else ())


def cluster_of(
    lists: np.ndarray, brokers: int, racks: int, *, dead: tuple[int, ...] = ()
) -> Cluster:
    """Topics of 50 partitions in canonical order; broker b lies in `/r(b mod racks)`."""
    partitions, r = lists.shape
    names = [f"t{i}" for i in range(-(-partitions // 50))]
    order = sorted(range(len(names)), key=lambda i: names[i].encode())
    rows = np.concatenate([np.arange(i * 50, min(i * 50 + 50, partitions)) for i in order])
    offsets = np.arange(partitions + 1, dtype=np.int64) * r
    replicas = Ragged(offsets, lists[rows].ravel().astype(np.int32))
    place = np.empty(len(names), dtype=np.int32)
    place[order] = np.arange(len(names))
    return Cluster(
        cluster_id="generated",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(
            Broker(id=b, rack=Rack(f"/r{b % racks}"), is_live=b not in dead) for b in range(brokers)
        ),
        topics={name: Topic(name=name, min_insync_replicas=1) for name in names},
        partitions=PartitionTable(
            topics=tuple(names[i] for i in order),
            topic=place[rows // 50],
            partition=(rows % 50).astype(np.int32),
            leader=lists[rows, 0].astype(np.int32),
            replicas=replicas,
            isr=replicas,
            adding=Ragged.empty(partitions),
            removing=Ragged.empty(partitions),
            bytes=np.ones(partitions, dtype=np.int64),
            bytes_in_per_s=np.full(partitions, -1, dtype=np.int64),
        ),
    )
