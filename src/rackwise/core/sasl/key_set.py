"""The public keys of an issuer: a JSON Web Key Set, read strictly.

```
{"keys":[{"kty":"RSA","kid":"a","use":"sig","alg":"RS256","n":"0vx7..","e":"AQAB"},
         {"kty":"EC","kid":"b","crv":"P-256","x":"f83O..","y":"x_FE.."}]}
```

Keys that cannot check a signature of `tokens.ALGORITHMS` are ignored, as RFC 7517 5 says: keys for
encryption, symmetric keys, other curves, RSA below 2048 bits or above 8192, and a private key that
somebody published. A set without a usable key is an error when the service starts. Later it means
that the issuer removed its keys.

Only the numbers of a key are passed on, so the library that checks signatures reads no certificate
and no unknown member.

Source: RFC 7517; RFC 7518 6; RFC 8725 3.5 (key sizes).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import InvalidConfig, RemoteProtocolError
from rackwise.core.json.strict import NotStrict, read_object
from rackwise.core.sasl.tokens import ALGORITHMS, MOST_KEY_ID, from_base64url
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.sasl.tokens import TokenHeader

MOST_BYTES = 1 << 19
"""The largest document; some issuers add certificates of several kB to each key."""
MOST_KEYS = 100
LEAST_RSA_BITS = 2048
MOST_RSA_BITS = 8192
MOST_EXPONENT = (1 << 32) - 1
"""A larger one makes each check slow."""
_COORDINATE_BYTES = {"P-256": 32, "P-384": 48, "P-521": 66}
_HINT = "give the jwks_uri of the issuer's OpenID configuration, or a file with its content"


@dataclass(frozen=True, slots=True, kw_only=True)
class SigningKey:
    """A public key of an issuer."""

    key_id: str | None
    algorithms: frozenset[str]
    """The algorithms of its signatures."""
    numbers: Mapping[str, str] = field(repr=False)
    """`kty` and its numbers, as in the document."""

    def fits(self, header: TokenHeader) -> bool:
        """Whether this key could have signed a token with this header."""
        is_named = header.key_id is None or header.key_id == self.key_id
        return is_named and header.algorithm in self.algorithms


def keys_for(keys: tuple[SigningKey, ...], header: TokenHeader) -> tuple[SigningKey, ...]:
    """The keys that could have signed a token.

    A token without a key id has one only if a single key fits: it must not be tried with all.
    """
    found = tuple(key for key in keys if key.fits(header))
    return () if header.key_id is None and len(found) > 1 else found


def parse_key_set(data: bytes, *, where: str) -> tuple[SigningKey, ...]:
    """The usable keys of a document, which may be none. Raises `InvalidConfig`."""
    try:
        found = read_object(data, most=MOST_BYTES).get("keys")
    except NotStrict as error:
        raise _invalid(where, f"a JSON object with keys ({escaped(error.told)})") from None
    if not isinstance(found, list) or len(found) > MOST_KEYS:
        raise _invalid(where, f"a JSON object with up to {MOST_KEYS} keys")
    return tuple(key for each in found if (key := _key(each)) is not None)


def some_keys(keys: tuple[SigningKey, ...], *, where: str) -> tuple[SigningKey, ...]:
    """The same keys. Raises `InvalidConfig` if there are none."""
    if not keys:
        raise _invalid(where, "at least one public RSA or EC key for signatures")
    return keys


def _key(found: Any) -> SigningKey | None:  # noqa: ANN401 (a value of JSON)
    if not isinstance(found, dict):
        return None
    key_id, use, operations = (found.get(name) for name in ("kid", "use", "key_ops"))
    is_named = key_id is None or (isinstance(key_id, str) and len(key_id) <= MOST_KEY_ID)
    is_verifying = operations is None or (isinstance(operations, list) and "verify" in operations)
    if not is_named or use not in (None, "sig") or not is_verifying or "d" in found:
        return None
    try:
        kind, names = _kind(found)
    except RemoteProtocolError:
        return None
    algorithms = frozenset(name for name, of in ALGORITHMS.items() if of == kind)
    if "alg" in found:
        algorithms &= {each for each in ALGORITHMS if each == found["alg"]}
    if not algorithms:
        return None
    return SigningKey(
        key_id=key_id, algorithms=algorithms, numbers={name: found[name] for name in names}
    )


def _kind(found: Mapping[str, Any]) -> tuple[str, tuple[str, ...]]:
    """`RSA` or the curve, and the members with its numbers; "" for a key that is not used."""
    if found.get("kty") == "RSA":
        modulus, exponent = _number(found, "n"), _number(found, "e")
        is_sized = LEAST_RSA_BITS <= modulus.bit_length() <= MOST_RSA_BITS
        is_usable = is_sized and modulus % 2 and exponent % 2 and 1 < exponent <= MOST_EXPONENT
        return ("RSA", ("kty", "n", "e")) if is_usable else ("", ())
    curve = found.get("crv")
    if found.get("kty") == "EC" and isinstance(curve, str) and curve in _COORDINATE_BYTES:
        sizes = {len(_bytes(found, name)) for name in ("x", "y")}
        return (
            (curve, ("kty", "crv", "x", "y")) if sizes == {_COORDINATE_BYTES[curve]} else ("", ())
        )
    return "", ()


def _number(found: Mapping[str, Any], name: str) -> int:
    return int.from_bytes(_bytes(found, name), "big")


def _bytes(found: Mapping[str, Any], name: str) -> bytes:
    text = found.get(name)
    return from_base64url(text if isinstance(text, str) else "")


def _invalid(where: str, wanted: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid JWKS {escaped(where)}: expected {wanted}, got another document",
        wanted=wanted,
        had="another document",
        hint=_HINT,
        where=where,
    )
