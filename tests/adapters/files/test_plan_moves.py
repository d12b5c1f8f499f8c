"""Moves of a plan file as columns: the same moves, or none where a text is unusual."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from file_edits import check_without, edited, read_or_error
from rackwise.adapters.files.plan import moves
from rackwise.adapters.files.plan import read as reader
from rackwise.adapters.files.plan.moves import written_moves
from rackwise.adapters.files.plan.read import parse_plan
from rackwise.adapters.files.plan.write import plan_bytes, sealed
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.canonical import sha256_of
from rackwise.core.json.strict import parse
from rackwise.core.planning.model import Move
from rackwise.core.planning.outcome.move_columns import MoveColumns, columns_of
from rackwise.core.planning.plan import plan
from small_clusters import small_cluster

CLUSTER = small_cluster(
    {1: "/a", 2: "/b", 3: "/c", 4: "/a"},
    {"t-0": [1, 4, 2], "t-1": [1, 4], "ü-0": [4, 1, 3]},
    sizes={"t-0": 7, "t-1": None, "ü-0": 2**40},
)
PLAN = sealed(plan(CLUSTER))
DATA = plan_bytes(PLAN)
SPLIT = sealed(plan(CLUSTER, max_moves=1))
LIMITED = plan_bytes(SPLIT)
"""A plan that leaves moves for later."""
MOVES = DATA[DATA.index(b'{"after"') : DATA.index(b'\n],"sha256"')]
LATER = LIMITED[LIMITED.index(b'"later":[') : LIMITED.index(b'],"made_from"')]


def test_a_plan_has_moves():
    assert len(PLAN.moves) == 3


def test_a_plan_with_a_budget_has_later_moves():
    assert (len(SPLIT.moves), len(SPLIT.later)) == (1, 2)


def test_columns_are_the_moves():
    assert columns_of(PLAN.moves).moves == PLAN.moves
    assert written_moves(DATA).moves == PLAN.moves
    assert written_moves(LIMITED).moves == SPLIT.moves
    assert written_moves(LIMITED).later == SPLIT.later


def test_what_was_written_is_read_without_json(monkeypatch):
    """The JSON reader of a million moves took a third of a proof."""
    documents = []

    def document(data, **how):
        documents.append(len(data))
        return original(data, **how)

    original = reader.document
    monkeypatch.setattr(reader, "document", document)
    assert parse_plan(DATA, where="p.json") == PLAN
    assert documents == [len(DATA) - len(MOVES) - len("\n\n")]


@pytest.fixture
def small_blocks(monkeypatch):
    monkeypatch.setattr(moves, "_BATCH", 1)
    monkeypatch.setattr(moves, "_ROWS", 1)


@pytest.mark.usefixtures("small_blocks")
def test_moves_of_several_blocks_are_read_and_written_as_those_of_one():
    assert written_moves(DATA).moves == PLAN.moves
    assert written_moves(LIMITED).later == SPLIT.later
    assert parse_plan(LIMITED, where="p.json") == SPLIT
    assert (plan_bytes(PLAN), plan_bytes(SPLIT)) == (DATA, LIMITED)


@pytest.mark.usefixtures("small_blocks")
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"bytes":7,', b'"bytes":07,'),
        (b'"topic":"t"', b'"topic": "t"'),
        (b'"before":[1,', b'"before":[1 ,'),
    ],
)
def test_lines_that_are_not_as_written_have_no_columns(old, new):
    assert old in MOVES
    assert written_moves(DATA.replace(MOVES, MOVES.replace(old, new, 1))) is None


@pytest.mark.usefixtures("small_blocks")
def test_a_separator_without_a_move_behind_it_has_no_columns():
    assert written_moves(DATA.replace(MOVES, MOVES + b",\n")) is None


@pytest.mark.parametrize("lines", [b"", b"\n"])
@pytest.mark.parametrize(
    ("data", "moves"), [(DATA, MOVES), (LIMITED, LATER[len(b'"later":[\n') :])]
)
def test_a_plan_whose_lines_of_moves_were_deleted_is_rejected(data, moves, lines):
    assert moves in data
    with pytest.raises(InvalidPlan):
        parse_plan(data.replace(moves, lines), where="p.json")


def test_a_large_plan_is_read_in_less_than_three_times_its_size(monkeypatch):
    """The lines of a million moves were in memory six times."""
    monkeypatch.setattr(moves, "_BATCH", 2**16)
    many = tuple(replace(PLAN.moves[0], partition=number) for number in range(20_000))
    data = plan_bytes(replace(PLAN, moves=many))
    tracemalloc.start()
    try:
        found = written_moves(data)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(found.moves) == 20_000
    assert peak < 3 * len(data)


def test_later_moves_are_read_as_columns():
    found = parse_plan(LIMITED, where="p.json")
    assert found == SPLIT
    assert isinstance(found.later, MoveColumns)


@pytest.mark.parametrize(
    "change",
    [
        {"max_moves": None},
        {"later": (*SPLIT.later, SPLIT.moves[0])},
        {"later": (replace(SPLIT.later[0], after=(1, 2, 99)), *SPLIT.later[1:])},
        {"later": (replace(SPLIT.later[0], bytes=-5), *SPLIT.later[1:])},
    ],
)
def test_later_moves_that_break_a_rule_are_named_by_their_path(change):
    with pytest.raises(InvalidPlan, match=r"\$\.later|expected each partition once"):
        parse_plan(plan_bytes(sealed(replace(SPLIT, **change))), where="p.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"moves":[\n', b'"moves":[ \n'),
        (b'"usd_nano":null},\n', b'"usd_nano":null},\n\n'),
        (b'"topic":"t"', b'"topic": "t"'),
        (b'"topic":"t"', b'"topic":"\\u0074"'),
        (b'"totals":{', b'"totals": {'),
    ],
)
def test_another_form_of_the_same_plan_is_read_as_json(old, new):
    other = DATA.replace(old, new, 1)
    assert other != DATA
    assert parse_plan(other, where="p.json") == PLAN


@pytest.mark.parametrize(
    "change",
    [
        {"before": (1, 1, 4)},
        {"after": (1, 1, 2)},
        {"after": (1, 4, 2), "before": (1, 4, 2)},
        {"after": (1, 2, 99)},
        {"partition": 2**31},
        {"bytes": -5},
        {"topic": "a\x00b"},
        {"reasons": ("\x1b[31m",)},
    ],
)
def test_a_move_that_breaks_a_rule_is_named_by_its_path(change):
    moves = (replace(PLAN.moves[0], **change), *PLAN.moves[1:])
    with pytest.raises(InvalidPlan, match=r"at \$\.moves\[0\]"):
        parse_plan(plan_bytes(sealed(replace(PLAN, moves=moves))), where="p.json")


def test_a_partition_twice_is_named():
    moves = (*PLAN.moves, PLAN.moves[0])
    with pytest.raises(InvalidPlan, match="expected each partition once"):
        parse_plan(plan_bytes(sealed(replace(PLAN, moves=moves))), where="p.json")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"sha256":"', b'"sha256":"f'),
        (b"[1,", b"[01,"),
        (b'"bytes":7,', b'"bytes":07,'),
        (b'"bytes":7,', b'"bytes":8,'),
        (b'"bytes":7,', b'"bytes":99999999999999999999,'),
        (b'"partition":0', b'"partition":99999999999'),
        (b'"topic":"t"', b'"topic":"\xff"'),
        (b'"topic":"t"', b'"topic":"u"'),
    ],
)
def test_an_edited_plan_is_rejected(old, new):
    edited = DATA[: DATA.index(b'"moves"')] + DATA[DATA.index(b'"moves"') :].replace(old, new, 1)
    assert edited != DATA
    with pytest.raises(InvalidPlan):
        parse_plan(edited, where="p.json")


def found(data):
    """The plan, or all that is said of the error."""
    return read_or_error(parse_plan, data, InvalidPlan)


def check(data):
    """The JSON reader finds the same."""
    check_without(reader, "written_moves", lambda: found(data))


def sealed_again(data):
    """The content with the hash that belongs to it, where it is JSON."""
    try:
        body = parse(data, where="p.json", error=InvalidPlan)
    except InvalidPlan:
        return data
    if not isinstance(body, dict):
        return data
    body.pop("sha256", None)
    head, _, tail = data.rpartition(b'"sha256":"')
    return head + f'"sha256":"{sha256_of(body)}'.encode() + tail[64:]


@given(edited(MOVES), st.booleans())
def test_any_edit_of_the_moves(moves, is_sealed):
    data = DATA.replace(MOVES, moves)
    check(sealed_again(data) if is_sealed else data)


@given(edited(DATA) | edited(LIMITED))
def test_any_edit(data):
    check(data)


@given(edited(LATER), st.booleans())
def test_any_edit_of_later_moves(moves, is_sealed):
    data = LIMITED.replace(LATER, moves)
    check(sealed_again(data) if is_sealed else data)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"bytes":7,', b'"bytes":8,'),
        (b'"after":[', b'"after":[null,'),
        (b'"partition":0', b'"partition":null'),
        (b'"partition":0', b'"partition":2147483648'),
        (b'"topic_id":null', b'"topic_id":""'),
        (b'"reasons":["', b'"reasons":["",null,"'),
        (b'"usd_nano":null', b'"usd_nano":null,"reasons":[]'),
        (b'"topic_id":null', b'"topic_id":null},{"reasons":[],"topic":"t","topic_id":null'),
        (b'"topic_id":null', b'"topic_id":null},5,{"reasons":[]'),
        (b'"topic_id":null', b'"id":null'),
    ],
)
def test_an_edit_that_is_sealed_again(old, new):
    assert old in MOVES
    check(sealed_again(DATA.replace(MOVES, MOVES.replace(old, new, 1))))


def test_a_plan_without_moves():
    empty = sealed(replace(PLAN, moves=()))
    assert written_moves(plan_bytes(empty)) is None
    assert parse_plan(plan_bytes(empty), where="p.json") == empty
    assert columns_of(()).moves == ()


def test_names_are_few_and_shared():
    move = Move(topic="t", partition=0, topic_id=None, before=(1,), after=(2,), bytes=1)
    columns = columns_of([replace(move, partition=number) for number in range(5)])
    assert columns.names["topic"].values == ("t",)
    assert columns.names["topic"].codes.tolist() == [0] * 5
