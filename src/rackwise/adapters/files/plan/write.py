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
that text without the key itself, so a plan that was edited by hand is told from one that was made.

What this does not do: read (see `plan`); judge whether the plan is right (a proof does).
"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters.files.snapshot.write import fingerprint
from rackwise.adapters.files.writing import packed, write_bytes
from rackwise.core.json.canonical import canonical_json
from rackwise.core.planning.model import (
    Add,
    Balance,
    Drain,
    Leaders,
    Repair,
    Replace,
    SetReplication,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.json.canonical import Json
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import (
        Certificate,
        Cut,
        Fair,
        Goal,
        Group,
        MadeFrom,
        Move,
        Plan,
        SeenBroker,
        Steady,
        Totals,
        Verdict,
    )

FORMAT = "rackwise.plan/1"
NAMES: Mapping[type, str] = {
    Repair: "repair",
    Balance: "balance",
    Drain: "drain",
    Replace: "replace",
    SetReplication: "set-rf",
    Add: "add",
    Leaders: "leaders",
}
"""Kind of goal -> its name."""


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


def sealed_for(plan: Plan, cluster: Cluster) -> tuple[bytes, str]:
    """The content of the file of a plan for a cluster as it was read, and the hash in it."""
    made_from = replace(plan.made_from, snapshot_sha256=fingerprint(cluster))
    return _written(replace(plan, made_from=made_from))


def policy_sha256(text: str) -> str:
    """SHA-256 of a policy's text, in lower-case hex."""
    return sha256(text.encode()).hexdigest()


def plan_body(plan: Plan) -> dict[str, Json]:
    """The document without `sha256`."""
    return _all_but_moves(plan) | {"moves": [_move(move) for move in plan.moves]}


def _all_but_moves(plan: Plan) -> dict[str, Json]:
    return {
        "certificates": [_certificate(each) for each in plan.certificates],
        "cluster_id": plan.cluster_id,
        "fair": _fair(plan.fair),
        "format": FORMAT,
        "goal": goal_json(plan.goal),
        "hypothetical": plan.hypothetical,
        "made_from": _made_from(plan.made_from),
        "minimise": plan.minimise,
        "solver": plan.solver,
        "totals": totals_json(plan.totals),
        "verdict": _verdict(plan.verdict),
    }


def goal_json(goal: Goal) -> dict[str, Json]:
    """`{"name": "drain", "brokers": [7], "rebalance": false}`."""
    told: dict[str, Json] = {"name": NAMES[type(goal)]}
    match goal:
        case Drain(brokers=brokers, rebalance=rebalance):
            told |= {"brokers": list(brokers), "rebalance": rebalance}
        case Replace(pairs=pairs):
            told["pairs"] = [[old, new] for old, new in pairs]
        case SetReplication(by_topic=by_topic, rebalance=rebalance):
            told |= {"by_topic": [[glob, size] for glob, size in by_topic], "rebalance": rebalance}
        case Add(brokers=added):
            told["brokers"] = [[broker, rack.text] for broker, rack in added]
        case _:
            pass
    return told


def _written(plan: Plan) -> tuple[bytes, str]:
    """The content of a plan file and the hash in it."""
    texts = {key: _in_lines(key, value) for key, value in _all_but_moves(plan).items()}
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
    """Canonical JSON of what `_move` says of each; names and lists that moves share, made once."""
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


def _made_from(made_from: MadeFrom) -> Json:
    told: dict[str, Json] = {
        "brokers": [_seen(broker, seen) for broker, seen in sorted(made_from.brokers.items())],
        "policy": made_from.policy,
        "policy_sha256": made_from.policy_sha256,
        "snapshot_sha256": made_from.snapshot_sha256,
        "topics": list(made_from.topics),
        **({"prices": made_from.prices} if made_from.prices else {}),
    }
    if made_from.partitions:
        told["partitions"] = [
            {"count": made_from.partitions[topic], "topic": topic}
            for topic in sorted(made_from.partitions, key=_utf_8)
        ]
    return told


def _utf_8(text: str) -> bytes:
    return text.encode("utf-8", "surrogatepass")


def _seen(broker: int, seen: SeenBroker) -> Json:
    rack = None if seen.rack is None else seen.rack.text
    return {"id": broker, "is_fenced": seen.is_fenced, "rack": rack}


def _move(move: Move) -> Json:
    return {
        "after": list(move.after),
        "before": list(move.before),
        "bytes": move.bytes,
        "cross_bytes": move.cross_bytes,
        "partition": move.partition,
        "reasons": list(move.reasons),
        "topic": move.topic,
        "topic_id": move.topic_id,
        "usd_nano": move.usd_nano,
    }


def _group(group: Group) -> Json:
    return {
        "brokers": list(group.brokers),
        "high": list(group.high),
        "low": list(group.low),
        "total": group.total,
    }


def _cut(cut: Cut) -> Json:
    return {"brokers": list(cut.brokers), "least": cut.least, "reason": cut.reason}


def _fair(fair: Fair) -> Json:
    return {
        "cuts": [_cut(cut) for cut in fair.cuts],
        "groups": [_group(group) for group in fair.groups],
        "leader_groups": [_group(group) for group in fair.leader_groups],
        "topic_caps": {topic: _by_broker(caps) for topic, caps in fair.topic_caps.items()},
    }


def _by_broker(numbers: Mapping[int, int]) -> Json:
    return {str(broker): number for broker, number in numbers.items()}


def _certificate(certificate: Certificate) -> Json:
    return {
        "cuts": [_cut(cut) for cut in certificate.cuts],
        "groups": [_group(group) for group in certificate.groups],
        "lower_bound": certificate.lower_bound,
        "objective": certificate.objective,
        "prices": _by_broker(certificate.prices),
        "topic_prices": [list(price) for price in certificate.topic_prices],
        "unit": certificate.unit,
    }


def totals_json(totals: Totals) -> dict[str, Json]:
    """The totals as they stand in a plan file."""
    return {
        "balance_moves": totals.balance_moves,
        "bytes": totals.bytes,
        "cross_bytes": totals.cross_bytes,
        "leader_changes": totals.leader_changes,
        "moves": totals.moves,
        "order_only": totals.order_only,
        "partitions": totals.partitions,
        "partitions_at_least": totals.partitions_at_least,
        "repair_moves": totals.repair_moves,
        "steady_after": _steady(totals.steady_after),
        "steady_before": _steady(totals.steady_before),
        "unknown_sizes": totals.unknown_sizes,
        "usd_nano": totals.usd_nano,
    }


def _steady(steady: Steady | None) -> Json:
    if steady is None:
        return None
    return {
        "cross_bytes_per_s": steady.cross_bytes_per_s,
        "unknown_rates": steady.unknown_rates,
        "usd_nano_per_day": steady.usd_nano_per_day,
    }


def _verdict(verdict: Verdict) -> Json:
    return {
        "cost": verdict.cost,
        "gap": verdict.gap,
        "is_fair": verdict.is_fair,
        "is_heuristic": verdict.is_heuristic,
        "is_legal": verdict.is_legal,
        "lower_bound": verdict.lower_bound,
        "problems": list(verdict.problems),
        "text": verdict.text,
    }
