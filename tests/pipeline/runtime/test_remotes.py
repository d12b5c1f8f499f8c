"""A missing Spark Connect server is reported before Spark's client retries for ten minutes."""

import socket
from contextlib import closing

import pytest

from rackwise.adapters.sandbox.ports import HOST, free_ports
from rackwise.core.errors import InvalidConfig, Unreachable, WorldError
from rackwise.pipeline.runtime import remotes

TOKEN = "dapi-0123"  # noqa: S105 (one that must not be shown)


@pytest.mark.parametrize(
    ("place", "expected"),
    [("local", True), ("local[2]", True), ("sc://local", False), ("spark://local:7077", False)],
)
def test_is_local(place, expected):
    assert remotes.is_local(place) is expected


@pytest.mark.parametrize(
    ("remote", "host"),
    [
        ("local[2]", "localhost"),
        ("sc://spark-1", "spark-1"),
        ("sc://spark-1:15003/;use_ssl=true;token=x", "spark-1"),
        ("sc://[::1]:15002", "::1"),
    ],
)
def test_the_host(remote, host):
    assert remotes.host_of(remote) == host


@pytest.mark.parametrize(
    "remote", ["spark://h:7077", "h:15002", "sc://", "sc://h:port", "sc://h:99999", "yarn"]
)
def test_an_invalid_remote_is_rejected_without_showing_its_token(remote):
    with pytest.raises(
        InvalidConfig, match=r"invalid --remote: expected sc://HOST\[:PORT\]"
    ) as refused:
        remotes.check_answers(f"{remote}/;token={TOKEN}")
    assert refused.value.hint == "give the URL of a Spark master to --master"
    assert TOKEN not in str(refused.value.as_dict())


def test_a_server_that_does_not_listen_is_reported():
    with closing(socket.create_server((HOST, 0))) as server:
        port = server.getsockname()[1]
        remotes.check_answers(f"sc://{HOST}:{port}")
    remote = f"sc://{HOST}:{free_ports(1)[0]}/;token={TOKEN}"
    with pytest.raises(
        Unreachable, match=f"no Spark Connect server answers at {HOST}:.*: Connection refused"
    ) as refused:
        remotes.check_answers(remote)
    assert "start-connect-server.sh" in refused.value.hint
    assert TOKEN not in str(refused.value.as_dict())


def test_a_port_in_use_is_reported_before_a_server_is_started(monkeypatch):
    with closing(socket.create_server((HOST, 0))) as server:
        monkeypatch.setattr(remotes, "PORT", server.getsockname()[1])
        with pytest.raises(
            WorldError, match=r"to be free for a Spark Connect server, got a listener"
        ) as raised:
            remotes.check_is_free()
    assert "--remote sc://localhost" in raised.value.hint
    monkeypatch.setattr(remotes, "PORT", free_ports(1)[0])
    remotes.check_is_free()
