"""Sessions of `rackwise serve` that are open while their users and keys change."""

from __future__ import annotations

import json
from contextlib import closing

import pytest

from rackwise.adapters.files import write_snapshot
from refusals import check_refused
from rpc_logins import USERS, SaslSocket, scram_file
from rpc_servers import response_of
from served_command import served
from service_frames import assignment, framed
from small_clusters import small_cluster
from tls_listeners import pem_folder
from token_issuers import AUDIENCE, ISSUER, TokenIssuer

REJECTED = 58
REQUEST = framed(assignment(3, 2))
WORDS = ["--oauth-issuer", ISSUER, "--oauth-audience", AUDIENCE]


@pytest.fixture
def snapshot(tmp_path):
    path = tmp_path / "s.json"
    write_snapshot(small_cluster({0: "a", 1: "b", 2: "c"}, {"orders-0": [0, 1, 2]}), path)
    return path


@pytest.fixture
def users(tmp_path):
    """The file of users; `users(NAME=PASSWORD, ..)` puts another in its place, whole."""
    path = scram_file(tmp_path)

    def replace(**given):
        folder = tmp_path / "new"
        folder.mkdir()
        scram_file(folder, given).rename(path)

    replace.path = path
    return replace


def error_of(client):
    """The error code of a placement; None if the service has ended the session."""
    answer = client.sent(REQUEST)
    return None if answer is None else response_of(answer)[1].error_code


def logged_in(client, name, password=None):
    """The error code of a login."""
    return client.scram(name, password or USERS[name])[0]


def told(service, kind):
    """The next line of the log of a type."""
    while (line := service.line())["type"] != kind:
        pass
    return line


def test_the_session_of_a_removed_user_ends_at_its_next_request(snapshot, users):
    with (
        served("--snapshot", snapshot, "--scram-users", users.path) as service,
        closing(SaslSocket(service.first["port"])) as alice,
        closing(SaslSocket(service.first["port"])) as bob,
        closing(SaslSocket(service.first["port"])) as again,
    ):
        assert [logged_in(alice, "alice"), logged_in(bob, "bob")] == [0, 0]
        assert [error_of(alice), error_of(bob)] == [0, 0]
        users(bob=USERS["bob"])
        assert error_of(alice) is None
        line = told(service, "closed")
        assert (line["reason"], line["detail"]) == (
            "session",
            "SCRAM-SHA-512: the user was removed",
        )
        assert error_of(bob) == 0
        assert logged_in(again, "alice") == REJECTED


def test_the_session_of_a_user_with_a_new_password_goes_on_as_in_kafka(snapshot, users):
    with (
        served("--snapshot", snapshot, "--scram-users", users.path) as service,
        closing(SaslSocket(service.first["port"])) as alice,
        closing(SaslSocket(service.first["port"])) as again,
    ):
        assert logged_in(alice, "alice") == 0
        users(alice="canary-of-tomorrow")
        assert error_of(alice) == 0
        assert logged_in(again, "alice") == REJECTED


def token_login(client, token):
    """The error code of a login with a token."""
    assert client.begun("OAUTHBEARER") == 0
    code, _, data, _ = client.stepped(f"n,,\x01auth=Bearer {token}\x01\x01".encode())
    return client.stepped(b"\x01")[0] if data else code


def test_the_session_of_a_removed_key_goes_on_and_cannot_be_renewed(snapshot, tmp_path):
    """As in Kafka, it lasts until its token ends."""
    path = tmp_path / "jwks.json"
    with closing(TokenIssuer(tmp_path, "canary-secret")) as issuer:
        path.write_text(json.dumps(issuer.jwks()))
        token = issuer.token()
        issuer.rotate()
        others = json.dumps(issuer.jwks())
    with (
        served("--snapshot", snapshot, "--oauth-jwks", path, *WORDS) as service,
        closing(SaslSocket(service.first["port"])) as client,
        closing(SaslSocket(service.first["port"])) as again,
    ):
        assert token_login(client, token) == 0
        path.with_suffix(".new").write_text(others)
        path.with_suffix(".new").rename(path)
        assert error_of(client) == 0
        assert token_login(again, token) == REJECTED


@pytest.mark.parametrize("mode", [0o664, 0o646])
def test_a_file_of_keys_that_others_may_write_ends_the_start(snapshot, tmp_path, mode):
    path = tmp_path / "jwks.json"
    with closing(TokenIssuer(tmp_path, "canary-secret")) as issuer:
        path.write_text(json.dumps(issuer.jwks()))
    path.chmod(mode)
    check_refused(
        ["serve", "--snapshot", snapshot, "--listen", "127.0.0.1:0", "--oauth-jwks", path, *WORDS],
        f"invalid mode of {path}, which holds the keys of an issuer: expected 0600 or 0644, got "
        f"{mode:04o}",
        f"run chmod go-w {path}",
    )


def test_authorities_of_clients_that_others_may_write_end_the_start(snapshot, tmp_path):
    folder = pem_folder(tmp_path)
    (folder / "ca.pem").chmod(0o664)
    certificate = ["--tls-cert", folder / "server.pem", "--tls-key", folder / "key.pem"]
    check_refused(
        [
            *("serve", "--snapshot", snapshot, "--listen", "127.0.0.1:0"),
            *(*certificate, "--tls-client-ca", folder / "ca.pem"),
        ],
        f"invalid mode of {folder / 'ca.pem'}, which holds the authorities of clients: expected "
        "0600 or 0644, got 0664",
        f"run chmod go-w {folder / 'ca.pem'}",
    )
