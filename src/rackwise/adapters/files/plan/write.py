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
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters.files.plan.format import PLAN
from rackwise.adapters.files.snapshot.write import fingerprint
from rackwise.adapters.files.tables.prices import price_table
from rackwise.adapters.files.writing import packed, write_bytes
from rackwise.core.json.canonical import canonical_json

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.json.canonical import Json
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Move, Plan
    from rackwise.core.traffic import Price


def write_plan(plan: Plan, path: str | Path) -> None:
    """Write a plan file, whole or not at all; packed when the name ends with `.gz`.

    Raises `InvalidConfig`, `WorldError` where the path cannot be written.
    """
    data = plan_bytes(plan)
    write_bytes(path, packed(data) if Path(path).suffix == ".gz" else data)


def plan_bytes(plan: Plan) -> bytes:
    """The content of a plan file, not packed; its hash is that of what is in it."""
    return _written(plan)[0]


def sealed(plan: Plan) -> Plan:
    """The plan with the hash of its file."""
    return replace(plan, sha256=_written(plan)[1])


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
    body = plan_body(replace(plan, moves=()))
    texts = {key: _in_lines(key, value) for key, value in body.items()}
    texts["moves"] = _moves_in_lines(plan.moves)
    digest = sha256(_document(texts).replace("\n", "").encode()).hexdigest()
    texts["sha256"] = canonical_json(digest)
    return (_document(texts) + "\n").encode(), digest


def _document(texts: Mapping[str, str]) -> str:
    return "{" + ",".join(f"{canonical_json(key)}:{texts[key]}" for key in sorted(texts)) + "}"


def _in_lines(key: str, value: Json) -> str:
    """Canonical JSON of a document's field, each item of its long lists on a line of its own."""
    if isinstance(value, list):
        return _list_in_lines(value)
    if key == "made_from" and isinstance(value, dict):
        return _document({each: _made_from_in_lines(each, value[each]) for each in value})
    return canonical_json(value)


def _moves_in_lines(moves: Sequence[Move]) -> str:
    """Canonical JSON of each move; the texts of names and lists that moves share are made once.

    The form of a move gives the same text; this is three times as fast.
    """
    name, ids, names = cache(canonical_json), cache(_ids), cache(_names)
    lines = [
        f'{{"after":{ids(move.after)},"before":{ids(move.before)},"bytes":{_number(move.bytes)},'
        f'"cross_bytes":{_number(move.cross_bytes)},"partition":{move.partition},'
        f'"reasons":{names(move.reasons)},"topic":{name(move.topic)},'
        f'"topic_id":{name(move.topic_id)},"usd_nano":{_number(move.usd_nano)}}}'
        for move in moves
    ]
    return _lines(lines)


def _ids(brokers: tuple[int, ...]) -> str:
    return f"[{','.join(map(str, brokers))}]"


def _names(reasons: tuple[str, ...]) -> str:
    return canonical_json(list(reasons))


def _number(value: int | None) -> str:
    return "null" if value is None else str(value)


def _made_from_in_lines(key: str, value: Json) -> str:
    is_long = key in {"brokers", "partitions"} and isinstance(value, list)
    return _list_in_lines(value) if is_long else canonical_json(value)  # type: ignore[arg-type]


def _list_in_lines(items: Sequence[Json]) -> str:
    return _lines([canonical_json(item) for item in items])


def _lines(items: Sequence[str]) -> str:
    return "[\n" + ",\n".join(items) + "\n]" if items else "[]"
