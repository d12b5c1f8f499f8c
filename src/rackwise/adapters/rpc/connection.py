"""One client of the server: frames in, answers out, in order, each with a time limit.

```
idle_s ──> first byte ── frame_s ──> whole frame ──> answer ── drain_s ──> taken ──> again
```

One request is in work at a time. Further requests of a client wait in its socket. Every error ends
the connection with a reason and has no other effect.
"""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.wire.headers import FRAME_PREFIX, read_frame_size

if TYPE_CHECKING:
    from rackwise.adapters.rpc.config import Guards


class Closed(Exception):
    """The connection is over; `reason` is a word for the counters, `detail` a sentence."""

    def __init__(self, reason: str, detail: str = "") -> None:
        super().__init__(reason)
        self.reason = reason
        self.detail = detail


class Replying(Protocol):
    """An object that answers frames."""

    async def reply(self, frame: bytes, connection: Connection) -> bytes:
        """The framed answer. Raises `RemoteProtocolError` if there is no valid answer."""


@dataclass(slots=True, kw_only=True, eq=False)
class Connection:
    """The stream of one client."""

    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    peer: str
    address: tuple[str, int]
    guards: Guards
    is_in_work: bool = False
    """True from the whole frame until the client has the answer."""
    is_last: bool = False

    async def run(self, replying: Replying) -> None:
        """Answer until the client leaves or `is_last` is set. Raises `Closed`."""
        try:
            while not self.is_last:
                frame = await self._frame()
                if frame is None:
                    return
                self.is_in_work = True
                answer = await replying.reply(frame, self)
                await self._send(answer)
                self.is_in_work = False
        except RemoteProtocolError as error:
            raise Closed("protocol", f"RemoteProtocolError: {error}") from None
        except OSError as error:
            raise Closed("reset", type(error).__name__) from None

    async def _frame(self) -> bytes | None:
        """The next frame without its size; None if the client left between two frames."""
        try:
            async with asyncio.timeout(self.guards.idle_s):
                first = await self.reader.readexactly(1)
        except TimeoutError:
            raise Closed("idle") from None
        except asyncio.IncompleteReadError:
            return None
        try:
            async with asyncio.timeout(self.guards.frame_s):
                prefix = first + await self.reader.readexactly(FRAME_PREFIX - 1)
                size = read_frame_size(prefix, most=self.guards.frame_bytes)
                return await self.reader.readexactly(size)
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
