"""The outcomes of a step of a login: another message, a user, or the end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Challenge:
    """The login goes on: the client receives `data` and sends another message."""

    data: bytes = field(repr=False)


@dataclass(frozen=True, slots=True)
class Accepted:
    """The client is `user`."""

    user: str
    data: bytes = field(default=b"", repr=False)
    """The last message for the client."""
    lasts_s: float | None = None
    """Seconds until what the client has proved ends; None = it does not end."""


@dataclass(frozen=True, slots=True)
class Denied:
    """The login has failed, and the mechanism says so in a message that the client answers."""

    data: bytes
    why: str
    """For the log."""


@dataclass(frozen=True, slots=True)
class Rejected:
    """The login has failed."""

    why: str
    """For the log. The client is not told, because it may be guessing."""
    told: str | None = None
    """The error message for the client; None for a sentence that fits every fault."""


LoginOutcome: TypeAlias = "Challenge | Accepted | Denied | Rejected"
