"""A policy against a cluster: does the cluster have what is named, can the rules hold together.

Known brokers are those that are listed and those that hold a replica: a dead broker may be drained.
Known racks are the nodes of the tree at every level. Rules are judged per topic, after all blocks,
with the greatest number of replicas that a partition of the topic has where the policy gives none.
"""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.policy.faults import policy_error
from rackwise.core.policy.limits import fault_in
from rackwise.core.racks import RackTree, level_names
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from rackwise.core.json.toml_faults import KeyPath, Where
    from rackwise.core.model import Cluster
    from rackwise.core.policy.model import Policy, TopicBlock, TopicRules

SHOWN = 12
"""A hint names this many brokers or racks."""


def check_policy(policy: Policy, cluster: Cluster, *, where: Where = None) -> None:
    """Reject a policy that names what the cluster lacks, or asks a topic for what cannot be.

    `where`: JSON path -> the file and the line, which an error names. Raises `InvalidPolicy`.
    """
    racks = ((broker.id, broker.rack) for broker in cluster.settled(policy.racks.map).brokers)
    tree = RackTree.of(racks, missing=policy.racks.missing)
    _check_levels(policy, tree, where)
    _check_brokers(policy, cluster, where)
    _check_racks(policy, tree, where)
    _check_topics(policy, cluster, tree, where)


def _check_levels(policy: Policy, tree: RackTree, where: Where) -> None:
    names = policy.racks.levels
    if not len(tree.names[0]):
        return
    if names and len(names) != tree.depth:
        raise policy_error(
            ("racks", "levels"),
            f"expected {counted(tree.depth, 'level name')}, one for each level of the racks, "
            f"got {len(names)}",
            where,
            wanted=tree.depth,
            had=len(names),
            hint="name each level of broker.rack once, coarsest first",
        )
    known = level_names(tree.depth, names)
    for path, level in _levels_named(policy):
        if level not in known:
            raise policy_error(
                path,
                f'no level is called "{escaped(level)}"',
                where,
                wanted=", ".join(known),
                had=level,
                hint=f"levels: {', '.join(map(escaped, known))}; racks.levels names them",
            )


def _levels_named(policy: Policy) -> Iterator[tuple[KeyPath, str]]:
    for i, level in enumerate(policy.audit.rack_loss or ()):
        yield ("audit", "rack_loss", i), level
    for i, block in enumerate(policy.topics):
        for level in block.spread:
            yield ("topics", i, "spread", level), level


def _check_brokers(policy: Policy, cluster: Cluster, where: Where) -> None:
    listed = {broker.id for broker in cluster.brokers}
    unlisted = [named for named in _brokers_named(policy) if named[1] not in listed]
    if not unlisted:
        return
    holding = set(np.unique(cluster.partitions.replicas.values).tolist())
    for path, broker in unlisted:
        if broker not in holding:
            raise policy_error(
                path,
                f"no broker has id {broker}",
                where,
                wanted="a broker of the cluster",
                had=broker,
                hint=f"brokers: {names_text(sorted(listed), most=SHOWN)}",
            )


def _brokers_named(policy: Policy) -> Iterator[tuple[KeyPath, int]]:
    brokers = policy.brokers
    for key in ("drain", "exclude", "no_lead"):
        for i, broker in enumerate(getattr(brokers, key)):
            yield ("brokers", key, i), broker
    for broker in brokers.weights:
        yield ("brokers", "weights", str(broker)), broker
    for i, block in enumerate(policy.topics):
        for partition, pinned in (block.pin or {}).items():
            for n, broker in enumerate(pinned):
                yield ("topics", i, "pin", str(partition), n), broker


def _check_racks(policy: Policy, tree: RackTree, where: Where) -> None:
    for path, rack in _racks_named(policy):
        if tree.find(rack) is None:
            raise policy_error(
                path,
                f'no rack is called "{escaped(rack)}"',
                where,
                wanted="a rack of the cluster",
                had=rack,
                hint=f"racks: {names_text(list(chain(*tree.names)), most=SHOWN)}",
            )


def _racks_named(policy: Policy) -> Iterator[tuple[KeyPath, str]]:
    for i, block in enumerate(policy.topics):
        for n, count in enumerate(block.count or ()):
            yield ("topics", i, "count", n, "rack"), count.rack
        for n, rack in enumerate(block.leader_racks or ()):
            yield ("topics", i, "leader_racks", n), rack


def _check_topics(policy: Policy, cluster: Cluster, tree: RackTree, where: Where) -> None:
    if not policy.topics:
        return
    levels = level_names(tree.depth, policy.racks.levels)
    table = cluster.partitions
    most = np.zeros(len(table.topics), dtype=np.int64)
    np.maximum.at(most, table.topic, table.replicas.lengths)
    seen: set[tuple[tuple[int, ...], int]] = set()
    for topic, size in zip(table.topics, most.tolist(), strict=True):
        blocks = policy.blocks_of(topic)
        if not blocks or (blocks, size) in seen:
            continue
        seen.add((blocks, size))
        rules = policy.rules_from(blocks, levels)
        fault = fault_in(
            spread=dict(enumerate(rules.spread)),
            count=rules.count,
            pin=dict(rules.pin),
            replication=rules.replication or size,
            has_other_racks=_has_other_racks(rules, tree),
        )
        if fault is not None:
            raise policy_error(
                _said_by(fault.key, blocks, policy.topics),
                f"topic {escaped(topic)}: {fault.message}",
                where,
                wanted=fault.wanted,
                had=fault.had,
                hint=fault.hint,
            )


def _has_other_racks(rules: TopicRules, tree: RackTree) -> bool:
    """Whether racks beside the counted ones, at the level of the first, may hold replicas."""
    if rules.count_others == "none" or not rules.count:
        return False
    found = tree.find(rules.count[0].rack)
    return found is not None and len(rules.count) < len(tree.names[found[0]])


def _said_by(key: str, blocks: Sequence[int], topics: Sequence[TopicBlock]) -> KeyPath:
    """Path of the key in the last block that sets it."""
    return ("topics", next(i for i in reversed(blocks) if getattr(topics[i], key)), key)
