"""One start of a broker in a forked process, with points at which it is killed or stopped.

It runs `acquire` itself. Its session is opened before all starts begin, so that the claim is
measured. Every step is a named point: `Commit<` before and `Commit>` after an action of that kind,
`check<` before and `check>` after each last look at the claim, `rename<` and `rename>` around each
rename of a file, `registered` when the broker in this process is registered. A point may be
counted: `rename>2` is the second.

Without a command the broker is in this process: it reads its id from its files and registers as
Kafka does, with the functions of `stand_in_broker.py`.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import sys
import time
from importlib import import_module
from pathlib import Path
from random import Random

from kazoo.client import KazooClient

from rackwise.adapters.launch import AcquireOptions, acquire, driver, run
from rackwise.adapters.launch.broker import log_dirs
from rackwise.adapters.launch.views import stores
from rackwise.core.errors import RackwiseError
from rackwise.core.identity.nodes.store import FENCE, Put
from rackwise.core.identity.start import actions
from stand_in_broker import register, settings_of, stored_id


class Starter:
    """`plan`: the scene's plan of this start, see `fleet.py`; `reports`: where it reports to."""

    def __init__(self, plan, reports):
        self.plan, self.reports = plan, reports
        self.counts = {}
        self.begun_s = 0.0
        self.client = None

    def tell(self, event, **told):
        line = {"number": self.plan["number"], "event": event, "pid": os.getpid(), **told}
        os.write(self.reports, (json.dumps(line) + "\n").encode())

    def reach(self, point):
        """Kill or stop this process if the plan says so for this point."""
        count = self.counts[point] = self.counts.get(point, 0) + 1
        if self.plan.get("at") in {point, f"{point}{count}"} and not self.plan.get("is_over"):
            self.plan["is_over"] = True
            how = self.plan["how"]
            self.tell("reached", point=point, how=how)
            os.kill(os.getpid(), getattr(signal, f"SIG{how}"))

    def seconds(self):
        return time.monotonic() - self.begun_s

    def instrument(self):
        """Put points into the steps of `acquire`; this process runs nothing else."""
        starter = self

        class Traced(run.Run):
            def _perform(self, action):
                name = type(action).__name__
                starter.reach(f"{name}<")
                event = super()._perform(action)
                if isinstance(action, actions.Commit) and self.state.phase == "committing":
                    starter.tell("tried", outcome=event.outcome, s=starter.seconds())
                if isinstance(action, actions.Spawn):
                    starter.tell("spawned", child=self.child.pid)
                starter.reach(f"{name}>")
                return event

            def _check_claim(self, broker_id):
                starter.reach("check<")
                super()._check_claim(broker_id)
                starter.reach("check>")

        rename = log_dirs._rename

        def traced_rename(folder, instead_of):
            starter.reach("rename<")
            rename(folder, instead_of)
            starter.tell("renamed")
            starter.reach("rename>")

        driver.Run, log_dirs._rename = Traced, traced_rename
        if self.plan.get("fence") == "all":
            rules = import_module("rackwise.core.identity.start.operations")
            rules._fence = lambda _take, seen: Put(FENCE, b"", seen.fence)

    def run(self, barrier):
        options = AcquireOptions(
            **{"key": f"text:{self.plan['key']}", "session_timeout_s": 4.0, **self.plan["options"]},
            server_properties=Path(self.plan["file"]),
        )
        self.instrument()
        opened = stores.open_store(
            self.plan["url"], session_timeout_s=options.session_timeout_s, connect_s=60.0
        )
        stores.open_store = lambda *_, **__: opened
        self.tell("open")
        os.read(barrier, 1)
        time.sleep(self.plan.get("delay_s", 0))
        self.begun_s = time.monotonic()
        command = self.plan.get("command")
        done = acquire(
            options,
            command,
            report=self.note,
            on_acquired=self.taken,
            rng=Random(self.plan["seed"]),
        )
        self.tell("up" if command is None else "ended", status=done.exit_status, s=self.seconds())
        if command is not None:
            return done.exit_status
        while True:
            signal.pause()

    def note(self, line):
        print(line, file=sys.stderr, flush=True)
        if line.startswith("registered as") and self.plan.get("command"):
            self.tell("up", s=self.seconds())

    def taken(self, acquired):
        self.tell("taken", id=acquired.id, how=acquired.how, row=acquired.row, s=self.seconds())
        if self.plan.get("command") is None and self.plan.get("registers", True):
            self.register()

    def register(self):
        """Register as Kafka does: with the file's id; an id that is registered is an error."""
        settings = settings_of(self.plan["file"], ())
        time.sleep(int(settings.get("boot.ms", "0")) / 1000)
        timeout_s = int(settings["zookeeper.session.timeout.ms"]) / 1000
        self.client = KazooClient(settings["zookeeper.connect"], timeout=timeout_s)
        self.client.start(timeout=60)
        broker_id = stored_id([Path(each) for each in settings["log.dirs"].split(",")])
        listener, has_host = settings["advertised.listeners"], settings.get("null.host") != "true"
        czxid = register(self.client, broker_id, listener, has_host=has_host)
        self.tell("registered", id=broker_id, czxid=czxid, s=self.seconds())
        self.reach("registered")

    def leave(self):
        """Close the broker's session, if there is one."""
        if self.client is not None:
            self.client.stop()


def end(*_):
    raise SystemExit(0)


def start(plan, barrier):
    """Run a plan to its end and leave the process.

    Its broker inherits standard output, which is a file here: half a line of a broker between two
    reports would hide the second.
    """
    reports = os.dup(1)  # not inherited by the broker
    with open(Path(plan["file"]).with_name("told"), "ab") as told:  # noqa: PTH123 (a descriptor)
        os.dup2(told.fileno(), 1)
        os.dup2(told.fileno(), 2)
    signal.signal(signal.SIGTERM, end)
    starter, status = Starter(plan, reports), 0
    try:
        status = starter.run(barrier) or 0
    except RackwiseError as error:
        status = error.exit_code
        starter.tell("refused", code=type(error).__name__, status=status, s=starter.seconds())
    except SystemExit as ended:
        status = ended.code if isinstance(ended.code, int) else 1
        if status:
            starter.tell("died", why=str(ended.code), s=starter.seconds())
    finally:
        with contextlib.suppress(Exception):
            starter.leave()
        sys.stderr.flush()
        os._exit(status)
