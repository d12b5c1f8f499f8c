"""A store, disks and brokers as plain values: the world in which starts of brokers interleave.

One call is one atomic step, as one request is in ZooKeeper. Sessions end and time passes only by a
call. The world records what the laws need: every commit that took effect, every registration, and
since when each id is absent.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace

from rackwise.core.errors import Conflict
from rackwise.core.identity.model import Registration
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    SEQUENCE,
    Absent,
    Check,
    Create,
    Delete,
    Put,
    StoredNode,
)


def mapped_id(node):
    """The id in a mapping, by the KIP's text alone."""
    return int(re.search(rb'"broker.id":([0-9]+)', node.data)[1])


@dataclass
class Broker:
    """A broker process, started by us or a plain one; it registers after a while."""

    key: str
    id: int
    session: int
    ours: bool
    begun_zxid: int
    is_registered: bool = False
    status: int | None = None


@dataclass
class World:
    """The world. `used`: ids that have replicas. `disks`: key -> id on its one disk, None = empty.

    `strip` removes operations from each commit, to show which failures they prevent.
    """

    used: frozenset[int] = frozenset()
    strip: object = None
    now_ms: int = 1_000_000
    zxid: int = 0
    nodes: dict[str, StoredNode] = field(default_factory=dict)
    sessions: set[int] = field(default_factory=set)
    disks: dict[str, int | None] = field(default_factory=dict)
    brokers: list[Broker] = field(default_factory=list)
    absent_since_ms: dict[int, int] = field(default_factory=dict)
    touched: dict[str, int] = field(default_factory=dict)
    commits: list[tuple[int, tuple]] = field(default_factory=list)
    registrations: list[tuple[Broker, int, StoredNode | None]] = field(default_factory=list)
    numbers: int = 0
    drawn_sessions: int = 0

    def __post_init__(self):
        self._put(FENCE, b"", None)

    # nodes

    def open_session(self):
        self.drawn_sessions += 1
        self.sessions.add(self.drawn_sessions)
        return self.drawn_sessions

    def end_session(self, session):
        self.sessions.discard(session)
        for path, node in list(self.nodes.items()):
            if node.session == session:
                self.zxid += 1
                self._remove(path)

    def children(self, path):
        inside = path + "/"
        return sorted(p[len(inside) :] for p in self.nodes if p.startswith(inside))

    def _put(self, path, data, session):
        old = self.nodes.get(path)
        self.zxid += 1
        if old is None:
            node = StoredNode(
                data=data,
                version=0,
                created_ms=self.now_ms,
                modified_ms=self.now_ms,
                czxid=self.zxid,
                session=session,
            )
        else:
            node = replace(old, data=data, version=old.version + 1, modified_ms=self.now_ms)
        self.nodes[path] = node
        self._changed(path)

    def _remove(self, path):
        del self.nodes[path]
        self._changed(path)

    def _changed(self, path):
        self.touched[path] = self.zxid
        parent, _, name = path.rpartition("/")
        if parent == IDS:
            present = path in self.nodes
            self.absent_since_ms[int(name)] = self.now_ms if not present else 2**60

    def commit(self, ops, session, *, by=None):
        before = dict(self.nodes)
        if self.strip is not None:
            ops = [op for op in ops if not self.strip(op)]
        for op in ops:
            if not self._holds(op):
                raise Conflict("it holds", had=op)
        for op in ops:
            match op:
                case Create(path, data, ephemeral):
                    self._put(path, data, session if ephemeral else None)
                case Put(path, data, _):
                    self._put(path, data, None)
                case Delete(path, _):
                    self.zxid += 1
                    self._remove(path)
                case Absent(path):
                    self.touched[path] = self.zxid
        if by is not None:
            self.commits.append((by, before, tuple(ops)))

    def _holds(self, op):
        node = self.nodes.get(op.path)
        match op:
            case Absent() | Create():
                return node is None
            case Check(_, version) | Put(_, _, version) | Delete(_, version):
                return node is not None and version in {None, node.version}

    # what a cluster says

    def registered(self):
        found = {}
        for name in self.children(IDS):
            node = self.nodes[f"{IDS}/{name}"]
            found[int(name)] = Registration(
                broker_id=int(name),
                endpoints=frozenset({node.data.decode()}),
                session=node.session,
                incarnation=node.czxid,
                registered_ms=node.created_ms,
            )
        return found

    def mapped(self):
        """Key -> id."""
        return {key: mapped_id(self.nodes[f"{HOSTS}/{key}"]) for key in self.children(HOSTS)}

    def claimed(self):
        return {int(name) for name in self.children(CLAIMS)}

    def next_number(self):
        self.numbers += 1
        self._put(SEQUENCE, b"", None)
        return self.numbers

    # brokers

    def boot(self, key, broker_id, *, ours):
        broker = Broker(
            key=key, id=broker_id, session=self.open_session(), ours=ours, begun_zxid=self.zxid
        )
        self.brokers.append(broker)
        return broker

    def register(self, broker):
        """One multi of Kafka's: the node must not exist. A broker that cannot register dies."""
        path = f"{IDS}/{broker.id}"
        if path in self.nodes:
            self.kill(broker, clean=True)
            return
        mapping = self.nodes.get(f"{HOSTS}/{broker.key}")
        self._put(path, f"{broker.key}:9092".encode(), broker.session)
        broker.is_registered = True
        self.registrations.append((broker, self.zxid, mapping))

    def kill(self, broker, *, clean=False):
        """Kill a broker; with `clean` its session is closed, otherwise it expires."""
        broker.status = 1
        if clean:
            self.end_session(broker.session)
