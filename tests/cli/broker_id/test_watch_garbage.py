"""`rackwise broker-id watch --gc-every` deletes garbage again and again, without a server."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from directory_stores import Nodes
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import HOSTS
from rackwise.core.json.strict import parse

MINUTE_MS = 60_000
PATIENCE_S = 60.0


@pytest.fixture
def nodes(tmp_path):
    """h1 has registered as 1 two minutes ago, and old was mapped to 1 before."""
    nodes = Nodes(tmp_path / "store")
    nodes.mapping("h1", 1)
    nodes.registration(1, "h1.example")
    nodes.owner(1, "h1")
    nodes.mapping("old", 1)
    nodes.age("/brokers/ids/1", 2 * MINUTE_MS)
    return nodes


class TestPeriodically:
    """KIP-426: "Periodically, either a third-party tool or the controller broker will scan the
    ZooKeeper to remove garbage nodes.".
    """

    def test_what_became_garbage_since_is_deleted_as_well(self, nodes):
        words = ["broker-id", "watch", "--store", nodes.url, "--gc-every", "1", "--json"]
        with subprocess.Popen(
            [sys.executable, "-m", "rackwise.cli", *words], stdout=subprocess.PIPE, text=True
        ) as process:
            try:
                assert deleted(process) == ("old", 1)
                nodes.mapping("older", 1)
                assert deleted(process) == ("older", 1)
            finally:
                process.send_signal(signal.SIGTERM)
            assert process.wait(PATIENCE_S) == 0
        assert nodes.children(HOSTS) == ["h1"]

    @pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP], ids=lambda it: it.name)
    def test_nothing_is_deleted_without_the_option(self, nodes, number):
        words = ["broker-id", "watch", "--store", nodes.url, "--json"]
        with subprocess.Popen(
            [sys.executable, "-m", "rackwise.cli", *words], stdout=subprocess.PIPE, text=True
        ) as process:
            assert event(process)["type"] == "leads"
            process.send_signal(number)
            assert process.wait(PATIENCE_S) == 0
        assert nodes.children(HOSTS) == ["h1", "old"]


def event(process):
    return parse(process.stdout.readline().encode(), where="stdout", error=InvalidConfig)


def deleted(process):
    """The key and the id of the next mapping that is deleted."""
    while (told := event(process))["type"] != "collected":
        pass
    return told["key"], told["id"]
