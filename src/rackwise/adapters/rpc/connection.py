"""One client of the server: frames in, answers out, in order, each with a time limit.

```
idle_s ──> first byte ── frame_s ──> whole frame ──> answer ── drain_s ──> taken ──> again
```

One request is in work at a time. Further requests of a client wait in its socket. Every error ends
the connection with a reason and has no other effect.
"""

from __future__ import annotations

import asyncio
import ssl
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.override import override
from rackwise.core.wire.headers import FRAME_PREFIX, read_frame_size

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator

    from rackwise.adapters.rpc.config import Guards


class Closed(Exception):
    """The connection is over; `reason` is a word for the counters, `detail` a sentence."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class WatchedStream(asyncio.StreamReaderProtocol):
    """The stream from a client; it knows when the client has closed it while nobody reads."""

    def __init__(self, limit: int) -> None:
        self.reader = asyncio.StreamReader(limit=limit)
        super().__init__(self.reader)
        self._is_lost = False
        self._at_end: Callable[[], object] | None = None

    @property
    def has_ended(self) -> bool:
        """Whether the client has closed it, and all that it sent was read."""
        return self._is_lost or self.reader.at_eof()

    @contextmanager
    def at_end(self, call: Callable[[], object]) -> Iterator[None]:
        """Call this as soon as the stream ends, if it ends within the block."""
        self._at_end = call
        self._check_end()
        try:
            yield
        finally:
            self._at_end = None

    @override
    def eof_received(self) -> bool | None:
        """The client has closed its side."""
        stays_open = super().eof_received()
        self._check_end()
        return stays_open

    @override
    def connection_lost(self, exc: Exception | None) -> None:
        """There is no connection any more."""
        super().connection_lost(exc)
        self._is_lost = True
        self._check_end()

    def _check_end(self) -> None:
        if self.has_ended and self._at_end is not None:
            self._at_end()


@dataclass(slots=True, kw_only=True, eq=False)
class Connection:
    """The stream of one client."""

    stream: WatchedStream
    writer: asyncio.StreamWriter
    peer: str
    owner: str
    """Whose share of the workers its requests use: its principal, or else its host."""
    principal: str
    """Who the client is."""
    address: tuple[str, int]
    guards: Guards
    is_in_work: bool = False
    """True from the whole frame until the client has the answer."""
    is_last: bool = False
    frame_bytes: int
    """The size of the largest frame at the moment."""
    deadline: float | None = None
    """The loop's time after which no further frame is awaited."""
    deadline_reason: str = "login"
    """The reason if the deadline ends the connection."""
    fault: Closed | None = None
    """Why the connection ends, if it ends in order."""
    release: Callable[[], None] | None = None
    """Called once when the current answer has been sent, or never will be."""

    async def run(self, reply: Callable[[bytes, Connection], Awaitable[bytes]]) -> None:
        """Answer frames by `reply` until the client leaves or `is_last` is set.

        Raises `Closed`, also for `fault`; `reply` raises it too, or `RemoteProtocolError` for a
        frame without a valid answer.
        """
        try:
            while not self.is_last:
                frame = await self._frame()
                if frame is None:
                    break
                self.is_in_work = True
                try:
                    await self._send(await reply(frame, self))
                finally:
                    self._release()
                self.is_in_work = False
        except RemoteProtocolError as error:
            raise Closed("protocol", f"RemoteProtocolError: {error}") from None
        except OSError as error:
            raise self.fault or Closed("reset", type(error).__name__) from None
        if self.fault is not None:
            raise self.fault

    def _release(self) -> None:
        if self.release is not None:
            self.release()
            self.release = None

    async def _frame(self) -> bytes | None:
        """The next frame without its size; None if the client left between two frames."""
        now_s = asyncio.get_running_loop().time()
        # A byte that is here already does not wait, so no timeout would end it.
        if self.deadline is not None and now_s >= self.deadline:
            raise self.fault or Closed(self.deadline_reason)
        idle_until = now_s + self.guards.idle_s
        until = idle_until if self.deadline is None else min(self.deadline, idle_until)
        try:
            async with asyncio.timeout_at(until):
                first = await self.stream.reader.readexactly(1)
        except TimeoutError:
            if until < idle_until:
                raise self.fault or Closed(self.deadline_reason) from None
            raise Closed("idle") from None
        except asyncio.IncompleteReadError:
            return None
        try:
            async with asyncio.timeout(self.guards.frame_s):
                prefix = first + await self.stream.reader.readexactly(FRAME_PREFIX - 1)
                size = read_frame_size(prefix, most=self.frame_bytes)
                return await self.stream.reader.readexactly(size)
        except TimeoutError:
            raise Closed("slow frame") from None
        except asyncio.IncompleteReadError as error:
            raise Closed("cut frame", f"{len(error.partial)} of {error.expected} bytes") from None

    async def _send(self, answer: bytes) -> None:
        self.writer.write(answer)
        try:
            async with asyncio.timeout(self.guards.drain_s):
                await self.writer.drain()
        except TimeoutError:
            raise Closed("slow reader") from None


def handshake_fault(error: OSError) -> str:
    """Why a TLS handshake failed: the words of OpenSSL, else the name of the error."""
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"client certificate: {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return type(error).__name__
