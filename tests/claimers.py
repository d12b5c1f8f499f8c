"""Many processes that claim ids in one store at once: `claimers.py URL COUNT [rounds]`.

All are forked from one process that has done the imports; each is a process with its own session.
A claimer takes its mapped id, or draws a free one of COUNT, and commits. On a conflict or an
unknown outcome it reads the store again. With `rounds`, the id is a new number, and the claimer
releases and takes it again until standard input has data. Then it prints its result as a line of
JSON and holds the claim until standard input is closed.
"""

from __future__ import annotations

import json
import os
import select
import sys
import time
from random import Random

import rackwise.adapters.files.identity.store
import rackwise.adapters.zookeeper  # noqa: F401 (before the fork)
from rackwise.adapters.launch.views.stores import open_store
from rackwise.core.errors import Conflict, OutcomeUnknown, Unreachable
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    Absent,
    Create,
    Delete,
    Put,
)

LONGEST_S = 60.0


class Claimer:
    def __init__(self, store, number, count, *, wants_rounds):
        self.store, self.key, self.count = store, f"h{number}", count
        self.rng = Random(number)
        self.wants_rounds = wants_rounds
        self.tries = self.unknown = self.rounds = 0
        self.id = None

    def claim(self):
        while not self.has_claimed():
            self.tries += 1
            time.sleep(self.rng.uniform(0, min(0.5, 0.01 * self.tries)))

    def has_claimed(self):
        own = f"{HOSTS}/{self.key}"
        mapping = self.store.read([own])[own]
        names = self.store.children(CLAIMS)
        claims = self.store.read([f"{CLAIMS}/{name}" for name in names])
        if mapping is not None:
            self.id = int(mapping.data)
            held = claims.get(f"{CLAIMS}/{self.id}")
            if held is not None and held.data.decode() == self.key:
                if held.session == self.store.session:
                    return True
                self.store.wait([f"{CLAIMS}/{self.id}"], 1000)  # of a session of ours that is gone
                return False
        else:
            free = [number for number in range(self.count) if str(number) not in names]
            self.id = self.store.next_number() if self.wants_rounds else self.rng.choice(free)
        return self.has_committed(own, mapping)

    def has_committed(self, own, mapping):
        data = str(self.id).encode()
        remember = Create(own, data) if mapping is None else Put(own, data, mapping.version)
        return self.commit(
            Put(FENCE, b""),
            Absent(f"{IDS}/{self.id}"),
            Create(f"{CLAIMS}/{self.id}", self.key.encode(), ephemeral=True),
            remember,
        )

    def commit(self, *ops):
        try:
            self.store.commit(ops)
        except Conflict:
            return False
        except (OutcomeUnknown, Unreachable):
            self.unknown += 1
            return False
        return True

    def release(self):
        self.commit(Delete(f"{CLAIMS}/{self.id}"))
        self.rounds += 1


def hears(descriptor, event, timeout_s):
    """Whether a pipe gets data or is closed by all its writers."""
    poll = select.poll()
    poll.register(descriptor, event)
    return bool(poll.poll(timeout_s * 1000))


def run(url, number, count, wants_rounds, start):
    store = open_store(url, session_timeout_s=4.0, connect_s=LONGEST_S)
    claimer = Claimer(store, number, count, wants_rounds=wants_rounds)
    _ = hears(start, 0, LONGEST_S)
    claimer.claim()
    while wants_rounds and not hears(0, select.POLLIN, 0):
        claimer.release()
        claimer.claim()
    told = {name: getattr(claimer, name) for name in ("key", "id", "tries", "unknown", "rounds")}
    os.write(1, (json.dumps(told | {"session": store.session}) + "\n").encode())
    _ = hears(0, 0, LONGEST_S)
    os._exit(0)


def main(url, count, wants_rounds):
    start, is_open = os.pipe()
    for number in range(count):
        if os.fork() == 0:
            os.close(is_open)
            run(url, number, count, wants_rounds, start)
    os.close(is_open)  # they are all there: all begin
    for _ in range(count):
        os.wait()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3:] == ["rounds"])
