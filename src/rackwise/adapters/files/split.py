"""Split files, format `rackwise-split/1`: what each producer of a topic sends to which rack.

```
{"capacity":"leaders","eps":0.1,"format":"rackwise-split/1","made_at_ms":1795219200000,
"made_from":{"rates":"5f0c..","snapshot":"9a7d.."},"rates":{"free":{"az1":1,"az2":1},"pinned":{}},
"shares":{"az1":{"az1":0.733,"az2":0,"az3":0.267},"az2":{..}},"topic":"orders",
"valid_for_ms":3600000,"weights":{"az1":4,"az2":4,"az3":4}}
```

One file serves all producers of the topic; each takes the row of its own rack. `made_from` is the
SHA-256 of the rates file and the fingerprint of the snapshot. A row adds up to 1 within 1e-6 and
names racks that have a weight. Written on one line, keys sorted; whole or not at all, so that a
producer that reads it meanwhile finds the old one or the new one.

What this does not do: say whether a split is still in force (`core.partitioner` does).
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.adapters.files.tables.rack_rates import (
    RATE,
    RATE_HINT,
    check_racks,
    moment,
    numbers_text,
    rack_numbers,
)
from rackwise.adapters.files.writing import write_text
from rackwise.core.errors import SplitFileError
from rackwise.core.json.faults import Fault
from rackwise.core.json.node import document
from rackwise.core.partitioner.choice.schedule import SHARE_SUM_TOLERANCE
from rackwise.core.partitioner.split.rates import RackRates

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from rackwise.core.json.node import JsonNode

SPLIT_FORMAT = "rackwise-split/1"
CAPACITIES = ("leaders", "brokers")
"""What a rack's weight counts."""

_AGAIN = "compute the split again: rackwise producer split"
_KEYS = (
    "capacity",
    "eps",
    "format",
    "made_at_ms",
    "made_from",
    "rates",
    "shares",
    "topic",
    "valid_for_ms",
    "weights",
)
_SHA256 = re.compile("[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitFile:
    """A split with what it was made from and how long it holds.

    `shares`: client rack -> leader rack -> share; `weights`: leader rack -> weight; `snapshot`,
    `rates_sha256`: SHA-256, lower-case hex.
    """

    topic: str
    eps: float
    capacity: Literal["leaders", "brokers"]
    weights: Mapping[str, float]
    rates: RackRates
    shares: Mapping[str, Mapping[str, float]]
    snapshot: str
    rates_sha256: str
    made_at_ms: int
    valid_for_ms: int


def read_split(path: str | Path, *, max_bytes: int = MAX_BYTES) -> SplitFile:
    """The split in a file.

    Raises `InvalidConfig` where the path is no readable regular file, `SplitFileError`, whose
    `where` is the JSON path.
    """
    data = read_bytes(path, error=SplitFileError, max_bytes=max_bytes)
    return parse_split(data, where=str(path))


def parse_split(data: bytes, *, where: str) -> SplitFile:
    """The split in the content of a file. Raises `SplitFileError`."""
    root = document(data, where=where, error=SplitFileError, format=SPLIT_FORMAT)
    fields = root.members(_KEYS)
    made_from = fields["made_from"].members(("rates", "snapshot"))
    rates = fields["rates"].members(("free", "pinned"))
    free, pinned = (rack_numbers(rates[key], RATE, RATE_HINT) for key in ("free", "pinned"))
    weights = rack_numbers(fields["weights"], "a weight from 0 to 2^63", _AGAIN)
    if not any(weights.values()):
        fields["weights"].wrong("a rack with a weight above 0", hint=_AGAIN)
    shares = {client: _row(row, weights) for client, row in fields["shares"].entries()}
    check_racks(fields["weights"], [*weights, *free, *pinned, *shares])
    capacity = fields["capacity"].text()
    if capacity not in CAPACITIES:
        fields["capacity"].wrong("leaders or brokers", hint=_AGAIN)
    found = SplitFile(
        topic=fields["topic"].name(),
        eps=fields["eps"].number("an eps of 0 or more", high=math.inf, hint=_AGAIN),
        capacity="brokers" if capacity == "brokers" else "leaders",
        weights=weights,
        rates=RackRates(free, pinned),
        shares=shares,
        snapshot=_sha256(made_from["snapshot"]),
        rates_sha256=_sha256(made_from["rates"]),
        made_at_ms=moment(fields["made_at_ms"]),
        valid_for_ms=fields["valid_for_ms"].integer("milliseconds, 1 or more", 1),
    )
    root.faults.raise_if_any()
    return found


def split_text(split: SplitFile) -> str:
    """The content of a split file."""
    return numbers_text(
        {
            "capacity": split.capacity,
            "eps": split.eps,
            "format": SPLIT_FORMAT,
            "made_at_ms": split.made_at_ms,
            "made_from": {"rates": split.rates_sha256, "snapshot": split.snapshot},
            "rates": {"free": dict(split.rates.free), "pinned": dict(split.rates.pinned)},
            "shares": {client: dict(row) for client, row in split.shares.items()},
            "topic": split.topic,
            "valid_for_ms": split.valid_for_ms,
            "weights": dict(split.weights),
        }
    )


def write_split(path: str | Path, split: SplitFile) -> None:
    """Write a split file, whole or not at all. Raises `InvalidConfig`, `WorldError`."""
    write_text(path, split_text(split))


def _row(node: JsonNode, weights: Mapping[str, float]) -> dict[str, float]:
    row = {}
    for rack, value in node.entries():
        row[rack] = value.number("a share from 0 to 1", 0.0, 1.0, hint=_AGAIN)
        if row[rack] and not weights.get(rack):
            value.wrong("no share for a rack without weight", hint=_AGAIN)
    total = math.fsum(row.values())
    if isinstance(node.value, dict) and abs(total - 1) > SHARE_SUM_TOLERANCE:
        node.faults.add(
            Fault(
                place=node.path,
                sentence=f"expected shares with the sum 1, got the sum {total:.9g}",
                wanted=1,
                had=total,
                hint=_AGAIN,
            )
        )
    return row


def _sha256(node: JsonNode) -> str:
    text = node.text("a SHA-256")
    if isinstance(node.value, str) and not _SHA256.fullmatch(text):
        node.wrong("a SHA-256 of 64 hex digits", hint=_AGAIN)
    return text
