"""Writes generated flow logs as text, with their tables and their truth.

A flow log has a header line with the field names, with hyphens between words, and one line per row:
the fields in the order of the header, separated by one blank, `-` for a missing value.

```
version account-id interface-id srcaddr dstaddr srcport dstport protocol packets bytes start ..
5 123456789010 eni-0f3c.. 10.0.15.41 10.2.0.10 40112 9092 6 42 59136 1795219200 1795219260 ..
```

What this does not do: read; decide what is in the rows.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise.adapters.files.writing import csv_text, write_bytes, write_text
from rackwise.core.fleet import FlowTextColumn, LineEdit

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.core.fleet import FlowNumberColumn, GeneratedFile, SpoiledLine

MISSING = "-"
GZIP_LEVEL = 4
"""Flow logs are large; from here on gzip takes longer than everything else."""


def write_flow_text(path: str | Path, file: GeneratedFile) -> None:
    """Write one flow log atomically; as gzip if the name ends with `.gz`.

    Raises `InvalidConfig`, `WorldError` if the path cannot be written.
    """
    data = flow_text(file).encode(errors="surrogateescape")
    if Path(path).suffix == ".gz":
        data = gzip.compress(data, compresslevel=GZIP_LEVEL, mtime=0)
    write_bytes(path, data)


def flow_text(file: GeneratedFile) -> str:
    """The text of a flow log; bytes that are not UTF-8 are lone surrogates in it."""
    names = list(file.columns)
    header = " ".join(name.replace("_", "-") for name in names)
    columns = [_texts(column) for column in file.columns.values()]
    lines = list(map(" ".join, zip(*columns, strict=True)))
    for spoil in file.spoiled:
        lines[spoil.row] = _spoiled(lines[spoil.row], spoil, names, header)
    return "\n".join([header, *lines, ""])


def write_rack_table(path: str | Path, column: str, rows: Iterable[tuple[str, str]]) -> None:
    """Write a CSV table with the rack of each network or client: `column` and `rack`."""
    write_text(path, csv_text([column, "rack"], rows))


def write_document(path: str | Path, document: Mapping[str, Any]) -> None:
    """Write a JSON document, keys sorted, indented by one blank."""
    write_text(path, json.dumps(document, ensure_ascii=False, indent=1, sort_keys=True) + "\n")


def _texts(column: FlowTextColumn | FlowNumberColumn) -> Sequence[str]:
    if isinstance(column, FlowTextColumn):
        words = [*column.words, MISSING]
        return [words[code] for code in column.codes.tolist()]
    texts = list(map(str, column.values.tolist()))
    for row in column.is_missing.nonzero()[0].tolist():
        texts[row] = MISSING
    return texts


def _spoiled(line: str, spoil: SpoiledLine, names: Sequence[str], header: str) -> str:
    fields, place = line.split(" "), names.index(spoil.column)
    if spoil.edit is LineEdit.HEADER:
        return header
    if spoil.edit is LineEdit.CUT:
        return " ".join(fields[:place])
    if spoil.edit is LineEdit.MORE:
        return f"{line} more"
    return " ".join([*fields[:place], spoil.text, *fields[place + 1 :]])
