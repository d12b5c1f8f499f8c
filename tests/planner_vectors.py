"""The planner's vectors: tiny clusters as questions and plans, generated ones by their recipe."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from typing import TYPE_CHECKING, Any

import numpy as np

from naive_plan import Question
from rackwise.core.model import Broker, Cluster, PartitionTable, Ragged, Topic
from rackwise.core.planning.model import Balance, Drain, Repair, Replace, SetReplication
from rackwise.core.policy import POLICY_FORMAT, Policy, policy_of
from rackwise.core.racks import Rack
from rackwise.core.traffic import Price
from small_clusters import small_cluster
from vectors import planner_vectors

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from rackwise.core.planning.model import Goal

VECTORS: Mapping[str, Any] = planner_vectors()
GB = 10**9
CENT = 10**7
"""Nano-dollars."""


QUESTIONS: dict[str, Question] = {}
"""Those of the cases by name: what one has worked out, all may read."""


@dataclass(frozen=True)
class Case:
    """One solve of a tiny cluster, `row`; `objective` is a key of what the file expects of it."""

    row: Mapping[str, Any]
    objective: str

    @property
    def name(self) -> str:
        """A name that is unique among all solves."""
        alone = len(self.row["expect"]) == 1
        return self.row["name"] if alone else f"{self.row['name']}, {self.objective}"

    @property
    def cluster(self) -> Cluster:
        return tiny_cluster(self.row)

    @property
    def said(self) -> dict[str, Any]:
        """The policy that the file gives, by dotted key, with what the goal brings."""
        key, _, value = self.objective.partition(" with ")[2].partition(" = ")
        return {**self.row["policy"], **({f"topics.{key}": value} if key else {})}

    @property
    def policy(self) -> Policy:
        """The policy as a whole, with balance."""
        return _policy(self.row["levels"], self.said)

    @property
    def asked(self) -> tuple[Policy, Goal]:
        """The policy without what the goal brings, and the goal."""
        goal = _goal(self.row["goal"])
        brought = _BROUGHT.get(type(goal), ())
        said = {key: value for key, value in self.said.items() if key not in brought}
        return _policy(self.row["levels"], said), goal

    @property
    def minimise(self) -> str:
        """`moves`, `bytes` or `usd`."""
        return self.objective.partition(" ")[0]

    @property
    def expect(self) -> dict[str, Any]:
        """What the file expects, in GB or cents."""
        found: dict[str, Any] = self.row["expect"][self.objective]
        return found

    @property
    def unit(self) -> int:
        """How many of our units one of the file's units is."""
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
    for row in VECTORS["plans"]:
        for objective in row["expect"]:
            yield Case(row, objective)


def tiny_cluster(row: Mapping[str, Any]) -> Cluster:
    """The cluster of a vector, led by the first live replicas, with all live replicas in sync."""
    lists = {f"{topic}-{number}": replicas for topic, number, replicas, *_ in row["partitions"]}
    dead = row.get("dead", ())
    return small_cluster(
        {int(id_): rack for id_, rack in row["brokers"].items()},
        lists,
        dead=dead,
        leaders={name: None if found[0] in dead else found[0] for name, found in lists.items()},
        isr={name: [b for b in found if b not in dead] for name, found in lists.items()},
        sizes={f"{p[0]}-{p[1]}": GB * (p[3] if len(p) > 3 else 1) for p in row["partitions"]},
    )


def _policy(levels: list[str], said: Mapping[str, Any]) -> Policy:
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


_BROUGHT: Mapping[type, tuple[str, ...]] = {
    Drain: ("brokers.drain", "balance.replicas"),
    Repair: ("balance.replicas",),
    Replace: ("brokers.exclude", "balance.replicas"),
    SetReplication: ("topics.replication",),
}


def _goal(text: str) -> Goal:
    words = text.split()
    rebalance = "--rebalance" in words
    if words[0] == "drain":
        return Drain((int(words[1]),), rebalance)
    if words[0] == "replace":
        old, new = words[1].split("=")
        return Replace(((int(old), int(new)),))
    if words[0] == "set-rf":
        glob, count = words[1].split("=")
        return SetReplication(((glob, int(count)),), rebalance)
    return {"balance": Balance(), "repair": Repair()}[words[0]]


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
    """A generated cluster, one byte to a partition."""
    lists = generated_lists(kind, brokers, racks, partitions, r)
    return cluster_of(lists, brokers, racks, dead=(0,) if kind == "lost" else ())


def listed_cluster(row: Mapping[str, Any]) -> Cluster:
    """A generated cluster of the vector file."""
    keys = ("kind", "brokers", "racks", "partitions", "replication")
    return generated_cluster(*(row[key] for key in keys))


def cluster_of(
    lists: np.ndarray, brokers: int, racks: int, *, dead: tuple[int, ...] = ()
) -> Cluster:
    """Topics of 50 partitions in canonical order; broker b is in `/r(b mod racks)`.

    Led by the first live replicas, with all live replicas in sync.
    """
    partitions, r = lists.shape
    names = [f"t{i}" for i in range(-(-partitions // 50))]
    order = sorted(range(len(names)), key=lambda i: names[i].encode())
    rows = np.concatenate([np.arange(i * 50, min(i * 50 + 50, partitions)) for i in order])
    offsets = np.arange(partitions + 1, dtype=np.int64) * r
    replicas = Ragged(offsets, lists[rows].ravel().astype(np.int32))
    is_live = ~np.isin(lists[rows], dead)
    leader = lists[rows, is_live.argmax(axis=1)]
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
            leader=leader.astype(np.int32),
            replicas=replicas,
            isr=replicas.keep(is_live.ravel()),
            adding=Ragged.empty(partitions),
            removing=Ragged.empty(partitions),
            bytes=np.ones(partitions, dtype=np.int64),
            bytes_in_per_s=np.full(partitions, -1, dtype=np.int64),
        ),
    )
