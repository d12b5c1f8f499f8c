"""Runs code in a child process, so that a crash there is an error here.

A damaged Parquet file can abort the library that reads it, and with it the process: no exception
leaves such a call. So this process forks, the child sends what it computes through a pipe, and this
process sees how the child ended:

```
child    note "a.parquet"   batch   batch   note "b.parquet"   SIGABRT
here     .                  batch   batch   .                  ReaderEnded: b.parquet, SIGABRT
```

The child has the memory of this process, so nothing is started, imported or sent to it. What it
changes in memory is lost. What it writes to stderr, such as the last words of a library, is not
shown: the last line of it is in the error.

Limits: values are batches of Arrow; the code in the child must not wait for a lock of another
thread.
"""

from __future__ import annotations

import ctypes
import faulthandler
import os
import signal
import sys
import traceback
import warnings
from contextlib import suppress
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, NoReturn, TypeAlias

import pyarrow as pa

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

Values: TypeAlias = "Callable[[Callable[[str], None]], Iterable[pa.RecordBatch]]"
"""Computes batches; calls its argument with what it works on."""
_SIZE = 8
"""Bytes of the length of a message, which is behind its kind, one byte."""
_VALUE, _NOTE, _DONE, _FAILED, _ERROR = range(5)
"""Kinds of messages. Larger ones than `_ERROR` are errors of the further classes."""
_PR_SET_PDEATHSIG = 1
"""Linux's option of `prctl`: the signal at the end of the parent."""
_LAST_BYTES = 2_000
"""Bytes of the stderr of the child that are read."""


class ReaderEnded(Exception):
    """The child ended before its work was done; `str` says how, in one line."""

    def __init__(self, how: str, *, note: str | None) -> None:
        super().__init__(how)
        self.note = note
        """The last note of the child."""


class ChildFailed(Exception):
    """The child raised another exception than those that are expected; it is in the notes."""


def in_child(values: Values, *errors: type[Exception]) -> Iterator[pa.RecordBatch]:
    """The batches that a function computes in a child process, as they come.

    `errors`: exceptions that are raised here if the function raises them, with their text.
    Raises `MemoryError`, also if the child is killed, which is what Linux does where memory ends;
    `ReaderEnded`, and `ChildFailed` for other exceptions.
    """
    last: str | None = None
    expected: tuple[type[Exception], ...] = (MemoryError, *errors)
    with _nameless_file() as words:
        reader, writer = os.pipe()
        parent = os.getpid()
        child = _fork()
        if child == 0:
            _work(values, expected, reader, writer, words, parent)
        os.close(writer)
        status: int | None = None
        try:
            with os.fdopen(reader, "rb") as messages:
                for kind, content in _messages(messages):
                    if kind == _VALUE:
                        yield pa.ipc.open_stream(content).read_next_batch()
                    elif kind == _NOTE:
                        last = content.decode()
                    elif kind == _DONE:
                        return
                    else:
                        raise _error(kind, content.decode(), expected)
            status = _wait(child)
        finally:
            if status is None:
                with suppress(ProcessLookupError):
                    os.kill(child, signal.SIGKILL)
                _wait(child)
        how = _how(status, words)
        if status == -signal.SIGKILL:
            raise MemoryError(how)
        raise ReaderEnded(how, note=last)


def _wait(child: int) -> int:
    """The exit status; 0 if it is lost, as where SIGCHLD is ignored."""
    try:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    except ChildProcessError:
        return 0


def _nameless_file() -> IO[bytes]:
    """A file for the last words, in memory where the system has that: no folder is needed."""
    if not hasattr(os, "memfd_create"):
        return TemporaryFile()
    return open(os.memfd_create("words"), "w+b")  # noqa: PTH123 (a descriptor)


def _end_with(parent: int) -> None:
    """Let the end of the parent end this process, which has the parent's locks of files."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        os._exit(1)


def _error(kind: int, text: str, expected: tuple[type[Exception], ...]) -> Exception:
    if kind >= _ERROR:
        return expected[kind - _ERROR](text)
    failed = ChildFailed(text.strip().rpartition("\n")[2])
    failed.add_note(text)
    return failed


def _fork() -> int:
    with warnings.catch_warnings():  # Python 3.12 warns of other threads; see the limits
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _work(
    values: Values,
    expected: tuple[type[Exception], ...],
    reader: int,
    writer: int,
    words: IO[bytes],
    parent: int,
) -> NoReturn:
    """The child: it never returns, and runs none of the handlers of this process."""
    try:
        _end_with(parent)
        os.close(reader)
        faulthandler.disable()  # it may write elsewhere than to stderr
        os.dup2(words.fileno(), 2)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # the parent has ended
        with os.fdopen(writer, "wb") as messages, pa.PythonFile(messages, mode="w") as sink:

            def begin(kind: int, size: int) -> None:
                messages.write(bytes([kind]) + size.to_bytes(_SIZE, "little"))

            def send(kind: int, content: bytes) -> None:
                begin(kind, len(content))
                messages.write(content)
                messages.flush()

            try:
                for batch in values(lambda note: send(_NOTE, note.encode())):
                    begin(_VALUE, _stream_size(batch))
                    _write_stream(batch, sink)
                    messages.flush()
                send(_DONE, b"")
            except expected as error:
                number = next(n for n, kind in enumerate(expected) if isinstance(error, kind))
                send(_ERROR + number, str(error).encode(errors="replace"))
            except Exception:  # noqa: BLE001 (it is raised in the parent)
                send(_FAILED, traceback.format_exc().encode(errors="replace"))
    finally:
        os._exit(1)


def _stream_size(batch: pa.RecordBatch) -> int:
    """Bytes of the batch in Arrow's stream format, which is not copied to be counted."""
    counted = pa.MockOutputStream()
    _write_stream(batch, counted)
    return int(counted.size())


def _write_stream(batch: pa.RecordBatch, sink: pa.NativeFile) -> None:
    """Write the batch in Arrow's stream format."""
    with pa.ipc.new_stream(sink, batch.schema) as stream:
        stream.write_batch(batch)


def _messages(stream: IO[bytes]) -> Iterator[tuple[int, bytes]]:
    """All whole messages: their kinds and contents."""
    while len(head := stream.read(1 + _SIZE)) == 1 + _SIZE:
        size = int.from_bytes(head[1:], "little")
        content = stream.read(size)
        if len(content) < size:
            return
        yield head[0], content


def _how(status: int, words: IO[bytes]) -> str:
    """How the child ended, and the last line that it wrote."""
    name = f"exit code {status}"
    if status < 0:
        with suppress(ValueError):
            name = signal.Signals(-status).name
    size = words.seek(0, os.SEEK_END)
    words.seek(max(0, size - _LAST_BYTES))
    lines = words.read().decode(errors="replace").split("\n")
    line = next((line.strip() for line in reversed(lines) if line.strip()), "")
    if sys.platform == "linux" and status == -signal.SIGKILL and not line:
        line = "the system may have too little memory"
    return f"the reader ended with {name}" + (f": {line}" if line else "")
