"""Reads JKS, Java's own format of key stores, with the standard library alone.

Goals, in order: a store with another password, or with one changed bit, is rejected; hostile bytes
end in one error, in time linear in their number; the keys and certificates are those that `keytool`
wrote.

```
u4 magic FEEDFEED   u4 version 1 or 2   u4 number of entries
entry:       u4 tag   utf alias   u8 creation time
  tag 1, private key:       u4 length, protected key   u4 number, certificates, own first
  tag 2, trusted:           certificate
certificate: utf type (version 2 only)   u4 length, DER
20 bytes:    SHA-1 of password, "Mighty Aphrodite" and all bytes before
```

`utf` is u2 length and bytes. Passwords are UTF-16, big endian. Sun's key protector encrypts a key
by XOR with blocks of 20 bytes: the first block is the SHA-1 of password and salt, each other block
the SHA-1 of password and the block before. The SHA-1 of password and key follows the key, so
another password is noticed.

The whole structure is read before the digest is checked: a store that was cut is reported as
damaged, not as a wrong password. Without a password, the digest is not checked, as in Java.

What this does not do: JCEKS (magic CECECECE); secret keys; write stores. SHA-1 and this protector
are weak: a reader of the file can guess passwords fast. PKCS12 is better.
Source: sun.security.provider.JavaKeyStore, sun.security.provider.KeyProtector (formats only).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha1
from hmac import compare_digest
from typing import TYPE_CHECKING

from rackwise.adapters.kafka.stores.material import PrivateKey, StoreContent

if TYPE_CHECKING:
    from rackwise.adapters.kafka.stores.material import StoreName

MAGIC = b"\xfe\xed\xfe\xed"
VERSIONS = (1, 2)
DIGEST = 20
"""Bytes of SHA-1, and of a salt."""
MAX_KEY = 1 << 16
"""The largest protected key, in bytes; RSA with 16,384 bits needs 10,000."""
_PRIVATE_KEY, _TRUSTED = 1, 2
_WHITENER = b"Mighty Aphrodite"
_PROTECTOR = bytes.fromhex("060a2b060104012a02110101")
"""DER of Sun's key protector, 1.3.6.1.4.1.42.2.17.1.1."""
_SEQUENCE, _OCTETS, _LONG = 0x30, 0x04, 0x80
_TIME = 8
"""Bytes of a creation time."""


class _DamagedStore(Exception):
    """The bytes are not a store; the text says what is wrong where."""


@dataclass(frozen=True, slots=True)
class _ProtectedKey:
    alias: str
    protected: bytes
    """DER of an EncryptedPrivateKeyInfo."""
    chain: tuple[bytes, ...]


def read_jks(
    data: bytes, *, password: str | None, key_password: str | None, name: StoreName
) -> StoreContent:
    """The entries of a store.

    `password`: checks that the store is unchanged; None omits the check. `key_password`: decrypts
    the private keys; None leaves them empty. Raises `InvalidConfig` for a damaged store and for a
    wrong password.
    """
    body = data[:-DIGEST]
    try:
        protected, certificates = _entries(body)
        if password is not None and not _is_unchanged(body, data[-DIGEST:], password):
            raise name.wrong_password()
        keys = [
            PrivateKey(
                alias=each.alias,
                pkcs8=b"" if key_password is None else _decrypted(each.protected, key_password),
                chain=each.chain,
            )
            for each in protected
        ]
    except _DamagedStore as error:
        raise name.damaged(str(error)) from None
    if key_password is not None and not all(each.pkcs8 for each in keys):
        raise name.error(
            "ssl.key.password does not decrypt the private key",
            wanted="the password of the key",
            had="another password",
            hint="set ssl.key.password; by default it is the password of the store",
        )
    return StoreContent(keys=tuple(keys), certificates=tuple(certificates))


class _Reader:
    """Reads fields of a store from front to back."""

    def __init__(self, data: bytes, start: int = 0) -> None:
        self.data = data
        self.at = start

    def take(self, size: int) -> bytes:
        """The next bytes."""
        end = self.at + size
        if end > len(self.data):
            raise _DamagedStore(f"{size} bytes are missing at byte {self.at}")
        taken = self.data[self.at : end]
        self.at = end
        return taken

    def number(self, size: int = 4) -> int:
        """The next unsigned integer of `size` bytes."""
        return int.from_bytes(self.take(size), "big")

    def text(self) -> str:
        """The next text, with its length before it."""
        return self.take(self.number(2)).decode("utf-8", "replace")

    def certificate(self, version: int) -> bytes:
        """The next certificate, without its type."""
        if version == VERSIONS[-1]:
            self.text()
        return self.take(self.number())


def _entries(body: bytes) -> tuple[list[_ProtectedKey], list[bytes]]:
    reader = _Reader(body, len(MAGIC))
    version, count = reader.number(), reader.number()
    if version not in VERSIONS:
        raise _DamagedStore(f"expected version 1 or 2, got {version}")
    keys: list[_ProtectedKey] = []
    certificates: list[bytes] = []
    for _ in range(count):
        tag, alias = reader.number(), reader.text()
        reader.take(_TIME)
        if tag == _TRUSTED:
            certificates.append(reader.certificate(version))
        elif tag == _PRIVATE_KEY:
            protected = reader.take(reader.number())
            chain = tuple(reader.certificate(version) for _ in range(reader.number()))
            keys.append(_ProtectedKey(alias, protected, chain))
        else:
            raise _DamagedStore(f"expected an entry of kind 1 or 2, got {tag}")
    if reader.at != len(body):
        raise _DamagedStore(f"{len(body) - reader.at} bytes follow the last entry")
    return keys, certificates


def _is_unchanged(body: bytes, digest: bytes, password: str) -> bool:
    made = sha1(_of_java(password) + _WHITENER + body, usedforsecurity=False).digest()
    return compare_digest(made, digest)


def _of_java(password: str) -> bytes:
    return password.encode("utf-16-be", "surrogatepass")


def _decrypted(protected: bytes, password: str) -> bytes:
    """The key in clear, or nothing if the password is wrong."""
    salted = _octets_of(protected)
    salt, secret, check = salted[:DIGEST], salted[DIGEST:-DIGEST], salted[-DIGEST:]
    start = sha1(_of_java(password), usedforsecurity=False)
    block, blocks = salt, bytearray()
    while len(blocks) < len(secret):
        one = start.copy()
        one.update(block)
        block = one.digest()
        blocks += block
    size = len(secret)
    clear = int.from_bytes(secret, "big") ^ int.from_bytes(blocks[:size], "big")
    key = clear.to_bytes(size, "big")
    start.update(key)
    return key if compare_digest(start.digest(), check) else b""


def _octets_of(protected: bytes) -> bytes:
    """The octets of an EncryptedPrivateKeyInfo of Sun's protector."""
    reader = _Reader(protected)
    _skip_head(reader, _SEQUENCE)
    kind = reader.take(_skip_head(reader, _SEQUENCE))
    if not kind.startswith(_PROTECTOR):
        raise _DamagedStore("a private key has another protection than that of JKS")
    octets = reader.take(_skip_head(reader, _OCTETS))
    if not 2 * DIGEST < len(octets) <= MAX_KEY:
        raise _DamagedStore(f"a private key has {len(octets)} bytes")
    return octets


def _skip_head(reader: _Reader, tag: int) -> int:
    """The length of the next DER value, which must have this tag."""
    if reader.number(1) != tag:
        raise _DamagedStore("a private key is not DER")
    length = reader.number(1)
    return length if length < _LONG else reader.number(length - _LONG)
