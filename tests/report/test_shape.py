"""A summary that was cut, edited or is of another version is refused, with the place of it."""

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
def test_what_the_pipeline_gives_passes(case):
    check(summary(**case))


@pytest.mark.parametrize("had", ["rackwise.summary/2", "rackwise.plan/1", None])
def test_another_format_is_refused(had):
    error = refused(summary() | {"format": had})
    assert str(error).startswith("a document of format rackwise.summary/1 is wanted; ")
    assert error.where == "$.format"
    assert "analyze" in error.hint


@pytest.mark.parametrize("document", [[], "text", None, 7, {}])
def test_what_is_no_summary_at_all_is_refused(document):
    assert refused(document).where == "$.format"


def test_a_missing_key_is_named_with_its_place():
    document = summary()
    del document["by_topic"][1]["usd"]
    error = refused(document)
    assert str(error) == 'key "usd" is wanted; it is not there'
    assert error.where == "$.by_topic[1]"


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (("verdict", "partitions"), True, "an integer is wanted; True was read"),
        (("verdict", "partitions"), None, "an integer is wanted; None was read"),
        (("verdict", "usd"), "NaN", "a decimal number is wanted; 'NaN' was read"),
        (("verdict", "usd"), 1.5, "a decimal number is wanted; 1.5 was read"),
        (("by_topic", 0, "share"), float("inf"), "a decimal number is wanted; inf was read"),
        (("by_topic", 0, "topic"), 7, "a text is wanted; 7 was read"),
        (("blast",), {}, "a list is wanted; {} was read"),
        (("observed",), [], "an object is wanted; [] was read"),
        (("method", "prices", 0, "is_checked"), 1, "true or false is wanted; 1 was read"),
        (("method", "prices", 0, "source"), [], "a single value is wanted; [] was read"),
        (("run_id",), 9, "a text is wanted; 9 was read"),
    ],
)
def test_a_value_of_another_type_is_refused(path, value, message):
    document = summary()
    *parents, last = path
    place = document
    for step in parents:
        place = place[step]
    place[last] = value
    error = refused(document)
    assert str(error) == message
    where = "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in path)
    assert error.where == where


def test_further_keys_are_let_through():
    check(summary() | {"later": [], "waterfall": []})


def test_a_hostile_value_is_shown_escaped():
    error = refused(summary() | {"format": "\x1b[31m\u202e"})
    assert error.message.isprintable()


@pytest.mark.parametrize(
    "render", [html.render, lambda s: terminal.render(s, width=80, color=False)]
)
def test_both_renderers_refuse_it(render):
    with pytest.raises(InvalidSummary):
        render({"format": "other"})


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@given(key=st.sampled_from(sorted(summary())), junk=JUNK)
def test_junk_in_any_place_renders_or_is_refused(key, junk):
    document = summary(topics=2) | {key: junk}
    with contextlib.suppress(InvalidSummary):
        terminal.render(document, width=80, color=False)
        html.render(document)
