r"""Canonical JSON: one value, one text, so that a hash of it means the value.

Goals, in order: equal values give equal bytes on every machine; what has no single text is refused;
the text is plain JSON that any parser reads.

Rules: object keys sorted by code point, separators `,` and `:`, no blank, no ASCII escaping (UTF-8
is kept, only `"`, `\` and C0 controls are escaped), numbers are integers.

```
{"b": [3, 1], "a": {"z": None, "ä": "x/y"}}   ->   {"a":{"z":null,"ä":"x/y"},"b":[3,1]}
```

What this does not do: write floats (two texts for one number: money and bytes are integers here);
sort lists (their order is part of the value); normalise Unicode (two spellings are two names).
Source: the subset of RFC 8785 that integers and text need, with keys in code point order.
"""

from __future__ import annotations

import hashlib
import json
from typing import TypeAlias

Json: TypeAlias = "bool | int | str | list[Json] | dict[str, Json] | None"
"""What canonical JSON can hold."""

_LEAVES = frozenset({type(None), bool, int, str})
_ENCODER = json.JSONEncoder(ensure_ascii=False, sort_keys=True, separators=(",", ":"))


def canonical_json(value: Json) -> str:
    r"""The one text of a value.

    Raises `TypeError` for a float, a key that is no text, and any type that JSON lacks;
    `ValueError` for a lone surrogate, which has no bytes in UTF-8.

    >>> canonical_json({"b": [3, 1], "a": {"z": None}})
    '{"a":{"z":null},"b":[3,1]}'
    """
    _check(value)
    text = _ENCODER.encode(value)
    text.encode()
    return text


def sha256_of(value: Json) -> str:
    """SHA-256 of the canonical text as UTF-8, in lower-case hex."""
    return hashlib.sha256(canonical_json(value).encode()).hexdigest()


def _check(value: object) -> None:
    if value is None or isinstance(value, str | int):
        return
    if isinstance(value, list):
        items = value
    elif isinstance(value, dict):
        items = list(value.values())
        for key in value:
            if not isinstance(key, str):
                raise TypeError(f"expected a key of text, got {type(key).__name__}")
    else:
        raise TypeError(f"expected null, bool, int, str, list or dict, got {type(value).__name__}")
    for item in items:
        if type(item) not in _LEAVES:
            _check(item)
