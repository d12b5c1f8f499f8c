"""Reads PKCS12 stores with the package `cryptography`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.adapters.kafka.stores.material import PrivateKey, StoreContent
from rackwise.core.errors import MissingDependency

if TYPE_CHECKING:
    from cryptography.x509 import Certificate

    from rackwise.adapters.kafka.stores.material import StoreName

_SHROUDED_KEY = bytes.fromhex("060b2a864886f70d010c0a0102")
"""DER of 1.2.840.113549.1.12.10.1.2, which begins each protected private key."""
_HEAD = 2
_LONG = 0x80


def read_pkcs12(
    data: bytes, *, password: str | None, key_password: str | None, name: StoreName
) -> StoreContent:
    """The entries of a store. The password protects store and key; a key has no other, as in Java.

    `certificates` has those that belong to no key. A store with several keys is rejected: the
    package returns one of them. Raises `InvalidConfig`, and `MissingDependency` without
    `cryptography`.
    """
    try:
        from cryptography.exceptions import UnsupportedAlgorithm
        from cryptography.hazmat.primitives.serialization import (
            Encoding,
            NoEncryption,
            PrivateFormat,
        )
        from cryptography.hazmat.primitives.serialization.pkcs12 import load_pkcs12
    except ImportError:
        raise MissingDependency(
            "cryptography is required to read PKCS12 stores, but it is not installed",
            wanted="cryptography",
            hint='pip install "rackwise[stores]"',
            where=f"{name.setting}.location",
        ) from None
    if len(data) != _der_size(data):
        raise name.damaged(f"expected {_der_size(data)} bytes, got {len(data)}")
    count = data.count(_SHROUDED_KEY)
    if count > 1:
        raise name.several_keys(str(count))
    try:
        store = load_pkcs12(data, None if password is None else password.encode())
    except UnsupportedAlgorithm:
        raise name.error(
            "the store has an old or unknown encryption",
            wanted="AES or triple DES",
            had="another encryption",
            hint="write it again with keytool -importkeystore -deststoretype PKCS12 of Java 17",
        ) from None
    except ValueError:
        raise (name.no_password() if password is None else name.wrong_password()) from None
    if key_password is not None and key_password != password:
        raise name.error(
            f"expected the value of {name.setting}.password as ssl.key.password, got another one",
            wanted="one password",
            had="two",
            hint="remove ssl.key.password: a PKCS12 store has one password",
        )
    found = [each.certificate for each in store.additional_certs]
    if store.key is None:
        own = [] if store.cert is None else [store.cert.certificate]
        return StoreContent(certificates=tuple(_der(each) for each in (*own, *found)))
    chain = [] if store.cert is None else _chain(store.cert.certificate, found)
    key = PrivateKey(
        alias=((store.cert and store.cert.friendly_name) or b"").decode("utf-8", "replace"),
        pkcs8=store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption()),
        chain=tuple(_der(each) for each in chain),
    )
    others = tuple(_der(each) for each in found if each not in set(chain))
    return StoreContent(keys=(key,), certificates=others)


def _der(certificate: Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.DER)


def _chain(own: Certificate, others: list[Certificate]) -> list[Certificate]:
    """The certificate and its issuers in order; the package returns them in any order."""
    by_subject = {each.subject: each for each in others}
    chain = [own]
    while (issuer := by_subject.pop(chain[-1].issuer, None)) is not None:
        chain.append(issuer)
    return chain


def _der_size(data: bytes) -> int:
    """How many bytes the outermost value has, its head included; of indefinite length: all."""
    if len(data) < _HEAD or data[1] == _LONG:
        return len(data)
    if data[1] < _LONG:
        return _HEAD + data[1]
    head = _HEAD + data[1] - _LONG
    return head + int.from_bytes(data[_HEAD:head], "big")
