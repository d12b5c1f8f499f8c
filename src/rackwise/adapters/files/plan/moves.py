"""The moves of a plan file as columns: written without a Python text for each value, and read back.

```
"moves":[
{"after":[1,3,4],"before":[1,2,4],"bytes":13314398618,..,"topic":"orders",..},
..
],"sha256":"5f0c.."

lines  <->  after, before: lists; bytes, ..: numbers; reasons, topic, ..: codes of few values
```

`later`, the moves that do not fit `--max-moves`, has the same form.

Reading cuts the names out of each line. What is left are integers (`number_columns`). Names are
few: those of one line are often those of many others, and each distinct text is parsed once. A text
that is unusual in any way has no columns here and is read as JSON; so is one whose moves break a
rule, because only that reader can name the fault.

Limits: reading is laxer than JSON. The caller of `written_moves` must compare the text with what is
written for the plan: only an equal text is the same plan.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rackwise.adapters.files.number_columns import KeyedIntegers, keyed_integers
from rackwise.adapters.files.plan.format import CODEC
from rackwise.adapters.files.text_columns import joined_rows, list_cells, number_cells, text_cells
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.canonical import canonical_json
from rackwise.core.json.declare import MAX_ID
from rackwise.core.json.faults import Faults
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import parse
from rackwise.core.model import Ragged
from rackwise.core.planning.model import Move
from rackwise.core.planning.outcome.move_columns import (
    LISTS,
    NAMES,
    NUMBERS,
    CodedValues,
    MoveColumns,
    columns_of,
    joined,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BEGIN, _END = b'"moves":[\n', b'\n],"sha256":"'
_LATER, _LATER_END = b'"later":[\n', b"\n]"
_NAMES_BEGIN, _NAMES_END = b',"reasons":', b',"usd_nano":'
_CUTS = re.compile(_NAMES_BEGIN + b"|" + _NAMES_END)
_KEYS = tuple(sorted((*LISTS, *NUMBERS, *NAMES)))
_INTEGERS = tuple(key for key in _KEYS if key not in NAMES)
_FORMS = {member.key: member.form for member in CODEC.object(Move).members}


class WrittenMoves(NamedTuple):
    """The moves of a plan file, and the file without them."""

    moves: MoveColumns
    later: MoveColumns
    """The moves that are left for later; none in most plans."""
    rest: bytes


def move_lines(columns: MoveColumns) -> bytes:
    """Canonical JSON of the moves, one on each line; the form of a move gives the same text."""
    if not len(columns):
        return b"[]"
    cells = {
        **{name: list_cells(lists) for name, lists in columns.lists.items()},
        **{name: number_cells(numbers) for name, numbers in columns.numbers.items()},
        **{
            name: text_cells([_json(value) for value in values], codes)
            for name, (values, codes) in columns.names.items()
        },
    }
    parts: list[bytes | NDArray[np.uint8]] = []
    for key in _KEYS:
        parts += [f'{"," if parts else "{"}"{key}":'.encode(), cells[key]]
    return b"[\n" + joined_rows([*parts, b"},\n"], len(columns))[:-2] + b"\n]"


def _json(value: str | tuple[str, ...] | None) -> str:
    return canonical_json(list(value) if isinstance(value, tuple) else value)


def written_moves(data: bytes) -> WrittenMoves | None:
    """The moves of a plan file; None where the text is unusual, or a move breaks a rule."""
    begin, end = data.find(_BEGIN), data.rfind(_END)
    if not 0 <= begin < end:
        return None
    moves = _columns(data[begin + len(_BEGIN) : end])
    rest = data[: begin + len(_BEGIN) - 1] + data[end + 1 :]
    begin = rest.find(_LATER)
    if moves is None or begin < 0:
        return None if moves is None else WrittenMoves(moves, columns_of(()), rest)
    end = rest.find(_LATER_END, begin)
    later = _columns(rest[begin + len(_LATER) : end])
    if later is None or not _are_valid(joined(moves, later)):
        return None
    return WrittenMoves(moves, later, rest[: begin + len(_LATER) - 1] + rest[end + 1 :])


def _columns(lines: bytes) -> MoveColumns | None:
    """The moves of these lines; None where the text is unusual, or a move breaks a rule."""
    pieces = _CUTS.split(lines)
    # A text that ends within names has no integers for its last line.
    found = keyed_integers(b":".join(pieces[::2]), len(_INTEGERS))
    if found is None or len(pieces) != 2 * len(found.counts) + 1:
        return None
    lists, numbers = _lists(found), _numbers(found)
    try:
        names = _names(pieces[1::2])
    except InvalidPlan:
        return None
    if lists is None or numbers is None or names is None:
        return None
    columns = MoveColumns(lists, numbers, names)
    return columns if _are_valid(columns) else None


def _lists(found: KeyedIntegers) -> dict[str, Ragged] | None:
    """The lists of broker ids; None where a list is empty, or holds what is no broker id."""
    lists = {}
    for name in LISTS:
        one = found.lists(_INTEGERS.index(name))
        if one.values.min(initial=0) < 0 or one.values.max(initial=0) > MAX_ID:
            return None
        if not one.lengths.all():
            return None
        lists[name] = Ragged(one.offsets, one.values.astype(np.int32))
    return lists


def _numbers(found: KeyedIntegers) -> dict[str, NDArray[np.int64]] | None:
    """The numbers, -1 = null; None where a number is missing, or a partition has none."""
    numbers = {name: found.numbers(_INTEGERS.index(name)) for name in NUMBERS}
    known = {name: column for name, column in numbers.items() if column is not None}
    is_whole = len(known) == len(NUMBERS) and not (known["partition"] < 0).any()
    return known if is_whole else None


def _names(texts: Sequence[bytes]) -> dict[str, CodedValues] | None:
    """The names of each line, from a text such as `["spread"],"topic":"a","topic_id":null`.

    Raises `InvalidPlan` for what is no JSON, and for a value that a move cannot have.
    """
    codes = {text: code for code, text in enumerate(dict.fromkeys(texts))}
    objects = b",".join(b"{" + _NAMES_BEGIN[1:] + text + b"}" for text in codes)
    parsed = parse(b"[" + objects + b"]", where="", error=InvalidPlan)
    if len(parsed) != len(codes) or not all(map(_has_names, parsed)):
        return None
    of_line = np.array([codes[text] for text in texts], dtype=np.int64)
    return {name: _coded(name, [one[name] for one in parsed], of_line) for name in NAMES}


def _has_names(value: object) -> bool:
    return isinstance(value, dict) and value.keys() == set(NAMES)


def _coded(name: str, parsed: Sequence[Any], of_line: NDArray[np.int64]) -> CodedValues:
    """The values of a field, read by its form; `of_line`: index into `parsed` of each line."""
    faults = Faults("", InvalidPlan)
    read = _FORMS[name].read
    values = [read(JsonNode(value, faults)) for value in parsed]
    faults.raise_if_any()
    codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return CodedValues(
        (*codes,), np.array([codes[value] for value in values], dtype=np.int64)[of_line]
    )


def _are_valid(columns: MoveColumns) -> bool:
    """Whether each list changes and names a broker once, and each partition appears once."""
    after, before = (columns.lists[name] for name in LISTS)
    if after.equal_rows(before).any() or columns.numbers["partition"].max(initial=0) > MAX_ID:
        return False
    partitions = columns.names["topic"].codes << 32 | columns.numbers["partition"]
    lists = ((each.rows << 32 | each.values) for each in (after, before))
    return not any(_has_twice(keys) for keys in (partitions, *lists))


def _has_twice(keys: NDArray[np.int64]) -> bool:
    in_order = np.sort(keys, kind="stable")
    return bool((in_order[1:] == in_order[:-1]).any())
