"""Six starters fight over two spare ids: `python tests/chaos/fights.py --rounds 500`.

```
7, 9   ids of two lost brokers, mapped to no host; six new hosts, `--spare unmapped --grace 0`
all    start within half a second: two spares, so they are refused (KIP-426, b.2) and start again
7      an operator assigns it to one of them, at a random moment
9      is the one spare now: all others fight for it, one gets it, the others new ids
```

In every third round ZooKeeper is killed at a random moment, and started again. In every second one
the process of a broker, not its wrapper, stands still past its session: while it boots, or when it
is registered. Then a seventh host looks for its id. A registered one that continues registers
again, as Kafka does. A start that was refused starts again, as a unit file does. The brokers are
stand-ins, each in a process of its own.

A round fails if an id is on two disks, if two live brokers have one id, if a start does not end up
as a broker, or if 7 or 9 is not given away. `Fights` counts refusals and lost races: without any
there was no fight, and the rounds prove nothing.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from chaos.stage import OpenStage
from rackwise.adapters.launch import operator
from rackwise.adapters.zookeeper import ZooKeeperView
from rackwise.core.errors import Conflict, OutcomeUnknown, RackwiseError
from rackwise.pipeline.runtime.java import find_java

ASSIGNED, SPARE = 7, 9
STARTERS = 6
STRANGER = "stranger"
"""A seventh, which comes while a registered broker stands still."""
SESSION_S = 1.0
PAST_S = 1.4
"""After so long a session of a process that stands still is over."""
MOST_STARTS = 40
OPTIONS = {"spare": "unmapped", "grace_s": 0, "on_blocked": "error", "wait_s": 60.0, "hold_s": 20.0}
KILLED_EVERY, STOPPED_EVERY = 3, 2


@dataclass
class Fights:
    """The figures of all rounds."""

    rounds: int = 0
    contested: int = 0
    """Rounds in which a starter was refused or lost a race."""
    starts: int = 0
    lost_races: int = 0
    """Commits that another starter's commit made fail."""
    refusals: Counter = field(default_factory=Counter)
    """Error -> how many starts it ended."""
    zookeeper_kills: int = 0
    stopped: int = 0
    """Broker processes that stood still past their session."""
    registered_again: int = 0
    double_ids: int = 0

    def __str__(self):
        refused = ", ".join(f"{name} {n}" for name, n in sorted(self.refusals.items()))
        return (
            f"{self.rounds} rounds, {self.contested} contested; {self.starts} starts; "
            f"{self.lost_races} races lost; refused: {refused or 'none'}; ZooKeeper killed "
            f"{self.zookeeper_kills} times; {self.stopped} brokers stopped past their session, "
            f"{self.registered_again} registered again; {self.double_ids} double ids"
        )


class Round:
    """One fight in a fleet of its own."""

    def __init__(self, stage, fleet, rng, number, fights):
        self.stage, self.fleet, self.rng, self.fights = stage, fleet, rng, fights
        self.kills_zookeeper = number % KILLED_EVERY == KILLED_EVERY - 1
        self.stops_booting = number % (2 * STOPPED_EVERY) == STOPPED_EVERY - 1
        self.stops_registered = number % (2 * STOPPED_EVERY) == 2 * STOPPED_EVERY - 1
        self.keys = [f"x{each}" for each in range(STARTERS)]
        self.heir = rng.choice(self.keys)

    def play(self):
        self.fleet.topic(ASSIGNED, SPARE)
        self.start(self.keys)
        time.sleep(self.rng.uniform(0, 0.5))
        self.assign()
        if self.kills_zookeeper:
            self.kill_zookeeper()
        self.settle()
        while down := self.down():
            assert len(self.fleet.started) < MOST_STARTS * STARTERS, f"{down} never came up"
            self.start(down)
            if self.stops_booting and (booting := self.first_broker()):
                self.stops_booting = False
                self.stop(booting)
            self.settle()
        if self.stops_registered:
            owners = [each for each in self.fleet.up() if each.id in {ASSIGNED, SPARE}]
            self.stop(self.rng.choice(owners), self.look_for_its_id)
        self.judge()

    def start(self, keys):
        boots = f"boot.ms={self.rng.randrange(400)}"
        self.fights.starts += len(keys)
        self.fleet.start(
            *(
                self.fleet.plan(
                    key,
                    boots,
                    command=True,
                    options=OPTIONS,
                    seed=self.rng.randrange(2**32),
                    delay_s=self.rng.choice((0, 0, self.rng.uniform(0, 0.3))),
                )
                for key in keys
            )
        )

    def settle(self):
        self.fleet.until(lambda: all(each.is_settled for each in self.fleet.started), "all")

    def down(self):
        up = {each.key for each in self.fleet.up()}
        return [key for key in self.keys if key not in up]

    def assign(self):
        """The operator's commit, repeated until it is known to have taken effect."""
        while self.fleet.mapped().get(self.heir) != ASSIGNED:
            with suppress(Conflict, OutcomeUnknown):
                view = ZooKeeperView(self.fleet.store)
                operator.assign(
                    self.fleet.store,
                    view,
                    self.heir,
                    ASSIGNED,
                    force=False,
                    has_registrations=True,
                )

    def kill_zookeeper(self):
        time.sleep(self.rng.uniform(0, 0.5))
        self.stage.server.server.kill()
        self.stage.server.start()
        self.fights.zookeeper_kills += 1

    def first_broker(self):
        """The first broker process of the starts that are on their way; None if all are refused."""
        started = self.fleet.started

        def booting():
            return [each for each in started if each.child and not each.is_settled]

        self.fleet.until(
            lambda: booting() or all(each.is_settled for each in started), "a broker to boot"
        )
        return next(iter(booting()), None)

    def stop(self, victim, meanwhile=lambda: None):
        """SIGSTOP to the process of a broker, past its session; then SIGCONT."""
        before = self.incarnation(victim)
        with suppress(ProcessLookupError):
            os.kill(victim.child, signal.SIGSTOP)
        since = time.monotonic()
        self.fleet.until(lambda: time.monotonic() - since > PAST_S, "the end of its session")
        if before is not None:
            self.fleet.until(lambda: self.incarnation(victim) is None, "its registration to end")
        meanwhile()
        with suppress(ProcessLookupError):
            os.kill(victim.child, signal.SIGCONT)
        self.fights.stopped += 1
        if before is not None:
            self.fleet.until(lambda: self.incarnation(victim) is not None, "it to register again")
            self.fights.registered_again += 1

    def look_for_its_id(self):
        """A seventh start sees an id that nobody holds; it is mapped to another host."""
        self.start([STRANGER])
        self.settle()
        stranger = self.fleet.started[-1]
        assert (stranger.refusal, stranger.id) == ("SpareReserved", None), stranger.told

    def incarnation(self, started):
        """The incarnation of the broker of a start; None = it is not registered."""
        registration = self.fleet.registered().get(started.id)
        return None if registration is None else registration.incarnation

    def judge(self):
        fleet, fights = self.fleet, self.fights
        lost = sum(each.lost for each in fleet.started)
        refusals = Counter(each.refusal for each in fleet.started if each.refusal)
        fights.lost_races += lost
        fights.refusals += refusals
        fights.contested += bool(lost or refusals)
        ids = [each.id for each in fleet.up()]
        fights.double_ids += len(ids) - len(set(ids)) + fleet.poisoned()
        fights.rounds += 1
        told = {each.key: each.id for each in fleet.up()}
        died = [each for each in fleet.started if "up" in each.told and each.has_ended]
        assert not died, "; ".join(f"{each.key}: {each.told}\n{fleet.said(each)}" for each in died)
        fleet.check()
        assert fleet.poisoned() == 0, fleet.disks()
        assert told == fleet.mapped(), (told, fleet.mapped())
        assert told[self.heir] == ASSIGNED, told
        assert sorted(told.values())[:2] == [ASSIGNED, SPARE], told
        self.await_registrations(told)

    def await_registrations(self, told):
        """Each id is registered by the broker of its key."""

        def as_mapped():
            live = self.fleet.registered()
            endpoints = {id_: {e.partition(":")[0] for e in r.endpoints} for id_, r in live.items()}
            return endpoints == {id_: {key} for key, id_ in told.items()}

        self.fleet.until(as_mapped, "each id to be registered by its own host")


def fight(stage, rounds, *, seed=0, until_s=None, on_round=lambda _number, _fights: None):
    """Play so many rounds, or until the time is over; the figures of all."""
    fights, deadline = Fights(), None if until_s is None else time.monotonic() + until_s
    for number in range(rounds):
        if deadline is not None and time.monotonic() > deadline:
            break
        rng = Random(f"fight {seed} {number}")
        with stage.fleet(session_s=SESSION_S) as fleet:
            Round(stage, fleet, rng, number, fights).play()
        on_round(number, fights)
    return fights


def literal_fight(stage, *, seed=0):
    """The control: to the letter of the KIP, all meet at one spare and have one id.

    Each stands still once it has decided, until all have: no scheduler decides what is played.
    Returns the number of disks with an id that another disk has.
    """
    with stage.fleet(literal=True, session_s=SESSION_S) as fleet:
        fleet.topic(SPARE)
        keys = [f"x{each}" for each in range(STARTERS)]
        plans = (
            fleet.plan(key, command=True, seed=seed, at="WriteMeta<", how="STOP") for key in keys
        )
        for each in fleet.run(*plans):
            each.go_on()
        fleet.until(lambda: all(each.is_settled for each in fleet.started), "them to go on")
        return fleet.poisoned()


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="stop after this time")
    given = parser.parse_args()
    begun = time.monotonic()

    def tell(number, fights):
        print(f"{time.monotonic() - begun:6.1f} s, round {number}: {fights}", flush=True)

    with tempfile.TemporaryDirectory() as folder:
        java_home = find_java(os.environ).home
        until_s = None if given.minutes is None else given.minutes * 60
        with OpenStage(java_home=java_home, folder=Path(folder)) as stage:
            try:
                fights = fight(stage, given.rounds, seed=given.seed, until_s=until_s, on_round=tell)
            except (AssertionError, RackwiseError) as failed:
                print(f"FAILED: {failed}")
                return 1
    return 0 if fights.contested and not fights.double_ids else 1


if __name__ == "__main__":
    sys.exit(main())
