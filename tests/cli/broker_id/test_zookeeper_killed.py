"""ZooKeeper is killed again and again while an operator uses `broker-id`.

Law: what a command acknowledged is in the store, and no error is internal.
"""

from __future__ import annotations

import threading
from contextlib import closing

import pytest

from hostile_text import check_error
from kafka_traffic import until
from rackwise.adapters.zookeeper import open_zookeeper
from rackwise.core.identity.nodes.nodes import parse_mapping
from rackwise.core.identity.nodes.store import HOSTS, RETIRED
from refusals import called

pytestmark = [pytest.mark.zookeeper, pytest.mark.fault, pytest.mark.long]

KILLS = 4
ENDS = {0, 2, 3, 4, 75}
"""Done, differences, outcome unknown, rejected before the first write, try again."""
RETIRED_FROM = 1_000_000


class Killer(threading.Thread):
    """Kills the server and starts it again; between two kills a command ends."""

    def __init__(self, server, ended):
        super().__init__()
        self.server, self.ended = server, ended

    def run(self):
        for _ in range(KILLS):
            before = len(self.ended)
            until(lambda: len(self.ended) > before, "a command to end", 120)  # noqa: B023
            self.server.server.kill()
            self.server.start()


def run_commands(url, number, ended):
    """Assign a new id to a new key, retire another id, list all and clean up."""
    for words in (
        ("assign", f"host-{number}", number),
        ("retire", RETIRED_FROM + number),
        ("list",),
        ("gc", "--apply"),
    ):
        code, _, err = called("broker-id", *words, "--store", url)
        check_error(code, err, words)
        assert code in ENDS, (words, code, err)
        ended.append((words[0], number, code))


def test_what_an_operator_was_told_is_done_is_in_the_store(make_lone_zookeeper):
    server, ended = make_lone_zookeeper(), []
    assert called("broker-id", "init", "--store", server.url)[0] == 0
    killer = Killer(server, ended)
    killer.start()
    number = 0
    while killer.is_alive() or number == 0:
        number += 1
        run_commands(server.url, number, ended)
    killer.join()
    run_commands(server.url, number + 1, ended)
    done = {
        verb: {at for each, at, code in ended if each == verb and code == 0}
        for verb in ("assign", "retire", "list", "gc")
    }
    assert all(number + 1 in each for each in done.values()), "it answers again"
    with closing(open_zookeeper(server.url)) as store:
        retired = {int(name) for name in store.children(RETIRED)}
        paths = {f"{HOSTS}/{name}": name for name in store.children(HOSTS)}
        nodes = store.read([*paths])
        mapped = {key: parse_mapping(nodes[path], key=key).broker_id for path, key in paths.items()}
    assert {f"host-{at}": at for at in done["assign"]}.items() <= mapped.items()
    assert {RETIRED_FROM + at for at in done["retire"]} <= retired
    assert len({*mapped.values()}) == len(mapped), "two keys have one id"
