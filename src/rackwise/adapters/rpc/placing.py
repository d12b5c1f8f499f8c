"""The framed answer to a request for rows, made in a worker."""

from __future__ import annotations

import secrets
import traceback
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from rackwise.core.replica_service.answers import failure
from rackwise.core.replica_service.calls import Call, write_answer
from rackwise.core.wire.replica_assignment import (
    AssignmentRequest,
    AssignmentResponse,
    ErrorCode,
)

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_TRACE = 8_000
"""Characters of a traceback in the log, from its end."""
Answer: TypeAlias = "Callable[[AssignmentRequest, int], AssignmentResponse]"
"""Request and seed -> response; called in a thread."""


@dataclass(slots=True)
class FramedAnswer:
    """The result of a worker: the framed answer and its code, or the error."""

    answer: bytes
    code: int
    broke: str | None = None


def framed_answer(answer: Answer, call: Call, seed: int, most_bytes: int) -> FramedAnswer:
    """The framed answer, made in a worker. Any error is the service's own and gets an id."""
    try:
        response = answer(call.request, seed)
        framed = write_answer(call.correlation_id, response)
    except BaseException:  # noqa: BLE001 (the asker gets an id, the log the trace)
        id_ = secrets.token_hex(8)
        message = f"the placer failed; look for {id_} in the log of the service"
        failed = failed_answer(call, ErrorCode.UNKNOWN_SERVER_ERROR, message)
        failed.broke = f"{id_}: {traceback.format_exc()[-MOST_TRACE:]}"
        return failed
    if len(framed) > most_bytes:
        message = f"an answer of up to {most_bytes} bytes is given; this one has {len(framed)}"
        return failed_answer(call, ErrorCode.INVALID_REQUEST, message)
    return FramedAnswer(framed, response.error_code)


def failed_answer(call: Call, code: ErrorCode, message: str) -> FramedAnswer:
    """The framed answer with an error."""
    return FramedAnswer(write_answer(call.correlation_id, failure(code, message)), int(code))
