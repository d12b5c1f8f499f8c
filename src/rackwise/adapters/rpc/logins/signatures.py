"""Whether a key signed a token, by PyJWT and cryptography.

The library gets a key object of one type and the one algorithm that the key set and the header
agree on, so a public key is never taken for a secret, and a token without a signature is none.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cryptography.exceptions import UnsupportedAlgorithm
from jwt import PyJWS
from jwt.algorithms import ECAlgorithm, RSAAlgorithm
from jwt.exceptions import PyJWTError

from rackwise.core.sasl.tokens import ALGORITHMS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rackwise.core.sasl.key_set import SigningKey
    from rackwise.core.sasl.tokens import TokenHeader

_SIGNATURES = PyJWS(algorithms=list(ALGORITHMS))


def signed_payload(token: str, header: TokenHeader, keys: Iterable[SigningKey]) -> bytes | None:
    """The payload of a token that one of these keys signed; None for another token.

    `keys`: those that fit `header`, the header of this token.
    """
    for key in keys:
        try:
            found = _SIGNATURES.decode_complete(
                token, _public_key(key), algorithms=[header.algorithm]
            )
        # cryptography raises ValueError for a point that is not on its curve, and for bad numbers.
        except (PyJWTError, UnsupportedAlgorithm, ValueError):
            continue
        payload: bytes = found["payload"]
        return payload
    return None


def _public_key(key: SigningKey) -> Any:  # noqa: ANN401 (a type of cryptography)
    of_kind = RSAAlgorithm if key.numbers["kty"] == "RSA" else ECAlgorithm
    return of_kind.from_jwk(dict(key.numbers))
