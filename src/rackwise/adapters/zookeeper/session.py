"""A session with ZooKeeper: it survives lost connections and repeats what may be repeated.

The client reconnects by itself, and begins a new session after one has expired. Requests meanwhile
wait in its queue, in their order. So a read that follows a commit of unknown outcome shows that
outcome.

```
request ── answered ───────────────────────────────> value
        ├─ connection or session lost, no answer ──> repeated until patience ends: Unreachable
        └─ rejected ───────────────────────────────> one of our errors, at once
```

Its logger is private and writes nowhere: at DEBUG the client would write `auth='user:password'`,
and no logging configuration can reach this logger. The last warning is kept for the error that says
why there is no session.

What this does not do: repeat commits. The caller does.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import deque
from contextlib import suppress
from typing import TYPE_CHECKING, Any, TypeAlias

from kazoo.client import KazooClient
from kazoo.exceptions import (
    KazooException,
    NoAuthError,
    NodeExistsError,
    NoNodeError,
    ZookeeperError,
)
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState, KeeperState

from rackwise.adapters.zookeeper.errors import TRANSIENT, login_error, read_error, unreachable_error
from rackwise.core.override import override

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from rackwise.adapters.zookeeper.address import Address
    from rackwise.adapters.zookeeper.config import StoreConfig

Client: TypeAlias = Any
"""A `KazooClient`, which has no types."""
Answer: TypeAlias = Any
"""What the client returns for a request: a result that arrives later."""

DENIED = object()
"""The answer to a read that the ACL of the node denies."""
CONNECT_S = 10.0
"""A store without a session this long after the start is unreachable."""
PATIENCE_S = 30.0
"""A store whose session was lost is unreachable after this time."""
IN_FLIGHT = 500
"""How many reads run at once."""
CLOSE_S = 2.0
"""How long to wait for the server to end a session."""
RETRY = {"max_tries": -1, "delay": 0.05, "backoff": 2, "max_delay": 1.0}
RETRY_S = 0.01


class Session:
    """One connected client."""

    def __init__(
        self,
        address: Address,
        config: StoreConfig,
        *,
        timeout_s: float,
        connect_s: float = CONNECT_S,
        patience_s: float = PATIENCE_S,
    ) -> None:
        self.address = address
        self.patience_s = patience_s
        self._last_warning = _LastWarning()
        self._up = threading.Event()
        self._id = 0
        connect: Client = KazooClient
        self.client: Client = connect(
            hosts=address.connect,
            timeout=timeout_s,
            logger=_private_logger(self._last_warning),
            connection_retry=dict(RETRY),
            **config.client_arguments(),
        )
        self.client.add_listener(self._listen)
        self._connect(connect_s)

    @property
    def id(self) -> int:
        """The id of the latest session."""
        return self._id

    def call(self, send: Callable[[], Answer], path: str, *, right: str = "READ") -> Answer:
        """Send a request that may be repeated, and return its answer. `path`, `right`: for errors.

        `NoNodeError` and `NodeExistsError` are raised: after a lost answer the existing node may be
        our own.
        """
        deadline: float | None = None
        while True:
            try:
                return send().get(timeout=self.patience_s)
            except (NoNodeError, NodeExistsError):
                raise
            except TRANSIENT as error:
                deadline = self._wait_for_connection(error, deadline)
            except ZookeeperError as error:
                raise read_error(error, path, right=right) from None

    def gather(
        self,
        paths: Iterable[str],
        send: Callable[[str], Answer],
        advance: Callable[[int], None] | None = None,
        may_be_denied: Callable[[str], bool] = lambda _: False,
    ) -> dict[str, Answer]:
        """Read path -> answer, None = no such node. Up to `IN_FLIGHT` requests run at once.

        No answer is older than this call. `advance` receives how many more are there. A denied
        answer is `DENIED` where `may_be_denied`, else an error.
        """
        wanted = dict.fromkeys(paths)
        found: dict[str, Answer] = {}
        deadline: float | None = None
        while len(found) < len(wanted):
            missing = [path for path in wanted if path not in found]
            try:
                self._read_all(missing, send, found, advance, may_be_denied)
            except TRANSIENT as error:
                deadline = self._wait_for_connection(error, deadline)
        return found

    def await_connection(self) -> None:
        """Wait until connected. Raises `Unreachable`, `AuthenticationFailed`."""
        deadline = time.monotonic() + self.patience_s
        while not self._up.wait(RETRY_S):
            self._check(deadline, self.patience_s)

    def close(self) -> None:
        """End the session. Its ephemeral nodes vanish at once if ZooKeeper can still be told.

        The client would wait for a silent server as long as a session lasts; it is left to end by
        itself then.
        """
        ending = threading.Thread(target=self._end, daemon=True)
        ending.start()
        try:
            ending.join(CLOSE_S)
        except BaseException:  # a signal: a session that stays open keeps its claims
            ending.join(CLOSE_S)
            raise

    def _end(self) -> None:
        with suppress(KazooException, OSError):
            self.client.stop()
        with suppress(Exception):
            self.client.close()

    def _connect(self, connect_s: float) -> None:
        """Connect and log in: the first answer proves both."""
        deadline = time.monotonic() + connect_s
        self.client.start_async()
        try:
            while not self._has_answered(deadline):
                self._check(deadline, connect_s)
        except BaseException:
            self.close()
            raise

    def _has_answered(self, deadline: float) -> bool:
        if not self._up.wait(RETRY_S):
            return False
        left_s = max(RETRY_S, deadline - time.monotonic())
        try:
            self.client.exists_async("/").get(timeout=left_s)
        except TRANSIENT:
            return False
        except ZookeeperError as error:
            raise read_error(error, "/") from None
        return True

    def _check(self, deadline: float, patience_s: float) -> None:
        if self.client.client_state == KeeperState.AUTH_FAILED:
            raise login_error()
        if time.monotonic() > deadline:
            raise unreachable_error(self.address, patience_s, self._last_warning.text)

    def _wait_for_connection(self, error: Exception, deadline: float | None) -> float:
        """Wait for the connection after a loss. The patience began with the first loss.

        An answer that did not come in time has used it up.
        """
        left_s = 0 if isinstance(error, KazooTimeoutError) else self.patience_s
        until = time.monotonic() + left_s if deadline is None else deadline
        self._up.wait(RETRY_S)
        while not self._up.wait(RETRY_S):
            self._check(until, self.patience_s)
        self._check(until, self.patience_s)
        return until

    def _read_all(
        self,
        paths: Iterable[str],
        send: Callable[[str], Answer],
        found: dict[str, Answer],
        advance: Callable[[int], None] | None,
        may_be_denied: Callable[[str], bool],
    ) -> None:
        self.client.sync_async("/")
        pending: deque[tuple[str, Answer]] = deque()
        for path in paths:
            if len(pending) == IN_FLIGHT:
                self._take_answer(pending, found, advance, may_be_denied)
            pending.append((path, send(path)))
        while pending:
            self._take_answer(pending, found, advance, may_be_denied)

    def _take_answer(
        self,
        pending: deque[tuple[str, Answer]],
        found: dict[str, Answer],
        advance: Callable[[int], None] | None,
        may_be_denied: Callable[[str], bool],
    ) -> None:
        path, answer = pending.popleft()
        try:
            found[path] = answer.get(timeout=self.patience_s)
        except TRANSIENT:
            raise
        except NoNodeError:
            found[path] = None
        except NoAuthError as error:
            if not may_be_denied(path):
                raise read_error(error, path) from None
            found[path] = DENIED
        except ZookeeperError as error:
            raise read_error(error, path) from None
        if advance is not None:
            advance(1)

    def _listen(self, state: str) -> None:
        if state == KazooState.CONNECTED:
            self._id = self.client.client_id[0]
            self._up.set()
        else:
            self._up.clear()


class _LastWarning(logging.Handler):
    """Keeps the last warning, which says why there is no connection."""

    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.text: str | None = None

    @override
    def emit(self, record: logging.LogRecord) -> None:
        if record.args:
            self.text = record.getMessage()


def _private_logger(handler: logging.Handler) -> logging.Logger:
    """Return a logger without a parent that takes nothing below INFO."""
    log = logging.Logger("rackwise.zookeeper", logging.INFO)  # noqa: LOG001 (outside the tree of loggers)
    log.addHandler(handler)
    return log
