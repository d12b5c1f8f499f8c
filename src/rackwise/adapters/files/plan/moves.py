"""The moves of a plan file as columns: written without a Python text for each value, and read back.

```
"moves":[
{"after":[1,3,4],"before":[1,2,4],"bytes":13314398618,..,"topic":"orders",..},
..
],"sha256":"5f0c.."

Move, Move, ..   <->   after, before: lists; bytes, ..: numbers; topic, ..: codes of few texts
```

Reading takes the lines apart by one regular expression. Names and reasons are few: each text is
parsed once, by the form of a move. A text that is unusual in any way has no columns here and is
read as JSON; so is one whose moves break a rule, because only that reader can name the fault.

Limits: the expression is laxer than JSON. The caller of `written_moves` must compare the text with
what is written for the plan: only an equal text is the same plan.
"""

from __future__ import annotations

import re
from itertools import chain, pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from rackwise.adapters.files.plan.format import CODEC
from rackwise.adapters.files.text_columns import joined_rows, list_cells, number_cells, text_cells
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.canonical import canonical_json
from rackwise.core.json.declare import MAX_ID
from rackwise.core.json.faults import Faults
from rackwise.core.json.node import JsonNode
from rackwise.core.json.strict import parse
from rackwise.core.model import UNKNOWN, Ragged
from rackwise.core.planning.model import Move

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

_BEGIN, _END = b'"moves":[\n', b'\n],"sha256":"'
_LIST = r"\[([0-9]+(?:,[0-9]+)*)\]"
_LINE = re.compile(
    rf'\{{"after":{_LIST},"before":{_LIST},"bytes":(null|[0-9]+),"cross_bytes":(null|[0-9]+),'
    r'"partition":([0-9]+),"reasons":(\[[^\n]*?\]),"topic":("[^\n]*?"),'
    r'"topic_id":(null|"[^\n]*?"),"usd_nano":(null|[0-9]+)\},?\n'
)
_CHUNK = 2**22
"""Characters that are taken apart at once."""
_MOVE = CODEC.object(Move)
_LISTS = ("after", "before")
_NUMBERS = ("bytes", "cross_bytes", "partition", "usd_nano")
_NAMES = ("reasons", "topic", "topic_id")
_KEYS = tuple(sorted((*_LISTS, *_NUMBERS, *_NAMES)))


class CodedValues(NamedTuple):
    """A column of few distinct values."""

    values: tuple[Any, ...]
    codes: NDArray[np.int64]
    """Index of the value in each row, [moves]."""


class MoveColumns(NamedTuple):
    """The moves of a plan, in its order."""

    lists: dict[str, Ragged]
    """`after`, `before`: broker ids."""
    numbers: dict[str, NDArray[np.int64]]
    """`bytes`, `cross_bytes`, `partition`, `usd_nano`; -1 = unknown, [moves]."""
    names: dict[str, CodedValues]
    """`reasons`, `topic`, `topic_id`."""

    @property
    def moves(self) -> int:
        """The number of moves."""
        return len(self.numbers["partition"])


class WrittenMoves(NamedTuple):
    """The moves of a plan file, and the file without them."""

    columns: MoveColumns
    rest: bytes


def columns_of(moves: Sequence[Move]) -> MoveColumns:
    """The columns of moves."""
    return MoveColumns(
        lists={
            "after": _ragged([move.after for move in moves]),
            "before": _ragged([move.before for move in moves]),
        },
        numbers={
            "bytes": _numbers([move.bytes for move in moves]),
            "cross_bytes": _numbers([move.cross_bytes for move in moves]),
            "partition": _numbers([move.partition for move in moves]),
            "usd_nano": _numbers([move.usd_nano for move in moves]),
        },
        names={
            "reasons": _names([move.reasons for move in moves]),
            "topic": _names([move.topic for move in moves]),
            "topic_id": _names([move.topic_id for move in moves]),
        },
    )


def _ragged(lists: Sequence[tuple[int, ...]]) -> Ragged:
    offsets = np.zeros(len(lists) + 1, dtype=np.int64)
    np.cumsum(np.fromiter(map(len, lists), dtype=np.int64, count=len(lists)), out=offsets[1:])
    values = np.fromiter(chain.from_iterable(lists), dtype=np.int32, count=int(offsets[-1]))
    return Ragged(offsets, values)


def _numbers(numbers: Sequence[int | None]) -> NDArray[np.int64]:
    known = [UNKNOWN if number is None else number for number in numbers]
    return np.array(known, dtype=np.int64)


def _names(values: Sequence[Any]) -> CodedValues:
    codes = {value: code for code, value in enumerate(dict.fromkeys(values))}
    return CodedValues((*codes,), np.array([codes[value] for value in values], dtype=np.int64))


def moves_of_columns(columns: MoveColumns) -> tuple[Move, ...]:
    """The moves of columns."""
    lists = {name: _tuples(columns.lists[name]) for name in _LISTS}
    numbers = {
        name: [None if number < 0 else number for number in columns.numbers[name].tolist()]
        for name in ("bytes", "cross_bytes", "usd_nano")
    }
    names = {
        name: map(values.__getitem__, codes.tolist())
        for name, (values, codes) in columns.names.items()
    }
    return tuple(
        [
            Move(
                topic=topic,
                partition=partition,
                topic_id=topic_id,
                before=before,
                after=after,
                bytes=size,
                cross_bytes=cross_bytes,
                usd_nano=usd_nano,
                reasons=reasons,
            )
            for topic, partition, topic_id, before, after, size, cross_bytes, usd_nano, reasons in (
                zip(
                    names["topic"],
                    columns.numbers["partition"].tolist(),
                    names["topic_id"],
                    lists["before"],
                    lists["after"],
                    numbers["bytes"],
                    numbers["cross_bytes"],
                    numbers["usd_nano"],
                    names["reasons"],
                    strict=True,
                )
            )
        ]
    )


def _tuples(lists: Ragged) -> list[tuple[int, ...]]:
    values = tuple(lists.values.tolist())
    return [values[start:end] for start, end in pairwise(lists.offsets.tolist())]


def move_lines(columns: MoveColumns) -> bytes:
    """Canonical JSON of the moves, one on each line; the form of a move gives the same text."""
    if not columns.moves:
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
    return b"[\n" + joined_rows([*parts, b"},\n"], columns.moves)[:-2] + b"\n]"


def _json(value: str | tuple[str, ...] | None) -> str:
    return canonical_json(list(value) if isinstance(value, tuple) else value)


def written_moves(data: bytes) -> WrittenMoves | None:
    """The moves of a plan file; None where the text is unusual, or a move breaks a rule."""
    begin, end = data.find(_BEGIN), data.rfind(_END)
    if not 0 <= begin < end:
        return None
    first = begin + len(_BEGIN)
    try:
        text = data[first : end + 1].decode()
        columns = _columns(text)
    except (ValueError, InvalidPlan):
        return None
    if columns.moves != text.count("\n") or not _are_valid(columns):
        return None
    return WrittenMoves(columns, data[: first - 1] + data[end + 1 :])


def _columns(text: str) -> MoveColumns:
    """The columns of lines. Raises `ValueError`, `InvalidPlan` for a line of another form."""
    lists: dict[str, tuple[list[Any], list[Any]]] = {name: ([], []) for name in _LISTS}
    numbers: dict[str, list[Any]] = {name: [] for name in _NUMBERS}
    codes: dict[str, list[Any]] = {name: [] for name in _NAMES}
    values: dict[str, list[Any]] = {name: [] for name in _NAMES}
    known: dict[str, dict[str, int]] = {name: {} for name in _NAMES}
    start = 0
    while start < len(text):
        end = text.find("\n", min(start + _CHUNK, len(text) - 1)) + 1
        found = _LINE.findall(text, start, end)
        start = end
        if not found:
            raise ValueError
        cells = dict(zip(_KEYS, zip(*found, strict=True), strict=True))
        for name, (sizes, parts) in lists.items():
            sizes.append([one.count(",") + 1 for one in cells[name]])
            parts.append(_integers(cells[name]))
        for name, columns in numbers.items():
            columns.append(_integers(cells[name]))
        for name in _NAMES:
            for one in dict.fromkeys(cells[name]):
                if one not in known[name]:
                    known[name][one] = len(known[name])
                    values[name].append(_value(name, one))
            codes[name].append([known[name][one] for one in cells[name]])
    return MoveColumns(
        lists={name: _joined_lists(sizes, parts) for name, (sizes, parts) in lists.items()},
        numbers={name: np.concatenate(columns) for name, columns in numbers.items()},
        names={
            name: CodedValues(
                tuple(values[name]),
                np.fromiter(chain.from_iterable(codes[name]), dtype=np.int64),
            )
            for name in _NAMES
        },
    )


def _integers(texts: Sequence[str]) -> NDArray[np.int64]:
    """Integers in decimal, several in a text with commas between them; null is -1."""
    joined = ",".join(texts).replace("null", str(UNKNOWN))
    return np.fromstring(joined, dtype=np.int64, sep=",")


def _joined_lists(sizes: list[list[int]], parts: list[NDArray[np.int64]]) -> Ragged:
    lengths = np.fromiter(chain.from_iterable(sizes), dtype=np.int64)
    offsets = np.zeros(len(lengths) + 1, dtype=np.int64)
    np.cumsum(lengths, out=offsets[1:])
    values = np.concatenate(parts)
    if len(values) != offsets[-1] or values.max() > MAX_ID:
        raise ValueError
    return Ragged(offsets, values.astype(np.int32))


def _value(key: str, text: str) -> Any:  # noqa: ANN401 (a text, several texts or None)
    """The value of a name, read by the form of a move. Raises `InvalidPlan`."""
    members = {
        **dict.fromkeys(_NUMBERS, "null"),
        "after": "[1]",
        "before": "[0]",
        "partition": "0",
        "reasons": "[]",
        "topic": '"t"',
        "topic_id": "null",
        key: text,
    }
    line = "{" + ",".join(f'"{name}":{each}' for name, each in members.items()) + "}"
    faults = Faults("", InvalidPlan)
    move = _MOVE.read(JsonNode(parse(line.encode(), where="", error=InvalidPlan), faults))
    faults.raise_if_any()
    return getattr(move, key)


def _are_valid(columns: MoveColumns) -> bool:
    """Whether each list changes and names a broker once, and each partition appears once."""
    after, before = (columns.lists[name] for name in _LISTS)
    if after.equal_rows(before).any() or columns.numbers["partition"].max(initial=0) > MAX_ID:
        return False
    partitions = columns.names["topic"].codes << 32 | columns.numbers["partition"]
    lists = ((each.rows << 32 | each.values) for each in (after, before))
    return not any(_has_twice(keys) for keys in (partitions, *lists))


def _has_twice(keys: NDArray[np.int64]) -> bool:
    in_order = np.sort(keys, kind="stable")
    return bool((in_order[1:] == in_order[:-1]).any())
