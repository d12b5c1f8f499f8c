"""Tokens are reused, fetched anew before they end, and read from files that are replaced."""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rackwise.adapters.kafka.logins.token import MAX_BYTES, Token, read_token
from rackwise.adapters.kafka.logins.token_file import TokenFile
from rackwise.adapters.kafka.logins.token_login import (
    AGAIN_S,
    TokenDelayed,
    TokenDenied,
    TokenLogin,
)
from rackwise.core.errors import AuthenticationFailed, InvalidConfig, Unreachable
from rackwise.core.identity.refusals import SecretExposed
from rackwise.core.secret import Secret

LIVES_S = 1000.0


class Source:
    """Tokens 1, 2, 3... on a clock that the test sets; `error` in place of one."""

    reuses_tokens = True

    def __init__(self):
        self.now_s = 0.0
        self.made = 0
        self.asked = 0
        self.error = None

    def clock_s(self):
        return self.now_s

    def fetch(self):
        self.asked += 1
        if self.error is not None:
            raise self.error
        self.made += 1
        return Token(Secret(str(self.made)), self.now_s + LIVES_S)


@pytest.fixture
def source():
    return Source()


@pytest.fixture
def login(source):
    return TokenLogin(source, clock_s=source.clock_s)


def test_a_token_is_reused_for_four_fifths_of_its_time(source, login):
    for now_s, token in ((0, "1"), (799, "1"), (800, "2"), (1599, "2"), (5000, "3")):
        source.now_s = now_s
        assert login.token() == token


def test_the_login_before_the_end_of_a_session_gets_a_new_token(source, login):
    """kafka-python logs in again when 85 to 95 % of a token's remaining time is over."""
    login.token()
    for began in (0, 300, 799):
        source.now_s = began + 0.85 * (LIVES_S - began)
        assert login.token() != "1"
        source.now_s, source.made = 0.0, 0
        login.forget()
        assert login.token() == "1"


def test_a_token_is_used_to_its_end_while_no_new_one_can_be_had(source, login):
    login.token()
    source.error = Unreachable("the endpoint is down")
    for now_s in (850, 994):
        source.now_s = now_s
        assert login.token() == "1"
    source.now_s = 996
    with pytest.raises(TokenDelayed, match="the endpoint is down"):
        login.token()
    source.error, source.now_s = None, 999
    assert login.token() == "2"


def test_a_failure_is_not_asked_again_at_once(source, login):
    source.error = Unreachable("the endpoint is down")
    for _ in range(9):
        with pytest.raises(TokenDelayed):
            login.token()
    assert source.asked == 1
    source.now_s += AGAIN_S
    with pytest.raises(TokenDelayed):
        login.token()
    assert source.asked == 2


def test_a_rejected_secret_is_another_error_than_a_delay(source, login):
    source.error = AuthenticationFailed("wrong secret")
    with pytest.raises(TokenDenied) as caught:
        login.token()
    assert caught.value.error is source.error
    with pytest.raises(AuthenticationFailed):
        login.fetch()


def test_a_rejected_token_is_not_used_again(login):
    assert [login.token(), login.token()] == ["1", "1"]
    login.forget()
    assert login.token() == "2"


def test_a_token_of_a_file_is_read_at_each_login(tmp_path):
    path = tmp_path / "..data" / "token"
    path.parent.mkdir()
    (tmp_path / "token").symlink_to(path)  # as Kubernetes mounts it
    login = TokenLogin(TokenFile(str(tmp_path / "token"), clock_s=lambda: 1000.0))
    path.write_text(" first \n")
    assert login.token() == "first"
    path.write_text(jwt(exp=1001))
    assert login.token() == jwt(exp=1001)
    path.write_text(jwt(exp=1000))
    with pytest.raises(TokenDenied, match="it ended at 1970-01-01T00:16:40Z"):
        login.token()
    path.unlink()
    with pytest.raises(TokenDenied, match="No such file") as caught:
        login.token()
    assert str(tmp_path / "token") in caught.value.error.message


@pytest.mark.parametrize(
    "text",
    [
        "",
        "  ",
        "canary b",
        "a\x01auth=canary",
        '"canary"',
        "caüary",
        "a" * (MAX_BYTES + 1),
        "=canary",
    ],
)
def test_another_text_is_no_token_and_is_not_shown(text, tmp_path):
    (tmp_path / "token").write_text(text)
    with pytest.raises(AuthenticationFailed, match="invalid token of file") as caught:
        TokenFile(str(tmp_path / "token")).fetch()
    shown = str(caught.value.as_dict())
    assert "canary" not in shown
    assert "aaaa" not in shown


def test_a_token_that_others_may_write_is_not_sent(tmp_path):
    path = tmp_path / "token"
    path.write_text("canary")
    path.chmod(0o644)
    assert TokenFile(str(path)).fetch().text.reveal() == "canary"
    path.chmod(0o664)
    with pytest.raises(SecretExposed, match="which holds a token") as caught:
        TokenFile(str(path)).fetch()
    assert "canary" not in str(caught.value.as_dict())


def test_what_is_no_file_is_no_token(tmp_path):
    for path in (str(tmp_path), "/dev/zero"):
        with pytest.raises(InvalidConfig, match="expected a regular file"):
            TokenFile(path).fetch()
    (tmp_path / "large").write_bytes(b"a" * (2 * MAX_BYTES + 1))
    with pytest.raises(InvalidConfig, match="large"):
        TokenFile(str(tmp_path / "large")).fetch()


@pytest.mark.parametrize(
    ("claims", "ends_at_s"),
    [
        ({"exp": 2000}, 2000),
        ({"exp": 2000.5}, 2000.5),
        ({"exp": "2000"}, None),
        ({"exp": True}, None),
        ({"exp": -1}, None),
        ({"exp": 10**18}, None),
        ({}, None),
    ],
)
def test_the_end_of_a_jwt_is_its_claim(claims, ends_at_s):
    assert read_token(jwt(**claims), now_s=1000, origin="a test").ends_at_s == ends_at_s


@given(text=st.text(st.sampled_from("ey.J-_=09az+/~ "), max_size=60))
def test_any_text_is_a_token_or_one_error(text):
    try:
        found = read_token(text, now_s=1000, origin="a test")
    except AuthenticationFailed as error:
        assert error.hint  # noqa: PT017 (any rejection is right, a crash is not)
    else:
        assert found.text.reveal() == text.strip()


def jwt(**claims):
    parts = ({"alg": "RS256"}, claims)
    head, body = (
        base64.urlsafe_b64encode(json.dumps(part).encode()).decode().rstrip("=") for part in parts
    )
    return f"{head}.{body}.c2lnbmVk"
