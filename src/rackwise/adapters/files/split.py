"""Split files, format `rackwise-split/1`: what each producer of a topic sends to which rack.

```
{"capacity":"leaders","eps":0.1,"format":"rackwise-split/1","made_at_ms":1795219200000,
"made_from":{"rates":"5f0c..","snapshot":"9a7d.."},"rates":{"free":{"az1":1,"az2":1},"pinned":{}},
"shares":{"az1":{"az1":0.733,"az2":0,"az3":0.267},"az2":{..}},"topic":"orders",
"valid_for_ms":3600000,"weights":{"az1":4,"az2":4,"az3":4}}
```

One file serves all producers of the topic; each takes the row of its own rack. `made_from` is the
SHA-256 of the rates file and the fingerprint of the snapshot. The shares of a row add up to 1
within 1e-6, and its racks have a weight. The file has one line with sorted keys. It is replaced
atomically: a producer that reads it at the same time gets the old file or the new one.

What this does not do: say whether a split is still in force (`core.partitioner` does).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.rack_rates import check_racks, numbers_text
from rackwise.adapters.files.writing import write_text
from rackwise.core.errors import SplitFileError
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.declare import Between, Matching, Says
from rackwise.core.json.faults import Fault
from rackwise.core.json.node import document
from rackwise.core.partitioner.choice.schedule import SHARE_SUM_TOLERANCE
from rackwise.core.partitioner.split.rates import GREATEST, RackRates

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwise.core.json.declare import Milliseconds, NameText
    from rackwise.core.json.node import JsonNode

SPLIT_FORMAT = "rackwise-split/1"

_AGAIN = "compute the split again: rackwise producer split"
_HASH = Matching(re.compile("[0-9a-f]{64}"), "a SHA-256 of 64 hex digits", _AGAIN)

Weight: TypeAlias = Annotated[float, Between(0.0, GREATEST, "a weight from 0 to 2^63", _AGAIN)]
Share: TypeAlias = Annotated[float, Between(0.0, 1.0, "a share from 0 to 1", _AGAIN)]


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitSources:
    """The inputs of a split."""

    rates: Annotated[str, _HASH]
    """SHA-256 of the rates file, lower-case hex."""
    snapshot: Annotated[str, _HASH]
    """Fingerprint of the snapshot, lower-case hex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFile:
    """A split with its inputs and its time of validity."""

    topic: NameText
    eps: Annotated[float, Between(0.0, math.inf, "an eps of 0 or more", _AGAIN)]
    """By how much a rack of leaders may exceed an even load."""
    capacity: Annotated[Literal["leaders", "brokers"], Says("leaders or brokers", _AGAIN)]
    """What a rack's weight counts."""
    weights: Mapping[str, Weight]
    """Leader rack -> weight."""
    rates: RackRates
    """The measured rates."""
    shares: Mapping[str, Mapping[str, Share]]
    """Client rack -> leader rack -> share."""
    made_from: SplitSources
    made_at_ms: Milliseconds
    valid_for_ms: Annotated[int, Between(1, wanted="milliseconds, 1 or more")]


def read_split(path: str | Path, *, max_bytes: int = MAX_BYTES) -> SplitFile:
    """The split in a file.

    Raises `InvalidConfig` if the path is no readable regular file, and `SplitFileError`, whose
    `where` is the JSON path.
    """
    data = read_bytes(path, error=SplitFileError, max_bytes=max_bytes)
    return parse_split(data, where=str(path))


def parse_split(data: bytes, *, where: str) -> SplitFile:
    """The split in the content of a file. Raises `SplitFileError`."""
    root = document(data, where=where, error=SplitFileError, format=SPLIT_FORMAT)
    found: SplitFile = SPLIT.read(root)
    root.faults.raise_if_any()
    return found


def split_text(split: SplitFile) -> str:
    """The content of a split file."""
    return numbers_text(SPLIT.write(split))


def write_split(path: str | Path, split: SplitFile) -> None:
    """Write a split file atomically. Raises `InvalidConfig`, `WorldError`."""
    write_text(path, split_text(split))


def _check(split: SplitFile, node: JsonNode) -> None:
    weights = node.at("weights")
    if not any(split.weights.values()):
        weights.wrong("a rack with a weight above 0", hint=_AGAIN)
    for client, row in split.shares.items():
        _check_row(row, node.at("shares").at(client), split.weights)
    check_racks(weights, [*split.weights, *split.rates.free, *split.rates.pinned, *split.shares])


def _check_row(row: Mapping[str, float], node: JsonNode, weights: Mapping[str, float]) -> None:
    for rack, share in row.items():
        if share and not weights.get(rack):
            node.at(rack).wrong("no share for a rack without weight", hint=_AGAIN)
    total = math.fsum(row.values())
    if abs(total - 1) > SHARE_SUM_TOLERANCE:
        node.faults.add(
            Fault(
                place=node.path,
                sentence=f"expected shares with the sum 1, got the sum {total:.9g}",
                wanted=1,
                had=total,
                hint=_AGAIN,
            )
        )


SPLIT = Codec(
    rules={SplitFile: ObjectRules(constants={"format": SPLIT_FORMAT}, check=_check)}
).object(SplitFile)
"""The form of a split file."""
