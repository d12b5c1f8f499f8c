"""Names of client settings that other tools write: librdkafka's, and those of Java alone.

librdkafka (kcat, confluent-kafka) has its own names for what Java has, too. `RENAMED` translates
them. `IGNORED` names settings that change nothing here. `REASONS` says why a setting that a user
may have cannot be obeyed. Every other security setting that is not supported is rejected.
"""

from __future__ import annotations

import re
from typing import TypeAlias

from rackwise.core.errors import InvalidConfig
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

Settings: TypeAlias = dict[str, str | Secret]

RENAMED = {
    "sasl.mechanisms": "sasl.mechanism",
    "metadata.broker.list": "bootstrap.servers",
    "ssl.ca.location": "ssl.truststore.location",
    "ssl.ca.pem": "ssl.truststore.certificates",
    "ssl.certificate.pem": "ssl.keystore.certificate.chain",
    "ssl.key.pem": "ssl.keystore.key",
    "sasl.oauthbearer.client.id": "sasl.oauthbearer.client.credentials.client.id",
    "sasl.oauthbearer.client.secret": "sasl.oauthbearer.client.credentials.client.secret",
}
"""librdkafka's name -> Java's name."""

OIDC_METHOD, OIDC_EXTENSIONS = "sasl.oauthbearer.method", "sasl.oauthbearer.extensions"
OIDC_SETTINGS = (OIDC_METHOD, OIDC_EXTENSIONS)
"""What librdkafka alone has for a token endpoint, and `add_oidc` turns into a JAAS line."""
_HTTPS_TRUST = {
    "https.ca.location": "ssl.truststore.location",
    "https.ca.pem": "ssl.truststore.certificates",
}
"""librdkafka's authorities of the token endpoint -> the option of the JAAS line."""
_EXTENSION = re.compile(r"\s*([A-Za-z]+)=([\x20-\x7e]+)")

TLS_SECRETS = (
    "ssl.key.password",
    "ssl.keystore.key",
    "ssl.keystore.password",
    "ssl.truststore.password",
)
TLS_SETTINGS = (
    *TLS_SECRETS,
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.truststore.certificates",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.keystore.certificate.chain",
    "ssl.certificate.location",
    "ssl.key.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.enabled.protocols",
)
"""What `tls` reads: settings for the brokers, and options of a JAAS line for a token endpoint."""

IGNORED = (
    "ssl.protocol",
    "ssl.keymanager.algorithm",
    "ssl.trustmanager.algorithm",
    "ssl.secure.random.implementation",
    "sasl.kerberos.kinit.cmd",
    "sasl.kerberos.min.time.before.relogin",
    "sasl.kerberos.ticket.renew.jitter",
    "sasl.kerberos.ticket.renew.window.factor",
)
"""Security settings without effect: a file for Java may have them, and nothing is less safe."""

REASONS = {
    "ssl.cipher.suites": "Python names cipher suites otherwise; use ssl.enabled.protocols",
    "ssl.provider": "Python has no security providers; use a JKS, PKCS12 or PEM store",
    "security.providers": "Python has no security providers; use a JKS, PKCS12 or PEM store",
    "ssl.engine.factory.class": "a class of Java cannot run here; use the settings of stores",
    "sasl.login.class": "a class of Java cannot run here; use sasl.jaas.config",
    "ssl.crl.location": "revocation lists are not read",
    "enable.ssl.certificate.verification": "certificates are always verified; remove this line, "
    "and set the authority in ssl.ca.location",
    "sasl.oauthbearer.config": "it makes unsecured tokens; use sasl.oauthbearer.method=oidc",
    "enable.sasl.oauthbearer.unsecure.jwt": "unsecured tokens are not supported; remove this "
    "line, and use sasl.oauthbearer.method=oidc",
    "sasl.oauthbearer.grant.type": "only client_credentials is supported",
    "sasl.oauthbearer.metadata.authentication.type": "tokens of a metadata service are not "
    "supported; let another program write the token into a file, and set "
    "sasl.oauthbearer.token.endpoint.url=file:/PATH",
}
"""Setting -> why it cannot be obeyed, as a hint."""

_ONLY_VALUE = {
    "enable.ssl.certificate.verification": "true",
    "enable.sasl.oauthbearer.unsecure.jwt": "false",
    "sasl.oauthbearer.grant.type": "client_credentials",
    "sasl.oauthbearer.metadata.authentication.type": "none",
}
"""Setting -> its one value that says what this client does anyway."""
_OAUTH_MODULE = "org.apache.kafka.common.security.oauthbearer.OAuthBearerLoginModule"
_SECRET_WORDS = ("password", "secret", "user.info")


def is_ignored(key: str, value: str) -> bool:
    """Whether a security setting is dropped, because the client does what it says anyway."""
    return key in IGNORED or value.strip().lower() == _ONLY_VALUE.get(key)


def is_hidden(key: str) -> bool:
    """Whether a setting of another program, such as a schema registry's, looks like a secret.

    >>> is_hidden("schema.registry.basic.auth.user.info"), is_hidden("client.id")
    (True, False)
    """
    return not key.startswith(("sasl.", "ssl.")) and any(word in key for word in _SECRET_WORDS)


def add(settings: Settings, key: str, value: str | Secret, where: str) -> None:
    """Set one setting under Java's name; each name is added once.

    Raises `InvalidConfig` if its other name has given it another value.
    """
    name = RENAMED.get(key, key)
    had = settings.get(name)
    if had is not None and _plain(had) != _plain(value):
        raise InvalidConfig(
            f"{escaped(_other_name(name))} and {escaped(name)} are one setting: expected one "
            "value, got two",
            wanted="one value",
            had="two",
            hint=f"remove one of the two lines; {escaped(name)} is Java's name",
            where=where,
        )
    settings[name] = value


def add_login(settings: Settings, name: str) -> None:
    """Turn librdkafka's `sasl.username` and `sasl.password` into Java's `sasl.jaas.config`.

    Raises `InvalidConfig` if only one is set, or if there is a `sasl.jaas.config` too.
    """
    given = [each for each in ("sasl.username", "sasl.password") if each in settings]
    if not given:
        return
    if len(given) == 1 or "sasl.jaas.config" in settings:
        had = [*given, *(each for each in ("sasl.jaas.config",) if each in settings)]
        raise InvalidConfig(
            "invalid login: expected sasl.username and sasl.password, or sasl.jaas.config, got "
            f"{' and '.join(had)}",
            wanted="one login",
            had=", ".join(had),
            hint="keep the login of one tool: librdkafka's two settings, or Java's one",
            where=name,
        )
    user, password = (_quoted(_plain(settings.pop(each))) for each in given)
    settings["sasl.jaas.config"] = Secret(f"login required username={user} password={password};")


def add_oidc(settings: Settings, name: str) -> None:
    """Turn what librdkafka alone has for a token endpoint into Java's `sasl.jaas.config`.

    Extensions and the authorities of the endpoint become options of the line. Raises
    `InvalidConfig` for another method than oidc, for extensions that are no pairs, and if there is
    a `sasl.jaas.config` too.
    """
    given = [each for each in OIDC_SETTINGS if each in settings]
    if not given:
        return
    _check_oidc(settings, given, name)
    options = {
        option: _plain(settings.pop(each))
        for each, option in _HTTPS_TRUST.items()
        if each in settings
    }
    for pair in filter(None, _plain(settings.pop(OIDC_EXTENSIONS, "")).split(",")):
        found = _EXTENSION.fullmatch(pair)
        if found is None:
            raise InvalidConfig(
                f"invalid {OIDC_EXTENSIONS}: expected NAME=VALUE, several with commas, got another "
                "text",
                wanted="NAME=VALUE, NAME of letters",
                had="another text",
                hint=f"for example {OIDC_EXTENSIONS}=logicalCluster=lkc-1,identityPoolId=pool-1",
                where=name,
            )
        options[f"extension_{found[1]}"] = found[2]
    del settings[OIDC_METHOD]
    words = "".join(f" {option}={_quoted(value)}" for option, value in options.items())
    settings["sasl.jaas.config"] = Secret(f"{_OAUTH_MODULE} required{words};")


def _check_oidc(settings: Settings, given: list[str], name: str) -> None:
    method = _plain(settings.get(OIDC_METHOD, "default")).strip()
    if method.lower() != "oidc":
        raise InvalidConfig(
            f"invalid {OIDC_METHOD}: expected oidc, got {escaped(method)}",
            wanted="oidc",
            had=method,
            hint=f"set {OIDC_METHOD}=oidc: another method wants a program that makes the tokens",
            where=name,
        )
    if "sasl.jaas.config" in settings:
        had = [*given, "sasl.jaas.config"]
        raise InvalidConfig(
            f"invalid login: expected {OIDC_METHOD}, or sasl.jaas.config, got {' and '.join(had)}",
            wanted="one login",
            had=", ".join(had),
            hint="keep the login of one tool: librdkafka's settings, or Java's line",
            where=name,
        )


def _other_name(name: str) -> str:
    """The name of a setting in librdkafka, or the name itself."""
    return next((theirs for theirs, ours in RENAMED.items() if ours == name), name)


def _plain(value: str | Secret) -> str:
    return value.reveal() if isinstance(value, Secret) else value


def _quoted(text: str) -> str:
    r"""The text as an option of a JAAS line.

    >>> _quoted('a"b\\')
    '"a\\"b\\\\"'
    """
    escaped_text = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped_text}"'
