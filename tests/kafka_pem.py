"""A certificate for 127.0.0.1 with its authority, its key bare and locked, and a stranger's."""

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
_key = load_pem_private_key(_issued.private_key_pem.bytes(), None)


def _pem(lock: KeySerializationEncryption) -> str:
    return _key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, lock).decode()


KEY = _pem(NoEncryption())
LOCKED_KEY = _pem(BestAvailableEncryption(PASSWORD.encode()))
CERTIFICATE = _issued.cert_chain_pems[0].bytes().decode()
AUTHORITY = _authority.cert_pem.bytes().decode()
STRANGER = trustme.CA().cert_pem.bytes().decode()
