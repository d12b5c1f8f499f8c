"""A JSON document as pieces of text, so that a long list is never whole in memory.

```
{"counts": {..}, "findings": iterator}      {"counts": {..}, "findings": [
                                            {..}, {..}, {..}                  a block
                                            , {..}, {..}                      the next one
                                            ]}
```

The pieces together are the text of `json.dumps` with sorted keys, as `escaped_json` writes it. An
iterator is an array: its values are encoded in blocks. Objects and lists of up to `FEW` members are
looked into for iterators; longer ones are encoded at once, and may hold none.

An audit of 1,600,000 partitions has millions of findings: as objects and as one text they take
more than 2.5 GB.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import islice

from rackwise.core.text import escaped_json

FEW = 100
BLOCK = 4096
"""Values of an iterator that are encoded at once."""


def json_pieces(value: object) -> Iterator[str]:
    r"""The pieces of a document of plain JSON and iterators. Raises `ValueError` for NaN.

    >>> "".join(json_pieces({"b": iter([{"y": 1, "x": 2}, None]), "a": "\x85"}))
    '{"a": "\\u0085", "b": [{"x": 2, "y": 1}, null]}'
    """
    if isinstance(value, dict) and len(value) <= FEW:
        yield "{"
        for number, key in enumerate(sorted(value)):
            yield f"{', ' if number else ''}{_text(str(key))}: "
            yield from json_pieces(value[key])
        yield "}"
    elif isinstance(value, list) and len(value) <= FEW:
        yield "["
        for number, item in enumerate(value):
            yield ", " if number else ""
            yield from json_pieces(item)
        yield "]"
    elif isinstance(value, Iterator):
        yield "["
        comma = ""
        while block := list(islice(value, BLOCK)):
            yield f"{comma}{_text(block)[1:-1]}"
            comma = ", "
        yield "]"
    else:
        yield _text(value)


def _text(value: object) -> str:
    return escaped_json(json.dumps(value, ensure_ascii=False, sort_keys=True, allow_nan=False))
