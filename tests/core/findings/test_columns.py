from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.audit import audit
from rackwise.core.errors import AuditFailed, InvalidConfig
from rackwise.core.findings import FindingBatch, Findings, Severity
from rackwise.core.policy import Policy
from rackwise.core.rules import RULES
from small_clusters import small_cluster

CHOSEN = (
    "spread-even",
    "dead-replica",
    "under-replicated",
    "rack-loss-offline",
    "not-preferred-leader",
)


@pytest.fixture(scope="module")
def findings():
    """Two errors, two warnings and one info, about three partitions."""
    cluster = small_cluster(
        {1: "a", 2: "a", 3: "b"},
        {"t-0": [1, 2], "t-1": [1, 3], "t-2": [3, 9]},
        leaders={"t-1": 3},
        isr={"t-2": [3]},
    )
    return audit(cluster, rules=CHOSEN)


NAMES = [
    ("t-0", "spread-even"),
    ("t-0", "rack-loss-offline"),
    ("t-1", "not-preferred-leader"),
    ("t-2", "dead-replica"),
    ("t-2", "under-replicated"),
    ("t-2", "rack-loss-offline"),
]


LISTS = st.dictionaries(
    st.sampled_from(["s-0", "t-0", "t-1", "u-0"]),
    st.lists(st.sampled_from([1, 2, 3, 9]), min_size=1, max_size=3, unique=True),
)


def names(findings):
    return [(f.place, f.rule) for f in findings]


def keys(findings):
    return [(f.rule, f.topic, f.partition, f.broker, f.level) for f in findings]


class TestSequence:
    def test_iterates_in_order(self, findings):
        assert names(findings) == NAMES
        assert len(findings) == 6

    def test_accepts_positive_and_negative_indices(self, findings):
        assert findings[0] == next(iter(findings))
        assert findings[-1].rule == "rack-loss-offline"
        with pytest.raises(IndexError):
            findings[6]

    def test_slice_is_findings(self, findings):
        assert isinstance(findings[1:3], Findings)
        assert names(findings[1:3]) == NAMES[1:3]

    def test_contains(self, findings):
        assert findings[2] in findings

    def test_equality_compares_all_reported_values(self, findings):
        assert findings == findings[:]
        assert findings != findings[:5]
        assert findings != list(findings)

    def test_repr_shows_counts(self, findings):
        assert repr(findings[:2]).startswith("Findings({'spread-even': 1, 'rack-loss-offline': 1}")

    def test_many_findings_are_created_one_by_one(self):
        rows = 70_000
        cluster = small_cluster({1: "a"}, {f"t-{n}": [1] for n in range(rows)})
        found = audit(cluster, rules=["rack-loss-offline"])
        assert [f.partition for f in found] == list(range(rows))


class TestSelections:
    def test_counts_in_the_order_of_the_rules(self, findings):
        assert list(findings.counts.items()) == [
            ("spread-even", 1),
            ("dead-replica", 1),
            ("under-replicated", 1),
            ("rack-loss-offline", 2),
            ("not-preferred-leader", 1),
        ]

    def test_by_rule(self, findings):
        assert list(findings.by_rule) == list(findings.counts)
        assert names(findings.by_rule["rack-loss-offline"]) == [NAMES[1], NAMES[5]]

    def test_of_one_severity(self, findings):
        assert names(findings.of_severity("info")) == [NAMES[2]]

    @pytest.mark.parametrize(
        ("least", "number"), [("error", 2), ("warning", 5), ("info", 6), ("never", 0)]
    )
    def test_at_least_severity(self, findings, least, number):
        assert len(findings.at_least(least)) == number

    def test_rows_of_partitions_each_once(self, findings):
        assert findings.rows().tolist() == [0, 1, 2]
        assert findings.rows(Severity.ERROR).tolist() == [0, 2]

    def test_rows_omit_findings_without_partition(self):
        found = audit(small_cluster({1: None}, {"t-0": [1]}), rules=["rack-missing"])
        assert found.rows().tolist() == []

    def test_selection_keeps_not_checked(self, findings):
        assert findings.at_least("error").not_checked == findings.not_checked

    def test_worst_first(self, findings):
        found = findings.worst_first()
        assert names(found) == [NAMES[place] for place in (0, 3, 1, 4, 5, 2)]

    @given(LISTS, LISTS, st.sampled_from(["", "/e"]))
    def test_beyond_those_of_another_audit(self, a, b, region):
        first = audit(small_cluster({1: "/e/a", 2: "/e/a", 3: "/e/b", 4: "/e/c"}, a, min_isr=2))
        racks = {1: f"{region}/a", 2: f"{region}/a", 3: f"{region}/b"}
        second = audit(small_cluster(racks, b, min_isr=2))
        left, expected = Counter(keys(second)), []
        for finding, key in zip(first, keys(first), strict=True):
            left[key] -= 1
            if left[key] < 0:
                expected.append(finding)
        assert list(first.beyond(second)) == expected

    def test_findings_of_one_place_are_counted(self):
        batch = FindingBatch.of_brokers("rack-missing", [4], [("a rack", "none")])
        table = small_cluster({}, {}).partitions
        found = Findings.of([batch, batch], rules=RULES, table=table, levels=(), not_checked={})
        assert len(found) == 2
        assert list(found.beyond(found[:1])) == [found[1]]
        assert list(found[:1].beyond(found)) == []
        assert list(found.beyond(found[:0])) == list(found)

    @pytest.mark.parametrize("name", ["fatal", "never"])
    def test_unknown_severity(self, findings, name):
        with pytest.raises(InvalidConfig, match="expected a severity of error, warning, info"):
            findings.of_severity(name)


class TestRaising:
    def test_error_has_findings_and_the_first_as_hint(self, findings):
        with pytest.raises(AuditFailed) as caught:
            findings.raise_if_any("error")
        assert str(caught.value) == "expected no finding of severity error or worse, got 2"
        assert caught.value.hint == "t-0: spread-even at zone: wanted a 1, b 1; had a 2, b 0"
        assert names(caught.value.findings) == [NAMES[0], NAMES[3]]
        assert caught.value.exit_code == 2

    def test_no_error_without_findings(self, findings):
        findings[:0].raise_if_any()
        findings.raise_if_any("never")


def test_no_findings():
    found = audit(small_cluster({}, {}), Policy())
    assert list(found) == []
    assert found.by_rule == {}
    assert found.rows().tolist() == []


def test_findings_are_split_by_their_rules(findings):
    others, chosen = findings.split(["spread-even", "replication"])
    assert {*chosen.counts} == {"spread-even"}
    assert {*others.counts} == {*findings.counts} - {"spread-even"}
    assert len(others) + len(chosen) == len(findings)
