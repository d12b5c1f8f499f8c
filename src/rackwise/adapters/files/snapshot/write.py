"""Snapshot files, format `rackwise.snapshot/1`: a cluster as canonical JSON in lines.

Goals, in order: equal clusters give equal bytes and one fingerprint; `write(read(b)) == b`; a
change of one topic is one changed line in a diff; nothing is written that could not be read again.

```
{"brokers":[
{"addresses":[],"host":"b1","id":1,..},
{"addresses":[],"host":"b2","id":2,..}
],"cluster_id":"4L6g3nShT-eMCtK--X86sw","configs":{..},"format":"rackwise.snapshot/1","groups":[],..,"topics":[
{"id":"..","is_internal":false,"min_insync_replicas":2,"name":"orders","partitions":[{..},{..}],"retention_bytes":null}
]}
```

Keys are sorted, so without its line feeds the text is canonical JSON; the fingerprint is the
SHA-256 of that, `tool` left out, since who wrote a snapshot does not change what it says.

What this does not do: read (see `read`); sort groups, members or notes, whose order is the
cluster's.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

import numpy as np

from rackwise.adapters.files.snapshot.format import (
    ANSWERED,
    BROKER,
    CONFIGS,
    FORMAT,
    GROUP,
    NOTE,
    TOPIC,
)
from rackwise.adapters.files.snapshot.partitions import check_table, texts_of
from rackwise.adapters.files.writing import packed, write_bytes
from rackwise.core.errors import InvalidSnapshot
from rackwise.core.json.canonical import canonical_json
from rackwise.core.json.faults import Fault, Faults
from rackwise.core.model import AnswerTimes

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.json.canonical import Json
    from rackwise.core.model import Cluster, PartitionTable, Topic


@cache
def tool() -> str:
    """What a snapshot says it was written by: `rackwise 0.1.0`."""
    from importlib.metadata import version  # loads a parser of mails, which readers do not need

    return f"rackwise {version('rackwise')}"


def write_snapshot(cluster: Cluster, path: str | Path) -> None:
    """Write a snapshot file, whole or not at all; packed when the name ends with `.gz`.

    Raises `InvalidSnapshot` for a cluster that could not be read again, and
    `InvalidConfig`, `WorldError` where the path cannot be written.
    """
    data = snapshot_bytes(cluster)
    write_bytes(path, packed(data) if Path(path).suffix == ".gz" else data)


def snapshot_bytes(cluster: Cluster) -> bytes:
    """The content of a snapshot file, not packed. Raises `InvalidSnapshot`."""
    _check(cluster)
    return ("\n".join(_lines(cluster, tool())) + "\n").encode()


def fingerprint(cluster: Cluster, row_texts: Mapping[str, bytes | memoryview] | None = None) -> str:
    """SHA-256 of the canonical snapshot without `tool`, in lower-case hex.

    `row_texts`: topic -> its partitions as canonical JSON, `{..},{..}`, where the caller has them.
    """
    digest = hashlib.sha256()
    for line in _lines(cluster, None, row_texts):
        digest.update(line.encode())
    return digest.hexdigest()


def _check(cluster: Cluster) -> None:
    faults = Faults("snapshot", InvalidSnapshot)
    table = cluster.partitions
    check_table(table, table.name, faults)
    unknown = [name for name in table.topics if name not in cluster.topics]
    if unknown:
        faults.add(
            Fault(
                place=unknown[0],
                sentence="expected a topic of the cluster, got an unknown topic with partitions",
                wanted="a topic of the cluster",
                had=unknown[0],
                hint="give the cluster an entry in topics for it",
            ),
            others=len(unknown) - 1,
        )
    first = table.first_rows
    numbers = np.arange(len(table)) - first[table.topic] if len(table) else table.partition
    gaps = np.flatnonzero(table.partition != numbers)
    if len(gaps):
        row = int(gaps[0])
        faults.add(
            Fault(
                place=table.topics[table.topic[row]],
                sentence=f"expected partitions without a gap, got none with number {numbers[row]}",
                wanted=int(numbers[row]),
                had=int(table.partition[row]),
                hint="give all partitions of a topic",
            )
        )
    faults.raise_if_any()


def _lines(
    cluster: Cluster,
    tool_text: str | None,
    row_texts: Mapping[str, bytes | memoryview] | None = None,
) -> Iterator[str]:
    """The lines of the file; joined without anything between them they are canonical JSON."""
    before_brokers: dict[str, Json] = (
        {} if cluster.answered == AnswerTimes() else {"answered": ANSWERED.write(cluster.answered)}
    )
    first = f"{canonical_json(before_brokers)[1:-1]}," if before_brokers else ""
    yield f'{{{first}"brokers":['
    yield from _separated([canonical_json(BROKER.write(broker)) for broker in cluster.brokers])
    before_groups: dict[str, Json] = {
        "cluster_id": cluster.cluster_id,
        "configs": CONFIGS.write(cluster.configs),
        "format": FORMAT,
    }
    yield f'],{canonical_json(before_groups)[1:-1]},"groups":['
    yield from _separated([canonical_json(GROUP.write(group)) for group in cluster.groups])
    before_topics: dict[str, Json] = {
        **({} if cluster.name is None else {"name": cluster.name}),
        "notes": [NOTE.write(note) for note in cluster.notes],
        "source": cluster.source,
        "taken_at": cluster.taken_at,
    }
    if tool_text is not None:
        before_topics["tool"] = tool_text
    yield f'],{canonical_json(before_topics)[1:-1]},"topics":['
    yield from _separated(_topics(cluster, row_texts))
    yield "]}"


def _separated(lines: Sequence[str]) -> Iterator[str]:
    for line in lines[:-1]:
        yield f"{line},"
    yield from lines[-1:]


def _topics(cluster: Cluster, row_texts: Mapping[str, bytes | memoryview] | None) -> list[str]:
    texts: Mapping[str, bytes | memoryview] = (
        _row_texts(cluster.partitions) if row_texts is None else row_texts
    )
    return [
        _topic(cluster.topics[name], str(texts.get(name, b""), "utf-8"))
        for name in sorted(cluster.topics, key=lambda name: name.encode("utf-8", "surrogatepass"))
    ]


def _row_texts(table: PartitionTable) -> dict[str, bytes]:
    """Topic -> its partitions; a table may list topics that have no row."""
    present = table.topic[np.append(True, table.topic[1:] != table.topic[:-1])[: len(table)]]
    names = (table.topics[code] for code in present.tolist())
    return dict(zip(names, texts_of(table), strict=True))


def _topic(topic: Topic, partitions: str) -> str:
    """The line of a topic; its keys are sorted, `partitions` among them."""
    fields = cast("dict[str, Json]", TOPIC.write(topic))
    # No text has this key in it, because the quotes of a text have backslashes.
    before, key, after = canonical_json({**fields, "partitions": []}).partition('"partitions":[')
    return f"{before}{key}{partitions}{after}"
