"""Rows D1 to D8: the configuration and the disks must be consistent, whatever broker this is.

Kafka checks the same when it starts (`MetaPropertiesEnsemble.verify`, `KafkaConfig`). The checks
come first here, because after a decision a claim and a mapping would be written for nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.constants import GREATEST_ID
from rackwise.core.identity.decision.situation import UNSET
from rackwise.core.identity.decision.verdicts import DecisionRow, refuse
from rackwise.core.identity.model import Mode
from rackwise.core.identity.refusals import (
    ClusterMismatch,
    ControllerDisk,
    IdMismatch,
    IdRange,
    MetaIncomplete,
    MetaInconsistent,
    MetaVersion,
    Migration,
)
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.core.identity.decision.situation import Situation
    from rackwise.core.identity.decision.verdicts import Verdict

_REQUIREMENT = "java.lang.IllegalArgumentException"
_RUNTIME = "java.lang.RuntimeException"
_NO_GENERATION = (
    "broker.id generation is incompatible with ZooKeeper migration. Please stop using it before "
    "enabling migration (set broker.id to a value greater or equal to 0)."
)


def _inconsistent(situation: Situation, row: str) -> Verdict:
    first: dict[int, str] = {}
    for broker_id, path in situation.stored:
        first.setdefault(broker_id, path)
    if len(first) > 1:
        had = ", ".join(f"{broker_id} in {escaped(path)}" for broker_id, path in first.items())
        return refuse(
            row,
            MetaInconsistent,
            f"expected one id in all log dirs, got {had}",
            wanted="one id in all log dirs",
            had=had,
            ids=sorted(first),
        )
    return _twice(situation, row)


def _twice(situation: Situation, row: str) -> Verdict:
    paths: dict[str, str] = {}
    for each in situation.seen.log_dirs:
        directory = None if each.meta is None else each.meta.directory_id
        if directory is None:
            continue
        if directory in paths:
            had = f"{escaped(directory)} in {escaped(paths[directory])} and {escaped(each.path)}"
            return refuse(
                row,
                MetaInconsistent,
                f"expected a directory.id of its own in each log dir, got {had}",
                wanted="one directory.id for each log dir",
                had=had,
                directory_id=directory,
            )
        paths[directory] = each.path
    return None


def _foreign(situation: Situation, row: str) -> Verdict:
    wanted, source = situation.seen.cluster_id, "the store"
    for each in situation.seen.log_dirs:
        found = None if each.meta is None else each.meta.cluster_id
        if found is None:
            continue
        if wanted is None:
            wanted, source = found, each.path
        if found != wanted:
            return refuse(
                row,
                ClusterMismatch,
                f"invalid cluster.id in {escaped(each.path)}: expected {escaped(wanted)}, as in "
                f"{escaped(source)}, got {escaped(found)}",
                wanted=wanted,
                had=found,
                where=each.path,
                path=each.path,
                cluster_id=found,
            )
    return None


def _version(situation: Situation, row: str) -> Verdict:
    if situation.seen.mode is not Mode.ZOOKEEPER or situation.seen.migrating:
        return None
    for each in situation.seen.log_dirs:
        if each.meta is not None and each.meta.version != 0:
            return refuse(
                row,
                MetaVersion,
                f"invalid version of meta.properties in {escaped(each.path)}: expected 0 in "
                f"ZooKeeper mode, got {each.meta.version}",
                wanted=0,
                had=each.meta.version,
                where=each.path,
                path=each.path,
            )
    return None


def _incomplete(situation: Situation, row: str) -> Verdict:
    for each in situation.seen.log_dirs:
        if each.meta is None or each.meta.version != 1:
            continue
        lacking = "node.id" if each.meta.broker_id is None else "cluster.id"
        if each.meta.broker_id is None or each.meta.cluster_id is None:
            return refuse(
                row,
                MetaIncomplete,
                f"incomplete meta.properties in {escaped(each.path)}: expected node.id and "
                f"cluster.id in version 1, got no {lacking}",
                wanted=lacking,
                had=None,
                where=each.path,
                path=each.path,
            )
    return None


def _mismatch(situation: Situation, row: str) -> Verdict:
    configured, stored = situation.configured, situation.on_disk
    if configured is None or stored is None or configured == stored:
        return None
    path = situation.stored[0][1]
    return refuse(
        row,
        IdMismatch,
        f"invalid broker.id: expected the stored id {stored}, got {configured}",
        wanted=stored,
        had=configured,
        where=path,
        upstream=(
            _RUNTIME,
            f"Stored node id {stored} doesn't match previous node id {configured}",
        ),
        configured=configured,
        stored=stored,
    )


def _out_of_range(situation: Situation, row: str) -> Verdict:
    configured, greatest = situation.configured, GREATEST_ID
    if configured is None:
        return None
    generates = situation.seen.mode is Mode.ZOOKEEPER and situation.rules.generation
    if generates and situation.rules.reserved_max is not None:
        greatest = min(GREATEST_ID, situation.rules.reserved_max)
    if UNSET < configured <= greatest:
        return None
    wanted = f"0 to {greatest}"
    said = "broker.id must be greater than or equal to 0"
    if generates:
        wanted += " (reserved.broker.max.id)"
        said = (
            "broker.id must be greater than or equal to -1 and not greater than "
            "reserved.broker.max.id"
        )
    return refuse(
        row,
        IdRange,
        f"invalid broker.id: expected {wanted}, got {configured}",
        wanted=wanted,
        had=configured,
        upstream=(_REQUIREMENT, f"requirement failed: {said}"),
        id=configured,
    )


def _migration(situation: Situation, row: str) -> Verdict:
    if not situation.seen.migrating:
        return None
    if situation.configured is not None and not situation.rules.generation:
        return None
    had = "none" if situation.configured is None else "generation on"
    return refuse(
        row,
        Migration,
        f"expected broker.id set and generation off while migrating to KRaft, got "
        f"{'no broker.id' if situation.configured is None else had}",
        wanted="broker.id set, generation off",
        had=had,
        upstream=(_REQUIREMENT, f"requirement failed: {_NO_GENERATION}"),
    )


def _controller(situation: Situation, row: str) -> Verdict:
    seen = situation.seen
    if seen.mode is not Mode.KRAFT or not seen.is_controller or not situation.empty_dirs:
        return None
    path = situation.empty_dirs[0].path
    return refuse(
        row,
        ControllerDisk,
        f"expected a node with the role broker only, got a controller with no "
        f"meta.properties in {escaped(path)}",
        wanted="a broker-only node",
        had="role controller",
        where=path,
        path=path,
    )


ROWS = (
    DecisionRow(
        name="D1",
        when="two readable dirs have different ids, or one directory.id is there twice",
        outcome="META_INCONSISTENT",
        literal="same",
        judge=_inconsistent,
    ),
    DecisionRow(
        name="D2",
        when="a file's cluster.id differs from the cluster's (or another file's)",
        outcome="WRONG_CLUSTER",
        literal="same",
        judge=_foreign,
    ),
    DecisionRow(
        name="D3",
        when="ZooKeeper mode, not migrating, a file's version is not 0 (missing is 0)",
        outcome="META_VERSION",
        literal="same",
        judge=_version,
    ),
    DecisionRow(
        name="D4",
        when="a file of version 1 lacks node.id or cluster.id",
        outcome="META_INCOMPLETE",
        literal="same",
        judge=_incomplete,
    ),
    DecisionRow(
        name="D5",
        when='C and m set, C != m ("first make sure they are consistent")',
        outcome="ID_MISMATCH",
        literal="same",
        judge=_mismatch,
    ),
    DecisionRow(
        name="D6",
        when="C < -1, C > 2^31-1, or ZooKeeper mode, generation on, C > reserved.broker.max.id",
        outcome="ID_RANGE",
        literal="same",
        judge=_out_of_range,
    ),
    DecisionRow(
        name="D7",
        when="migrating to KRaft, and C none or generation on",
        outcome="MIGRATION",
        literal="same",
        judge=_migration,
    ),
    DecisionRow(
        name="D8",
        when="KRaft, role controller, a dir has no file",
        outcome="CONTROLLER_DISK",
        literal="same",
        judge=_controller,
    ),
)
