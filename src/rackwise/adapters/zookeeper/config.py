"""The settings of `--store-config`: login to a secured ZooKeeper, and the ACLs of our nodes.

```
tls.ca=/etc/rackwise/ca.pem                 certificate authorities; TLS is on if it is set
tls.certificate=/etc/rackwise/host.pem      our own certificate, if ZooKeeper asks for one
tls.key=/etc/rackwise/host-key.pem          not encrypted
auth.scheme=digest                          digest, sasl (DIGEST-MD5)
auth.user=kafka
auth.password.file=/etc/rackwise/password   or auth.password.env=ZK_PASSWORD
acl.kafka=sasl:kafka                        a principal that may read our nodes
acl.world.read=true                         all clients may read our nodes
```

Host names are checked and nodes get an ACL. The client does neither by itself. With a login, our
nodes belong to that login (all permissions); `acl.kafka` and, if set, the world may read them.
Without a login they are open, as Kafka's own nodes are.

A password is never in this file or on a command line: a file of its own or a variable holds it.
Users other than the owner and the group must not read this file, the password file and the key.

What this does not do: GSSAPI; encrypted keys; JKS stores.
"""

from __future__ import annotations

import os
import ssl
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

from kazoo.security import ACL, ANYONE_ID_UNSAFE, Id, Permissions

from rackwise.adapters.secret_files import check_private, read_secret
from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.core.java_properties import parse_properties
from rackwise.core.secret import Secret
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.adapters.zookeeper.address import Address

MAX_BYTES = 64 * 2**10
SCHEMES = ("digest", "sasl")
KNOWN_SETTINGS = (
    "tls.ca",
    "tls.certificate",
    "tls.key",
    "auth.scheme",
    "auth.user",
    "auth.password.file",
    "auth.password.env",
    "acl.kafka",
    "acl.world.read",
)
_BOOLEANS = {"true": True, "false": False}
_HINT = "see the settings of --store-config in docs/guides/broker-identity.md"


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreConfig:
    """Settings of `--store-config`. The default is for a ZooKeeper without login."""

    ca: str | None = None
    certificate: str | None = None
    key: str | None = None
    scheme: Literal["digest", "sasl"] | None = None
    user: str | None = None
    password: Secret | None = None
    reader: tuple[str, str] | None = None
    """(scheme, id) of a principal that may read our nodes."""
    is_world_readable: bool = False

    @property
    def has_tls(self) -> bool:
        """Whether the connection is encrypted, and the server must prove its name."""
        return self.ca is not None

    @property
    def has_login(self) -> bool:
        """Whether ZooKeeper knows our identity, so that nodes can belong to us."""
        return self.scheme is not None or self.certificate is not None

    def acl(self) -> list[ACL]:
        """Return the ACL of the nodes that we create."""
        if not self.has_login:
            return [ACL(Permissions.ALL, ANYONE_ID_UNSAFE)]
        granted = [ACL(Permissions.ALL, Id("auth", ""))]
        if self.reader is not None:
            granted.append(ACL(Permissions.READ, Id(*self.reader)))
        if self.is_world_readable:
            granted.append(ACL(Permissions.READ, ANYONE_ID_UNSAFE))
        return granted

    def client_arguments(self) -> dict[str, Any]:
        """Return the arguments for the client."""
        arguments: dict[str, Any] = {"default_acl": self.acl()}
        if self.has_tls:
            arguments |= {
                "use_ssl": True,
                "verify_certs": True,
                "check_hostname": True,
                "ca": self.ca,
                "certfile": self.certificate,
                "keyfile": self.key,
            }
        if self.password is None:
            return arguments
        if self.scheme == "digest":
            return {**arguments, "auth_data": [("digest", f"{self.user}:{self.password.reveal()}")]}
        return {
            **arguments,
            "sasl_options": {
                "mechanism": "DIGEST-MD5",
                "username": self.user,
                "password": self.password.reveal(),
            },
        }

    def warnings(self, address: Address) -> tuple[str, ...]:
        """Return warnings for the operator, before a session is opened."""
        if self.scheme == "digest" and not self.has_tls and not address.is_loopback:
            return ("the password goes over the network unencrypted: set tls.ca",)
        return ()


def read_store_config(
    path: str | os.PathLike[str], *, environ: Mapping[str, str] | None = None
) -> StoreConfig:
    """Read the settings of a file. `environ`: the variables, by default `os.environ`.

    Raises `InvalidConfig` (`InvalidProperties`) for an unknown setting and for files that cannot be
    loaded, `SecretExposed` if other users may read a secret, `MissingDependency` for sasl without
    pure-sasl.
    """
    name = os.fspath(path)
    data = _read(name, "store settings", "settings of the store")
    settings = {key: value.strip() for key, value in parse_properties(data).items()}
    for key in settings:
        if key not in KNOWN_SETTINGS:
            _reject(
                f"unknown setting {escaped(key)}",
                ", ".join(KNOWN_SETTINGS),
                key,
                name,
            )
    config = StoreConfig(
        ca=settings.get("tls.ca"),
        certificate=settings.get("tls.certificate"),
        key=settings.get("tls.key"),
        scheme=_scheme(settings, name),
        user=settings.get("auth.user"),
        password=_password(settings, os.environ if environ is None else environ, name),
        reader=_reader(settings, name),
        is_world_readable=_boolean(settings, "acl.world.read", name),
    )
    _check_login(config, name)
    _check_tls(config, name)
    return config


def _read(name: str, what: str, holds: str) -> bytes:
    return read_secret(name, what=what, holds=holds, hint=_HINT, max_bytes=MAX_BYTES)


def _reject(message: str, wanted: object, had: object, where: str) -> NoReturn:
    raise InvalidConfig(
        message,
        wanted=wanted,
        had=had,
        hint=_HINT,
        where=where,
    )


def _scheme(settings: Mapping[str, str], name: str) -> Literal["digest", "sasl"] | None:
    scheme = settings.get("auth.scheme")
    if scheme is not None and scheme not in SCHEMES:
        _reject(
            f"invalid auth.scheme: expected {' or '.join(SCHEMES)}, got {escaped(scheme)}",
            " or ".join(SCHEMES),
            scheme,
            name,
        )
    return cast("Literal['digest', 'sasl'] | None", scheme)


def _password(settings: Mapping[str, str], environ: Mapping[str, str], name: str) -> Secret | None:
    file, variable = settings.get("auth.password.file"), settings.get("auth.password.env")
    if file is not None and variable is not None:
        both = "auth.password.file and auth.password.env"
        _reject(f"expected one source of the password, got {both}", "one", both, name)
    if file is not None:
        return Secret(_first_line(_read(file, "password file", "a password"), file))
    if variable is None:
        return None
    found = environ.get(variable)
    if not found:
        message = f"environment variable {escaped(variable)} is not set"
        _reject(message, variable, "unset", name)
    return Secret(found)


def _first_line(data: bytes, file: str) -> str:
    try:
        line = data.decode().partition("\n")[0].rstrip("\r")
    except UnicodeDecodeError:
        line = ""
    if not line:
        _reject(
            f"expected a password in UTF-8 in the first line of {escaped(file)}, got none",
            "a password",
            "none",
            file,
        )
    return line


def _reader(settings: Mapping[str, str], name: str) -> tuple[str, str] | None:
    text = settings.get("acl.kafka")
    if text is None:
        return None
    scheme, colon, who = text.partition(":")
    if not (scheme and colon and who):
        message = f"invalid acl.kafka: expected SCHEME:ID, got {escaped(text)}"
        _reject(message, "SCHEME:ID, such as sasl:kafka", text, name)
    return scheme, who


def _boolean(settings: Mapping[str, str], key: str, name: str) -> bool:
    text = settings.get(key, "false").lower()
    if text not in _BOOLEANS:
        message = f"invalid {key}: expected true or false, got {escaped(text)}"
        _reject(message, "true or false", text, name)
    return _BOOLEANS[text]


def _check_login(config: StoreConfig, name: str) -> None:
    given = (config.scheme, config.user, config.password)
    if any(each is None for each in given) and any(each is not None for each in given):
        _reject(
            "expected auth.scheme, auth.user and a password together, got only some of them",
            "all three",
            "some of them",
            name,
        )
    if config.reader is not None and not config.has_login:
        _reject(
            "acl.kafka needs a login that owns the nodes: expected auth.scheme, got none",
            "auth.scheme",
            "none",
            name,
        )
    if config.user is not None and ":" in config.user:
        _reject("invalid auth.user: expected a name without a colon", "no colon", config.user, name)
    if config.scheme == "sasl":
        _check_sasl(name)


def _check_sasl(name: str) -> None:
    if find_spec("puresasl") is None:
        raise MissingDependency(
            "auth.scheme=sasl needs pure-sasl, which is not installed",
            wanted="pure-sasl",
            had=None,
            hint="pip install pure-sasl",
            where=name,
        )


def _check_tls(config: StoreConfig, name: str) -> None:
    """Load what the client will load: it would retry an absent file until its timeout."""
    if not config.has_tls and (config.certificate or config.key):
        _reject(
            "expected tls.ca beside tls.certificate and tls.key, got none", "tls.ca", "none", name
        )
    if (config.certificate is None) != (config.key is None):
        _reject(
            "expected tls.certificate and tls.key together, got one of them", "both", "one", name
        )
    if config.key is not None:
        check_private(_status(config.key, name), config.key, holds="a private key")
    if config.ca is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        try:
            context.load_verify_locations(config.ca)
        except (OSError, ValueError):
            _reject_pem("tls.ca", config.ca, name)
        _check_pair(config, context, name)


def _status(key: str, name: str) -> os.stat_result:
    try:
        return Path(key).stat()
    except (OSError, ValueError):
        return _reject_pem("tls.key", key, name)


def _check_pair(config: StoreConfig, context: ssl.SSLContext, name: str) -> None:
    if config.certificate is None:
        return
    try:
        context.load_cert_chain(config.certificate, config.key, password=_no_password)
    except (OSError, ValueError):
        _reject_pem("tls.certificate with tls.key", config.certificate, name)


def _no_password() -> str:
    """Instead of the question on the terminal."""
    raise ValueError


def _reject_pem(key: str, path: str, name: str) -> NoReturn:
    _reject(
        f"cannot load {key} {escaped(path)}: expected PEM without a password",
        "PEM without a password",
        path,
        name,
    )
