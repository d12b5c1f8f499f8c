import hashlib
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json
from rackwise.core.json.canonical import canonical_json, sha256_of

GOLDEN = Path(__file__).parents[2] / "golden" / "vectors-planner.json"

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | TEXTS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def shuffled(value):
    """The same value with every object's keys put in the other way round."""
    if isinstance(value, dict):
        return {key: shuffled(value[key]) for key in reversed(list(value))}
    return [shuffled(item) for item in value] if isinstance(value, list) else value


def test_the_vector():
    case = strict_json.parse(GOLDEN.read_bytes(), where="vectors", error=InvalidConfig)[
        "canonical_json"
    ]
    assert canonical_json(case["value"]) == case["canonical"]
    assert sha256_of(case["value"]) == case["sha256"]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (-0, "0"),
        (2**63, "9223372036854775808"),
        ('a"b\\c\n\x00é\u2028', '"a\\"b\\\\c\\n\\u0000é\u2028"'),
        ([], "[]"),
        ({}, "{}"),
        ({"b": 1, "B": 2, "é": 3, "z": 4}, '{"B":2,"b":1,"z":4,"é":3}'),
        ({"\uffff": 1, "\U00010000": 2}, '{"\uffff":1,"\U00010000":2}'),
    ],
)
def test_one_value_has_one_text(value, text):
    assert canonical_json(value) == text


@given(VALUES)
def test_key_order_never_matters(value):
    assert canonical_json(shuffled(value)) == canonical_json(value)


@given(VALUES)
def test_the_text_is_read_back_as_the_value(value):
    text = canonical_json(value)
    assert strict_json.parse(text.encode(), where="x", error=InvalidConfig) == value
    assert canonical_json(strict_json.parse(text.encode(), where="x", error=InvalidConfig)) == text


@given(VALUES)
def test_the_hash_is_that_of_the_text(value):
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    assert sha256_of(value) == hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("value", "had"),
    [(1.0, "float"), ([float("nan")], "float"), ({"a": (1,)}, "tuple"), ({"a": b""}, "bytes")],
)
def test_what_has_no_single_text_is_refused(value, had):
    with pytest.raises(TypeError, match=f"list or dict, got {had}$"):
        canonical_json(value)


def test_a_key_that_is_no_text_is_refused():
    with pytest.raises(TypeError, match="expected a key of text, got int"):
        canonical_json({"a": [{1: 2}]})


def test_a_lone_surrogate_is_refused():
    with pytest.raises(ValueError, match="surrogates not allowed"):
        canonical_json({"a": "\ud800"})
