"""JSON Web Tokens: which headers select a key, and which are rejected."""

from __future__ import annotations

import base64
import json

import pytest

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.sasl.tokens import (
    ALGORITHMS,
    MOST_BYTES,
    MOST_HEADER,
    MOST_KEY_ID,
    TokenHeader,
    from_base64url,
    read_claims,
    read_token_header,
)

RS256 = {"alg": "RS256", "kid": "a"}
CANARY = "canary-signature"


def coded(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def token(header):
    data = header if isinstance(header, bytes) else json.dumps(header).encode()
    return f"{coded(data)}.{coded(b'{}')}.{CANARY}"


class TestHeader:
    @pytest.mark.parametrize("algorithm", ALGORITHMS)
    def test_an_algorithm_with_a_public_key_is_read(self, algorithm):
        found = read_token_header(token({"alg": algorithm, "kid": "a"}))
        assert found == TokenHeader(algorithm=algorithm, key_id="a")

    def test_a_token_may_have_no_key_id(self):
        assert read_token_header(token({"alg": "ES256"})).key_id is None

    def test_a_header_is_no_longer_than_its_limit(self):
        def padded(count):
            return token(b'{"alg":"RS256"}'.ljust(count * 3 // 4))

        assert read_token_header(padded(MOST_HEADER)).algorithm == "RS256"
        with pytest.raises(RemoteProtocolError, match="three parts"):
            read_token_header(padded(MOST_HEADER + 4))

    @pytest.mark.parametrize("kind", ["JWT", "jwt", "at+jwt", "AT+JWT", "application/at+jwt"])
    def test_the_types_of_access_tokens_are_read(self, kind):
        assert read_token_header(token(RS256 | {"typ": kind})).key_id == "a"

    def test_a_key_in_the_header_is_ignored(self):
        own = {"jwk": {"kty": "oct", "k": "eA"}, "jku": "https://x.test", "x5u": "x", "x5c": ["x"]}
        assert read_token_header(token(RS256 | own)) == TokenHeader(algorithm="RS256", key_id="a")

    @pytest.mark.parametrize(
        ("header", "wanted"),
        [
            ({}, "an algorithm of RS256, "),
            ({"alg": "none"}, "an algorithm of RS256, "),
            ({"alg": "HS256"}, "an algorithm of RS256, "),
            ({"alg": "PS256"}, "an algorithm of RS256, "),
            ({"alg": "rs256"}, "an algorithm of RS256, "),
            ({"alg": ["RS256"]}, "an algorithm of RS256, "),
            (RS256 | {"typ": "secevent+jwt"}, "typ JWT or at+jwt"),
            (RS256 | {"typ": None}, "typ JWT or at+jwt"),
            (RS256 | {"typ": ["JWT"]}, "typ JWT or at+jwt"),
            (RS256 | {"crit": ["b64"]}, "a header without crit and b64"),
            (RS256 | {"b64": True}, "a header without crit and b64"),
            (RS256 | {"kid": 7}, "a key id of up to 256 characters"),
            (RS256 | {"kid": "k" * (MOST_KEY_ID + 1)}, "a key id of up to 256 characters"),
            (b"[]", "a header in strict JSON"),
            (b"{", "a header in strict JSON"),
            (b"\xff", "a header in strict JSON"),
            (b'{"alg":"RS256","alg":"none"}', "a header in strict JSON"),
        ],
    )
    def test_a_header_that_must_not_select_a_key_is_rejected(self, header, wanted):
        with pytest.raises(RemoteProtocolError) as caught:
            read_token_header(token(header))
        assert str(caught.value).startswith(f"invalid token: expected {wanted}")
        assert CANARY not in str(caught.value)

    def test_a_key_id_of_the_largest_size_is_read(self):
        longest = "k" * MOST_KEY_ID
        assert read_token_header(token(RS256 | {"kid": longest})).key_id == longest

    @pytest.mark.parametrize(
        "text",
        [
            "",
            "a",
            "a.b",
            "a.b.",
            ".b.c",
            "a.b.c.d",
            "a.b.c.d.e",
            "a.b.c=",
            "a.b.c\n",
            "a.b+.c",
            "\u00e4.b.c",
        ],
    )
    def test_a_text_of_other_parts_is_no_token(self, text):
        with pytest.raises(RemoteProtocolError, match="expected three parts of URL-safe base64"):
            read_token_header(text)

    def test_a_token_of_the_largest_size_is_read_and_a_longer_one_is_not(self):
        start = f"{coded(json.dumps(RS256).encode())}.e30."
        longest = start + "a" * (MOST_BYTES - len(start))
        assert read_token_header(longest).key_id == "a"
        with pytest.raises(RemoteProtocolError, match="expected three parts"):
            read_token_header(longest + "a")

    def test_a_header_of_a_length_that_base64_does_not_have_is_rejected(self):
        with pytest.raises(RemoteProtocolError, match="expected URL-safe base64"):
            read_token_header("a.b.c")


class TestClaims:
    def test_the_claims_are_an_object(self):
        assert read_claims(b'{"sub":"alice","exp":1.5}') == {"sub": "alice", "exp": 1.5}

    @pytest.mark.parametrize(
        "payload", [b"", b"7", b"[{}]", b'{"exp":NaN}', b'{"sub":"a","sub":"b"}', b"\xff"]
    )
    def test_claims_with_two_meanings_or_none_are_rejected(self, payload):
        with pytest.raises(RemoteProtocolError, match="expected claims in strict JSON"):
            read_claims(payload)


class TestBase64:
    @pytest.mark.parametrize("data", [b"", b"a", b"ab", b"abc", b"\xff\xfe\xfd\xfb"])
    def test_bytes_are_read_without_padding(self, data):
        assert from_base64url(coded(data)) == data

    @pytest.mark.parametrize("text", ["a", "YQ==", "+/+/", "Y Q", "YQ\n", "\u00e4\u00e4"])
    def test_another_text_is_rejected(self, text):
        with pytest.raises(RemoteProtocolError, match="expected URL-safe base64"):
            from_base64url(text)
