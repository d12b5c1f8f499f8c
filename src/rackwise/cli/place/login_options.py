"""Options of `rackwise serve` about logins, and who may request placements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.shell import installed
from rackwise.core.errors import InvalidConfig
from rackwise.core.sasl.principals import check_allowed
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.rpc.config import LoginConfig, OAuthConfig

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
    oauth_jwks: Annotated[
        str | None,
        typer.Option(
            metavar="F|URL",
            help="Require a login, and accept OAUTHBEARER with tokens (JWT) that a key of this "
            "issuer signed: a file with a JWKS, or its https:// address.",
        ),
    ] = None
    oauth_issuer: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Issuer that a token must name in `iss`."),
    ] = None
    oauth_audience: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="Audience that a token must name in `aud`."),
    ] = None
    oauth_principal_claim: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Claim of a token that is the name of the client. [default: sub]"
        ),
    ] = None
    max_session: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=LEAST_SESSION_S,
            max=MOST_SESSION_S,
            help="Time after which a client must log in again. A token that expires earlier ends "
            "the session earlier. [default: never]",
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
        oauth = self._oauth()
        if self.scram_users is not None or oauth is not None:
            return LoginConfig(
                scram_users=self.scram_users, oauth=oauth, session_s=self.max_session
            )
        if self.max_session is not None:
            raise InvalidConfig(
                "--max-session requires --scram-users or --oauth-jwks",
                wanted="--scram-users or --oauth-jwks",
                had="--max-session",
                hint="give --scram-users or --oauth-jwks, or omit --max-session",
            )
        return None

    def _oauth(self) -> OAuthConfig | None:
        """Logins with tokens; None without. Raises `InvalidConfig` and `MissingDependency`."""
        given = {
            "--oauth-jwks": self.oauth_jwks,
            "--oauth-issuer": self.oauth_issuer,
            "--oauth-audience": self.oauth_audience,
        }
        names = [name for name, value in given.items() if value is not None]
        names += ["--oauth-principal-claim"] * (self.oauth_principal_claim is not None)
        if not names:
            return None
        if self.oauth_principal_claim == "":
            given["--oauth-principal-claim"] = ""
        missing = [name for name, value in given.items() if not value]
        if missing:
            raise InvalidConfig(
                f"{names[0]} requires {missing[0]}: expected a value, got none",
                wanted=", ".join(given),
                had=", ".join(names),
                hint=f"give {missing[0]}; a token of another service must not let a client in",
            )
        with installed("serve-oauth", "check tokens"):
            from rackwise.adapters.rpc.logins.key_endpoint import check_key_url
            from rackwise.adapters.rpc.logins.signatures import signed_payload  # noqa: F401
        from rackwise.adapters.rpc.config import OAuthConfig
        from rackwise.core.sasl.token_claims import TokenRules

        jwks = self.oauth_jwks or ""
        if "://" in jwks:
            check_key_url(jwks)
        return OAuthConfig(
            jwks=jwks,
            rules=TokenRules(
                issuer=self.oauth_issuer or "",
                audience=self.oauth_audience or "",
                principal_claim=self.oauth_principal_claim or "sub",
            ),
        )

    def allowed(self) -> frozenset[str] | None:
        """The principals that may request placements; None = all. Raises `InvalidConfig`."""
        return check_allowed(self.allow) if self.allow else None
