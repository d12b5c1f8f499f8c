"""Events of one start: key h7 is mapped to 7, its log dir is empty, no broker is registered."""

from __future__ import annotations

from dataclasses import replace

from rackwise.core.identity.model import (
    Claim,
    KeyMapping,
    LocalLogDir,
    Mode,
    Observation,
    Registration,
    Rules,
)
from rackwise.core.identity.start.actions import (
    CommitEnded,
    Gathered,
    Held,
    Launch,
    Spawned,
    Started,
    Starting,
    Wrote,
)
from rackwise.core.identity.start.step import step

MINE, OTHER = 31, 32
H7 = frozenset({"h7:9092"})
EMPTY = LocalLogDir(path="/a")
MAPPED = KeyMapping(key="h7", broker_id=7, node_version=4)
COMMAND = Launch(command=True)
ALONE = Launch(command=False, hold_ms=600)
NOBODY = Held(
    at_ms=10,
    session=MINE,
    registration=None,
    claim=Claim(broker_id=7, key="h7", nonce="n", session=MINE),
    mapping=MAPPED,
    owner=False,
    missing=False,
)
OURS = Registration(broker_id=7, endpoints=H7, session=90, incarnation=60)


def seen(**changes):
    base = Observation(
        mode=Mode.ZOOKEEPER,
        key="h7",
        nonce="n",
        session=MINE,
        endpoints=H7,
        log_dirs=(EMPTY,),
        registered={},
        claims={},
        owners={},
        reserved={},
        mapping=MAPPED,
        at_risk={7: ()},
        fence=2,
    )
    return replace(base, **changes)


def played(*events, rules=None, launch=COMMAND):
    """The state and the last action after `Started` and these events."""
    state = Starting(rules=rules or Rules(), launch=launch)
    state, action = step(state, Started(at_ms=0))
    for event in events:
        state, action = step(state, event)
    return state, action


def gathered(at_ms=0, **changes):
    return Gathered(at_ms=at_ms, observation=seen(**changes))


def ended(outcome, at_ms=0):
    return CommitEnded(at_ms=at_ms, outcome=outcome)


WROTE = Wrote(at_ms=5, wrote=("/a",), claim_czxid=50)
HOLDING = (gathered(), ended("done"), WROTE, Spawned(at_ms=6))


def held(**changes):
    return replace(NOBODY, **changes)
