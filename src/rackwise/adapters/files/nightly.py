"""The folder of `rackwise nightly`: its state, its lock, and the snapshots of earlier nights.

`nightly.json` is replaced whole after each step. Its text has no secret: the URL of the webhook is
not part of the state, and the words of the steps name files.

What this does not do: decide what is due (see `core.nightly.due`).
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from rackwise.adapters.files.bounded_read import read_bytes
from rackwise.adapters.files.writing import not_written, sync_folder, write_text
from rackwise.core.errors import InvalidConfig, Locked
from rackwise.core.json.node import document
from rackwise.core.nightly.night import FORMAT, STATE, Night, NightlyState
from rackwise.core.nightly.window import NightLook
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from rackwise.adapters.files.state_folder import LockHolder

_LOOK: Final = re.compile(r"(\d{4}-\d\d-\d\d)-([12])\.json\.gz")
_DATED: Final = re.compile(r"(\d{4}-\d\d-\d\d)\.json")


def read_nightly(path: Path, *, day: str, max_bytes: int) -> NightlyState:
    """The state of the last night; without a file that of a folder without nights.

    Raises `InvalidConfig` for a file that was edited or damaged.
    """
    if not path.exists():
        return NightlyState(night=Night(day=day))
    data = read_bytes(path, error=InvalidConfig, max_bytes=max_bytes)
    root = document(data, where=str(path), error=InvalidConfig, format=FORMAT)
    state: NightlyState = STATE.read(root)
    root.faults.raise_if_any()
    return state


def write_nightly(path: Path, state: NightlyState) -> None:
    """Replace the state. Raises `WorldError` if the disk fails; the old state stays then."""
    text = json.dumps(STATE.write(state), ensure_ascii=False, indent=1, sort_keys=True)
    write_text(path, text + "\n")


def looks_in(folder: Path, *, before: str) -> tuple[NightLook, ...]:
    """The snapshots of the nights before a day, oldest first."""
    found = []
    for path in folder.glob("*.json.gz"):
        named = _LOOK.fullmatch(path.name)
        if named is not None and named[1] < before:
            found.append(NightLook(named[1], int(named[2]), str(path)))
    return tuple(sorted(found))


def dated_files(folder: Path, *, before: str) -> tuple[Path, ...]:
    """The files of a folder that are named after a day before this one, oldest first."""
    named = [(_DATED.fullmatch(path.name), path) for path in folder.glob("*.json")]
    return tuple(sorted(path for found, path in named if found is not None and found[1] < before))


def remove_files(paths: Iterable[Path]) -> None:
    """Remove files that may be gone already. Raises `InvalidConfig`, `WorldError`."""
    for path in paths:
        try:
            path.unlink(missing_ok=True)
        except OSError as cause:
            raise not_written(str(path), cause) from None


def made_folders(root: Path, names: Iterable[str]) -> None:
    """Create folders below `root`, and `root`. Raises `InvalidConfig`, `WorldError`."""
    try:
        for name in names:
            (root / name).mkdir(parents=True, exist_ok=True)
        sync_folder(root)
    except OSError as cause:
        raise not_written(str(root), cause) from None


def night_is_locked(root: Path, running: LockHolder) -> Locked:
    """The error for a second `nightly` into the same folder."""
    what = f"process {running.process}, which has been running since {running.began}"
    return Locked(
        f"expected no other nightly into {escaped(str(root))}, got {what}",
        wanted="no other run",
        had=what,
        hint="wait until it ends; a process that is gone holds no lock",
        where=str(root),
    )
