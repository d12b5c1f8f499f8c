"""The text format: what is written for any metric, and how a metric is registered."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidConfig, InvalidSummary
from rackwise.report.metrics.exposition import NO_LABELS, MetricSet, exposition, metric
from report.metrics.exposition_text import read


def written(samples, labels=("who",), kind="gauge", parts=((NO_LABELS, {}),)):
    """The text of a set with one metric that has these samples."""
    group = MetricSet("rackwise_", kind)
    metric("x_total" if kind == "counter" else "x", "Help.", labels=labels, to=(group,))(
        lambda _: samples
    )
    return exposition(group, parts)


def test_a_gauge():
    assert written([(("a",), 1), (("b",), "0.500000000")]) == (
        "# HELP rackwise_x Help.\n"
        "# TYPE rackwise_x gauge\n"
        'rackwise_x{who="a"} 1\n'
        'rackwise_x{who="b"} 0.500000000\n'
    )


def test_what_is_not_known_has_no_sample():
    assert written([(("a",), None), (("b",), 0)]).splitlines()[2:] == ['rackwise_x{who="b"} 0']
    assert written([(("a",), None)]) == ""
    assert written([]) == ""


def test_a_counter_without_samples_keeps_its_head():
    assert written([], kind="counter").splitlines() == [
        "# HELP rackwise_x_total Help.",
        "# TYPE rackwise_x_total counter",
    ]


def test_the_labels_of_a_part_are_in_front():
    text = written([(("a",), 1)], parts=[({"topic": "t"}, {}), ({"topic": "u"}, {})])
    assert text.splitlines()[2:] == [
        'rackwise_x{topic="t",who="a"} 1',
        'rackwise_x{topic="u",who="a"} 1',
    ]


def test_a_sample_that_comes_twice_is_an_error():
    with pytest.raises(InvalidSummary, match="expected each sample once") as raised:
        written([(("a",), 1), (("a",), 2)])
    assert raised.value.hint


def test_a_metric_is_registered_without_the_prefix():
    with pytest.raises(InvalidConfig, match="expected a name without rackwise_, got rackwise_x"):
        metric("rackwise_x", "Help.")


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_hostile_names_are_read_back_unchanged(name):
    assert list(read(written([((name,), 1)]))) == [("rackwise_x", (("who", name),))]


def test_a_lone_surrogate_has_a_text():
    text = written([(("\ud800",), 1)])
    text.encode()
    assert r'who="\\ud800"' in text
