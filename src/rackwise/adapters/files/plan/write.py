"""Plan files, format `rackwise.plan/1`: a plan as canonical JSON in lines, sealed by its hash.

Goals, in order: equal plans give equal bytes; `parse_plan(plan_bytes(p)) == p` of a sealed plan;
a change of one move is one changed line in a diff.

```
{"certificates":[
{"cuts":[],"groups":[..],"lower_bound":2,"objective":"moves","prices":{"1":0},..}
],"cluster_id":"4L6g..","fair":{..},"format":"rackwise.plan/1","goal":{"name":"balance"},..,"moves":[
{"after":[1,3,4],"before":[1,2,4],"bytes":13314398618,..,"topic":"orders",..},
..
],"sha256":"5f0c..","solver":"..","totals":{..},"verdict":{..}}
```

Keys are sorted, so without its line feeds the text is canonical JSON. `sha256` is the SHA-256 of
that text without the key itself, so an edit of the file is detected.

Limits: this module does not read (see `read`), or judge whether the plan is right (a proof does).
"""

from __future__ import annotations

from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from rackwise.adapters.files.plan.format import PLAN
from rackwise.adapters.files.plan.moves import move_lines
from rackwise.adapters.files.snapshot.write import fingerprint
from rackwise.adapters.files.tables.prices import price_table
from rackwise.adapters.files.writing import packed, write_bytes
from rackwise.core.json.canonical import canonical_json
from rackwise.core.planning.outcome.move_columns import columns_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rackwise.core.json.canonical import Json
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Plan
    from rackwise.core.traffic import Price

Piece: TypeAlias = "bytes | memoryview"
Pieces: TypeAlias = "Sequence[Piece]"
"""A text in pieces: a large plan is not copied to be joined."""
_HASHED = 2**22
"""Bytes that are hashed at once."""


def write_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan file, whole or not at all; packed when the name ends with `.gz`.

    Raises `InvalidConfig`, `WorldError` where the path cannot be written.
    """
    write_plan_data(plan_bytes(plan), path)


def write_plan_data(data: bytes, path: str | Path) -> None:
    """Write the content of a plan file, as `write_plan` does."""
    write_bytes(path, packed(data) if Path(path).suffix == ".gz" else data)


def plan_bytes(plan: Plan) -> bytes:
    """The content of a plan file, not packed; its hash is that of what is in it."""
    return _written(plan)[0]


def sealed(plan: Plan) -> Plan:
    """The plan with the hash of its file."""
    return replace(plan, sha256=_written(plan)[1])


class SealedPlan(NamedTuple):
    """A plan with the hash of its file, and the content of that file."""

    plan: Plan
    data: bytes


def sealed_with_data(plan: Plan) -> SealedPlan:
    """The plan with the hash of its file, and the content of that file, not packed."""
    data, digest = _written(plan)
    return SealedPlan(replace(plan, sha256=digest), data)


def sealed_for(plan: Plan, cluster: Cluster, prices: Sequence[Price] = ()) -> tuple[bytes, str]:
    """The content of the file of a plan for a cluster as it was read, and the hash in it.

    `prices`: those that the plan was made with.
    """
    made_from = replace(
        plan.made_from, snapshot_sha256=fingerprint(cluster), prices=price_table(prices)
    )
    return _written(replace(plan, made_from=made_from))


def plan_body(plan: Plan) -> dict[str, Json]:
    """The document without `sha256`."""
    body: dict[str, Json] = PLAN.write(plan)
    del body["sha256"]
    return body


def _written(plan: Plan) -> tuple[bytes, str]:
    """The content of a plan file and the hash in it."""
    texts: dict[str, Pieces] = {"moves": [*move_lines(columns_of(plan.moves))]}
    if plan.later:
        texts["later"] = [*move_lines(columns_of(plan.later))]
    pieces, digest = plan_pieces(replace(plan, moves=(), later=()), texts)
    return b"".join(pieces), digest


def plan_pieces(plan: Plan, moves: Mapping[str, Pieces]) -> tuple[list[Piece], str]:
    """The content of the file of a plan in pieces, and the hash in it.

    `plan`: without moves. `moves`: `moves`, and `later` if there are any -> their list.
    """
    texts: dict[str, Pieces] = {
        key: [_in_lines(key, value).encode()] for key, value in plan_body(plan).items()
    }
    texts.update(moves)
    digest = sha256()
    for piece in _pieces(texts):
        for start in range(0, len(piece), _HASHED):
            digest.update(bytes(piece[start : start + _HASHED]).translate(None, b"\n"))
    texts["sha256"] = [canonical_json(digest.hexdigest()).encode()]
    return [*_pieces(texts), b"\n"], digest.hexdigest()


def _pieces(texts: Mapping[str, Pieces]) -> Iterator[Piece]:
    """The pieces of a document, from the texts of its members."""
    before = b"{"
    for key in sorted(texts):
        yield before + canonical_json(key).encode() + b":"
        yield from texts[key]
        before = b","
    yield b"}"


def _document(texts: Mapping[str, str]) -> str:
    return b"".join(_pieces({key: [text.encode()] for key, text in texts.items()})).decode()


def _in_lines(key: str, value: Json) -> str:
    """Canonical JSON of a document's field, each item of its long lists on a line of its own."""
    if isinstance(value, list):
        return _list_in_lines(value)
    if key == "made_from" and isinstance(value, dict):
        return _document({each: _made_from_in_lines(each, value[each]) for each in value})
    return canonical_json(value)


def _made_from_in_lines(key: str, value: Json) -> str:
    is_long = key in {"brokers", "partitions"} and isinstance(value, list)
    return _list_in_lines(value) if is_long else canonical_json(value)  # type: ignore[arg-type]


def _list_in_lines(items: Sequence[Json]) -> str:
    return _lines([canonical_json(item) for item in items])


def _lines(items: Sequence[str]) -> str:
    return "[\n" + ",\n".join(items) + "\n]" if items else "[]"
