"""The findings of a fleet in the summary: by rule, by topic and one by one, worst first.

What is worst is decided by the consequence of a rule (`core.rules.consequence`), not by its
severity. Findings of equal consequence stay in the order of the table. The columns are sorted and
counted with Arrow and numpy, so that a fleet with a million findings takes a second; only rows that
are listed become Python objects.

```
table                                     by topic
a  orders-0  spread-even                  a  orders   offline if a rack is lost  1 of 3 findings
a  orders-0  rack-loss-offline    ->      a  logs     not as the policy wants    1 of 1 finding
a  orders-1  spread-even
a  logs-4    spread-even
```

What this does not do: audit; see `findings`.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from rackwise.core.audit import RULES
from rackwise.core.rules.consequence import Consequence, by_consequence, consequence
from rackwise.pipeline.columns.table_rows import leading, leading_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

RANKED = by_consequence(RULES)
"""The rules, worst first."""


def findings_part(table: pa.Table, *, most: int, each: int) -> dict[str, Any]:
    """`by_rule`, `by_topic` and `worst` of the summary, worst first, and how many there are.

    `table`: rows of FINDING; `most`: maximum rows of a list, to which the first `each` rows of
    every cluster are added.
    """
    counts = pc.value_counts(table["rule"]).to_pylist()
    by_name = {row["values"]: row["counts"] for row in counts}
    topics = _topics(table)
    return {
        "by_rule": [
            {
                "rule": rule.name,
                "severity": str(rule.severity),
                "consequence": str(consequence(rule)),
                "count": by_name[rule.name],
                "sentence": rule.sentence,
            }
            for rule in RANKED
            if rule.name in by_name
        ],
        "by_topic": leading(topics, most=most, each=each),
        "topics": len(topics),
        "count": len(table),
        "worst": [
            row | {"consequence": str(consequence(RULES[row["rule"]]))}
            for row in table.take(_worst(table, most=most, each=each)).to_pylist()
        ],
    }


def _worst(table: pa.Table, *, most: int, each: int) -> NDArray[np.int64]:
    """Rows of the table: the `most` worst, and the `each` worst of every cluster."""
    rules = pa.array([*RULES], pa.string())
    ranks = np.array([_rank(name) for name in RULES], dtype=np.int64)
    order = np.argsort(ranks[_codes(table["rule"], rules)], kind="stable")
    return order[leading_places(table["cluster"].take(order), most=most, each=each)]


def _rank(rule: str) -> int:
    return list(Consequence).index(consequence(RULES[rule]))


def _codes(column: pa.ChunkedArray, names: pa.Array) -> NDArray[np.int64]:
    """The place of each text in `names`."""
    places: NDArray[np.int64] = pc.index_in(column, value_set=names).to_numpy().astype(np.int64)
    return places


def _topics(table: pa.Table) -> list[dict[str, Any]]:
    """One row per topic with findings, worst first."""
    keys = ["cluster", "topic"]
    table = table.select([*keys, "rule", "partition"])
    of_topics = table.filter(pc.is_valid(table["topic"]))
    found: defaultdict[tuple[str, str], list[tuple[int, str, int]]] = defaultdict(list)
    counted = of_topics.group_by([*keys, "rule"]).aggregate([([], "count_all")])
    for row in counted.to_pylist():
        found[row["cluster"], row["topic"]].append(
            (_rank(row["rule"]), row["rule"], row["count_all"])
        )
    distinct = of_topics.group_by(keys).aggregate([("partition", "count_distinct")])
    partitions = {
        (row["cluster"], row["topic"]): row["partition_count_distinct"]
        for row in distinct.to_pylist()
    }
    names = [rule.name for rule in RANKED]
    rows = []
    for (cluster, topic), rules in found.items():
        worst = min(rank for rank, _, _ in rules)
        broken = sorted((name for _, name, _ in rules), key=names.index)
        rows.append(
            {
                "cluster": cluster,
                "topic": topic,
                "consequence": str(list(Consequence)[worst]),
                "worst": sum(count for rank, _, count in rules if rank == worst),
                "count": sum(count for _, _, count in rules),
                "partitions": partitions[cluster, topic],
                "rules": ", ".join(broken),
            }
        )
    order = list(Consequence)
    return sorted(
        rows,
        key=lambda row: (
            order.index(row["consequence"]),
            -row["worst"],
            -row["count"],
            row["cluster"],
            row["topic"],
        ),
    )
