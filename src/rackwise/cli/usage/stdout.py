"""Stdout of the command line: tells a write that fails from an error of a file or a socket.

The system names no file in an error of a write to stdout, and none in an error of a socket or of an
open file. So a failed write to `sys.stdout` in `checked_stdout`, of this program or of a library,
raises an error of its own class.
"""

from __future__ import annotations

import os
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator


class StdoutFailed(OSError):
    """A write to stdout failed, and not one to a file or socket; `cause` is the system's error.

    A server whose log is stdout catches it as any `OSError` of a log.
    """

    def __init__(self, cause: OSError) -> None:
        super().__init__(cause.errno, cause.strerror)
        self.cause = cause

    @property
    def is_closed(self) -> bool:
        """Whether the reader of stdout has left."""
        return isinstance(self.cause, BrokenPipeError)


class CheckedStdout:
    """Stdout, whose writes raise `StdoutFailed`; all else is that of the stream below."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 (whatever the stream has)
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write as the stream does. Raises `StdoutFailed`."""
        try:
            return self._stream.write(text)
        except OSError as error:
            raise StdoutFailed(error) from error

    def writelines(self, texts: Iterable[str]) -> None:
        """Write texts one by one; an error of the iterable itself passes. Raises `StdoutFailed`."""
        for text in texts:
            self.write(text)

    def flush(self) -> None:
        """Flush the stream. Raises `StdoutFailed`."""
        try:
            self._stream.flush()
        except OSError as error:
            raise StdoutFailed(error) from error


@contextmanager
def checked_stdout() -> Iterator[None]:
    """While the block runs, failed writes to `sys.stdout` raise `StdoutFailed`."""
    stream = sys.stdout
    sys.stdout = CheckedStdout(stream)
    try:
        yield
    finally:
        sys.stdout = stream


def drop_stdout() -> None:
    """Send further writes to stdout to /dev/null, after stdout has failed."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
