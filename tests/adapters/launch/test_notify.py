"""sd_notify to a real socket: by path, in the abstract space, and to nobody."""

from __future__ import annotations

import socket
import sys

import pytest

from rackwise.adapters.launch.broker.notify import READY, notify

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="Linux' own space of names")


@pytest.fixture(params=["path", pytest.param("abstract", marks=LINUX)])
def listener(request, tmp_path):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as listening:
        name = str(tmp_path / "notify")
        listening.bind(name if request.param == "path" else "\0" + name)
        listening.settimeout(30)
        yield listening, name if request.param == "path" else f"@{name}"


def test_the_manager_hears_that_the_broker_serves(listener):
    listening, name = listener
    assert notify(READY, {"NOTIFY_SOCKET": name})
    assert listening.recv(100) == b"READY=1"


@pytest.mark.parametrize(
    "value", [None, "", "relative", "/no/such/socket", "/a\0b", "@" + "x" * 200]
)
def test_nobody_listens_and_that_is_no_error(value):
    assert not notify(READY, {} if value is None else {"NOTIFY_SOCKET": value})
