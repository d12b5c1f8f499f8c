"""The moves of a plan file as columns: written without a Python text for each value, and read back.

```
"moves":[
{"after":[1,3,4],"before":[1,2,4],"bytes":13314398618,..,"topic":"orders",..},
..
],"sha256":"5f0c.."

lines  <->  after, before: lists; bytes, ..: numbers; reasons, topic, ..: codes of few values
```

`later`, the moves that do not fit `--max-moves`, has the same form.

Reading takes some megabytes of lines at a time, so that the lines of a large plan are in memory
once, as the file. It cuts the names out of each line. What is left are integers (`number_columns`).
Names are few: those of one line are often those of many others, and each distinct text is parsed
once.

`number_columns` accepts text that is not JSON. So the columns are formatted again, and the result
must equal the text of the file. A text that is unusual in any way has no columns here and is read
as JSON; so is one whose moves break a rule, because only that reader can name the fault.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rackwise.adapters.files.number_columns import KeyedIntegers, keyed_integers
from rackwise.adapters.files.plan.format import CODEC
from rackwise.adapters.files.text_columns import joined_rows, list_cells, number_cells, text_table
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
    joined_lists,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

_BEGIN, _END = b'"moves":[\n', b'\n],"sha256":"'
_LATER, _LATER_END = b'"later":[\n', b"\n]"
_NAMES_BEGIN, _NAMES_END = b',"reasons":', b',"usd_nano":'
_CUTS = re.compile(_NAMES_BEGIN + b"|" + _NAMES_END)
_KEYS = tuple(sorted((*LISTS, *NUMBERS, *NAMES)))
_INTEGERS = tuple(key for key in _KEYS if key not in NAMES)
_SEPARATOR = b",\n"
_BATCH = 2**22
"""Bytes of lines that are read at once."""
_ROWS = 2**15
"""Moves whose lines are written at once."""
_FORMS = {member.key: member.form for member in CODEC.object(Move).members}


class WrittenMoves(NamedTuple):
    """The moves of a plan file, and the file without them."""

    moves: MoveColumns
    later: MoveColumns
    """The moves that are left for later; none in most plans."""
    rest: bytes
    texts: Mapping[str, Sequence[memoryview]]
    """`moves`, and `later` if there are any -> their list in the file, which is canonical."""


def move_lines(columns: MoveColumns) -> Iterator[bytes]:
    """Canonical JSON of the moves in pieces, each move on a line of its own.

    The form of a move gives the same text.
    """
    if not len(columns):
        yield b"[]"
        return
    tables = {
        name: (text_table([_json(value) for value in values]), codes)
        for name, (values, codes) in columns.names.items()
    }
    yield b"[\n"
    for start in range(0, len(columns), _ROWS):
        part = slice(start, start + _ROWS)
        cells = {
            **{name: list_cells(lists.part(part)) for name, lists in columns.lists.items()},
            **{name: number_cells(numbers[part]) for name, numbers in columns.numbers.items()},
            **{name: table[codes[part]] for name, (table, codes) in tables.items()},
        }
        lines = _lines(cells, len(columns.numbers["partition"][part]))
        yield lines if part.stop < len(columns) else lines[: -len(_SEPARATOR)]
    yield b"\n]"


def _lines(cells: Mapping[str, NDArray[np.uint8]], count: int) -> bytes:
    """Lines of so many objects, from the cells of each key."""
    parts: list[bytes | NDArray[np.uint8]] = []
    for key in sorted(cells):
        parts += [f'{"," if parts else "{"}"{key}":'.encode(), cells[key]]
    return joined_rows([*parts, b"}" + _SEPARATOR], count)


def _json(value: str | tuple[str, ...] | None) -> str:
    return canonical_json(list(value) if isinstance(value, tuple) else value)


def written_moves(data: bytes) -> WrittenMoves | None:
    """The moves of a plan file; None where the text is unusual, or a move breaks a rule."""
    begin, end = data.find(_BEGIN), data.rfind(_END)
    if not 0 <= begin < end:
        return None
    lists = {"moves": (begin + len(_BEGIN), end)}
    begin = data.find(_LATER, 0, begin)
    if begin >= 0:
        end = data.find(_LATER_END, begin)
        lists = {"later": (begin + len(_LATER), end), **lists}
    found, rest, texts, done = {"later": columns_of(())}, [], {}, 0
    for key, (first, last) in lists.items():
        columns = _columns(data, first, last)
        if columns is None:
            return None
        found[key] = columns
        rest.append(data[done : first - 1])
        # From the bracket to the bracket.
        texts[key] = [memoryview(data)[first - 2 : last + 2]]
        done = last + 1
    rest.append(data[done:])
    if len(lists) > 1 and not _are_valid(joined(found["moves"], found["later"])):
        return None
    return WrittenMoves(found["moves"], found["later"], b"".join(rest), texts)


def _columns(data: bytes, begin: int, end: int) -> MoveColumns | None:
    """The moves of these lines; None where the text is unusual, or a move breaks a rule."""
    codes: dict[bytes, int] = {}
    blocks = []
    while True:  # also for no line at all, which `_block` rejects
        cut = data.find(b"\n", begin + _BATCH, end)
        cut = end if cut < 0 else cut
        block = _block(data[begin:cut] + (_SEPARATOR if cut == end else b"\n"), codes)
        if block is None:
            return None
        blocks.append(block)
        if cut == end:
            break
        begin = cut + 1
    try:
        names = _names((*codes,), np.concatenate([block.codes for block in blocks]))
    except InvalidPlan:
        return None
    if names is None:
        return None
    lists = {name: joined_lists([block.lists[name] for block in blocks]) for name in LISTS}
    numbers = {name: np.concatenate([block.numbers[name] for block in blocks]) for name in NUMBERS}
    columns = MoveColumns(lists, numbers, names)
    return columns if _are_valid(columns) else None


class _Block(NamedTuple):
    """The moves of some lines."""

    lists: dict[str, Ragged]
    numbers: dict[str, NDArray[np.int64]]
    codes: NDArray[np.int64]
    """Number of the text of the names, [moves]."""


def _block(lines: bytes, codes: dict[bytes, int]) -> _Block | None:
    """The moves of whole lines; None where these are not what is written for the moves.

    `codes`: text of names -> its number; new texts are added.
    """
    pieces = _CUTS.split(lines)
    # A text that ends within names has no integers for its last line.
    found = keyed_integers(b":".join(pieces[::2]), len(_INTEGERS))
    if found is None or len(pieces) != 2 * len(found.counts) + 1:
        return None
    lists, numbers = _lists(found), _numbers(found)
    if lists is None or numbers is None:
        return None
    texts = pieces[1::2]
    table = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    places = np.array([table[text] for text in texts], dtype=np.int64)
    cells = {
        **{name: list_cells(one) for name, one in lists.items()},
        **{name: number_cells(one) for name, one in numbers.items()},
        # The names of a line stand together: three keys are written as the value of the first.
        NAMES[0]: text_table((*table,))[places],
    }
    if _lines(cells, len(texts)) != lines:
        return None
    known = np.array([codes.setdefault(text, len(codes)) for text in table], dtype=np.int64)
    return _Block(lists, numbers, known[places])


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


def _names(texts: Sequence[bytes], of_line: NDArray[np.int64]) -> dict[str, CodedValues] | None:
    """The names of each line, from texts such as `["spread"],"topic":"a","topic_id":null`.

    `of_line`: index into `texts` of each line. None for a text that is not canonical. Raises
    `InvalidPlan` for what is no JSON, and for a value that a move cannot have.
    """
    objects = [b"{" + _NAMES_BEGIN[1:] + text + b"}" for text in texts]
    parsed = parse(b"[" + b",".join(objects) + b"]", where="", error=InvalidPlan)
    if len(parsed) != len(texts) or not all(map(_has_names, parsed)):
        return None
    if [canonical_json(one).encode() for one in parsed] != objects:
        return None
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
