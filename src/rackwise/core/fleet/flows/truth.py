"""Computes what a reader of the generated files must find: exact totals, findings and dollars.

Bytes come from the tally. Three exact steps lead from it to the bill:

```
topics    a replicate flow without a topic is divided over the partitions that its sender leads
          and its receiver follows, with equal weights, by `core.traffic.apportion`; without such a
          partition the topic stays unknown
levels    `core.racks.crossing_level` of the two racks
dollars   `core.traffic.usd_nano`, out and in, of each row (day, cluster, kind, topic, group,
          racks, quality); a total is the sum of its rows
```

With several looks, each flow has its topic, and a group if a group reads, also in logs that name
neither. A reader that apportions bytes finds the same bytes per cluster, day, kind and rack pair;
its bytes per topic and group are close to the truth. Its rows differ, and each is rounded to a
nano-dollar, so its dollars differ by less than two nano-dollars per row.

What this does not do: read a flow file, or use the pipeline.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from datetime import date
from operator import itemgetter
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from rackwise.core.fleet.flows.traffic import KINDS, REPLICATE
from rackwise.core.fleet.world.endpoints import NOBODY
from rackwise.core.fleet.world.options import EPOCH_ORDINAL
from rackwise.core.fleet.world.violations import violations
from rackwise.core.json.forms import (
    AnyForm,
    ChoiceForm,
    Form,
    IntegerForm,
    ListForm,
    MappingForm,
    NullableForm,
    RecordForm,
    TextForm,
)
from rackwise.core.racks import MAX_LEVELS, Rack, crossing_level
from rackwise.core.traffic import REGION, apportion, exact_usd_text, known_sum, price_of, usd_nano

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.fleet.flows.tally import Tally
    from rackwise.core.fleet.world.topology import Topology
    from rackwise.core.model import Cluster
    from rackwise.core.traffic import Price

FORMAT = "rackwise.truth/1"
LEVELS = ("region", "zone", "rack", "shelf")
"""Names of the levels, coarsest first, if racks have more than one."""
MEASURED, APPORTIONED, ESTIMATED = "measured", "apportioned", "estimated"
_NAME = TextForm()
_NUMBER = IntegerForm(0, 2**63 - 1, "a number from 0 on")
_SUMS: dict[str, Form] = {
    "bytes": _NUMBER,
    "bytes_local": _NUMBER,
    "bytes_cross": _NUMBER,
    "bytes_unknown": _NUMBER,
    "bytes_unpriced": _NUMBER,
    "usd": NullableForm(_NAME),
}


def _totals(**columns: Form) -> ListForm:
    return ListForm(RecordForm({**columns, **_SUMS}))


TRUTH = RecordForm(
    {
        "format": ChoiceForm((FORMAT,), FORMAT),
        "options": MappingForm(AnyForm(), "any"),
        "levels": ListForm(_NAME),
        "rows": _NUMBER,
        "bytes": _NUMBER,
        "outcomes": MappingForm(RecordForm({"rows": _NUMBER, "bytes": _NUMBER}), "any"),
        "total": _totals(),
        "by_kind": _totals(cluster=_NAME, kind=_NAME),
        "by_kind_and_level": _totals(
            cluster=_NAME, kind=_NAME, level=IntegerForm(-1, MAX_LEVELS, "a level")
        ),
        "by_pair": _totals(cluster=_NAME, from_rack=_NAME, to_rack=_NAME),
        "by_day": _totals(cluster=_NAME, day=_NAME),
        "by_topic": _totals(cluster=_NAME, topic=_NAME),
        "by_group": _totals(cluster=_NAME, client_group=_NAME),
        "by_quality": _totals(cluster=_NAME, quality=_NAME),
        "clusters": ListForm(
            RecordForm(
                {
                    "cluster": _NAME,
                    "brokers": _NUMBER,
                    "topics": _NUMBER,
                    "partitions": _NUMBER,
                    "violations": MappingForm(_NUMBER, "any"),
                }
            )
        ),
        "by_kind_and_pair": _totals(cluster=_NAME, kind=_NAME, from_rack=_NAME, to_rack=_NAME),
        "by_topic_and_group": _totals(cluster=_NAME, topic=_NAME, client_group=_NAME, kind=_NAME),
    },
    may_be_absent=frozenset({"by_kind_and_pair", "by_topic_and_group"}),
)
"""The form of a truth; the last two tables exist if the clusters have several looks."""
UNKNOWN = "(unknown)"
"""The topic, client group or rack of bytes without one."""
PLACES = ("local", "cross", "unknown", "unpriced")
"""Where bytes go; `unpriced` bytes are those of `cross` without a price."""


class BillRow(NamedTuple):
    """The key of a row of the bill; all bytes of a row are priced together."""

    day: str
    cluster: str
    kind: str
    topic: str
    client_group: str
    from_rack: str
    to_rack: str
    level: int
    quality: str


class Amount(NamedTuple):
    """Bytes of a row of the bill, and nano-dollars; None = no price."""

    bytes: int
    nano: int | None


PricedRows: TypeAlias = "Mapping[BillRow, Amount]"


def price_tally(
    clusters: Sequence[Cluster],
    racks: Sequence[Rack],
    world: Topology,
    tally: Tally,
    prices: Sequence[Price],
    *,
    is_estimate: bool = False,
) -> PricedRows:
    """The bill of a tally, row by row.

    `prices`: rows of one provider. `is_estimate`: whether the bytes of all flows are estimates.

    Raises `InvalidPrices` for a day that no row or more than one row covers.
    """
    bytes_: Counter[BillRow] = Counter()
    for row, part in _iter_bill_rows(clusters, racks, world, tally):
        bytes_[row._replace(quality=ESTIMATED) if is_estimate else row] += part
    names = level_names_of(racks)
    chosen: dict[tuple[str, str, str, int], Price | None] = {}
    amounts: dict[BillRow, Amount] = {}
    for row, amount in bytes_.items():
        place = (row.day, row.kind, row.from_rack, row.level)
        if row.level > 0 and place not in chosen:
            chosen[place] = _find_price(prices, names, row)
        local = 0 if row.level == 0 else None
        price = chosen.get(place)
        amounts[row] = Amount(amount, local if price is None else _usd_nano(amount, price))
    return amounts


def level_names_of(racks: Sequence[Rack]) -> tuple[str, ...]:
    """Names of the levels of these racks, coarsest first; `zone` if there is only one level."""
    depth = max(len(rack.levels) for rack in racks)
    return ("zone",) if depth <= 1 else LEVELS[:depth]


def totals(bill: PricedRows, *columns: str) -> list[dict[str, Any]]:
    """One entry for each distinct value of some columns of `BillRow`, in rising order.

    It has the bytes in total and by place; `usd` is text with nine digits, None if it is
    not known (see `core.traffic.known_sum`).
    """
    found: defaultdict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    nanos: defaultdict[tuple[Any, ...], list[int | None]] = defaultdict(list)
    for row, (bytes_, nano) in bill.items():
        sums = found[tuple(getattr(row, column) for column in columns)]
        sums[_place_of_level(row.level)] += bytes_
        sums["unpriced"] += bytes_ if nano is None and row.level > 0 else 0
        nanos[tuple(getattr(row, column) for column in columns)].append(nano)
    return [
        {
            **dict(zip(columns, key, strict=True)),
            "bytes": sums["local"] + sums["cross"] + sums["unknown"],
            **{f"bytes_{place}": sums[place] for place in PLACES},
            "usd": None if (nano := known_sum(nanos[key])) is None else exact_usd_text(nano),
        }
        for key, sums in sorted(found.items(), key=itemgetter(0))
    ]


def truth_document(
    *,
    options: Mapping[str, Any],
    clusters: Sequence[Cluster],
    racks: Sequence[Rack],
    tally: Tally,
    bill: PricedRows,
    has_looks: bool,
) -> dict[str, Any]:
    """The document of `truth.json`, with the pipeline's names; dollars are text, nine digits.

    `has_looks`: whether snapshots meter the traffic.
    """
    outcomes: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for (_, outcome), (rows, bytes_) in tally.outcomes.items():
        outcomes[outcome].update(rows=rows, bytes=bytes_)
    return {
        "format": FORMAT,
        "options": dict(options),
        "levels": list(level_names_of(racks)),
        "rows": sum(sums["rows"] for sums in outcomes.values()),
        "bytes": sum(sums["bytes"] for sums in outcomes.values()),
        "outcomes": {outcome: dict(sums) for outcome, sums in sorted(outcomes.items())},
        "total": totals(bill),
        "by_kind": totals(bill, "cluster", "kind"),
        "by_kind_and_level": totals(bill, "cluster", "kind", "level"),
        "by_pair": totals(bill, "cluster", "from_rack", "to_rack"),
        "by_day": totals(bill, "cluster", "day"),
        "by_topic": totals(bill, "cluster", "topic"),
        "by_group": totals(bill, "cluster", "client_group"),
        "by_quality": totals(bill, "cluster", "quality"),
        "clusters": [
            {
                "cluster": cluster.cluster_id,
                "brokers": len(cluster.brokers),
                "topics": len(cluster.topics),
                "partitions": len(cluster.partitions),
                "violations": dict(violations(cluster)),
            }
            for cluster in clusters
        ],
        **(_metered_totals(bill) if has_looks else {}),
    }


def _metered_totals(bill: PricedRows) -> dict[str, Any]:
    """The tables of a fleet whose flows all have a topic, and a group where a group reads."""
    return {
        "by_kind_and_pair": totals(bill, "cluster", "kind", "from_rack", "to_rack"),
        "by_topic_and_group": totals(bill, "cluster", "topic", "client_group", "kind"),
    }


def _iter_bill_rows(
    clusters: Sequence[Cluster], racks: Sequence[Rack], world: Topology, tally: Tally
) -> Iterator[tuple[BillRow, int]]:
    """The rows of the bill and their bytes, one or more for each cell of the tally."""
    topics_by_pair = [_topics_by_pair(cluster) for cluster in clusters]
    ids = world.brokers.ids.tolist()
    level = {
        (a, b): crossing_level(_rack(racks, a), _rack(racks, b))
        for a in range(NOBODY, len(racks))
        for b in range(NOBODY, len(racks))
    }
    for cell, bytes_ in zip(tally.cells.tolist(), tally.bytes.tolist(), strict=True):
        day, cluster, kind, topic, broker, peer, group, from_rack, to_rack = cell
        row = BillRow(
            day=date.fromordinal(EPOCH_ORDINAL + day).isoformat(),
            cluster=str(clusters[cluster].cluster_id),
            kind=KINDS[kind],
            topic=UNKNOWN if topic == NOBODY else world.partitions.names[topic],
            client_group=UNKNOWN if group == NOBODY else world.clients.groups[group],
            from_rack=str(_rack(racks, from_rack) or UNKNOWN),
            to_rack=str(_rack(racks, to_rack) or UNKNOWN),
            level=level[from_rack, to_rack],
            quality=MEASURED,
        )
        weights = (
            topics_by_pair[cluster].get((ids[broker], ids[peer])) if kind == REPLICATE else None
        )
        if topic != NOBODY or weights is None:
            yield row, bytes_
            continue
        shares = apportion(bytes_, [weight for _, weight in weights])
        for (name, _), share in zip(weights, shares, strict=True):
            yield row._replace(topic=name, quality=APPORTIONED), share


def _topics_by_pair(cluster: Cluster) -> Mapping[tuple[int, int], list[tuple[str, int]]]:
    """(leader, follower) -> topics in order, with the number of partitions between the two."""
    table = cluster.partitions
    leader = table.leader[table.replicas.rows]
    is_copy = (leader >= 0) & (leader != table.replicas.values)
    topic = table.topic[table.replicas.rows]
    triples = np.column_stack([leader, table.replicas.values, topic])[is_copy]
    found: dict[tuple[int, int], list[tuple[str, int]]] = {}
    distinct, counts = np.unique(triples, axis=0, return_counts=True)
    for (sender, receiver, place), count in zip(distinct.tolist(), counts.tolist(), strict=True):
        found.setdefault((sender, receiver), []).append((table.topics[place], count))
    return found


def _rack(racks: Sequence[Rack], index: int) -> Rack | None:
    return None if index == NOBODY else racks[index]


def _place_of_level(level: int) -> str:
    return "unknown" if level < 0 else "cross" if level else "local"


def _find_price(prices: Sequence[Price], names: Sequence[str], row: BillRow) -> Price | None:
    region = Rack(row.from_rack).levels[names.index(REGION)] if REGION in names else None
    choice = price_of(
        prices,
        region=region,
        level=names[row.level - 1],
        kind=row.kind,
        day=date.fromisoformat(row.day),
    )
    return None if choice is None else choice.price


def _usd_nano(bytes_: int, price: Price) -> int:
    return usd_nano(bytes_, price.nano_usd_per_gb_out, price.gb_bytes) + usd_nano(
        bytes_, price.nano_usd_per_gb_in, price.gb_bytes
    )
