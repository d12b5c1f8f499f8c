"""The codec: declared classes are read with all their faults, written back, and described."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from json_schemas import check, fault
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.codec import Codec, ObjectRules, Tagged
from rackwise.core.json.declare import OMITTED, REST, Between, BrokerId, Key, Name, Rows
from rackwise.core.json.faults import Faults
from rackwise.core.json.forms import Definitions, TextForm
from rackwise.core.json.node import JsonNode

if TYPE_CHECKING:
    from collections.abc import Mapping


class Pair(NamedTuple):
    name: Annotated[str, Name()]
    size: Annotated[int, Between(1, 9, "a size from 1 to 9")]


@dataclass(frozen=True)
class Circle:
    radius: float


@dataclass(frozen=True)
class Square:
    side: int


@dataclass(frozen=True, kw_only=True)
class Sheet:
    kind: Literal["a", "b"]
    flag: bool
    pairs: tuple[Pair, ...] = ()
    ids: Mapping[int, int] = field(default_factory=dict)
    seen: Annotated[Mapping[BrokerId, Pair], Rows("id")] = field(default_factory=dict)
    note: str | None = None
    figure: Circle | Square
    class_: Annotated[str, Key("class"), OMITTED] = ""


CODEC = Codec(
    names=globals(),
    rules={Sheet: ObjectRules(constants={"format": "sheet/1"})},
    unions={
        Circle | Square: Tagged(
            tag="type", kinds={"circle": Circle, "square": Square}, wanted="a figure"
        )
    },
)
SHEET = CODEC.object(Sheet)
names = st.text("abü", min_size=1, max_size=3)
pairs = st.builds(Pair, names, st.integers(1, 9))
ids = st.integers(0, 2**31 - 1)
sheets = st.builds(
    Sheet,
    kind=st.sampled_from(["a", "b"]),
    flag=st.booleans(),
    pairs=st.lists(pairs, max_size=3).map(tuple),
    ids=st.dictionaries(ids, st.integers(0, 9), max_size=3),
    seen=st.dictionaries(ids, pairs, max_size=3),
    note=st.none() | st.text(max_size=3),
    figure=st.builds(Circle, st.floats(0, 9)) | st.builds(Square, st.integers(0, 9)),
    class_=st.text("xy", max_size=2),
)


def read(value):
    faults = Faults("s.json", InvalidConfig)
    sheet = SHEET.read(JsonNode(value, faults))
    faults.raise_if_any()
    return sheet


def schema():
    definitions = Definitions()
    return SHEET.schema(definitions) | {"$defs": definitions}


@given(sheets)
def test_what_is_written_is_read_and_keeps_to_the_schema(sheet):
    written = SHEET.write(sheet)
    assert read(written) == sheet
    check(written, schema(), schema())
    assert ("class" in written) == (sheet.class_ != "")


@given(sheets)
def test_a_streamed_object_is_the_written_one_with_lists_as_iterators(sheet):
    streamed = SHEET.streamed(sheet)
    assert isinstance(streamed["pairs"], Iterator)
    assert {**streamed, "pairs": list(streamed["pairs"])} == SHEET.write(sheet)


GOOD = SHEET.write(
    Sheet(kind="a", flag=True, pairs=(Pair("x", 1),), seen={1: Pair("y", 2)}, figure=Square(3))
)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "c"}, '$.kind: expected one of a, b, got "c"'),
        ({"flag": 1}, "$.flag: expected true or false, got 1"),
        ({"pairs": [["x", True]]}, "$.pairs[0][1]: expected a size from 1 to 9, got true"),
        ({"pairs": [["", 1]]}, "$.pairs[0][0]: expected a name without control characters"),
        ({"pairs": [["x"]]}, "$.pairs[0]: expected a list of name, size, got a list"),
        ({"pairs": {}}, "$.pairs: expected a list of pairs, got an object"),
        ({"ids": {"01": 1}}, '$.ids: expected a broker id as key, got "01"'),
        ({"seen": GOOD["seen"] * 2}, "$.seen[1].id: expected each id once, got 1"),
        ({"seen": {}}, "$.seen: expected a list of seen, got an object"),
        ({"note": 7}, "$.note: expected a text or null, got 7"),
        ({"figure": {"side": 1}}, '$.figure: missing key "type"'),
        ({"figure": {"type": "x"}}, '$.figure.type: expected one of circle, square, got "x"'),
        ({"figure": 7}, "$.figure: expected a figure, got 7"),
        ({"more": 7}, '$: unknown key "more"'),
        ({"kind": 1, "flag": 1, "note": 1}, "$.kind: expected one of a, b, got 1 (and 2 more"),
    ],
)
def test_the_first_fault_has_its_path_and_the_others_are_counted(changes, message):
    with pytest.raises(InvalidConfig) as caught:
        read(GOOD | changes)
    assert caught.value.message.startswith(f"invalid s.json at {message}")


@pytest.mark.parametrize("changes", [{"kind": "c"}, {"flag": 1}, {"pairs": [["x"]]}, {"more": 7}])
def test_the_schema_rejects_what_the_reader_rejects(changes):
    assert fault(GOOD, schema(), schema()) is None
    assert fault(GOOD | changes, schema(), schema())


def test_a_missing_key_is_a_fault_unless_the_declaration_allows_it():
    assert "class" not in GOOD
    value = dict(GOOD)
    del value["note"]
    with pytest.raises(InvalidConfig, match='missing key "note"'):
        read(value)


@dataclass(frozen=True, kw_only=True)
class Span:
    """Two numbers in order, written with a text that they give."""

    low: int
    high: int

    @property
    def text(self) -> str:
        return f"{self.low}..{self.high}"


def check_span(span, node):
    if span.low > span.high:
        node.wrong("low before high")


class TestChecksBetweenFields:
    def faults(self, value, *, checks_faulty=False):
        rules = ObjectRules(
            derived={"text": TextForm()}, check=check_span, checks_faulty=checks_faulty
        )
        faults = Faults("s.json", InvalidConfig)
        made = Codec(rules={Span: rules}).object(Span).read(JsonNode(value, faults))
        return made, faults

    def test_a_derived_member_that_is_equal_to_the_property_is_accepted(self):
        made, faults = self.faults({"low": 1, "high": 2, "text": "1..2"})
        assert (made, faults.count) == (Span(low=1, high=2), 0)

    def test_a_derived_member_that_differs_from_the_property_is_a_fault(self):
        _, faults = self.faults({"low": 1, "high": 2, "text": "1..3"})
        assert (faults.first.place, faults.count) == ("$.text", 1)
        assert faults.first.sentence == 'expected "1..2", got "1..3"'

    def test_a_check_between_fields_records_its_fault(self):
        _, faults = self.faults({"low": 3, "high": 2, "text": "3..2"})
        assert (faults.first.sentence, faults.count) == (
            "expected low before high, got an object",
            1,
        )

    @pytest.mark.parametrize(("checks_faulty", "count"), [(False, 1), (True, 2)])
    def test_a_value_with_faults_is_checked_between_fields_only_if_asked(
        self, checks_faulty, count
    ):
        # The stand-in of `high` is 0, so the check finds a fault in it.
        value = {"low": 3, "high": "2", "text": "3..2"}
        _, faults = self.faults(value, checks_faulty=checks_faulty)
        assert (faults.first.place, faults.count) == ("$.high", count)


@dataclass(frozen=True, kw_only=True)
class OfOthers:
    """An object that another program writes."""

    id: BrokerId
    rack: str | None
    about: object
    extra: Annotated[Mapping[str, object], REST] = field(default_factory=dict)


OF_OTHERS = Codec(names=globals(), rules={OfOthers: ObjectRules(reads_absent_as_null=True)}).object(
    OfOthers
)


class TestObjectsOfOtherPrograms:
    def read(self, value):
        faults = Faults("node", InvalidConfig)
        return OF_OTHERS.read(JsonNode(value, faults)), faults

    def test_absent_members_are_null(self):
        assert self.read({"id": 1})[0] == OfOthers(id=1, rack=None, about=None)

    def test_an_absent_member_that_must_not_be_null_is_a_fault(self):
        _, faults = self.read({})
        assert faults.first.place == "$.id"
        assert faults.first.sentence == "expected a broker id, got null"
        assert faults.count == 1

    def test_other_members_are_kept_and_written_last_by_name(self):
        value = {"z": 1, "id": 1, "about": [1], "a": {}, "rack": "r"}
        read, _ = self.read(value)
        assert read.extra == {"a": {}, "z": 1}
        written = OF_OTHERS.write(read)
        assert written == value
        assert list(written) == ["id", "rack", "about", "a", "z"]

    def test_a_value_that_is_no_object_is_a_fault(self):
        read, faults = self.read([])
        assert faults.first.sentence == "expected an object, got an empty list"
        assert read.extra == {}

    def test_the_schema_allows_other_members(self):
        schema = OF_OTHERS.schema(definitions := Definitions())
        check({"id": 1, "rack": None, "about": 1, "z": 1}, schema, {"$defs": definitions})
        assert OF_OTHERS.stand_in == OfOthers(id=0, rack=None, about=None)
