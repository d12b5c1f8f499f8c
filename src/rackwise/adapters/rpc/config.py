"""The server's configuration: address, limits and TLS.

On loopback the server accepts connections without TLS. On any other address it requires TLS with
client certificates (`client_ca`) or logins, unless it is set to be insecure. It has no permissions
of its own and no passwords.
"""

from __future__ import annotations

import ipaddress
import os
import socket
import ssl
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn

from rackwise.adapters.secret_files import check_own, check_private
from rackwise.core.errors import InvalidConfig, Unreachable
from rackwise.core.host_port import host_and_port
from rackwise.core.replica_service.answers import MOST_WAIT_MS
from rackwise.core.text import escaped
from rackwise.core.wire.headers import MOST_FRAME
from rackwise.core.wire.replica_assignment import API_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

    from rackwise.core.sasl.token_claims import TokenRules

DEFAULT_PORT = 19092
BROKERS_PORT = 9092
BACKLOG = 1024
RESERVED_KEYS = (3, 17, 18, 36)
"""API keys that the server answers as every broker does."""
_KEY_END = 1 << 15
_SHOWN = 60


def _worker_count() -> int:
    return max(2, os.cpu_count() or 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class Guards:
    """Limits: beyond them a connection is closed, or a request is rejected before any work."""

    connections: int = 1000
    """Open connections at once."""
    per_address: int = 50
    """Open connections at once from one address."""
    frame_bytes: int = MOST_FRAME
    """Size of a request."""
    answer_bytes: int = 16 << 20
    """Size of an answer."""
    idle_s: float = 60.0
    """Time until the first byte of a frame."""
    login_frame_bytes: int = 1 << 16
    """Size of a request during a login; tokens of some issuers have several kB."""
    login_s: float = 10.0
    """Time from the connection to the end of the login."""
    login_pause_s: float = 0.1
    """Time before the answer to a login that has failed."""
    frame_s: float = 5.0
    """Time from the first byte of a frame to the last."""
    drain_s: float = 5.0
    """Time until the client has received an answer."""
    handshake_s: float = 10.0
    """Time of the TLS handshake."""
    stop_s: float = 5.0
    """Time for requests in work when the server stops."""
    wait_ms: int = MOST_WAIT_MS
    """The longest timeout of a request."""
    waiting: int = 64
    """Requests that wait for a worker."""
    request_replicas: int = 2_000_000
    """Replicas of the largest request that is placed. A larger one is rejected without work."""
    replicas_in_work: int = 4_000_000
    """Replicas that one client may have waiting and in work; one request alone may exceed it."""
    workers: int = field(default_factory=_worker_count)
    """Requests in work at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """PEM files: the server's certificate and key, and the authority of client certificates."""

    certificate: Path
    key: Path
    client_ca: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OAuthConfig:
    """Logins by OAUTHBEARER."""

    jwks: str
    """The issuer's keys: an address of `https`, or the path of a file."""
    rules: TokenRules


@dataclass(frozen=True, slots=True, kw_only=True)
class LoginConfig:
    """The logins of a server."""

    scram_users: Path | None = None
    """The file of SCRAM users; None = no SCRAM."""
    oauth: OAuthConfig | None = None
    """None = no OAUTHBEARER."""
    session_s: float | None = None
    """The length of a session; a client has to log in again to stay connected. None = without
    end. A session with a token ends with the token, if that is earlier."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeConfig:
    """The address, the placer's seed and the guards of a server."""

    host: str = "127.0.0.1"
    port: int = DEFAULT_PORT
    log: Callable[[Mapping[str, Any]], None]
    """Receives each line as a mapping with a `type`. It runs in the loop and must not block for
    long."""
    advertised: tuple[str, int] | None = None
    """The address for clients; None = the address they connected to."""
    api_key: int = API_KEY
    seed: int | None = None
    """The seed of every placement; None = one is generated for each request."""
    tls: Tls | None = None
    logins: LoginConfig | None = None
    """None = clients do not log in."""
    allowed: frozenset[str] | None = None
    """The principals that may request placements; None = all that get in."""
    may_be_insecure: bool = False
    guards: Guards = field(default_factory=Guards)


def address_of(text: str, *, option: str, least_port: int = 0) -> tuple[str, int]:
    """Parse `HOST:PORT` or `[::1]:PORT` into host and port. Raises `InvalidConfig`."""
    found = host_and_port(text, least_port=least_port)
    if found is None:
        raise InvalidConfig(
            f"invalid {option}: expected HOST:PORT, got {escaped(text)[:_SHOWN] or 'nothing'}",
            wanted="HOST:PORT",
            had=text[:_SHOWN],
            hint=f"write for example {option} 127.0.0.1:{DEFAULT_PORT}",
        )
    return found


def listening_socket(config: ServeConfig) -> socket.socket:
    """A socket that listens on the configured address.

    Raises `InvalidConfig` if that is a broker's port or a public address without TLS, `Unreachable`
    if the address is not available.
    """
    if config.port == BROKERS_PORT:
        raise InvalidConfig(
            f"invalid port: expected one other than {BROKERS_PORT}, where brokers listen, got "
            f"{BROKERS_PORT}",
            wanted=DEFAULT_PORT,
            had=BROKERS_PORT,
            hint=f"write for example --listen {config.host}:{DEFAULT_PORT}",
        )
    try:
        family, _, _, _, address = socket.getaddrinfo(
            config.host, config.port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
    except (OSError, UnicodeError) as error:  # what is no name of a host at all
        _cannot_listen(config, error)
    _check_secured(config, str(address[0]))
    try:
        listener = socket.create_server(address[:2], family=family, backlog=BACKLOG)
    except OSError as error:
        _cannot_listen(config, error)
    listener.settimeout(0)
    return listener


def check_api_key(api_key: int) -> None:
    """Raises `InvalidConfig` for an invalid key, or one of another message that is answered."""
    if not 0 <= api_key < _KEY_END or api_key in RESERVED_KEYS:
        raise InvalidConfig(
            f"invalid api key: expected 0 to {_KEY_END - 1}, not 3, 17, 18 or 36, got {api_key}",
            wanted=API_KEY,
            had=api_key,
            hint=f"use {API_KEY} as KIP-879 does, and give client and server the same key",
        )


def check_allowed_needs_names(config: ServeConfig) -> None:
    """Raises `InvalidConfig` for a list of principals while no client has a name."""
    is_mutual = config.tls is not None and config.tls.client_ca is not None
    if config.allowed is None or config.logins is not None or is_mutual:
        return
    raise InvalidConfig(
        "invalid --allow: expected logins or client certificates, which give clients names, got "
        "neither",
        wanted="--scram-users, --oauth-jwks or --tls-client-ca",
        hint="give --scram-users, --oauth-jwks or --tls-client-ca, or omit --allow",
    )


def server_context(tls: Tls) -> ssl.SSLContext:
    """TLS 1.2 or later; with `client_ca`, clients must present a certificate.

    Raises `InvalidConfig` for files that cannot be loaded, and for a key with a password;
    `SecretExposed` for a key that other users may read, and for authorities that they may write.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    try:
        check_private(tls.key.stat(), str(tls.key), holds="a private key")
        context.load_cert_chain(tls.certificate, tls.key, password=_no_password)
    except OSError as error:
        _cannot_load("--tls-cert and --tls-key", f"{tls.certificate}, {tls.key}", error)
    if tls.client_ca is not None:
        try:
            check_own(tls.client_ca.stat(), str(tls.client_ca), holds="the authorities of clients")
            context.load_verify_locations(cafile=tls.client_ca)
        except OSError as error:
            _cannot_load("--tls-client-ca", str(tls.client_ca), error)
        context.verify_mode = ssl.CERT_REQUIRED
    return context


def _no_password() -> str:
    """Makes a key with a password fail instead of prompting at the terminal."""
    return ""


def _check_secured(config: ServeConfig, address: str) -> None:
    is_loopback = ipaddress.ip_address(address.partition("%")[0]).is_loopback
    tls = config.tls
    is_known = tls is not None and (tls.client_ca is not None or config.logins is not None)
    if is_loopback or is_known or config.may_be_insecure:
        return
    raise InvalidConfig(
        f"{escaped(config.host)} is not a loopback address: listening there requires TLS with "
        "client certificates or logins",
        wanted="--tls-client-ca",
        had=config.host,
        hint="give --tls-cert and --tls-key, with --tls-client-ca, --scram-users or --oauth-jwks; "
        "or --insecure-i-know",
    )


def _cannot_load(options: str, files: str, error: OSError) -> NoReturn:
    raise InvalidConfig(
        f"invalid {options}: expected PEM files, got {escaped(files)}: "
        f"{escaped(error.strerror or str(error))}",
        wanted="PEM",
        had=files,
        hint="give a certificate, its key without a password, and the clients' CA certificate",
    ) from None


def _cannot_listen(config: ServeConfig, error: OSError | UnicodeError) -> NoReturn:
    told = error.strerror if isinstance(error, OSError) else None
    raise Unreachable(
        f"cannot listen on {escaped(config.host)}:{config.port}: {escaped(told or str(error))}",
        wanted="a free port of this host",
        had=config.port,
        hint="give another --listen, or --listen 127.0.0.1:0 for any free port",
    ) from None
