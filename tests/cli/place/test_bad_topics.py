"""What `rackwise topic` refuses: nothing is created when anything is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest

from kafka_topics import NAME, described, shows, sized, topic
from kafka_traffic import produce, throttled_move
from rackwise.adapters.sandbox.ports import free_ports
from refusals import called, check_refused

DISTRIBUTION = Path(__file__).parents[2] / "placer_distribution"
ONE_AFTER_THE_OTHER = (
    "change one after the other: new partitions take the replication factor of the topic"
)
SIZE = sized(1, 1)
USAGE = "rackwise --help, or rackwise COMMAND --help"
ROWS = "write brokers as 5:4,3:2, preferred leader first, one group for each partition"
STRANGERS = "fix the placer, or use a built-in one such as levels"


class TestOptions:
    """Told before anybody is asked: no broker listens at this port."""

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (
                ["create", NAME],
                (
                    "expected --partitions and --replication-factor, got no --partitions "
                    "and no --replication-factor"
                ),
                "give both, or give every row: --replica-assignment 5:4,3:2",
            ),
            (
                ["create", NAME, "--partitions", 3],
                ("expected --partitions and --replication-factor, got no --replication-factor"),
                "give both, or give every row: --replica-assignment 5:4,3:2",
            ),
            (
                [
                    *("create", NAME, "--replica-assignment", "0:1", "--partitions", 3),
                    *("--replication-factor", 1, "--seed", 0, "--ignore-racks"),
                ],
                (
                    "--replica-assignment cannot be combined with --partitions, "
                    "--replication-factor, --disable-rack-aware, --seed"
                ),
                "omit one or the other: --replica-assignment says where every replica goes",
            ),
            (
                ["alter", NAME, "--partitions", 3, "--replica-assignment", "0", "--no-load"],
                "--replica-assignment cannot be combined with --no-load",
                "omit one or the other: --replica-assignment says where every replica goes",
            ),
            (
                ["alter", NAME, "--partitions", 3, "--replication-factor", 2],
                "expected --partitions or --replication-factor, got both",
                ONE_AFTER_THE_OTHER,
            ),
            (
                ["alter", NAME],
                "expected --partitions or --replication-factor, got none",
                ONE_AFTER_THE_OTHER,
            ),
            (
                [
                    *("alter", NAME, "--replication-factor", 2, "--replica-assignment", "0:1"),
                    *("--broker-list", "0,1", "--no-load"),
                ],
                (
                    "--replication-factor cannot be combined with --replica-assignment, "
                    "--broker-list, --no-load"
                ),
                "rackwise apply takes rows by hand, as Kafka's reassignment JSON",
            ),
            (
                ["alter", NAME, "--partitions", 3, "--throttle", "50MB"],
                "--throttle requires --replication-factor",
                "omit --throttle: new partitions are empty",
            ),
            (
                ["alter", NAME, "--partitions", 3, "--window", "22:00-05:00"],
                "--window requires --replication-factor",
                "omit --window: new partitions are empty",
            ),
            (
                ["alter", NAME, "--partitions", 3, "--ignore-window"],
                "--ignore-window requires --replication-factor",
                "omit --ignore-window: new partitions are empty",
            ),
            (
                ["alter", NAME, "--replication-factor", "x"],
                "invalid replication: expected an integer of 1 or more, got x",
                None,
            ),
            (
                ["create", *SIZE],
                "expected the name of a topic once, got none",
                "give NAME, or --topic NAME",
            ),
            (
                ["ensure", NAME, "--topic", NAME, *SIZE],
                "expected the name of a topic once, got NAME and --topic",
                "give NAME, or --topic NAME",
            ),
            (
                ["create", NAME, "--replica-assignment", "0", "--config", "retention.ms"],
                "invalid --config: expected KEY=VALUE, got retention.ms",
                "for example --config 'retention.ms=86400000'; repeat --config for each key",
            ),
            (
                ["create", NAME, "--partitions", "1.0", "--replication-factor", 1],
                "invalid partitions: expected an integer of 1 or more, got 1.0",
                None,
            ),
            (
                ["ensure", NAME, "--partitions", 1, "--replication-factor", "x"],
                "invalid replication: expected an integer of 1 or more, got x",
                None,
            ),
            (
                ["create", NAME, "--snapshot", "s.json"],
                "No such option: --snapshot",
                USAGE,
            ),
            (
                ["ensure", NAME, "--partitions", 1],
                "Missing option '--replication-factor'",
                USAGE,
            ),
        ],
    )
    def test_options_that_cannot_be(self, words, message, hint):
        check_refused(["topic", *words, "--bootstrap-server", "127.0.0.1:1"], message, hint)

    def test_a_server_is_wanted(self):
        check_refused(["topic", "create", NAME], "Missing option '--bootstrap-server'", USAGE)

    def test_a_port_where_nobody_listens(self, tmp_path):
        settings = tmp_path / "client.properties"
        settings.write_text("default.api.timeout.ms=500\n")
        (port,) = free_ports(1)
        code, out, err = called(
            *("topic", "ensure", NAME, "--partitions", 1, "--replication-factor", 1),
            *("--bootstrap-server", f"127.0.0.1:{port}", "--command-config", settings),
        )
        assert (code, out) == (1, "")
        assert err.startswith(f"error: no broker answers at 127.0.0.1:{port}: ")


class TestBadInput:
    """Nothing is created when anything is wrong."""

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (sized(0, 1), "invalid partitions: expected at least 1, got 0", None),
            (sized(1, -1), "invalid replication: expected at least 1, got -1", None),
            (
                sized(1, 5),
                "replication 5 needs 5 unfenced brokers; the cluster has {brokers}",
                "use fewer replicas, or add brokers",
            ),
            (
                [*sized(1, 1), "--broker-list", "9"],
                "invalid --broker-list: expected a broker of the cluster, got 9",
                "brokers: {ids}",
            ),
            (
                [*sized(1, 1), "--placer", "ring"],
                "ring wants rack paths that begin with /; broker 0 has the name a",
                "write racks as paths such as /eu/a, or place with levels or kip36",
            ),
            (
                [*sized(2, 2), "--placer", "stuck"],
                'placer "stuck" put partition 0 twice on one broker: 0:0',
                STRANGERS,
            ),
            (
                ["--replica-assignment", "0:9"],
                "invalid row of partition 0: expected a broker of the cluster, got 9",
                "brokers: {ids}",
            ),
            (
                ["--replica-assignment", "0:1,1:1"],
                "invalid replicas of partition 1: expected different brokers, got 1 more than once",
                ROWS,
            ),
            (
                ["--replica-assignment", "0:1,2"],
                "partition 1 has 1 replica; partition 0 has 2",
                ROWS,
            ),
            (
                ["--replica-assignment", "0:-1"],
                'invalid broker id of partition 0: expected 0 to 2147483647, got "-1"',
                ROWS,
            ),
            (
                ["--replica-assignment", ""],
                'invalid broker id of partition 0: expected 0 to 2147483647, got ""',
                ROWS,
            ),
        ],
    )
    def test_create(self, cluster, admin, monkeypatch, words, message, hint):
        monkeypatch.syspath_prepend(str(DISTRIBUTION))
        ids = [broker.id for broker in cluster.brokers]
        real = {"brokers": len(ids), "ids": ", ".join(map(str, ids))}
        server = ["--bootstrap-server", cluster.bootstrap]
        check_refused(
            ["topic", "create", NAME, *server, *words],
            message.format(**real),
            hint and hint.format(**real),
        )
        assert NAME not in admin.list_topics()

    def test_a_config_that_only_the_cluster_can_refuse(self, cluster, admin):
        words = [*sized(1, 1), "--seed", 1, "--config", "retention.ms=soon"]
        for verb in ("create", "ensure"):
            code, out, err = topic(cluster, verb, *words)
            assert (code, out) == (1, "")
            assert err.startswith(
                f"error: the cluster rejected the request to create topic {NAME}: "
            )
            assert err.endswith("hint: nothing was written; fix the cause and try again\n")
        assert NAME not in admin.list_topics()

    def test_ensure(self, cluster, admin, monkeypatch):
        monkeypatch.syspath_prepend(str(DISTRIBUTION))
        command = ["topic", "ensure", NAME, "--bootstrap-server", cluster.bootstrap]
        for size, noun in ((sized(0, 1), "partitions"), (sized(1, 0), "replication")):
            check_refused([*command, *size], f"invalid {noun}: expected at least 1, got 0", None)
        check_refused(
            [*command, *sized(2, 2), "--placer", "stuck"],
            'placer "stuck" put partition 0 twice on one broker: 0:0',
            STRANGERS,
        )
        assert NAME not in admin.list_topics()

    def test_alter(self, cluster, admin, monkeypatch):
        monkeypatch.syspath_prepend(str(DISTRIBUTION))
        command = ["topic", "alter", NAME, "--bootstrap-server", cluster.bootstrap]
        check_refused(
            [*command, "--partitions", 3],
            f"topic {NAME} does not exist",
            "run topic create; Kafka hides a topic that the principal may not describe",
        )
        assert topic(cluster, "create", "--replica-assignment", "0:1,1:2")[0] == 0
        for count in (2, 1, 0, -1):
            check_refused(
                [*command, "--partitions", count],
                f"invalid --partitions: expected more than the 2 of topic {NAME}, got {count}",
                "the number of partitions can only increase",
            )
        for text, number in (("0:1,1:2,2:0", 3), ("0:1,1:2,2:0,0:1,1:2", 5)):
            check_refused(
                [*command, "--partitions", 4, "--replica-assignment", text],
                "invalid --replica-assignment: expected a row for each of 4 partitions, "
                f"got {number}",
                f"include the 2 rows that topic {NAME} has; they are skipped",
            )
        check_refused(
            [*command, "--partitions", 3, "--placer", "stuck"],
            'placer "stuck" put partition 2 twice on one broker: 0:0',
            STRANGERS,
        )
        shows(admin, [[0, 1], [1, 2]])

    def test_alter_while_replicas_move(self, cluster, admin):
        assert topic(cluster, "create", "--replica-assignment", "0:1,1:2")[0] == 0
        shows(admin, [[0, 1], [1, 2]])
        produce(cluster.bootstrap, {(NAME, 0): 1000})
        with throttled_move(admin, NAME, 0, [2, 1]):
            code, _, err = topic(cluster, "alter", "--partitions", 3)
            assert code == 1
            assert err.splitlines() == [
                f"error: topic {NAME} partition 1 has 2 replicas, partition 0 has 3",
                (
                    "hint: if a reassignment of the topic runs, wait for it or cancel it; else "
                    "give all its partitions equally many replicas: rackwise plan set-rf"
                ),
            ]
            assert len(described(admin)[0]) == 2
