"""`rackwise topic`: on real brokers, 4.3 and 3.9 with ZooKeeper; each placer, each exit code."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from kafka import TopicPartition

from daily_windows import fleet_with_window, hours
from kafka_topics import NAME, described, document, shows, sized, topic
from kafka_traffic import (
    described_topic,
    first,
    produce,
    replicas_by_each_broker,
    topic_by_each_broker,
    until,
)
from rackwise import Rack, change_replication, place
from rackwise.adapters import kafka
from rackwise.adapters.files import parse_placement
from rackwise.adapters.kafka import connect
from rackwise.adapters.kafka.applying.throttles import read_throttles
from rackwise.core.placement import JavaRandom, Ring
from refusals import ODD_RACKS_HINT, called, check_refused

TESTS = Path(__file__).parents[2]
DISTRIBUTION = TESTS / "placer_distribution"
REQUESTED = 5
"""Lines of the journal of a run when it has requested moves."""
KAFKAS_LIMIT = (
    "even for given replica lists; 1 of 2 have none: 1\n"
    "hint: set broker.rack on them, restart them and try again; or run rackwise topic create "
    "--disable-rack-aware for a new topic with more partitions, which Kafka accepts\n"
)
ALL_OF_THREE = "3 moves: 3 done, 0 failed, 0 skipped, 0 dropped"
PLACERS = [["kip36"], ["unaware"], ["striped"], ["ring", "--ignore-racks"], ["levels"]]


def known_by_each_broker(admin, name, replicas):
    """Wait until every broker describes so many replicas: the next command may ask any of them."""
    until(
        lambda: all(
            sorted((each.partition_index, len(each.replica_nodes)) for each in row.partitions or ())
            == [*enumerate(replicas)]
            for found in topic_by_each_broker(admin, name)
            for row in found
        ),
        f"{name} with {replicas} replicas on every broker",
    )


@pytest.fixture
def ring(tmp_path):
    """Options of `ring`; `racks.map` makes paths of the names that the brokers have."""
    policy = tmp_path / "policy.toml"
    policy.write_text(
        'format = "rackwise.policy/1"\n[racks]\nmap = { a = "/r/a", b = "/r/b", c = "/r/c" }\n'
    )
    return ["--placer", "ring", "--policy", policy]


def on_paths(cluster):
    """The brokers with the racks that `racks.map` makes."""
    return [
        replace(each, rack=Rack(f"/r/{each.rack}"), is_live=True, is_fenced=False)
        for each in cluster.brokers
    ]


class TestCreateAndAlter:
    """`ring` wants paths, so here it has no racks; on paths it is in the roll-out below."""

    @pytest.mark.parametrize("placer", PLACERS, ids=lambda words: words[0])
    def test_what_is_printed_is_what_the_brokers_describe(self, cluster, admin, placer):
        code, out, _ = topic(cluster, "create", *sized(6, 3), "--placer", *placer, "--json")
        made = document(out)
        assert (code, made["outcome"], made["first_partition"]) == (0, "created", 0)
        shows(admin, made["rows"])
        code, out, _ = topic(
            cluster, "alter", "--partitions", 12, "--seed", 4, "--json", "--placer", *placer
        )
        added = document(out)
        assert (code, added["outcome"], added["first_partition"]) == (0, "expanded", 6)
        shows(admin, made["rows"] + added["rows"])

    def test_place_with_the_same_seed_gives_the_rows(self, cluster, admin):
        _, out, err = called(
            "place", "--bootstrap-server", cluster.bootstrap, *sized(5, 2), "--json"
        )
        wanted = document(out)
        assert f"seed {wanted['seed']}: " in err
        code, out, _ = topic(cluster, "create", *sized(5, 2), "--seed", wanted["seed"])
        assert (code, out) == (0, f"topic {NAME}: created, 5 partitions of 2 replicas\n")
        shows(admin, wanted["rows"])

    def test_the_topic_may_be_named_as_for_kafkas_tool(self, cluster, admin):
        server = ["--topic", NAME, "--bootstrap-server", cluster.bootstrap]
        assert called("topic", "create", *server, "--replica-assignment", "2:0")[0] == 0
        assert called("topic", "ensure", *server, *sized(1, 2))[0] == 0
        words = ["--partitions", 2, "--replica-assignment", "2:0,0:1"]
        assert called("topic", "alter", *server, *words)[0] == 0
        shows(admin, [[2, 0], [0, 1]])

    def test_configs_go_with_it(self, cluster, admin):
        words = ["--config", "min.insync.replicas=2", "--config", "retention.bytes=123456"]
        assert topic(cluster, "create", *sized(1, 2), *words)[0] == 0
        seen = described_topic(admin, NAME)
        assert (seen.min_insync_replicas, seen.retention_bytes) == (2, 123456)

    def test_rows_by_hand(self, cluster, admin):
        code, out, _ = topic(cluster, "create", "--replica-assignment", "2:0, 1:2")
        assert (code, out) == (0, f"topic {NAME}: created, 2 partitions of 2 replicas\n")
        more = ["--partitions", 3, "--replica-assignment", "2:0,1:2,0:1"]
        code, out, _ = topic(cluster, "alter", *more)
        assert (code, out) == (0, f"topic {NAME}: expanded by 1 partition of 2 replicas\n")
        shows(admin, [[2, 0], [1, 2], [0, 1]])

    def test_a_placer_of_another_distribution(self, cluster, admin, monkeypatch):
        monkeypatch.syspath_prepend(str(DISTRIBUTION))
        words = ["--placer", "nearest", "--placer-option", "start=2"]
        count = len(cluster.brokers)
        rows = [[(partition + each) % count for each in (2, 3)] for partition in range(3)]
        assert topic(cluster, "create", *sized(2, 2), *words)[0] == 0
        shows(admin, rows[:2])
        assert topic(cluster, "alter", "--partitions", 3, *words)[0] == 0
        shows(admin, rows)

    def test_ensure_takes_it_as_well(self, cluster, admin, monkeypatch):
        monkeypatch.syspath_prepend(str(DISTRIBUTION))
        words = ["--placer", "nearest", "--placer-option", "start=1", "--json", "--seed", 3]
        count = len(cluster.brokers)
        code, out, err = topic(cluster, "ensure", *sized(count, 2), *words)
        printed = document(out)
        assert (code, printed["outcome"], printed["seed"]) == (0, "created", 3)
        assert (printed["placer"], printed["placer_options"], printed["rack_mode"]) == (
            *("nearest", {"start": "1"}, "safe"),
        )
        assert "seed" not in err
        assert printed["rows"] == [[(p + 1) % count, (p + 2) % count] for p in range(count)]
        shows(admin, printed["rows"])


class TestExitCodes:
    def test_a_topic_that_exists_is_an_error_or_compared(self, cluster, admin):
        code, out, _ = topic(cluster, "create", *sized(2, 2), "--json")
        rows = document(out)["rows"]
        assert code == 0
        exists = f"topic {NAME}: exists, 2 partitions of 2 replicas\n"
        assert topic(cluster, "create", *sized(2, 2)) == (0, exists, "")
        assert topic(cluster, "create", *sized(2, 2), "--if-not-exists") == (0, exists, "")
        words = [*sized(2, 2), "--config", "retention.ms=1000"]
        assert topic(cluster, "create", *words) == (
            *(0, exists),
            f"warning: --config has no effect: topic {NAME} exists\n",
        )
        code, out, err = topic(cluster, "create", *sized(3, 2))
        assert (code, out) == (1, "")
        assert err.startswith(f"error: topic {NAME} exists already\nhint: ")
        for other in (sized(3, 2), sized(2, 1), ["--replica-assignment", "0,1"]):
            code, out, err = topic(cluster, "create", *other, "--if-not-exists")
            assert (code, out) == (
                2,
                f"topic {NAME}: exists with another size, 2 partitions of 2 replicas\n",
            )
            assert err.startswith(f"warning: topic {NAME} does not have the requested size: ")
        by_hand = ",".join(":".join(map(str, row)) for row in rows)
        same = ["--replica-assignment", by_hand, "--if-not-exists", "--json"]
        code, out, _ = topic(cluster, "create", *same)
        assert (code, document(out)["outcome"]) == (0, "exists")
        shows(admin, rows)

    def test_rows_that_somebody_changed_are_3(self, cluster, admin, monkeypatch):
        real = admin.create_topics

        def meddled(*args, **options):
            answer = real(*args, **options)
            until(lambda: NAME in admin.list_topics(), "the topic")
            admin.alter_partition_reassignments({TopicPartition(NAME, 0): [2]})
            until(lambda: replicas_by_each_broker(admin, NAME) == {(0, (2,))}, "the move")
            return answer

        monkeypatch.setattr("rackwise.adapters.kafka.create.STEADY_S", 0.5)
        with closing(connect(cluster.bootstrap)) as ours:
            monkeypatch.setattr(ours, "create_topics", meddled)
            monkeypatch.setattr(kafka, "connect", lambda *_: ours)
            code, out, err = topic(cluster, "create", "--replica-assignment", "0")
        assert (code, out) == (3, "")
        assert "partition 0: expected 0, got 2" in err

    def test_a_signal_after_the_write_is_3(self, cluster, admin, monkeypatch):
        real = admin.create_topics

        def interrupted(*args, **options):
            real(*args, **options)
            raise KeyboardInterrupt

        with closing(connect(cluster.bootstrap)) as ours:
            monkeypatch.setattr(ours, "create_topics", interrupted)
            monkeypatch.setattr(kafka, "connect", lambda *_: ours)
            code, out, err = topic(cluster, "create", "--replica-assignment", "0")
        assert (code, out) == (3, "")
        assert "interrupted before the cluster showed the rows" in err
        until(lambda: NAME in admin.list_topics(), "the topic")

    @pytest.mark.parametrize(
        ("stdout", "code", "talk"),
        [
            (">&-", 0, ""),
            (
                ">/dev/full",
                3,
                (
                    f"error: topic {NAME} was written, but the result cannot be written to "
                    "stdout: No space left on device\n"
                    "hint: do not repeat the command; rackwise snapshot shows the rows\n"
                ),
            ),
        ],
    )
    def test_a_stdout_that_fails_after_the_write_undoes_nothing(
        self, cluster, admin, stdout, code, talk
    ):
        server = ["--bootstrap-server", cluster.bootstrap]
        words = ["topic", "create", NAME, *server, "--replica-assignment", "2:0"]
        command = [sys.executable, "-m", "rackwise.cli", *words]
        done = subprocess.run(
            ["/bin/sh", "-c", f'exec "$@" {stdout}', "sh", *command],
            stderr=subprocess.PIPE,
            env={**os.environ, "PYTHONWARNINGS": "ignore"},
            text=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (code, talk)
        shows(admin, [[2, 0]])


class TestReplicationFactor:
    @pytest.mark.usefixtures("state")
    def test_rings_go_on_where_the_topic_ends(self, cluster, admin, ring):
        brokers = on_paths(cluster)
        whole = place(brokers, 6, 2, placer=Ring(), rng=JavaRandom(5))
        words = ["--partitions", 4, "--replication-factor", 2]
        assert topic(cluster, "create", *words, *ring, "--seed", 5)[0] == 0
        shows(admin, whole.rows[:4].tolist())
        known_by_each_broker(admin, NAME, [2] * 4)
        assert topic(cluster, "alter", "--partitions", 6, *ring, "--seed", 5)[0] == 0
        shows(admin, whole.rows.tolist())
        known_by_each_broker(admin, NAME, [2] * 6)
        wider = change_replication(whole, brokers, 3, placer=Ring())
        code, out, err = topic(cluster, "alter", "--replication-factor", 3, *ring)
        assert (code, out) == (0, "6 moves: 6 done, 0 failed, 0 skipped, 0 dropped\n"), err
        shows(admin, wider.rows.tolist())
        code, out, err = topic(cluster, "alter", "--replication-factor", 3, *ring, "--seed", 1)
        assert (code, out) == (0, "6 moves: nothing to do\n"), err
        code, out, err = topic(cluster, "alter", "--replication-factor", 1, *ring, "--json")
        assert (code, document(out)["done"]) == (0, 6), err
        shows(admin, wider.rows[:, :1].tolist())

    def test_an_interrupted_run_is_continued_with_its_rows(self, cluster, admin, state):
        """New rows would leave its journal and throttles to lists that no file has."""
        assert topic(cluster, "create", "--replica-assignment", "0,0,0,0")[0] == 0
        shows(admin, [[0]] * 4)
        known_by_each_broker(admin, NAME, [1] * 4)
        produce(cluster.bootstrap, {(NAME, 0): 150})
        throttled = {"topics": [NAME], "brokers": [0, 1, 2]}
        before = read_throttles(admin, **throttled)
        words = ["--replication-factor", 2, "--disable-rack-aware", "--throttle", "100kB"]
        killed = [
            sys.executable,
            TESTS / "killed_command.py",
            REQUESTED,
            "SIGKILL",
            "topic",
            "alter",
        ]
        server = ["--bootstrap-server", cluster.bootstrap]
        done = subprocess.run(
            [*map(str, [*killed, NAME, *server, *words, "--seed", 1])],
            capture_output=True,
            check=False,
        )
        assert done.returncode == -signal.SIGKILL, done.stderr
        assert read_throttles(admin, **throttled) != before
        (file,) = state.glob("*/*-rf-2.json")
        text = file.read_bytes()
        code, out, err = topic(cluster, "alter", *words, "--seed", 16)
        assert code == 0, err
        assert f"continuing the interrupted run of {file}, with the rows of that file\n" in err
        assert file.read_bytes() == text
        rows = parse_placement(text, where="file")
        shows(admin, [list(rows[NAME, partition]) for partition in range(4)])
        until(lambda: read_throttles(admin, **throttled) == before, "no throttle")
        code, out, err = topic(cluster, "alter", *words, "--seed", 16)
        assert (code, out) == (0, "4 moves: nothing to do\n"), err

    def test_outside_its_window_nothing_starts_and_inside_it_ends_with_it(
        self, cluster, admin, state, tmp_path
    ):
        assert topic(cluster, "create", "--replica-assignment", "0,1")[0] == 0
        known_by_each_broker(admin, NAME, [1, 1])
        fleet = partial(fleet_with_window, tmp_path / "rackwise.toml", cluster)
        words = ["topic", "alter", NAME, "--replication-factor", 2, "--disable-rack-aware"]
        closed = fleet(hours(2, 3), 'throttle = "90MB"')
        code, out, err = called(*words, *closed)
        assert (code, out) == (4, "")
        assert err.startswith("error: outside the window ")
        assert not state.exists()
        shows(admin, [[0], [1]])
        assert called("topic", "alter", NAME, "--partitions", 3, *closed)[0] == 0
        known_by_each_broker(admin, NAME, [1, 1, 1])

        inside = hours(-1, 1)
        code, out, err = called(*words, *fleet(inside, 'throttle = "90MB"'))
        assert (code, out.splitlines()[0]) == (0, ALL_OF_THREE), err
        assert f"; window {inside} UTC\n" in err
        known_by_each_broker(admin, NAME, [2, 2, 2])
        (journal,) = state.rglob("*.journal")
        begin = document(journal.read_text().splitlines()[0])
        assert (begin["window"], begin["throttle"]) == (f"{inside} UTC", 90_000_000)

        words[4] = 1
        assert topic(cluster, *words[1:2], *words[3:], "--window", hours(2, 3))[0] == 4
        code, out, err = called(*words, *closed, "--ignore-window")
        assert (code, out.splitlines()[0]) == (0, ALL_OF_THREE), err
        assert "window" not in err
        known_by_each_broker(admin, NAME, [1, 1, 1])

    @pytest.mark.usefixtures("state")
    def test_rows_of_different_length_are_rejected(self, cluster, admin):
        assert topic(cluster, "create", "--replica-assignment", "0:1,1:2")[0] == 0
        known_by_each_broker(admin, NAME, [2, 2])
        admin.alter_partition_reassignments({TopicPartition(NAME, 0): [0, 1, 2]})
        known_by_each_broker(admin, NAME, [3, 2])
        words = ["--replication-factor", 3, "--disable-rack-aware"]
        code, out, err = topic(cluster, "alter", *words)
        assert (code, out) == (1, "")
        assert err.startswith(
            f"error: topic {NAME} partition 1 has 2 replicas, partition 0 has 3\n"
        )

    def test_a_topic_that_does_not_exist(self, cluster, admin, state):
        assert NAME not in admin.list_topics()
        code, out, err = topic(cluster, "alter", "--replication-factor", 3)
        assert (code, out) == (1, "")
        assert err.startswith(f"error: topic {NAME} does not exist\n")
        assert not [*state.glob("*/*.json")]


class TestEnsure:
    def test_it_is_there_afterwards_whatever_was_before(self, cluster, admin):
        code, out, err = topic(cluster, "ensure", *sized(3, 3))
        assert (code, out) == (0, f"topic {NAME}: created, 3 partitions of 3 replicas\n")
        assert "gives the same rows again" in err
        rows = first(lambda: described(admin)[0], lambda rows: len(rows) == 3, "the topic")
        assert topic(cluster, "ensure", *sized(3, 3)) == (
            0,
            f"topic {NAME}: exists, 3 partitions of 3 replicas\n",
            "",
        )
        code, out, err = topic(cluster, "ensure", *sized(4, 2), "--json")
        assert (code, document(out)["outcome"], document(out)["rows"]) == (0, "exists", rows)
        wrong = "does not have the requested size: 4 partitions of 2 replicas"
        assert err == f"warning: topic {NAME} {wrong}\n"

    def test_names_are_mapped_into_paths_by_the_policy(self, cluster, admin, ring):
        wanted = place(on_paths(cluster), 6, 2, placer=Ring(), rng=JavaRandom(5))
        code, _, err = topic(cluster, "ensure", *sized(6, 2), *ring, "--seed", 5)
        assert (code, err) == (0, "")
        shows(admin, wanted.rows.tolist())


@pytest.mark.zookeeper
@pytest.mark.long
def test_topics_are_made_at_every_step_while_racks_are_rolled_out(make_zookeeper):
    """KIP-36: auto-creation ignores racks while only some brokers have one; tools refuse."""
    cluster = make_zookeeper(brokers=2, racks=())
    for done in range(3):
        if done:
            restart_with_rack(cluster, done - 1, rack=f"/{'ab'[done - 1]}")
        is_partial = done == 1
        with closing(connect(cluster.bootstrap)) as admin:
            size = {"num_partitions": 2, "replication_factor": 2}
            answer = admin.create_topics({f"by-broker-{done}": size}, raise_errors=False)
            assert bool(answer["topics"][0]["error_code"]) == is_partial
            server = ["--bootstrap-server", cluster.bootstrap]
            code, _, err = called("topic", "create", f"made-{done}", *server, *sized(2, 2))
            assert code == int(is_partial)
            assert ("all brokers must have a rack" in err) == is_partial
            until(
                lambda name=f"made-{done}", wanted=not is_partial: (
                    (name in admin.list_topics()) == wanted
                ),
                "the topic",
            )
            code, _, err = called("topic", "ensure", f"ensured-{done}", *server, *sized(2, 2))
            assert code == 0
            assert ("racks were ignored: 1 of 2 brokers have none: 1; before" in err) == is_partial
            words = [*server, *sized(2, 2), "--ignore-racks"]
            assert called("topic", "create", f"rackless-{done}", *words)[0] == 0
            known_by_each_broker(admin, f"rackless-{done}", [2, 2])
            words = [*server, "--partitions", 4, "--ignore-racks", "--seed", 1]
            code, _, err = called("topic", "alter", f"rackless-{done}", *words)
            assert code == int(is_partial), err
            assert (KAFKAS_LIMIT in err) == is_partial
    check_ring(cluster)
    check_a_broker_that_is_gone(cluster)
    restart_with_rack(cluster, 1, rack="b")
    check_racks_that_mix(cluster)


def check_ring(cluster):
    """On racks that are paths its rows go to the brokers like those of the others."""
    with closing(connect(cluster.bootstrap)) as admin:
        words = ["--placer", "ring", "--placer-option", "start=1", "--json"]
        made = document(topic(cluster, "create", *sized(2, 2), *words)[1])
        assert made["rows"] == [[1, 0], [1, 0]]
        assert topic(cluster, "alter", "--partitions", 4, *words)[0] == 0
        shows(admin, [[1, 0]] * 4)


def check_a_broker_that_is_gone(cluster):
    """Kafka 3.9 accepts rows on unknown brokers; they are reported, and are no failure."""
    with closing(connect(cluster.bootstrap)) as admin:
        admin.create_topics({"gone": {"assignments": {0: [0, 9]}}})
        until(lambda: "gone" in admin.list_topics(), "the topic")
    server = ["--bootstrap-server", cluster.bootstrap]
    words = [*server, "--partitions", 2, "--seed", 1]
    code, out, err = called("topic", "alter", "gone", *words)
    assert (code, out) == (0, "topic gone: expanded by 1 partition of 2 replicas\n")
    assert "rows name brokers that the cluster does not have: 9\n" in err


def check_racks_that_mix(cluster):
    """Kafka takes any text as a rack: only placers of levels refuse, and `ensure` never does."""
    server = ["--bootstrap-server", cluster.bootstrap]
    odd = 'broker 1 ("b": expected a path, as 1 of 2 brokers have)'
    for placer in ("levels", "ring"):
        words = [*server, *sized(2, 2), "--placer", placer]
        check_refused(
            ["topic", "create", "mixed", *words],
            f"all brokers must have a rack that counts; 1 of 2 have none: {odd}",
            ODD_RACKS_HINT,
        )
        code, _, err = called("topic", "ensure", f"ensured-{placer}", *words)
        assert code == 0
        assert f"racks were ignored: 1 of 2 brokers have none that counts: {odd}; before" in err
        assert "before the next topic, give all brokers racks of one form, or map them with" in err
        assert called("topic", "create", f"{placer}", *words, "--disable-rack-aware")[0] == 0
    words = [*server, *sized(2, 2), "--placer", "kip36"]
    for verb in ("create", "ensure"):
        code, _, err = called("topic", verb, f"{verb}-of-names", *words)
        assert (code, "racks were ignored" in err) == (0, False)
    more = [*server, "--partitions", 4, "--placer", "kip36"]
    assert called("topic", "alter", "create-of-names", *more)[0] == 0
    words = [*server, *sized(2, 2), "--json"]
    assert document(called("topic", "ensure", "ensured-0", *words)[1])["outcome"] == "exists"


def restart_with_rack(cluster, broker, *, rack):
    """Restart a broker with a rack."""
    file = cluster.folder / f"broker-{broker}" / "server.properties"
    cluster.stop(broker)
    cluster.wait_until_gone(broker)
    file.write_text(file.read_text() + f"broker.rack={rack}\n")
    cluster.start(broker)
    cluster.wait_until_ready()
