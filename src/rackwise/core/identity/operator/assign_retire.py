"""The commits of an operator: which key has which id, and which ids are retired.

```
assign KEY ID           maps KEY to ID; rejected while a broker of another key holds ID
assign KEY ID --force   also removes the mapping of another key, in the same commit
retire ID               removes mapping and marker, creates retired_ids/ID: never assigned again
retire --undo ID        the id may be assigned again
```

Goals, in order: the operator's command does not take an id from a live broker; the commit changes
what was read and nothing newer; starts that run at the same time notice it. Both commands depend on
nodes of other hosts, so they write the fence at the version that was read, as b.1 does.

What this does not do: stop a broker, move replicas, write.

Source: KIP-426: "a third-party tool could be used to manipulate the record in ZooKeeper".
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.identity.decision import holders
from rackwise.core.identity.nodes.nodes import delete_mappings, reserve, write_mapping
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    MISSING,
    RETIRED,
    Absent,
    Create,
    Delete,
    Put,
)
from rackwise.core.identity.operator.garbage import is_name_of
from rackwise.core.identity.refusals import MappingCorrupt, NotFree, StillUsed, name_id
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.identity.model import Claim, KeyMapping, Owner, Registration
    from rackwise.core.identity.nodes.store import Op
    from rackwise.core.identity.operator.roster import UnreadableNode


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What the store and the cluster hold about one id, and about its new key."""

    broker_id: int
    fence: int
    """The version of the fence, read before all else."""
    now_ms: int
    registration: Registration | None = None
    claim: Claim | None = None
    owners: Mapping[int, Owner]
    has_owner: bool = False
    """Whether the id has an owner, even one that cannot be read."""
    mappings: Sequence[KeyMapping] = ()
    """The mappings of all keys to this id."""
    is_retired: bool = False
    replicas: int = 0
    """How many partitions have a replica of this id."""
    marker_version: int | None = None
    """The version of `missing_ids/ID`; None = no such node."""
    has_registrations: bool = True
    """Whether the store itself holds `/brokers/ids`."""

    @property
    def holder(self) -> str:
        """The holder of the id, as text for people."""
        return holders.describe_holder(
            registration=self.registration,
            claim=self.claim,
            owners=self.owners,
            now_ms=self.now_ms,
        )

    def holds(self, key: str) -> bool:
        """Return whether the current holder belongs to this key, as far as is known."""
        if self.claim is not None and self.claim.key != key:
            return False
        if self.registration is None:
            return True
        owner = holders.owner_of(self.registration, self.owners)
        return owner.key == key if owner is not None else is_name_of(key, self.registration)


def assign(
    key: str,
    ledger: Ledger,
    *,
    before: KeyMapping | None = None,
    problem: UnreadableNode | None = None,
    problem_version: int | None = None,
    force: bool = False,
) -> tuple[Op, ...]:
    """Build the commit that maps a key to an id.

    `before`: the mapping of the key. `problem`: why it cannot be read; `problem_version`: the
    version of that node, None = denied, too. Raises `NotFree`, `MappingCorrupt`.
    """
    _check_free(key, ledger, force=force)
    if problem is not None and not force:
        raise MappingCorrupt(
            f"cannot read the mapping of key {escaped(key)}: {escaped(problem.problem)}",
            wanted='{"version":0,"broker.id":int}',
            had=problem.problem,
            hint=name_id(problem.hint, key, ledger.broker_id),
            where=f"{HOSTS}/{escaped(key)}",
            details={"key": key},
        )
    has_node, version = problem is not None, problem_version
    return (
        Put(FENCE, b"", ledger.fence),
        *_free(ledger),
        Absent(f"{RETIRED}/{ledger.broker_id}"),
        *(() if ledger.has_owner else (reserve(key, ledger.broker_id),)),
        write_mapping(key, ledger.broker_id, before, has_node=has_node, version=version),
        *delete_mappings(_others(key, ledger)),
    )


def retire(ledger: Ledger, *, force: bool = False) -> tuple[Op, ...]:
    """Build the commit that retires an id; empty if it is retired already.

    `force`: retire it even if it has replicas. Raises `StillUsed`.
    """
    is_held = ledger.registration is not None or ledger.claim is not None
    if is_held or (ledger.replicas and not force):
        had = f"held by {ledger.holder}" if is_held else counted(ledger.replicas, "replica")
        raise StillUsed(
            f"cannot retire id {ledger.broker_id}: it {'is' if is_held else 'has'} {had}",
            wanted="no broker" if is_held else "no replica",
            had=had,
            hint=(
                "stop that broker first"
                if is_held
                else "reassign its partitions first, or use --force and lose those replicas"
            ),
            where=f"{IDS}/{ledger.broker_id}",
            details={"id": ledger.broker_id, "replicas": ledger.replicas},
        )
    deletes = [*delete_mappings(ledger.mappings)]
    if ledger.marker_version is not None:
        deletes.append(Delete(f"{MISSING}/{ledger.broker_id}", ledger.marker_version))
    creates = [] if ledger.is_retired else [Create(f"{RETIRED}/{ledger.broker_id}", b"")]
    if not deletes and not creates:
        return ()
    return (Put(FENCE, b"", ledger.fence), *_free(ledger), *deletes, *creates)


def undo(ledger: Ledger) -> tuple[Op, ...]:
    """Build the commit that puts a retired id into use again; empty if it is not retired."""
    if not ledger.is_retired:
        return ()
    return (Put(FENCE, b"", ledger.fence), Delete(f"{RETIRED}/{ledger.broker_id}"))


def _others(key: str, ledger: Ledger) -> tuple[KeyMapping, ...]:
    return tuple(m for m in ledger.mappings if m.key != key)


def _free(ledger: Ledger) -> tuple[Absent, ...]:
    """Require that no broker took the id since it was read."""
    paths = [] if ledger.claim is not None else [f"{CLAIMS}/{ledger.broker_id}"]
    if ledger.registration is None and ledger.has_registrations:
        paths.append(f"{IDS}/{ledger.broker_id}")
    return tuple(Absent(path) for path in paths)


def _check_free(key: str, ledger: Ledger, *, force: bool) -> None:
    number = ledger.broker_id
    if not ledger.holds(key):
        had, hint, where = f"held by {ledger.holder}", "stop that broker first", IDS
    elif ledger.is_retired:
        had, hint, where = "retired", f"undo it: broker-id retire --undo {number}", RETIRED
    elif (others := _others(key, ledger)) and not force:
        had = f"mapped to {', '.join(escaped(m.key) for m in others)}"
        hint, where = "use --force to remove that mapping", HOSTS
    else:
        return
    raise NotFree(
        f"cannot assign id {number} to key {escaped(key)}: it is {had}",
        wanted="a free id",
        had=had,
        hint=hint,
        where=where if where == HOSTS else f"{where}/{number}",
        details={"id": number, "key": key},
    )
