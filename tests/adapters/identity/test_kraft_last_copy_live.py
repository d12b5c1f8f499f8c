"""A KRaft broker whose empty disk had the last copy is rejected: with and without ELR.

Eligible leader replicas (ELR, KIP-966) are on in each cluster that Kafka 4.1 or later formats. The
ISR of a partition whose last broker died is empty then, and that broker is its eligible leader.
"""

import pytest
from kafka.protocol.admin.topics import DescribeTopicPartitionsRequest

from kafka_traffic import create, produce, until
from launched_brokers import KraftBrokers
from rackwise.adapters.kafka.connect import send
from rackwise.adapters.sandbox.kraft import finalize_features

pytestmark = [pytest.mark.kafka, pytest.mark.fault, pytest.mark.long]

PARTITIONS = 3
WRITTEN = 20
BACK_S = 90.0
FOLLOWER, LEADER = 0, 1


@pytest.fixture
def fleet(java_home, tmp_path):
    """Three brokers with one log dir each and generated ids."""
    url, options = f"file://{tmp_path}/ids", ("--generate-above", "100")
    with KraftBrokers(java_home=java_home, folder=tmp_path, url=url, options=options) as made:
        for broker in made.brokers.values():
            keep_one_log_dir(broker)
            broker.start("--new-cluster", "--cluster-id", made.cluster)
        for number in made.brokers:
            made.confirmed(number)
        yield made


def keep_one_log_dir(broker):
    first, second = broker.dirs
    text = broker.properties.read_text()
    assert f",{second}" in text
    broker.properties.write_text(text.replace(f",{second}", ""))
    broker.dirs = (first,)


def lose_the_last_copy(fleet, admin):
    """Leave the follower behind, then kill the leader and empty its disk; ids, leader first."""
    leader, follower = fleet.brokers[LEADER], fleet.brokers[FOLLOWER]
    ids = [each.acquired()["id"] for each in (leader, follower)]
    create(admin, "orders", [ids] * PARTITIONS, min_insync_replicas="1")
    follower.kill()
    all_are(admin, lambda each: each.isr_nodes == ids[:1], "the follower to leave the ISR")
    produce(fleet.bootstrap, {("orders", each): WRITTEN for each in range(PARTITIONS)})
    leader.kill()
    leader.wipe()
    all_are(admin, lambda each: each.leader_id < 0, "the leader to be fenced")
    follower.start()
    fleet.confirmed(FOLLOWER)
    return ids


def all_are(admin, condition, what):
    until(lambda: all(condition(each) for each in partitions(admin)), what, BACK_S)


def partitions(admin):
    topics = [DescribeTopicPartitionsRequest.TopicRequest(name="orders")]
    asked = DescribeTopicPartitionsRequest(
        topics=topics, response_partition_limit=PARTITIONS, cursor=None
    )
    return send(admin, asked).topics[0].partitions


def check_refused(leader, broker_id):
    leader.start()
    status, told = leader.refused()
    assert status == 4
    assert f"id {broker_id} cannot return with an empty disk" in told
    assert "none of 3 partitions: orders-0, orders-1, orders-2" in told
    assert not any(leader.dirs[0].iterdir())


def test_the_last_isr_member_is_rejected(fleet):
    with fleet.admin() as admin:
        ids = lose_the_last_copy(fleet, admin)
        assert all(each.isr_nodes == ids[:1] for each in partitions(admin))
        check_refused(fleet.brokers[LEADER], ids[0])


def test_the_last_eligible_leader_is_rejected(fleet):
    finalize_features(fleet.bootstrap)
    with fleet.admin() as admin:
        ids = lose_the_last_copy(fleet, admin)
        for each in partitions(admin):
            assert each.isr_nodes == []
            assert each.eligible_leader_replicas == ids[:1]
        check_refused(fleet.brokers[LEADER], ids[0])
