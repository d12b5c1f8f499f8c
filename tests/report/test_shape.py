"""A truncated, edited or other summary is rejected with the path of the fault."""

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidSummary
from rackwise.report import html, terminal
from rackwise.report.shape import check
from report.summaries import summary


def refused(document):
    with pytest.raises(InvalidSummary) as caught:
        check(document)
    return caught.value


@pytest.mark.parametrize("case", [{}, {"has_traffic": False}, {"clusters": 3, "days": 2}])
def test_documents_of_the_pipeline_pass(case):
    check(summary(**case))


@pytest.mark.parametrize("had", ["rackwise.summary/2", "rackwise.plan/1", None])
def test_another_format_is_rejected(had):
    error = refused(summary() | {"format": had})
    assert str(error).startswith("invalid summary at $.format: expected rackwise.summary/1, got ")
    assert error.where == "$.format"
    assert "analyze" in error.hint


@pytest.mark.parametrize("document", [[], "text", None, 7, {}])
def test_a_document_that_is_not_a_summary_is_rejected(document):
    assert refused(document).where == "$.format"


def test_a_missing_key_is_reported_with_its_path():
    document = summary()
    del document["by_topic"][1]["usd"]
    error = refused(document)
    assert str(error) == 'invalid summary at $.by_topic[1]: missing key "usd"'
    assert error.where == "$.by_topic[1]"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("verdict", "partitions"), True, "expected an integer, got true"),
        (("verdict", "partitions"), None, "expected an integer, got null"),
        (("verdict", "usd"), "NaN", 'expected a decimal number, got "NaN"'),
        (("verdict", "usd"), 1.5, "expected a decimal number, got 1.5"),
        (("by_topic", 0, "share"), float("inf"), "expected a decimal number, got Infinity"),
        (("by_topic", 0, "topic"), 7, "expected a text, got 7"),
        (("blast",), {}, "expected a list, got an object"),
        (("observed",), [], "expected an object, got an empty list"),
        (("method", "prices", 0, "is_checked"), 1, "expected true or false, got 1"),
        (("method", "prices", 0, "source"), [], "expected a single value, got an empty list"),
        (("run_id",), 9, "expected a text, got 9"),
    ],
)
def test_a_value_of_another_type_is_rejected(path, value, message):
    document = summary()
    *parents, last = path
    place = document
    for step in parents:
        place = place[step]
    place[last] = value
    error = refused(document)
    where = "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path)
    assert str(error) == f"invalid summary at {where}: {message}"
    assert error.where == where


def test_all_faults_are_counted():
    error = refused(summary() | {"run_id": 9, "version": None, "levels": [1, "zone", 2]})
    assert str(error).endswith("$.run_id: expected a text, got 9 (and 3 more faults)")


def test_additional_keys_are_accepted():
    check(summary() | {"later": [], "waterfall": []})


def test_a_hostile_value_is_shown_escaped():
    error = refused(summary() | {"format": "\x1b[31m\u202e"})
    assert error.message.isprintable()


@pytest.mark.parametrize(
    "render", [html.render, lambda s: terminal.render(s, width=80, color=False)]
)
def test_both_renderers_reject_it(render):
    with pytest.raises(InvalidSummary):
        render({"format": "other"})


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(key=st.sampled_from(sorted(summary())), junk=JUNK)
def test_an_arbitrary_value_renders_or_is_rejected(key, junk):
    document = summary(topics=2) | {key: junk}
    with contextlib.suppress(InvalidSummary):
        terminal.render(document, width=80, color=False)
        html.render(document)
