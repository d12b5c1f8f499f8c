"""Which rows of canonical flows a higher revision of their window replaces, in tasks.

Goals, in order: the rows that a join of Spark finds (`canonical_facts`); no row leaves a
task; files without revisions cost a look at their footers.

A higher revision replaces the rows of the lower ones in all files. So tasks read the files twice:

```
first    emitter  window  revision          second   emitter  window  revision
         e1       00:00   1                          e1       00:00   null       superseded
         e1       00:00   2     best 2               e1       00:00   1          superseded
         null     00:00   3     no emitter           e1       00:00   2
                                                     e1       00:01   null
```

The first pass reads three columns, and of these only the row groups that may have a revision above
0 (see `splits`). It gives the highest revision of each window that was sent again. These are few,
and all of them go to each task of the second pass.

Limits: a window that was sent again takes 16 bytes in each task.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.sql.types import BinaryType, LongType, StructField, StructType

from rackwise.pipeline.columns.arrays import NO_NUMBER, filled, longs
from rackwise.pipeline.columns.groups import Groups, whole_longs
from rackwise.pipeline.ingest.splits import SplitReader, dealt_splits
from rackwise.pipeline.schemas import FLOW_INPUT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from rackwise.pipeline.ingest.files import FlowFile
    from rackwise.pipeline.runtime.engine import Engine

_NEEDED = StructType([FLOW_INPUT[name] for name in ("emitter", "window_start", "revision")])
_BEST = StructType(
    [
        StructField("emitter", BinaryType()),
        StructField("start", LongType()),
        StructField("most", LongType()),
    ]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class BestRevisions:
    """The highest revision of each of n windows that were sent again."""

    emitters: Mapping[bytes, int]
    """Emitter -> its number, from 0."""
    starts: NDArray[np.int64]
    """Distinct starts of the windows, in microseconds since 1970, ascending."""
    windows: NDArray[np.int64]
    """Number of the emitter * number of starts + index in `starts`, ascending; shape (n,)."""
    revisions: NDArray[np.int64]
    """Shape (n,)."""

    @classmethod
    def of(cls, found: pa.Table) -> BestRevisions:
        """From rows of emitter, start and revision; a window may have several."""
        coded = found["emitter"].combine_chunks().dictionary_encode()
        starts, places = np.unique(whole_longs(found["start"]), return_inverse=True)
        keys = filled(coded.indices, NO_NUMBER) * len(starts) + places
        windows, groups = np.unique(keys, return_inverse=True)
        revisions = np.zeros(len(windows), dtype=np.int64)
        np.maximum.at(revisions, groups, whole_longs(found["most"]))
        emitters = {name: number for number, name in enumerate(coded.dictionary.to_pylist())}
        return cls(emitters=emitters, starts=starts, windows=windows, revisions=revisions)

    def are_higher(self, batch: pa.RecordBatch) -> NDArray[np.bool_]:
        """Whether the window of each row has a higher revision than the row; shape (n,)."""
        if not len(self.windows):
            return np.zeros(batch.num_rows, dtype=np.bool_)
        codes, names = _emitters(batch)
        known = [*(self.emitters.get(name, NO_NUMBER) for name in names), NO_NUMBER]
        emitter = np.array(known, dtype=np.int64)[codes]
        start = _places(self.starts, longs(batch.column("window_start")))
        is_there = (emitter != NO_NUMBER) & (start != NO_NUMBER)
        window = _places(self.windows, emitter * len(self.starts) + start)
        is_there &= window != NO_NUMBER
        own = filled(batch.column("revision"), 0)
        found: NDArray[np.bool_] = is_there & (own < self.revisions[window])
        return found


def best_revisions(engine: Engine, files: Sequence[FlowFile]) -> BestRevisions:
    """The windows of these files that were sent again; an action that reads them in tasks."""
    reader = SplitReader(needed=_NEEDED, coded=("emitter",), work=_best, positive="revision")
    return BestRevisions.of(
        engine.collect(engine.map(dealt_splits(engine, files, ()), reader, _BEST))
    )


def _best(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The work of a task: rows in, the windows that were sent again out."""
    best = Groups(["emitter", "start"], ["most"])
    for batch in batches:
        if not {*_NEEDED.names} <= {*batch.schema.names}:
            continue  # a file without revisions
        start, revision = (longs(batch.column(name)) for name in ("window_start", "revision"))
        codes, names = _emitters(batch)
        rows = np.flatnonzero((codes != NO_NUMBER) & (start != NO_NUMBER) & (revision > 0))
        emitter = pa.DictionaryArray.from_arrays(
            pa.array(codes[rows]), pa.array(names, pa.binary())
        )
        best.add(pa.table({"emitter": emitter, "start": start[rows], "most": revision[rows]}))
    yield from best.take()


def _emitters(batch: pa.RecordBatch) -> tuple[NDArray[np.int64], list[bytes]]:
    """The code of each row's emitter, -1 without one, and the emitters by code."""
    coded = batch.column("emitter").dictionary_encode()
    return filled(coded.indices, NO_NUMBER), coded.dictionary.cast(pa.binary()).to_pylist()


def _places(ordered: NDArray[np.int64], numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """The index of each number in ascending ones, -1 where it is not there; shape (n,)."""
    places = np.minimum(np.searchsorted(ordered, numbers), len(ordered) - 1)
    return np.where(ordered[places] == numbers, places, NO_NUMBER)
