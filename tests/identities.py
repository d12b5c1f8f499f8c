"""Observations for tests of identity: the base of all vectors, and changes to it."""

from dataclasses import replace

from rackwise.core.errors import IdentityRefused
from rackwise.core.identity.decision.decide import decide
from rackwise.core.identity.model import (
    Claim,
    Generate,
    KeyMapping,
    LocalLogDir,
    MetaProperties,
    Mode,
    Observation,
    Owner,
    ReadMore,
    Refuse,
    Registration,
    Rules,
    Take,
    UnreadableMapping,
    WaitFor,
)

ME, STRANGER = frozenset({"h7:9092"}), frozenset({"x:9092"})
MY_SESSION = 0x70
RULES = Rules(spare="unmapped", grace_ms=0)
EMPTY = LocalLogDir(path="/a")


def disk(path="/a", *, number=None, version=0, cluster=None, directory=None):
    """A log dir with its file."""
    meta = MetaProperties(
        version=version, broker_id=number, cluster_id=cluster, directory_id=directory
    )
    return LocalLogDir(path=path, meta=meta)


def registered(number, *, at=STRANGER, incarnation=500, since_ms=0):
    return Registration(
        broker_id=number,
        endpoints=at,
        session=0x99,
        incarnation=incarnation,
        registered_ms=since_ms,
    )


def claim(number, *, key="x", session=0x71):
    return Claim(broker_id=number, key=key, nonce="n", session=session)


def owner(number, *, key="h7", incarnation=500, at=frozenset()):
    return Owner(broker_id=number, key=key, incarnation=incarnation, endpoints=at)


def mapping(key, number, **more):
    return KeyMapping(key=key, broker_id=number, **more)


def unreadable(key, *owned):
    """The mapping of that key, which cannot be read."""
    return UnreadableMapping(hint=f"mend {key}", owned=frozenset(owned))


BASE = Observation(
    mode=Mode.ZOOKEEPER,
    key="h7",
    nonce="n7",
    session=MY_SESSION,
    endpoints=ME,
    cluster_id="C",
    log_dirs=(EMPTY,),
    registered={1: registered(1, at=frozenset({"h1:9092"}))},
    claims={},
    owners={},
    reserved={1: (mapping("h1", 1),)},
    used=frozenset({1, 7}),
    missing_since_ms={7: 0},
    at_risk={7: ()},
)
"""ZooKeeper mode, key h7, one empty dir, T={1,7}, L={1: h1}, R={1: h1}, nothing at risk."""


def seen(**changes):
    return replace(BASE, **changes)


def live(*brokers):
    """L: the base's broker 1, and these."""
    return {**BASE.registered, **{each.broker_id: each for each in brokers}}


def told(decision):
    """A decision as text: TAKE 7 a, WAIT, LOOK at_risk, GENERATE, or the code of a refusal."""
    match decision:
        case Take():
            return f"TAKE {decision.id} {decision.how}"
        case WaitFor():
            return "WAIT"
        case ReadMore():
            return f"LOOK {decision.at}"
        case Generate():
            return "GENERATE"
        case Refuse():
            assert isinstance(decision.error, IdentityRefused)
            return decision.error.code


def decided(rules=RULES, **changes):
    return decide(seen(**changes), rules)
