"""SASL/OAUTHBEARER as Java's clients configure it: where the token comes from.

```
sasl.mechanism=OAUTHBEARER
sasl.oauthbearer.token.endpoint.url=https://issuer.example/token     or file:/var/run/token
sasl.oauthbearer.client.credentials.client.id=audit                  or clientId="audit" in
sasl.oauthbearer.client.credentials.client.secret=${env:SECRET}      sasl.jaas.config
```

A setting wins over the option of `sasl.jaas.config`, as in Java's client. Options `ssl.*` of
`sasl.jaas.config` are for the endpoint, and settings `ssl.*` for the brokers. Options
`extension_NAME` are sent with the token (Confluent Cloud: `extension_logicalCluster`).

What this does not do: logins without a token endpoint (`unsecuredLoginStringClaim_sub`), and tokens
for an assertion (`sasl.oauthbearer.assertion.*`, RFC 7523). Both are rejected.

Source: KIP-768, KIP-1139, KIP-1258, `OAuthBearerLoginCallbackHandler`.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from rackwise.adapters.https import is_this_machine
from rackwise.adapters.kafka.logins import keys
from rackwise.adapters.kafka.logins.token_endpoint import TokenEndpoint
from rackwise.adapters.kafka.logins.token_file import TokenFile
from rackwise.adapters.kafka.logins.token_login import TokenLogin
from rackwise.adapters.kafka.setting_names import REASONS, TLS_SETTINGS, is_ignored
from rackwise.core.errors import InvalidConfig
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

if TYPE_CHECKING:
    import ssl
    from collections.abc import Callable, Mapping
    from urllib.parse import SplitResult

TIMEOUT_MS = 10_000
"""Default of both timeouts; Java has none."""
MAX_TIMEOUT_MS = 300_000

_EXTENSION = "extension_"
_OPTIONS = ("clientId", "clientSecret", "scope")
_STRIMZI = "oauth."
_NAME = re.compile(r"[A-Za-z]+")
_VALUE = re.compile(r"[\x20-\x7e\t\r\n]+")
_ENDPOINT_HINT = (
    f"for example {keys.ENDPOINT_URL}=https://issuer.example/oauth2/token, or file:/PATH of a file "
    "that holds a token"
)


def oauth_login(
    settings: Mapping[str, str],
    options: Mapping[str, str],
    *,
    tls: Callable[[Mapping[str, str | Secret]], ssl.SSLContext],
) -> TokenLogin:
    """The tokens of an endpoint or a file.

    `settings`: client settings; `options`: those of `sasl.jaas.config`; `tls`: the TLS context of
    settings `ssl.*`. Raises `InvalidConfig` for what is missing, and for what only Java could do.
    """
    _check_options(options)
    retriever = settings.get(keys.RETRIEVER, "")
    if retriever and retriever not in keys.RETRIEVERS:
        raise unknown_class(keys.RETRIEVER, retriever, keys.RETRIEVERS)
    url = settings.get(keys.ENDPOINT_URL, "")
    parts = _url(url)
    extensions = {
        name.removeprefix(_EXTENSION): value
        for name, value in options.items()
        if name.startswith(_EXTENSION)
    }
    if parts.scheme == "file":
        return TokenLogin(TokenFile(unquote(parts.path)), extensions)
    endpoint = TokenEndpoint(
        url=url,
        client_id=_value(settings, options, keys.CLIENT_ID, "clientId"),
        client_secret=Secret(_value(settings, options, keys.CLIENT_SECRET, "clientSecret")),
        scope=settings.get(keys.SCOPE, "") or options.get("scope", ""),
        encodes_header=_is_true(settings, keys.URL_ENCODE),
        connect_s=_timeout_s(settings, keys.CONNECT_TIMEOUT),
        read_s=_timeout_s(settings, keys.READ_TIMEOUT),
        tls=None
        if parts.scheme == "http"
        else tls({name: value for name, value in options.items() if name.startswith("ssl.")}),
    )
    return TokenLogin(endpoint, extensions)


def unknown_class(key: str, name: str, known: tuple[str, ...]) -> InvalidConfig:
    """The error for a Java class whose work is not known here."""
    return InvalidConfig(
        f"class {escaped(name)} of {key} cannot be loaded: Rackwise runs no Java",
        wanted=", ".join(known),
        had=name,
        hint=f"use {known[0]}, or let another program write the token into a file and set "
        f"{keys.ENDPOINT_URL}=file:/PATH",
        where=key,
    )


def _check_options(options: Mapping[str, str]) -> None:
    for name, value in options.items():
        if name.startswith(_EXTENSION):
            bare = name.removeprefix(_EXTENSION)
            if bare == "auth" or not _NAME.fullmatch(bare) or not _VALUE.fullmatch(value):
                raise InvalidConfig(
                    f"invalid option {escaped(name)} of sasl.jaas.config: expected letters after "
                    f"{_EXTENSION}, not auth, and a printable value",
                    wanted="letters, and a printable value",
                    had=name,
                    where="sasl.jaas.config",
                )
        elif name.startswith("ssl."):
            if name not in TLS_SETTINGS and not is_ignored(name, value):
                raise InvalidConfig(
                    f"option {escaped(name)} of sasl.jaas.config is not supported",
                    wanted=", ".join(TLS_SETTINGS),
                    had=name,
                    hint=REASONS.get(name, f"use one of {', '.join(TLS_SETTINGS)}"),
                    where="sasl.jaas.config",
                )
        elif name not in _OPTIONS:
            is_strimzi = name.startswith(_STRIMZI)
            raise InvalidConfig(
                f"option {escaped(name)} of sasl.jaas.config is not supported",
                wanted=", ".join((*_OPTIONS, f"{_EXTENSION}NAME", "ssl.*")),
                had=name,
                hint=f"write oauth.token.endpoint.uri as {keys.ENDPOINT_URL}, oauth.client.id as "
                "clientId, oauth.client.secret as clientSecret, and oauth.scope as scope"
                if is_strimzi
                else "remove it, or let another program write the token into a file and set "
                f"{keys.ENDPOINT_URL}=file:/PATH",
                where="sasl.jaas.config",
            )


def _url(text: str) -> SplitResult:
    """The parts of an address. Its text is not shown: an address may have a password in it."""
    try:
        parts = urlsplit(text)
        is_bad = parts.port == 0 or "@" in parts.netloc or not text.isprintable() or " " in text
    except ValueError:
        parts, is_bad = urlsplit(""), True
    if parts.scheme == "file":
        is_bad |= parts.netloc not in {"", "localhost"} or not parts.path.startswith("/")
    else:
        is_bad |= parts.scheme not in {"https", "http"} or not parts.hostname
    if is_bad:
        had = "another text" if text else "nothing"
        raise InvalidConfig(
            f"invalid {keys.ENDPOINT_URL}: expected https://HOST/PATH without user name, or "
            f"file:/PATH, got {had}",
            wanted="https://HOST/PATH or file:/PATH",
            had=had,
            hint=_ENDPOINT_HINT,
            where=keys.ENDPOINT_URL,
        )
    if parts.scheme == "http" and not is_this_machine(parts.hostname or ""):
        raise InvalidConfig(
            f"invalid {keys.ENDPOINT_URL}: expected https, got http to "
            f"{escaped(parts.hostname or '')}: it would send the client secret unencrypted",
            wanted="https",
            had="http",
            hint="use https; http is for an endpoint on this machine alone",
            where=keys.ENDPOINT_URL,
        )
    return parts


def _value(settings: Mapping[str, str], options: Mapping[str, str], key: str, option: str) -> str:
    found = settings.get(key) or options.get(option)
    if not found:
        raise InvalidConfig(
            f"invalid client settings: expected {key}, or {option} in sasl.jaas.config, got none",
            wanted=key,
            hint=f"set {key}; a secret can come from ${{env:NAME}}",
            where=key,
        )
    return found


def _is_true(settings: Mapping[str, str], key: str) -> bool:
    text = settings.get(key, "false").lower()
    if text not in {"true", "false"}:
        raise InvalidConfig(
            f"invalid {key}: expected true or false, got {escaped(text)}",
            wanted="true or false",
            had=text,
            hint=f"for example {key}=true",
            where=key,
        )
    return text == "true"


def _timeout_s(settings: Mapping[str, str], key: str) -> float:
    text = settings.get(key, str(TIMEOUT_MS))
    is_number = text.isascii() and text.isdigit() and len(text) <= len(str(MAX_TIMEOUT_MS))
    if not is_number or not 0 < int(text) <= MAX_TIMEOUT_MS:
        raise InvalidConfig(
            f"invalid {key}: expected 1 to {MAX_TIMEOUT_MS} milliseconds, got {escaped(text)}",
            wanted=f"1 to {MAX_TIMEOUT_MS}",
            had=text,
            hint=f"for example {key}={TIMEOUT_MS}",
            where=key,
        )
    return int(text) / 1000
