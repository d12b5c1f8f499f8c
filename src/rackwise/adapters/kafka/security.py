"""The security settings of a client as arguments of kafka-python, with TLS 1.2 as the minimum."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.adapters.kafka.client_config import MECHANISMS, PROTOCOLS, jaas_options
from rackwise.adapters.kafka.logins import keys
from rackwise.adapters.kafka.logins.choose import token_login
from rackwise.adapters.kafka.setting_text import one_of, text_of
from rackwise.adapters.kafka.tls import tls_context
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rackwise.core.secret import Secret


def security_arguments(
    settings: Mapping[str, str | Secret], servers: Sequence[str] = ()
) -> dict[str, Any]:
    """Arguments `security_protocol`, `sasl_*`, `ssl_context` for a kafka-python client.

    `servers`: `HOST:PORT` of the bootstrap servers, which name the region of MSK.
    Raises `InvalidConfig` for an unknown protocol or mechanism, a login without user name or
    password, and a store or certificate that cannot be loaded; `SecretExposed` for a private key
    that other users may read; `MissingDependency` for a package that is not installed.
    """
    protocol = text_of(settings, "security.protocol", "PLAINTEXT").upper()
    one_of("security.protocol", protocol, PROTOCOLS)
    arguments: dict[str, Any] = {"security_protocol": protocol}
    if protocol.startswith("SASL"):
        arguments |= _login(settings, servers)
    if protocol.endswith("SSL"):
        arguments["ssl_context"] = tls_context(settings)
    return arguments


def _login(settings: Mapping[str, str | Secret], servers: Sequence[str]) -> dict[str, Any]:
    mechanism = text_of(settings, "sasl.mechanism", "GSSAPI")
    one_of("sasl.mechanism", mechanism, MECHANISMS)
    if mechanism == "GSSAPI":
        from rackwise.adapters.kafka.kerberos import kerberos_login

        return kerberos_login(settings)
    options = jaas_options(text_of(settings, "sasl.jaas.config"))
    if mechanism in keys.MECHANISMS:
        return token_login(settings, options, mechanism=mechanism, servers=servers, tls=tls_context)
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
