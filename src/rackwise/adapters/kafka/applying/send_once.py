"""One write, sent once: the answer of a broker, or an unknown result.

```
no connection to the broker                nothing was sent: repeated, then Unreachable
an answer                                  the result
the connection lost, or no answer in time  unknown: to be read from the cluster, never sent again
NOT_CONTROLLER                             the request was not executed: sent to another broker
```

The methods of kafka-python repeat a request silently; these do not.

Source: kafka-python 3.0, `admin/client.py` and `net/connection.py`.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import kafka.errors as kafka_errors

from rackwise.adapters.kafka.connect import ANSWER_S, RETRY_S, Message, to_rackwise_error
from rackwise.adapters.kafka.connections import LOGIN_ERRORS

if TYPE_CHECKING:
    from collections.abc import Callable

    from kafka.admin import KafkaAdminClient

TIMEOUT_MS = 20_000
"""Time for which the cluster may work on one write; less than the client waits for an answer."""

_NOT_CONTROLLER = 41
_NEVER = (*LOGIN_ERRORS, kafka_errors.AuthorizationError, kafka_errors.IncompatibleBrokerVersion)


@dataclass(frozen=True, slots=True)
class Unanswered:
    """It is unknown whether the write was executed."""

    why: str
    """Name of the error in kafka-python."""


def send_once(
    admin: KafkaAdminClient,
    request: Message,
    *,
    doing: str,
    broker: int | None = None,
    top_code: Callable[[Message], int] = lambda _: 0,
) -> Message | Unanswered:
    """The answer to a write, from `broker` or else from the controller.

    `top_code`: the error code of the whole answer. Raises, with nothing written, `Unreachable`,
    `MissingPermission`, `AuthenticationFailed` or `ServerRefused`.
    """
    deadline = time.monotonic() + ANSWER_S
    while True:
        try:
            answer = _send(admin, request, broker)
        except _NotSentError as error:
            is_final = isinstance(error.cause, _NEVER) or time.monotonic() >= deadline
            if is_final:
                raise to_rackwise_error(error.cause, doing=doing) from None
        else:
            if isinstance(answer, Unanswered) or top_code(answer) != _NOT_CONTROLLER:
                return answer
            if time.monotonic() >= deadline:
                raise to_rackwise_error(kafka_errors.NotControllerError(), doing=doing)
        admin._controller_id = None  # noqa: SLF001 (it may be the one that is gone)
        time.sleep(RETRY_S)


class _NotSentError(Exception):
    """Nothing was sent."""

    def __init__(self, cause: Exception) -> None:
        super().__init__(str(cause))
        self.cause = cause


def _send(admin: KafkaAdminClient, request: Message, broker: int | None) -> Message | Unanswered:
    client: Message = admin
    manager = client._manager  # noqa: SLF001 (its public methods send again without telling)

    async def go() -> Message | Unanswered:
        try:
            node = broker
            if node is None:
                node = client._controller_id  # noqa: SLF001 (the same)
            if node is None or node < 0:
                node = client._controller_id = await client._refresh_controller_id()  # noqa: SLF001
            if manager.cluster.broker_metadata(node) is None:
                await manager.cluster.refresh_metadata()
            connection = manager.get_connection(node)
            await connection
            manager.broker_version_data.api_version(request)
        except (kafka_errors.KafkaError, OSError) as error:
            raise _NotSentError(error) from None
        try:
            return await connection.send_request(request)
        except (kafka_errors.NodeNotReadyError, kafka_errors.IncompatibleBrokerVersion) as error:
            raise _NotSentError(error) from None
        except (kafka_errors.KafkaError, OSError) as error:
            return Unanswered(type(error).__name__.removesuffix("Error"))

    return manager.run(go)
