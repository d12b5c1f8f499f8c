"""The keys of an issuer, from its JWKS endpoint or a file.

`core.sasl.key_freshness` decides when an endpoint is asked, and how long old keys are used. The
call runs in a thread of its own, so the server's loop stays free; it ends within `LIMIT_S`. Logins
that need new keys wait for the same call.

Certificates are verified against those of the system; `SSL_CERT_FILE` names others. Redirects are
not followed, and proxies of the environment are not used: another machine would choose who gets in.

Source: OpenID Connect Discovery 1.0 (`jwks_uri`); RFC 7517.
"""

from __future__ import annotations

import asyncio
import ssl
import threading
import time
from concurrent.futures import Future
from dataclasses import replace
from http.client import HTTPException
from typing import TYPE_CHECKING, Final, Protocol
from urllib.parse import urlsplit

from rackwise.adapters.https import connected, reason_of, target_of
from rackwise.adapters.rpc.logins.changing_file import ChangingFile
from rackwise.adapters.secret_files import check_own, read_regular
from rackwise.core.errors import InvalidConfig, Unreachable
from rackwise.core.sasl.key_freshness import KEPT_S, KeyAges, KeyUse, key_use
from rackwise.core.sasl.key_set import MOST_BYTES, keys_for, parse_key_set, some_keys
from rackwise.core.text import escaped
from rackwise.core.tls_faults import TlsHints

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from rackwise.core.sasl.key_set import SigningKey
    from rackwise.core.sasl.tokens import TokenHeader

LIMIT_S: Final = 5.0
"""Longest duration of a call."""
HTTPS: Final = "https://"
_STATUS_OK: Final = 200
_REDIRECTS: Final = range(300, 400)
_HINT: Final = "give the jwks_uri of the issuer's OpenID configuration to --oauth-jwks"
_TLS_HINTS: Final = TlsHints(
    address="--oauth-jwks",
    authority="set SSL_CERT_FILE to a PEM file with the authorities that you trust",
    own="give an address that asks for no client certificate, or a file with the JWKS: Rackwise "
    "has no certificate to send",
)


class KeySource(Protocol):
    """Where the keys of an issuer come from."""

    async def find(self, header: TokenHeader) -> tuple[SigningKey, ...]:
        """The keys that could have signed a token with this header."""


class KeyFile:
    """The keys in a file that may change.

    A file that cannot be read any more keeps its keys for `KEPT_S`. Raises `InvalidConfig` for a
    file that cannot be read or has no keys, `SecretExposed` for one that others may write: they
    could let anyone in. `clock_s` never goes back.
    """

    def __init__(
        self,
        path: Path,
        tell: Callable[..., None],
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._file = ChangingFile(
            path, _read_key_file, tell=tell, counted=_counted, clock_s=clock_s
        )
        some_keys(self._file.content(), where=str(path))

    async def find(self, header: TokenHeader) -> tuple[SigningKey, ...]:
        """The keys that could have signed a token with this header."""
        keys = self._file.content()
        return keys_for(keys, header) if self._file.failing_s < KEPT_S else ()


class KeyEndpoint:
    """The keys at an address. Raises as `fetch_keys` does when it is made.

    `tell` writes a line of the log after a call: the number of keys, or the error. `clock_s` never
    goes back.
    """

    def __init__(
        self,
        url: str,
        tell: Callable[..., None],
        *,
        clock_s: Callable[[], float] = time.monotonic,
    ) -> None:
        self._url = url
        self._tell = tell
        self._clock_s = clock_s
        now_s = clock_s()
        self._keys = some_keys(fetch_keys(url), where=_shown(url))
        self._ages = KeyAges(read_s=now_s, tried_s=now_s)
        self._task: asyncio.Task[None] | None = None

    async def find(self, header: TokenHeader) -> tuple[SigningKey, ...]:
        """The keys that could have signed a token with this header."""
        use, found = self._use(header)
        if use in {KeyUse.USE_AND_FETCH, KeyUse.FETCH_FIRST}:
            fetching = self._fetching()
            if use is KeyUse.FETCH_FIRST:
                # The end of one login must not end the call, for which others wait.
                await asyncio.shield(fetching)
                use, found = self._use(header)
        return found if use in {KeyUse.USE, KeyUse.USE_AND_FETCH} else ()

    def _use(self, header: TokenHeader) -> tuple[KeyUse, tuple[SigningKey, ...]]:
        found = keys_for(self._keys, header)
        return key_use(self._ages, self._clock_s(), is_known=bool(found)), found

    def _fetching(self) -> asyncio.Task[None]:
        if self._task is None or self._task.done():
            self._ages = replace(self._ages, tried_s=self._clock_s(), is_fetching=True)
            self._task = asyncio.get_running_loop().create_task(self._fetch())
        return self._task

    async def _fetch(self) -> None:
        begun_s = self._ages.tried_s
        try:
            keys = await _in_thread(lambda: fetch_keys(self._url))
        # Any failure counts: without its end noted, each login would begin another call.
        except Exception as error:  # noqa: BLE001
            self._ages = replace(self._ages, has_failed=True, is_fetching=False)
            self._tell(type="read", error=type(error).__name__, message=escaped(str(error)))
        else:
            is_told = self._ages.has_failed or keys != self._keys
            self._keys = keys
            self._ages = KeyAges(read_s=begun_s, tried_s=begun_s)
            if is_told:
                self._tell(type="read", **_counted(keys))


def check_key_url(url: str) -> None:
    """Raises `InvalidConfig` for a text that is not an `https://` address without a user name."""
    try:
        parts = urlsplit(url)
        is_address = parts.scheme == "https" and bool(parts.hostname) and parts.port != 0
        (parts.hostname or "").encode("idna")
    except ValueError:
        is_address, parts = False, urlsplit("")
    if not is_address or "@" in parts.netloc or not url.isascii() or not url.isprintable():
        raise InvalidConfig(
            "invalid --oauth-jwks: expected https://HOST/PATH without user name, or a file, got "
            "another text",
            wanted="https://HOST/PATH or a file",
            had="another text",
            hint=_HINT,
        )


def fetch_keys(url: str, *, limit_s: float = LIMIT_S) -> tuple[SigningKey, ...]:
    """The keys at an address of `https`, which may be none.

    Raises `Unreachable` for an endpoint that does not answer with status 200 in time, and
    `InvalidConfig` for an answer that is no JWKS.
    """
    parts = urlsplit(url)
    name = escaped(_shown(url))
    headers = {"Accept": "application/json", "User-Agent": "rackwise", "Connection": "close"}
    tls = ssl.create_default_context()
    try:
        with connected(parts, tls, wait_s=limit_s, limit_s=limit_s) as connection:
            connection.request("GET", target_of(parts), headers=headers)
            with connection.getresponse() as response:
                body = response.read(MOST_BYTES + 1)
    except TimeoutError:
        raise _unreachable(name, f"no answer within {limit_s:g} s") from None
    except (OSError, HTTPException, ValueError) as error:
        hint = _TLS_HINTS.of(error, otherwise=_HINT)
        raise _unreachable(name, reason_of(error), hint=hint) from None
    if response.status in _REDIRECTS:
        raise _unreachable(name, f"status {response.status}: redirects are not followed")
    if response.status != _STATUS_OK:
        raise _unreachable(name, f"status {response.status}")
    return parse_key_set(body, where=_shown(url))


def _shown(url: str) -> str:
    """The address without its query, which may have a secret."""
    parts = urlsplit(url)
    return f"{HTTPS}{parts.netloc}{parts.path}"


def _read_key_file(path: Path) -> tuple[SigningKey, ...]:
    data, status = read_regular(str(path), what="JWKS", hint=_HINT, max_bytes=MOST_BYTES)
    check_own(status, str(path), holds="the keys of an issuer")
    return parse_key_set(data, where=str(path))


def _counted(keys: tuple[SigningKey, ...]) -> dict[str, int]:
    return {"keys": len(keys)}


async def _in_thread(
    work: Callable[[], tuple[SigningKey, ...]],
) -> tuple[SigningKey, ...]:
    """The result of `work`, from a thread that does not hold up the end of the process."""
    future: Future[tuple[SigningKey, ...]] = Future()
    future.set_running_or_notify_cancel()  # a waiter that leaves does not end the call

    def run() -> None:
        try:
            future.set_result(work())
        except BaseException as error:  # noqa: BLE001 (the waiter raises it)
            future.set_exception(error)

    threading.Thread(target=run, name="jwks", daemon=True).start()
    return await asyncio.wrap_future(future)


def _unreachable(name: str, why: str, *, hint: str = _HINT) -> Unreachable:
    return Unreachable(
        f"cannot get the JWKS {name}: {escaped(why)}", wanted="an answer", had=why, hint=hint
    )
