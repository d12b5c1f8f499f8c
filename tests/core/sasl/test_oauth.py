"""OAUTHBEARER without sockets: the message of a client, and the exchange."""

from __future__ import annotations

import pytest

from rackwise.core.errors import RemoteProtocolError
from rackwise.core.sasl.oauth import STATUS, BearerExchange, TokenCheck
from rackwise.core.sasl.oauth_message import MOST_BYTES, read_bearer_message
from rackwise.core.sasl.outcome import Accepted, Denied, Rejected
from rackwise.core.secret import Secret

TOKEN = "canary-aa.bb_~+/.cc=="  # noqa: S105 (not a password)
PAIR = f"auth=Bearer {TOKEN}".encode()
MESSAGE = b"n,,\x01" + PAIR + b"\x01\x01"
ALICE = Accepted("alice", lasts_s=60.0)


def message(*, header=b"n,,", pairs=(PAIR,)):
    return header + b"\x01" + b"".join(pair + b"\x01" for pair in pairs) + b"\x01"


class TestMessage:
    def test_a_token_is_read_and_nobody_else_is_named(self):
        found = read_bearer_message(MESSAGE)
        assert found.token.reveal() == TOKEN
        assert found.acts_as == ""
        assert TOKEN not in repr(found)

    @pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER  "])
    def test_the_scheme_has_no_case_and_any_number_of_spaces(self, scheme):
        found = read_bearer_message(message(pairs=(f"auth={scheme} {TOKEN}".encode(),)))
        assert found.token.reveal() == TOKEN

    def test_the_example_of_the_rfc_is_read_with_its_extensions(self):
        found = read_bearer_message(
            b"n,a=user@example.com,\x01host=server.example.com\x01port=143\x01"
            b"auth=Bearer vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg==\x01\x01"
        )
        assert found.token.reveal() == "vF9dft4qmTc2Nvb3RlckBhbHRhdmlzdGEuY29tCg=="
        assert found.acts_as == "user@example.com"

    def test_a_name_may_have_a_comma_and_an_equals_sign_in_codes(self):
        assert read_bearer_message(message(header=b"n,a=a=2Cb=3D,")).acts_as == "a,b="

    @pytest.mark.parametrize(
        ("data", "wanted"),
        [
            (b"", "a header and pairs"),
            (b"\x01", "a header and pairs"),
            (b"n,,\x01\x01", "a header and pairs"),
            (MESSAGE[:-1], "a header and pairs"),
            (MESSAGE[:-2], "a header and pairs"),
            (MESSAGE + b"x", "a header and pairs"),
            (message(pairs=(b"", PAIR)), "letters, ="),
            (message(pairs=(b"auth=Bearer a\x00",)), "letters, ="),
            (message(pairs=(b"auth=Bearer a", b"e1=x")), "letters, ="),
            (message(pairs=(b"auth=Bearer a", b"e=\xc3\xa4")), "letters, ="),
            (message(pairs=(b"auth=Bearer a", b"auth=Bearer b")), "each key once"),
            (message(pairs=(b"auth=Bearer a", b"e=1", b"e=1")), "each key once"),
            (message(pairs=(b"other=Bearer a",)), "auth=Bearer and a token"),
            (message(pairs=(b"auth=Basic a",)), "auth=Bearer and a token"),
            (message(pairs=(b"auth=Bearer ",)), "auth=Bearer and a token"),
            (message(pairs=(b"auth=Bearer a b",)), "auth=Bearer and a token"),
            (message(pairs=(b"auth=Bearer a=b",)), "auth=Bearer and a token"),
            (message(header=b"y,,"), "n,, or n,a=USER"),
            (message(header=b"p=tls-unique,,"), "n,, or n,a=USER"),
            (message(header=b"n,,x"), "n,, or n,a=USER"),
            (message(header=b"n,"), "n,, or n,a=USER"),
            (message(header=b"n,a=,"), "a= and a name of up to"),
            (message(header=b"n,b=alice,"), "a= and a name of up to"),
            (message(header=b"n,a=a=2D,"), "a= and a name of up to"),
            (message(header=b"n,a=\xff,"), "UTF-8"),
            (message(header=b"n,a=a\n,"), "no control characters"),
        ],
    )
    def test_a_malformed_message_is_rejected_by_its_fault(self, data, wanted):
        with pytest.raises(RemoteProtocolError) as caught:
            read_bearer_message(data)
        assert str(caught.value).startswith(f"invalid OAUTHBEARER message: expected {wanted}")
        assert TOKEN not in str(caught.value)

    def test_a_message_of_the_largest_size_is_read_and_a_longer_one_is_not(self):
        longest = message(pairs=(b"auth=Bearer " + b"a" * (MOST_BYTES - 18),))
        assert len(longest) == MOST_BYTES
        assert len(read_bearer_message(longest).token.reveal()) == MOST_BYTES - 18
        with pytest.raises(RemoteProtocolError, match=f"expected at most {MOST_BYTES} bytes"):
            read_bearer_message(longest.replace(b"Bearer ", b"Bearer  "))


class TestExchange:
    def test_a_client_is_in_when_its_token_is_right(self):
        exchange = BearerExchange()
        check = exchange.step(MESSAGE)
        assert isinstance(check, TokenCheck)
        assert check.token.reveal() == TOKEN
        assert TOKEN not in repr(check)
        assert exchange.decide(check, ALICE) == ALICE

    def test_a_client_may_name_the_user_of_its_token(self):
        exchange = BearerExchange()
        assert exchange.decide(TokenCheck(Secret(TOKEN), "alice"), ALICE) == ALICE

    def test_a_client_cannot_act_as_another_user(self):
        exchange = BearerExchange()
        denied = exchange.decide(exchange.step(message(header=b"n,a=root,")), ALICE)
        why = "the client wants to act as another user"
        assert denied == Denied(STATUS.encode(), why)
        assert exchange.step(b"\x01") == Rejected(why, told=STATUS)

    def test_after_a_failure_the_client_hears_the_status_and_a_second_token_is_not_tried(self):
        exchange = BearerExchange()
        denied = exchange.decide(exchange.step(MESSAGE), Rejected("the token expired 5 s ago"))
        assert denied == Denied(STATUS.encode(), "the token expired 5 s ago")
        for data in (b"\x01", MESSAGE):
            assert exchange.step(data) == Rejected("the token expired 5 s ago", told=STATUS)

    def test_a_message_that_comes_before_the_token_is_checked_ends_the_login(self):
        exchange = BearerExchange()
        exchange.step(MESSAGE)
        assert exchange.step(MESSAGE) == Rejected("a second message")

    def test_a_malformed_message_ends_the_login_without_a_status(self):
        outcome = BearerExchange().step(MESSAGE[:-1])
        assert outcome.why.startswith("invalid OAUTHBEARER message: expected a header")
        assert outcome.told is None
        assert TOKEN not in repr(outcome)
