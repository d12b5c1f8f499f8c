"""`rackwise topic` on a cluster with cordoned brokers and folders (KIP-1066)."""

from __future__ import annotations

import re
from contextlib import closing

import pytest

from cordons import cordoned
from kafka_topics import NAME, described, shows, sized, topic
from kafka_traffic import delete, until
from rackwise.adapters.kafka import connect, ensure_topic
from rackwise.adapters.kafka.logs.read import read_log_dirs
from rackwise.adapters.sandbox.blueprint import new_uuid

pytestmark = pytest.mark.kafka


@pytest.fixture
def admin(kraft_cluster):
    with closing(connect(kraft_cluster.bootstrap)) as made:
        delete(made, NAME)
        yield made
        delete(made, NAME)


def test_a_cordoned_broker_is_given_no_partition(kraft_cluster, admin):
    with cordoned(admin, 3):
        code, _, err = topic(kraft_cluster, "create", "--replica-assignment", "3:1")
        assert code == 1
        assert "expected brokers that take new replicas, got 3, which is cordoned" in err
        assert topic(kraft_cluster, "create", *sized(4, 3))[0] == 0
        assert topic(kraft_cluster, "alter", "--partitions", 8)[0] == 0
        all_on(admin, 8, {0, 1, 2})
        delete(admin, NAME)
        assert ensure_topic(admin, NAME, 6, 2)
        all_on(admin, 6, {0, 1, 2})
        code, _, err = topic(kraft_cluster, "alter", "--partitions", 7, "--broker-list", "1,3")
        assert (code, "got 3, which is cordoned" in err) == (1, True)


def all_on(admin, partitions, brokers):
    """Law: every broker soon shows so many partitions, on exactly these brokers."""

    def is_shown():
        rows, _ = described(admin)
        return len(rows) == partitions and {broker for row in rows for broker in row} == brokers

    until(is_shown, f"{partitions} partitions on {brokers}")


@pytest.mark.long
def test_a_broker_with_one_of_two_folders_cordoned_still_takes_replicas(make_kraft):
    cluster = make_kraft(brokers=1)
    first, second = add_folder(cluster)
    with closing(connect(cluster.bootstrap)) as admin:
        with cordoned(admin, 0, first):
            assert topic(cluster, "create", *sized(2, 1))[0] == 0
            shows(admin, [[0], [0]])
            folders = {each.path: each.is_cordoned for each in read_log_dirs(admin, [0])[0]}
            assert folders == {first: True, second: False}
        with cordoned(admin, 0, f"{first},{second}"):
            code, _, err = topic(cluster, "alter", "--partitions", 3)
            assert code == 1
            assert "hint: use fewer replicas, or uncordon the brokers: 0" in err
        assert topic(cluster, "alter", "--partitions", 3)[0] == 0


def add_folder(cluster):
    """Restart broker 0 with a second log folder; both paths."""
    home = cluster.folder / "broker-0"
    first, second = home / "data", home / "more"
    cluster.stop(0)
    second.mkdir()
    formatted = (first / "meta.properties").read_text()
    one_id = re.sub(r"(?m)^directory\.id=.*$", f"directory.id={new_uuid()}", formatted)
    (second / "meta.properties").write_text(one_id)
    properties = home / "server.properties"
    lines = properties.read_text().replace(f"log.dirs={first}", f"log.dirs={first},{second}")
    properties.write_text(lines)
    cluster.start(0)
    cluster.wait_until_ready()
    return str(first), str(second)
