"""Nights over real clusters: notices, steps repeated by hand, runs that are killed."""

import errno
import os
import random
import re
import signal
import subprocess
from contextlib import closing
from time import monotonic

import pytest

from hand_made_plans import plan_file, shown
from kafka_traffic import create, delete, produce
from nights import COMMAND, FIRST, SECOND, THIRD, Fleet
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from refusals import called
from small_disk import BALLAST, fill, mounted_disk
from webhooks import webhook

pytestmark = [pytest.mark.kafka, pytest.mark.server]
TOPIC = "nightly-orders"
UNSAFE = [[0, 3], [0, 1]]
"""Brokers 0 and 3 are both in rack a."""
SAMPLE = re.compile(r"# (HELP|TYPE) .+|[a-z_]+(\{.*\})? [0-9.e+-]+")
"""A line of metrics."""
FULL = os.strerror(errno.ENOSPC)
PAGES = 2500
"""Pages of a small disk: some nights fit."""
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


@pytest.mark.long
def test_a_night_is_refreshed_after_a_repair_and_tells_that_the_topic_is_safe(
    kraft, tmp_path, monkeypatch
):
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    with webhook() as hook:
        fleet = Fleet(tmp_path, {"eu": {"bootstrap": kraft.bootstrap}}, url=hook.url)
        assert fleet.night(FIRST).code == 2
        told = hook.kinds()
        assert ("topic-unsafe", "eu") in told
        again = fleet.night(FIRST)
        assert {*last_column(again)} == {f"kept from {run['began'][11:]}" for run in runs_of(fleet)}

        with closing(connect(kraft.bootstrap)) as admin:
            plan = plan_file(tmp_path / "p.json", admin, {(TOPIC, 0): (0, 1)})
            code, _, err = called("apply", plan, "--fleet", fleet.file, "--cluster", "eu")
            assert code == 0, err
            shown(admin, TOPIC, {0: [0, 1], 1: [0, 1]})
        before = fleet.texts()
        fleet.words.append("--refresh")
        refreshed = fleet.night(FIRST, "--json")
        document = parse(refreshed.out.encode(), where="stdout", error=InvalidConfig)
        assert document["exit"] == refreshed.code != 3, refreshed
        kept = {each["step"] for each in document["steps"] if each["is_kept"]}
        assert (kept, document["ran"]) == ({"first-look"}, 6)
        new = hook.kinds()[len(told) :]
        assert ("topic-safe", "eu") in new
        assert {kind for kind, _ in new} <= {"topic-safe", "plan-waits"}
    after = fleet.texts()
    changed = {path.name for path in before if before[path] != after.get(path)}
    assert "2026-11-26-2.json.gz" in changed
    assert "2026-11-26-1.json.gz" not in changed
    metrics = (fleet.data / "metrics" / "rackwise.prom").read_text()
    unsafe = fleet.summary()["history"]["clusters"][-1]["partitions_unsafe"]
    assert f'rackwise_partitions_unsafe{{cluster="eu"}} {unsafe}\n' in metrics
    assert not any(move[:2] == (TOPIC, 0) for move in fleet.moves("eu", "2026-11-26"))


def last_column(result):
    """What the table of a run says of when each step ran."""
    header, *rows = result.out.splitlines()[:-1]
    return [row[header.index("ran") :] for row in rows]


def runs_of(fleet):
    return fleet.state()["night"]["runs"]


def test_two_names_of_one_cluster_fail_and_are_counted_nowhere(kraft, zookeeper_cluster, tmp_path):
    one, other, *_ = kraft.bootstrap.split(",")
    names = {"eu": one, "old": other, "us": zookeeper_cluster.bootstrap}
    with webhook() as hook:
        clusters = {name: {"bootstrap": each} for name, each in names.items()}
        fleet = Fleet(tmp_path, clusters, url=hook.url, defaults=PRICES)
        result = fleet.night(FIRST)
        told = {*hook.kinds()}
    assert result.code == 3, result
    assert result.err.count("eu and old are one cluster, ") >= 2
    assert {("cluster-failed", "eu"), ("cluster-failed", "old")} <= told
    assert ("topic-unsafe", "eu") not in told
    made = {name for step, *names in fleet.exits() if not step.endswith("-look") for name in names}
    assert made == {"us"}
    assert {row["cluster"] for row in fleet.summary()["history"]["clusters"]} == {"us"}
    text = (fleet.data / "metrics" / "nightly.prom").read_text()
    assert 'rackwise_nightly_steps_failed{cluster="old"} 1\n' in text


@pytest.mark.long
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


@pytest.mark.long
def test_a_night_on_a_full_disk_keeps_what_was_there_and_is_made_up_later(kraft, tmp_path):
    """A disk with no room, with room for two snapshots, for all but the bill, and for all."""
    fleet = Fleet(tmp_path, {"eu": {"bootstrap": kraft.bootstrap}}, defaults=PRICES)
    with mounted_disk(fleet.data, PAGES):
        assert fleet.night(FIRST).code == 2
        first, result = kept(fleet), fleet.summary()
        for free, file in ((0, ""), (4, "/nightly.json")):
            ballast = fill(fleet.data, PAGES, free=free)
            night = fleet.night(SECOND)
            error, hint = night.err.splitlines()[-2:]
            assert (night.code == 0, night.out) == (False, "")
            assert f"{fleet.data}{file}" in error
            assert FULL in error
            assert hint.startswith("hint: ")
            assert first.items() <= kept(fleet).items()
            assert all(map(SAMPLE.fullmatch, metrics_of(fleet).splitlines()))

        fill(fleet.data, PAGES, free=12)
        assert fleet.night(SECOND).code == 3
        assert FULL in fleet.runs()["price", "eu"]["reason"]
        assert fleet.summary() == result
        assert [*fleet.data.rglob("*.unfinished")] == []

        ballast.unlink()
        assert fleet.night(SECOND).code == 2
        days = {row["day"] for row in fleet.summary()["history"]["clusters"]}
        assert days == {"2026-11-26", "2026-11-27"}


def metrics_of(fleet):
    """The metrics of a night, which are whole: their last line has an end."""
    text = (fleet.data / "metrics" / "rackwise.prom").read_text()
    assert text.endswith("\n")
    return text


def kept(fleet):
    """The files of a night but its state and its metrics, which steps replace."""
    replaced = {"lock", "nightly.json", "rackwise.prom", BALLAST}
    return {path: text for path, text in fleet.texts().items() if path.name not in replaced}


@pytest.mark.long
@pytest.mark.zookeeper
@pytest.mark.timeout(2400)
def test_three_nights_over_three_clusters_end_the_same_after_twenty_kills(java_home, tmp_path):
    """The second cluster is down on the second night; a topic of the first becomes unsafe then."""
    draws = random.Random(2026)
    three = {"racks": ("a", "b", "a"), "brokers": 3, "java_home": java_home}
    with (
        Sandbox.kraft(version="4.3", folder=tmp_path / "new", **three) as new_one,
        Sandbox.kraft(version="4.3", folder=tmp_path / "old", **three) as down,
        Sandbox.zookeeper(folder=tmp_path / "keeper", **three) as keeper,
        webhook() as hook,
        webhook() as other,
    ):
        servers = {"new": new_one, "down": down, "keeper": keeper}
        clusters = {name: {"bootstrap": each.bootstrap} for name, each in servers.items()}
        whole = Fleet(new(tmp_path, "whole"), clusters, url=hook.url, defaults=PRICES)
        broken = Fleet(new(tmp_path, "broken"), clusters, url=other.url, defaults=PRICES)
        for each in servers.values():
            made(each, TOPIC, [[0, 1], [1, 2]])
        kills, days = 0, []
        for number, at in enumerate((FIRST, SECOND, THIRD)):
            if number == 1:
                made(new_one, "became-unsafe", [[0, 2]])
                for broker in range(3):
                    down.kill(broker)
            if number == 2:
                for broker in range(3):
                    down.start(broker)
                down.wait_until_ready()
            began = monotonic()
            results = [whole.night(at)]
            lasted_s = monotonic() - began
            killed, result = broken_night(broken, at, draws, lasted_s, most=(7, 6, 7)[number])
            kills += killed
            results.append(result)
            assert {each.code for each in results} == {(0, 3, 2)[number]}, results
            days.append(at[:10])
            seen = [name for name in servers if number != 1 or name != "down"]
            same_night(whole, broken, *seen, day=at[:10])
            check_alerts(whole, unsafe=number > 0, is_down=number == 1)
            produce(new_one.bootstrap, {(TOPIC, 0): 500})
        extra = 0
        while kills < 20:  # a night that ended before its last kill
            extra += 1
            fleet = Fleet(new(tmp_path, f"extra-{extra}"), clusters, defaults=PRICES)
            killed, result = broken_night(fleet, THIRD, draws, lasted_s, most=20 - kills)
            kills += killed
            assert result.code == 2, result
            assert fleet.exits().items() <= whole.exits().items()
    assert (
        sorted(other.kinds())
        == sorted(hook.kinds())
        == [
            ("cluster-failed", "down"),
            ("cluster-recovered", "down"),
            ("plan-waits", "new"),
            ("topic-unsafe", "new"),
        ]
    )
    for fleet in (whole, broken):
        assert [row["day"] for row in fleet.summary()["history"]["days"]] == days
        rows = fleet.summary()["history"]["clusters"]
        unsafe = [row["partitions_unsafe"] for row in rows if row["cluster"] == "new"]
        assert unsafe == [0, 1, 1]
    of_whole, of_broken = (
        sum(row["bytes_cross"] or 0 for row in fleet.summary()["history"]["clusters"])
        for fleet in (whole, broken)
    )
    assert of_whole > 900_000
    assert of_broken == pytest.approx(of_whole, rel=1e-4)  # bytes are rounded for each day


def broken_night(fleet, at, draws, lasted_s, *, most):
    """A night that is killed `most` times, unless it ends before: the kills and the last run."""
    for kills in range(most):
        result = fleet.killed(at, draws.uniform(0.1, lasted_s / 3))
        if result.code != -signal.SIGKILL:
            return kills, result
    return most, fleet.night(at)


def made(cluster, name, placement):
    with closing(connect(cluster.bootstrap)) as admin:
        create(admin, name, placement)


def check_alerts(fleet, *, unsafe, is_down):
    """The samples on which alerts fire."""
    run = (fleet.data / "metrics" / "rackwise.prom").read_text()
    night = (fleet.data / "metrics" / "nightly.prom").read_text()
    assert f'rackwise_partitions_unsafe{{cluster="new"}} {int(unsafe)}\n' in run
    assert f'rackwise_nightly_steps_failed{{cluster="down"}} {int(is_down)}\n' in night
    assert f'rackwise_nightly_plan_moves{{cluster="new"}} {int(unsafe)}\n' in night


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
