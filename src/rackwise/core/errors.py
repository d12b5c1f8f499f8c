"""Every error that Rackwise raises on purpose: one tree, one root.

```
RackwiseError(message, *, wanted=None, had=None, hint=None, where=None, upstream=None)
├─ InputError (also ValueError)        what you gave is wrong
│  ├─ InvalidRack  InvalidSnapshot  InvalidPolicy  InvalidPlan  InvalidConfig
│  ├─ InvalidFlows  InvalidSubnets  InvalidPrices  InvalidRates  InvalidSummary
│  ├─ InvalidPartitions  InvalidReplication  NotEnoughBrokers  PartialRacks
│  ├─ InvalidAssignment  UnknownBroker  InvalidPlacer  DuplicateReplica
│  ├─ UnknownTopic  InvalidProperties
│  ├─ KeyMissing  KeyInvalid  KeyUnstable  SecretExposed
│  ├─ InvalidMember  InvalidReplicaRacks  InvalidWeights
│  ├─ OptimumTooLarge  NoFlow  RackMismatch
│  ├─ Infeasible                       .impossible
│  ├─ PartitionerConfigError  ViewError
│  └─ SplitError  SplitFileError
├─ AuditFailed                         .findings; only from Findings.raise_if_any()
├─ Refused                             the world forbids it now, nothing was written
│  ├─ SessionConflict  OutputNotShared  QuarantineExceeded  BytesLost  OtherFormat
│  ├─ CheckpointMismatch
│  ├─ MissingPermission  Conflict  WrongCluster
│  ├─ StalePlan  Locked  ForeignReassignment  JournalUnwritable  NoRoom  NothingToResume
│  └─ IdentityRefused                  .code .row .retryable .details
│     ├─ ClusterMismatch (also WrongCluster)
│     ├─ MetaInconsistent  MetaVersion  MetaIncomplete  MetaUnreadable  DataWithoutMeta
│     ├─ IdMismatch  IdRange  IdInUse  IdRetired  NoId  NoIdLeft  NoCarrier
│     ├─ Migration  ControllerDisk  MappedIdHeld  HostHasLiveBroker  LastInSync
│     ├─ AmbiguousSpare  SpareReserved  WatcherAbsent  Contention
│     └─ MappingCorrupt  StoreCorrupt  StoreNotReady  NotFree  StillUsed
├─ PartialFailure                      .done .failed .skipped, kept per item
│  └─ MetaWriteFailed  PlanFailures
├─ WorldError                          a neighbour failed
│  ├─ Unreachable  AuthenticationFailed  ServerRefused  ServerDied  NotRackwise
│  ├─ TopicExists  OutcomeUnknown
│  ├─ GroupNotFound  GroupNotStable
│  ├─ ClaimLost  NotRegistered
│  └─ RackSourceError  MockClusterError
├─ ProtocolError                       bytes that are no message of Kafka's
│  └─ LocalProtocolError  RemoteProtocolError
└─ MissingDependency (ImportError)     says the exact pip command
   ├─ JavaMissing  SparkMissing  JarMissing  ConnectorMissing
   └─ UnsupportedClient  MissingClientError
```

`str(error)` is one sentence without full stop, wanted then had. `hint` is what to do next, kept
apart from the sentence. `where` is a JSON path, `file:line`, topic-partition or znode. `upstream`
is (class, message) of the exception that Kafka throws for the same. A branch is never added by a
feature; a leaf is. Leaves about the ids of brokers are in `core.identity.refusals`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class RackwiseError(Exception):
    """The root; `exit_code` is what the command line ends with when nothing catches it.

    `remedy`: the hint where none is given.
    """

    exit_code: ClassVar[int] = 1
    remedy: ClassVar[str | None] = None

    def __init__(
        self,
        message: str,
        *,
        wanted: object = None,
        had: object = None,
        hint: str | None = None,
        where: str | None = None,
        upstream: tuple[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.message = message
        self.wanted = wanted
        self.had = had
        self.hint = self.remedy if hint is None else hint
        self.where = where
        self.upstream = upstream

    def as_dict(self) -> dict[str, Any]:
        """The fields for one JSON line: error, message, wanted, had, hint, where."""
        return {
            "error": type(self).__name__,
            "message": self.message,
            "wanted": _plain(self.wanted),
            "had": _plain(self.had),
            "hint": self.hint,
            "where": self.where,
        }


def _plain(value: object) -> object:
    """Values that JSON has stay themselves; everything else becomes text."""
    return value if value is None or isinstance(value, str | int | float) else str(value)


class InputError(RackwiseError, ValueError):
    """What you gave is wrong."""


class InvalidRack(InputError):
    """A rack text that is no path of one to four levels."""


class InvalidSnapshot(InputError):
    """A snapshot file, reassignment file or racks file that cannot be what it says."""


class InvalidPolicy(InputError):
    """A policy that is malformed, contradicts itself or names what is not there."""


class InvalidPlan(InputError):
    """A plan or reassignment JSON that cannot be carried out as written."""


class InvalidConfig(InputError):
    """An option, path or size that is out of range."""


class InvalidFlows(InputError):
    """Flow files without the columns their format demands."""


class InvalidSubnets(InputError):
    """A subnet table that is malformed or gives one network two racks."""


class InvalidPrices(InputError):
    """A price table that is malformed, ambiguous, or silent about a day with bytes."""


class InvalidRates(InputError):
    """A rates or clients table that is malformed."""


class InvalidSummary(InputError):
    """A summary document of another format, or one that was cut or edited."""


class InvalidPartitions(InputError):
    """A number of partitions that no topic can have."""


class InvalidReplication(InputError):
    """A number of replicas that no partition can have."""


class NotEnoughBrokers(InputError):
    """More replicas than brokers that may take them."""


class PartialRacks(InputError):
    """Some brokers have a rack and some have none, where all or none must."""


class InvalidAssignment(InputError):
    """Broker ids or rows of them that no topic can have."""


class UnknownBroker(InputError):
    """A broker id that the cluster does not have."""


class UnknownTopic(InputError):
    """A topic that the cluster does not have, or does not show us."""


class InvalidProperties(InputError):
    """A properties file that Java would not read, or that is too large."""


class InvalidPlacer(InputError):
    """A placer that cannot do what is asked, or gave rows that no topic can have."""


class DuplicateReplica(InputError):
    """A placer's rule gives one partition the same broker twice."""


class InvalidMember(InputError):
    """A consumer group without members, or a member that no group can have."""


class InvalidReplicaRacks(InputError):
    """Racks of replicas that are no lists of texts."""


class InvalidWeights(InputError):
    """Weights of partitions that are no integers from 0 on, or of partitions that are not there."""


class OptimumTooLarge(InputError):
    """Costs that are too large to be added up exactly."""


class NoFlow(InputError):
    """A network that cannot bring what is supplied to where it is wanted."""


class Infeasible(InputError):
    """What no placement can keep; `impossible`: a sentence for each partition, or for each cut."""

    def __init__(
        self,
        message: str,
        *,
        impossible: Sequence[str],
        wanted: object = None,
        had: object = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message, wanted=wanted, had=had, hint=hint)
        self.impossible = tuple(impossible)

    @override
    def as_dict(self) -> dict[str, Any]:
        """The fields of every error, and what is impossible."""
        return {**super().as_dict(), "impossible": list(self.impossible)}


class RackMismatch(InputError):
    """A client fetches from one rack, and its assignor was told another."""


class PartitionerConfigError(InputError):
    """An option of the partitioner that is not known, out of range, or at odds with another."""


class ViewError(InputError):
    """What is said of a topic's partitions or of their load cannot be."""


class SplitError(InputError):
    """Rates, weights, shares or a bound from which no split of bytes over racks can be made."""


class SplitFileError(InputError):
    """A file of producers' rates, or of a split of them, that cannot be what it says."""


class AuditFailed(RackwiseError):
    """Raised by `Findings.raise_if_any`; the findings are its `.findings`."""

    exit_code = 2

    def __init__(
        self, message: str, *, findings: Sequence[object], hint: str | None = None
    ) -> None:
        super().__init__(message, wanted=0, had=len(findings), hint=hint)
        self.findings = findings


class Refused(RackwiseError):
    """The world forbids it now; nothing was written."""

    exit_code = 4


class SessionConflict(Refused):
    """A Spark session contradicts the master, the remote or the conf that was asked for."""


class OutputNotShared(Refused):
    """Where Spark runs, the folder for tables is not the one of that name here."""


class QuarantineExceeded(Refused):
    """More bad rows than allowed; nothing was published."""


class BytesLost(Refused):
    """Bytes in differ from bytes out; nothing was published, and the fault is Rackwise's."""


class OtherFormat(Refused):
    """The output folder holds a result of another format version."""


class CheckpointMismatch(Refused):
    """A checkpoint or a batch of a stream belongs elsewhere, or has another format."""


class MissingPermission(Refused):
    """The principal lacks a right; the hint is the line of kafka-acls that grants it."""


class Conflict(Refused):
    """One operation of a commit does not hold, and nothing was done; `.had`: that operation."""


class WrongCluster(Refused):
    """What was given belongs to another cluster."""


class StalePlan(Refused):
    """The cluster is no longer the one that the plan was made from; `.had`: each change by name."""


class Locked(Refused):
    """Another process of this host carries out a plan on this cluster."""


class ForeignReassignment(Refused):
    """Somebody else moves replicas on this cluster now."""


class JournalUnwritable(Refused):
    """The journal cannot be kept, so nothing may be done."""


class NoRoom(Refused):
    """A broker has less free disk than a plan brings to it."""


class NothingToResume(Refused):
    """The last run of a plan was not interrupted: it took moves back, or carried all of it out."""


class IdentityRefused(Refused):
    """No broker id can be given now. A leaf for each code; a `retryable` one may pass by itself.

    `row`: of the decision table, None = none. `details`: plain values for a machine.
    """

    code: ClassVar[str] = "IDENTITY_REFUSED"
    retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        row: str | None = None,
        details: Mapping[str, object] | None = None,
        **told: Any,  # noqa: ANN401, the root's own arguments
    ) -> None:
        super().__init__(message, **told)
        self.row = row
        self.details = dict(details or {})

    @override
    def as_dict(self) -> dict[str, Any]:
        """The fields of every error, and code, row, retryable and details."""
        return {
            **super().as_dict(),
            "code": self.code,
            "row": self.row,
            "retryable": self.retryable,
            "details": self.details,
        }


class PartialFailure(RackwiseError):
    """Some items went through and some did not; each is kept."""

    exit_code = 3

    def __init__(
        self,
        message: str,
        *,
        done: Sequence[object] = (),
        failed: Sequence[object] = (),
        skipped: Sequence[object] = (),
        hint: str | None = None,
    ) -> None:
        super().__init__(
            message, wanted=len(done) + len(failed) + len(skipped), had=len(done), hint=hint
        )
        self.done = tuple(done)
        self.failed = tuple(failed)
        self.skipped = tuple(skipped)


class PlanFailures(PartialFailure):
    """Clusters of a fleet without a plan, an error for each; all the rest was published."""

    exit_code = 1


class WorldError(RackwiseError):
    """A neighbour failed: a broker, ZooKeeper, Spark, a disk."""


class Unreachable(WorldError):
    """Nobody answered in time."""


class AuthenticationFailed(WorldError):
    """The neighbour answered; it does not believe who we are, or we do not believe who it is."""


class ServerRefused(WorldError):
    """The neighbour answered with an error code of its own; `had` is that code.

    `code` and `name`: of Kafka's errors, where it told one.
    """

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        name: str | None = None,
        **told: Any,  # noqa: ANN401, the root's own arguments
    ) -> None:
        super().__init__(message, **told)
        self.code = code
        self.name = name


class NotRackwise(WorldError):
    """Whoever listens there is no service of Rackwise; nothing was asked of it."""


class ServerDied(WorldError):
    """A server we started ended, or never became ready; the hint has its last log lines."""


class TopicExists(WorldError):
    """The cluster has a topic of that name already; nothing was written."""


class GroupNotFound(WorldError):
    """No consumer group of that name is there, or it has no members."""


class GroupNotStable(WorldError):
    """A consumer group rebalances, so that what its members subscribe to is not told."""


class RackSourceError(WorldError):
    """Whoever was asked for the brokers' racks did not tell them."""


class MockClusterError(WorldError):
    """The mock cluster of librdkafka is not there, or refused what it was told."""


class OutcomeUnknown(WorldError):
    """A write was sent and not answered, and what became of it cannot be seen."""

    exit_code = 3


class ProtocolError(RackwiseError):
    """Bytes that are no message of Kafka's."""


class LocalProtocolError(ProtocolError):
    """A value that its field cannot hold; nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """What somebody else sent cannot be read; `offset` is where in it, in bytes."""

    def __init__(
        self,
        message: str,
        *,
        offset: int,
        wanted: object = None,
        had: object = None,
        hint: str | None = None,
        where: str | None = None,
    ) -> None:
        super().__init__(message, wanted=wanted, had=had, hint=hint, where=where)
        self.offset = offset


class MissingDependency(RackwiseError, ImportError):
    """A package, a Java or a jar is not there; the hint has the exact command."""


class JavaMissing(MissingDependency):
    """No Java of at least version 17."""


class SparkMissing(MissingDependency):
    """PySpark is not installed."""


class ConnectorMissing(MissingDependency):
    """A Spark session without the Kafka connector; the hint has its coordinate."""


class JarMissing(MissingDependency):
    """A jar of the lock could not be had, or is not the one that was locked."""


class UnsupportedClient(MissingDependency):
    """A Kafka client of a version whose insides are not known here."""


class MissingClientError(MissingDependency):
    """The Kafka client that a plug-in is for is not installed."""
