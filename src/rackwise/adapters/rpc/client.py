"""KafkaAdminClient with `create_replica_assignment`: requests replica placements from a service.

```python
from rackwise.adapters.rpc.client import ReplicaAssignmentClient

with ReplicaAssignmentClient(bootstrap_servers="127.0.0.1:19092") as admin:
    result = admin.create_replica_assignment(num_partitions=12, replication_factor=3)
    rows = result.assignments().result()        # {0: [3, 1, 5], ...}, preferred leader first
```

The future is one of `concurrent.futures`: use `result(timeout)` in threads, `asyncio.wrap_future`
in a loop. Its callbacks run in kafka-python's thread and must not block. The client sends nothing
to a server without the marker: a broker uses the same API key for another message.

Source: KIP-879, "Public Interfaces"; its Java names in snake case.
"""

from __future__ import annotations

from concurrent.futures import Future, InvalidStateError
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

from kafka.admin import KafkaAdminClient
from kafka.errors import KafkaError
from kafka.version import __version__ as version

from rackwise.adapters.clients.private import check_version
from rackwise.adapters.rpc.config import check_api_key
from rackwise.adapters.rpc.private import Shown, Theirs, Wire
from rackwise.core.errors import (
    NotRackwise,
    RackwiseError,
    RemoteProtocolError,
    ServerRefused,
    Unreachable,
)
from rackwise.core.override import override
from rackwise.core.text import escaped
from rackwise.core.wire.replica_assignment import (
    API_KEY,
    MARKER,
    AssignmentRequest,
    AssignmentResponse,
    ErrorCode,
    write_request,
)

if TYPE_CHECKING:
    from collections.abc import Collection

MORE_MS = 2000
"""Extra time to wait for the answer after the service's own timeout."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CreateReplicaAssignmentOptions:
    """The options of a request."""

    force_simple_assignment: bool = False
    """Whether to ignore racks."""
    timeout_ms: int = 60_000
    """The limit of the service's work."""


DEFAULT_OPTIONS = CreateReplicaAssignmentOptions()


@dataclass(frozen=True, slots=True)
class CreateReplicaAssignmentResult:
    """The result of a request; it may not be complete yet."""

    future: Future[dict[int, list[int]]]

    def assignments(self) -> Future[dict[int, list[int]]]:
        """Partition -> brokers, preferred leader first.

        The future raises `ServerRefused` with the service's code and message, `NotRackwise`,
        `Unreachable` after `timeout_ms` and two seconds or if the connection is lost, or
        `RemoteProtocolError` for an invalid answer or one with other partitions than requested.
        No case changes anything on any server.
        """
        return self.future


class ReplicaAssignmentClient(KafkaAdminClient):
    """An admin client of a service that places replicas, with all options of kafka-python's.

    `api_key`: the API key that the service uses. Raises `UnsupportedClient` for a kafka-python
    version whose private names are not known, and what `KafkaAdminClient` raises.
    """

    def __init__(self, *, api_key: int = API_KEY, **options: Any) -> None:  # noqa: ANN401 (theirs)
        check_version("kafka-python", version)
        check_api_key(api_key)
        self._open: set[Future[dict[int, list[int]]]] = set()
        self._ends = False
        begin: Theirs = super().__init__
        begin(**options)
        self._wire = Wire(self, api_key=api_key, marker=MARKER)

    @override
    def close(self) -> None:
        """Close the client; requests without an answer fail with `Unreachable`."""
        self._ends = True
        end: Theirs = super().close
        end()
        for future in list(self._open):
            _fail(future, _closed())

    def create_replica_assignment(
        self,
        num_partitions: int,
        replication_factor: int,
        node_ids: Collection[int] = (),
        options: CreateReplicaAssignmentOptions = DEFAULT_OPTIONS,
    ) -> CreateReplicaAssignmentResult:
        """Request the rows of a new topic; returns at once.

        `node_ids`: brokers that may be used, empty = all. Raises `LocalProtocolError` for a number
        that does not fit into its field.
        """
        asked = AssignmentRequest(
            num_partitions=num_partitions,
            replication_factor=replication_factor,
            force_simple_assignment=options.force_simple_assignment,
            node_ids=tuple(node_ids),
            timeout_ms=options.timeout_ms,
        )
        body = write_request(asked)
        future: Future[dict[int, list[int]]] = Future()
        future.set_running_or_notify_cancel()
        self._open.add(future)
        future.add_done_callback(self._open.discard)

        def done(answer: AssignmentResponse | Shown) -> None:
            try:
                rows = _rows(answer, num_partitions)
            except Exception as error:  # noqa: BLE001 (the waiter raises it)
                _fail(future, _lost(error))
            else:
                with suppress(InvalidStateError):  # the client was closed meanwhile
                    future.set_result(rows)

        def failed(error: BaseException) -> None:
            _fail(future, _closed() if self._ends else _lost(error))

        wait_ms = max(1, options.timeout_ms) + MORE_MS
        try:
            self._wire.send(body, wait_ms=wait_ms, done=done, failed=failed)
        except RuntimeError:  # how kafka-python's loop says that it has ended
            _fail(future, _closed())
        return CreateReplicaAssignmentResult(future)


def _rows(answer: AssignmentResponse | Shown, partitions: int) -> dict[int, list[int]]:
    if isinstance(answer, Shown):
        raise NotRackwise(
            f"{answer.where} does not show {MARKER}",
            wanted=MARKER,
            had=answer.where,
            hint="give the address of rackwise serve; nothing was asked of this one",
        )
    if answer.error_code or answer.rows is None:
        _refused(answer)
    rows = answer.rows.tolist()
    last = answer.first + len(rows) - 1
    if (answer.first, last) != (0, partitions - 1):
        wanted = f"partitions 0 to {partitions - 1}"
        had = f"{answer.first} to {last}"
        raise RemoteProtocolError(
            f"offset 0: expected rows of {wanted}, got {had}",
            offset=0,
            wanted=wanted,
            had=had,
        )
    return {partition: [id_ for id_ in row if id_ >= 0] for partition, row in enumerate(rows)}


def _refused(answer: AssignmentResponse) -> NoReturn:
    code = answer.error_code or int(ErrorCode.UNKNOWN_SERVER_ERROR)
    names = {int(each): each.name for each in ErrorCode}
    name = names.get(code, "a code of its own")
    raise ServerRefused(
        answer.error_message or f"the service answered no rows, with error {code}, {name}",
        code=code,
        name=name,
        wanted="rows",
        had=code,
    )


def _fail(future: Future[dict[int, list[int]]], error: RackwiseError) -> None:
    with suppress(InvalidStateError):  # it has failed already
        future.set_exception(error)


def _closed() -> Unreachable:
    return Unreachable(
        "the client was closed before the answer",
        wanted="an answer",
        hint="close it when all futures are done; asking again changes nothing",
    )


def _lost(error: BaseException) -> RackwiseError:
    if isinstance(error, RackwiseError):
        return error
    if isinstance(error, GeneratorExit):  # how the end of kafka-python's loop ends what waits
        return _closed()
    name = type(error).__name__
    if isinstance(error, KafkaError | OSError):
        return Unreachable(
            f"the service did not answer: {escaped(str(error))}",
            wanted="an answer",
            had=name,
            hint="look whether rackwise serve runs there; asking again changes nothing",
        )
    return RackwiseError(f"internal error: {name}: {escaped(str(error))}", had=name)
