"""Options of `rackwise serve` about logins, and who may request placements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.core.errors import InvalidConfig
from rackwise.core.sasl.principals import check_allowed
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.rpc.config import LoginConfig

LEAST_SESSION_S = 2
"""Clients log in again after 85 % of it, and one connection at most once per second."""
MOST_SESSION_S = 30 * 86_400


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginOptions:
    """The options, and their checks."""

    scram_users: Annotated[
        Path | None,
        typer.Option(
            metavar="F",
            help="Require a login, and accept SCRAM for the users in this file of `rackwise "
            "scram-user`. It is read again when it changes.",
        ),
    ] = None
    max_session: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=LEAST_SESSION_S,
            max=MOST_SESSION_S,
            help="Time after which a client must log in again. [default: never]",
        ),
    ] = None
    allow: Annotated[
        list[str] | None,
        typer.Option(
            metavar="User:NAME",
            help="Allow this client to request placements. Repeat for more. [default: every client "
            "with a login or a certificate]",
        ),
    ] = None

    def logins(self) -> LoginConfig | None:
        """The logins; None without any. Raises `InvalidConfig` for options that do not fit."""
        from rackwise.adapters.rpc.config import LoginConfig

        if self.max_session is not None and not math.isfinite(self.max_session):
            raise InvalidConfig(
                "invalid --max-session: expected a number of seconds, got "
                f"{escaped(str(self.max_session))}",
                wanted="a number of seconds",
                had=self.max_session,
                hint="for example --max-session 3600",
            )
        if self.scram_users is not None:
            return LoginConfig(scram_users=self.scram_users, session_s=self.max_session)
        if self.max_session is not None:
            raise InvalidConfig(
                "--max-session requires --scram-users",
                wanted="--scram-users",
                had="--max-session",
                hint="give --scram-users, or omit --max-session",
            )
        return None

    def allowed(self) -> frozenset[str] | None:
        """The principals that may request placements; None = all. Raises `InvalidConfig`."""
        return check_allowed(self.allow) if self.allow else None
