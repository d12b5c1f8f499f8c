"""What an operator settles by hand: who has which id, and which ids are given up.

```
assign KEY ID           hosts/KEY says ID from now on; a live broker of another key is in the way
assign KEY ID --force   ... a mapping of another key is not: it goes in the same commit
retire ID               no mapping, no marker, and retired_ids/ID: never given to anybody
retire --undo ID        the id may be given again
```

Goals, in order: the operator's word does not take an id from a broker that lives; what was read is
what is changed; starts that run at the same time see it. Both commands rest on what other hosts
wrote, therefore they put the fence at the version that was read, as b.1 does.

What this does not do: stop a broker, move replicas, write.

Source: KIP-426: "a third-party tool could be used to manipulate the record in ZooKeeper".
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from rackwise.core.identity.decision import holders
from rackwise.core.identity.model import KeyMapping
from rackwise.core.identity.nodes.nodes import format_mapping
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
from rackwise.core.identity.refusals import MappingCorrupt, NotFree, StillUsed
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.identity.model import Claim, Owner, Registration
    from rackwise.core.identity.nodes.store import Op


@dataclass(frozen=True, slots=True, kw_only=True)
class Ledger:
    """What the store and the cluster say of one id, and of the key that it is for.

    `fence`: its version, read before all else. `mappings`: of this id, those of all keys.
    `replicas`: partitions with a replica of this id. `marker_version`: of `missing_ids/ID`, None =
    there is none. `has_registrations`: whether the store itself holds `/brokers/ids`.
    """

    broker_id: int
    fence: int
    now_ms: int
    registration: Registration | None = None
    claim: Claim | None = None
    owners: Mapping[int, Owner]
    mappings: Sequence[KeyMapping] = ()
    is_retired: bool = False
    replicas: int = 0
    marker_version: int | None = None
    has_registrations: bool = True

    @property
    def holder(self) -> str:
        """Who holds the id, for people."""
        return holders.describe_holder(
            registration=self.registration,
            claim=self.claim,
            owners=self.owners,
            now_ms=self.now_ms,
        )

    def holds(self, key: str) -> bool:
        """Whether what is registered or claimed is this key's broker, as far as that is known."""
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
    problem: str | None = None,
    problem_version: int | None = None,
    force: bool = False,
) -> tuple[Op, ...]:
    """The commit that maps a key to an id.

    `before`: the key's own mapping; `problem`: why it cannot be read, `problem_version`: of that
    node. Raises `NotFree`, `MappingCorrupt`.
    """
    _check_free(key, ledger, force=force)
    if problem is not None and not force:
        raise MappingCorrupt(
            f'the mapping of key {escaped(key)} must be {{"version":0,"broker.id":int}} and cannot '
            f"be read: {escaped(problem)}",
            wanted='{"version":0,"broker.id":int}',
            had=problem,
            hint=f"write it anew: broker-id assign {escaped(key)} {ledger.broker_id} --force",
            where=f"{HOSTS}/{escaped(key)}",
            details={"key": key},
        )
    path = f"{HOSTS}/{key}"
    if before is not None:
        data = format_mapping(replace(before, broker_id=ledger.broker_id))
        written: Op = Put(path, data, before.node_version)
    else:
        data = format_mapping(KeyMapping(key=key, broker_id=ledger.broker_id))
        written = Create(path, data) if problem is None else Put(path, data, problem_version)
    return (
        Put(FENCE, b"", ledger.fence),
        *_free(ledger),
        Absent(f"{RETIRED}/{ledger.broker_id}"),
        written,
        *(Delete(f"{HOSTS}/{m.key}", m.node_version) for m in _others(key, ledger)),
    )


def retire(ledger: Ledger, *, force: bool = False) -> tuple[Op, ...]:
    """The commit that gives an id up; nothing where it is given up already.

    `force`: though replicas are still assigned to it. Raises `StillUsed`.
    """
    is_held = ledger.registration is not None or ledger.claim is not None
    if is_held or (ledger.replicas and not force):
        had = f"held by {ledger.holder}" if is_held else counted(ledger.replicas, "replica")
        raise StillUsed(
            f"id {ledger.broker_id} must have no broker and no replica, and "
            f"{'is' if is_held else 'has'} {had}",
            wanted="no broker" if is_held else "no replica",
            had=had,
            hint=(
                "stop that broker first"
                if is_held
                else "reassign its partitions first, or --force: what it had stays without it"
            ),
            where=f"{IDS}/{ledger.broker_id}",
            details={"id": ledger.broker_id, "replicas": ledger.replicas},
        )
    gone = [Delete(f"{HOSTS}/{m.key}", m.node_version) for m in ledger.mappings]
    if ledger.marker_version is not None:
        gone.append(Delete(f"{MISSING}/{ledger.broker_id}", ledger.marker_version))
    made = [] if ledger.is_retired else [Create(f"{RETIRED}/{ledger.broker_id}", b"")]
    if not gone and not made:
        return ()
    return (Put(FENCE, b"", ledger.fence), *_free(ledger), *gone, *made)


def undo(ledger: Ledger) -> tuple[Op, ...]:
    """The commit that takes a retired id back; nothing where it is not retired."""
    if not ledger.is_retired:
        return ()
    return (Put(FENCE, b"", ledger.fence), Delete(f"{RETIRED}/{ledger.broker_id}"))


def _others(key: str, ledger: Ledger) -> tuple[KeyMapping, ...]:
    return tuple(m for m in ledger.mappings if m.key != key)


def _free(ledger: Ledger) -> tuple[Absent, ...]:
    """That nobody took the id since it was looked at."""
    paths = [] if ledger.claim is not None else [f"{CLAIMS}/{ledger.broker_id}"]
    if ledger.registration is None and ledger.has_registrations:
        paths.append(f"{IDS}/{ledger.broker_id}")
    return tuple(Absent(path) for path in paths)


def _check_free(key: str, ledger: Ledger, *, force: bool) -> None:
    number = ledger.broker_id
    if not ledger.holds(key):
        had, hint, where = f"held by {ledger.holder}", "stop that broker first", IDS
    elif ledger.is_retired:
        had, hint, where = "retired", f"take it back: broker-id retire --undo {number}", RETIRED
    elif (others := _others(key, ledger)) and not force:
        had = f"mapped to {', '.join(escaped(m.key) for m in others)}"
        hint, where = "--force takes it from that key", HOSTS
    else:
        return
    raise NotFree(
        f"id {number} must be free for key {escaped(key)}, and is {had}",
        wanted="a free id",
        had=had,
        hint=hint,
        where=where if where == HOSTS else f"{where}/{number}",
        details={"id": number, "key": key},
    )
