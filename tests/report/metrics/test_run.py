"""Metrics of a summary and of an audit: equal to their sources, sums exact, nothing invented."""

import re
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidSummary
from rackwise.report.metrics import nightly
from rackwise.report.metrics.exposition import AUDIT, RUN
from rackwise.report.metrics.run import TOP, audit_metrics, run_metrics
from report.metrics.exposition_text import of, read
from report.summaries import hostile, summary

NOW = "2026-11-03T00:00:00Z"
PAGE = Path(__file__).parents[3] / "docs" / "reference" / "metrics.md"
FLEET = {"clusters": 3, "racks": ("/eu/a", "/eu/b"), "levels": ("region", "zone"), "topics": 1}
CASES = {
    "a day": {},
    "a week": {"topics": 24, "days": 7},
    "many topics": {"topics": 70, "clusters": 2},
    "no traffic": {"has_traffic": False},
    "hostile": {"named": hostile},
    "fleet": FLEET,
}


def metrics(document):
    return read(run_metrics(document, now=NOW))


def total(values):
    return sum(map(Decimal, values), Decimal(0))


@pytest.mark.parametrize("case", CASES)
def test_each_line_is_of_the_format_and_each_sample_appears_once(case):
    document = summary(**CASES[case])
    unsafe = of(metrics(document), "rackwise_partitions_unsafe")
    assert sum(map(int, unsafe.values())) == document["verdict"]["partitions_unsafe"]


def test_figures_equal_the_summary():
    document = summary(topics=24, days=7)
    found = metrics(document)
    verdict = document["verdict"]
    assert of(found, "rackwise_cross_rack_usd") == {(): verdict["usd"]}
    assert of(found, "rackwise_observed_bytes")["cross",] == str(verdict["bytes_cross"])
    assert of(found, "rackwise_observed_seconds") == {(): str(7 * 86_400)}
    least, most = (of(found, f"rackwise_savable_usd_30d{end}") for end in ("", "_at_most"))
    assert least["follower-fetch",] == most["follower-fetch",] == "54.000000000"
    assert (least["assignment",], most["assignment",]) == ("12.000000000", "13.200000000")
    assert ("producing",) not in least
    assert most["producing",] == "18.000000000"
    assert of(found, "rackwise_findings")["spread-even", "error"] == "119"
    lost = of(found, "rackwise_partitions_offline_on_rack_loss")
    assert lost["demo", "use1-az4"] == "24"
    assert of(found, "rackwise_plan_replicas") == {("demo",): "153"}
    assert of(found, "rackwise_plan_proved") == {("demo",): "1"}
    assert of(found, "rackwise_run_info") == {("0f3a9c5e7b21", "0.1.0"): "1"}


def test_a_cluster_without_a_plan_has_no_sample_of_a_proof():
    document = summary()
    document["plans"]["rows"][0] |= {"status": "failed", "verdict": None, "moves": None}
    found = metrics(document)
    assert of(found, "rackwise_plan_proved") == {}


def test_the_age_of_a_snapshot_is_that_of_the_command():
    found = metrics(summary())
    assert of(found, "rackwise_snapshot_timestamp_seconds") == {("demo",): "1793491200"}
    assert of(found, "rackwise_snapshot_age_seconds") == {("demo",): str(2 * 86_400)}


class TestDollarsPerMonth:
    @pytest.mark.parametrize("case", ["a day", "a week", "many topics", "fleet"])
    @pytest.mark.parametrize("by", ["", "_by_group", "_by_owner"])
    def test_they_add_up_to_the_bill(self, case, by):
        document = summary(**CASES[case])
        found = of(metrics(document), f"rackwise_cross_rack_usd_30d{by}")
        assert total(found.values()) == Decimal(document["verdict"]["usd_30d"])

    def test_the_dearest_have_a_sample_and_the_others_are_summed(self):
        document = summary(topics=70, clusters=2)
        found = of(metrics(document), "rackwise_cross_rack_usd_30d")
        assert len(found) == TOP + 2
        names = [(row["cluster"], row["topic"]) for row in document["by_topic"][:TOP]]
        assert list(found) == [*names, ("cluster-000", "other"), ("cluster-001", "other")]
        first = document["by_topic"][0]
        month = Decimal(first["usd"]) * 30
        assert abs(Decimal(found[names[0]]) - month) < Decimal("1e-8")

    def test_a_topic_called_other_does_not_come_twice(self):
        document = summary(topics=70)
        document["by_topic"][3]["topic"] = "other"
        found = of(metrics(document), "rackwise_cross_rack_usd_30d")
        assert len(found) == TOP
        assert total(found.values()) == Decimal(document["verdict"]["usd_30d"])

    def test_a_row_without_a_price_has_no_sample(self):
        document = summary()
        document["by_topic"][0]["usd"] = None
        found = of(metrics(document), "rackwise_cross_rack_usd_30d")
        assert ("demo", document["by_topic"][0]["topic"]) not in found

    def test_a_total_that_is_not_extrapolated_has_no_parts(self):
        document = summary()
        document["verdict"] |= {"usd_30d": None, "usd_high_30d": None}
        assert "cross_rack_usd_30d" not in run_metrics(document, now=NOW)

    def test_free_traffic_costs_nothing(self):
        document = summary()
        for row in (*document["by_topic"], *document["clusters"], document["verdict"]):
            row["usd"] = "0.000000000"
        document["verdict"]["usd_30d"] = "0.000000000"
        found = of(metrics(document), "rackwise_cross_rack_usd_30d")
        assert len(found) == len(document["by_topic"])
        assert set(found.values()) == {"0.000000000"}

    @given(
        st.lists(
            st.tuples(st.sampled_from("ab"), st.none() | st.integers(0, 10**15)),
            max_size=TOP + 8,
        ),
        st.integers(1, 10**6),
    )
    def test_any_bill_adds_up_and_no_unknown_is_zero(self, rows, seconds):
        """rows: cluster and nano-dollars of each topic, dearest first."""
        rows = sorted(rows, key=lambda row: -1 if row[1] is None else row[1], reverse=True)
        document = summary(clusters=2)
        names = dict(zip("ab", (each["name"] for each in document["clusters"]), strict=True))
        document["by_topic"] = [
            {**document["by_topic"][0], "cluster": names[cluster], "topic": f"t{number}"}
            | {"usd": None if nano is None else f"{Decimal(nano) / 10**9:.9f}"}
            for number, (cluster, nano) in enumerate(rows[:TOP])
        ]
        document["rows"]["by_topic"] = len(rows)
        for short, each in zip("ab", document["clusters"], strict=True):
            known = [nano for cluster, nano in rows if cluster == short and nano is not None]
            each["usd"] = f"{Decimal(sum(known)) / 10**9:.9f}" if known else None
        known = [nano for _, nano in rows if nano is not None]
        month = (2 * sum(known) * 2_592_000 + seconds) // (2 * seconds)
        document["verdict"]["usd_30d"] = f"{Decimal(month) / 10**9:.9f}" if known else None
        found = of(metrics(document), "rackwise_cross_rack_usd_30d")
        assert total(found.values()) == Decimal(month) / 10**9
        unknown = {
            (names[cluster], f"t{number}")
            for number, (cluster, nano) in enumerate(rows[:TOP])
            if nano is None
        }
        assert not unknown & set(found)


class TestUnattributed:
    @pytest.mark.parametrize("topics", [4, 70])
    def test_the_share_of_the_bytes_without_topic_or_reader(self, topics):
        document = summary(topics=topics)
        cluster = document["clusters"][0]
        ((place, value),) = of(metrics(document), "rackwise_unattributed_bytes_ratio").items()
        assert place == ("demo",)
        assert float(value) == cluster["bytes_cross_unattributed"] / cluster["bytes_cross"]

    def test_no_bytes_have_no_share(self):
        document = summary()
        document["clusters"][0] |= {"bytes_cross": 0, "bytes_cross_unattributed": 0}
        assert of(metrics(document), "rackwise_unattributed_bytes_ratio") == {}


def test_a_bill_and_a_saving_are_at_least_and_at_most():
    document = summary()
    document["verdict"]["usd_high_30d"] = "9999.000000000"
    step = next(each for each in document["savings"]["steps"] if each["view"] == "waterfall")
    step |= {"usd_low_30d": None, "usd_high_30d": "7.000000000"}
    found = metrics(document)
    assert of(found, "rackwise_cross_rack_usd_30d_at_most") == {(): "9999.000000000"}
    assert (step["saving"],) not in of(found, "rackwise_savable_usd_30d")
    assert of(found, "rackwise_savable_usd_30d_at_most")[step["saving"],] == "7.000000000"


def test_unknown_figures_have_no_sample():
    document = summary(has_traffic=False) | {"plans": None}
    document["clusters"][0]["taken_at"] = "yesterday"
    text = run_metrics(document, now=NOW)
    assert not re.search("usd|bytes|seconds|plan_", text)
    assert 'rackwise_partitions{cluster="demo"} 600' in text


def test_unsafe_partitions_that_are_not_known_have_no_sample():
    document = summary(has_traffic=False)
    assert of(metrics(document), "rackwise_partitions_unsafe") == {("demo",): "153"}
    document["clusters"][0]["partitions_unsafe"] = None
    assert of(metrics(document), "rackwise_partitions_unsafe") == {}


def test_an_invalid_summary_is_rejected():
    with pytest.raises(InvalidSummary):
        run_metrics({"format": "rackwise.summary/2"}, now=NOW)


def test_the_metrics_of_an_audit():
    figures = {
        "clusters": [
            {"name": "c", "taken_at": NOW, "partitions": 9, "partitions_unsafe": None},
        ],
        "blast": [{"cluster": "c", "rack": "/eu/a", "partitions_offline": 3}],
        "findings": {
            "by_rule": [{"cluster": "c", "rule": "offline", "severity": "error", "count": 2}],
        },
    }
    assert {
        (name, tuple(value for _, value in labels)): value
        for (name, labels), value in read(audit_metrics(figures, now=NOW)).items()
    } == {
        ("rackwise_partitions", ("c",)): "9",
        ("rackwise_findings", ("c", "offline", "error")): "2",
        ("rackwise_partitions_offline_on_rack_loss", ("c", "/eu/a")): "3",
        ("rackwise_snapshot_timestamp_seconds", ("c",)): "1793664000",
        ("rackwise_snapshot_age_seconds", ("c",)): "0",
    }


def test_the_page_has_every_metric_with_its_labels():
    rows = dict(re.findall(r"^\| (`rackwise_.*?) \| (.*?) \|", PAGE.read_text(), re.MULTILINE))
    listed = {name: labels for names, labels in rows.items() for name in re.findall(r"\w+", names)}
    sets = (RUN, AUDIT, nightly.NIGHTLY)
    every = [(f"{one.prefix}{each.name}", each) for one in sets for each in one.metrics]
    for name, each in every:
        labels = listed.get(name, "")
        assert set(each.labels) <= set(re.findall(r"`(\w+)`", labels)), name
    assert set(listed) == {name for name, _ in every}
