r"""The client settings of a Java-properties file, as every Kafka tool takes them.

```
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="audit" password="${env:KAFKA_PASSWORD}";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/kafka/ca.pem
```

References such as `${env:NAME}` are replaced (see `references`), so a file need not contain a
password. A file that contains one must not be readable by other users (see `secret_files`).
librdkafka's names are understood, too (see `setting_names`). Security settings that are not
supported are rejected, never ignored, unless they are in `IGNORED`; settings of producers and
consumers (`acks`, `group.id`) have no effect here.

Source: KIP-651 (PEM), KIP-421 (references), java.util.Properties.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.logins import keys
from rackwise.adapters.kafka.references import REFERENCE, References
from rackwise.adapters.kafka.setting_names import (
    OIDC_SETTINGS,
    REASONS,
    RENAMED,
    TLS_SECRETS,
    TLS_SETTINGS,
    add,
    add_login,
    add_oidc,
    is_hidden,
    is_ignored,
)
from rackwise.adapters.kafka.setting_text import entries_of, utf8_text
from rackwise.adapters.secret_files import check_private, read_regular
from rackwise.core.errors import InvalidConfig
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 1 << 20

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "GSSAPI", *keys.MECHANISMS)
JAAS_SECRETS = ("password", "clientSecret")
"""Options of a JAAS line that are secrets."""
KERBEROS_MODULE = "Krb5LoginModule"
"""The login module whose JAAS line holds no secret: the key is in the keytab."""

SECRETS = (
    "sasl.jaas.config",
    "sasl.password",
    *TLS_SECRETS,
    *keys.SECRETS,
)
SUPPORTED = (
    *SECRETS,
    "security.protocol",
    "sasl.mechanism",
    "sasl.username",
    *(key for key in keys.SETTINGS if key not in keys.SECRETS),
    *OIDC_SETTINGS,
    "sasl.kerberos.keytab",
    "sasl.kerberos.principal",
    "sasl.kerberos.service.name",
    *(key for key in TLS_SETTINGS if key not in TLS_SECRETS),
)
SECURITY_PREFIXES = ("security.", "sasl.", "ssl.")

_JAAS_OPTION = re.compile(
    r"(?<![A-Za-z0-9_.])([A-Za-z0-9_.]++)\s*+=\s*+"
    r"""(?:"((?:\\.|[^"\\])*+)"|'((?:\\.|[^'\\])*+)'|([^\s;"']++))"""
)
"""A name begins at its first letter only: otherwise the time of a long name is quadratic."""


def read_client_config(
    path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None
) -> dict[str, str | Secret]:
    """The settings of a client properties file, under Java's names; secrets are `Secret`.

    `environ`: where `${env:NAME}` is looked up, `os.environ` by default. Warns with
    `SettingsWarning` if the group may read a secret. Raises `InvalidConfig` for a file that is not
    regular, too large or not UTF-8, for a security setting that is not supported, and for a
    reference to nothing; `SecretExposed` for a secret that other users may read or write.
    """
    name = os.fspath(path)
    data, status = read_regular(
        name, what="client settings", hint="set the path of a properties file", max_bytes=MAX_BYTES
    )
    what = f"client settings {escaped(name)}"
    entries = entries_of(utf8_text(data, what=what, where=name), what=what, where=name)
    references = References(os.environ if environ is None else environ)
    references.declare(entries, name)
    held = [key for _, key, value in entries if _is_secret(key) and _holds_secret(key, value)]
    if held:
        check_private(status, name, holds=held[0])
    settings: dict[str, str | Secret] = {}
    last = {key: (line, value) for line, key, value in entries}
    for key, (line, value) in last.items():
        where = f"{name}:{line}"
        if key not in SUPPORTED and is_ignored(key, value):
            continue
        _check_supported(key, where)
        is_secret = _is_secret(key)
        text = references.resolved(value, where, key=key, is_secret=is_secret)
        add(settings, key, Secret(text) if is_secret else text, where)
    add_login(settings, name)
    add_oidc(settings, name)
    return settings


def _is_secret(key: str) -> bool:
    return RENAMED.get(key, key) in SECRETS or is_hidden(key)


def _check_supported(key: str, where: str) -> None:
    name = RENAMED.get(key, key)
    if name not in SUPPORTED and (key in REASONS or name.startswith(SECURITY_PREFIXES)):
        raise InvalidConfig(
            f"client setting {escaped(key)} is not supported",
            wanted=", ".join(SUPPORTED),
            had=key,
            hint=REASONS.get(
                key,
                f"remove the line; SASL {', '.join(MECHANISMS)} and TLS with "
                "JKS, PKCS12 or PEM stores are supported",
            ),
            where=where,
        )


def _holds_secret(key: str, value: str) -> bool:
    """Whether the value contains a secret itself, and not only a reference to one."""
    if REFERENCE.fullmatch(value.strip()) or not value.strip():
        return False
    if key != "sasl.jaas.config":
        return True
    options = jaas_options(value)
    of_token = keys.jaas_secrets(value)
    hidden = [options[each] for each in of_token or JAAS_SECRETS if each in options]
    if not hidden:
        return of_token is None and KERBEROS_MODULE not in value
    return not all(REFERENCE.fullmatch(each) for each in hidden)


def jaas_options(text: str) -> dict[str, str]:
    r"""The options of a JAAS login line: `... required username="u" password="p\"q";`.

    >>> jaas_options('org.example.Module required username="u" password="p\\"q";')
    {'username': 'u', 'password': 'p"q'}
    """
    pairs = _JAAS_OPTION.findall(text)
    return {
        key: re.sub(r"\\(.)", r"\1", double or single) or bare
        for key, double, single, bare in pairs
    }
