"""Translates the errors of the ZooKeeper client into those of `core.errors`.

```
seen by the client                        becomes
NoNode of a parent, of the fence          StoreNotReady
NoAuth                                    MissingPermission, with the permission and the node
BadVersion, NodeExists, NoNode            Conflict, within a commit
connection or session lost, no answer     OutcomeUnknown of a commit; else a retry, then Unreachable
AuthFailed                                AuthenticationFailed
InvalidACL                                InvalidConfig: of --store-config
anything else                             ServerRefused
```

The answer to a commit has one result for each operation. If one failed, those before it were rolled
back and those after it were not tried: the real error is the one that says neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kazoo.exceptions import (
    AuthFailedError,
    BadVersionError,
    ConnectionLoss,
    InvalidACLError,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    NotEmptyError,
    OperationTimeoutError,
    RequestTimeoutError,
    RolledBackError,
    RuntimeInconsistency,
    SessionExpiredError,
    SessionMovedError,
    ZookeeperError,
)
from kazoo.handlers.threading import KazooTimeoutError

from rackwise.core.errors import (
    AuthenticationFailed,
    InvalidConfig,
    MissingPermission,
    OutcomeUnknown,
    RackwiseError,
    ServerRefused,
    Unreachable,
)
from rackwise.core.identity.nodes.store import (
    Absent,
    Check,
    Create,
    Put,
    conflict,
    not_ready,
    parent_of,
)
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.adapters.zookeeper.address import Address
    from rackwise.core.identity.nodes.store import Op

TRANSIENT = (
    ConnectionLoss,
    SessionExpiredError,
    SessionMovedError,
    OperationTimeoutError,
    RequestTimeoutError,
    KazooTimeoutError,
)
"""Errors after which a session may come back. The request may have been executed."""

_CONFLICTS = (BadVersionError, NodeExistsError, NoNodeError, NotEmptyError)
_RIGHTS = {Check: "READ", Absent: "CREATE and DELETE", Create: "CREATE", Put: "WRITE"}


def read_error(error: Exception, path: str, *, right: str = "READ") -> RackwiseError:
    """Translate the error of one node that could not be read, or written alone."""
    if isinstance(error, NoAuthError):
        return permission_error(right, path)
    if isinstance(error, AuthFailedError):
        return login_error()
    if isinstance(error, InvalidACLError):
        return InvalidConfig(
            "ZooKeeper rejects the ACL: this session has no login, or ZooKeeper does not know the "
            "scheme of acl.kafka",
            wanted="an ACL that ZooKeeper takes",
            had=type(error).__name__,
            hint="check auth.scheme and acl.kafka of --store-config, and authProvider of ZooKeeper",
            where=path,
        )
    if isinstance(error, NoNodeError):
        return not_ready(path)
    return ServerRefused(
        f"ZooKeeper rejected a request for {escaped(path)}: {type(error).__name__}",
        had=type(error).__name__,
        hint="see the log of ZooKeeper",
        where=path,
    )


def commit_error(error: Exception, op: Op, *, is_parent: bool) -> RackwiseError:
    """Translate the error of a failed operation of a commit.

    `is_parent`: the absent node may only be a parent, or a node that `init` creates.
    """
    if isinstance(error, NoAuthError):
        right = _RIGHTS.get(type(op), "DELETE")
        return permission_error(
            right, op.path if isinstance(op, Check | Put) else parent_of(op.path)
        )
    if isinstance(error, NoNodeError) and is_parent:
        return not_ready(op.path if isinstance(op, Put) else parent_of(op.path))
    if isinstance(error, _CONFLICTS):
        return conflict(op)
    return read_error(error, op.path)


def failed_operation(results: Sequence[object]) -> int | None:
    """Return the index of the real error of a commit; None = all operations succeeded."""
    for number, result in enumerate(results):
        passive = (RolledBackError, RuntimeInconsistency)
        if isinstance(result, ZookeeperError) and not isinstance(result, passive):
            return number
    return None


def permission_error(right: str, path: str) -> MissingPermission:
    """Build the error for a node whose ACL denies the access."""
    return MissingPermission(
        f"ZooKeeper denies {right} on {escaped(path)}",
        wanted=f"{right} on {path}",
        had="denied",
        hint="log in as Kafka's own principal with --store-config, or add "
        f"{right} on {escaped(path)} to its ACL",
        where=path,
    )


def login_error() -> AuthenticationFailed:
    """Build the error for a login that ZooKeeper rejects."""
    return AuthenticationFailed(
        "ZooKeeper rejects the login",
        had="AuthFailed",
        hint="check auth.scheme, auth.user and the password of --store-config",
    )


def outcome_unknown(error: Exception) -> OutcomeUnknown:
    """Build the error for a commit that was sent and not answered."""
    return OutcomeUnknown(
        "the session was lost before ZooKeeper answered the commit",
        wanted="an answer",
        had=type(error).__name__,
        hint="read again to see whether the commit took effect",
    )


def unreachable_error(address: Address, seconds: float, last: str | None) -> Unreachable:
    """Build the error for a store without a session. `last`: the last warning of the client."""
    reason = f": {escaped(last)}" if last else ""
    return Unreachable(
        f"expected a session of ZooKeeper within {seconds:.0f} s, got none{reason}",
        wanted="a session",
        had=last or "no answer",
        hint=f"check the address of {address.option}, whether ZooKeeper runs, and tls.ca of "
        "--store-config",
        where=str(address),
    )
