"""A story: starts, crashes, lost answers, expiries and operators in an order that a seed draws."""

from __future__ import annotations

import random
from contextlib import suppress
from dataclasses import dataclass, field

from identity_starts import Start, Watcher
from identity_world import World
from laws_identity import check_claims
from rackwise.core.errors import Conflict
from rackwise.core.identity.model import KeyMapping, Rules
from rackwise.core.identity.nodes.nodes import (
    format_mapping,
    parse_claim,
    parse_mapping,
    parse_owner,
)
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    OWNERS,
    SEQUENCE,
    Create,
    Put,
)
from rackwise.core.identity.operator.adopt import adoptions
from rackwise.core.identity.operator.assign_retire import Ledger, assign
from rackwise.core.identity.operator.key_template import KeyTemplate
from rackwise.core.identity.operator.roster import Census
from rackwise.core.identity.refusals import NotFree
from rackwise.core.identity.start.actions import Fail

KEYS = ("g", "h", "x", "y")
ABSENT = "z"
"""A host that does not start; an operator assigns it an id."""


def census_of(world):
    """All nodes of a world about ids."""
    mappings = (parse_mapping(world.nodes[f"{HOSTS}/{k}"], key=k) for k in world.children(HOSTS))
    owners = (int(name) for name in world.children(OWNERS))
    return Census(
        mappings=tuple(mappings),
        registered=world.registered(),
        claims={i: parse_claim(world.nodes[f"{CLAIMS}/{i}"], id=i) for i in world.claimed()},
        owners={id_: parse_owner(world.nodes[f"{OWNERS}/{id_}"], id=id_) for id_ in owners},
    )


def adoption_of(world):
    """The commit that adopts all registered brokers of a world, with the fence; may be empty."""
    fence, census = world.nodes[FENCE].version, census_of(world)
    versions = {id_: world.nodes[f"{IDS}/{id_}"].version for id_ in census.registered}
    found = adoptions(census, KeyTemplate.parse("{host}"), versions=versions)
    ops = [op for each in found for op in each.ops]
    return (Put(FENCE, b"", fence), *ops) if ops else ()


def assignment_of(world, key, broker_id):
    """The commit that assigns an id to a key. Raises `NotFree`."""
    census = census_of(world)
    ledger = Ledger(
        broker_id=broker_id,
        fence=world.nodes[FENCE].version,
        now_ms=world.now_ms,
        registration=census.registered.get(broker_id),
        claim=census.claims.get(broker_id),
        owners=census.owners,
        has_owner=broker_id in census.owners,
        mappings=tuple(each for each in census.mappings if each.broker_id == broker_id),
    )
    before = next((each for each in census.mappings if each.key == key), None)
    return assign(key, ledger, before=before)


@dataclass(frozen=True, kw_only=True)
class Plot:
    """The setting of a story. `mapped`: key -> id. `up`: keys whose broker runs first; the others
    have an empty disk. `events`: the weight of each event beside the steps of starts.
    """

    rules: Rules
    used: frozenset[int] = frozenset({1, 7})
    mapped: dict = field(default_factory=lambda: {"g": 1, "h": 7})
    up: tuple[str, ...] = ("g",)
    events: dict = field(default_factory=dict)
    turns: int = 130
    is_watched: bool = False
    is_recreated: bool = False
    lost: float = 0.05


@dataclass
class Story:
    """One run of a plot; `tell` runs it to its end and checks the laws after each event."""

    plot: Plot
    seed: int
    strip: object = None

    def __post_init__(self):
        self.rng = random.Random(self.seed)
        self.world = World(used=self.plot.used, strip=self.strip)
        self.starts: dict[str, Start] = {}
        self.moved: set[int] = set()
        self.plain: set[str] = set()
        self.dead_sessions: list[int] = []
        self.watcher = Watcher(self.world) if self.plot.is_watched else None
        self.adopting: tuple = ()
        self.adopted = 0
        self.assigned = 0
        self.nonces = 0
        self.ways: set[str] = set()
        self._begin()

    def _begin(self):
        world = self.world
        world.commit(
            [
                Create(f"{HOSTS}/{key}", format_mapping(KeyMapping(key=key, broker_id=id_)))
                for key, id_ in self.plot.mapped.items()
            ],
            None,
        )
        world.disks |= dict.fromkeys(KEYS)
        for id_ in self.plot.used:
            world.absent_since_ms[id_] = world.now_ms
        for key in self.plot.up:
            world.disks[key] = self.plot.mapped[key]
            world.register(world.boot(key, self.plot.mapped[key], ours=False))
        if not self.plot.is_recreated:
            world.numbers = 10

    def tell(self):
        names = ["turn", *self.plot.events]
        weights = [40, *self.plot.events.values()]
        for name in self.rng.choices(names, weights, k=self.plot.turns):
            before = self._state()
            getattr(self, f"_{name}")()
            if before != self._state():
                self.check()
        self.check()
        return self

    def _state(self):
        return self.world.zxid, tuple(self.world.disks.values())

    def check(self):
        for (_key, _action, state), _before, _ops in self.world.commits:
            self.ways.add(state.take.how)
            if state.take.takes_from:
                self.moved.add(state.take.id)
        check_claims(
            self.world,
            grace_ms=self.plot.rules.grace_ms,
            moved=frozenset(self.moved),
            plain=frozenset(self.plain),
        )

    # events

    def _turn(self):
        """One start makes a step; if all sleep, time passes."""
        awake = [s for s in self.starts.values() if not self._asleep(s)]
        if self.watcher is not None and not self.rng.randrange(4):
            next(self.watcher.turns)
        if awake:
            self._go_on(self.rng.choice(awake))
        elif self.starts:
            self._pass(self.rng.choice((1, 10, 300, 3000)))
            self._go_on(self.rng.choice(list(self.starts.values())))
        else:
            self._start()

    def _pass(self, ms):
        """Time passes; a watcher has then heard of everything before."""
        if self.watcher is not None:
            self.watcher.hear()
        self.world.now_ms += ms

    def _asleep(self, start):
        return start.until_ms > self.world.now_ms

    def _go_on(self, start):
        try:
            next(start.turns)
        except StopIteration:
            del self.starts[start.key]
            if isinstance(start.outcome, Fail) and start.child is not None:
                self._die(start.child)

    def _start(self):
        running = {b.key for b in self.world.brokers if b.status is None}
        idle = [k for k in KEYS if k not in self.starts and k not in running]
        if idle:
            self.nonces += 1
            key = self.rng.choice(idle)
            self.starts[key] = Start(
                world=self.world,
                key=key,
                rules=self.plot.rules,
                nonce=str(self.nonces),
                lose=self._lose,
                is_watched=self.plot.is_watched,
            )

    def _lose(self):
        if self.rng.random() >= self.plot.lost:
            return None
        return self.rng.random() < 0.5

    def _boot(self):
        """A booting broker registers, or dies before that."""
        booting = [b for b in self.world.brokers if b.status is None and not b.is_registered]
        if booting:
            broker = self.rng.choice(booting)
            if self.rng.random() < 0.1:
                self._die(broker)
            else:
                self.world.register(broker)

    def _kill(self):
        """SIGKILL; the registration stays until its session expires. The disk may be lost."""
        live = [b for b in self.world.brokers if b.status is None and b.is_registered]
        if live:
            broker = self.rng.choice(live)
            self._die(broker)
            if self.rng.random() < 0.6 and broker.key not in self.starts:
                self.world.disks[broker.key] = None

    def _die(self, broker):
        self.world.kill(broker)
        self.dead_sessions.append(broker.session)

    def _crash(self):
        """SIGKILL of a start; its broker ends with it."""
        if self.starts:
            start = self.starts.pop(self.rng.choice(sorted(self.starts)))
            start.turns.close()
            self.dead_sessions.append(start.session)
            if start.child is not None and start.child.status is None:
                self._die(start.child)

    def _expire(self):
        """The session of a dead broker expires after some time."""
        if self.dead_sessions:
            self._pass(self.rng.choice((1, 500, 6000)))
            at = self.rng.randrange(len(self.dead_sessions))
            self.world.end_session(self.dead_sessions.pop(at))

    def _lose_session(self):
        """The session of a live start ends."""
        if self.starts:
            self.world.end_session(self.rng.choice(list(self.starts.values())).session)

    def _plain(self):
        """A broker starts without Rackwise, with the id of its disk or a number that it draws."""
        running = {b.key for b in self.world.brokers if b.status is None}
        idle = [k for k in KEYS if k not in self.starts and k not in running]
        if idle:
            key = self.rng.choice(idle)
            self.plain.add(key)
            if self.world.disks[key] is None:
                self.world.disks[key] = 1000 + self.world.next_number()
            self.world.boot(key, self.world.disks[key], ours=False)

    def _adopt(self):
        """An operator adopts all brokers: reads at one event, commits at the next."""
        if not self.adopting:
            self.adopting = adoption_of(self.world)
            return
        with suppress(Conflict):
            self.world.commit(self.adopting, None)
            self.adopted += 1
        self.adopting = ()

    def _assign(self):
        """An operator assigns a number that a start has drawn last, or that the next one draws."""
        number = 1000 + self.world.numbers + self.rng.randrange(2)
        with suppress(NotFree):
            self.world.commit(assignment_of(self.world, ABSENT, number), None)
            self.assigned += 1

    def _lead(self):
        """Another watcher becomes the leader."""
        self.world.end_session(self.watcher.session)
        self.watcher.turns.close()
        self.watcher = Watcher(self.world)

    def _recreate(self):
        """The sequence of numbers starts again."""
        self.world.nodes.pop(SEQUENCE, None)
        self.world.numbers = 0
