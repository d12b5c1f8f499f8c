"""`read_cluster` returns what was created on real brokers: 4.x, and 3.9 with ZooKeeper."""

from __future__ import annotations

import numpy as np
import pytest
from kafka.admin import NewTopic

from kafka_traffic import consumer, create, delete, produce, throttled_move, until
from rackwise.adapters.kafka import connect, read_cluster
from rackwise.adapters.kafka.connect import ask
from rackwise.adapters.kafka.logs.read import read_logs
from rackwise.adapters.kafka.topics import TopicLayout
from rackwise.core.errors import InvalidConfig, ServerRefused
from rackwise.core.model import Partition
from rackwise.core.racks import Rack

TAKEN_AT = "2026-11-01T00:00:00Z"


@pytest.fixture
def topic(admin, request):
    """A name of this test's own; topics that begin with it are deleted at its end."""
    name = request.node.name.partition("[")[0].removeprefix("test_")
    yield name
    for each in sorted({name, *admin.list_topics()}):
        if each.startswith(name):
            delete(admin, each)


def read_sizes(admin, table, live, *, is_wanted):
    """What these brokers tell of the sizes of a table."""
    layout = TopicLayout(
        table=table,
        topics=(),
        leader_epoch=np.full(len(table), -1, dtype=np.int32),
        notes=(),
        is_consistent=True,
    )
    return read_logs(
        admin,
        layout,
        live,
        sizes=True,
        offsets=False,
        is_wanted=is_wanted,
        clock_ms=int,
        progress=int,
    )


def rows(seen, topic):
    return [row for row in seen.partitions if row.topic == topic]


def test_brokers_are_the_ones_that_run(cluster, admin):
    # logs of topics that other tests deleted go a while after their names
    until(lambda: not read_cluster(admin, taken_at=TAKEN_AT).notes, "what was deleted to be gone")
    seen = read_cluster(admin, taken_at=TAKEN_AT)
    told = admin.describe_cluster()
    assert (seen.taken_at, seen.source, seen.cluster_id) == (TAKEN_AT, "kafka", told["cluster_id"])
    assert [(b.id, b.rack, b.host, b.port) for b in seen.brokers] == [
        (b.id, b.rack, b.host, b.port) for b in cluster.brokers
    ]
    assert {b.addresses for b in seen.brokers} == {("127.0.0.1",)}
    assert all(b.is_live for b in seen.brokers)
    is_zookeeper = len(cluster.brokers) == 3
    assert {b.is_fenced for b in seen.brokers} == {None if is_zookeeper else False}
    for broker in seen.brokers:
        (log_dir,) = broker.log_dirs
        assert log_dir.path == str(cluster.folder / f"broker-{broker.id}" / "data")
        assert 0 < log_dir.usable_bytes < log_dir.total_bytes
        assert (log_dir.error, log_dir.is_cordoned) == (None, False)
    assert seen.notes == ()


def test_placements_are_the_ones_that_were_made(admin, topic):
    create(
        admin, topic, [[0, 2], [2, 1], [1, 0]], min_insync_replicas="2", retention_bytes="123456"
    )
    seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,))
    placed = lambda row, *ids: Partition(  # noqa: E731
        topic=topic, partition=row, replicas=ids, leader=ids[0], isr=ids, bytes=0
    )
    assert list(seen.partitions) == [placed(0, 0, 2), placed(1, 2, 1), placed(2, 1, 0)]
    found = seen.topics[topic]
    assert (found.min_insync_replicas, found.retention_bytes) == (2, 123456)
    assert not found.is_internal
    assert len(found.id) == 22


def test_every_topic_is_as_kafka_python_tells(admin, topic):
    create(admin, topic, [[0, 1], [1, 2]])
    seen = read_cluster(admin, taken_at=TAKEN_AT)
    told = {each["name"]: each for each in admin.describe_topics()}
    assert set(seen.topics) == set(told) == set(seen.partitions.topics)
    assert {name: seen.topics[name].is_internal for name in told} == {
        name: each["is_internal"] for name, each in told.items()
    }
    assert {(r.topic, r.partition): (r.replicas, r.leader, r.isr) for r in seen.partitions} == {
        (name, each["partition_index"]): (
            tuple(each["replica_nodes"]),
            each["leader_id"],
            tuple(each["isr_nodes"]),
        )
        for name, topic in told.items()
        for each in topic["partitions"]
    }


def test_sizes_are_those_of_the_leaders_logs(cluster, admin, topic):
    create(admin, topic, [[0, 1], [1, 2], [2, 0]])
    produce(cluster.bootstrap, {(topic, 0): 300, (topic, 1): 50})
    seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,))
    sizes = [row.bytes for row in rows(seen, topic)]
    assert sizes == [log_size(admin, 0, topic, 0), log_size(admin, 1, topic, 1), 0]
    assert sizes[0] > 300_000
    assert 50_000 < sizes[1] < sizes[0]
    unasked = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,), sizes=False)
    assert [row.bytes for row in rows(unasked, topic)] == [None, None, None]
    folders = [[each.path for each in broker.log_dirs] for broker in unasked.brokers]
    assert folders == [[each.path for each in broker.log_dirs] for broker in seen.brokers]
    assert all(folders)


def log_size(admin, broker, topic, partition):
    (told,) = admin.describe_log_dirs({topic: [partition]}, brokers=[broker])
    (log_dir,) = told["log_dirs"]
    return log_dir["topics"][0]["partitions"][0]["partition_size"]


def test_a_running_reassignment_shows_what_is_added_and_removed(cluster, admin, topic):
    create(admin, topic, [[0, 1], [1, 2]])
    produce(cluster.bootstrap, {(topic, 0): 1000})
    with throttled_move(admin, topic, 0, [0, 2]) as lists:
        seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,))
        moving, resting = rows(seen, topic)
        assert (moving.adding, moving.removing) == ((2,), (1,))
        assert moving.replicas == (0, 2, 1)
        assert seen.partitions.placed.row(0) == (0, 1)
        assert (resting.adding, resting.removing) == ((), ())
        assert seen.configs.topics == {topic: lists}
        for broker in cluster.brokers:
            kept = dict(seen.configs.brokers[broker.id])
            assert kept.pop("replica.selector.class").endswith("RackAwareReplicaSelector")
            assert kept == {
                "leader.replication.throttled.rate": "1",
                "follower.replication.throttled.rate": "1",
            }
    after = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,))
    assert rows(after, topic)[0].replicas == (0, 1)
    assert after.configs.topics == {}
    assert all(set(kept) == {"replica.selector.class"} for kept in after.configs.brokers.values())


def test_configs_that_are_not_asked_for_are_said_to_be_unknown(admin, topic):
    create(admin, topic, [[0]])
    seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,), configs=False)
    assert seen.topics[topic].min_insync_replicas is None
    assert [note.kind for note in seen.notes] == ["no-configs"]


def test_globs_choose_topics_and_a_glob_without_a_match_is_noted(admin, topic):
    create(admin, topic, [[0]])
    seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic[:5] + "*", "No[t]There?"))
    assert seen.partitions.topics == (topic,)
    (note,) = seen.notes
    assert note.kind == "not-visible"
    assert "No[t]There?" in note.text
    with pytest.raises(InvalidConfig):
        read_cluster(admin, taken_at=TAKEN_AT, topics=())


def test_a_killed_broker_leaves_dead_replicas_and_partitions_without_leader(cluster, admin, topic):
    alone = f"{topic}-alone"
    create(admin, topic, [[2, 0], [0, 1]])
    create(admin, alone, [[2]])
    produce(cluster.bootstrap, {(topic, 0): 100, (topic, 1): 100, (alone, 0): 100})
    cluster.kill(2)
    try:
        at_once = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,))
        assert rows(at_once, topic)[1].bytes > 100_000
        cluster.wait_until_gone(2)
        seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic, alone))
        (led, untouched), (lost,) = rows(seen, topic), rows(seen, alone)
        assert (led.replicas, led.leader, led.isr) == ((2, 0), 0, (0,))
        assert led.bytes > 100_000
        assert (lost.replicas, lost.leader, lost.bytes) == ((2,), None, None)
        assert (untouched.leader, untouched.isr) == (0, (0, 1))
        dead = [broker for broker in seen.brokers if broker.id == 2]
        is_zookeeper = len(cluster.brokers) == 3
        assert [(b.is_live, b.is_fenced, b.rack) for b in dead] == (
            [] if is_zookeeper else [(False, True, Rack("c"))]
        )
        assert seen.notes == ()
    finally:
        cluster.start(2)
        cluster.wait_until_ready()


def test_a_broker_that_gives_no_sizes_costs_only_its_own(cluster, admin, topic):
    create(admin, topic, [[0, 1], [1, 0]])
    produce(cluster.bootstrap, {(topic, 0): 100, (topic, 1): 100})
    table = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,)).partitions
    nobody = 77
    sizes = read_sizes(admin, table, [0, nobody], is_wanted=[topic].__contains__)
    assert sizes.table.bytes[0] > 100_000
    assert sizes.table.bytes[1] == -1
    assert list(sizes.log_dirs) == [0]
    assert [(n.kind, n.text) for n in sizes.notes] == [
        ("not-visible", "sizes on broker 77: no answer (UnknownBrokerId)")
    ]


def test_topics_with_logs_that_are_not_listed_are_noted(cluster, admin, topic):
    create(admin, topic, [[0, 1]])
    others = read_cluster(admin, taken_at=TAKEN_AT, topics=("nothing",)).partitions
    live = [broker.id for broker in cluster.brokers]
    sizes = read_sizes(admin, others, live, is_wanted=[topic].__contains__)
    (note,) = sizes.notes
    assert note.kind == "not-visible"
    assert note.text.startswith(
        f"1 topic with logs is not listed to this principal, such as {topic}"
    )


def test_a_cluster_that_changes_during_one_reading_is_read_again(cluster, admin, topic):
    create(admin, topic, [[0, 1], [2, 1]])  # broker 2 has a log before it gets another
    produce(cluster.bootstrap, {(topic, 0): 1000})
    from contextlib import ExitStack

    with ExitStack() as moves:
        calls = []

        def move_once(count):
            if not calls:
                moves.enter_context(throttled_move(admin, topic, 0, [0, 2]))
            calls.append(count)

        seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,), progress=move_once)
        row, _ = rows(seen, topic)
        assert (row.replicas, row.adding) == ((0, 2, 1), (2,))
        assert seen.notes == ()


def test_a_cluster_that_changes_during_every_reading_is_called_torn(cluster, admin, topic):
    create(admin, topic, [[0, 1]])
    produce(cluster.bootstrap, {(topic, 0): 1000})
    from contextlib import ExitStack

    running = ExitStack()

    def toggle(_):
        if not admin.list_partition_reassignments():
            running.enter_context(throttled_move(admin, topic, 0, [0, 2]))
        else:
            running.close()

    with running:
        seen = read_cluster(
            admin, taken_at=TAKEN_AT, topics=(topic,), sizes=False, configs=False, progress=toggle
        )
    assert [note.kind for note in seen.notes] == ["torn", "no-configs"]
    assert "3 readings" in seen.notes[0].text


def test_groups_show_clients_addresses_racks_and_what_they_read(cluster, admin, topic):
    create(admin, topic, [[0, 1], [1, 2], [2, 0]])
    with consumer(cluster.bootstrap, "bill", [topic], client_id="app-1", rack="b") as first:
        until(lambda: len(first.assignment()) == 3, "all partitions")
        seen = read_cluster(admin, taken_at=TAKEN_AT, groups=True)
        (group,) = [each for each in seen.groups if each.group == "bill"]
        assert group.protocol == "classic"
        (member,) = group.members
        assert (member.client_id, member.address, member.rack) == ("app-1", "127.0.0.1", Rack("b"))
        assert member.partitions == ((topic, 0), (topic, 1), (topic, 2))
        cut = read_cluster(admin, taken_at=TAKEN_AT, topics=("nothing",), groups=True)
        assert [m.partitions for g in cut.groups if g.group == "bill" for m in g.members] == [()]
    after = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,), groups=True)
    assert [each.members for each in after.groups if each.group == "bill"] == [()]
    assert read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,)).groups == ()
    admin.delete_groups(["bill"])


def test_a_member_without_a_rack_has_none(cluster, admin, topic):
    create(admin, topic, [[0]])
    with consumer(cluster.bootstrap, "plain", [topic], client_id="app-2"):
        seen = read_cluster(admin, taken_at=TAKEN_AT, topics=(topic,), groups=True)
        (member,) = next(each for each in seen.groups if each.group == "plain").members
        assert (member.client_id, member.rack) == ("app-2", None)
    admin.delete_groups(["plain"])


@pytest.mark.kafka
def test_an_answer_that_is_no_passing_trouble_is_told_as_the_servers_own(kraft_cluster):
    wide = NewTopic("wide", num_partitions=1, replication_factor=9)
    with (
        connect(kraft_cluster.bootstrap) as admin,
        pytest.raises(ServerRefused, match="rejected the request to make a topic") as refused,
    ):
        ask(admin, lambda: admin.create_topics([wide]), doing="make a topic")
    assert refused.value.had
    assert "Kafka 2.4" in refused.value.hint
