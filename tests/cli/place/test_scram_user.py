"""`rackwise scram-user`: makes the login of a client of `rackwise serve`."""

from __future__ import annotations

import io
import sys

import pytest

from rackwise.cli.place import scram_user
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.sasl.scram_credentials import parse_scram_users
from refusals import called

PASSWORD = "canary with spaces, = and ü"  # noqa: S105 (of a test)


class Typed(io.StringIO):
    """A terminal."""

    def isatty(self):
        return True


def piped(monkeypatch, data):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))


def test_a_piped_password_makes_a_line_of_salted_keys(monkeypatch):
    piped(monkeypatch, f"{PASSWORD}\nanother line\n".encode())
    code, out, err = called("scram-user", "alice", "--iterations", 4096)
    assert (code, err) == (0, "")
    assert "canary" not in out
    users = parse_scram_users(out.encode(), where="out")
    credential, is_known = users.find("SCRAM-SHA-512", "alice")
    assert is_known
    assert (credential.iterations, len(credential.salt)) == (4096, 24)
    again = scram_user.make_credential(
        PASSWORD, mechanism="SCRAM-SHA-512", salt=credential.salt, iterations=4096
    )
    assert again == credential


def test_each_line_has_a_salt_of_its_own_and_json_holds_the_same(monkeypatch):
    salts = set()
    for _ in range(2):
        piped(monkeypatch, PASSWORD.encode())
        code, out, _ = called("scram-user", "alice", "--mechanism", "SCRAM-SHA-256", "--json")
        assert code == 0
        told = parse(out.encode(), where="out", error=InvalidConfig)
        assert told["format"] == "rackwise.scram-user/1"
        assert (told["user"], told["mechanism"]) == ("alice", "SCRAM-SHA-256")
        users = parse_scram_users(told["line"].encode(), where="out")
        salts.add(users.find("SCRAM-SHA-256", "alice")[0].salt)
    assert len(salts) == 2


def test_a_typed_password_is_asked_twice(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Typed())
    answers = iter([PASSWORD, PASSWORD, PASSWORD, "other"])
    monkeypatch.setattr(scram_user, "getpass", lambda _: next(answers))
    assert called("scram-user", "alice", "--iterations", 4096)[0] == 0
    code, out, err = called("scram-user", "alice")
    assert (code, out) == (1, "")
    assert "expected the same text twice" in err
    assert PASSWORD not in err


@pytest.mark.parametrize("error", [EOFError(), UnicodeDecodeError("utf-8", b"\xfc", 0, 1, "no")])
def test_a_terminal_that_gives_no_line_is_one_error(monkeypatch, error):
    def ended(_):
        raise error

    monkeypatch.setattr(sys, "stdin", Typed())
    monkeypatch.setattr(scram_user, "getpass", ended)
    code, out, err = called("scram-user", "alice")
    assert (code, out) == (1, "")
    assert err.startswith("error: invalid password: expected a line of UTF-8")


@pytest.mark.parametrize(
    ("data", "user", "said"),
    [
        (b"\n", "alice", "expected at least one character"),
        (b"\xff", "alice", "expected UTF-8"),
        (b"x" * 5000, "alice", "expected at most 4096 bytes"),
        (b"x", "# alice", "expected a name"),
        (b"x", "a = b", "expected a name"),
        (b"x", "a\nb", "expected a name"),
    ],
)
def test_what_makes_no_line_is_refused(monkeypatch, data, user, said):
    piped(monkeypatch, data)
    code, out, err = called("scram-user", user)
    assert (code, out) == (1, "")
    assert said in err
