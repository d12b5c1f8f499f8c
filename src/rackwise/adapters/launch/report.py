"""The result document of one start, `rackwise.acquired/1`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.adapters.files.writing import write_bytes
from rackwise.core.json.canonical import canonical_json

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.adapters.launch.options import Acquired

FORMAT = "rackwise.acquired/1"


def acquired_document(acquired: Acquired) -> dict[str, Any]:
    """Build the document. `wrote`: log dirs that got a file; `took_from`: keys that lost the id."""
    return {
        "format": FORMAT,
        "id": acquired.id,
        "how": acquired.how,
        "row": acquired.row,
        "key": acquired.key,
        "waited_ms": acquired.waited_ms,
        "wrote": list(acquired.wrote),
        "took_from": list(acquired.took_from),
        "warnings": list(acquired.warnings),
    }


def write_report(path: Path, acquired: Acquired) -> None:
    """Write the whole document, or leave the existing file unchanged."""
    write_bytes(path, (canonical_json(acquired_document(acquired)) + "\n").encode())
