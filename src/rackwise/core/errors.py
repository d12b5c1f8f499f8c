"""The errors that Rackwise raises on purpose: one tree with one root.

```
RackwiseError(message, *, wanted=None, had=None, hint=None, where=None, upstream=None)
├─ InputError (also ValueError)        an argument, option or file is wrong
│  ├─ InvalidRack  InvalidSnapshot  InvalidPolicy  InvalidPlan  InvalidConfig
│  ├─ InvalidFlows  InvalidSubnets  InvalidAddresses  InvalidPrices  InvalidRates
│  ├─ InvalidSummary
│  ├─ InvalidPartitions  InvalidReplication  NotEnoughBrokers  PartialRacks
│  ├─ InvalidAssignment  UnknownBroker  InvalidPlacer  DuplicateReplica
│  ├─ UnknownTopic  InvalidProperties  InvalidOwners  InvalidBilled  InvalidFleetFile
│  ├─ KeyMissing  KeyInvalid  KeyUnstable  SecretExposed
│  ├─ InvalidMember  InvalidReplicaRacks  InvalidWeights
│  ├─ OptimumTooLarge  NotEnoughMemory  NoFlow  RackMismatch
│  ├─ Infeasible                       .impossible
│  ├─ PartitionerConfigError  ViewError
│  └─ SplitError  SplitFileError
├─ AuditFailed                         .findings; only from Findings.raise_if_any()
├─ Refused                             not possible now; nothing was written
│  ├─ SessionConflict  OutputNotShared  QuarantineExceeded  BytesLost  OtherFormat
│  ├─ CheckpointMismatch  PriceCapRefused
│  ├─ MissingPermission  Conflict  WrongCluster
│  ├─ StalePlan  Locked  ForeignReassignment  JournalUnwritable  NoRoom  NothingToResume
│  ├─ OutsideWindow
│  └─ IdentityRefused                  .code .row .retryable .details
│     ├─ ClusterMismatch (also WrongCluster)
│     ├─ MetaInconsistent  MetaVersion  MetaIncomplete  MetaUnreadable  DataWithoutMeta
│     ├─ IdMismatch  IdRange  IdInUse  IdRetired  NoId  NoIdLeft  NoCarrier
│     ├─ Migration  ControllerDisk  MappedIdHeld  HostHasLiveBroker  LastInSync
│     ├─ AmbiguousSpare  SpareReserved  WatcherAbsent  Contention
│     └─ MappingCorrupt  StoreCorrupt  StoreNotReady  NotFree  StillUsed
├─ PartialFailure                      .done .failed .skipped, kept per item
│  └─ MetaWriteFailed  PlanFailures  PlacementFailures
├─ WorldError                          another system failed
│  ├─ Unreachable  AuthenticationFailed  ServerRefused  ServerDied  NotRackwise
│  ├─ TopicExists  OutcomeUnknown  StepNotStarted  MemoryExhausted
│  ├─ GroupNotFound  GroupNotStable
│  ├─ ClaimLost  NotRegistered
│  └─ RackSourceError
├─ ProtocolError                       bytes that are not a Kafka message
│  └─ LocalProtocolError  RemoteProtocolError
└─ MissingDependency (ImportError)     the hint has the exact command to install it
   ├─ JavaMissing  SparkMissing  JarMissing  ConnectorMissing
   └─ UnsupportedClient  MissingClientError
```

`str(error)` is its message. A new feature may add a leaf, but not a branch. The leaves about broker
ids are in `core.identity.refusals`.
"""

from __future__ import annotations

from errno import ENOMEM
from typing import TYPE_CHECKING, Any, ClassVar

from rackwise.core.override import override
from rackwise.core.text import escaped, with_short_words

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class RackwiseError(Exception):
    """The root of all errors."""

    exit_code: ClassVar[int] = 1
    """The exit code of a command that ends with this error."""
    remedy: ClassVar[str | None] = None
    """The hint if none is given."""

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
        message = with_short_words(message)
        super().__init__(message)
        self.message = message
        """One sentence without a full stop: what is wrong, what was expected, what was found."""
        self.wanted = wanted
        """What was expected."""
        self.had = had
        """What was found instead."""
        self.hint = self.remedy if hint is None else with_short_words(hint)
        """What to do next, as an imperative sentence."""
        self.where = where
        """A JSON path, `file:line`, topic-partition or znode."""
        self.upstream = upstream
        """(class, message) of the exception that Kafka throws in the same case."""

    def as_dict(self) -> dict[str, Any]:
        """The fields for one JSON line: error, message, wanted, had, hint, where."""
        return {
            "error": type(self).__name__,
            "message": self.message,
            "wanted": _json_value(self.wanted),
            "had": _json_value(self.had),
            "hint": self.hint,
            "where": self.where,
        }


def _json_value(value: object) -> object:
    """The value if JSON has its type, else its text."""
    if value is None or isinstance(value, int | float):
        return value
    return with_short_words(str(value))


class InputError(RackwiseError, ValueError):
    """An argument, an option or a file is wrong."""


class InvalidRack(InputError):
    """A rack is not a name or a path of one to 16 levels."""


class InvalidSnapshot(InputError):
    """A snapshot, reassignment or racks file is malformed or contradicts itself."""


class InvalidPolicy(InputError):
    """A policy is malformed, contradicts itself or names something that does not exist."""


class InvalidPlan(InputError):
    """A plan or reassignment JSON cannot be executed as written."""


class InvalidConfig(InputError):
    """An option, path or size is invalid or out of range."""


class InvalidFlows(InputError):
    """Flow files lack columns that their format requires."""


class InvalidSubnets(InputError):
    """A subnet table is malformed or gives one network two racks."""


class InvalidAddresses(InputError):
    """An address table, or a listing of Kubernetes or a cloud that one is made from, is invalid."""


class InvalidPrices(InputError):
    """A price table is malformed or ambiguous, or has no price for a day with traffic."""


class InvalidRates(InputError):
    """A table of rates or of clients is malformed."""


class InvalidOwners(InputError):
    """A table of owners is malformed."""


class InvalidFleetFile(InputError):
    """A fleet file is malformed, names a cluster twice, or a reference in it has no value."""


class InvalidBilled(InputError):
    """A provider's bill is damaged, has other columns, or is given twice."""


class InvalidSummary(InputError):
    """A summary document has another format, or was truncated or edited."""


class InvalidPartitions(InputError):
    """No topic can have this number of partitions."""


class InvalidReplication(InputError):
    """No partition can have this number of replicas."""


class NotEnoughBrokers(InputError):
    """There are fewer usable brokers than replicas to place."""


class PartialRacks(InputError):
    """Some brokers have a rack and some have none, where all or none must have one."""


class InvalidAssignment(InputError):
    """A replica assignment that no topic can have."""


class UnknownBroker(InputError):
    """The cluster has no broker with this id."""


class UnknownTopic(InputError):
    """The cluster has no topic of this name, or the principal may not see it."""


class InvalidProperties(InputError):
    """A properties file is one that Java rejects, or is too large."""


class InvalidPlacer(InputError):
    """A placer cannot do what is asked, or returned rows that no topic can have."""


class DuplicateReplica(InputError):
    """A placer assigned one broker twice to a partition."""


class InvalidMember(InputError):
    """A consumer group has no members, or a member that no group can have."""


class InvalidReplicaRacks(InputError):
    """Racks of replicas are not lists of texts."""


class InvalidWeights(InputError):
    """Weights of partitions are not integers >= 0, or are of unknown partitions."""


class OptimumTooLarge(InputError):
    """Costs are too large to be added exactly."""


class NotEnoughMemory(InputError):
    """A search is estimated to take more memory than it may."""


class NoFlow(InputError):
    """A flow network cannot bring the supply to the demand."""


class Infeasible(InputError):
    """No placement satisfies the rules; `impossible` has the reasons."""

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
        """One sentence for each partition or each cut that shows it."""

    @override
    def as_dict(self) -> dict[str, Any]:
        """The fields of every error, and `impossible`."""
        return {**super().as_dict(), "impossible": list(self.impossible)}


class RackMismatch(InputError):
    """A client's `client.rack` differs from the rack that its assignor was given."""


class PartitionerConfigError(InputError):
    """An option of the partitioner is unknown, out of range or contradicts another."""

    @classmethod
    def of(cls, name: str, *, wanted: str, had: object, hint: str) -> PartitionerConfigError:
        """The error for the value of an option; `had`: the value as it may be shown."""
        message = f"invalid {name}: expected {wanted}, got {had}"
        return cls(message, wanted=wanted, had=had, hint=hint, where=name)


class ViewError(InputError):
    """A description of a topic's partitions or of their load is invalid."""


class SplitError(InputError):
    """No split of bytes over racks exists for these rates, weights, shares or bound."""


class SplitFileError(InputError):
    """A file of producers' rates, or of a split of them, is malformed."""


class AuditFailed(RackwiseError):
    """An audit found broken rules; raised by `Findings.raise_if_any` only."""

    exit_code = 2

    def __init__(
        self, message: str, *, findings: Sequence[object], hint: str | None = None
    ) -> None:
        super().__init__(message, wanted=0, had=len(findings), hint=hint)
        self.findings = findings


class Refused(RackwiseError):
    """The action is not possible now; nothing was written."""

    exit_code = 4


class SessionConflict(Refused):
    """A running Spark session differs from the requested master, remote or conf."""


class OutputNotShared(Refused):
    """The folder for tables is not shared with the machines that run Spark."""


class QuarantineExceeded(Refused):
    """More rows are malformed than allowed; nothing was published."""


class BytesLost(Refused):
    """Bytes read differ from bytes written, which is a bug; nothing was published."""


class OtherFormat(Refused):
    """The output folder holds a result of another format version."""


class CheckpointMismatch(Refused):
    """A checkpoint or batch belongs to another stream or topic, or has another format."""

    remedy = "choose another --checkpoint: the topic is read again and each message counts once"


class MissingPermission(Refused):
    """The principal lacks a permission; the hint is the kafka-acls command that grants it."""


class Conflict(Refused):
    """A condition of a commit does not hold, so nothing was written; `had` is the operation."""


class WrongCluster(Refused):
    """An input belongs to another cluster."""


class StalePlan(Refused):
    """The cluster has changed since the plan was created; `had` names each change."""


class Locked(Refused):
    """Another process on this host is executing a plan on this cluster."""


class ForeignReassignment(Refused):
    """Another tool is moving replicas on this cluster."""


class JournalUnwritable(Refused):
    """The journal cannot be written, so no action may start."""


class NoRoom(Refused):
    """A broker has less free disk space than a plan needs on it."""


class PriceCapRefused(Refused):
    """A plan changes the monthly bill by more than its cap, or by an unknown amount."""


class OutsideWindow(Refused):
    """A run of a plan would begin outside the window of its cluster."""


class NothingToResume(Refused):
    """The last run of a plan was not interrupted: it finished, or was rolled back."""


class IdentityRefused(Refused):
    """No broker id can be assigned now; `code`, `row` and `details` say why."""

    code: ClassVar[str] = "IDENTITY_REFUSED"
    """The code for programs; each leaf has its own."""
    retryable: ClassVar[bool] = False
    """Whether a later attempt may succeed without any change."""

    def __init__(
        self,
        message: str,
        *,
        row: str | None = None,
        details: Mapping[str, object] | None = None,
        **arguments: Any,  # noqa: ANN401 (those of the root)
    ) -> None:
        super().__init__(message, **arguments)
        self.row = row
        """The row of the decision table, or None."""
        self.details = dict(details or {})
        """Plain values for programs."""

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
    """Some items succeeded and some failed; each outcome is kept."""

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
    """Some clusters of a fleet have no plan, with an error for each; the others were published."""

    exit_code = 1


class PlacementFailures(PartialFailure):
    """Some topics have no new rows, with an error for each; the others were printed."""

    exit_code = 1


class WorldError(RackwiseError):
    """Another system failed: a broker, ZooKeeper, Spark or a disk."""


class Unreachable(WorldError):
    """No answer came in time."""


class AuthenticationFailed(WorldError):
    """The client or the server could not authenticate the other."""


class ServerRefused(WorldError):
    """The server answered with an error; `code` and `name` are those of Kafka's error."""

    def __init__(
        self,
        message: str,
        *,
        code: int | None = None,
        name: str | None = None,
        **arguments: Any,  # noqa: ANN401 (those of the root)
    ) -> None:
        super().__init__(message, **arguments)
        self.code = code
        """The code of Kafka's error; None if the answer has none."""
        self.name = name
        """The name of Kafka's error; None if the answer has none."""


class NotRackwise(WorldError):
    """The process that listens there is not a Rackwise server; no request was sent to it."""


class ServerDied(WorldError):
    """A started server ended or never became ready; the hint has its last log lines."""


class TopicExists(WorldError):
    """The cluster already has a topic of this name; nothing was written."""


class GroupNotFound(WorldError):
    """There is no consumer group of this name, or it has no members."""


class GroupNotStable(WorldError):
    """A consumer group is rebalancing, so its members' subscriptions are not visible."""


class RackSourceError(WorldError):
    """The source of the brokers' racks did not answer with racks."""


class OutcomeUnknown(WorldError):
    """A write was sent without an answer, and its outcome cannot be determined."""

    exit_code = 3


class MemoryExhausted(WorldError):
    """The system gave no more memory; a file that was to be written is not there, or as before."""

    @classmethod
    def of(cls, error: Exception) -> MemoryExhausted | None:
        """The error for an exception that says so; None for any other.

        numpy and Arrow say how much they asked for. The system says so where a library is loaded
        or a thread is started.
        """
        is_of_system = isinstance(error, OSError) and error.errno == ENOMEM
        is_thread = isinstance(error, RuntimeError) and "can't start new thread" in str(error)
        is_library = isinstance(error, ImportError) and any(
            each in str(error) for each in ("failed to map segment", "cannot allocate memory")
        )
        if not (isinstance(error, MemoryError) or is_of_system or is_thread or is_library):
            return None
        asked = escaped(str(error).partition("\n")[0]) or "an allocation failed"
        return cls(
            f"memory exhausted: {asked}",
            wanted="more memory",
            had=asked,
            hint="raise the limits of threads and memory of this process"
            if is_thread
            else "use a machine with more memory; plan needs less with --topics, analyze with "
            "--no-plans",
        )


class ProtocolError(RackwiseError):
    """Bytes are not a Kafka message."""


class LocalProtocolError(ProtocolError):
    """A value does not fit its field; nothing was sent."""


class RemoteProtocolError(ProtocolError):
    """A received message cannot be read; `offset` is the position of the fault in bytes."""

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
        """The position of the fault, in bytes."""


class MissingDependency(RackwiseError, ImportError):
    """A package, Java or a jar is missing; the hint has the exact command."""


class JavaMissing(MissingDependency):
    """Java 17 or later is not installed."""


class SparkMissing(MissingDependency):
    """PySpark is not installed."""


class ConnectorMissing(MissingDependency):
    """The Spark session lacks the Kafka connector; the hint has its coordinate."""


class JarMissing(MissingDependency):
    """A locked jar could not be fetched, or has another checksum."""


class UnsupportedClient(MissingDependency):
    """This version of a Kafka client is not supported."""


class MissingClientError(MissingDependency):
    """The Kafka client that a plug-in needs is not installed."""

    @classmethod
    def of(cls, client: str, *, extra: str) -> MissingClientError:
        """The error for a client, which an extra of Rackwise installs."""
        return cls(
            f"{client} is not installed",
            wanted=client,
            had=None,
            hint=f"pip install 'rackwise[{extra}]'",
        )


class SettingsWarning(UserWarning):
    """Settings or files of a connection are used, and deserve attention; the text says what to do.

    It is a warning of Python, because it is found far below what shows it. The command line prints
    it as `warning: ...`.
    """
