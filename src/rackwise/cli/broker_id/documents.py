"""The documents of `rackwise broker-id`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from rackwise.core.identity.model import Generate, ReadMore, Refuse, Take, WaitFor
from rackwise.core.json.declare import Between

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rackwise.adapters.launch.operator import Assigned, Garbage, Retired
    from rackwise.adapters.launch.options import Acquired
    from rackwise.core.identity.model import Claim, Decision, KeyMapping, Owner, Registration
    from rackwise.core.identity.nodes.store import Parent
    from rackwise.core.identity.operator.adopt import Adoption
    from rackwise.core.identity.operator.roster import IdRow, UnreadableNode

DecisionName = Literal["take", "wait", "generate", "look", "refuse"]
WatchEventName = Literal["leads", "follows", "missing", "returned", "collected"]
Seconds = Annotated[float, Between(-(2.0**63), 2.0**63, "a number of seconds")]

DECISIONS: Mapping[type, DecisionName] = {
    Take: "take",
    WaitFor: "wait",
    Generate: "generate",
    ReadMore: "look",
    Refuse: "refuse",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquiredDocument:
    """The id that a start took."""

    format: Literal["rackwise.acquired/1"] = "rackwise.acquired/1"
    id: int
    """The broker id."""
    how: Literal["configured", "meta", "already", "a", "b1", "gen"]
    """Source of the id: the configuration, the disk, an earlier commit of this start, the mapping
    of the key (the KIP's step a), a spare (step b.1), or a generated number."""
    row: str
    """Row of the decision table, such as `D27`."""
    key: str
    """Key of the host."""
    waited_ms: int
    """How long the start waited for a stale registration."""
    wrote: tuple[str, ...]
    """Log dirs that got a `meta.properties`."""
    took_from: tuple[str, ...]
    """Keys whose mapping to the id was removed."""
    warnings: tuple[str, ...]
    """Warnings of the start."""


@dataclass(frozen=True, slots=True, kw_only=True)
class UnreadableNodeDocument:
    """A node of the store that cannot be read."""

    path: str
    """Path of the node."""
    problem: str
    """Why it cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RegisteredDocument:
    """The registration of a broker."""

    endpoints: tuple[str, ...]
    """`host:port` of its listeners."""
    incarnation: int | None
    """The czxid of the registration; null without ZooKeeper."""
    registered_ms: int | None
    """When the broker registered; null without ZooKeeper."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClaimDocument:
    """The claim of a start that runs now."""

    key: str
    """Key of the host."""
    session: str
    """Session of the start, in hex."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerDocument:
    """The last start of an id that was seen registered."""

    key: str
    """Key of the host."""
    incarnation: int | None
    """The czxid of its registration; null if it is not known."""
    endpoints: tuple[str, ...]
    """`host:port` of its listeners."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdDocument:
    """One broker id."""

    id: int
    """The broker id."""
    keys: tuple[str, ...]
    """Keys that are mapped to the id."""
    registered: RegisteredDocument | None
    """The registration; null if no broker is registered, or `missing` is null."""
    claimed: ClaimDocument | None
    """The claim; null if no start claims the id."""
    owner: OwnerDocument | None
    """The last registered start; null if none was seen."""
    replicas: bool | None
    """Whether replicas use the id; null if topics were not read."""
    missing: bool | None
    """Whether the id is known, and neither registered nor retired; null if nobody could say which
    ids are registered: the store is a directory, and `--bootstrap-server` was not given."""
    missing_s: Seconds | None
    """For how long the id is missing; null if it is not, if that is not known, or if no watcher
    runs."""
    retired: bool
    """Whether the id is retired."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdListDocument:
    """Broker ids, as they were read at one time."""

    now_ms: int
    """Time of the store."""
    ids: tuple[IdDocument, ...]
    """The ids, in order."""
    problems: tuple[UnreadableNodeDocument, ...]
    """Nodes that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdsDocument(IdListDocument):
    """Every id that the store or a topic names."""

    format: Literal["rackwise.broker-ids/1"] = "rackwise.broker-ids/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingIdsDocument(IdListDocument):
    """Every id that is missing."""

    format: Literal["rackwise.missing-ids/1"] = "rackwise.missing-ids/1"


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewDocument:
    """What `acquire` would decide now."""

    decision: DecisionName
    """The decision; `look` reads more and decides again."""
    row: str
    """Row of the decision table, such as `D27`."""
    id: int | None
    """The id that would be taken; null if none."""
    how: Literal["configured", "meta", "already", "a", "b1", "gen"] | None
    """Source of that id; null if none."""
    error: str | None
    """Message of a rejection; null without one."""
    code: str | None
    """Code of a rejection; null without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownIdDocument:
    """Every node about one key or one id."""

    format: Literal["rackwise.broker-id/1"] = "rackwise.broker-id/1"
    key: str | None
    """The key; null for an id."""
    mapped_id: int | None
    """The id of the key; null if it has none."""
    ids: tuple[IdDocument, ...]
    """The id, or the ids that the key maps, claims or owns."""
    writers: tuple[str, ...] | None
    """Who may change the mapping of the key, by the ACLs of ZooKeeper: `self` is this login,
    `world:anyone` any client. Null for an id and if it is not known."""
    disagreements: tuple[str, ...]
    """Contradictions between mapping, claim, registration and owner."""
    preview: PreviewDocument | None
    """What `acquire` would decide; null without `--server-properties`."""
    problems: tuple[UnreadableNodeDocument, ...]
    """Nodes that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AssignedIdDocument:
    """The result of `broker-id assign`."""

    format: Literal["rackwise.assigned-id/1"] = "rackwise.assigned-id/1"
    key: str
    """Key of the host."""
    id: int
    """Its new id."""
    before: int | None
    """Its id before; null if it had none."""
    took_from: tuple[str, ...]
    """Keys that had the new id before."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedBrokerDocument:
    """One running broker and its mapping."""

    id: int
    """The broker id."""
    key: str | None
    """Key of the host; null if none can be made."""
    state: Literal["free", "adopted", "present", "rejected"]
    """`adopted`: written just now. `present`: it exists already. `free`: it can be adopted."""
    before: int | None
    """Id of the key before; null if it had none."""
    took_from: tuple[str, ...]
    """Keys whose mapping to the id was or would be removed."""
    reason: str
    """Why it is rejected; empty if it is not."""
    hint: str
    """What to do after a rejection; empty without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdoptedIdsDocument:
    """The result of `broker-id adopt`."""

    format: Literal["rackwise.adopted-ids/1"] = "rackwise.adopted-ids/1"
    checked: bool
    """Whether `--check` was given: nothing was written."""
    brokers: tuple[AdoptedBrokerDocument, ...]
    """The brokers, in order of ids."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RetiredIdDocument:
    """The result of `broker-id retire`."""

    format: Literal["rackwise.retired-id/1"] = "rackwise.retired-id/1"
    id: int
    """The broker id."""
    retired: bool
    """Whether the id is retired now; false after `--undo`."""
    changed: bool
    """False if the id was in this state already."""
    unmapped: tuple[str, ...]
    """Keys whose mapping was removed."""
    unregistered: bool
    """Whether the broker was unregistered from the KRaft cluster."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GarbageMappingDocument:
    """A mapping that no host needs."""

    key: str
    """Key of the host."""
    id: int
    """The id that it maps."""
    winner: str | None
    """Key whose broker has the id; null with `--literal`."""
    deleted: bool
    """Whether it was deleted; false also if it was claimed meanwhile."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdGarbageDocument:
    """The result of `broker-id gc`."""

    format: Literal["rackwise.id-garbage/1"] = "rackwise.id-garbage/1"
    applied: bool
    """Whether `--apply` was given."""
    literal: bool
    """Whether `--literal` was given."""
    mappings: tuple[GarbageMappingDocument, ...]
    """The mappings that no host needs."""
    problems: tuple[UnreadableNodeDocument, ...]
    """Nodes that cannot be read."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreNodeDocument:
    """A node that the store must have."""

    path: str
    """Path of the node."""
    state: Literal["present", "missing", "differs", "made"]
    """`made`: created just now. `differs`: its ACL is another."""
    wanted: str
    """The ACL that `init` sets; empty if ACLs were not compared."""
    had: str
    """The ACL of the node; empty if ACLs were not compared."""
    open: bool
    """Whether any client that reaches the store may change it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdStoreDocument:
    """The result of `broker-id init`."""

    format: Literal["rackwise.id-store/1"] = "rackwise.id-store/1"
    checked: bool
    """Whether `--check` was given: nothing was written."""
    nodes: tuple[StoreNodeDocument, ...]
    """The nodes that the store must have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IdWatchDocument:
    """One line of `broker-id watch`."""

    format: Literal["rackwise.id-watch/1"] = "rackwise.id-watch/1"
    type: WatchEventName
    """What changed: the watcher leads or follows, an id is missing or returned, or a mapping was
    deleted (`collected`)."""
    id: int | None
    """The broker id; null if the event has none."""
    key: str | None
    """Key of the deleted mapping; null for other events."""


def acquired_document(acquired: Acquired) -> AcquiredDocument:
    """Build the document of `acquire`."""
    return AcquiredDocument(
        id=acquired.id,
        how=acquired.how,
        row=acquired.row,
        key=acquired.key,
        waited_ms=acquired.waited_ms,
        wrote=acquired.wrote,
        took_from=acquired.took_from,
        warnings=acquired.warnings,
    )


def id_documents(rows: Iterable[IdRow]) -> tuple[IdDocument, ...]:
    """Build one row per id."""
    return tuple(
        IdDocument(
            id=row.id,
            keys=row.keys,
            registered=_registered(row.registration),
            claimed=_claim(row.claim),
            owner=_owner(row.owner),
            replicas=row.has_replicas,
            missing=row.is_missing,
            missing_s=None if row.missing_ms is None else row.missing_ms / 1000,
            retired=row.is_retired,
        )
        for row in rows
    )


def problem_documents(problems: Mapping[str, UnreadableNode]) -> tuple[UnreadableNodeDocument, ...]:
    """Build one row per unreadable node."""
    return tuple(
        UnreadableNodeDocument(path=path, problem=each.problem)
        for path, each in sorted(problems.items())
    )


def shown_id_document(
    rows: Iterable[IdRow],
    conflicts: Sequence[str],
    mapping: KeyMapping | None,
    decision: Decision | None,
    *,
    key: str | None,
    writers: tuple[str, ...] | None,
    problems: Mapping[str, UnreadableNode],
) -> ShownIdDocument:
    """Build the document of `show`. `decision`: None without server.properties."""
    return ShownIdDocument(
        key=key,
        mapped_id=None if mapping is None else mapping.broker_id,
        ids=id_documents(rows),
        writers=writers,
        disagreements=tuple(conflicts),
        preview=None if decision is None else _preview(decision),
        problems=problem_documents(problems),
    )


def assigned_document(done: Assigned) -> AssignedIdDocument:
    """Build the document of `assign`."""
    return AssignedIdDocument(
        key=done.key, id=done.id, before=done.before, took_from=done.taken_from
    )


def adopted_document(found: Iterable[Adoption], *, is_checked: bool) -> AdoptedIdsDocument:
    """Build the document of `adopt`."""
    brokers = tuple(
        AdoptedBrokerDocument(
            id=each.id,
            key=each.key,
            state=each.state,
            before=each.before,
            took_from=each.taken_from,
            reason=each.reason,
            hint=each.hint,
        )
        for each in found
    )
    return AdoptedIdsDocument(checked=is_checked, brokers=brokers)


def retired_document(
    done: Retired, *, is_retired: bool, is_unregistered: bool
) -> RetiredIdDocument:
    """Build the document of `retire`. `is_retired`: False after `--undo`."""
    return RetiredIdDocument(
        id=done.id,
        retired=is_retired,
        changed=done.is_changed,
        unmapped=done.keys,
        unregistered=is_unregistered,
    )


def garbage_document(
    found: Iterable[Garbage],
    *,
    is_applied: bool,
    is_literal: bool,
    problems: Mapping[str, UnreadableNode],
) -> IdGarbageDocument:
    """Build the document of `gc`."""
    return IdGarbageDocument(
        applied=is_applied,
        literal=is_literal,
        mappings=tuple(
            GarbageMappingDocument(
                key=each.mapping.key,
                id=each.mapping.broker_id,
                winner=each.winner,
                deleted=each.is_deleted,
            )
            for each in found
        ),
        problems=problem_documents(problems),
    )


def id_store_document(parents: Iterable[Parent], *, is_checked: bool) -> IdStoreDocument:
    """Build the document of `init`."""
    return IdStoreDocument(
        checked=is_checked,
        nodes=tuple(
            StoreNodeDocument(
                path=each.path,
                state=each.state,
                wanted=each.wanted,
                had=each.had,
                open=each.is_open,
            )
            for each in parents
        ),
    )


def _registered(registration: Registration | None) -> RegisteredDocument | None:
    if registration is None:
        return None
    return RegisteredDocument(
        endpoints=tuple(sorted(registration.endpoints)),
        incarnation=registration.incarnation,
        registered_ms=registration.registered_ms,
    )


def _claim(claim: Claim | None) -> ClaimDocument | None:
    return None if claim is None else ClaimDocument(key=claim.key, session=f"{claim.session:#x}")


def _owner(owner: Owner | None) -> OwnerDocument | None:
    if owner is None:
        return None
    return OwnerDocument(
        key=owner.key, incarnation=owner.incarnation, endpoints=tuple(sorted(owner.endpoints))
    )


def _preview(decision: Decision) -> PreviewDocument:
    error = decision.error if isinstance(decision, Refuse) else None
    return PreviewDocument(
        decision=DECISIONS[type(decision)],
        row=decision.row,
        id=decision.id if isinstance(decision, Take) else None,
        how=decision.how if isinstance(decision, Take) else None,
        error=None if error is None else error.message,
        code=getattr(error, "code", None),
    )
