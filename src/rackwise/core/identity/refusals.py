"""Every refusal of a broker's id, one leaf for each code, and the few errors that are none.

```
exit   branch            codes
1      InputError        KEY_MISSING KEY_INVALID KEY_UNSTABLE SECRET_EXPOSED
3      PartialFailure    META_WRITE_FAILED
3      WorldError        CLAIM_LOST NOT_REGISTERED
4      IdentityRefused   all others
75     IdentityRefused   what is `retryable`, in `broker-id acquire` alone: 4 elsewhere
```

The house's own errors have a code here too: `MissingPermission` is STORE_DENIED, `Unreachable` is
STORE_UNREACHABLE. `wants`, `has` and `remedy` are what the reference page prints; `remedy` is also
the hint of an error that is raised without one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

from rackwise.core import errors
from rackwise.core.errors import (
    IdentityRefused,
    InputError,
    MissingPermission,
    PartialFailure,
    Unreachable,
    WorldError,
)

if TYPE_CHECKING:
    from rackwise.core.errors import RackwiseError

TRY_AGAIN = 75
"""EX_TEMPFAIL: what `broker-id acquire` ends with where a later try may succeed by itself."""


class MetaInconsistent(IdentityRefused):
    """Log dirs of one broker say different ids, or two have one directory id."""

    code = "META_INCONSISTENT"
    wants: ClassVar[str] = "one id in all log dirs"
    has: ClassVar[str] = "7 in /a, 8 in /b"
    remedy = "find out which disk was moved here, and take it out of log.dirs"


class WrongCluster(IdentityRefused, errors.WrongCluster):
    """A log dir belongs to another cluster."""

    code = "WRONG_CLUSTER"
    wants: ClassVar[str] = "cluster.id A"
    has: ClassVar[str] = "B in /a"
    remedy = "look whether --store is the right one, or which disk was moved here"


class MetaVersion(IdentityRefused):
    """A file of a version that brokers in ZooKeeper mode do not read."""

    code = "META_VERSION"
    wants: ClassVar[str] = "version 0 in ZooKeeper mode"
    has: ClassVar[str] = "1"
    remedy = "the dir was formatted for KRaft: see it with kafka-storage.sh info"


class MetaIncomplete(IdentityRefused):
    """A file of version 1 that lacks what version 1 must have."""

    code = "META_INCOMPLETE"
    wants: ClassVar[str] = "node.id and cluster.id in version 1"
    has: ClassVar[str] = "no node.id in /a"
    remedy = "see the dir with kafka-storage.sh info, and format it again"


class MetaUnreadable(IdentityRefused):
    """A file that is there and cannot be read; the id may stand in it."""

    code = "META_UNREADABLE"
    wants: ClassVar[str] = "a readable file"
    has: ClassVar[str] = "byte 0xEF at 0; 70 KiB; EACCES; not a regular file"
    remedy = "repair the file, drop the dir from log.dirs, or --ignore-unreadable-dirs"


class MetaWriteFailed(PartialFailure):
    """Not every log dir got its file; those that did keep it, the mapping agrees with them."""

    code: ClassVar[str] = "META_WRITE_FAILED"
    wants: ClassVar[str] = "a file in 3 dirs"
    has: ClassVar[str] = "2, ENOSPC in /c"
    remedy = "mend the dir and run again: the same id comes"


class DataWithoutMeta(IdentityRefused):
    """Partitions lie in a log dir that does not say whose they are."""

    code = "DATA_WITHOUT_META"
    wants: ClassVar[str] = "a file beside 12 partition directories"
    has: ClassVar[str] = "none"
    remedy = "put the file back, or --adopt-data to give the data to the id that comes"


class IdMismatch(IdentityRefused):
    """The configured id is not the one on the disk."""

    code = "ID_MISMATCH"
    wants: ClassVar[str] = "broker.id as stored: 7"
    has: ClassVar[str] = "3"
    remedy = "set broker.id to the stored id, or find out which disk was moved here"


class IdRange(IdentityRefused):
    """A configured id that Kafka does not take."""

    code = "ID_RANGE"
    wants: ClassVar[str] = "at most 1000 (reserved.broker.max.id)"
    has: ClassVar[str] = "1001"
    remedy = "set another broker.id, a greater reserved.broker.max.id, or generation off"


class NoId(IdentityRefused):
    """Nobody gives this broker an id."""

    code = "NO_ID"
    wants: ClassVar[str] = "a source of ids"
    has: ClassVar[str] = "none: broker.id.generation.enable is off"
    remedy = "set broker.id, turn generation on, or: broker-id assign KEY ID"


class Migration(IdentityRefused):
    """A broker that migrates to KRaft must be told its id."""

    code = "MIGRATION"
    wants: ClassVar[str] = "broker.id set, generation off, while migrating to KRaft"
    has: ClassVar[str] = "no broker.id"
    remedy = "set broker.id and broker.id.generation.enable=false"


class ControllerDisk(IdentityRefused):
    """A controller without its disk: membership of the quorum is not ours to give."""

    code = "CONTROLLER_DISK"
    wants: ClassVar[str] = "a broker-only node, or a formatted disk"
    has: ClassVar[str] = "role controller, no file in /a"
    remedy = "format the dir with kafka-storage.sh format"


class NoCarrier(IdentityRefused):
    """The id would not reach Kafka: it must stand in the command."""

    code = "NO_CARRIER"
    wants: ClassVar[str] = "{broker.id} in COMMAND"
    has: ClassVar[str] = "none"
    remedy = "add --override broker.id={broker.id} (KRaft: node.id={broker.id}) to COMMAND"


class IdInUse(IdentityRefused):
    """The id of the configuration or of the disk is held by another broker."""

    code = "ID_IN_USE"
    wants: ClassVar[str] = "id 7 free"
    has: ClassVar[str] = "held by h9, session 0x1f, for 40 s"
    remedy = "stop that broker, or give this one another id"


class MappedIdHeld(IdentityRefused):
    """The remembered id is held by another broker."""

    code = "MAPPED_ID_HELD"
    wants: ClassVar[str] = "id 7 free"
    has: ClassVar[str] = "held by h9, session 0x1f, for 40 s"
    remedy = "stop that broker, or: broker-id assign KEY another id"


class HostHasLiveBroker(IdentityRefused):
    """A second broker on this host lives under the same key."""

    code = "HOST_HAS_LIVE_BROKER"
    wants: ClassVar[str] = "id 7 free after 27 s"
    has: ClassVar[str] = "still held, by the same key"
    remedy = "stop that broker, or give each broker of the host its --instance"


class LastInSync(IdentityRefused):
    """Giving the id back to an empty disk would lose data."""

    code = "LAST_IN_SYNC"
    wants: ClassVar[str] = "another live in-sync copy of every partition"
    has: ClassVar[str] = "none for 3 partitions"
    remedy = "start another ISR member, elect a leader by hand, or --accept-loss"


class MappingCorrupt(IdentityRefused):
    """The mapping of this key cannot be read; nothing is guessed."""

    code = "MAPPING_CORRUPT"
    wants: ClassVar[str] = '{"version":0,"broker.id":int}'
    has: ClassVar[str] = "path and 200 escaped bytes"
    remedy = "write it anew: broker-id assign KEY ID --force"


class StoreCorrupt(IdentityRefused):
    """A node that the decision needs cannot be read."""

    code = "STORE_CORRUPT"
    wants: ClassVar[str] = "JSON of Kafka's"
    has: ClassVar[str] = "path and 200 escaped bytes"
    remedy = "mend or delete that node; nothing is guessed"


class AmbiguousSpare(IdentityRefused):
    """More than one id is missing, and which of them was this broker's is not known."""

    code = "AMBIGUOUS_SPARE"
    retryable = True
    wants: ClassVar[str] = "one spare id"
    has: ClassVar[str] = "7 (h7, 40 s), 9 (h9, 41 s)"
    remedy = "start the other brokers first, or: broker-id assign KEY ID"


class SpareReserved(IdentityRefused):
    """Ids are missing, and none of them may be taken yet."""

    code = "SPARE_RESERVED"
    retryable = True
    wants: ClassVar[str] = "a free id"
    has: ClassVar[str] = "7 mapped to g, 212 s of grace left"
    remedy = "--on-blocked wait, or: broker-id assign KEY ID"


class WatcherAbsent(IdentityRefused):
    """Nobody watches which ids are missing."""

    code = "WATCHER_ABSENT"
    retryable = True
    wants: ClassVar[str] = "a leader that watches missing ids"
    has: ClassVar[str] = "none"
    remedy = "start broker-id watch, or use --missing scan"


class Contention(IdentityRefused):
    """Others were faster each time."""

    code = "CONTENTION"
    retryable = True
    wants: ClassVar[str] = "a commit in 27 s"
    has: ClassVar[str] = "31 conflicts"
    remedy = "run again"


class NoIdLeft(IdentityRefused):
    """No number that was drawn is free."""

    code = "NO_ID_LEFT"
    wants: ClassVar[str] = "a free number"
    has: ClassVar[str] = "10000 numbers in use"
    remedy = "set broker.id"


class ClaimLost(WorldError):
    """The claim went to somebody else while this broker was starting."""

    exit_code = 3
    code: ClassVar[str] = "CLAIM_LOST"
    wants: ClassVar[str] = "the claim of 7 ours"
    has: ClassVar[str] = "held by g"
    remedy = "run again: the next start decides again"


class NotRegistered(WorldError):
    """The broker did not register in time."""

    exit_code = 3
    code: ClassVar[str] = "NOT_REGISTERED"
    wants: ClassVar[str] = "registration in 600 s"
    has: ClassVar[str] = "none"
    remedy = "see the broker's log"


class KeyMissing(InputError):
    """The source of the key says nothing."""

    code: ClassVar[str] = "KEY_MISSING"
    wants: ClassVar[str] = "a stable name in POD_NAME"
    has: ClassVar[str] = "unset"
    remedy = "set it, or use another --key"


class KeyInvalid(InputError):
    """A key that is no name of a node."""

    code: ClassVar[str] = "KEY_INVALID"
    wants: ClassVar[str] = "1 to 249 of A-Z a-z 0-9 . _ : -, not . or .."
    has: ClassVar[str] = "a/b"
    remedy = "use another --key"


class KeyUnstable(InputError):
    """A key that changes with the address: the next machine would not have it."""

    code: ClassVar[str] = "KEY_UNSTABLE"
    wants: ClassVar[str] = "a stable name"
    has: ClassVar[str] = "ip-10-0-0-1"
    remedy = "use another --key, or --allow-key if this one does not change"


class StoreNotReady(IdentityRefused):
    """The parents of our nodes are not there."""

    code = "STORE_NOT_READY"
    wants: ClassVar[str] = "/brokers/hosts"
    has: ClassVar[str] = "absent"
    remedy = "run once, as Kafka's principal: broker-id init"


class SecretExposed(InputError):
    """A file with secrets that others may read."""

    code: ClassVar[str] = "SECRET_EXPOSED"
    wants: ClassVar[str] = "mode 0600"
    has: ClassVar[str] = "0644"
    remedy = "chmod 600 the file"


class NotFree(IdentityRefused):
    """The id that is to be assigned is somebody's."""

    code = "NOT_FREE"
    wants: ClassVar[str] = "a free id"
    has: ClassVar[str] = "mapped to g"
    remedy = "--force takes a mapping away; a broker must be stopped first"


class StillUsed(IdentityRefused):
    """The id that is to be retired has replicas, or a broker."""

    code = "STILL_USED"
    wants: ClassVar[str] = "no replica"
    has: ClassVar[str] = "12"
    remedy = "stop the broker and reassign its partitions first; --force allows replicas alone"


class IdRetired(IdentityRefused):
    """The id was given up."""

    code = "ID_RETIRED"
    wants: ClassVar[str] = "an id in use"
    has: ClassVar[str] = "retired since 2026-11-01"
    remedy = "take it back: broker-id retire --undo ID"


class Code(NamedTuple):
    """One line of the reference: a code, what raises it, and what it says."""

    code: str
    error: type[RackwiseError]
    exit: int
    wanted: str
    had: str
    hint: str


_OWN = (
    *(MetaInconsistent, WrongCluster, MetaVersion, MetaIncomplete, MetaUnreadable),
    *(MetaWriteFailed, DataWithoutMeta, IdMismatch, IdRange, NoId, Migration, ControllerDisk),
    *(NoCarrier, IdInUse, MappedIdHeld, HostHasLiveBroker, LastInSync, MappingCorrupt),
    *(StoreCorrupt, AmbiguousSpare, SpareReserved, WatcherAbsent, Contention, NoIdLeft),
    *(ClaimLost, NotRegistered, KeyMissing, KeyInvalid, KeyUnstable, StoreNotReady),
    *(SecretExposed, NotFree, StillUsed, IdRetired),
)
_HOUSE = (
    Code(
        *("STORE_UNREACHABLE", Unreachable, TRY_AGAIN, "a session in 10 s", "none"),
        "see whether the address is right and the store is up",
    ),
    Code(
        *("STORE_DENIED", MissingPermission, 4, "CREATE on /brokers/ids", "denied"),
        "add that ACL, or run as Kafka's principal",
    ),
)


def _exit(error: type[RackwiseError]) -> int:
    """What `broker-id acquire` ends with."""
    is_retryable = issubclass(error, IdentityRefused) and error.retryable
    return TRY_AGAIN if is_retryable else error.exit_code


CODES: tuple[Code, ...] = (
    *(Code(e.code, e, _exit(e), e.wants, e.has, e.remedy) for e in _OWN),
    *_HOUSE,
)
"""Every code of `broker-id`; `exit` is that of `acquire`."""
