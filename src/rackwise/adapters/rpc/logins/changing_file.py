"""What a file holds, read again when the file changes.

The file is looked at when a login begins. If it cannot be read, the last content stays in use, the
log has the error, and the file is read again until it can be. So an editor that is writing the file
locks out no user, and a removed user is locked out soon.
"""

from __future__ import annotations

import os
import time
from typing import TYPE_CHECKING, Generic, TypeVar

from rackwise.core.errors import RackwiseError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RETRY_S = 1.0
"""The shortest time between two attempts to read a file that could not be read."""

Content = TypeVar("Content")


class ChangingFile(Generic[Content]):
    """The content of a file that may change. Raises as `read` does when it is made.

    `read` reads the file. `merged` makes the new content from what was read, and the last content.
    `tell` writes a line of the log when the file has changed: what `counted` says of the content,
    or the error. `clock_s` never goes back.
    """

    def __init__(
        self,
        path: Path,
        read: Callable[[Path], Content],
        *,
        tell: Callable[..., None],
        counted: Callable[[Content], dict[str, int]],
        merged: Callable[[Content, Content], Content] = lambda new, _: new,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._path = path
        self._read = read
        self._tell = tell
        self._counted = counted
        self._merged = merged
        self._clock_s = clock_s
        self._state = self._look()
        self._content = read(path)
        self._retry_at = 0.0
        self._problem: str | None = None
        self._failing_since = 0.0

    def content(self) -> Content:
        """What is in the file, or what could be read last."""
        state = self._look()
        if state == self._state:
            self._problem = None
        elif self._problem is None or self._clock_s() >= self._retry_at:
            self._read_again(state)
        return self._content

    @property
    def failing_s(self) -> float:
        """For how many seconds the file could not be read, since somebody looked; 0 if it can."""
        return 0.0 if self._problem is None else self._clock_s() - self._failing_since

    def _read_again(self, state: tuple[int, ...]) -> None:
        try:
            found = self._read(self._path)
        except (RackwiseError, OSError) as error:
            message = escaped(str(error))
            if message != self._problem:
                self._tell(type="read", error=type(error).__name__, message=message)
            now_s = self._clock_s()
            if self._problem is None:
                self._failing_since = now_s
            self._problem, self._retry_at = message, now_s + RETRY_S
        else:
            self._content = self._merged(found, self._content)
            self._state, self._problem = state, None
            self._tell(type="read", **self._counted(found))

    def _look(self) -> tuple[int, ...]:
        try:
            found = os.stat(self._path)  # noqa: PTH116 (as fast as it gets)
        except OSError:
            return ()
        times = (found.st_mtime_ns, found.st_ctime_ns)
        return (found.st_ino, found.st_size, *times, found.st_mode, found.st_uid)
