"""Nights over real clusters: what is told once, what a person can repeat, what a kill changes."""

import random
import subprocess
from contextlib import closing

import pytest

from kafka_traffic import create, delete, produce
from nights import COMMAND, FIRST, SECOND, Fleet
from rackwise.adapters.kafka import connect
from webhooks import webhook

pytestmark = [pytest.mark.kafka, pytest.mark.server]
TOPIC = "nightly-orders"
UNSAFE = [[0, 3], [0, 1]]
"""Brokers 0 and 3 are both in rack a."""
MISSING = {"bootstrap": "127.0.0.1:1", "command_config": "missing.properties"}


@pytest.fixture
def kraft(kraft_cluster):
    """A cluster with a topic whose first partition the loss of rack a takes offline."""
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, UNSAFE)
        yield kraft_cluster
        delete(admin, TOPIC)


@pytest.mark.zookeeper
def test_a_night_tells_what_changed_once_and_its_steps_can_be_repeated(
    kraft, zookeeper_cluster, tmp_path
):
    live = {
        "eu": {"bootstrap": kraft.bootstrap},
        "us": {"bootstrap": zookeeper_cluster.bootstrap},
    }
    with webhook() as hook:
        fleet = Fleet(tmp_path, live | {"gone": MISSING}, url=hook.url, defaults=PRICES)
        first = fleet.night(FIRST)
        assert first.code == 3, first
        told = hook.kinds()
        assert {("topic-unsafe", "eu"), ("plan-waits", "eu"), ("cluster-failed", "gone")} <= {*told}
        assert (TOPIC, 0) in [move[:2] for move in fleet.moves("eu", "2026-11-26")]
        assert ("first-look", "gone") in fleet.exits()
        assert fleet.exits()["price", "eu", "us"] == 0
        repeat_by_hand(fleet, ("audit", "eu"), ("audit", "us"))
        check_metrics(fleet)

        fleet.write(live, defaults=PRICES)
        again = fleet.night(FIRST)
        assert ("0 steps executed" in again.out, again.code) == (True, 2), again
        assert hook.kinds() == told

        produce(kraft.bootstrap, {(TOPIC, 1): 100})
        second = fleet.night(SECOND)
        assert second.code == 2, second
        assert hook.kinds() == told
    days = {(row["cluster"], row["day"]): row for row in fleet.summary()["history"]["clusters"]}
    assert {*days} >= {(name, day) for name in live for day in ("2026-11-26", "2026-11-27")}
    assert days["eu", "2026-11-26"]["bytes_cross"] > 90_000
    assert days["eu", "2026-11-27"]["partitions_unsafe"] >= 1


PRICES = {"provider": "aws"}


def repeat_by_hand(fleet, *steps):
    """The command of a step has the same exit code again, and prints what the night kept."""
    for step, cluster in steps:
        run = fleet.runs()[step, cluster]
        done = subprocess.run([*COMMAND, *run["command"]], check=False, capture_output=True)
        assert done.returncode == run["exit"]
        kept = fleet.data / "audits" / cluster / "2026-11-26.json"
        assert done.stdout == kept.read_bytes()


def check_metrics(fleet):
    text = (fleet.data / "metrics" / "rackwise.prom").read_text()
    assert 'rackwise_partitions_unsafe{cluster="eu"}' in text
    night = (fleet.data / "metrics" / "nightly.prom").read_text()
    assert 'rackwise_nightly_steps_failed{cluster="gone"} 1\n' in night
    assert 'rackwise_nightly_steps_failed{cluster="eu"} 0\n' in night
    assert "rackwise_nightly_exit_code 3\n" in night


def test_a_night_that_is_killed_twice_ends_as_one_that_is_not(kraft, tmp_path):
    """A seed draws when the run is killed."""
    draws = random.Random(30)
    with webhook() as hook, webhook() as other:
        clusters = {"eu": {"bootstrap": kraft.bootstrap}}
        whole = Fleet(new(tmp_path, "whole"), clusters, url=hook.url, defaults=PRICES)
        broken = Fleet(new(tmp_path, "broken"), clusters, url=other.url, defaults=PRICES)
        assert whole.night(FIRST).code == 2
        for _ in range(2):
            broken.killed(FIRST, draws.uniform(0.5, 6))
        assert broken.night(FIRST).code == 2
        same_night(whole, broken, "eu")
        assert other.kinds() == hook.kinds()


def same_night(whole, broken, *clusters, day="2026-11-26"):
    """Two folders have the same steps, plans and history, but for times and the bytes of a day."""
    assert broken.exits() == whole.exits()
    for name in clusters:
        assert broken.moves(name, day) == whole.moves(name, day)
    assert history(broken) == history(whole)
    left = [path for path in broken.texts() if path.name.endswith(".unfinished")]
    assert [path for path in left if "snapshots" not in path.parts] == []


def history(fleet):
    return [
        (row["cluster"], row["day"], row["partitions"], row["partitions_unsafe"])
        for row in fleet.summary()["history"]["clusters"]
    ]


def new(folder, name):
    made = folder / name
    made.mkdir()
    return made
