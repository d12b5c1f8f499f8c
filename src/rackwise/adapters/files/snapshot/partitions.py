"""Partitions of a snapshot file to columns and back, a million without a value object each.

Goals, in order: the columns hold exactly what the file says; what cannot be true of a cluster is
reported with its JSON path; time and memory stay near those of parsing the text.

Algorithm. A partition is taken out of the document while the parser still has it in the processor's
cache: the hook sees its keys, keeps the values, and leaves the mark ROW in its place. All rows of a
file have the same keys: seven, or ten where offsets were read. Every
512 partitions the values become numbers in arrays:

```
text      {"adding":[],..,"isr":[1],..,"replicas":[1,2]}   {..,"isr":[2,1],..,"replicas":[2,1]}
document  {"topics":[{"name":"orders","partitions":[ROW,ROW],..}],..}
replicas  offsets 0 2 4   values 1 2 2 1        key = row * 2^31 + broker, sorted: 2 neighbours
isr       offsets 0 1 3   values 1 2 1          equal is "twice"; a key not found is "outside"
```

Where anything is unusual (a value of another type, keys in another order, a ROW where no partition
belongs) the text is parsed again without the hook, and faults are reported row by row; what was
only unusual is read all the same.

A file that is written as Rackwise writes it needs none of this (`written_rows`).

What this does not do: judge a placement; that replicas are spread badly is a finding, not a fault.
Source: Kafka's PartitionRegistration (isr, leader, adding and removing are of the replicas).
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from rackwise.adapters.files.text_columns import joined_rows, list_cells, number_cells
from rackwise.core.json.codec import Codec
from rackwise.core.json.declare import (
    MAX_ID,
    Between,
    BrokerId,
    BrokerIds,
    Bytes,
    BytesPerSecond,
    Count,
)
from rackwise.core.json.faults import Fault, Faults
from rackwise.core.json.forms import ListForm, RecordForm
from rackwise.core.json.strict import distinct
from rackwise.core.model import UNKNOWN, Offsets, PartitionTable, Ragged

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.core.json.node import JsonNode
    from rackwise.core.json.strict import Hook, Members
    from rackwise.core.model import Topic

_OFFSETS = ("end_offset", "leader_epoch", "start_offset")
PARTITION = RecordForm(
    {
        key: Codec().form(kind)
        for key, kind in {
            "adding": BrokerIds,
            "bytes": Bytes | None,
            "bytes_in_per_s": BytesPerSecond | None,
            "end_offset": Count | None,
            "isr": BrokerIds,
            "leader": BrokerId | None,
            "leader_epoch": Annotated[int, Between(0, MAX_ID, "a leader epoch")] | None,
            "removing": BrokerIds,
            "replicas": BrokerIds,
            "start_offset": Count | None,
        }.items()
    },
    may_be_absent=frozenset(_OFFSETS),
)
"""The form of a partition, for the faults of one that cannot be taken and for the schema."""
PARTITIONS = ListForm(PARTITION, "a list of partitions")
ALL_KEYS = tuple(PARTITION.members)
"""Fields of a partition with offsets, in the order of the file."""
KEYS = tuple(key for key in ALL_KEYS if key not in _OFFSETS)
"""Fields of a partition without offsets."""

ROW = object()
"""The mark in a document for a partition that was taken out of it."""

LISTS = ("adding", "isr", "removing", "replicas")
"""Fields that are lists of brokers."""
_NUMBERS = {
    "bytes": 2**63 - 1,
    "bytes_in_per_s": 2**63 - 1,
    "end_offset": 2**63 - 1,
    "leader": MAX_ID,
    "leader_epoch": MAX_ID,
    "start_offset": 2**63 - 1,
}
"""Columns of numbers, with the greatest number of each."""
_FIELDS = (len(KEYS), len(ALL_KEYS))
_WIDTH = np.int64(MAX_ID + 1)
_BATCH = 512
_COMMA, _LINE_FEED = b",\n"


@dataclass(frozen=True, slots=True)
class TopicRows:
    """One topic of the file."""

    topic: Topic
    partitions: JsonNode
    """The node of its `partitions`, number by place."""

    @property
    def name(self) -> str:
        """The name of the topic."""
        return self.topic.name

    @property
    def rows(self) -> list[Any]:
        """The items of the list of partitions; none where it is not a list."""
        return self.partitions.value if isinstance(self.partitions.value, list) else []


class RowTaker:
    """Takes partitions, in the order of the file; `is_odd` once a value is not of its type."""

    __slots__ = ("_keys", "_lengths", "_numbers", "_rows", "_values", "count", "is_odd")

    def __init__(self) -> None:
        self.count = 0
        self.is_odd = False
        self._keys: tuple[str, ...] = ALL_KEYS
        self._rows: list[tuple[Any, ...]] = []
        self._lengths: dict[str, list[NDArray[np.int64]]] = {name: [] for name in LISTS}
        self._values: dict[str, list[NDArray[np.int32]]] = {name: [] for name in LISTS}
        self._numbers: dict[str, list[NDArray[np.int64]]] = {name: [] for name in _NUMBERS}

    def hook(self) -> Hook:
        """For the parser: ROW for a partition in canonical order, the object itself for others.

        The first partition decides whether all of them have offsets.
        """
        rows, flush, append = self._rows, self._flush, self._rows.append
        known: tuple[str, ...] = ()

        def hooked(members: Members) -> object:
            nonlocal known
            if len(members) not in _FIELDS:
                return distinct(members)
            keys, values = zip(*members)  # noqa: B905 (they are pairs)
            if keys != known:
                if known or keys not in (KEYS, ALL_KEYS):
                    return distinct(members)
                known = self._keys = keys
            append(values)
            if len(rows) == _BATCH:
                flush()
            return ROW

        return hooked

    def add(self, values: tuple[Any, ...]) -> None:
        """Take one partition, its values in the order of `ALL_KEYS`."""
        self._rows.append(values)
        if len(self._rows) == _BATCH:
            self._flush()

    def add_columns(self, columns: Mapping[str, NDArray[np.int64] | Ragged]) -> bool:
        """Take many partitions; false, and nothing is taken, if a number is out of its bounds.

        `columns`: of `KEYS` or `ALL_KEYS`, -1 = null.
        """
        for name, column in columns.items():
            values: NDArray[Any] = column.values if isinstance(column, Ragged) else column
            low, high = (0, MAX_ID) if name in LISTS else (UNKNOWN, _NUMBERS[name])
            if values.min(initial=0) < low or values.max(initial=0) > high:
                return False
        self.count += len(columns["replicas"])
        for name, column in columns.items():
            if isinstance(column, Ragged):
                self._lengths[name].append(column.lengths)
                self._values[name].append(column.values.astype(np.int32))
            else:
                self._numbers[name].append(column)
        return True

    def _flush(self) -> None:
        cells = dict(zip(self._keys, zip(*self._rows, strict=True), strict=True))
        self.count += len(self._rows)
        self._rows.clear()
        for name, high in _NUMBERS.items():
            if name in cells:
                self._flush_numbers(name, cells[name], high)
        for name in LISTS:
            self._flush_lists(name, cells[name])

    def _flush_numbers(self, name: str, values: tuple[Any, ...], high: int) -> None:
        if not set(map(type, values)) <= {int, type(None)}:
            self.is_odd = True
            return
        nulls = values.count(None)
        known = [UNKNOWN if value is None else value for value in values] if nulls else values
        column = np.fromiter(known, dtype=np.int64, count=len(values))
        self.is_odd |= bool(np.count_nonzero(column < 0) != nulls or column.max() > high)
        self._numbers[name].append(column)

    def _flush_lists(self, name: str, lists: tuple[Any, ...]) -> None:
        if set(map(type, lists)) != {list}:
            self.is_odd = True
            return
        flat = list(chain.from_iterable(lists))
        if not set(map(type, flat)) <= {int}:
            self.is_odd = True
            return
        values = np.fromiter(flat, dtype=np.int64, count=len(flat))
        self.is_odd |= bool(flat and (values.min() < 0 or values.max() > MAX_ID))
        lengths = np.fromiter(map(len, lists), dtype=np.int64, count=len(lists))
        self._lengths[name].append(lengths)
        self._values[name].append(values.astype(np.int32))

    def columns(self) -> dict[str, Any] | None:
        """The columns of all partitions taken, by name; None where a value is not of its type."""
        if self._rows:
            self._flush()
        if self.is_odd:
            return None
        numbers = {name: _joined(parts, np.int64) for name, parts in self._numbers.items()}
        end, epoch, start = (numbers.pop(name) for name in _OFFSETS)
        offsets = Offsets(start=start, end=end, leader_epoch=epoch.astype(np.int32))
        has_offsets = len(end) and any((each >= 0).any() for each in (end, epoch, start))
        return {
            **numbers,
            "leader": numbers["leader"].astype(np.int32),
            **{name: self._ragged(name) for name in LISTS},
            "offsets": offsets if has_offsets else None,
        }

    def _ragged(self, name: str) -> Ragged:
        offsets = np.zeros(self.count + 1, dtype=np.int64)
        np.cumsum(_joined(self._lengths[name], np.int64), out=offsets[1:])
        return Ragged(offsets, _joined(self._values[name], np.int32))


def _joined(parts: list[NDArray[Any]], dtype: type[np.signedinteger]) -> NDArray[Any]:
    return np.concatenate(parts) if parts else np.zeros(0, dtype=dtype)


def are_in_place(taker: RowTaker, document: object) -> bool:
    """Whether every partition taken is of a topic's `partitions`, and nothing else is there."""
    topics = document.get("topics") if isinstance(document, dict) else None
    lists = [
        topic.get("partitions")
        for topic in (topics if isinstance(topics, list) else ())
        if isinstance(topic, dict)
    ]
    marks = [len(rows) for rows in lists if isinstance(rows, list) and rows.count(ROW) == len(rows)]
    return len(marks) == len(lists) and sum(marks) == taker.count


def table_of(topics: Sequence[TopicRows], taker: RowTaker, faults: Faults) -> PartitionTable:
    """The table of topics, given in the order of the file; faults are recorded, it then is empty.

    `taker` has taken the partitions of all of them, or none. A topic without partitions has no row
    and does not stand in the table's `topics`.
    """
    filled = [topic for topic in topics if topic.rows]
    columns = taker.columns() if taker.count or _add_all(filled, taker) else None
    if columns is None:
        for topic in filled:
            PARTITIONS.read(topic.partitions)
        return PartitionTable.of(())
    places = sorted(
        range(len(filled)), key=lambda i: filled[i].name.encode("utf-8", "surrogatepass")
    )
    counts = np.array([len(topic.rows) for topic in filled], dtype=np.int64)
    table = _table([filled[i] for i in places], _in_order(columns, counts, places), counts[places])
    check_table(
        table,
        lambda row: f"{filled[places[table.topic[row]]].partitions.path}[{table.partition[row]}]",
        faults,
    )
    return table


def _add_all(topics: Sequence[TopicRows], taker: RowTaker) -> bool:
    """Take partitions that are still in the document; whether all have the keys of one."""
    for row in chain.from_iterable(topic.rows for topic in topics):
        if not isinstance(row, dict) or not set(KEYS) <= row.keys() <= set(ALL_KEYS):
            return False
        taker.add(tuple(map(row.get, ALL_KEYS)))
    return True


def _in_order(
    columns: dict[str, Any], counts: NDArray[np.int64], places: Sequence[int]
) -> dict[str, Any]:
    """The columns with topics in the order of `places`; `counts`: rows of each, as they stand."""
    if list(places) == list(range(len(places))):
        return columns
    starts = np.cumsum(counts) - counts
    order = np.concatenate([np.arange(starts[i], starts[i] + counts[i]) for i in places])
    return {name: _taken(column, order) for name, column in columns.items()}


def _taken(column: Any, order: NDArray[np.int64]) -> Any:  # noqa: ANN401 (one of three kinds)
    if isinstance(column, Ragged | Offsets):
        return column.take(order)
    return None if column is None else column[order]


def _table(
    topics: Sequence[TopicRows], columns: dict[str, Any], counts: NDArray[np.int64]
) -> PartitionTable:
    starts = np.cumsum(counts) - counts
    return PartitionTable(
        topics=tuple(topic.name for topic in topics),
        topic=np.repeat(np.arange(len(topics), dtype=np.int32), counts),
        partition=(np.arange(counts.sum()) - np.repeat(starts, counts)).astype(np.int32),
        **columns,
    )


def check_table(table: PartitionTable, place: Callable[[int], str], faults: Faults) -> None:
    """Record what no cluster can be: no replica, a broker twice, a leader or ISR from outside.

    `place(row)` names a row in messages.
    """
    found = sorted(_untrue(table), key=itemgetter(0))
    for row, member, sentence, count in found:
        wanted, _, had = sentence.removeprefix("expected ").partition(", got ")
        faults.add(
            Fault(
                place=f"{place(row)}.{member}",
                sentence=sentence,
                wanted=wanted,
                had=had,
                hint="take the snapshot again; if it stays, the file was changed by hand",
            ),
            others=count - 1,
        )


def _untrue(table: PartitionTable) -> Iterator[tuple[int, str, str, int]]:
    """(first row, member, sentence, number of such faults) of each kind of fault there is."""
    replicas = table.replicas
    empty = np.flatnonzero(replicas.lengths == 0)
    if len(empty):
        yield (
            int(empty[0]),
            "replicas",
            "expected at least one broker, got an empty list",
            len(empty),
        )
    # The rows rise, so the stable sort, a merge sort that uses what is in order, takes few passes.
    members = np.sort(_keys(replicas), kind="stable")
    is_once = not (members[1:] == members[:-1]).any()
    for name in LISTS:
        ragged: Ragged = getattr(table, name)
        if not len(ragged.values) or (is_once and ragged == replicas):
            continue
        keys = _keys(ragged)
        in_order = np.sort(keys, kind="stable")
        twice = np.unique(in_order[1:][in_order[1:] == in_order[:-1]])
        if len(twice):
            row, broker = divmod(int(twice[0]), int(_WIDTH))
            at = [i for i, other in enumerate(ragged.row(row)) if other == broker][1]
            yield (
                row,
                f"{name}[{at}]",
                f"expected each broker once, got {broker} twice",
                len(twice),
            )
        if name != "replicas" and not np.array_equal(in_order, members):
            outside = np.flatnonzero(~_contains(members, keys))
            if len(outside):
                row = int(ragged.rows[outside[0]])
                at = int(outside[0] - ragged.offsets[row])
                yield (row, f"{name}[{at}]", _outside(table, row, keys[outside[0]]), len(outside))
    first = np.append(replicas.values, np.int32(UNKNOWN))[replicas.offsets[:-1]]
    leads = (table.leader == first) & (replicas.lengths > 0)
    led = np.flatnonzero((table.leader != UNKNOWN) & ~leads)
    keys = led * _WIDTH + table.leader[led]
    foreign = np.flatnonzero(~_contains(members, keys))
    if len(foreign):
        row = int(led[foreign[0]])
        yield (row, "leader", _outside(table, row, keys[foreign[0]]), len(foreign))


def _outside(table: PartitionTable, row: int, key: np.int64) -> str:
    replicas = ",".join(map(str, table.replicas.row(row)))
    return f"expected a broker of the replicas {replicas}, got {int(key % _WIDTH)}"


def _keys(ragged: Ragged) -> NDArray[np.int64]:
    return ragged.rows * _WIDTH + ragged.values


def _contains(in_order: NDArray[np.int64], keys: NDArray[np.int64]) -> NDArray[np.bool_]:
    if not len(in_order):
        return np.zeros(len(keys), dtype=np.bool_)
    at = np.minimum(np.searchsorted(in_order, keys), len(in_order) - 1)
    return np.equal(in_order[at], keys)


def texts_of(table: PartitionTable) -> list[bytes]:
    """The rows of each topic as canonical JSON, `{..},{..}`, in the table's order of topics.

    Without offsets where none was read.
    """
    columns: dict[str, NDArray[Any] | Ragged] = {
        **{name: getattr(table, name) for name in LISTS},
        "bytes": table.bytes,
        "bytes_in_per_s": table.bytes_in_per_s,
        "leader": table.leader,
    }
    if table.offsets is not None:
        columns["end_offset"] = table.offsets.end
        columns["leader_epoch"] = table.offsets.leader_epoch
        columns["start_offset"] = table.offsets.start
    is_last = np.append(table.topic[1:] != table.topic[:-1], True)[: len(table)]
    return row_texts(columns, is_last).split(b"\n")[:-1]


def row_texts(columns: Mapping[str, NDArray[Any] | Ragged], is_last: NDArray[np.bool_]) -> bytes:
    """Rows as canonical JSON; a line feed, which no row has, ends the rows of each topic.

    `is_last`: whether each row is the last of its topic, bool [rows].
    """
    parts: list[bytes | NDArray[np.uint8]] = []
    for key in sorted(columns):
        column = columns[key]
        cells = list_cells(column) if isinstance(column, Ragged) else number_cells(column)
        parts += [f'{"," if parts else "{"}"{key}":'.encode(), cells]
    ends = np.where(is_last, _LINE_FEED, _COMMA).astype(np.uint8)[:, np.newaxis]
    return joined_rows([*parts, b"}", ends], len(is_last))
