"""Rates files, format `rackwise-rates/1`: what producers of each rack send to one topic.

```
{"format":"rackwise-rates/1","free_bytes_per_s":{"az1":52428800,"az2":52428800},"made_at_ms":
1795219200000,"pinned_bytes_per_s":{"az3":1048576},"topic":"orders"}
```

`free_bytes_per_s`: records that may go anywhere, by the rack of their producers.
`pinned_bytes_per_s`: records whose partition is given (a key, a number), by the rack of its leader.
Rates are numbers from 0 to 2^63. A rack is any name, also one in another form than the others. The
file has one line with sorted keys, and integers without a decimal point, so equal rates give equal
bytes.

What this does not do: read tables of topics and groups (see `rates`); measure.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rackwise.adapters.files.bounded_read import MAX_BYTES, read_bytes
from rackwise.core.errors import SplitError, SplitFileError
from rackwise.core.json.codec import Codec, ObjectRules
from rackwise.core.json.node import document
from rackwise.core.partitioner.split.rates import RackRates, Rate, rack_paths

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from pathlib import Path

    from rackwise.core.json.declare import Milliseconds, NameText
    from rackwise.core.json.node import JsonNode

RATES_FORMAT = "rackwise-rates/1"
_WHOLE = 2.0**53
"""Below it every whole number is exact."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RackRatesFile:
    """Rates of a topic and when they were measured; `sha256` is of the file's bytes."""

    topic: str
    rates: RackRates
    made_at_ms: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RatesDocument:
    """What producers of each rack send to one topic."""

    topic: NameText
    free_bytes_per_s: Mapping[str, Rate]
    """Records that may go anywhere, by the rack of their producers."""
    pinned_bytes_per_s: Mapping[str, Rate]
    """Records whose partition is given, by the rack of its leader."""
    made_at_ms: Milliseconds
    """When the rates were measured."""


def _check(rates: RatesDocument, node: JsonNode) -> None:
    racks = [*rates.free_bytes_per_s, *rates.pinned_bytes_per_s]
    check_racks(node.at("free_bytes_per_s"), racks)


RATES = Codec(
    rules={RatesDocument: ObjectRules(constants={"format": RATES_FORMAT}, check=_check)}
).object(RatesDocument)
"""The form of a rates file."""


def read_rack_rates(path: str | Path, *, max_bytes: int = MAX_BYTES) -> RackRatesFile:
    """The rates in a file.

    Raises `InvalidConfig` if the path is no readable regular file, `SplitFileError`.
    """
    data = read_bytes(path, error=SplitFileError, max_bytes=max_bytes)
    return parse_rack_rates(data, where=str(path))


def parse_rack_rates(data: bytes, *, where: str) -> RackRatesFile:
    """The rates in the content of a file. Raises `SplitFileError`."""
    root = document(data, where=where, error=SplitFileError, format=RATES_FORMAT)
    found: RatesDocument = RATES.read(root)
    root.faults.raise_if_any()
    return RackRatesFile(
        topic=found.topic,
        rates=RackRates(found.free_bytes_per_s, found.pinned_bytes_per_s),
        made_at_ms=found.made_at_ms,
        sha256=hashlib.sha256(data).hexdigest(),
    )


def rack_rates_text(topic: str, rates: RackRates, *, made_at_ms: int) -> str:
    """The content of a rates file."""
    document = RatesDocument(
        topic=topic,
        free_bytes_per_s=rates.free,
        pinned_bytes_per_s=rates.pinned,
        made_at_ms=made_at_ms,
    )
    return numbers_text(RATES.write(document))


def check_racks(node: JsonNode, racks: Iterable[str]) -> None:
    """Record a rack that is not a valid name."""
    try:
        rack_paths(tuple(sorted(set(racks))))
    except SplitError as error:
        node.faults.wrong(node.path, str(error.wanted), error.had, hint=error.hint)


def numbers_text(value: Mapping[str, Any]) -> str:
    """JSON on one line, keys sorted, numbers in their shortest text: equal values, equal text."""
    plain = _plain(value)
    return json.dumps(plain, ensure_ascii=False, sort_keys=True, separators=(",", ":")) + "\n"


def _plain(value: object) -> object:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, float) and value.is_integer() and abs(value) < _WHOLE:
        return int(value)
    return value
