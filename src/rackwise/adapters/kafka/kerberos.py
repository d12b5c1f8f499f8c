"""Login by Kerberos, SASL/GSSAPI, with the package `gssapi` and kafka-python's mechanism.

| the JAAS line of `Krb5LoginModule` | librdkafka's setting | used as |
|---|---|---|
| `useKeyTab=true keyTab="F"` | `sasl.kerberos.keytab` | key of the principal; tickets stay in memory |
| `principal="P"` | `sasl.kerberos.principal` | principal, `user@REALM` |
| `useTicketCache=true ticketCache="F"` | - | tickets of `kinit` in this file |
| none of them | none | tickets of `kinit`, or the keytab in the variable `KRB5_CLIENT_KTNAME` |
| `serviceName="S"` | `sasl.kerberos.service.name` | first part of the brokers' principals, by default `kafka` |

kafka-python's mechanism takes the credentials of the process alone. `KerberosMechanism` replaces it
and acts differently only if the service name is a `KerberosService`, so other programs that use
kafka-python in this process see no change. Credentials are acquired before the first connection, so
a missing ticket is one error and not a timeout.

What this does not do: passwords; encryption or signatures under SASL (Kafka has neither).
Source: RFC 4752; the options of com.sun.security.auth.module.Krb5LoginModule.
"""  # noqa: E501 (a row of a table)

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from kafka.errors import SaslAuthenticationFailedError
from kafka.net.sasl import register_sasl_mechanism
from kafka.net.sasl.gssapi import SaslMechanismGSSAPI

from rackwise.adapters.kafka.client_config import jaas_options
from rackwise.adapters.kafka.setting_text import text_of
from rackwise.adapters.secret_files import read_secret
from rackwise.core.errors import AuthenticationFailed, InvalidConfig, MissingDependency
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.secret import Secret

Untyped: TypeAlias = Any
"""A value of gssapi, which has no types."""

SERVICE = "kafka"
"""The first part of a broker's principal, `kafka/host@REALM`."""
_HINT = (
    "run kinit, or set KRB5_CLIENT_KTNAME to a keytab, or set sasl.jaas.config="
    'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="FILE" '
    'principal="USER@REALM";'
)


@dataclass(frozen=True, slots=True)
class KerberosLogin:
    """Where the credentials of the client come from; an empty text is what the system has."""

    keytab: str = ""
    principal: str = ""
    ticket_cache: str = ""

    @property
    def source(self) -> str:
        """The source in words, for errors."""
        if self.keytab:
            return f"keytab {self.keytab} for {self.principal or 'its first principal'}"
        return f"ticket cache {self.ticket_cache}" if self.ticket_cache else "the ticket cache"

    def credentials(self) -> Untyped:
        """Credentials with a ticket; asks the KDC if need be. Raises `gssapi`'s `GSSError`."""
        import gssapi

        kind = gssapi.NameType.kerberos_principal
        name = gssapi.Name(self.principal, kind) if self.principal else None
        store = None
        if self.keytab:
            cache = f"MEMORY:rackwise-{self.principal}-{self.keytab}"
            store = {"client_keytab": f"FILE:{self.keytab}", "ccache": cache}
        elif self.ticket_cache:
            store = {"ccache": f"FILE:{self.ticket_cache}"}
        found = gssapi.Credentials(usage="initiate", name=name, store=store)
        _ = found.lifetime  # a keytab's first ticket is acquired here
        return found


class KerberosService(str):
    """The service name of brokers, with the client's login; kafka-python hands it on."""

    __slots__ = ("login",)
    login: KerberosLogin


class KerberosMechanism(SaslMechanismGSSAPI):
    """GSSAPI with the credentials of a `KerberosService`; for other names as kafka-python does."""

    def __init__(self, **config: Untyped) -> None:
        service = config.get("sasl_kerberos_service_name")
        if not isinstance(service, KerberosService):
            initialise: Untyped = super().__init__
            initialise(**config)
            return
        import gssapi

        self._is_done = False
        self._is_authenticated = False
        self.auth_id = f"{service}@{config['host']}"
        try:
            self.gssapi_name = gssapi.Name(
                self.auth_id, name_type=gssapi.NameType.hostbased_service
            ).canonicalize(gssapi.MechType.kerberos)
            self._client_ctx = gssapi.SecurityContext(
                name=self.gssapi_name, creds=service.login.credentials(), usage="initiate"
            )
            self._next_token = self._client_ctx.step(None)
        except gssapi.exceptions.GSSError as error:
            raise SaslAuthenticationFailedError(
                f"Kerberos has no ticket for {self.auth_id}: {_reason(error)}"
            ) from None


def kerberos_login(settings: Mapping[str, str | Secret]) -> dict[str, Any]:
    """Arguments of kafka-python for SASL/GSSAPI; a ticket of the client is acquired.

    Raises `MissingDependency` without `gssapi`, `InvalidConfig` for a keytab that cannot be read,
    `SecretExposed` for one that other users may read, and `AuthenticationFailed` without a ticket.
    """
    service = _service(settings)
    try:
        import gssapi
    except (ImportError, OSError):
        raise MissingDependency(
            "gssapi is required to log in with Kerberos, but it is not installed",
            wanted="gssapi",
            hint='pip install "rackwise[gssapi]"; it is built from source and needs a C compiler '
            "and the headers of Kerberos (Debian: apt install gcc python3-dev libkrb5-dev)",
        ) from None
    try:
        service.login.credentials()
    except gssapi.exceptions.GSSError as error:
        raise AuthenticationFailed(
            f"no Kerberos ticket from {escaped(service.login.source)}: {escaped(_reason(error))}",
            wanted="a Kerberos ticket",
            had="none",
            hint=_HINT,
        ) from None
    register: Untyped = register_sasl_mechanism
    register("GSSAPI", KerberosMechanism, overwrite=True)
    return {"sasl_mechanism": "GSSAPI", "sasl_kerberos_service_name": service}


def _service(settings: Mapping[str, str | Secret]) -> KerberosService:
    options = jaas_options(text_of(settings, "sasl.jaas.config"))
    keytab = text_of(settings, "sasl.kerberos.keytab") or options.get("keyTab", "")
    principal = text_of(settings, "sasl.kerberos.principal") or options.get("principal", "")
    if "keyTab" in options and options.get("useKeyTab", "").lower() != "true":
        raise InvalidConfig(
            "invalid sasl.jaas.config: expected useKeyTab=true beside keyTab, got none",
            wanted="useKeyTab=true",
            had=options.get("useKeyTab"),
            hint="add useKeyTab=true, as Java needs it, or remove keyTab",
            where="sasl.jaas.config",
        )
    keytab = keytab.removeprefix("FILE:")
    if keytab:
        read_secret(keytab, what="keytab", holds="a Kerberos key", hint=_HINT)
    name = text_of(settings, "sasl.kerberos.service.name") or options.get("serviceName") or SERVICE
    service = KerberosService(name)
    service.login = KerberosLogin(keytab, principal, options.get("ticketCache", ""))
    return service


def _reason(error: Untyped) -> str:
    """The part of a GSSAPI error that says what is wrong, without numbers."""
    return str(error).rpartition("): ")[2]
