"""A request to a running process for another throttle: a file beside the journal of the plan.

```
PLAN-SHA256.journal     written by the running process only
PLAN-SHA256.throttle    {"expires_ms":..,"rate":80000000,"request":"5f0c.."}
```

The process reads the file between two steps and answers in its journal. A file that is damaged or
expired is ignored: the command that wrote it was killed before it could remove it.

What this does not do: set anything; wait for the answer.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING

from rackwise.adapters.clock import epoch_clock
from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.adapters.files.writing import write_text
from rackwise.core.applying.actions import ThrottleRequest
from rackwise.core.applying.model import MOST_RATE
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.canonical import canonical_json
from rackwise.core.json.strict import parse

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.core.json.canonical import Json

_MOST_BYTES = 1_000
_ID_BYTES = 8


def request_path(journal: Path) -> Path:
    """The path of the request that belongs to a journal."""
    return journal.with_suffix(".throttle")


def write_request(path: Path, rate: int, *, lasts_ms: int) -> ThrottleRequest:
    """Ask for a rate in bytes per second; the request is void after `lasts_ms`.

    Raises `InvalidConfig`, `WorldError` where the file cannot be written.
    """
    asked = ThrottleRequest(rate=rate, request=secrets.token_hex(_ID_BYTES))
    document: dict[str, Json] = {
        "expires_ms": epoch_clock()() + lasts_ms,
        "rate": rate,
        "request": asked.request,
    }
    write_text(path, canonical_json(document) + "\n")
    return asked


def withdraw_request(path: Path, asked: ThrottleRequest) -> None:
    """Remove the file if it still has this request, and not that of another command."""
    document = _read(path)
    if document is not None and document.get("request") == asked.request:
        path.unlink(missing_ok=True)


def read_request(path: Path) -> ThrottleRequest | None:
    """The request in the file; None if there is no valid one."""
    document = _read(path)
    if document is None:
        return None
    rate, request, expires_ms = (document.get(key) for key in ("rate", "request", "expires_ms"))
    if type(rate) is not int or not 1 <= rate <= MOST_RATE:
        return None
    if type(expires_ms) is not int or epoch_clock()() > expires_ms or not isinstance(request, str):
        return None
    return ThrottleRequest(rate=rate, request=request)


def _read(path: Path) -> dict[str, Json] | None:
    """The document of the file; None if it does not exist or is damaged."""
    if not path.exists():
        return None
    try:
        data = read_bytes(path, error=InvalidConfig, max_bytes=_MOST_BYTES)
        document = parse(data, where=str(path), error=InvalidConfig)
    except InvalidConfig:
        return None
    return document if isinstance(document, dict) else None
