"""Which logins a server offers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginConfig:
    """The logins of a server."""

    scram_users: Path
    """The file of SCRAM users."""
    session_s: float | None = None
    """The longest session; a client has to log in again to stay connected. None = without end."""
