"""SCRAM without sockets: the exchange, the messages of clients, the file of users."""

from __future__ import annotations

import pytest

from rackwise.core.errors import InvalidConfig, RemoteProtocolError
from rackwise.core.sasl.outcome import Accepted, Challenge, Rejected
from rackwise.core.sasl.scram import ScramExchange
from rackwise.core.sasl.scram_credentials import (
    make_credential,
    parse_scram_users,
    write_credential,
)
from rackwise.core.sasl.scram_messages import from_base64, read_client_final, read_client_first

SALT = from_base64("W22ZaJ0SNY7soEsUEjb6gQ==")
CREDENTIAL = make_credential("pencil", mechanism="SCRAM-SHA-256", salt=SALT, iterations=4096)
LINE = write_credential("user", CREDENTIAL)
USERS = parse_scram_users(LINE.encode(), where="file")
FIRST = b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO"
NONCE = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
FINAL = (
    b"c=biws,r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
    b"p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ="
)


def begun():
    return ScramExchange(USERS, "SCRAM-SHA-256", NONCE)


class TestExchange:
    """RFC 7677 3: "This is a simple example of a SCRAM-SHA-256 authentication exchange"."""

    def test_the_example_of_the_rfc_logs_in(self):
        exchange = begun()
        assert exchange.step(FIRST) == Challenge(
            b"r=rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0,"
            b"s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
        )
        assert exchange.step(FINAL) == Accepted(
            "user", b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="
        )

    @pytest.mark.parametrize(
        ("first", "why"),
        [
            (b"n,a=other,n=user,r=x", "the client wants to act as another user"),
            (b"n,,n=user,r=x,tokenauth=true", "the client logs in by a delegation token"),
            (b"", "invalid SCRAM message: expected n or y, without channel binding, got "),
        ],
    )
    def test_first_messages_that_are_refused(self, first, why):
        assert begun().step(first).why.startswith(why)

    @pytest.mark.parametrize(
        ("final", "why"),
        [
            (FINAL.replace(b"%hvY", b"%hvZ"), "the nonce is of another login"),
            (FINAL.replace(b"biws", b"eSws"), "the header differs from that of the first message"),
            (FINAL.replace(b"dHzb", b""), "the proof has another length"),
            (FINAL.replace(b"dHzb", b"dHzc"), "unknown user or wrong password"),
        ],
    )
    def test_last_messages_that_are_refused(self, final, why):
        exchange = begun()
        exchange.step(FIRST)
        assert exchange.step(final) == Rejected(why)

    def test_the_user_to_act_as_may_be_the_user(self):
        assert isinstance(begun().step(b"n,a=user,n=user,r=x"), Challenge)

    def test_keys_are_not_shown(self):
        exchange = begun()
        exchange.step(FIRST)
        key = repr(CREDENTIAL.stored_key)[2:20]
        assert key not in repr(exchange)
        assert "stored_key" not in repr(CREDENTIAL)


class TestMessages:
    def test_names_are_decoded(self):
        assert read_client_first(b"y,a=a=2Cb,n=a=2Cb=3D,r=x,e=1").user == "a,b="
        assert read_client_first(b"y,a=a=2Cb,n=a,r=x").acts_as == "a,b"

    @pytest.mark.parametrize(
        "data",
        [
            b"n" * 4097,
            b"n,,n=\xff,r=x",
            b"n,,n=a\n,r=x",
            b"p=tls-unique,,n=a,r=x",
            b"n,,m=ext,n=a,r=x",
            b"n,,n=,r=x",
            b"n,,n=a=2X,r=x",
            b"n,,n=" + b"a" * 257 + b",r=x",
            b"n,,n=a,r=",
            b"n,,n=a,r=\xc3\xbc",
            b"n,,n=a,x=y",
            b"n,,n=a",
        ],
    )
    def test_first_messages_that_are_none(self, data):
        with pytest.raises(RemoteProtocolError, match="invalid SCRAM message: expected "):
            read_client_first(data)

    @pytest.mark.parametrize(
        "data",
        [
            b"c=biws,r=x",
            b"x=biws,r=x,p=AA==",
            b"c=biws,r=x,q=AA==",
            b"c=!,r=x,p=AA==",
            "c=ü,r=x,p=AA==".encode(),
        ],
    )
    def test_last_messages_that_are_none(self, data):
        with pytest.raises(RemoteProtocolError, match="invalid SCRAM message: expected "):
            read_client_final(data)


class TestUsers:
    def test_a_file_has_comments_blank_lines_and_names_with_signs(self):
        users = parse_scram_users(
            f"# users\n\n{write_credential('a=b, ü', CREDENTIAL)}\r\n{LINE}".encode(), where="file"
        )
        assert users.mechanisms == ("SCRAM-SHA-256",)
        assert users.find("SCRAM-SHA-256", "a=b, ü") == (CREDENTIAL, True)

    def test_an_unknown_user_looks_like_most_users_and_always_the_same(self):
        other = make_credential("p", mechanism="SCRAM-SHA-256", salt=b"s" * 30, iterations=8192)
        lines = [LINE, write_credential("b", other), write_credential("c", other)]
        users = parse_scram_users("\n".join(lines).encode(), where="file")
        same = parse_scram_users("\n".join(reversed(lines)).encode(), where="file")
        unknown, is_known = users.find("SCRAM-SHA-256", "x")
        assert not is_known
        assert (unknown.iterations, len(unknown.salt)) == (8192, 30)
        assert same.find("SCRAM-SHA-256", "x") == (unknown, False)
        assert users.find("SCRAM-SHA-256", "y")[0].salt != unknown.salt
        assert USERS.find("SCRAM-SHA-256", "x")[0].salt != unknown.salt[:16]

    def test_a_changed_file_keeps_the_salts_of_unknown_users(self):
        lines = [LINE, write_credential("b", CREDENTIAL)]
        changed = parse_scram_users("\n".join(lines).encode(), where="file")
        unknown = USERS.find("SCRAM-SHA-256", "x")
        assert changed.find("SCRAM-SHA-256", "x") != unknown
        assert changed.like(USERS).find("SCRAM-SHA-256", "x") == unknown
        assert changed.like(USERS).find("SCRAM-SHA-256", "user") == (CREDENTIAL, True)

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("", "expected at least one user"),
            ("\xff", "expected UTF-8"),
            (" " * ((1 << 20) + 1), "expected at most 1048576 bytes"),
            (f"{LINE}\n{LINE}", "file:2: expected one entry for each user and mechanism"),
            (LINE.replace("user = ", "user: "), "file:1: expected USER = "),
            (LINE.replace("SHA-256", "SHA-1"), "expected USER = "),
            (LINE.replace(",iterations=4096", ""), "expected USER = "),
            (LINE.replace("iterations", "salt"), "expected USER = "),
            (LINE.replace("salt=W", "salt=!"), "expected salt and keys in base64"),
            (LINE.replace("salt=W22ZaJ0SNY7soEsUEjb6gQ==", "salt="), "expected a salt of 1 to"),
            (LINE.replace("SHA-256", "SHA-512"), "and keys of 64 bytes"),
            (LINE.replace("4096", "4095"), "expected iterations from 4096 to 1000000"),
            (LINE.replace("4096", "x"), "expected iterations from 4096 to 1000000"),
            (LINE.replace("user", "us\x07er"), "expected a name"),
        ],
    )
    def test_files_that_are_none_name_the_line_and_show_no_key(self, text, said):
        with pytest.raises(InvalidConfig) as refused:
            parse_scram_users(text.encode("latin-1"), where="file")
        assert said in str(refused.value)
        assert LINE[40:60] not in str(refused.value.as_dict())

    @pytest.mark.parametrize(
        ("mechanism", "iterations", "said"),
        [
            ("SCRAM-SHA-1", 4096, "expected SCRAM-SHA-256 or SCRAM-SHA-512, got SCRAM-SHA-1"),
            ("SCRAM-SHA-256", 4095, "expected 4096 to 1000000, got 4095"),
        ],
    )
    def test_keys_that_clients_refuse_are_not_made(self, mechanism, iterations, said):
        with pytest.raises(InvalidConfig, match=said):
            make_credential("p", mechanism=mechanism, salt=SALT, iterations=iterations)

    def test_an_empty_password_makes_no_keys(self):
        with pytest.raises(InvalidConfig, match="expected at least one character"):
            make_credential("", mechanism="SCRAM-SHA-256", salt=SALT)
