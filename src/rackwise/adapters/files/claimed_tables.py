"""Remembers the tables on a store that a run has begun and not published.

A run on a store can be killed, and then nobody removes its tables. So a run writes their URI into
the result folder first, and holds the file with a lock, which the system releases with the process:

```
DIR/unpublished/k2x.uri     s3a://lake/tables/runs/5f0c9a7d21be     locked: the run goes on
DIR/unpublished/9mq.uri     s3a://lake/tables/runs/81c0f2aa9e07     not locked: it was killed
```

The next run with the same folder removes such tables. A folder that the published result names is
never given: a run that is killed right after its publication leaves a file, and its tables count.

What this does not do: find tables of a run with another result folder; remove tables.
"""

from __future__ import annotations

import fcntl
import os
import re
import tempfile
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.adapters.files.publishing import known_tables
from rackwise.adapters.files.writing import not_written

if TYPE_CHECKING:
    from collections.abc import Iterator

UNPUBLISHED = "unpublished"
SUFFIX = ".uri"
_TABLES = re.compile(r"[a-z][a-z0-9+.-]*://.+/runs/[0-9a-f]{12}(?:-[0-9]+)?")
"""What a run claims. A file with another text is left alone, so that nothing else is removed."""
_NOT_OURS = (OSError, UnicodeDecodeError)
"""Errors of a file that cannot be read, or is not UTF-8; it is left alone."""


@dataclass(slots=True)
class TableClaims:
    """The claims of the runs of a result folder."""

    folder: Path
    """The result folder."""
    _held: dict[str, tuple[Path, int]] = field(default_factory=dict)
    """URI -> its file and the open descriptor of it."""

    def abandoned(self) -> tuple[str, ...]:
        """The URIs of tables of killed runs, which no published day has."""
        found = []
        kept = known_tables(self.folder)
        for path in self._files():
            with suppress(*_NOT_OURS):
                descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    uri = path.read_text(encoding="utf-8")
                finally:
                    os.close(descriptor)
                if not _TABLES.fullmatch(uri):
                    continue
                if uri in kept:
                    path.unlink(missing_ok=True)
                else:
                    found.append(uri)
        return tuple(dict.fromkeys(found))

    def claim(self, uri: str) -> None:
        """Remember tables before the first of them is written. Raises `WorldError`."""
        home = self.folder / UNPUBLISHED
        try:
            home.mkdir(parents=True, exist_ok=True)
            descriptor, name = tempfile.mkstemp(prefix=".", suffix=".part", dir=home)
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            os.write(descriptor, uri.encode())
            path = Path(name).rename(home / f"{Path(name).stem[1:]}{SUFFIX}")
        except OSError as cause:
            raise not_written(str(home), cause) from None
        self._held[uri] = (path, descriptor)

    def release(self, uri: str) -> None:
        """Forget tables that are published or removed, of this run or of a killed one."""
        path, descriptor = self._held.pop(uri, (None, None))
        for each in self._files():
            with suppress(*_NOT_OURS):
                if each == path or (path is None and each.read_text(encoding="utf-8") == uri):
                    each.unlink()
        if descriptor is not None:
            os.close(descriptor)
        with suppress(OSError):  # other claims are there
            (self.folder / UNPUBLISHED).rmdir()

    def _files(self) -> list[Path]:
        return sorted((self.folder / UNPUBLISHED).glob(f"*{SUFFIX}"))

    def close(self) -> None:
        """Unlock what is left, so that the next run removes it."""
        for _, descriptor in self._held.values():
            os.close(descriptor)
        self._held.clear()


@contextmanager
def table_claims(out: str | Path) -> Iterator[TableClaims]:
    """The claims of a result folder, for the block."""
    claims = TableClaims(Path(out))
    try:
        yield claims
    finally:
        claims.close()
