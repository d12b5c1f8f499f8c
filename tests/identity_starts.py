"""Starts, brokers, a watcher and an operator in a modelled world, one atomic step at a time.

Each is a generator that yields before it touches the world; the caller chooses which one continues.
Answers of commits may be lost. Reading a claim and renaming the file afterwards are one step here.
A real session may expire unseen between the two, as the documentation says.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from rackwise.core.errors import Conflict
from rackwise.core.identity import watch
from rackwise.core.identity.model import LocalLogDir, MetaProperties, Mode, Rules
from rackwise.core.identity.nodes.nodes import parse_claim, parse_mapping, parse_missing
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    HOSTS,
    IDS,
    KNOWN,
    MISSING,
    MISSING_LEADER,
    OWNERS,
    RETIRED,
)
from rackwise.core.identity.start import actions, gather
from rackwise.core.identity.start.gather import Host
from rackwise.core.identity.start.step import step

if TYPE_CHECKING:
    from identity_world import Broker, World


@dataclass
class Start:
    """One start of a key.

    `lost`: None if the answer of the next commit arrives; else whether the lost commit took effect.
    """

    world: World
    key: str
    rules: Rules
    nonce: str
    lose: object = staticmethod(lambda: None)
    configured: int | None = None
    command: bool = True
    is_watched: bool = False
    knows_endpoints: bool = True
    session: int = 0
    child: Broker | None = None
    outcome: object = None
    until_ms: int = 0
    state: actions.Starting | None = None
    watched: dict = field(default_factory=dict)

    def __post_init__(self):
        self.session = self.world.open_session()
        self.turns = self._run()

    def host(self):
        id_ = self.world.disks.get(self.key)
        meta = None if id_ is None else MetaProperties(version=0, broker_id=id_)
        endpoints = frozenset({f"{self.key}:9092"}) if self.knows_endpoints else frozenset()
        return Host(
            mode=Mode.ZOOKEEPER,
            key=self.key,
            nonce=self.nonce,
            endpoints=endpoints,
            configured=self.configured,
            log_dirs=(LocalLogDir(path="/d", meta=meta),),
            is_watched=self.is_watched,
        )

    def begin_again(self):
        """The session was lost: the client opens a new one."""
        if self.session not in self.world.sessions:
            self.session = self.world.open_session()
            self.watched.clear()

    def go(self, turns=10_000):
        """Run so many steps, or until the start ends; booting brokers register, time passes."""
        for _ in range(turns):
            if next(self.turns, self) is self:
                return self
            if self.child is not None and not self.child.is_registered:
                self.world.register(self.child)
            self.world.now_ms = max(self.world.now_ms, self.until_ms)
        return self

    def crash(self):
        """SIGKILL; the session expires later, here at once."""
        self.turns.close()
        self.world.end_session(self.session)

    def _run(self):
        state = actions.Starting(rules=self.rules, launch=actions.Launch(command=self.command))
        event, host = actions.Started(at_ms=self.world.now_ms), self.host()
        while True:
            state, action = step(state, event)
            self.state = state
            if isinstance(action, actions.Succeed | actions.Fail):
                self._end(action)
                return
            event = yield from self._act(action, host)

    def _act(self, action, host):
        now = self.world.now_ms
        match action:
            case actions.Gather():
                observation = yield from self._gather(host, action)
                return actions.Gathered(at_ms=self.world.now_ms, observation=observation)
            case actions.Commit(ops=ops) | actions.Confirm(ops=ops):
                yield
                outcome = self._commit(ops, action)
                return actions.CommitEnded(at_ms=self.world.now_ms, outcome=outcome)
            case actions.Sleep():
                changed = yield from self._sleep(action.most_ms, action.on)
                return actions.Slept(at_ms=self.world.now_ms, changed=changed)
            case actions.WriteMeta(id=id_, dirs=dirs):
                yield
                return self._write(id_, dirs)
            case actions.Spawn(id=id_):
                yield
                self.child = self.world.boot(self.key, id_, ours=True)
                return actions.Spawned(at_ms=now)
            case actions.Hold(id=id_, most_ms=most_ms):
                yield from self._sleep(most_ms, (f"{IDS}/{id_}", f"{CLAIMS}/{id_}"))
                return (yield from self._held(id_))
            case actions.Signal():
                yield
                self.world.kill(self.child, clean=True)
                return actions.ReaderEnded(at_ms=now)
            case actions.Release():
                yield
                self.world.end_session(self.session)
                return actions.Released(at_ms=now)

    def _gather(self, host, action):
        reading, answer = gather.gather(host, action), None
        while True:
            try:
                ask = reading.send(answer)
            except StopIteration as end:
                return end.value
            answer = yield from self._answer(ask)

    def _answer(self, ask):
        self.begin_again()
        world = self.world
        match ask:
            case gather.ReadNodes(paths):
                found = {}
                for path in paths:
                    yield
                    found[path] = world.nodes.get(path)
                return found
            case gather.ListChildren(path):
                yield
                return world.children(path)
            case gather.SetWatches(paths):
                yield
                return self._fired(paths)
            case gather.ReadPartitions():
                return ()
            case gather.ReadSession():
                return self.session
        yield
        answers = {
            gather.ReadRegistered: world.registered,
            gather.ReadUsed: lambda: world.used,
            gather.ReadClock: lambda: world.now_ms,
            gather.DrawNumber: world.next_number,
        }
        return answers[type(ask)]()

    def _fired(self, paths):
        """The nodes that changed since their watch was set; all are watched from now on."""
        touched = self.world.touched
        changed = {p for p in paths if p in self.watched and touched.get(p, 0) > self.watched[p]}
        self.watched |= dict.fromkeys(paths, self.world.zxid)
        return frozenset(changed)

    def _commit(self, ops, action):
        self.begin_again()
        lost = self.lose()
        if lost is False:
            return "unknown"
        by = (self.key, action, self.state)
        try:
            self.world.commit(ops, self.session, by=by)
        except Conflict:
            return "unknown" if lost else "conflict"
        return "unknown" if lost else "done"

    def _sleep(self, most_ms, on):
        self.until_ms = self.world.now_ms + most_ms
        changed = self._fired(on)
        while True:
            yield
            changed |= self._fired(on)
            if changed or self.world.now_ms >= self.until_ms or self._child_ended():
                self.until_ms = 0
                return changed

    def _child_ended(self):
        return self.child is not None and self.child.status is not None

    def _write(self, id_, dirs):
        self.begin_again()
        now, node = self.world.now_ms, self.world.nodes.get(f"{CLAIMS}/{id_}")
        if not self.rules.literal and (node is None or node.session != self.session):
            return actions.Wrote(at_ms=now, wrote=(), claim_czxid=None)
        if dirs:
            self.world.disks[self.key] = id_
        czxid = None if node is None else node.czxid
        return actions.Wrote(at_ms=now, wrote=dirs, claim_czxid=czxid)

    def _held(self, id_):
        self.begin_again()
        world, found = self.world, {}
        names = (f"{CLAIMS}/{id_}", f"{HOSTS}/{self.key}", f"{OWNERS}/{id_}", f"{MISSING}/{id_}")
        for path in names:
            yield
            found[path] = world.nodes.get(path)
        yield
        claim, mapping = found[names[0]], found[names[1]]
        return actions.Held(
            at_ms=world.now_ms,
            session=self.session,
            registration=world.registered().get(id_),
            claim=None if claim is None else parse_claim(claim, id=id_),
            mapping=None if mapping is None else parse_mapping(mapping, key=self.key),
            owner=found[names[2]] is not None,
            missing=found[names[3]] is not None,
            child=None if self.child is None else self.child.status,
        )

    def _end(self, action):
        self.outcome = action
        if isinstance(action, actions.Fail) and action.unwrite:
            self.world.disks[self.key] = None
        self.world.end_session(self.session)


@dataclass
class Watcher:
    """A watcher of missing ids in a world."""

    world: World
    name: bytes = b"{}"
    session: int = 0
    is_asleep: bool = False

    def __post_init__(self):
        self.session = self.world.open_session()
        self.turns = self._run()

    def hear(self):
        """Run until there is nothing left to do."""
        next(self.turns)
        while not self.is_asleep:
            next(self.turns)

    def _run(self):
        state = watch.Watching(name=self.name)
        event = actions.Started(at_ms=self.world.now_ms)
        while True:
            state, action = watch.watch_step(state, event)
            event = yield from self._act(action)

    def _act(self, action):
        world = self.world
        if self.session not in world.sessions:
            self.session = world.open_session()
        match action:
            case watch.Survey(topics=topics):
                return (yield from self._survey(topics))
            case actions.Commit(ops=ops):
                yield
                try:
                    world.commit(ops, self.session)
                except Conflict:
                    return actions.CommitEnded(at_ms=world.now_ms, outcome="conflict")
                return actions.CommitEnded(at_ms=world.now_ms, outcome="done")
            case actions.Sleep(on=on, most_ms=most_ms):
                since, until_ms = world.zxid, world.now_ms + most_ms
                while True:
                    self.is_asleep = True
                    yield
                    self.is_asleep = False
                    changed = {p for p in on if world.touched.get(p, 0) > since}
                    changed |= {
                        IDS
                        for p, z in world.touched.items()
                        if z > since and p.startswith(IDS + "/")
                    }
                    if changed & set(on) or world.now_ms >= until_ms:
                        return actions.Slept(at_ms=world.now_ms, changed=frozenset(changed))

    def _survey(self, topics):
        world = self.world
        yield
        leader = world.nodes.get(MISSING_LEADER)
        yield
        markers = {
            int(name): parse_missing(world.nodes[f"{MISSING}/{name}"], id=int(name))
            for name in world.children(MISSING)
        }
        yield
        registered = frozenset(world.registered())
        yield
        return watch.Surveyed(
            at_ms=world.now_ms,
            session=self.session,
            leader=None if leader is None else (leader.session, leader.czxid),
            known=frozenset(int(n) for n in world.children(KNOWN)),
            registered=registered,
            retired=frozenset(int(n) for n in world.children(RETIRED)),
            markers=markers,
            owners={},
            used=world.used if topics else None,
        )
