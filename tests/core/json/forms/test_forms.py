"""Forms: each reads what fits, records what does not, and gives a harmless stand-in."""

from __future__ import annotations

from typing import Annotated

import pytest

from json_schemas import fault
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.codec import Codec
from rackwise.core.json.declare import Checked
from rackwise.core.json.faults import Faults
from rackwise.core.json.forms import (
    AnyForm,
    ChoiceForm,
    Definitions,
    FlagForm,
    IntegerForm,
    MappingForm,
    NumberForm,
    RecordForm,
    ScalarForm,
    TextForm,
)
from rackwise.core.json.node import JsonNode

A_CHECK = TextForm("a word", check=lambda text: "no blank" if " " in text else None)
COUNT = IntegerForm(0, 9, "a count")


def read(form, value):
    """What the form gives, and the error that its faults would raise."""
    faults = Faults("f.json", InvalidConfig)
    found = form.read(JsonNode(value, faults))
    try:
        faults.raise_if_any()
    except InvalidConfig as error:
        return found, error
    return found, None


@pytest.mark.parametrize(
    ("form", "value"),
    [
        (COUNT, 9),
        (NumberForm(0.0, 9.0, "a number"), 3),
        (FlagForm(), True),
        (TextForm(), "a"),
        (ChoiceForm(("a", "b"), "a or b"), "b"),
        (MappingForm(COUNT), {"a": 1}),
        (ScalarForm(), "a"),
        (AnyForm(), [1]),
    ],
    ids=lambda each: type(each).__name__ if hasattr(each, "read") else None,
)
def test_a_value_that_fits_is_read_as_it_is(form, value):
    assert read(form, value) == (value, None)


@pytest.mark.parametrize(
    ("form", "value", "stand_in", "message"),
    [
        (COUNT, 10, 0, "invalid f.json at $: expected a count, got 10"),
        (
            NumberForm(1.0, 9.0, "a number"),
            "3",
            1.0,
            'invalid f.json at $: expected a number, got "3"',
        ),
        (A_CHECK, "a b", "", 'invalid f.json at $: expected a word, got "a b"'),
        (MappingForm(COUNT), 7, {}, "invalid f.json at $: expected an object, got 7"),
        (
            MappingForm(COUNT),
            {"": 1},
            {"": 1},
            'invalid f.json at $: expected a name without control characters, got ""',
        ),
        (ScalarForm(), [], None, "invalid f.json at $: expected a single value, got an empty list"),
    ],
)
def test_a_value_that_does_not_fit_is_a_fault_at_its_path(form, value, stand_in, message):
    found, error = read(form, value)
    assert (found, error.message) == (stand_in, message)


def test_a_check_gives_the_hint():
    assert read(A_CHECK, "a b")[1].hint == "no blank"


@pytest.mark.parametrize("form", [ScalarForm(), AnyForm()])
def test_without_a_value_the_stand_in_is_null(form):
    assert form.stand_in is None


@pytest.mark.parametrize("value", [None, True, 1.5, "a", [], {}])
def test_the_schema_of_a_single_value_accepts_what_the_form_reads(value):
    schema = ScalarForm().schema(Definitions())
    assert (fault(value, schema, schema) is None) is (read(ScalarForm(), value)[1] is None)


class TestRecords:
    RECORD = RecordForm({"size": COUNT, "about": RecordForm({"size": COUNT})})

    def test_a_record_stays_as_it_is(self):
        value = {"size": 1, "about": {"size": 2}}
        assert read(self.RECORD, value) == (value, None)

    def test_a_member_of_a_record_within_a_record_has_its_path(self):
        _, error = read(self.RECORD, {"size": 1, "about": {"size": 10}})
        assert error.message == "invalid f.json at $.about.size: expected a count, got 10"

    def test_a_record_that_is_missing_is_one_fault_whatever_its_members_are(self):
        _, error = read(self.RECORD, {"size": 1})
        assert error.message == 'invalid f.json at $: missing key "about"'
        assert self.RECORD.stand_in == {}


def test_a_checked_text_is_a_form_of_its_own():
    form = Codec().form(Annotated[str, Checked(lambda _: "no text fits", "a word")])
    assert read(form, "x")[1].hint == "no text fits"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (complex, "expected a type with a form, got <class 'complex'>"),
        (int | str, "expected a declared union, or one type and None"),
    ],
)
def test_a_type_without_a_form_is_an_error_of_the_declaration(kind, message):
    with pytest.raises(TypeError, match=message):
        Codec().form(kind)


def test_only_a_class_is_an_object():
    with pytest.raises(TypeError, match="expected a dataclass, got <class 'int'>"):
        Codec().object(int)
