"""Compares our reading of broker files and registrations with Kafka 3.9's answers.

Where we reject what Kafka accepts, the reason is one of `STRICTER`. We accept nothing that Kafka
rejects.
"""

from __future__ import annotations

import re
from base64 import b64decode
from pathlib import Path
from typing import Any

from rackwise.core.errors import InvalidConfig, InvalidProperties
from rackwise.core.identity.decision.decide import decide
from rackwise.core.identity.model import (
    LocalLogDir,
    MetaProperties,
    Mode,
    Observation,
    Refuse,
    Rules,
)
from rackwise.core.identity.nodes.meta import format_meta, parse_meta
from rackwise.core.identity.nodes.nodes import endpoint, parse_registration
from rackwise.core.identity.nodes.store import StoredNode
from rackwise.core.identity.refusals import MetaUnreadable, StoreCorrupt
from rackwise.core.java_properties import parse_properties
from rackwise.core.json import strict as strict_json

GOLDEN = Path(__file__).parent / "golden"
STRICTER = re.compile(
    r"expected (a (broker|node)\.id from 0|a directory\.id that Kafka does not reserve)"
)
"""A negative id, which no broker has, and a reserved directory, which Kafka refuses later."""
VERIFIED = {
    "MetaInconsistent": r"Stored node id|Duplicate directory ID",
    "ClusterMismatch": r"Invalid cluster\.id",
    "MetaVersion": r"Found unexpected version",
    "IdMismatch": r"Stored node id",
}
"""What Kafka says where the decision table has one of its first five rows."""


def golden_answers(operation: str) -> list[dict[str, Any]]:
    """The frozen cases of one operation: `in`, and `out` or `error`."""
    (file,) = GOLDEN.glob(f"{operation}.*.jsonl")
    lines = file.read_bytes().splitlines()[1:]
    return [strict_json.parse(line, where=file.name, error=InvalidConfig) for line in lines]


def check_properties(case: dict[str, Any]) -> None:
    """The same pairs, or an error in both."""
    data = b64decode(case["in"]["base64"])
    try:
        ours = parse_properties(data)
    except InvalidProperties as error:
        is_half_pair = "surrogate" in error.message
        assert "error" in case or (is_half_pair and "?" in str(case["out"])), case
    else:
        assert ours == case["out"]["pairs"], case


def check_written(case: dict[str, Any]) -> None:
    """The same pairs in the file."""
    asked = case["in"]
    meta = MetaProperties(
        version=asked["version"],
        broker_id=asked["node_id"],
        cluster_id=asked["cluster_id"],
        directory_id=asked["directory_id"],
    )
    assert parse_properties(format_meta(meta)) == case["out"]["pairs"], case


def check_read(case: dict[str, Any]) -> None:
    """The same fields of each dir; the same rows reject."""
    log_dirs = tuple(_log_dir(name, text) for name, text in case["in"]["dirs"].items())
    answer = case["out"]
    for log_dir in log_dirs:
        _check_dir(log_dir, answer)
    if not any(log_dir.problem for log_dir in log_dirs) and not answer["error"]:
        _check_verified(case["in"], log_dirs, answer["refused"])


def _log_dir(name: str, text: str | None) -> LocalLogDir:
    try:
        meta = None if text is None else parse_meta(b64decode(text))
    except MetaUnreadable as error:
        return LocalLogDir(path=name, problem=error.message)
    return LocalLogDir(path=name, meta=meta)


def _check_dir(log_dir: LocalLogDir, answer: dict[str, Any]) -> None:
    meta, name = log_dir.meta, log_dir.path
    if name in answer["read"]:
        if meta is None:
            assert STRICTER.match(log_dir.problem), (log_dir, answer)
        else:
            assert answer["read"][name] == {
                "version": meta.version,
                "node_id": meta.broker_id,
                "cluster_id": meta.cluster_id,
                "directory_id": meta.directory_id,
            }
    elif name in answer["error"]:
        is_incomplete = meta is not None and None in {meta.broker_id, meta.cluster_id}
        assert log_dir.problem or (meta.version == 1 and is_incomplete), (log_dir, answer)
    else:
        assert name in answer["empty"]
        assert log_dir == LocalLogDir(path=name)


def _check_verified(
    asked: dict[str, Any], log_dirs: tuple[LocalLogDir, ...], said: str | None
) -> None:
    observation = Observation(
        mode=Mode.ZOOKEEPER,
        key="h7",
        nonce="n",
        session=1,
        cluster_id=asked["cluster_id"],
        configured=asked["node_id"],
        log_dirs=log_dirs,
        migrating=not asked["require_v0"],
        registered={},
        claims={},
        owners={},
        reserved={},
    )
    decision = decide(observation, Rules(generation=asked["require_v0"]))
    name = type(decision.error).__name__ if isinstance(decision, Refuse) else ""
    if name in VERIFIED:
        assert said is not None, (asked, name)
        assert any(re.match(pattern, said) for pattern in VERIFIED.values()), (asked, name, said)
    else:
        assert said is None, (asked, name, said)


def check_registration(case: dict[str, Any]) -> None:
    """The same endpoints, except those without host or port; what Kafka rejects is corrupt.

    Kafka rejects a repeated listener name; its endpoints are compared all the same.
    """
    data = case["in"]["json"].encode()
    node = StoredNode(data=data, version=0, created_ms=0, modified_ms=0, czxid=0)
    try:
        ours = parse_registration(node, id=7).endpoints
    except StoreCorrupt:
        assert "error" in case, case
    else:
        if "error" in case:
            assert "more than one end point with the same" in case["error"]["message"], case
            return
        told = case["out"]["endpoints"]
        assert ours == {endpoint(host, port) for host, port in told if host and port > 0}, case


def check_config(case: dict[str, Any]) -> None:
    """The same settings; we or rows D6 and D7 of the table reject what Kafka rejects."""
    from rackwise.adapters.launch.broker.server_properties import server_properties

    settings = case["in"]["settings"]
    try:
        ours = server_properties(settings)
    except InvalidConfig:
        assert "error" in case, case
        return
    if "error" in case:
        _check_refused(ours, case["error"]["message"])
        return
    answer = case["out"]
    assert (ours.configured if ours.configured is not None else -1) == answer["node_id"], case
    assert (ours.mode is Mode.KRAFT) == answer["kraft"], case
    assert ours.migrating == answer["migrating"], case
    assert ours.generation == (answer["generation"] and not answer["kraft"]), case
    dirs = answer["log_dirs"]
    if answer["kraft"] or answer["migrating"]:
        dirs = list(dict.fromkeys([*dirs, answer["metadata_log_dir"]]))
    assert list(ours.dirs) == dirs, case
    told = {endpoint(host, port) for host, port in answer["endpoints"]}
    assert ours.endpoints == told, case
    assert _row(ours) != "D6", case


def _check_refused(ours: Any, said: str) -> None:
    """The launcher repairs a missing id; every other rejection is a row of the table."""
    if ours.configured is None and re.search("must be greater than or equal to 0$|Missing", said):
        return
    assert _row(ours) in {"D6", "D7"}, (ours, said)


def _row(ours: Any) -> str:
    observation = Observation(
        mode=ours.mode,
        key="h7",
        nonce="n",
        session=1,
        configured=ours.configured,
        migrating=ours.migrating,
        registered={},
        claims={},
        owners={},
        reserved={},
    )
    return decide(
        observation, Rules(generation=ours.generation, reserved_max=ours.reserved_max)
    ).row


CHECKS = {
    "config.read": check_config,
    "meta.read": check_read,
    "meta.write": check_written,
    "properties.read": check_properties,
    "registration.read": check_registration,
}
"""By operation of the oracle."""
