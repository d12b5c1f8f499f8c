"""The security settings of a client as arguments of kafka-python, with TLS 1.2 as the minimum."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from rackwise.adapters.kafka.client_config import MECHANISMS, PROTOCOLS, jaas_options
from rackwise.core.errors import InvalidConfig
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

TLS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
PEM_HINT = "convert it: keytool -importkeystore to PKCS12, then openssl pkcs12 -nodes to PEM"


def security_arguments(settings: Mapping[str, str | Secret]) -> dict[str, Any]:
    """Arguments `security_protocol`, `sasl_*`, `ssl_context` for a kafka-python client.

    Raises `InvalidConfig` for an unknown protocol or mechanism, a login without user name or
    password, a store that is not PEM, and a certificate that cannot be loaded.
    """
    protocol = _text(settings, "security.protocol", "PLAINTEXT").upper()
    _one_of("security.protocol", protocol, PROTOCOLS)
    arguments: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL"):
        arguments |= _login(settings)
    if protocol.endswith("SSL"):
        arguments["ssl_context"] = _context(settings)
    return arguments


def _text(settings: Mapping[str, str | Secret], key: str, default: str = "") -> str:
    value = settings.get(key, default)
    return value.reveal() if isinstance(value, Secret) else value.strip()


def _one_of(key: str, value: str, allowed: tuple[str, ...]) -> None:
    if value not in allowed:
        known = ", ".join(filter(None, allowed)) + (" or nothing" if "" in allowed else "")
        raise InvalidConfig(
            f"invalid {key}: expected {known}, got {escaped(value) or 'nothing'}",
            wanted=known,
            had=value,
            hint=f"set {key} in the client settings",
            where=key,
        )


def _login(settings: Mapping[str, str | Secret]) -> dict[str, Any]:
    mechanism = _text(settings, "sasl.mechanism", "GSSAPI")
    _one_of("sasl.mechanism", mechanism, MECHANISMS)
    options = jaas_options(_text(settings, "sasl.jaas.config"))
    for option in ("username", "password"):
        if not options.get(option):
            raise InvalidConfig(
                f"invalid sasl.jaas.config: expected a {option}, got none",
                wanted=option,
                hint='sasl.jaas.config=MODULE required username="NAME" password="${env:PASSWORD}";',
                where="sasl.jaas.config",
            )
    return {
        "sasl_mechanism": mechanism,
        "sasl_plain_username": options["username"],
        "sasl_plain_password": options["password"],
    }


def _context(settings: Mapping[str, str | Secret]) -> ssl.SSLContext:
    """A client context: authorities of truststore or system, certificate of the keystore."""
    truststore, keystore = _store(settings, "truststore"), _store(settings, "keystore")
    with _loading("ssl.truststore.location", truststore):
        context = ssl.create_default_context(cafile=truststore)
    if keystore is not None:
        with _loading("ssl.keystore.location", keystore):
            context.load_cert_chain(keystore, password=lambda: _text(settings, "ssl.key.password"))
    versions = _versions(settings)
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if "ssl.endpoint.identification.algorithm" in settings:
        algorithm = _text(settings, "ssl.endpoint.identification.algorithm").lower()
        _one_of("ssl.endpoint.identification.algorithm", algorithm, ("https", ""))
        context.check_hostname = algorithm == "https"
    return context


def _store(settings: Mapping[str, str | Secret], which: str) -> str | None:
    """Path of the PEM store, or None where none is set."""
    path = _text(settings, f"ssl.{which}.location")
    if not path:
        return None
    _one_of(f"ssl.{which}.type", _text(settings, f"ssl.{which}.type", "JKS"), ("PEM",))
    return path


def _versions(settings: Mapping[str, str | Secret]) -> list[ssl.TLSVersion]:
    named = _text(settings, "ssl.enabled.protocols", ",".join(TLS)).split(",")
    for version in named:
        _one_of("ssl.enabled.protocols", version.strip(), tuple(TLS))
    return [TLS[version.strip()] for version in named]


@contextmanager
def _loading(key: str, path: str | None) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        raise InvalidConfig(
            f"cannot load {key} {escaped(path or '')}: {escaped(str(reason))}",
            wanted="PEM",
            had=path,
            hint=PEM_HINT,
            where=key,
        ) from None
