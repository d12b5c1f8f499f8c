"""Counters of producers as metrics."""

import random

from rackwise.core.partitioner import PartitionerConfig, TopicPartitioner, TopicView
from rackwise.report.metrics.producer import producer_metrics
from report.metrics.exposition_text import read

HELP = "# HELP rackwise_producer_{} {}"


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


def test_each_metric_has_its_family():
    text = producer_metrics({"orders": counted()})
    assert text.splitlines() == [
        HELP.format("bytes_total", "Bytes of records, by the distance of the partition's leader."),
        "# TYPE rackwise_producer_bytes_total counter",
        'rackwise_producer_bytes_total{topic="orders",ends="local",steered="true"} 450',
        'rackwise_producer_bytes_total{topic="orders",ends="cross",steered="true"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="unknown",steered="true"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="local",steered="false"} 0',
        'rackwise_producer_bytes_total{topic="orders",ends="cross",steered="false"} 20',
        'rackwise_producer_bytes_total{topic="orders",ends="unknown",steered="false"} 5',
        HELP.format("windows_total", "Windows started, by the tier of their partition."),
        "# TYPE rackwise_producer_windows_total counter",
        'rackwise_producer_windows_total{topic="orders",tier="local"} 3',
        HELP.format("switches_total", "Windows ended, by reason."),
        "# TYPE rackwise_producer_switches_total counter",
        'rackwise_producer_switches_total{topic="orders",reason="size"} 3',
        HELP.format("fallbacks_total", "Windows outside the preferred rack, by reason."),
        "# TYPE rackwise_producer_fallbacks_total counter",
    ]
    assert text.endswith("\n")


def test_topics_are_in_order_and_extra_labels_are_added():
    text = producer_metrics({"b": counted(), "a": counted()}, labels={"client": "c"})
    labels = [dict(pairs) for _, pairs in read(text)]
    assert [each["topic"] for each in labels[:12]] == ["a"] * 6 + ["b"] * 6
    assert {each["client"] for each in labels} == {"c"}
    assert len(labels) == 16


def test_no_topic():
    assert read(producer_metrics({})) == {}
