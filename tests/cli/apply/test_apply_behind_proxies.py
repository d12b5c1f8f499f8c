"""`rackwise apply` behind relays: a rejected plan sends no write; a lost answer is read back."""

from __future__ import annotations

import struct
import threading
from contextlib import closing
from io import BytesIO

import pytest
from kafka.protocol.admin import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    DescribeQuorumRequest,
)
from kafka.structs import TopicPartition

from acked_records import Writing
from hand_made_plans import lists, plan_file, shown
from kafka_servers import KAFKA_VERSION
from kafka_traffic import create, delete, produce, throttled_move, until
from rackwise.adapters.files.journal import parse_journal
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.connect import send
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from request_proxies import ALTER_REASSIGNMENTS, ELECT, RequestProxies

pytestmark = [pytest.mark.kafka, pytest.mark.long]

NAME = "proxied"
BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 3), (NAME, 3): (1, 0)}
MOVED = {0: [2, 1], 1: [1, 3], 2: [2, 0], 3: [1, 0]}


@pytest.fixture(scope="module")
def proxied(java_home, tmp_path_factory):
    """Four brokers and the relays before them."""
    folder = tmp_path_factory.mktemp("proxied")
    with (
        RequestProxies(4) as proxies,
        Sandbox.kraft(
            version=KAFKA_VERSION,
            brokers=4,
            java_home=java_home,
            folder=folder / "kraft",
            proxies=proxies.ports,
        ) as cluster,
    ):
        proxies.targets = list(cluster.proxied_ports)
        yield cluster, proxies


@pytest.fixture
def admin(proxied):
    """A client that meets no relay."""
    with closing(connect(proxied[0].bootstrap)) as made:
        yield made
        delete(made, NAME)


@pytest.fixture
def proxies(proxied):
    proxied[1].forget()
    return proxied[1]


@pytest.fixture
def cluster(proxies):
    """The bootstrap servers of the commands: the relays."""
    return proxies


@pytest.fixture
def path(admin, tmp_path):
    create(admin, NAME, BEFORE)
    return plan_file(tmp_path / "p.json", admin, AFTER)


def recreate_topic(admin, _):
    delete(admin, NAME)
    create(admin, NAME, BEFORE)


def delete_topic(admin, _):
    delete(admin, NAME)


def change_placement(admin, _):
    admin.alter_partition_reassignments({TopicPartition(NAME, 1): [2, 0]})
    until(lambda: lists(admin, NAME)[1] == [2, 0], "another tool's move")


def expand_topic(admin, _):
    admin.create_partitions({NAME: len(BEFORE) + 1})
    until(lambda: len(lists(admin, NAME)) == len(BEFORE) + 1, "one more partition")


@pytest.mark.parametrize("stale", [recreate_topic, delete_topic, change_placement, expand_topic])
def test_a_stale_plan_writes_nothing(admin, proxies, called, path, stale):
    """F7, F8: the topic is deleted, recreated, moved or expanded; the relays see no write."""
    stale(admin, proxies)
    proxies.forget()
    code, out, err = called("apply", path, "--throttle", "1MB")
    assert (code, out) == (4, "")
    assert "stale" in err
    assert proxies.seen, "nothing came through the relays"
    assert proxies.writes == 0


def test_a_foreign_reassignment_is_not_joined(admin, proxied, proxies, called, path):
    """F10: the relays see no write."""
    produce(proxied[0].bootstrap, {(NAME, 2): 50})
    with throttled_move(admin, NAME, 2, [1, 0]):
        assert called("apply", path)[0] == 4
        assert proxies.writes == 0


def test_a_plan_that_is_done_writes_nothing(admin, proxies, called, path):
    """F18: applied twice; the relays see no write the second time."""
    assert called("apply", path)[0] == 0
    shown(admin, NAME, MOVED)
    assert proxies.writes > 0
    proxies.forget()
    assert called("apply", path)[0] == 0
    assert called("apply", path, "--check")[0] == 0
    assert called("status", path)[0] == 0
    assert proxies.writes == 0


@pytest.mark.parametrize("key", [ALTER_REASSIGNMENTS, ELECT])
def test_a_lost_answer_is_looked_up_and_nothing_sent_blindly(
    admin, proxied, proxies, called, path, state, key
):
    """F6: unknown in the journal first, then what was looked up."""
    proxies.lose(key)
    with Writing(proxied[0].bootstrap, NAME, len(BEFORE)):
        code, out, err = called("apply", path)
        assert code == 0, (out, err)
        shown(admin, NAME, MOVED)
    assert proxies.seen[ALTER_REASSIGNMENTS] == 1
    (journal,) = state.glob("*/*.journal")
    lines = parse_journal(journal.read_bytes(), journal).entries
    results = {ALTER_REASSIGNMENTS: "batch_result", ELECT: "elect_result"}
    (unknown, *_) = [each.fields["unknown"] for each in lines if each.type == results[key]]
    assert unknown
    assert {tuple(each) for each in unknown} <= AFTER.keys()
    assert [each.fields["class"] for each in lines if each.type == "partition"][-3:] == ["done"] * 3


def test_partitions_left_out_of_an_answer_are_looked_up(admin, proxies, called, path):
    """F13: one of three is not in the response."""
    proxies.rewrite(ALTER_REASSIGNMENTS, without_the_first)
    code, out, err = called("apply", path)
    assert code == 0, (out, err)
    shown(admin, NAME, MOVED)
    assert proxies.seen[ALTER_REASSIGNMENTS] == 1


def encoded(message):
    """The bytes of a decoded message; kafka-python leaves it without a header."""
    message._header = None
    return message.encode(version=1)


def without_the_first(body):
    head, rest = body[:5], body[5:]
    answer = AlterPartitionReassignmentsResponse.decode(BytesIO(rest), version=1)
    del answer.responses[0].partitions[0]
    return head + encoded(answer)


@pytest.mark.parametrize(
    ("replicas", "code_of_it", "text"),
    [
        ([77, 1], "INVALID_REPLICATION_ASSIGNMENT", "77"),
        ([2, 1, 0], "INVALID_REPLICATION_FACTOR", "replication factor"),
    ],
    ids=["unknown broker", "replication"],
)
def test_what_is_refused_stands_in_the_table_and_the_rest_goes_on(
    admin, proxies, called, path, replicas, code_of_it, text
):
    """F12: one of three; done + failed + skipped + dropped = moves of the plan."""
    proxies.rewrite_request(ALTER_REASSIGNMENTS, lambda body: with_replicas(body, replicas))
    code, out, err = called("apply", path, "--json")
    printed = parse(out.encode(), where="stdout", error=InvalidConfig)
    assert code == 3, err
    assert (printed["done"], printed["failed"], printed["skipped"], printed["dropped"]) == (
        2,
        1,
        0,
        0,
    )
    (row,) = [each for each in printed["partitions"] if each["class"] != "done"]
    assert (row["partition"], row["class"]) == (0, "refused")
    assert row["code"] == code_of_it
    assert text in row["text"]
    shown(admin, NAME, {**MOVED, 0: [0, 1]})


def with_replicas(body, replicas):
    size = struct.unpack_from(">h", body, 8)[0]
    start = 10 + size + 1
    request = AlterPartitionReassignmentsRequest.decode(BytesIO(body[start:]), version=1)
    request.topics[0].partitions[0].replicas = replicas
    return body[:start] + encoded(request)


def test_a_controller_that_dies_as_it_is_asked(admin, proxied, proxies, called, path):
    """F5: looked up or tried again; no partition is sent to two places."""
    cluster, _ = proxied
    active = controller(admin)

    def killing(body):
        cluster.kill(active)
        threading.Thread(target=back, daemon=True).start()
        return body

    def back():
        cluster.wait_until_gone(active)
        cluster.start(active)

    proxies.rewrite_request(ALTER_REASSIGNMENTS, killing)
    with Writing(cluster.bootstrap, NAME, len(BEFORE)):
        code, out, err = called("apply", path)
        cluster.wait_until_ready()
        assert code == 0, (out, err)
        shown(admin, NAME, MOVED)


def controller(admin):
    """The id of the node that leads the quorum."""
    topic = DescribeQuorumRequest.TopicData
    request = DescribeQuorumRequest(
        topics=[
            topic(
                topic_name="__cluster_metadata",
                partitions=[topic.PartitionData(partition_index=0)],
            )
        ]
    )
    return send(admin, request).topics[0].partitions[0].leader_id
