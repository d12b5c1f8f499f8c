"""Scenes of which each order is played: an old view, a crash at each point, a dead leader."""

import pytest

from identity_starts import Start, Watcher
from identity_world import World
from laws_identity import check_claims
from rackwise.core.identity.model import KeyMapping, Rules
from rackwise.core.identity.nodes.nodes import format_mapping
from rackwise.core.identity.nodes.store import FENCE, HOSTS, OWNERS, Create, Put
from rackwise.core.identity.start.actions import Fail, Succeed

UNMAPPED = Rules(spare="unmapped", grace_ms=0, on_blocked="generate")
TURNS = range(20)


def world_of(used, mapped, **told):
    world = World(used=frozenset(used), numbers=10, **told)
    world.disks = dict.fromkeys(("g", "h", "x", "y"))
    ops = [
        Create(f"{HOSTS}/{key}", format_mapping(KeyMapping(key=key, broker_id=id_)))
        for key, id_ in mapped.items()
    ]
    world.commit(ops, None)
    for id_ in used:
        world.absent_since_ms[id_] = world.now_ms
    return world


class TestAnOldView:
    """S13: x looks, y maps the spare by its configuration and dies, x goes on: one mapping."""

    def mappings(self, before, of_y, **told):
        world = world_of({7}, {}, **told)
        x = Start(world=world, key="x", rules=UNMAPPED, nonce="x").go(before)
        y = Start(world=world, key="y", rules=UNMAPPED, nonce="y", configured=7).go(of_y)
        if y.outcome is None and y.child is None:
            y.crash()
        x.go()
        return sorted(world.mapped().items())

    @pytest.mark.parametrize("before", TURNS)
    def test_there_is_one_mapping_for_an_id(self, before):
        for of_y in TURNS:
            ids = [id_ for _key, id_ in self.mappings(before, of_y)]
            assert len(ids) == len(set(ids))

    def test_without_the_touch_there_would_be_two(self):
        def touch(op):
            return isinstance(op, Put) and op.path == FENCE and op.version is None

        found = [self.mappings(x, y, strip=touch) for x in TURNS for y in TURNS]
        assert [("x", 7), ("y", 7)] in found


class TestACrash:
    """S10: a broker that is registered was mapped before, wherever its start is killed."""

    @pytest.mark.parametrize("turns", range(45))
    def test_who_is_registered_is_mapped(self, turns):
        world = world_of({1}, {})
        Start(world=world, key="h", rules=Rules(), nonce="1").go(turns).crash()
        check_claims(world, grace_ms=0)
        for id_ in world.registered():
            assert world.mapped() == {"h": id_}

    def test_a_start_that_is_not_killed_registers(self):
        world = world_of({1}, {})
        Start(world=world, key="h", rules=Rules(), nonce="1").go(1000).crash()
        assert world.registered()

    def test_the_kips_text_forgets_one(self):
        forgotten = []
        for turns in range(45):
            world = world_of({1}, {})
            Start(world=world, key="h", rules=Rules.literal_kip(), nonce="1").go(turns).crash()
            forgotten += [id_ for id_ in world.registered() if id_ not in world.mapped().values()]
        assert forgotten

    @pytest.mark.parametrize("turns", range(45))
    def test_the_next_start_has_the_same_id(self, turns):
        world = world_of({1}, {})
        first = Start(world=world, key="h", rules=Rules(), nonce="1").go(turns)
        first.crash()
        was = world.mapped().get("h")
        if first.child is not None:
            world.kill(first.child, clean=True)
        second = Start(world=world, key="h", rules=Rules(), nonce="2").go()
        assert isinstance(second.outcome, Succeed)
        assert was in {None, second.outcome.id}
        assert world.disks["h"] == second.outcome.id


class TestADamagedMapping:
    """The mapping of x cannot be read: no other host gets the id of x."""

    NUMBER = 1011
    """The first number that this world generates."""

    def world(self, *, used, owner=None):
        world = world_of(used, {})
        ops = [Create(f"{HOSTS}/x", b"{")]
        if owner is not None:
            id_, key = owner
            data = b'{"version":0,"key":"%s","incarnation":null,"endpoints":[]}' % key.encode()
            ops.append(Create(f"{OWNERS}/{id_}", data))
        world.commit(ops, None)
        return world

    def test_a_spare_that_another_key_had_may_be_assigned_to_it(self):
        world = self.world(used={7}, owner=(7, "y"))
        rules = Rules(spare="unmapped", grace_ms=0, on_blocked="error")
        outcome = Start(world=world, key="g", rules=rules, nonce="g").go().outcome
        assert type(outcome.error).__name__ == "SpareReserved"

    def test_the_next_number_may_be_assigned_to_it(self):
        for rules in (Rules(), UNMAPPED):
            outcome = (
                Start(world=self.world(used={1}), key="h", rules=rules, nonce="h").go().outcome
            )
            assert type(outcome.error).__name__ == "MappingCorrupt"
            assert outcome.error.hint.endswith("broker-id assign x ID --force")

    def test_a_number_that_its_owner_names_is_on_its_disk(self):
        world = self.world(used={1}, owner=(self.NUMBER, "x"))
        world.disks["x"] = self.NUMBER
        outcome = Start(world=world, key="h", rules=Rules(), nonce="h").go().outcome
        assert outcome == Succeed(id=self.NUMBER + 1)


class TestADeadLeader:
    """S14: its marker proves nothing: the id was back, and is down again for a second."""

    RULES = Rules(spare="any", grace_ms=4000, on_blocked="error")

    def start(self, world):
        return Start(world=world, key="x", rules=self.RULES, nonce="x", is_watched=True).go()

    def world(self):
        world = world_of({7}, {"h": 7})
        watcher = Watcher(world)
        watcher.hear()
        world.now_ms += 10_000
        return world, watcher

    def test_the_marker_of_a_leader_that_lives_counts(self):
        world, _ = self.world()
        assert isinstance(self.start(world).outcome, Succeed)
        assert world.mapped() == {"x": 7}

    def test_nobody_leads(self):
        world, watcher = self.world()
        world.end_session(watcher.session)
        assert type(self.start(world).outcome.error).__name__ == "WatcherAbsent"

    def test_the_marker_of_a_dead_one_does_not(self):
        world, watcher = self.world()
        world.end_session(watcher.session)
        back = world.boot("h", 7, ours=False)
        world.register(back)
        world.kill(back, clean=True)
        world.now_ms += 1000
        Watcher(world).hear()
        outcome = self.start(world).outcome
        assert isinstance(outcome, Fail)
        assert type(outcome.error).__name__ == "SpareReserved"
        assert world.mapped() == {"h": 7}

    def test_nor_before_the_new_leader_wrote(self):
        world, watcher = self.world()
        world.end_session(watcher.session)
        heir = Watcher(world)
        for _ in range(6):
            next(heir.turns)
        assert isinstance(self.start(world).outcome, Fail)
