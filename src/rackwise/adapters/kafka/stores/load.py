"""Reads a store of any supported type, which its first bytes tell.

| `ssl.keystore.type`, `ssl.truststore.type` | reads |
|---|---|
| not set | JKS, PKCS12 or PEM |
| JKS, PKCS12 | JKS or PKCS12: Java reads both under either name |
| PEM | PEM |

A private key is decrypted in memory only. Python's `ssl` takes client keys from files alone, so the
key is in an anonymous file in memory (`memfd_create`) while it is loaded. It has no name, and it is
gone when it is closed. PEM goes the same way, so the bytes whose file mode was checked are loaded.
Where there are no files in memory (macOS), PEM is loaded by its path, and other stores are not.
"""

from __future__ import annotations

import os
import re
from base64 import b64encode
from contextlib import ExitStack, contextmanager
from textwrap import wrap
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.stores.jks import MAGIC, read_jks
from rackwise.adapters.kafka.stores.pkcs12 import read_pkcs12
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterator, Sequence

    from rackwise.adapters.kafka.stores.material import PrivateKey, StoreContent, StoreName

TYPES = ("JKS", "PKCS12", "PEM")
MAX_STORE_BYTES = 1 << 22
"""The largest store that is read; Java's own list of authorities has 200 KiB."""
_PEM = b"-----BEGIN "
_PFX = re.compile(rb"\x30(?:[\x00-\x7f]|[\x80-\x84][\x00-\xff]{0,4}?)\x02\x01\x03")
"""A DER sequence that begins with the integer 3, as PKCS12 does."""
_JCEKS = b"\xce\xce\xce\xce"
_BLOCK = re.compile(r"-----BEGIN ([A-Z0-9 ]{1,40})-----([^-]*+)-----END \1-----")
_WIDTH = 64
_CONVERT = "write it as PKCS12: keytool -importkeystore -srckeystore FILE -deststoretype PKCS12"


def is_pem(data: bytes, kind: str, name: StoreName) -> bool:
    """Whether the bytes are PEM. `kind`: the type that is set, or an empty text.

    Raises `InvalidConfig` for bytes that are not of this type, and for types of other providers.
    """
    had = _kind_of(data)
    allowed = {"": TYPES, "PEM": ("PEM",)}.get(kind, TYPES[:2])
    if had not in allowed:
        raise name.error(
            f"expected {' or '.join(allowed)}, got {had}",
            wanted=" or ".join(allowed),
            had=had,
            hint=f"set {name.setting}.type={had}" if had in TYPES else _CONVERT,
        )
    return had == "PEM"


def _kind_of(data: bytes) -> str:
    if data.startswith(MAGIC):
        return "JKS"
    if data.startswith(_JCEKS):
        return "JCEKS"
    if _PFX.match(data):
        return "PKCS12"
    if _PEM in data:
        return "PEM"
    return "BCFKS or another store" if data.startswith(b"\x30") else "no store"


def read_store(
    data: bytes, *, password: str | None, key_password: str | None, name: StoreName
) -> StoreContent:
    """The entries of a JKS or PKCS12 store. Raises `InvalidConfig` and `MissingDependency`."""
    if data.startswith(MAGIC):
        return read_jks(data, password=password, key_password=key_password, name=name)
    return read_pkcs12(data, password=password, key_password=key_password, name=name)


def only_key(content: StoreContent, name: StoreName) -> PrivateKey:
    """The private key of a key store. Raises `InvalidConfig` for none and for several."""
    if len(content.keys) > 1:
        raise name.several_keys(", ".join(sorted(each.alias for each in content.keys)))
    if not content.keys:
        raise name.error(
            f"expected a private key, got {len(content.certificates)} certificates only",
            wanted="a private key",
            had="certificates",
            hint="set the key store of this client, not its trust store",
        )
    return content.keys[0]


def pem_of(key: PrivateKey) -> str:
    """The private key and its certificates as PEM."""
    blocks = [("PRIVATE KEY", key.pkcs8), *(("CERTIFICATE", each) for each in key.chain)]
    return "".join(_block(label, b64encode(der).decode()) for label, der in blocks)


def well_formed(text: str) -> str:
    r"""PEM with its line ends, from PEM of one line, as Java accepts it in a properties file.

    >>> well_formed("-----BEGIN CERTIFICATE----- AAAA BBBB -----END CERTIFICATE-----")
    '-----BEGIN CERTIFICATE-----\nAAAABBBB\n-----END CERTIFICATE-----\n'
    """
    return "".join(_block(label, "".join(body.split())) for label, body in _BLOCK.findall(text))


def _block(label: str, base64: str) -> str:
    return "\n".join(
        [f"-----BEGIN {label}-----", *wrap(base64, _WIDTH), f"-----END {label}-----", ""]
    )


def load_key(
    context: ssl.SSLContext,
    pem: bytes,
    password: str,
    *,
    key: bytes | None = None,
    paths: Sequence[str] = (),
) -> None:
    """Load a private key and its certificates into the context, without a file on a disk.

    `key`: PEM with the key, if `pem` has the certificates alone. `paths`: the files that the PEM is
    from, which are loaded where the operating system has no files in memory. Raises `ssl.SSLError`
    for PEM that cannot be loaded, and `InvalidConfig` where there are neither.
    """
    with ExitStack() as stack:
        if paths and not hasattr(os, "memfd_create"):
            certificates, *keys = paths
        else:
            certificates = stack.enter_context(_in_memory(pem))
            keys = [] if key is None else [stack.enter_context(_in_memory(key))]
        context.load_cert_chain(certificates, keys[0] if keys else None, lambda: password)


@contextmanager
def _in_memory(data: bytes) -> Iterator[str]:
    """The path of a file in memory with these bytes."""
    if not hasattr(os, "memfd_create"):
        raise InvalidConfig(
            "cannot load the private key: this operating system has no files in memory",
            wanted="Linux",
            had=os.name,
            hint="set ssl.keystore.type=PEM and ssl.keystore.location to a PEM file",
        )
    with os.fdopen(os.memfd_create("rackwise", os.MFD_CLOEXEC), "wb") as file:
        file.write(data)
        file.flush()
        yield f"/proc/self/fd/{file.fileno()}"
