"""Ids of brokers on a real ZooKeeper: `python tests/bench/bench_identity.py`.

Pairs, each side with a process for each start, medians over interleaved rounds:

```
claim, 50 at once     from the common instant to the files, sessions open before; half of them
                      have it by then: p50
   our rules / to the letter;  fence read by takers of the one spare only / by all;
   one spare id, 50 strangers / a new cluster
scan of 5000 topics   500 reads in flight / one by one
watcher               from a broker's end to its marker, 5000 topics / none
broker of Kafka 3.9   from the start to its registration, through the launcher / bare
50 processes          that claim ids in a directory / in ZooKeeper
```
"""

from __future__ import annotations

import compileall
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack, closing
from functools import partial
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from pairs import compare, tell

import rackwise
from chaos.fleet import p50
from chaos.stage import SPARES, OpenStage
from identity_stores import Place, claimers, told_by
from rackwise.adapters.launch.watch import run_watcher
from rackwise.adapters.sandbox import KAFKA_3_9, resolve
from rackwise.adapters.sandbox.blueprint import ClusterSpec
from rackwise.adapters.sandbox.zookeeper import zookeeper_blueprint
from rackwise.adapters.zookeeper import ZooKeeperView, create_znodes, open_zookeeper
from rackwise.core.identity.nodes.store import IDS, KNOWN, MISSING, TOPICS, Create
from rackwise.pipeline.runtime.java import find_java

TOPICS_IN_ALL, AT_ONCE, PROCESSES, ROUNDS, STARTS = 5000, 500, 50, 5, 5
SPARE = 9
PATIENCE_S = 60
POLL_S = 0.01


class OneByOne:
    """A store that reads one node at a time."""

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
    """Fifty processes that claim in a store of their own."""
    with ExitStack() as running:
        place = Place(f"{base}/{next(numbers)}", running).prepare()
        with claimers(place.url, PROCESSES) as process:
            told = told_by(process, PROCESSES)
    if len({each["id"] for each in told}) != PROCESSES:
        raise SystemExit("two processes have one id")


def claim_s(stage, *, spare=False, literal=False, fence="b1"):
    """p50 of fifty claims at the same instant; no broker registers."""
    with stage.fleet(literal=literal, session_s=10.0) as fleet:
        if spare:
            fleet.topic(SPARE)
        plans = [
            fleet.plan(f"x{at}", options=SPARES, registers=False, seed=at, fence=fence)
            for at in range(PROCESSES)
        ]
        starts = fleet.start(*plans)
        fleet.until(lambda: all("taken" in each.told for each in starts), "all ids")
        return p50(starts)


def claims(stage):
    """The three pairs of claims, interleaved."""
    kinds = {
        "plain": {},
        "literal": {"literal": True},
        "fence": {"fence": "all"},
        "spare": {"spare": True},
    }
    claim_s(stage)
    rounds = []
    for _ in range(ROUNDS):
        rounds.append({name: claim_s(stage, **told) for name, told in kinds.items()})
        shown = ", ".join(f"{name} {each:.2f} s" for name, each in rounds[-1].items())
        print(f"p50 of the claim: {shown}", file=sys.stderr, flush=True)

    def ratio(pair, ours, peer, gate):
        tell(pair, statistics.median(each[ours] / each[peer] for each in rounds), gate=gate)

    start = f"claim p50, {PROCESSES} starts at once: "
    ratio(f"{start}our rules / to the letter", "plain", "literal", 1.5)
    ratio(f"{start}fence read by those who take a spare / by all", "plain", "fence", 0.2)
    ratio(f"{start}one spare id / a new cluster", "spare", "plain", 3)


class Watcher:
    """A watcher in a thread; `lose()` ends a broker and waits for its marker."""

    def __init__(self, url):
        self.url, self.ids = url, count(1)
        create_znodes(url, None)
        self.store, self.own = open_zookeeper(url), open_zookeeper(url)
        self.is_over = threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        """Run until it is stopped."""
        try:
            run_watcher(
                self.own,
                ZooKeeperView(self.own),
                name="bench",
                rescan_ms=3_600_000,
                on_rest=lambda _: None,
                on_error=lambda error: print(error, file=sys.stderr),
                check_stop=self.each_round,
            )
        except InterruptedError:
            self.own.close()

    def each_round(self):
        """Check after each round whether to stop."""
        if self.is_over.is_set():
            raise InterruptedError

    def appears(self, parent, name):
        """Wait for a node."""
        until = time.monotonic() + PATIENCE_S
        while name not in self.store.children(parent):
            if time.monotonic() > until:
                raise SystemExit(f"{parent}/{name} is not there after {PATIENCE_S} s")
            self.store.wait([parent], 1000)

    def lose(self):
        """A broker registers, is seen, and ends; returns the seconds from its end to its marker."""
        name = str(next(self.ids))
        broker = open_zookeeper(self.url)
        data = f'{{"version":5,"endpoints":["PLAINTEXT://h{name}:9092"]}}'.encode()
        broker.commit([Create(f"{IDS}/{name}", data, ephemeral=True)])
        self.appears(KNOWN, name)
        begun = time.perf_counter()
        broker._client.stop()
        self.appears(MISSING, name)
        taken = time.perf_counter() - begun
        broker.close()
        return taken

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.is_over.set()
        self.thread.join()
        self.store.close()


def watchers(base):
    """From a loss to its marker, with many topics and with none."""
    with Watcher(f"{base}/watched-full") as full, Watcher(f"{base}/watched-empty") as empty:
        fill(full.store)
        full.lose(), empty.lose()
        ratios = [full.lose() / empty.lose() for _ in range(4 * ROUNDS)]
    tell(
        f"watcher, loss to marker, {TOPICS_IN_ALL} topics / none",
        statistics.median(ratios),
        gate=1.3,
    )


def ended(process):
    """SIGTERM, then wait."""
    process.terminate()
    process.wait()


class Broker:
    """One broker of Kafka 3.9 without an id, on its own ZooKeeper; each start has empty disks."""

    def __init__(self, folder, java_home):
        folder.mkdir()
        request = ClusterSpec(
            brokers=1,
            racks=(),
            java_home=java_home,
            jars=resolve(KAFKA_3_9),
            heap_mib=256,
            overrides={"broker.id": None},
        )
        blueprint = zookeeper_blueprint(request, folder)
        self.server, self.broker = blueprint.zookeeper, blueprint.servers[0]
        self.connect = f"127.0.0.1:{blueprint.zookeeper_port}"
        self.folder, self.numbers = folder, count()

    def registered_s(self, start, stop):
        """Seconds from the start to a registration."""
        shutil.rmtree(self.folder / "broker-0" / "data", ignore_errors=True)
        (self.folder / "broker-0" / "data").mkdir()
        begun = time.perf_counter()
        running = start()
        while not self.store.children(IDS):
            self.store.wait([IDS], 1000)
        taken = time.perf_counter() - begun
        stop(running)
        while self.store.children(IDS):
            self.store.wait([IDS], 1000)
        return taken

    def bare_s(self):
        """Started without Rackwise."""
        return self.registered_s(self.broker.start, lambda _: self.broker.stop())

    def launched_s(self):
        """Started by `acquire`."""
        name = f"h{next(self.numbers)}"
        file = self.folder / "broker-0" / "server.properties"
        acquire = ["-m", "rackwise.cli", "broker-id", "acquire", "--server-properties", file]
        command = [sys.executable, *acquire, "--key", f"text:{name}", "--", *self.broker.command]

        def start():
            with self.broker.log.open("ab") as log:
                return subprocess.Popen(command, stdout=log, stderr=log)

        return self.registered_s(start, ended)

    def __enter__(self):
        self.server.start()
        create_znodes(f"zookeeper://{self.connect}", None, connect_s=60.0)
        self.store = open_zookeeper(f"zookeeper://{self.connect}")
        return self

    def __exit__(self, *_):
        self.store.close()
        self.broker.close()
        self.server.close()


def brokers(folder, java_home):
    """A broker with and without us, compiled as an installed package is."""
    compileall.compile_dir(Path(rackwise.__file__).parent, quiet=1)
    with Broker(folder, java_home) as broker:
        broker.bare_s(), broker.launched_s()
        ratios = [broker.launched_s() / broker.bare_s() for _ in range(STARTS)]
    tell(
        "broker of Kafka 3.9, start to registration, through the launcher / bare",
        statistics.median(ratios),
        gate=1.15,
    )


def scans(base):
    """Reads in flight and one by one."""
    create_znodes(f"{base}/scanned", None)
    with closing(open_zookeeper(f"{base}/scanned")) as store:
        fill(store)
        compare(
            f"scan of {TOPICS_IN_ALL} topics, {AT_ONCE} in flight / one by one",
            ZooKeeperView(store).used,
            ZooKeeperView(OneByOne(store)).used,
            gate=0.5,
            rounds=ROUNDS,
        )


def main():
    """All pairs."""
    java_home = find_java(os.environ).home
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with OpenStage(java_home=java_home, folder=folder) as stage:
            url = stage.server.url
            claims(stage)
            scans(url)
            watchers(url)
            compare(
                f"directory store / ZooKeeper, {PROCESSES} processes",
                partial(all_have_claimed, f"file://{folder}/stores", count()),
                partial(all_have_claimed, url, count()),
                gate=2,
                rounds=ROUNDS,
            )
        brokers(folder / "kafka", java_home)


if __name__ == "__main__":
    main()
