"""Hosts of one cluster on a real ZooKeeper, many started at once, killed, stopped and judged.

```
Zygote    one warm process that forks starts; shared by scenes
Fleet     its own chroot and folder: hosts, their disks, the reports of their starts
```

A plan of a start: `number`, `key`, `file`, `url`, `options` of `AcquireOptions`, `delay_s` after
the common instant, the point `at` which it gets the signal `how` (KILL, STOP), `command`, `fence`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import shutil
import signal
import statistics
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from types import SimpleNamespace

from laws_identity import check_claims
from process_states import is_stopped
from rackwise.adapters.zookeeper import ZooKeeperView, create_znodes, open_zookeeper
from rackwise.core.identity.nodes.nodes import parse_mapping
from rackwise.core.identity.nodes.store import CLAIMS, HOSTS, TOPICS, Create

TESTS = Path(__file__).parents[1]
BROKER = TESTS / "stand_in_broker.py"
PATIENCE_S = 90.0
TICK_S = 0.05
PORTS = count(19_000)

SERVER = {"tickTime": "200", "minSessionTimeout": "400", "maxClientCnxns": "0"}
"""Of the ZooKeeper: sessions end when they are over, and all hosts are one address."""


class Zygote:
    """The process that forks; `start(plans)`, then `hear`."""

    def __init__(self):
        path = os.pathsep.join([str(TESTS), *(each for each in sys.path if each)])
        self.numbers = count()
        self.process = subprocess.Popen(
            [sys.executable, str(Path(__file__).with_name("zygote.py"))],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": path},
        )
        self.rest = b""
        self.listeners = {}

    def say(self, what):
        self.process.stdin.write(json.dumps(what).encode() + b"\n")
        self.process.stdin.flush()

    def hear(self, timeout_s):
        """Pass each line to the start that wrote it."""
        out = self.process.stdout.fileno()
        if not select.select([out], [], [], timeout_s)[0]:
            return
        told = os.read(out, 1 << 16)
        if not told:
            message = "the process that forks has ended"
            raise AssertionError(message)
        *lines, self.rest = (self.rest + told).split(b"\n")
        for line in lines:
            if line.startswith(b"{"):
                event = json.loads(line)  # noqa: TID251 (our own text)
                self.listeners[event["number"]].hear(event)

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)
        self.process.stdout.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


class Started:
    """One start: its last report of each kind; its commits tried and lost, and its renames."""

    def __init__(self, plan):
        self.plan, self.key = plan, plan["key"]
        self.told, self.tries, self.lost, self.renames = {}, 0, 0, 0
        self.pid = None

    def hear(self, event):
        self.pid = event["pid"]
        self.told[event["event"]] = event
        self.tries += event["event"] == "tried"
        self.lost += event["event"] == "tried" and event["outcome"] == "conflict"
        self.renames += event["event"] == "renamed"

    @property
    def id(self):
        return self.told["taken"]["id"] if "taken" in self.told else None

    @property
    def how(self):
        return self.told["taken"]["how"] if "taken" in self.told else None

    @property
    def refusal(self):
        """The name of the error it ended with; `died` for a broker that could not register."""
        if "died" in self.told:
            return "died"
        return self.told["refused"]["code"] if "refused" in self.told else None

    @property
    def child(self):
        """The process of its broker; None before it is started."""
        return self.told["spawned"]["child"] if "spawned" in self.told else None

    @property
    def is_up(self):
        return "up" in self.told and not self.has_ended

    @property
    def has_ended(self):
        return "exit" in self.told

    @property
    def is_settled(self):
        """Whether it is up, has ended or is stopped."""
        return self.is_up or self.has_ended or self.is_stopped

    @property
    def is_stopped(self):
        """Whether it stands still at its point; it tells of the point just before it stops."""
        reached = self.told.get("reached")
        if not reached or reached["how"] != "STOP" or "continued" in self.told:
            return False
        return is_stopped(self.pid)

    def kill(self, number=signal.SIGKILL):
        with contextlib.suppress(ProcessLookupError):
            os.kill(self.pid, number)

    def go_on(self):
        """Continue it after a SIGSTOP."""
        self.told["continued"] = {}
        self.kill(signal.SIGCONT)


class Fleet:
    """`literal`: all starts follow the KIP's letter. Closing it kills all that runs."""

    def __init__(self, server, zygote, folder, name, *, literal=False, session_s=4.0):
        self.server, self.zygote, self.folder = server, zygote, folder / name
        self.folder.mkdir(parents=True)
        self.connect = f"{server.connect}/{name}"
        self.url = f"zookeeper://{self.connect}"
        create_znodes(self.url, None)
        self.store = open_zookeeper(self.url)
        self.literal, self.session_s = literal, session_s
        self.homes, self.started = {}, []

    # hosts and what they have

    def home(self, key, name=None):
        home = self.folder / (name or key)
        home.mkdir(exist_ok=True)
        return home

    def plan(self, key, *lines, name=None, command=False, seed=0, **plan):
        """Add a start of this key; `name`: of its home, if a host has several brokers."""
        home = self.home(key, name)
        port = self.homes.setdefault(home.name, next(PORTS))
        file = home / "server.properties"
        settings = (
            f"zookeeper.connect={self.connect}",
            f"log.dirs={home}/a,{home}/b",
            f"advertised.listeners=PLAINTEXT://{key}:{port}",
            f"zookeeper.session.timeout.ms={int(self.session_s * 1000)}",
            *lines,
        )
        file.write_text("\n".join(settings))
        options = {"session_timeout_s": self.session_s, **plan.pop("options", {})}
        if self.literal:
            kept = ("session_timeout_s", "instance", "hold_s")
            options = {name: options[name] for name in kept if name in options} | {"literal": True}
        return {
            "number": next(self.zygote.numbers),
            "key": key,
            "name": home.name,
            "file": str(file),
            "url": self.url,
            "options": options,
            "seed": seed,
            "command": [sys.executable, str(BROKER), str(file)] if command else None,
            **plan,
        }

    def start(self, *plans):
        """Start all at the same instant, once all have their session."""
        starts = [Started(plan) for plan in plans]
        for each in starts:
            self.zygote.listeners[each.plan["number"]] = each
        self.zygote.say(plans)
        self.until(
            lambda: all("open" in each.told or each.has_ended for each in starts), "the sessions"
        )
        self.zygote.say("go")
        self.started += starts
        return starts

    def run(self, *plans):
        """Start all and wait until each is up, has ended or is stopped."""
        starts = self.start(*plans)
        self.until(lambda: all(each.is_settled for each in starts), "all to be settled")
        return starts

    def until(self, condition, what, timeout_s=PATIENCE_S):
        deadline = time.monotonic() + timeout_s
        while not condition():
            self.zygote.hear(TICK_S)
            if time.monotonic() > deadline:
                left = [each for each in self.started if not each.is_settled]
                told = [f"{each.key}: {each.told}\n{self.said(each)}" for each in left]
                message = f"waited {timeout_s:.0f} s for {what}: {'; '.join(told)}"
                raise AssertionError(message)

    def said(self, started):
        """The last lines that a start and its broker wrote, and the state of the broker."""
        lines = (self.folder / started.plan["name"] / "told").read_text().splitlines()[-20:]
        if started.child is not None:
            status = Path(f"/proc/{started.child}/stat")
            lines.append(status.read_text() if status.exists() else "the broker has ended")
        return "\n".join(lines)

    def wipe(self, name):
        for each in ("a", "b"):
            shutil.rmtree(self.folder / name / each, ignore_errors=True)

    def end(self, starts, number=signal.SIGKILL):
        for each in starts:
            each.kill(number)
        self.until(lambda: all(each.has_ended for each in starts), "their end")

    # what is stored

    def topic(self, *ids):
        """A topic with a replica on each broker."""
        rows = ",".join(f'"{at}":[{each}]' for at, each in enumerate(ids))
        self.store.commit(
            [Create(f"{TOPICS}/orders", f'{{"version":3,"partitions":{{{rows}}}}}'.encode())]
        )

    def map(self, key, broker_id):
        data = f'{{"version":0,"broker.id":{broker_id}}}'.encode()
        self.store.commit([Create(f"{HOSTS}/{key}", data)])

    def mappings(self):
        """Key -> node."""
        paths = {f"{HOSTS}/{key}": key for key in self.store.children(HOSTS)}
        return {paths[path]: node for path, node in self.store.read(list(paths)).items() if node}

    def mapped(self):
        """Key -> id."""
        return {
            key: parse_mapping(node, key=key).broker_id for key, node in self.mappings().items()
        }

    def registered(self):
        return ZooKeeperView(self.store).registered()

    def claims(self):
        return self.store.children(CLAIMS)

    def disks(self):
        """Home -> ids in its files; homes without a file are left out."""
        found = {}
        for file in sorted(self.folder.glob("*/[ab]/meta.properties")):
            ids = {int(x[10:]) for x in file.read_text().split() if x.startswith("broker.id=")}
            found.setdefault(file.parents[1].name, set()).update(ids)
        return found

    # what may not be

    def poisoned(self):
        """The number of disks with an id that another disk has: all but one of each id."""
        ids = [broker_id for each in self.disks().values() for broker_id in each]
        return len(ids) - len(set(ids))

    def up(self):
        return [each for each in self.started if each.is_up]

    def check(self, moved=frozenset()):
        """I1 to I7, as far as they are visible from outside."""
        mappings = self.mappings()
        brokers = [
            SimpleNamespace(
                key=each.plan["name"], id=each.id, is_registered=True, status=None, ours=True
            )
            for each in self.up()
        ]
        assert {len(each) for each in self.disks().values()} <= {1}, "one id in all dirs of a host"
        world = SimpleNamespace(
            brokers=brokers,
            disks={key: min(ids) for key, ids in self.disks().items()},
            commits=[],
            registrations=[
                (broker, start.told["registered"]["czxid"], mappings.get(start.key))
                for broker, start in zip(brokers, self.up(), strict=True)
                if "registered" in start.told
            ],
            mapped=self.mapped,
        )
        check_claims(world, grace_ms=0, moved=moved)

    def close(self):
        left = [each for each in self.started if not each.has_ended]
        self.end(left)
        self.store.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def p50(starts, event="taken"):
    """Median seconds from the common instant to this event."""
    times = [each.told[event]["s"] for each in starts if event in each.told]
    return statistics.median(times) if times else float("nan")


def most_tries(starts):
    return max((each.tries for each in starts), default=0)
