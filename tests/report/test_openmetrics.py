"""Counters of producers as OpenMetrics text."""

import random
import re

from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.partitioner import PartitionerConfig, TopicPartitioner, TopicView
from rackwise.report.openmetrics import producer_metrics

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


def test_a_family_each():
    text = producer_metrics({"orders": counted()})
    assert text.splitlines() == [
        "# HELP rackwise_producer_bytes Bytes given to partitions, by how far their leaders were.",
        "# TYPE rackwise_producer_bytes counter",
        "# UNIT rackwise_producer_bytes bytes",
        'rackwise_producer_bytes_total{topic="orders",ends="local",steered="true"} 450',
        'rackwise_producer_bytes_total{topic="orders",ends="cross",steered="true"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="unknown",steered="true"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="local",steered="false"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="cross",steered="false"} 20',
        'rackwise_producer_bytes_total{topic="orders",ends="unknown",steered="false"} 5',
        "# HELP rackwise_producer_windows Windows begun, by the tier of their partition.",
        "# TYPE rackwise_producer_windows counter",
        'rackwise_producer_windows_total{topic="orders",tier="local"} 3',
        "# HELP rackwise_producer_switches Windows ended, by why.",
        "# TYPE rackwise_producer_switches counter",
        'rackwise_producer_switches_total{topic="orders",reason="size"} 3',
        "# HELP rackwise_producer_fallbacks Windows that did not go where it was wished, by why.",
        "# TYPE rackwise_producer_fallbacks counter",
        "# EOF",
    ]
    assert text.endswith("# EOF\n")


def test_topics_in_order_and_labels_of_the_callers_own():
    text = producer_metrics({"b": counted(), "a": counted()}, labels={"client": "c"})
    labels = [dict(pairs) for _, pairs in samples(text)]
    assert [each["topic"] for each in labels[:12]] == ["a"] * 6 + ["b"] * 6
    assert {each["client"] for each in labels} == {"c"}
    assert len(labels) == 16


def test_no_topic():
    assert samples(producer_metrics({})) == {}


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_hostile_names_are_read_as_they_were(name):
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
