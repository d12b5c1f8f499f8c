"""A cluster under a policy, as columns of small integers that checks compute with.

Goals, in order: every check (the audit, the blast radius) uses the same terms in the same meaning;
a million partitions cost a few passes over arrays; nothing is computed that no rule needs.

Terms:

- placed: the replicas without those that a running reassignment adds (KIP-455);
- place: the column of a broker in the rack tree; all brokers that are not listed share the last;
- live: listed and not fenced; usable: live and not to be drained;
- in sync: members of the ISR on live brokers, including added replicas, as Kafka counts them;
- preferred: the first placed replica.

Distinct patterns. Most partitions of a cluster are alike: three replicas can be spread over three
racks in only ten ways. Therefore rules are checked, and texts written, once for each distinct row
of codes:

```
row    racks     sorted     pattern        patterns   result
0      a b c     a b c      0              0 a b c    ok
1      c a b     a b c      0              1 a a b    wanted "/a 1, /c 1", had "/a 2, /c 0"
2      a b a     a a b      1
```

What this does not do: check anything.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.model import FairLoads
from rackwise.core.racks import RackTree, level_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Cluster, Ragged
    from rackwise.core.policy import Policy, TopicRules

NO_LIMITS = FairLoads()
"""Fair loads without any limit."""
_TABLE_SIZE = 1 << 22
"""`distinct` numbers codes below this with a table (32 MiB of int64), and others by sorting."""


class RackPatterns(NamedTuple):
    """The distinct spreads over the finest racks, of rows with equal rules and replication."""

    rules: TopicRules
    rows: NDArray[np.int64]
    """Rows of the partition table, [rows]."""
    pattern: NDArray[np.int64]
    """Pattern of each row, [rows]."""
    nodes: NDArray[np.int64]
    """Rack of each replica, rising, [patterns, replicas]; -1 = not known."""
    unusable: NDArray[np.bool_]
    """Whether the replica's broker is dead or to be drained, [patterns, replicas]."""


class View:
    """The columns of one cluster under one policy; each is computed when it is first read."""

    def __init__(self, cluster: Cluster, policy: Policy, fair: FairLoads = NO_LIMITS) -> None:
        self.cluster = cluster = cluster.settled(policy.racks.map)
        """With the racks that count."""
        self.policy = policy
        self.fair = fair
        """What each broker should hold; without limits unless a planner computed it."""
        self.table = cluster.partitions
        self.tree = RackTree.of(
            ((broker.id, broker.rack) for broker in cluster.brokers), missing=policy.racks.missing
        )
        self.levels = level_names(self.tree.depth, policy.racks.levels)

    @cached_property
    def live(self) -> NDArray[np.bool_]:
        """Whether each broker is live, bool [places]; the last place (unlisted) is false."""
        live = {broker.id: broker.is_live for broker in self.cluster.brokers}
        return np.array([*(live[id_] for id_ in self.tree.brokers.tolist()), False])

    @cached_property
    def drained(self) -> NDArray[np.bool_]:
        """Whether the broker is to be drained, [places]; false for brokers that are not listed."""
        return np.append(np.isin(self.tree.brokers, self.policy.brokers.drain), False)

    @cached_property
    def cordoned(self) -> NDArray[np.bool_]:
        """Whether the broker takes no new replicas, [places]; false for unlisted brokers."""
        cordoned = {broker.id: broker.is_cordoned for broker in self.cluster.brokers}
        return np.array([*(cordoned[id_] for id_ in self.tree.brokers.tolist()), False])

    @cached_property
    def usable(self) -> NDArray[np.bool_]:
        """Whether the broker is live and not to be drained, [places]."""
        return self.live & ~self.drained

    @cached_property
    def placed(self) -> Ragged:
        """Broker ids of the placed replicas."""
        return self.table.placed

    @cached_property
    def preferred(self) -> NDArray[np.int64]:
        """Broker id of the first placed replica, int64 [rows]; -1 if there is no replica."""
        return self.placed.firsts

    @cached_property
    def placed_places(self) -> NDArray[np.int64]:
        """Place of each placed replica, aligned with `placed.values`."""
        return self.tree.places(self.placed.values)

    @cached_property
    def isr_places(self) -> NDArray[np.int64]:
        """Place of each member of the ISR, aligned with the table's `isr.values`."""
        return self.tree.places(self.table.isr.values)

    @cached_property
    def in_sync(self) -> NDArray[np.int64]:
        """Number of live members of the ISR, int64 [rows]."""
        return self.sums(self.table.isr, self.live[self.isr_places])

    @property
    def min_isr(self) -> NDArray[np.int64]:
        """`min.insync.replicas` of each partition's topic, int64 [rows], -1 = not known."""
        return self.topic_min_isr[self.table.topic]

    @cached_property
    def topic_min_isr(self) -> NDArray[np.int64]:
        """`min.insync.replicas` of each topic of the table, -1 = not known."""
        topics = (self.cluster.topics.get(name) for name in self.table.topics)
        known = [
            -1 if topic is None or topic.min_insync_replicas is None else topic.min_insync_replicas
            for topic in topics
        ]
        return np.array(known, dtype=np.int64)

    @cached_property
    def _topic_rules(self) -> tuple[tuple[TopicRules, ...], NDArray[np.int64]]:
        """The distinct rules, and the index of each topic's rules among them, int64 [topics]."""
        names = self.table.topics
        if not self.policy.topics:
            blocks: list[tuple[int, ...]] = [()] * len(names)
        else:
            blocks = [self.policy.blocks_of(name) for name in names]
        rules: dict[TopicRules, int] = {}
        by_blocks: dict[tuple[int, ...], int] = {}
        for matching in dict.fromkeys(blocks):
            found = self.policy.rules_from(matching, self.levels)
            by_blocks[matching] = rules.setdefault(found, len(rules))
        codes = np.array([by_blocks[matching] for matching in blocks], dtype=np.int64)
        return tuple(rules), codes

    @property
    def rules(self) -> tuple[TopicRules, ...]:
        """The distinct rules of this cluster's topics."""
        return self._topic_rules[0]

    @property
    def topic_rules(self) -> NDArray[np.int64]:
        """Index into `rules` of each topic of the table."""
        return self._topic_rules[1]

    @cached_property
    def row_rules(self) -> NDArray[np.int64]:
        """Index into `rules` of each row."""
        return self.topic_rules[self.table.topic]

    @cached_property
    def rack_patterns(self) -> tuple[RackPatterns, ...]:
        """The patterns of all rows, in groups of equal rules and number of placed replicas."""
        leaf = self.tree.nodes[-1].astype(np.int64)
        # One code for each replica: 0 = rack not known, else 2 * (rack + 1), + 1 if not usable.
        codes = np.where(leaf >= 0, (leaf + 1) * 2 + ~self.usable, 0)[self.placed_places]
        found = []
        for number, rules in enumerate(self.rules):
            rows = np.flatnonzero(self.row_rules == number)
            for chosen, (index,) in blocks(self.placed, rows=rows):
                if not index.shape[1]:
                    continue
                sorted_codes = np.sort(codes[index], axis=1)
                pattern, examples = distinct(list(sorted_codes.T))
                kept = sorted_codes[examples]
                found.append(RackPatterns(rules, chosen, pattern, kept // 2 - 1, kept % 2 == 1))
        return tuple(found)

    def usable_below(self, level: int) -> NDArray[np.int64]:
        """Number of usable brokers below each node of a level, int64 [nodes]."""
        nodes = self.tree.nodes[level]
        inside = self.usable & (nodes >= 0)
        return np.bincount(nodes[inside], minlength=len(self.tree.names[level]))

    def inside(self, level: int, node: int) -> NDArray[np.bool_]:
        """Whether the broker is below a node, [places]."""
        inside: NDArray[np.bool_] = self.tree.nodes[level] == node
        return inside

    def below(self, rack: str) -> NDArray[np.bool_]:
        """Whether the broker is below the rack with this text, [places]; false for no such rack."""
        place = self.tree.find(rack)
        return np.zeros(len(self.live), dtype=np.bool_) if place is None else self.inside(*place)

    @staticmethod
    def sums(rows: Ragged, values: NDArray[np.bool_] | NDArray[np.int64]) -> NDArray[np.int64]:
        """Sum of each row's `values`, int64 [rows]; `values`: one for each value of `rows`."""
        totals = np.zeros(len(values) + 1, dtype=np.int64)
        np.cumsum(values, out=totals[1:])
        return totals[rows.offsets[1:]] - totals[rows.offsets[:-1]]


def blocks(
    *columns: Ragged, rows: NDArray[np.int64] | None = None
) -> Iterator[tuple[NDArray[np.int64], list[NDArray[np.int64]]]]:
    """Groups of rows whose lists have equal lengths, as dense arrays.

    Yields the rows [n], and for each column the indices [n, length] of their values in the column.
    `rows`: only these, rising; None = all.
    """
    wanted = np.arange(len(columns[0]), dtype=np.int64) if rows is None else rows
    if not len(wanted):
        return
    pattern, examples = distinct([column.lengths[wanted] for column in columns])
    for code, example in enumerate(examples.tolist()):
        chosen = wanted if len(examples) == 1 else wanted[pattern == code]
        yield (
            chosen,
            [
                column.offsets[chosen][:, None] + np.arange(column.lengths[wanted[example]])
                for column in columns
            ],
        )


def distinct(
    columns: Sequence[NDArray[np.signedinteger]],
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Number the distinct rows of one or more columns of equal length, one or more rows.

    Returns the code of each row, and for each code the index of a row that has it. Codes rise in
    the lexicographic order of the rows.
    """
    key = np.zeros(len(columns[0]), dtype=np.int64)
    space = 1
    for column in columns:
        low = int(column.min())
        size = int(column.max()) - low + 1
        key = key * size + (column - np.int64(low))
        space *= size
        # Renumber before the next column multiplies the key, so that it never exceeds int64.
        if space > _TABLE_SIZE:
            values, key = np.unique(key, return_inverse=True)
            space = len(values)
    example = np.full(space, -1, dtype=np.int64)
    example[key] = np.arange(len(key))
    used = example >= 0
    code = np.cumsum(used) - 1
    return code[key], example[used]


def matches(codes: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Which values of a row are equal and not negative, bool [rows, length, length]."""
    return np.equal(codes[:, :, None], codes[:, None, :]) & (codes >= 0)[:, None, :]


def firsts(same: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Whether a value is not negative and the first among its equals, bool [rows, length].

    `same`: what `matches` returned.
    """
    length = same.shape[1]
    earlier = np.tri(length, length, -1, dtype=np.bool_)
    is_known = np.diagonal(same, axis1=1, axis2=2)
    return is_known & ~(same & earlier).any(axis=2)


def id_texts(rows: Ragged) -> tuple[NDArray[np.int64], list[str]]:
    """The rows of ids as texts: the code of each row, and the text of each code.

    Ids rise within a text; the text of an empty row is `none`.
    """
    code = np.zeros(len(rows), dtype=np.int64)
    texts: list[str] = []
    for chosen, (index,) in blocks(rows):
        if not index.shape[1]:
            code[chosen] = len(texts)
            texts.append("none")
            continue
        values = np.sort(rows.values[index], axis=1)
        pattern, examples = distinct(list(values.T))
        code[chosen] = pattern + len(texts)
        texts.extend(", ".join(map(str, values[example].tolist())) for example in examples.tolist())
    return code, texts
