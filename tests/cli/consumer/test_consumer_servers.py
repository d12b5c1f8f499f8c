"""`rackwise consumer` on groups of real clients, of both protocols."""

from __future__ import annotations

from contextlib import closing, contextmanager

import pytest
from confluent_kafka import Consumer

from consumer_groups import Crew, racks_of
from consumer_snapshots import document
from kafka_traffic import RackRangeAssignor, create, until
from rackwise.adapters.clients.kafka_python.group import RackOptimal
from rackwise.adapters.kafka import connect
from refusals import called

TOPIC = "evaluated"
RACKS = ("a", "b")
"""Of brokers 0 and 1; broker 2 is in a third one."""
LEADERS = [0] * 9 + [1] + [0, 2] + [1] * 8
"""Range gives partitions 0-9 to one member and 10-19 to the other: 17 in their racks."""


@pytest.fixture
def bootstrap(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, [[leader] for leader in LEADERS])
        yield kraft_cluster.bootstrap
        admin.delete_topics([TOPIC])


def evaluated(bootstrap, group, *options):
    """Exit code and document of the group; None while it cannot be judged."""
    words = ["consumer", "evaluate", "--bootstrap-server", bootstrap, "--group", group]
    code, out, err = called(*words, *options, "--json")
    return (code, document(out)["groups"][0]) if code != 1 else (code, err)


def when_settled(bootstrap, group, poll=lambda: None):
    """The exit code and document once both members have their partitions."""
    found = []

    def is_settled():
        poll()
        code, told = evaluated(bootstrap, group)
        found.append((code, told))
        return (
            code != 1
            and told["state"] == "Stable"
            and told["members"] == 2
            and (told["partitions"] == len(LEADERS))
        )

    until(is_settled, f"{group} to settle")
    return found[-1]


def plain_range(rack):
    """Range as brokers see it of a client that tells its rack and heeds none."""
    return type("Range", (RackRangeAssignor,), {"rack": rack})


@contextmanager
def modern_members(bootstrap, group):
    """A member in each rack, of the consumer protocol."""
    made = [
        Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": group,
                "group.protocol": "consumer",
                "client.id": f"app-{rack}",
                "client.rack": rack,
            }
        )
        for rack in RACKS
    ]
    for member in made:
        member.subscribe([TOPIC])
    try:
        yield lambda: [member.poll(0.05) for member in made]
    finally:
        for member in made:
            member.close()


@pytest.mark.kafka
def test_a_group_that_range_leaves_at_85_percent_until_it_is_changed_to_rack_optimal(
    kraft_cluster, bootstrap, tmp_path
):
    """By their ids the member in rack a comes first."""
    racks = {TOPIC: racks_of(kraft_cluster, [[leader] for leader in LEADERS])}
    with Crew(bootstrap, "changed", [TOPIC]) as crew:
        for rack in RACKS:
            crew.join(f"app-{rack}", plain_range(rack))
        crew.rest(racks)
        code, told = when_settled(bootstrap, "changed")
        assert code == 2
        assert (told["protocol"], told["assignor"]) == ("classic", "range")
        assert (told["local"], told["local_share"], told["best_local"]) == (17, 0.85, 19)
        assert (told["is_better"], told["best"]["moves"]) == (True, 2)
        file = tmp_path / "s.json"
        words = ["--bootstrap-server", bootstrap, "--no-sizes", "--out", file]
        assert called("snapshot", *words)[0] == 0
        code, out, _ = called("consumer", "evaluate", "--snapshot", file, "--group", "changed")
        assert code == 2
        assert "local 17 (85 %)  best 19 (95 %)" in out
        for rack in RACKS:
            crew.leave(f"app-{rack}")
            crew.join(f"app-{rack}", RackOptimal(rack, mode="eager"), plain_range(rack))
            crew.rest(racks)
        code, told = when_settled(bootstrap, "changed")
        assert (code, told["assignor"], told["is_better"]) == (0, "rack-optimal", False)
        assert (told["local"], told["best_local"]) == (19, 19)


@pytest.mark.kafka
def test_a_group_of_the_consumer_protocol_with_its_racks(bootstrap):
    """KIP-848: members send their rack with the heartbeat."""
    with modern_members(bootstrap, "by-brokers") as poll:
        code, told = when_settled(bootstrap, "by-brokers", poll)
        assert (told["protocol"], told["assignor"]) == ("consumer", "uniform")
        assert sorted(each["rack"] for each in told["by_member"]) == list(RACKS)
        assert told["members_without_rack"] == told["members_without_topics"] == []
        assert (told["unknown"], told["best_local"]) == (0, 19)
        assert code == (2 if told["is_better"] else 0)
        assert told["is_better"] == (told["local"] < 19)


@pytest.mark.kafka
def test_a_group_that_is_not_there(bootstrap):
    code, said = evaluated(bootstrap, "nobody")
    assert code == 1
    assert '"error": "GroupNotFound"' in said
