"""The errors of broker ids: one class per code, declared with its example texts and its hint.

```
exit   branch            codes
1      InputError        KEY_MISSING KEY_INVALID KEY_UNSTABLE SECRET_EXPOSED
3      PartialFailure    META_WRITE_FAILED
3      WorldError        CLAIM_LOST NOT_REGISTERED
4      IdentityRefused   all others
75     IdentityRefused   the `retryable` ones, in `broker-id acquire` only: 4 elsewhere
```

`@refusal_code` sets `code` and the default hint of a class and adds a line to `CODES`, the source
of the reference page. Two errors of `core.errors` have a code here, too: `MissingPermission` is
STORE_DENIED and `Unreachable` is STORE_UNREACHABLE.

`expected` and `got` are examples for the reference page. A raised error carries its own values.
"""

from __future__ import annotations

from shlex import quote
from typing import TYPE_CHECKING, NamedTuple, TypeVar

from rackwise.core.errors import (
    IdentityRefused,
    InputError,
    MissingPermission,
    PartialFailure,
    RackwiseError,
    Unreachable,
    WorldError,
    WrongCluster,
)
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable

    E = TypeVar("E", bound=RackwiseError)

TRY_AGAIN = 75
"""EX_TEMPFAIL: the exit code of `broker-id acquire` where a later try may succeed by itself."""


class Code(NamedTuple):
    """One line of the reference page."""

    code: str
    error: type[RackwiseError]
    exit: int
    """The exit code of `broker-id acquire`."""
    expected: str
    got: str
    hint: str


CODES: list[Code] = []
"""Every code of `broker-id`, in the order of the reference page."""


def refusal_code(
    code: str, *, expected: str, got: str, hint: str, retryable: bool = False
) -> Callable[[type[E]], type[E]]:
    """Declare the code and the default hint of an error class."""

    def declare(error: type[E]) -> type[E]:
        error.code = code  # type: ignore[attr-defined]  # `InputError` has no codes of its own
        error.remedy = hint
        if issubclass(error, IdentityRefused):
            error.retryable = retryable
        if issubclass(error, WorldError):
            error.exit_code = 3
        exit_code = TRY_AGAIN if retryable else error.exit_code
        CODES.append(Code(code, error, exit_code, expected, got, hint))
        return error

    return declare


def mapping_hint(key: str, number: int | None = None) -> str:
    """Say how to write an unreadable mapping again. `number`: its id; None = not known.

    The key is the name of a node, which may be any text: a shell must take it as one word.

    >>> mapping_hint("h7", 7)
    'write the mapping again: broker-id assign h7 7 --force'
    """
    shown = "ID" if number is None else number
    return f"write the mapping again: broker-id assign {quote(escaped(key))} {shown} --force"


def name_id(hint: str, key: str, number: int) -> str:
    """Name the id in the hint of an unreadable mapping, if the hint is to write it again.

    >>> name_id(mapping_hint("h7"), "h7", 7) == mapping_hint("h7", 7)
    True
    """
    return hint.replace(mapping_hint(key), mapping_hint(key, number))


@refusal_code(
    "META_INCONSISTENT",
    expected="one id in all log dirs",
    got="7 in /a, 8 in /b",
    hint="find out which disk was moved here, and remove it from log.dirs",
)
class MetaInconsistent(IdentityRefused):
    """Log dirs of one broker hold different ids, or two of them have the same directory.id."""


@refusal_code(
    "WRONG_CLUSTER",
    expected="cluster.id A",
    got="B in /a",
    hint="check --store, and find out which disk was moved here",
)
class ClusterMismatch(IdentityRefused, WrongCluster):
    """A log dir belongs to another cluster."""


@refusal_code(
    "META_VERSION",
    expected="version 0 in ZooKeeper mode",
    got="1",
    hint="the log dir was formatted for KRaft: inspect it with kafka-storage.sh info",
)
class MetaVersion(IdentityRefused):
    """A meta.properties has a version that brokers in ZooKeeper mode do not read."""


@refusal_code(
    "META_INCOMPLETE",
    expected="node.id and cluster.id in version 1",
    got="no node.id in /a",
    hint="inspect the log dir with kafka-storage.sh info, and format it again",
)
class MetaIncomplete(IdentityRefused):
    """A meta.properties of version 1 lacks a field that version 1 requires."""


@refusal_code(
    "META_UNREADABLE",
    expected="a readable file",
    got="byte 0xEF at 0; 70 KiB; EACCES; a directory",
    hint="repair the file, remove the log dir from log.dirs, or use --ignore-unreadable-dirs",
)
class MetaUnreadable(IdentityRefused):
    """A meta.properties exists and cannot be read; it may hold the id of this broker."""


@refusal_code(
    "META_WRITE_FAILED",
    expected="a file in 3 log dirs",
    got="2, ENOSPC in /c",
    hint="repair the log dir and run again: the broker gets the same id",
)
class MetaWriteFailed(PartialFailure):
    """Some log dirs did not get their meta.properties. The others keep it; the mapping agrees."""


@refusal_code(
    "DATA_WITHOUT_META",
    expected="a meta.properties beside 12 partition directories",
    got="none",
    hint="restore the file, or use --adopt-data to give the data to the id that this broker gets",
)
class DataWithoutMeta(IdentityRefused):
    """A log dir holds partitions and no meta.properties, so their broker is not known."""


@refusal_code(
    "ID_MISMATCH",
    expected="broker.id as stored: 7",
    got="3",
    hint="set broker.id to the stored id, or find out which disk was moved here",
)
class IdMismatch(IdentityRefused):
    """The configured id differs from the id on the disk."""


@refusal_code(
    "ID_RANGE",
    expected="at most 1000 (reserved.broker.max.id)",
    got="1001",
    hint="set another broker.id or a greater reserved.broker.max.id, or turn generation off",
)
class IdRange(IdentityRefused):
    """Kafka does not accept the configured id."""


@refusal_code(
    "NO_ID",
    expected="a source of ids",
    got="none: broker.id.generation.enable is off",
    hint="set broker.id, turn generation on, or run: broker-id assign KEY ID",
)
class NoId(IdentityRefused):
    """No source gives this broker an id."""


@refusal_code(
    "MIGRATION",
    expected="broker.id set and generation off, while migrating to KRaft",
    got="no broker.id",
    hint="set broker.id and broker.id.generation.enable=false",
)
class Migration(IdentityRefused):
    """A broker that migrates to KRaft has no configured id."""


@refusal_code(
    "CONTROLLER_DISK",
    expected="a node with the role broker only, or a formatted disk",
    got="role controller, no file in /a",
    hint="format the log dir with kafka-storage.sh format",
)
class ControllerDisk(IdentityRefused):
    """A controller lost its disk. Rackwise does not decide about membership of the quorum."""


@refusal_code(
    "NO_CARRIER",
    expected="{broker.id} in COMMAND",
    got="none",
    hint="add --override broker.id={broker.id} (KRaft: node.id={broker.id}) to COMMAND",
)
class NoCarrier(IdentityRefused):
    """The broker needs its id in the command, and the command has no place for it."""


@refusal_code(
    "ID_IN_USE",
    expected="id 7 free",
    got="held by h9, session 0x1f, for 40 s",
    hint="stop that broker, or give this one another id",
)
class IdInUse(IdentityRefused):
    """Another broker holds the id of the configuration or of the disk."""


@refusal_code(
    "MAPPED_ID_HELD",
    expected="id 7 free",
    got="held by h9, session 0x1f, for 40 s",
    hint="stop that broker, or run broker-id assign KEY with another id",
)
class MappedIdHeld(IdentityRefused):
    """Another broker holds the id that is mapped to this key."""


@refusal_code(
    "HOST_HAS_LIVE_BROKER",
    expected="id 7 free after 27 s",
    got="still held, by the same key",
    hint="stop that broker, or give each broker of the host its own --instance",
)
class HostHasLiveBroker(IdentityRefused):
    """A second broker with the same key runs on this host."""


@refusal_code(
    "LAST_IN_SYNC",
    expected="another live in-sync copy of every partition",
    got="none for 3 partitions",
    hint="start another ISR member, elect a leader manually, or use --accept-loss",
)
class LastInSync(IdentityRefused):
    """A broker that would rejoin with an empty disk is the last in-sync replica."""


@refusal_code(
    "MAPPING_CORRUPT",
    expected='{"version":0,"broker.id":int}',
    got="the path and up to 200 escaped bytes",
    hint="write the mapping again: broker-id assign KEY ID --force",
)
class MappingCorrupt(IdentityRefused):
    """A mapping cannot be read: that of this key, or one that may have the id to be generated."""


@refusal_code(
    "STORE_CORRUPT",
    expected="JSON as Kafka writes it",
    got="the path and up to 200 escaped bytes",
    hint="repair or delete that node",
)
class StoreCorrupt(IdentityRefused):
    """A node that the decision depends on cannot be read."""


@refusal_code(
    "AMBIGUOUS_SPARE",
    retryable=True,
    expected="one spare id",
    got="7 (h7, 40 s), 9 (h9, 41 s)",
    hint="start the other brokers first, or run: broker-id assign KEY ID",
)
class AmbiguousSpare(IdentityRefused):
    """More than one id is missing, and it is not known which of them was this broker's."""


@refusal_code(
    "SPARE_RESERVED",
    retryable=True,
    expected="a free id",
    got="7 mapped to g, 212 s of grace left",
    hint="use --on-blocked wait, or run: broker-id assign KEY ID",
)
class SpareReserved(IdentityRefused):
    """Ids are missing, and none of them may be taken yet."""


@refusal_code(
    "WATCHER_ABSENT",
    retryable=True,
    expected="a leader that watches missing ids",
    got="none",
    hint="start broker-id watch, or use --missing scan",
)
class WatcherAbsent(IdentityRefused):
    """No watcher records which ids are missing."""


@refusal_code(
    "CONTENTION", retryable=True, expected="a commit in 27 s", got="31 conflicts", hint="run again"
)
class Contention(IdentityRefused):
    """Each commit lost a race against another start."""


@refusal_code(
    "NO_ID_LEFT", expected="a free number", got="10000 numbers in use", hint="set broker.id"
)
class NoIdLeft(IdentityRefused):
    """Every generated number is already in use."""


@refusal_code(
    "CLAIM_LOST",
    expected="the claim on id 7 is ours",
    got="held by g",
    hint="run again: the next start decides again",
)
class ClaimLost(WorldError):
    """This start lost its claim before its broker registered."""


@refusal_code(
    "NOT_REGISTERED",
    expected="a registration within 600 s",
    got="none",
    hint="see the log of the broker",
)
class NotRegistered(WorldError):
    """The broker did not register in time."""


@refusal_code(
    "KEY_MISSING",
    expected="a stable name in POD_NAME",
    got="unset",
    hint="set it, or use another --key",
)
class KeyMissing(InputError):
    """The source of the key is empty or absent."""


@refusal_code(
    "KEY_INVALID",
    expected="1 to 249 of A-Z a-z 0-9 . _ : -, not . or ..",
    got="a/b",
    hint="use another --key",
)
class KeyInvalid(InputError):
    """The key is not a valid node name."""


@refusal_code(
    "KEY_UNSTABLE",
    expected="a stable name",
    got="ip-10-0-0-1",
    hint="use another --key; with --allow-key each acquire of this host needs this one as --key",
)
class KeyUnstable(InputError):
    """The key changes with the address: the next machine would have another one."""


@refusal_code(
    "STORE_NOT_READY",
    expected="/brokers/hosts",
    got="absent",
    hint="run once, as Kafka's principal: broker-id init, with the same --store",
)
class StoreNotReady(IdentityRefused):
    """The parent nodes of the store do not exist."""


@refusal_code("SECRET_EXPOSED", expected="mode 0600 or 0440", got="0644", hint="chmod 600 the file")
class SecretExposed(InputError):
    """Other users may read or write a file that holds secrets."""


@refusal_code(
    "NOT_FREE",
    expected="a free id",
    got="mapped to g",
    hint="use --force to remove a mapping; stop a running broker first",
)
class NotFree(IdentityRefused):
    """The id to assign belongs to another key or broker."""


@refusal_code(
    "STILL_USED",
    expected="no replica",
    got="12 replicas",
    hint="stop the broker and reassign its partitions first; --force permits replicas only",
)
class StillUsed(IdentityRefused):
    """The id to retire has replicas or a broker."""


@refusal_code(
    "ID_RETIRED", expected="an id in use", got="retired", hint="undo it: broker-id retire --undo ID"
)
class IdRetired(IdentityRefused):
    """The id was retired."""


CODES += [
    Code(
        code="STORE_UNREACHABLE",
        error=Unreachable,
        exit=TRY_AGAIN,
        expected="a session within 10 s",
        got="none",
        hint="check the address of the store, and whether the store runs",
    ),
    Code(
        code="STORE_DENIED",
        error=MissingPermission,
        exit=4,
        expected="CREATE on /brokers/ids",
        got="denied",
        hint="add that ACL, or run as Kafka's principal",
    ),
]
