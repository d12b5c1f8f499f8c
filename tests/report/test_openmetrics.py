"""Counters of producers and headline figures of a run as OpenMetrics text."""

import random
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidConfig, InvalidSummary
from rackwise.core.partitioner import PartitionerConfig, TopicPartitioner, TopicView
from rackwise.report.openmetrics import metric, producer_metrics, run_metrics
from report.summaries import hostile, summary

SAMPLE = re.compile(r'(\w+)_total\{((?:\w+="(?:[^"\\\n]|\\[\\n"])*",?)+)\} (\d+)')
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
PLAIN = {"\\\\": "\\", '\\"': '"', "\\n": "\n"}


def counted():
    view = TopicView((1, 2, None), {1: "a", 2: "b"})
    partitioner = TopicPartitioner(
        PartitionerConfig(rack_aware=True, rack="a", sticky_bytes=100),
        view,
        rng=random.Random(0),
    )
    for _ in range(3):
        partitioner.peek()
        partitioner.add(150)
    partitioner.count_unsteered(1, 20)
    partitioner.count_unsteered(2, 5)
    return partitioner.counters().as_dict()


def samples(text):
    found = {}
    for line in text.splitlines():
        if line.startswith("#"):
            continue
        name, labels, value = SAMPLE.fullmatch(line).groups()
        pairs = [
            (key, re.sub(r"\\.", lambda code: PLAIN[code[0]], said))
            for key, said in LABEL.findall(labels)
        ]
        found[name, tuple(pairs)] = int(value)
    return found


PRODUCER_HELP = "# HELP rackwise_producer_{} {}"


def test_each_metric_has_its_family():
    text = producer_metrics({"orders": counted()})
    assert text.splitlines() == [
        PRODUCER_HELP.format(
            "bytes", "Bytes of records, by the distance of the partition's leader."
        ),
        "# TYPE rackwise_producer_bytes counter",
        "# UNIT rackwise_producer_bytes bytes",
        'rackwise_producer_bytes_total{topic="orders",ends="local",steered="true"} 450',
        'rackwise_producer_bytes_total{topic="orders",ends="cross",steered="true"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="unknown",steered="true"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="local",steered="false"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="cross",steered="false"} 20',
        'rackwise_producer_bytes_total{topic="orders",ends="unknown",steered="false"} 5',
        "# HELP rackwise_producer_windows Windows started, by the tier of their partition.",
        "# TYPE rackwise_producer_windows counter",
        'rackwise_producer_windows_total{topic="orders",tier="local"} 3',
        "# HELP rackwise_producer_switches Windows ended, by reason.",
        "# TYPE rackwise_producer_switches counter",
        'rackwise_producer_switches_total{topic="orders",reason="size"} 3',
        PRODUCER_HELP.format("fallbacks", "Windows outside the preferred rack, by reason."),
        "# TYPE rackwise_producer_fallbacks counter",
        "# EOF",
    ]
    assert text.endswith("# EOF\n")


def test_topics_are_in_order_and_extra_labels_are_added():
    text = producer_metrics({"b": counted(), "a": counted()}, labels={"client": "c"})
    labels = [dict(pairs) for _, pairs in samples(text)]
    assert [each["topic"] for each in labels[:12]] == ["a"] * 6 + ["b"] * 6
    assert {each["client"] for each in labels} == {"c"}
    assert len(labels) == 16


def test_no_topic():
    assert samples(producer_metrics({})) == {}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_hostile_names_are_parsed_back_unchanged(name):
    text = producer_metrics({name: counted()})
    assert text.count("\n") == len(text.split("\n")) - 1
    lines = [line for line in text.split("\n")[:-1] if not line.startswith("#")]
    assert len(lines) == 8
    for line in lines:
        assert dict(LABEL.findall(line))
        said = re.search(r'topic="((?:[^"\\]|\\.)*)"', line)[1]
        assert re.sub(r"\\.", lambda code: PLAIN[code[0]], said) == name


def test_a_lone_surrogate_has_a_text():
    assert r'topic="\\ud800"' in producer_metrics({"\ud800": counted()})


FLEET = {"clusters": 3, "racks": ("/eu/a", "/eu/b"), "levels": ("region", "zone"), "topics": 1}
CASES = ({}, {"topics": 24, "days": 7}, {"has_traffic": False}, {"named": hostile}, FLEET)
NAME = r"rackwise_[a-z0-9_]+"
LABELS = r'\{(?:[a-z_]+="(?:[^"\\\n]|\\[\\n"])*",?)+\}'
LINE = re.compile(
    rf"# TYPE (?P<typed>{NAME}) (?:gauge|info)|# UNIT (?P<united>{NAME}) [a-z]+"
    rf"|# HELP (?P<helped>{NAME}) [^\n]+"
    rf"|(?P<sample>{NAME})(?P<labels>{LABELS})? -?[0-9]+(?:\.[0-9]+)?"
)


def figures(text):
    """Sample with labels -> value, from a strict parser."""
    *lines, end, nothing = text.split("\n")
    assert (end, nothing) == ("# EOF", "")
    found, family, finished = {}, "", set()
    for line in lines:
        read = LINE.fullmatch(line)
        assert read, line
        if read["typed"]:
            assert read["typed"] not in finished
            finished.add(family := read["typed"])
        elif read["united"]:
            assert read["united"] == family
            assert family.endswith("_" + line.rpartition(" ")[2])
        elif read["helped"]:
            assert read["helped"] == family
        else:
            assert read["sample"].removesuffix("_info") == family
            key, _, value = line.rpartition(" ")
            assert key not in found
            found[key] = value
    return found


@pytest.mark.parametrize("case", CASES, ids=["a day", "a week", "no traffic", "hostile", "fleet"])
def test_each_family_and_each_sample_appears_once(case):
    document = summary(**case)
    found = figures(run_metrics(document))
    unsafe = [value for key, value in found.items() if key.startswith("rackwise_partitions_unsafe")]
    assert sum(map(int, unsafe)) == document["verdict"]["partitions_unsafe"]


def test_figures_equal_the_summary():
    document = summary(topics=24, days=7)
    found = figures(run_metrics(document))
    verdict = document["verdict"]
    assert found["rackwise_crossing_30d_usd"] == verdict["usd_30d"]
    assert found["rackwise_crossing_usd"] == verdict["usd"]
    assert found['rackwise_observed_bytes{ends="cross"}'] == str(verdict["bytes_cross"])
    assert found["rackwise_observed_seconds"] == str(7 * 86_400)
    assert found['rackwise_savable_30d_usd{saving="follower-fetch"}'] == "54.000000000"
    assert found['rackwise_findings{rule="spread-even",severity="error"}'] == "119"
    lost = 'rackwise_rack_loss_offline_partitions{cluster="demo",rack="use1-az4"}'
    assert found[lost] == "24"
    assert found['rackwise_plan_replicas{cluster="demo"}'] == "153"
    assert found['rackwise_plan_proved{cluster="demo"}'] == "1"
    assert found['rackwise_snapshot_timestamp_seconds{cluster="demo"}'] == "1793491200"
    assert found['rackwise_run_info{run_id="0f3a9c5e7b21",version="0.1.0"}'] == "1"


def test_unknown_figures_have_no_sample():
    document = summary(has_traffic=False) | {"plans": None}
    document["clusters"][0]["taken_at"] = "yesterday"
    text = run_metrics(document)
    assert not re.search("usd|bytes|seconds|plan_", text)
    assert 'rackwise_partitions{cluster="demo"} 600' in text


def test_an_invalid_summary_is_rejected():
    with pytest.raises(InvalidSummary):
        run_metrics({"format": "rackwise.summary/2"})


def test_a_metric_is_registered_without_the_prefix():
    with pytest.raises(InvalidConfig, match="expected a name without rackwise_, got rackwise_x"):
        metric("rackwise_x", "Help.")
