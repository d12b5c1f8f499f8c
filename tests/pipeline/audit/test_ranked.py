"""The findings of a summary: what is worst comes first, and no cluster is left out."""

from collections import Counter

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.audit import RULES
from rackwise.core.rules.consequence import Consequence, consequence

pytest.importorskip("pyspark")

from rackwise.pipeline.audit.ranked import findings_part

COLUMNS = {
    "cluster": pa.string(),
    "rule": pa.string(),
    "severity": pa.string(),
    "topic": pa.string(),
    "partition": pa.int32(),
}
ORDER = list(map(str, Consequence))
FINDINGS = st.lists(
    st.builds(
        lambda cluster, rule, topic, partition: {
            "cluster": cluster,
            "rule": rule,
            "severity": str(RULES[rule].severity),
            "topic": topic,
            "partition": None if topic is None else partition,
        },
        st.sampled_from("abc"),
        st.sampled_from([*RULES]),
        st.sampled_from([None, "orders", "logs"]),
        st.integers(0, 3),
    ),
    max_size=40,
)


def part(rows, *, most=1000, each=20):
    table = pa.Table.from_pylist(rows, schema=pa.schema(COLUMNS))
    return findings_part(table, most=most, each=each)


def ranks(rows):
    return [ORDER.index(row["consequence"]) for row in rows]


@given(rows=FINDINGS)
def test_each_list_starts_with_the_worst_consequence_and_counts_every_finding(rows):
    found = part(rows)
    for name in ("by_rule", "by_topic", "worst"):
        assert ranks(found[name]) == sorted(ranks(found[name]))
    assert {row["rule"]: row["count"] for row in found["by_rule"]} == Counter(
        row["rule"] for row in rows
    )
    of_topics = [row for row in rows if row["topic"] is not None]
    assert {(row["cluster"], row["topic"]): row["count"] for row in found["by_topic"]} == Counter(
        (row["cluster"], row["topic"]) for row in of_topics
    )
    for row in found["by_topic"]:
        own = [
            one
            for one in of_topics
            if (one["cluster"], one["topic"]) == (row["cluster"], row["topic"])
        ]
        assert row["worst"] == sum(
            str(consequence(RULES[one["rule"]])) == row["consequence"] for one in own
        )
        assert row["partitions"] == len({one["partition"] for one in own})
        assert {*row["rules"].split(", ")} == {one["rule"] for one in own}
    assert found["topics"] == len(found["by_topic"])


@given(rows=FINDINGS, most=st.integers(0, 10), each=st.integers(0, 4))
def test_the_worst_are_listed_and_the_worst_of_every_cluster(rows, most, each):
    every = part(rows)["worst"]
    assert len(every) == len(rows)
    listed = part(rows, most=most, each=each)["worst"]
    seen = Counter()
    wanted = []
    for place, row in enumerate(every):
        seen[row["cluster"]] += 1
        if place < most or seen[row["cluster"]] <= each:
            wanted.append(row)
    assert listed == wanted


def test_findings_of_equal_consequence_keep_the_order_of_the_table():
    rows = [
        {"cluster": "a", "rule": "spread-even", "severity": "error", "topic": "t", "partition": n}
        for n in (3, 1, 2)
    ]
    assert [row["partition"] for row in part(rows)["worst"]] == [3, 1, 2]


def test_offline_on_the_loss_of_a_rack_comes_before_an_uneven_spread():
    rows = [
        {"cluster": "a", "rule": rule, "severity": "error", "topic": rule, "partition": 0}
        for rule in ("spread-even", "rack-loss-offline")
    ]
    found = part(rows)
    assert [row["rule"] for row in found["worst"]] == ["rack-loss-offline", "spread-even"]
    assert [row["topic"] for row in found["by_topic"]] == ["rack-loss-offline", "spread-even"]


def test_no_finding_gives_empty_lists():
    assert part([]) == {"by_rule": [], "by_topic": [], "topics": 0, "worst": [], "count": 0}
