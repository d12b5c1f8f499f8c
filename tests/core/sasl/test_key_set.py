"""JSON Web Key Sets: which keys of an issuer are used, and for which tokens."""

from __future__ import annotations

import base64
import json

import pytest

from rackwise.core.errors import InvalidConfig
from rackwise.core.sasl.key_set import MOST_BYTES, MOST_KEYS, keys_for, parse_key_set, some_keys
from rackwise.core.sasl.tokens import MOST_KEY_ID, TokenHeader


def coded(number, size=None):
    data = number.to_bytes(size or (number.bit_length() + 7) // 8, "big")
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def modulus(bits):
    """An odd number of so many bits."""
    return coded((1 << (bits - 1)) | 1)


def point(size):
    return {"x": coded(7, size), "y": coded(9, size)}


RSA = {"kty": "RSA", "kid": "a", "n": modulus(2048), "e": "AQAB"}
P256 = {"kty": "EC", "kid": "b", "crv": "P-256", **point(32)}
RSA_ALGORITHMS = {"RS256", "RS384", "RS512"}


def parsed(*keys, **more):
    return parse_key_set(json.dumps({"keys": keys, **more}).encode(), where="keys.json")


def header(algorithm="RS256", key_id="a"):
    return TokenHeader(algorithm=algorithm, key_id=key_id)


class TestUsableKeys:
    def test_an_rsa_key_checks_each_rsa_algorithm_and_has_only_its_numbers(self):
        (key,) = parsed(RSA | {"use": "sig", "x5c": ["x"], "key_ops": ["verify"]}, more=1)
        assert key.key_id == "a"
        assert key.algorithms == RSA_ALGORITHMS
        assert key.numbers == {name: RSA[name] for name in ("kty", "n", "e")}

    @pytest.mark.parametrize(
        ("curve", "size", "algorithm"),
        [("P-256", 32, "ES256"), ("P-384", 48, "ES384"), ("P-521", 66, "ES512")],
    )
    def test_a_key_of_a_curve_checks_the_algorithm_of_the_curve(self, curve, size, algorithm):
        (key,) = parsed({"kty": "EC", "crv": curve, **point(size)})
        assert key.key_id is None
        assert key.algorithms == {algorithm}
        assert key.numbers == {"kty": "EC", "crv": curve, **point(size)}

    def test_a_key_with_an_algorithm_checks_no_other(self):
        (key,) = parsed(RSA | {"alg": "RS512"})
        assert key.algorithms == {"RS512"}

    @pytest.mark.parametrize("bits", [2048, 8192])
    def test_rsa_keys_of_the_least_and_the_most_bits_are_used(self, bits):
        assert len(parsed(RSA | {"n": modulus(bits)})) == 1

    @pytest.mark.parametrize("exponent", [3, (1 << 32) - 1])
    def test_small_and_large_exponents_are_used(self, exponent):
        assert len(parsed(RSA | {"e": coded(exponent)})) == 1

    @pytest.mark.parametrize(
        "other",
        [
            None,
            7,
            "RSA",
            ["RSA"],
            {},
            {"kty": ["RSA"]},
            {"kty": "oct", "k": "eA"},
            {"kty": "OKP", "crv": "Ed25519", "x": coded(7, 32)},
            RSA | {"kid": 7},
            RSA | {"kid": "k" * (MOST_KEY_ID + 1)},
            RSA | {"use": "enc"},
            RSA | {"use": ["sig"]},
            RSA | {"key_ops": ["encrypt"]},
            RSA | {"key_ops": "verify"},
            RSA | {"alg": "RS1"},
            RSA | {"alg": "ES256"},
            RSA | {"alg": None},
            RSA | {"alg": ["RS256"]},
            RSA | {"d": "AQAB"},
            RSA | {"n": modulus(2047)},
            RSA | {"n": modulus(8193)},
            RSA | {"n": coded(1 << 2047)},
            RSA | {"n": "a+b"},
            RSA | {"n": 7},
            RSA | {"e": coded(1)},
            RSA | {"e": coded(65536)},
            RSA | {"e": coded((1 << 32) + 1)},
            {name: RSA[name] for name in ("kty", "n")},
            P256 | {"crv": "secp256k1"},
            P256 | {"crv": ["P-256"]},
            P256 | {"crv": "P-384"},
            P256 | {"x": coded(7, 31)},
            P256 | {"y": coded(9, 33)},
            P256 | {"y": "a"},
            P256 | {"d": "AQAB"},
            P256 | {"alg": "ES384"},
            {name: P256[name] for name in ("kty", "crv", "x")},
        ],
    )
    def test_a_key_that_cannot_check_signatures_is_ignored(self, other):
        assert [key.key_id for key in parsed(other, P256 | {"kid": "good"})] == ["good"]


class TestDocuments:
    @pytest.mark.parametrize(
        ("data", "wanted"),
        [
            (b"", "a JSON object with keys ("),
            (b"[]", "a JSON object with keys ("),
            (b'{"keys":[],"keys":[]}', "a JSON object with keys ("),
            (b'{"keys":[' + b" " * MOST_BYTES + b"]}", "a JSON object with keys ("),
            (b"{}", f"a JSON object with up to {MOST_KEYS} keys"),
            (b'{"keys":{}}', f"a JSON object with up to {MOST_KEYS} keys"),
        ],
    )
    def test_another_document_is_an_error_with_its_place(self, data, wanted):
        with pytest.raises(InvalidConfig) as caught:
            parse_key_set(data, where="a\nb.json")
        assert str(caught.value).startswith(f"invalid JWKS a\\x0ab.json: expected {wanted}")
        assert "jwks_uri" in caught.value.hint

    @pytest.mark.parametrize("data", [b'{"keys":[]}', b'{"keys":[{"kty":"oct","k":"eA"}]}'])
    def test_a_set_without_usable_keys_is_an_error_only_where_some_are_wanted(self, data):
        keys = parse_key_set(data, where="keys.json")
        assert keys == ()
        with pytest.raises(InvalidConfig, match="at least one public RSA or EC key"):
            some_keys(keys, where="keys.json")
        assert some_keys(parsed(P256), where="keys.json") == parsed(P256)

    def test_a_set_has_a_limited_number_of_keys(self):
        assert len(parsed(*[P256] * MOST_KEYS)) == MOST_KEYS
        with pytest.raises(InvalidConfig, match=f"up to {MOST_KEYS} keys"):
            parsed(*[P256] * (MOST_KEYS + 1))


class TestKeysOfToken:
    def test_a_key_id_selects_the_keys_of_that_id_and_algorithm(self):
        first, second, third = keys = parsed(RSA, P256, P256 | {"kid": "a"})
        assert keys_for(keys, header()) == (first,)
        assert keys_for(keys, header("ES256", "b")) == (second,)
        assert keys_for(keys, header("ES256")) == (third,)

    @pytest.mark.parametrize(
        "unknown", [header(key_id="c"), header(key_id=""), header("ES256"), header("ES384", "b")]
    )
    def test_a_token_of_an_unknown_key_or_another_algorithm_has_none(self, unknown):
        assert keys_for(parsed(RSA, P256), unknown) == ()

    def test_two_keys_of_one_id_are_both_tried(self):
        keys = parsed(RSA, RSA | {"n": modulus(3072)})
        assert keys_for(keys, header()) == keys

    def test_a_token_without_a_key_id_has_a_key_only_if_a_single_one_fits(self):
        keys = parsed(RSA, P256)
        assert keys_for(keys, header(key_id=None)) == keys[:1]
        assert keys_for(parsed(RSA, RSA | {"kid": "c"}), header(key_id=None)) == ()

    def test_a_key_without_an_id_fits_only_tokens_without_one(self):
        (key,) = parsed({name: RSA[name] for name in ("kty", "n", "e")})
        assert key.fits(header(key_id=None))
        assert not key.fits(header())
