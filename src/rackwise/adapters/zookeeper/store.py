"""The store of identities in ZooKeeper.

Goals, in order: a commit is all or nothing and its outcome is never guessed; an answer is never
older than its request; many reads cost one round trip.

```
read, children   sync, then up to 500 gets in flight; the order of the session makes them follow it
commit           one multi; Absent(p) = create p, delete p: ZooKeeper has no "must not exist"
next_number      setData of /brokers/seqid at any version; the number is the version after it
now_ms           setData of /brokers/id_clock; the time is its mtime: the clock of the leader
wait             watches, and a comparison with what was last read
```

A watch that is set after a read misses the changes in between. So the last change of each node is
kept when it is read, and `wait` compares it while it sets the watch. A watch that fires between two
waits is reported by the next one. The watches of a lost connection are gone: then all paths may
have changed. Changes are hints, and `Absent` fires them though nothing remains: read again after
each.

What this does not do: decide; retry commits.

Source: KIP-426; ZooKeeper's multi, and `KafkaZkClient.generateBrokerId` for the numbers.
"""

from __future__ import annotations

import threading
import time
from typing import TYPE_CHECKING, Any, NoReturn, final

from kazoo.exceptions import NoAuthError, NodeExistsError, NoNodeError, ZookeeperError

from rackwise.adapters.zookeeper.address import STORE_OPTION, Address
from rackwise.adapters.zookeeper.config import StoreConfig
from rackwise.adapters.zookeeper.errors import (
    TRANSIENT,
    commit_error,
    failed_operation,
    outcome_unknown,
    read_error,
)
from rackwise.adapters.zookeeper.session import CONNECT_S, DENIED, PATIENCE_S, Session
from rackwise.core.errors import MissingPermission
from rackwise.core.identity.nodes.store import (
    CLOCK,
    FENCE,
    HOSTS,
    SEQUENCE,
    Absent,
    Check,
    Create,
    Delete,
    Put,
    StoredNode,
    not_ready,
    parent_of,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Self

    from kazoo.protocol.states import WatchedEvent, ZnodeStat
    from kazoo.security import ACL

    from rackwise.adapters.zookeeper.session import Answer
    from rackwise.core.identity.nodes.store import Op

_MADE_BY_INIT = frozenset({FENCE, CLOCK, SEQUENCE})


def open_zookeeper(
    url: str,
    config: StoreConfig | None = None,
    *,
    session_timeout_s: float = 10.0,
    read_only: bool = False,
    connect_s: float = CONNECT_S,
    patience_s: float = PATIENCE_S,
    option: str = STORE_OPTION,
) -> ZooKeeperStore:
    """Open the store at `zookeeper://host:2181,host2:2181/chroot`; the caller closes it.

    `read_only`: reject writes, and use the clock of this machine. `connect_s`: how long to wait for
    a session; `patience_s`: how long to wait for a lost one; `option`: the option that names the
    address, for hints. Raises `InvalidConfig` for the address, `Unreachable`,
    `AuthenticationFailed`, `StoreNotReady` if the chroot does not exist.
    """
    session = Session(
        Address.parse(url, option),
        config or StoreConfig(),
        timeout_s=session_timeout_s,
        connect_s=connect_s,
        patience_s=patience_s,
    )
    try:
        _check_chroot(session)
    except BaseException:
        session.close()
        raise
    return ZooKeeperStore(session, read_only=read_only)


@final
class ZooKeeperStore:
    """`IdentityStore` on a `Session`, created by `open_zookeeper`. For one thread."""

    def __init__(self, session: Session, *, read_only: bool = False) -> None:
        self._session = session
        self._client = session.client
        self._is_read_only = read_only
        self._seen: dict[str, tuple[int, int] | None] = {}
        self._listed: dict[str, tuple[int, int] | None] = {}
        self._changes = threading.Condition()
        self._events: set[str | None] = set()

    @property
    def session(self) -> int:
        """The session of our ephemeral nodes. It changes after a session is lost."""
        return self._session.id

    def read(
        self, paths: Sequence[str], advance: Callable[[int], None] | None = None
    ) -> dict[str, StoredNode | None]:
        """Read each node, None = no such node; `advance` receives how many more are read.

        A mapping that ZooKeeper denies is returned as such; another node is an error.
        """
        found = self._session.gather(paths, self._client.get_async, advance, _is_mapping)
        for path, answer in found.items():
            if answer is DENIED:
                self._seen.pop(path, None)
            else:
                self._seen[path] = None if answer is None else _last_change(answer[1])
        return {path: answer and _node_of(answer) for path, answer in found.items()}

    def acls(self, paths: Sequence[str]) -> dict[str, list[ACL] | None]:
        """Read the ACL of each node; None = no such node, or denied."""
        found = self._session.gather(
            paths, self._client.get_acls_async, may_be_denied=lambda _: True
        )
        return {
            path: None if answer is None or answer is DENIED else list(answer[0])
            for path, answer in found.items()
        }

    def children(self, path: str) -> list[str]:
        """List the names below a node, sorted; empty if the node does not exist."""
        answer = self._session.gather([path], self._list)[path]
        self._listed[path] = answer and _last_child(answer[1])
        return sorted(answer[0]) if answer else []

    def commit(self, ops: Sequence[Op]) -> None:
        """Commit all or nothing. Raises `Conflict`; `OutcomeUnknown` if the answer is lost."""
        self._check_writable()
        if not ops:
            return
        self._session.await_connection()
        transaction = self._client.transaction()
        parts = [op for op in ops for _ in range(_add(transaction, op))]
        try:
            results = transaction.commit_async().get(timeout=self._session.patience_s)
        except TRANSIENT as error:
            raise outcome_unknown(error) from None
        except ZookeeperError as error:
            raise commit_error(error, ops[0], is_parent=False) from None
        number = failed_operation(results)
        if number is not None:
            _raise_for(results[number], parts[number])

    def next_number(self) -> int:
        """Return 1, 2, 3, ...; never one twice. A lost answer loses a number."""
        self._check_writable()
        while True:
            try:
                stat = self._session.call(self._draw, SEQUENCE, right="WRITE")
            except NoNodeError:
                self._make_sequence()
            else:
                return int(stat.version)

    def now_ms(self) -> int:
        """Return the time of ZooKeeper's leader."""
        if self._is_read_only:
            return time.time_ns() // 1_000_000
        try:
            stat = self._session.call(self._touch_clock, CLOCK, right="WRITE")
        except NoNodeError:
            raise not_ready(CLOCK) from None
        return int(stat.mtime)

    def wait(self, paths: Sequence[str], timeout_ms: int) -> frozenset[str]:
        """Return the paths whose node or list of children may have changed since the last read.

        All of them if the connection is lost meanwhile. Empty after the timeout.
        """
        wanted = frozenset(paths)
        if events := self._take_events(wanted):
            return events
        try:
            changed = self._set_watches(wanted)
        except TRANSIENT:
            return wanted
        except ZookeeperError as error:
            raise read_error(error, min(wanted)) from None
        if changed:
            return changed
        return self._take_events(wanted, timeout_ms / 1000)

    def close(self) -> None:
        """End the session: its ephemeral nodes vanish."""
        self._session.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _list(self, path: str) -> Any:  # noqa: ANN401 (a result of the client)
        return self._client.get_children_async(path, include_data=True)

    def _draw(self) -> Any:  # noqa: ANN401 (a result of the client)
        return self._client.set_async(SEQUENCE, b"")

    def _touch_clock(self) -> Any:  # noqa: ANN401 (a result of the client)
        return self._client.set_async(CLOCK, b"")

    def _make_sequence(self) -> None:
        try:
            self._client.create_async(SEQUENCE, b"").get(timeout=self._session.patience_s)
        except (NodeExistsError, *TRANSIENT):
            return
        except NoNodeError:
            raise not_ready("/brokers") from None
        except ZookeeperError as error:
            raise read_error(error, SEQUENCE, right="CREATE") from None

    def _set_watches(self, wanted: frozenset[str]) -> frozenset[str]:
        """Watch each path; return those that differ from the last read."""
        nodes = {each: self._client.exists_async(each, self._changed) for each in sorted(wanted)}
        lists = {
            each: self._client.get_children_async(each, self._changed, include_data=True)
            for each in sorted(wanted & self._listed.keys())
        }
        patience_s = self._session.patience_s
        changed = set()
        for path, answer in nodes.items():
            try:
                stat = answer.get(timeout=patience_s)
            except NoAuthError:
                if not _is_mapping(path):
                    raise
                continue
            now = None if stat is None else _last_change(stat)
            if path in self._seen and now != self._seen[path]:
                self._seen[path] = now
                changed.add(path)
        for path, answer in lists.items():
            try:
                listed = _last_child(answer.get(timeout=patience_s)[1])
            except NoNodeError:
                listed = None
            if listed != self._listed[path]:
                self._listed[path] = listed
                changed.add(path)
        return frozenset(changed)

    def _changed(self, event: WatchedEvent) -> None:
        """One watcher for all paths, so that unfired watches do not pile up."""
        with self._changes:
            self._events.add(event.path)
            self._changes.notify_all()

    def _take_events(self, wanted: frozenset[str], timeout_s: float = 0.0) -> frozenset[str]:
        """Return the fired watches, each once, also of a node that existed for a moment."""
        with self._changes:
            self._changes.wait_for(lambda: {None, *wanted} & self._events, timeout_s)
            fired = wanted if None in self._events else wanted & self._events
            self._events -= {None, *fired}
        return fired

    def _check_writable(self) -> None:
        if self._is_read_only:
            raise MissingPermission(
                "expected a store opened for writing, got one opened for reading",
                wanted="for writing",
                had="for reading",
                hint="open it without read_only",
            )


def _check_chroot(session: Session) -> None:
    if session.gather(["/"], session.client.exists_async)["/"] is None:
        raise not_ready(session.client.chroot)


def _add(transaction: Any, op: Op) -> int:  # noqa: ANN401 (a multi of the client)
    """Add an operation to a multi; return how many operations of ZooKeeper it became."""
    match op:
        case Check(path, version):
            transaction.check(path, version)
        case Absent(path):
            transaction.create(path, b"")
            transaction.delete(path)
            return 2
        case Create(path, data, ephemeral):
            transaction.create(path, data, ephemeral=ephemeral)
        case Put(path, data, version):
            transaction.set_data(path, data, -1 if version is None else version)
        case Delete(path, version):
            transaction.delete(path, -1 if version is None else version)
    return 1


def _raise_for(error: Exception, op: Op) -> NoReturn:
    is_parent = isinstance(op, Create | Absent) or op.path in _MADE_BY_INIT
    raise commit_error(error, op, is_parent=is_parent)


def _is_mapping(path: str) -> bool:
    return parent_of(path) == HOSTS


def _node_of(answer: Answer) -> StoredNode:
    if answer is DENIED:
        return StoredNode(data=b"", version=0, created_ms=0, modified_ms=0, czxid=0, is_denied=True)
    data, stat = answer
    return StoredNode(
        data=data or b"",
        version=stat.version,
        created_ms=stat.ctime,
        modified_ms=stat.mtime,
        czxid=stat.czxid,
        session=stat.ephemeralOwner or None,
    )


def _last_change(stat: ZnodeStat) -> tuple[int, int]:
    return stat.czxid, stat.mzxid


def _last_child(stat: ZnodeStat) -> tuple[int, int]:
    return stat.czxid, stat.cversion
