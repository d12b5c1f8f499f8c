"""A certificate for 127.0.0.1, its authority, its key plain and encrypted, another authority.

Also an expired certificate of the same authority and one for another name, with their keys.
"""

from datetime import UTC, datetime

import trustme
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
    load_pem_private_key,
)

PASSWORD = "pw"  # noqa: S105 (it guards a key made anew in each run)

_authority = trustme.CA()
_issued = _authority.issue_cert("127.0.0.1", "localhost")
_expired = _authority.issue_cert(
    "127.0.0.1",
    not_before=datetime(2020, 1, 1, tzinfo=UTC),
    not_after=datetime(2021, 1, 1, tzinfo=UTC),
)
_key = load_pem_private_key(_issued.private_key_pem.bytes(), None)


def _pem(lock: KeySerializationEncryption) -> str:
    return _key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


def _pair(issued: trustme.LeafCert) -> str:
    """The key in PKCS 8, then the certificate."""
    key = load_pem_private_key(issued.private_key_pem.bytes(), None)
    shown = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode()
    return shown + issued.cert_chain_pems[0].bytes().decode()


KEY = _pem(NoEncryption())
LOCKED_KEY = _pem(BestAvailableEncryption(PASSWORD.encode()))
CERTIFICATE = _issued.cert_chain_pems[0].bytes().decode()
EXPIRED = _pair(_expired)
OTHER_NAME = _pair(_authority.issue_cert("elsewhere.test"))
AUTHORITY = _authority.cert_pem.bytes().decode()
_stranger = trustme.CA()
STRANGER = _stranger.cert_pem.bytes().decode()
_strangers = _stranger.issue_cert("127.0.0.1")
STRANGERS_KEY = _strangers.private_key_pem.bytes().decode()
STRANGERS_CERTIFICATE = _strangers.cert_chain_pems[0].bytes().decode()
