"""What a start reads, in which order, and what it makes of nodes that cannot be read."""

from dataclasses import replace

import pytest

from identity_world import World
from rackwise.core.identity.model import (
    Generate,
    LocalLogDir,
    MetaProperties,
    Mode,
    ReadMore,
    UnreadableMapping,
)
from rackwise.core.identity.nodes.guard import PartitionReplicas
from rackwise.core.identity.nodes.store import (
    CLUSTER_ID,
    FENCE,
    HOSTS,
    IDS,
    KNOWN,
    MISSING_LEADER,
    OWNERS,
    Create,
)
from rackwise.core.identity.refusals import StoreNotReady
from rackwise.core.identity.start.actions import Gather, Sightings
from rackwise.core.identity.start.gather import (
    DrawNumber,
    Host,
    ListChildren,
    ReadClock,
    ReadNodes,
    ReadPartitions,
    ReadRegistered,
    ReadSession,
    ReadUsed,
    SetWatches,
    gather,
)

SESSION = 5
OWNED_BY_H = b'{"version":0,"key":"h","incarnation":null,"endpoints":[]}'


def host(**told):
    return Host(**{"mode": Mode.ZOOKEEPER, "key": "h7", "nonce": "n", **told})


def world_of(*ops, used=()):
    world = World(used=frozenset(used))
    world.commit(ops, SESSION)
    return world


def read(world, host_, action=None, asked=None, fired=frozenset()):
    """The observation; `asked` gets each ask in order."""
    reading, answer = gather(host_, action or Gather()), None
    while True:
        try:
            ask = reading.send(answer)
        except StopIteration as end:
            return end.value
        if asked is not None:
            asked.append(ask)
        match ask:
            case ReadNodes(paths):
                answer = {path: world.nodes.get(path) for path in paths}
            case ListChildren(path):
                answer = world.children(path)
            case SetWatches(paths):
                answer = fired & set(paths)
            case ReadPartitions(id_):
                answer = partitions_of(id_)
            case _:
                answer = {
                    ReadRegistered: world.registered,
                    ReadUsed: lambda: world.used,
                    ReadClock: lambda: world.now_ms,
                    DrawNumber: world.next_number,
                    ReadSession: lambda: SESSION,
                }[type(ask)]()


def partitions_of(id_):
    """Three partitions of that id: alone in sync, beside 1, and as the one replica."""
    ids = {"orders": {id_, 1}, "clicks": {id_, 1}, "logs": {id_}}
    return [
        PartitionReplicas(
            topic=topic,
            partition=id_,
            replicas=frozenset(replicas),
            isr=frozenset({id_} if topic == "orders" else replicas),
        )
        for topic, replicas in ids.items()
    ]


def mapping(key, broker_id):
    return Create(f"{HOSTS}/{key}", b'{"version":0,"broker.id":%d}' % broker_id)


class TestAllAnew:
    def test_the_fence_is_read_first_and_claims_before_registrations(self):
        asked = []
        read(world_of(), host(), asked=asked)
        assert asked[0].paths[0] == FENCE
        kinds = [type(each).__name__ for each in asked]
        assert kinds.index("ListChildren") < kinds.index("ReadRegistered")

    def test_others_mappings_are_read_where_an_id_is_told(self):
        world = world_of(mapping("g", 7), mapping("x", 8))
        assert read(world, host()).reserved == {}
        told = read(world, host(configured=7))
        assert [each.key for each in told.reserved[7]] == ["g"]
        assert read(world, host(configured=-1)).reserved == {}
        on_disk = LocalLogDir(path="/a", meta=MetaProperties(version=0, broker_id=8))
        assert set(read(world, host(log_dirs=(on_disk,))).reserved) == {7, 8}

    def test_ones_of_others_that_cannot_be_read_are_no_matter_then(self):
        world = world_of(Create(f"{HOSTS}/g", b"{"), mapping("x", 8))
        assert set(read(world, host(configured=7)).reserved) == {8}

    def test_ones_own_is_told_as_a_problem(self):
        seen = read(world_of(Create(f"{HOSTS}/h7", b"{")), host())
        assert seen.mapping is None
        assert "h7" in seen.mapping_problem
        assert seen.mapping_hint.endswith("broker-id assign h7 ID --force")
        world = world_of(Create(f"{HOSTS}/h7", b""))
        world.nodes[f"{HOSTS}/h7"] = replace(world.nodes[f"{HOSTS}/h7"], is_denied=True)
        denied = read(world, host())
        assert denied.mapping_hint.startswith("log in as the owner of /brokers/hosts/h7")

    def test_which_of_ones_own_ids_have_an_owner(self):
        """Of a broker that is not registered, what the owner says is not asked."""
        registered = Create(f"{IDS}/8", b"h:9092", ephemeral=True)
        owned = (Create(f"{OWNERS}/7", b"{"), Create(f"{OWNERS}/8", OWNED_BY_H))
        world = world_of(mapping("h7", 8), registered, *owned, Create(f"{OWNERS}/9", b"{"))
        seen = read(world, host(configured=7))
        assert seen.owned == {7, 8}
        assert {id_: each.key for id_, each in seen.owners.items()} == {8: "h"}

    def test_a_store_that_was_never_prepared(self):
        world = world_of()
        del world.nodes[FENCE]
        with pytest.raises(StoreNotReady, match=FENCE):
            read(world, host())

    def test_the_clusters_id(self):
        world = world_of(Create(CLUSTER_ID, b'{"version":"1","id":"abc"}'))
        assert read(world, host()).cluster_id == "abc"
        assert read(world, host(mode=Mode.KRAFT, cluster_id="k")).cluster_id == "k"
        assert read(world_of(), host()).cluster_id is None

    def test_whether_somebody_watches(self):
        assert read(world_of(), host()).watch == "scan"
        assert read(world_of(), host(is_watched=True)).watch == "leaderless"
        led = world_of(Create(MISSING_LEADER, b"", ephemeral=True))
        assert read(led, host(is_watched=True)).watch == "led"


class TestMore:
    def more(self, world, what, *, host_=None, base=None, **told):
        own = host_ or host()
        base = base or read(world, own)
        return read(world, own, Gather(base=base, more=what, **told))

    def test_ids_in_use_and_the_mappings_of_others(self):
        world = world_of(mapping("g", 7), used=(7, 9))
        seen = self.more(world, ReadMore(at="used", row="D36"))
        assert seen.used == {7, 9}
        assert set(seen.reserved) == {7}

    def unreadable(self, *ops, **told):
        world = world_of(Create(f"{HOSTS}/g", b"{"), *ops, used=(7, 8, 9))
        return self.more(world, ReadMore(at="used", row="D36"), **told).unreadable

    def test_a_mapping_that_cannot_be_read_has_the_hint_of_its_cause(self):
        doubtful = UnreadableMapping(hint="write the mapping again: broker-id assign g ID --force")
        assert self.unreadable() == {"g": doubtful}
        world = world_of(Create(f"{HOSTS}/g", b""))
        world.nodes[f"{HOSTS}/g"] = replace(world.nodes[f"{HOSTS}/g"], is_denied=True)
        denied = self.more(world, ReadMore(at="used", row="D36")).unreadable["g"]
        assert denied.hint.startswith("log in as the owner of /brokers/hosts/g")

    def test_its_key_is_known_to_have_had_the_ids_of_its_owners(self):
        others = (mapping("h", 8), Create(f"{OWNERS}/9", OWNED_BY_H), Create(f"{OWNERS}/7", b"{"))
        assert self.unreadable(*others)["g"].owned == frozenset()
        owned = Create(f"{OWNERS}/8", OWNED_BY_H.replace(b'"h"', b'"g"'))
        assert self.unreadable(owned)["g"].owned == {8}

    def test_owners_are_read_only_for_the_sake_of_an_unreadable_mapping(self):
        world, asked = world_of(Create(f"{OWNERS}/9", b"{"), used=(7,)), []
        base = read(world, host())
        look = Gather(base=base, more=ReadMore(at="used", row="D36"))
        assert read(world, host(), look, asked).owned == {9}
        assert not any(isinstance(each, ReadNodes) for each in asked)

    def test_with_a_watcher_they_are_read_too(self):
        owned = Create(f"{OWNERS}/8", OWNED_BY_H.replace(b'"h"', b'"g"'))
        ops = (Create(f"{HOSTS}/g", b"{"), Create(f"{KNOWN}/5", b""), owned)
        world, own = world_of(*ops), host(is_watched=True)
        seen = self.more(world, ReadMore(at="missing", row="D29"), host_=own)
        assert (seen.used, seen.owned, seen.unreadable["g"].owned) == ({5}, {8}, {8})

    def test_a_number(self):
        assert self.more(world_of(), Generate(row="D36")).generated == 1001
        assert self.more(world_of(), Generate(row="D36"), host_=host(above=5)).generated == 6

    def test_partitions_at_risk(self):
        look = ReadMore(at="at_risk", row="D26", id=7)
        seen = self.more(self.served(), look, host_=host(log_dirs=(LocalLogDir(path="/a"),)))
        assert seen.at_risk == {7: ("orders-7",)}
        assert seen.lost == {7: ("logs-7",)}
        nobody = self.more(world_of(), look)
        assert nobody.at_risk == {7: ("clicks-7", "orders-7")}
        again = self.more(self.served(), ReadMore(at="at_risk", row="D33", id=9), base=seen)
        assert again.at_risk == {7: ("orders-7",), 9: ("orders-9",)}
        assert again.lost == {7: ("logs-7",), 9: ("logs-9",)}

    def served(self):
        """A cluster in which broker 1 lives."""
        world = world_of()
        world.commit((Create(f"{IDS}/1", b"h1:9092", ephemeral=True),), SESSION)
        return world

    def test_what_another_dir_holds_is_neither_at_risk_nor_lost(self):
        look = ReadMore(at="at_risk", row="D26", id=7)
        dirs = (
            LocalLogDir(path="/a"),
            LocalLogDir(path="/b", partitions=frozenset({"orders-7", "logs-7"})),
        )
        seen = self.more(self.served(), look, host_=host(log_dirs=dirs))
        assert (seen.at_risk, seen.lost) == ({7: ()}, {7: ()})

    def test_a_dir_that_cannot_be_read_may_hold_them_all(self):
        look = ReadMore(at="at_risk", row="D26", id=7)
        dirs = (LocalLogDir(path="/a", problem="EIO"),)
        seen = self.more(world_of(), look, host_=host(log_dirs=dirs))
        assert (seen.at_risk, seen.lost) == ({7: ()}, {7: ()})

    def test_a_scan_sees_since_its_first_look(self):
        look = ReadMore(at="missing", row="D29")
        world = world_of(used=(7, 9))
        seen = self.more(world, look)
        assert seen.missing_since_ms == {7: world.now_ms, 9: world.now_ms}
        before = Sightings(session=SESSION, since_ms={7: 10, 9: 10})
        own, base = host(), read(world, host())
        action = Gather(base=base, more=look, seen=before)
        kept = read(world, own, action, fired=frozenset({f"{IDS}/9"}))
        assert kept.missing_since_ms == {7: 10, 9: world.now_ms}

    def test_another_session_begins_anew(self):
        before = Sightings(session=SESSION + 1, since_ms={7: 10})
        world = world_of(used=(7,))
        seen = self.more(world, ReadMore(at="missing", row="D29"), seen=before)
        assert seen.missing_since_ms == {7: world.now_ms}

    def test_a_watchers_ids_are_those_it_knows_and_topics_are_read_before_a_number_alone(self):
        leader = Create(MISSING_LEADER, b"", ephemeral=True)
        world = world_of(Create(f"{KNOWN}/7", b""), leader, mapping("g", 7), used=(9,))
        asked, own = [], host(is_watched=True)
        seen = self.more(world, ReadMore(at="missing", row="D29"), host_=own)
        action = Gather(base=read(world, own), more=ReadMore(at="missing", row="D29"))
        assert read(world, own, action, asked).used == seen.used == {7}
        assert ReadUsed() not in asked
        assert set(seen.reserved) == {7}
        drawn = read(world, own, Gather(base=seen, more=Generate(row="D36")), asked)
        assert (drawn.used, drawn.generated) == ({7, 9}, 1001)
        asked.clear()
        assert read(world, own, Gather(base=drawn, more=Generate(row="D37")), asked).used == {7, 9}
        assert ReadUsed() not in asked

    def test_ids_in_use_are_not_read_twice(self):
        world = world_of(used=(7,))
        base = self.more(world, ReadMore(at="used", row="D36"))
        asked = []
        read(world, host(), Gather(base=base, more=ReadMore(at="missing", row="D29")), asked)
        assert ReadUsed() not in asked
