"""Stores of identities on a real ZooKeeper: `python tests/bench/bench_identity_store.py`.

Pairs: a scan of 5000 topics, 500 reads in flight / one by one; fifty processes that claim ids in a
directory / in ZooKeeper, from the first session to the last id.
"""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import ExitStack
from functools import partial
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pairs import compare

from identity_stores import Place, claimers, told_by
from lone_zookeeper import LoneZooKeeper
from rackwise.adapters.zookeeper import ZooKeeperView
from rackwise.core.identity.store import TOPICS, Create
from rackwise.pipeline.java import find_java

TOPICS_IN_ALL, AT_ONCE, PROCESSES, ROUNDS = 5000, 500, 50, 5


class OneByOne:
    """A store that is asked for one node at a time."""

    def __init__(self, store):
        self.store = store
        self.children = store.children

    def read(self, paths, _advance=None):
        """As the store's."""
        return {path: self.store.read([path])[path] for path in paths}


def fill(store):
    """Topics of twelve partitions each."""
    rows = ",".join(f'"{number}":[1,2,3]' for number in range(12))
    data = f'{{"version":3,"partitions":{{{rows}}}}}'.encode()
    for start in range(0, TOPICS_IN_ALL, AT_ONCE):
        numbers = range(start, start + AT_ONCE)
        store.commit([Create(f"{TOPICS}/t{number}", data) for number in numbers])


def all_have_claimed(base, numbers):
    """Fifty processes in a store of their own."""
    with ExitStack() as running:
        place = Place(f"{base}/{next(numbers)}", running).prepare()
        with claimers(place.url, PROCESSES) as process:
            told = told_by(process, PROCESSES)
    if len({each["id"] for each in told}) != PROCESSES:
        raise SystemExit("two processes have one id")


def main():
    """Both pairs on one server."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as running:
        folder = Path(name)
        server = running.enter_context(
            LoneZooKeeper(java_home=find_java(os.environ).home, folder=folder / "server")
        )
        store = Place(server.url, running).prepare().open()
        fill(store)
        compare(
            f"scan of {TOPICS_IN_ALL} topics, {AT_ONCE} in flight / one by one",
            ZooKeeperView(store).used,
            ZooKeeperView(OneByOne(store)).used,
            gate=0.5,
            rounds=ROUNDS,
        )
        compare(
            f"directory store / ZooKeeper, {PROCESSES} processes",
            partial(all_have_claimed, f"file://{folder}", count()),
            partial(all_have_claimed, server.url, count()),
            gate=2,
            rounds=ROUNDS,
        )


if __name__ == "__main__":
    main()
