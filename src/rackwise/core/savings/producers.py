"""The saving of producers: records without a key go to leaders in the producer's rack.

For each topic, `split_by_balance` splits the bytes that the clients of a rack may send anywhere.
It splits them over the racks of the topic's leaders, within a bound on what a rack receives. Inside
a rack all leaders get an even share.

```
orders  clients in a send 9 GiB; leaders a 1, b 1, c 1      local    fullest rack
today   3 each                                              0.333    1
eps 0.1 3.3 may stay                                        0.367    1.1
no eps  all of it (KIP-1123)                                1        3
```

Records with a key stay where they are, and so do the bytes of clients in a rack without a leader.
Both count towards the load of the racks that receive them. A topic whose racks have different
depths is left unchanged.

What this does not do: see keys. The share of records without a key is an input.

Source: KIP-1123.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.core.errors import SplitError
from rackwise.core.partitioner import RackRates, split_by_balance
from rackwise.core.partitioner.split.rates import check_one_depth
from rackwise.core.savings.model import UNATTRIBUTED
from rackwise.core.savings.traffic.chunks import NO_RACK
from rackwise.core.savings.traffic.columns import (
    Lists,
    apportion_rows,
    packed,
    run_starts,
    run_sums,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.partitioner import Split
    from rackwise.core.savings.traffic.chunks import Chunk, Lanes, TrafficNames
    from rackwise.core.savings.traffic.columns import Codes, Exact
    from rackwise.core.savings.traffic.patterns import Patterns

FINE = 2**53
"""The parts of a share, for whole numbers: the precision of a float."""


class Partitioned(NamedTuple):
    """The chunks of produced bytes after partitioning by rack."""

    chunks: Sequence[Chunk]
    load_factors: Mapping[str, float]
    """topic -> the load of the fullest rack divided by its even share."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TopicLeaders:
    """The leaders of each topic by rack; a home is a topic and a rack that has a leader of it."""

    homes: Codes
    """Code of the topic times `racks` plus the code of the rack, in rising order."""
    lists: Lists
    """The patterns of each home."""
    pattern: Codes
    count: Codes
    """Partitions of the pattern."""
    racks: int

    @classmethod
    def of(cls, patterns: Patterns, names: TrafficNames) -> TopicLeaders:
        """The leaders in known racks."""
        racks, leader = len(names.racks), patterns.table.racks[:, 0].astype(np.int64)
        pattern = np.flatnonzero(leader != NO_RACK)
        home = patterns.topic[pattern] * racks + leader[pattern]
        order = np.argsort(home, kind="stable")
        starts = run_starts(home[order])
        return cls(
            homes=home[order][starts],
            lists=Lists(starts, np.diff(starts, append=len(home))),
            pattern=pattern[order],
            count=patterns.count[pattern[order]],
            racks=racks,
        )

    def leads(self, topic: Codes, rack: Codes) -> NDArray[np.bool_]:
        """Whether a partition of the topic has its leader in the rack."""
        home = topic.astype(np.int64) * self.racks + rack
        found: NDArray[np.bool_] = np.isin(home, self.homes) & (rack != NO_RACK)
        return found

    def weights(self) -> Mapping[int, Mapping[int, int]]:
        """Topic -> rack -> number of leaders."""
        found: defaultdict[int, dict[int, int]] = defaultdict(dict)
        counts = run_sums(self.count, self.lists.start)
        for home, count in zip(self.homes.tolist(), counts.tolist(), strict=True):
            topic, rack = divmod(home, self.racks)
            found[topic][rack] = count
        return found


class Producers:
    """The bytes of producers of one traffic, whatever the bound is."""

    def __init__(
        self,
        chunks: Sequence[Chunk],
        patterns: Patterns,
        lanes: Lanes,
        names: TrafficNames,
        unkeyed: Mapping[str, float],
    ) -> None:
        """`chunks`: of produced bytes. `unkeyed`: topic -> records without a key, else 1."""
        self._lanes = lanes
        self._names = names
        self._patterns = patterns
        self._leaders = TopicLeaders.of(patterns, names)
        self._weights = self._leaders.weights()
        self._shares = {
            code: Fraction(str(unkeyed[name]))
            for code, name in enumerate(names.topics)
            if name in unkeyed
        }
        self._parts = [self._separated(chunk) for chunk in chunks]
        # topic -> rack of the client, or of the leader -> bytes
        self._free: defaultdict[int, defaultdict[int, int]] = defaultdict(lambda: defaultdict(int))
        self._pinned: defaultdict[int, defaultdict[int, int]] = defaultdict(
            lambda: defaultdict(int)
        )
        for part in self._parts:
            self._add(self._free, part.free, part.free.far)
            self._add(self._pinned, part.pinned, part.pinned.near)

    def partitioned(self, eps: float) -> Partitioned:
        """The traffic where records without a key stay in the racks of their producers.

        `eps`: the bound on a rack's load.
        """
        splits: dict[int, Split] = {}
        for topic in sorted({*self._free, *self._pinned}):
            split = self._split(topic, eps)
            if split is not None:
                splits[topic] = split
        shares = _Shares.of(splits, self._leaders, self._names)
        is_split = np.zeros(len(self._names.topics), dtype=np.bool_)
        is_split[list(splits)] = True
        factors = {self._names.topics[topic]: split.load_factor for topic, split in splits.items()}
        return Partitioned(
            [
                self._distributed(
                    part, is_split[self._lanes.topic[part.whole.lane]], is_split, shares
                )
                for part in self._parts
            ],
            factors,
        )

    def _separated(self, chunk: Chunk) -> _Parts:
        """The bytes that may go to any leader, and the bytes that stay."""
        is_known = chunk.slot != UNATTRIBUTED
        whole = chunk.part(np.flatnonzero(is_known))
        topic = self._lanes.topic[whole.lane]
        may_go = np.where(self._leaders.leads(topic, whole.far), whole.bytes, 0)
        for code, share in self._shares.items():
            rows = np.flatnonzero(topic == code)
            if len(rows):
                each = [int(bytes_ * share) for bytes_ in may_go[rows].tolist()]
                may_go[rows] = np.array(each, dtype=may_go.dtype)
        free, pinned = whole._replace(bytes=may_go), whole._replace(bytes=whole.bytes - may_go)
        return _Parts(
            chunk.part(np.flatnonzero(~is_known)),
            whole,
            free.part(np.flatnonzero(free.bytes != 0)),
            pinned.part(np.flatnonzero(pinned.bytes != 0)),
        )

    def _add(self, sums: Mapping[int, defaultdict[int, int]], keys: Chunk, rack: Codes) -> None:
        """Add the bytes of keys to the sums of topics and racks."""
        code = packed(
            (self._lanes.topic[keys.lane], rack), (len(self._names.topics), len(self._names.racks))
        )
        order = np.argsort(code, kind="stable")
        starts = run_starts(code[order])
        rows = order[starts]
        for topic, one, bytes_ in zip(
            self._lanes.topic[keys.lane[rows]].tolist(),
            rack[rows].tolist(),
            run_sums(keys.bytes[order], starts).tolist(),
            strict=True,
        ):
            sums[topic][one] += bytes_

    def _split(self, topic: int, eps: float) -> Split | None:
        """The split for the whole observed period; None where racks cannot be compared."""
        texts = self._names.racks
        free, pinned = (
            {texts[rack]: float(bytes_) for rack, bytes_ in sums[topic].items()}
            for sums in (self._free, self._pinned)
        )
        weights = {texts[rack]: count for rack, count in self._weights.get(topic, {}).items()}
        rates = RackRates(free, pinned)
        try:
            check_one_depth(sorted({*free, *pinned, *weights}))
            return split_by_balance(rates, weights, eps)
        except SplitError:
            return None

    def _distributed(
        self, part: _Parts, is_split: NDArray[np.bool_], splits: NDArray[np.bool_], shares: _Shares
    ) -> Chunk:
        """A chunk where the free bytes of each rack's clients are distributed by the split."""
        stays = part.whole.part(np.flatnonzero(~is_split))
        free, pinned = (
            keys.part(np.flatnonzero(splits[self._lanes.topic[keys.lane]]))
            for keys in (part.free, part.pinned)
        )
        # The bytes that the clients of a rack send, whatever leader received them.
        none = np.zeros_like(free.near)
        sent = free._replace(near=none, slot=none).added_up()
        home, rows, bytes_ = shares.divided(self._lanes.topic[sent.lane], sent.far, sent.bytes)
        lists = self._leaders.lists.of_rows(home)
        row, entry = lists.expanded()
        parts = sent.part(rows[row])
        near = self._leaders.homes[home[row]] % self._leaders.racks
        slot = self._leaders.pattern[entry] * self._patterns.table.width
        each = apportion_rows(bytes_, lists.length, self._leaders.count[entry])
        return part.unknown.joined(stays, pinned, parts._replace(near=near, slot=slot, bytes=each))


class _Parts(NamedTuple):
    """The bytes of a chunk."""

    unknown: Chunk
    """Of unknown partitions."""
    whole: Chunk
    """Of known partitions: `free` and `pinned` together."""
    free: Chunk
    """May go to any leader."""
    pinned: Chunk
    """Stay where they are."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class _Shares:
    """The shares of homes in the bytes of each client rack of a topic."""

    codes: Codes
    """Code of the topic times `racks` plus the code of the client rack, in rising order."""
    lists: Lists
    home: Codes
    """Numbers of homes, in the order of their racks' texts."""
    part: Codes
    """The share of the home, in parts of `FINE`."""
    racks: int

    @classmethod
    def of(cls, splits: Mapping[int, Split], leaders: TopicLeaders, names: TrafficNames) -> _Shares:
        """The shares of the splits of topics."""
        code_of = {rack: code for code, rack in enumerate(names.racks)}
        number = {home: row for row, home in enumerate(leaders.homes.tolist())}
        codes, lengths, entries = [], [], []
        for topic, split in sorted(splits.items()):
            for client in sorted(split.shares):
                found = [
                    (number[topic * leaders.racks + code_of[rack]], round(share * FINE))
                    for rack, share in sorted(split.shares[client].items())
                    if round(share * FINE)
                ]
                codes.append(topic * leaders.racks + code_of[client])
                lengths.append(len(found))
                entries += found
        return cls(
            codes=np.array(codes, dtype=np.int64),
            lists=Lists.of(lengths),
            home=np.array([home for home, _ in entries], dtype=np.int64),
            part=np.array([part for _, part in entries], dtype=np.int64),
            racks=leaders.racks,
        )

    def divided(self, topic: Codes, client: Codes, bytes_: Exact) -> tuple[Codes, Codes, Exact]:
        """The homes that get some of the bytes: number, row, and bytes of each."""
        place = np.searchsorted(self.codes, topic.astype(np.int64) * self.racks + client)
        lists = self.lists.of_rows(place)
        row, entry = lists.expanded()
        share = apportion_rows(bytes_, lists.length, self.part[entry])
        some = np.flatnonzero(share != 0)
        return self.home[entry[some]], row[some], share[some]
