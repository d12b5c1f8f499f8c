"""Garbage collection among live brokers: S4, S5."""

from __future__ import annotations

import signal

from chaos.stage import Scene
from rackwise.adapters.launch import operator
from rackwise.adapters.zookeeper import ZooKeeperView

LATER_MS = 120_000
BROKERS = 5


class Later:
    """The store two minutes later: registrations are old; `before` runs ahead of commits."""

    def __init__(self, store, before=lambda: None):
        self._store, self._before = store, before

    def __getattr__(self, name):
        return getattr(self._store, name)

    def now_ms(self):
        return self._store.now_ms() + LATER_MS

    def commit(self, ops):
        self._before()
        self._store.commit(ops)


def collected(fleet, before=lambda: None):
    store = Later(fleet.store, before)
    if fleet.literal:
        return operator.garbage_literal(store, apply=True)
    return operator.garbage(store, ZooKeeperView(store), apply=True, has_registrations=True)


def back_in_between(stage, _size, _rng, literal):
    """`g` has an id from before; it comes back between the look of gc and its delete."""
    with stage.fleet(literal=literal) as fleet:
        (other,) = fleet.run(fleet.plan("h"))
        fleet.map("g", other.id)

        def comes_back():
            if not other.has_ended:
                fleet.end([other], signal.SIGTERM)
                fleet.run(fleet.plan("g"))

        found = collected(fleet, comes_back)
        (started,) = [each for each in fleet.started if each.key == "g"]
        return {
            "garbage": len(found),
            "up": int(started.is_up),
            "mapping alive": int(fleet.mapped().get("g") == started.id),
        }


def without_host(stage, _size, _rng, literal):
    """Brokers without a plaintext listener: their `host` is null."""
    with stage.fleet(literal=literal) as fleet:
        fleet.run(*(fleet.plan(f"h{at}", "null.host=true", seed=at) for at in range(BROKERS)))
        before = len(fleet.mapped())
        collected(fleet)
        return {"mappings": before, "deleted": before - len(fleet.mapped())}


SCENES = (
    Scene(
        "S4",
        "a broker comes back between gc's look and its delete",
        back_in_between,
        safe=lambda told, _: told == {"garbage": 1, "up": 1, "mapping alive": 1},
        danger=lambda told, _: told["up"] == 1 and told["mapping alive"] == 0,
    ),
    Scene(
        "S5",
        "gc over 5 brokers whose host is null",
        without_host,
        safe=lambda told, _: told == {"mappings": BROKERS, "deleted": 0},
        danger=lambda told, _: told["deleted"] == BROKERS,
    ),
)
