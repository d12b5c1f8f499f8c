"""Reads the partitions of a snapshot that Rackwise wrote, without a JSON parser.

Goals, in order: the columns are those that the parser would read; the work is a few operations on
columns, not some on each partition.

Algorithm. The rows of each topic are cut out of the text and replaced by a mark. `number_columns`
reads their integers as columns, but it accepts text that is not JSON. So the columns are formatted
again, and the result must equal the text of the file:

```
file      {"name":"a","partitions":[{..,"isr":[1],..},{..}],..},{"name":"b","partitions":[{..}],..}
rest      {"name":"a","partitions":["rows 0"],..},{"name":"b","partitions":["rows 1"],..}
columns   of all rows    as text   {..,"isr":[1],..},{..} LF {..} LF     equal to the file's?
```

The strict parser reads the rest. The marks must stand in `topics`, in their order, so that rows of
another list are not taken. If any of this fails, `partitions` reads the file.

Limits: this module reports no errors.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from rackwise.adapters.files.number_columns import keyed_integers
from rackwise.adapters.files.snapshot.partitions import (
    ALL_KEYS,
    KEYS,
    LISTS,
    ROW,
    RowTaker,
    row_texts,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rackwise.core.model import Ragged

_BEGIN, _END = b'"partitions":[{', b"}]"
_MARK = "rows {}"
_BATCH = 2**22
"""Bytes of rows that are read at once."""


class WrittenRows(NamedTuple):
    """The partitions of a file, and the file without them."""

    taker: RowTaker
    texts: list[memoryview]
    """The partitions in the place of each mark, `{..},{..}`."""
    counts: list[int]
    """The number of these partitions."""
    keys: tuple[str, ...]
    """The keys of each partition."""
    rest: bytes

    def put_into(self, document: object) -> list[object]:
        """Replace the marks in the topics of a document, as far as they are in order.

        Returns the name of the topic of each mark that was replaced.
        """
        topics = document.get("topics") if isinstance(document, dict) else None
        names: list[object] = []
        for topic in topics if isinstance(topics, list) else ():
            if isinstance(topic, dict) and topic.get("partitions") == [_MARK.format(len(names))]:
                topic["partitions"] = [ROW] * self.counts[len(names)]
                names.append(topic.get("name"))
        return names


def written_rows(data: bytes) -> WrittenRows | None:
    """The partitions of a snapshot file; None where they are not written as Rackwise does."""
    if f'"{_MARK.format("")}'.encode() in data:
        return None
    view, taker = memoryview(data), RowTaker()
    texts, counts, rest = list[memoryview](), list[int](), list[bytes]()
    keys: tuple[str, ...] = ()
    first, size, done = 0, 0, 0
    while (begin := data.find(_BEGIN, done)) >= 0:
        begin += len(_BEGIN) - 1
        end = data.find(_END, begin) + 1
        if not end:
            return None
        first_row = data[begin : data.find(b"}", begin)]
        keys = keys or (ALL_KEYS if b'"end_offset":' in first_row else KEYS)
        rest += [data[done:begin], f'"{_MARK.format(len(texts))}"'.encode()]
        texts.append(view[begin:end])
        counts.append(data.count(b"}", begin, end))
        size, done = size + end - begin, end
        if size >= _BATCH:
            if not _take(taker, texts[first:], counts[first:], keys):
                return None
            first, size = len(texts), 0
    if not texts or (size and not _take(taker, texts[first:], counts[first:], keys)):
        return None
    rest.append(data[done:])
    return WrittenRows(taker, texts, counts, keys, b"".join(rest))


def _take(
    taker: RowTaker, texts: Sequence[memoryview], counts: Sequence[int], keys: tuple[str, ...]
) -> bool:
    """Take the rows of some topics; False if they are not written as Rackwise does."""
    text = b"\n".join([*texts, b""])
    found = keyed_integers(text, len(keys))
    if found is None or len(found.counts) != sum(counts):
        return False
    columns: dict[str, NDArray[np.int64] | Ragged] = {}
    for number, key in enumerate(keys):
        column = found.lists(number) if key in LISTS else found.numbers(number)
        if column is None:
            return False
        columns[key] = column
    if not taker.add_columns(columns):
        return False
    is_last = np.zeros(len(found.counts), dtype=np.bool_)
    is_last[np.cumsum(counts) - 1] = True
    return row_texts(columns, is_last) == text
