r"""The client settings of a Java-properties file, as every Kafka tool takes them.

```
security.protocol=SASL_SSL
sasl.mechanism=SCRAM-SHA-512
sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \
  username="audit" password="${env:KAFKA_PASSWORD}";
ssl.truststore.type=PEM
ssl.truststore.location=/etc/kafka/ca.pem
```

`${env:NAME}` is replaced from the environment, so a file need not contain a password. A file that
contains one must be readable by its owner only. Security settings that are not supported are
rejected, never ignored; settings of producers and consumers (`acks`, `group.id`) have no effect
here. Stores are PEM files: Python does not read JKS.

Source: KIP-651 (PEM), KIP-421 (`${env:NAME}`), java.util.Properties.
"""

from __future__ import annotations

import os
import re
import stat
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig, InvalidProperties
from rackwise.core.java_properties import property_entries
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

MAX_BYTES = 1 << 20

PROTOCOLS = ("PLAINTEXT", "SSL", "SASL_PLAINTEXT", "SASL_SSL")
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")

SECRETS = ("sasl.jaas.config", "ssl.key.password")
SUPPORTED = (
    *SECRETS,
    "security.protocol",
    "sasl.mechanism",
    "ssl.truststore.type",
    "ssl.truststore.location",
    "ssl.keystore.type",
    "ssl.keystore.location",
    "ssl.endpoint.identification.algorithm",
    "ssl.enabled.protocols",
)
SECURITY_PREFIXES = ("security.", "sasl.", "ssl.")

_REFERENCE = re.compile(r"\$\{env:([A-Za-z_][A-Za-z0-9_]*)\}")
_JAAS_OPTION = re.compile(
    r'(?<![A-Za-z0-9_.])([A-Za-z0-9_.]++)\s*+=\s*+(?:"((?:\\.|[^"\\])*+)"|([^\s;"]++))'
)
"""A name begins at its first letter only: otherwise the time of a long name is quadratic."""


def read_client_config(
    path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None
) -> dict[str, str | Secret]:
    """The settings of a client properties file; values of `SECRETS` are `Secret`.

    `environ`: where `${env:NAME}` is looked up, `os.environ` by default. Raises `InvalidConfig` for
    a file that is not regular, too large, not UTF-8, or readable by others while it contains a
    secret, and for a security setting that is not supported.
    """
    name = os.fspath(path)
    text, mode = _read(name)
    settings: dict[str, str | Secret] = {}
    for line, key, value in _entries(text, name):
        where = f"{name}:{line}"
        if key.startswith(SECURITY_PREFIXES) and key not in SUPPORTED:
            raise InvalidConfig(
                f"client setting {escaped(key)} is not supported",
                wanted=", ".join(SUPPORTED),
                had=key,
                hint=f"use SASL {', '.join(MECHANISMS)}, or TLS with PEM files",
                where=where,
            )
        if key in SECRETS and mode & (stat.S_IRWXG | stat.S_IRWXO) and _holds_secret(value):
            raise InvalidConfig(
                f"invalid mode of {escaped(name)}: the file holds {key}; expected 0600, got "
                f"{mode:04o}",
                wanted="0600",
                had=f"{mode:04o}",
                hint=f"run chmod 600 {escaped(name)}",
                where=where,
            )
        resolved = _resolved(value, os.environ if environ is None else environ, where)
        settings[key] = Secret(resolved) if key in SECRETS else resolved
    return settings


def _read(name: str) -> tuple[str, int]:
    """Text and permission bits of a regular file, both from the same open file."""
    try:
        handle = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        raise InvalidConfig(
            f"cannot read client settings {escaped(name)}: {error.strerror}",
            hint="set the path of a properties file",
            where=name,
        ) from None
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise InvalidConfig(
                f"invalid client settings: expected a regular file, got {escaped(name)}",
                hint="set the path of a properties file",
                where=name,
            )
        raw = os.read(handle, MAX_BYTES + 1)
    finally:
        os.close(handle)
    if len(raw) > MAX_BYTES:
        raise InvalidConfig(
            f"invalid client settings {escaped(name)}: expected at most {MAX_BYTES} bytes, got "
            f"{status.st_size}",
            wanted=MAX_BYTES,
            had=status.st_size,
            where=name,
        )
    try:
        return raw.decode("utf-8"), stat.S_IMODE(status.st_mode)
    except UnicodeDecodeError as error:
        raise InvalidConfig(
            f"invalid client settings {escaped(name)}: expected UTF-8, got another byte at "
            f"{error.start}",
            where=name,
        ) from None


def _entries(text: str, name: str) -> list[tuple[int, str, str]]:
    """`line number, key, value` of each entry. The error shows no text: it may be a secret."""
    try:
        return property_entries(text)
    except InvalidProperties as error:
        raise InvalidConfig(
            f"invalid client settings {escaped(name)}: expected escapes of Java, got others",
            wanted=error.wanted,
            hint=error.hint,
            where=name,
        ) from None


def _holds_secret(value: str) -> bool:
    """Whether the value contains a secret itself, and not only a reference to a variable."""
    if _REFERENCE.fullmatch(value.strip()) or not value.strip():
        return False
    password = jaas_options(value).get("password")
    return password is None or not _REFERENCE.fullmatch(password)


def _resolved(value: str, environ: Mapping[str, str], where: str) -> str:
    def look_up(reference: re.Match[str]) -> str:
        found = environ.get(reference[1])
        if found is None:
            raise InvalidConfig(
                f"environment variable {reference[1]} is not set",
                wanted=reference[1],
                hint=f"export {reference[1]}, or write the value into a file of mode 0600",
                where=where,
            )
        return found

    return _REFERENCE.sub(look_up, value)


def jaas_options(text: str) -> dict[str, str]:
    r"""The options of a JAAS login line: `... required username="u" password="p\"q";`.

    >>> jaas_options('org.example.Module required username="u" password="p\\"q";')
    {'username': 'u', 'password': 'p"q'}
    """
    pairs = _JAAS_OPTION.findall(text)
    return {key: re.sub(r"\\(.)", r"\1", quoted) or bare for key, quoted, bare in pairs}
