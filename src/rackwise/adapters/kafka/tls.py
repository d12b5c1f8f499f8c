"""The TLS context of a client, from the `ssl.*` settings of Java and of librdkafka."""

from __future__ import annotations

import ssl
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.setting_text import one_of, text_of
from rackwise.adapters.kafka.stores.load import (
    MAX_STORE_BYTES,
    TYPES,
    is_pem,
    load_key,
    only_key,
    pem_of,
    read_store,
    well_formed,
)
from rackwise.adapters.kafka.stores.material import StoreName
from rackwise.adapters.secret_files import check_private, read_regular
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping

    from rackwise.core.secret import Secret

    Settings = Mapping[str, str | Secret]

VERSIONS = {"TLSv1.2": ssl.TLSVersion.TLSv1_2, "TLSv1.3": ssl.TLSVersion.TLSv1_3}
ALGORITHM = "ssl.endpoint.identification.algorithm"
_PEM_HINT = "check that the file is PEM, that the key is of the certificate, and ssl.key.password"
_ONE_HINT = "remove one of the two settings"


def tls_context(settings: Settings) -> ssl.SSLContext:
    """A client context: authorities of the trust store or the system, certificate of the key store.

    As in Java, each certificate of a trust store is trusted by itself, whether it is an authority
    of others, or not. Raises `InvalidConfig`, `SecretExposed` and `MissingDependency`.
    """
    context = _trusting(settings)
    _load_own(context, settings)
    versions = _versions(settings)
    context.minimum_version, context.maximum_version = min(versions), max(versions)
    if ALGORITHM in settings:
        algorithm = text_of(settings, ALGORITHM).lower()
        one_of(ALGORITHM, algorithm, ("https", "", "none"))
        context.check_hostname = algorithm == "https"
    return context


def _trusting(settings: Settings) -> ssl.SSLContext:
    inline = text_of(settings, "ssl.truststore.certificates")
    path = text_of(settings, "ssl.truststore.location")
    if inline and path:
        raise _both("ssl.truststore.certificates", "ssl.truststore.location")
    if inline:
        with _loading("ssl.truststore.certificates", ""):
            context = ssl.create_default_context(cadata=well_formed(inline) or inline)
    elif path:
        context = _trusting_store(settings, StoreName("ssl.truststore", path))
    else:
        return ssl.create_default_context()
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    return context


def _trusting_store(settings: Settings, name: StoreName) -> ssl.SSLContext:
    kind = _kind(settings, name)
    data, _ = _read(name)
    if is_pem(data, kind, name):
        with _loading("ssl.truststore.location", name.path):
            return ssl.create_default_context(cafile=name.path)
    content = read_store(data, password=_password(settings, name), key_password=None, name=name)
    trusted = [*content.certificates, *(each for key in content.keys for each in key.chain[:1])]
    if not trusted:
        raise name.error(
            "expected certificates, got none",
            wanted="certificates",
            had="none",
            hint="add the authority: keytool -importcert -file ca.pem -keystore FILE",
        )
    with _loading("ssl.truststore.location", name.path):
        return ssl.create_default_context(cadata=b"".join(trusted))


def _load_own(context: ssl.SSLContext, settings: Settings) -> None:
    """Load the certificate and the private key of this client, wherever they are."""
    names = ("ssl.keystore.location", "ssl.keystore.key", "ssl.certificate.location")
    given = [each for each in names if text_of(settings, each)]
    if len(given) > 1:
        raise _both(*given[:2])
    for key, other in (
        ("ssl.keystore.certificate.chain", "ssl.keystore.key"),
        ("ssl.key.location", "ssl.certificate.location"),
    ):
        if bool(text_of(settings, key)) != bool(text_of(settings, other)):
            raise InvalidConfig(
                f"expected {key} and {other} together, got one of them",
                wanted="both",
                had="one",
                hint="set both, or neither",
                where=key,
            )
    if given == ["ssl.keystore.location"]:
        _load_store(context, settings, StoreName("ssl.keystore", text_of(settings, given[0])))
    elif given == ["ssl.keystore.key"]:
        pem = text_of(settings, "ssl.keystore.key")
        pem += text_of(settings, "ssl.keystore.certificate.chain")
        with _loading("ssl.keystore.key and ssl.keystore.certificate.chain", ""):
            load_key(context, well_formed(pem).encode(), text_of(settings, "ssl.key.password"))
    elif given:
        _load_pair(context, settings)


def _load_store(context: ssl.SSLContext, settings: Settings, name: StoreName) -> None:
    kind = _kind(settings, name)
    data, status = _read(name)
    check_private(status, name.path, holds="a private key")
    key_password = text_of(settings, "ssl.key.password")
    if is_pem(data, kind, name):
        with _loading("ssl.keystore.location", name.path):
            load_key(context, data, key_password, paths=[name.path])
        return
    password = _password(settings, name)
    content = read_store(data, password=password, key_password=key_password or password, name=name)
    key = only_key(content, name)
    if not key.pkcs8:
        raise name.no_password()
    with _loading("ssl.keystore.location", name.path):
        load_key(context, pem_of(key).encode(), "")


def _load_pair(context: ssl.SSLContext, settings: Settings) -> None:
    names = ("ssl.certificate.location", "ssl.key.location")
    paths = [text_of(settings, name) for name in names]
    read = [_read_setting(*each, "a PEM file") for each in zip(names, paths, strict=True)]
    (certificates, _), (key, status) = read
    check_private(status, paths[1], holds="a private key")
    with _loading(" with ".join(names), paths[0]):
        password = text_of(settings, "ssl.key.password")
        load_key(context, certificates, password, key=key, paths=paths)


def _read(name: StoreName) -> tuple[bytes, os.stat_result]:
    return _read_setting(f"{name.setting}.location", name.path, "a store")


def _read_setting(setting: str, path: str, of: str) -> tuple[bytes, os.stat_result]:
    return read_regular(
        path,
        what=setting,
        hint=f"set {setting} to the path of {of}",
        where=setting,
        max_bytes=MAX_STORE_BYTES,
    )


def _kind(settings: Settings, name: StoreName) -> str:
    kind = text_of(settings, f"{name.setting}.type").upper()
    one_of(f"{name.setting}.type", kind, (*TYPES, ""))
    return kind


def _password(settings: Settings, name: StoreName) -> str | None:
    return text_of(settings, f"{name.setting}.password") or None


def _versions(settings: Settings) -> list[ssl.TLSVersion]:
    named = text_of(settings, "ssl.enabled.protocols", ",".join(VERSIONS)).split(",")
    for version in named:
        one_of("ssl.enabled.protocols", version.strip(), tuple(VERSIONS))
    return [VERSIONS[version.strip()] for version in named]


def _both(first: str, second: str) -> InvalidConfig:
    return InvalidConfig(
        f"expected one of {first} and {second}, got both",
        wanted="one",
        had="both",
        hint=_ONE_HINT,
        where=second,
    )


@contextmanager
def _loading(key: str, path: str) -> Iterator[None]:
    """Turn an error of OpenSSL into `InvalidConfig`."""
    try:
        yield
    except InvalidConfig:
        raise
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or type(error).__name__
        shown = f"{key} {escaped(path)}".strip()
        raise InvalidConfig(
            f"cannot load {shown}: {escaped(str(reason))}",
            wanted="PEM",
            had=path,
            hint=_PEM_HINT,
            where=key,
        ) from None
