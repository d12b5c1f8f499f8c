"""What never happens to broker ids, whatever interleaves: I1 to I7.

Each raises AssertionError naming the law, and calls none of the code that it judges.
"""

from __future__ import annotations

from collections import Counter

from identity_world import mapped_id
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    HOSTS,
    IDS,
    RETIRED,
    Create,
    Delete,
    Put,
)


def check_claims(world, *, grace_ms, moved=frozenset(), plain=frozenset()):
    """All laws, on a world of `identity_world`.

    `moved`: ids that an operator gave to another key. `plain`: keys whose broker also starts
    without us, so that the store may not know its id.
    """
    check_one_live_broker(world)
    check_disks(world, moved)
    check_one_mapping(world, moved | plain_ids(world, plain))
    for by, before, ops in world.commits:
        check_commit(world, by, before, ops, grace_ms)
    world.commits.clear()
    for broker, zxid, mapping in world.registrations:
        check_mapped_before(broker, zxid, mapping, moved)
    world.registrations.clear()


def plain_ids(world, plain):
    return frozenset(id_ for key, id_ in world.disks.items() if key in plain and id_ is not None)


def check_one_live_broker(world):
    """I1: one live broker per id."""
    live = Counter(b.id for b in world.brokers if b.is_registered and b.status is None)
    assert [id_ for id_, number in live.items() if number > 1] == [], "I1: one live broker per id"


def check_disks(world, moved):
    """I2: no id is on the disks of two keys."""
    on = Counter(id_ for id_ in world.disks.values() if id_ is not None)
    twice = [id_ for id_, number in on.items() if number > 1 and id_ not in moved]
    assert twice == [], f"I2: no id_ on the disks of two keys: {world.disks}"


def check_one_mapping(world, moved):
    """I4: one mapping per id."""
    mapped = world.mapped()
    on = Counter(mapped.values())
    twice = [id_ for id_, number in on.items() if number > 1 and id_ not in moved]
    assert twice == [], f"I4: one mapping per id_: {mapped}"


def check_commit(world, by, before, ops, grace_ms):
    """I3, I5, I7, for one commit that took effect."""
    key, _action, state = by
    take, path = state.take, f"{HOSTS}/{key}"
    claims = [op for op in ops if isinstance(op, Create) and op.path.startswith(CLAIMS)]
    writes = [op for op in ops if isinstance(op, Put | Create) and op.path == path]
    if not claims or not writes:
        return
    if path in before and take.how not in {"configured", "meta"}:
        changed = before[path].data != writes[0].data
        assert not changed, f"I3: key {key} changes its id_ by {take.how}"
    for op in ops:
        if isinstance(op, Delete) and op.path.startswith(HOSTS):
            absent_ms = world.now_ms - world.absent_since_ms.get(take.id, 0)
            assert absent_ms >= grace_ms, f"I5: {take.id} taken after {absent_ms} ms"
    if take.how == "gen":
        known = {f"{parent}/{take.id}" for parent in (IDS, CLAIMS, RETIRED)}
        mapped = {mapped_id(n) for p, n in before.items() if p.startswith(HOSTS + "/")}
        assert take.id not in mapped, f"I7: {take.id} is mapped"
        assert known.isdisjoint(before), f"I7: {take.id} is known"
        assert take.id not in world.used, f"I7: {take.id} has replicas"


def check_mapped_before(broker, zxid, mapping, moved):
    """I6: a broker that registers through us was mapped before."""
    if broker.ours and broker.id not in moved:
        is_mapped = mapping is not None and mapped_id(mapping) == broker.id
        assert is_mapped, f"I6: {broker.id} registered and key {broker.key} not mapped"
        assert mapping.czxid < zxid, "I6: mapped before registered"
