"""`rackwise audit`: what it says, how it ends, what it refuses."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from daily_windows import fleet_with_window
from kafka_traffic import create
from rackwise.adapters.files import write_snapshot
from rackwise.adapters.kafka import connect
from rackwise.cli.main import run
from rackwise.cli.source import ClusterSource
from rackwise.cli.tables import RULES_SHOWN, SHOWN
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.model import Broker, Cluster, Note, Partition, PartitionTable, Topic
from rackwise.core.racks import Rack
from rackwise.core.rules import RULES
from refusals import called
from report.metrics.exposition_text import read

UNEVEN = 'balance = { replicas = "off", leaders = "keep" }'


def cluster(blind=1, notes=()):
    """Six brokers in three racks; of eight partitions the first `blind` are on two racks only."""
    racks = {1: "/eu/a", 2: "/eu/a", 3: "/eu/b", 4: "/eu/c", 5: "/eu/b", 6: "/eu/c"}
    return Cluster(
        cluster_id="demo",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(Broker(id=i, rack=Rack(rack)) for i, rack in racks.items()),
        topics={"orders": Topic(name="orders", min_insync_replicas=2)},
        partitions=PartitionTable.of(
            Partition(
                topic="orders",
                partition=number,
                replicas=(1, 2, 3) if number < blind else (1, 3, 4),
                leader=1,
                isr=(1, 2, 3) if number < blind else (1, 3, 4),
                bytes=2**30,
            )
            for number in range(8)
        ),
        notes=notes,
    )


@pytest.fixture
def snapshot(tmp_path):
    """Write a cluster; give the command that audits it, loads left aside unless `loads`."""

    def write(value, *, loads=False):
        write_snapshot(value, tmp_path / "s.json.gz")
        command = ["audit", "--snapshot", str(tmp_path / "s.json.gz")]
        if loads:
            return command
        policy = tmp_path / "uneven.toml"
        policy.write_text(f'format = "rackwise.policy/1"\n{UNEVEN}\n')
        return [*command, "--policy", str(policy)]

    return write


def document(capsys):
    captured = capsys.readouterr()
    assert captured.err == ""
    return parse(captured.out.encode(), where="stdout", error=InvalidConfig)


class TestExitCode:
    def test_none(self, snapshot):
        assert run(snapshot(cluster(blind=0))) == 0

    def test_findings(self, snapshot):
        assert run(snapshot(cluster())) == 2

    @pytest.mark.parametrize(
        ("fail_on", "code"), [("error", 0), ("warning", 2), ("info", 2), ("never", 0)]
    )
    def test_from_a_severity_on(self, snapshot, fail_on, code):
        command = snapshot(cluster())
        assert run([*command, "--rule", "rack-loss-min-isr", "--fail-on", fail_on]) == code

    @pytest.mark.parametrize(("fail_on", "code"), [("error", 2), ("never", 0)])
    def test_else_the_policys(self, snapshot, tmp_path, fail_on, code):
        policy = tmp_path / "p.toml"
        policy.write_text(f'format = "rackwise.policy/1"\naudit = {{ fail_on = "{fail_on}" }}')
        command = [*snapshot(cluster()), "--policy", str(policy)]
        assert run(command) == code
        assert run([*command, "--fail-on", "warning"]) == 2


class TestText:
    def test_no_findings(self, snapshot, capsys):
        run(snapshot(cluster(blind=0)))
        captured = capsys.readouterr()
        assert captured.err == ""
        assert captured.out == (
            "demo at 2026-11-21T08:30:00Z: 6 brokers, 3 racks, 1 topic, 8 partitions\n"
            "\n"
            "no findings\n"
            "\n"
            "not checked\n"
            "  replica-balance, unequal-racks: balance.replicas is off\n"
            "  leader-balance: balance.leaders is keep\n"
            "  topic-spread: topic_spread is off\n"
            "\n"
            "losing  brokers  offline  under min ISR  leaders lost  replicas lost  to restore"
            "  most leaders\n"
            "/eu           6        8              0             8             24    24.0 GiB"
            "  -\n"
            "/eu/a         2        0              0             8              8    8.00 GiB"
            "  broker 3 leads 8\n"
            "/eu/b         2        0              0             0              8    8.00 GiB"
            "  broker 1 leads 8\n"
            "/eu/c         2        0              0             0              8    8.00 GiB"
            "  broker 1 leads 8\n"
        )

    def test_rules_first_then_findings_the_worst_first(self, snapshot, capsys):
        run(snapshot(cluster(blind=2)))
        parts = capsys.readouterr().out.split("\n\n")
        assert parts[1].splitlines() == [
            "rule               severity  findings  broken when",
            "spread-even        error            2  " + RULES["spread-even"].sentence,
            "rack-loss-min-isr  warning          2  " + RULES["rack-loss-min-isr"].sentence,
        ]
        assert [line[:17] for line in parts[2].splitlines()] == [
            "error   orders-0:",
            "error   orders-1:",
            "warning orders-0:",
            "warning orders-1:",
        ]
        assert parts[2].splitlines()[0] == (
            "error   orders-0: spread-even at level2: wanted /eu/a 1, /eu/c 1; had /eu/a 2, /eu/c 0"
        )

    def test_many_findings_are_cut_and_it_says_so(self, snapshot, capsys):
        value = cluster()
        rows = [
            Partition(topic="orders", partition=n, replicas=(1, 2, 3), leader=1, isr=(1, 2, 3))
            for n in range(60)
        ]
        many = Cluster(
            cluster_id=None,
            taken_at=value.taken_at,
            brokers=value.brokers,
            topics=value.topics,
            partitions=PartitionTable.of(rows),
        )
        run([*snapshot(many), "--rule", "spread-even"])
        listed = capsys.readouterr().out.split("\n\n")[2].splitlines()
        assert len(listed) == SHOWN + 1
        assert listed[-1] == "and 10 more; --json has all 60"

    def test_losing_one_rack_lists_its_partitions(self, snapshot, capsys):
        run([*snapshot(cluster()), "--lose", "/eu/a", "--rule", "offline"])
        table, lost = capsys.readouterr().out.rstrip("\n").split("\n\n")[-2:]
        assert [line.split()[0] for line in table.splitlines()] == ["losing", "/eu/a"]
        assert lost == "losing /eu/a\n  offline: none\n  under min ISR: orders-0"

    @pytest.mark.parametrize(("options", "has_color"), [([], False), (["--color", "always"], True)])
    def test_colour_only_where_it_is_wanted(self, snapshot, capsys, options, has_color):
        run([*snapshot(cluster()), *options])
        out = capsys.readouterr().out
        assert ("\x1b[31merror  \x1b[0m orders-0" in out) == has_color
        assert ("\x1b" in out) == has_color

    def test_no_color_wins_over_a_terminal_and_not_over_always(self, snapshot, capsys, monkeypatch):
        monkeypatch.setenv("NO_COLOR", "1")
        run([*snapshot(cluster()), "--color", "auto"])
        assert "\x1b" not in capsys.readouterr().out

    @pytest.mark.parametrize(
        ("name", "options", "title"),
        [
            (None, [], "demo at "),
            ("demo", [], "demo at "),
            ("payments", [], "payments (demo) at "),
            ("payments", ["--name", "prod-eu"], "prod-eu (demo) at "),
            (None, ["--name", "prod\u00ad"], None),
        ],
    )
    def test_the_header_has_the_name_and_the_id(self, snapshot, capsys, name, options, title):
        code = run([*snapshot(replace(cluster(), name=name)), *options])
        out = capsys.readouterr().out
        assert (code, out) == (1, "") if title is None else out.startswith(title)

    def test_hostile_names_are_escaped(self, snapshot, capsys):
        racks = {1: "a", 2: "a\u202eb"}
        value = Cluster(
            cluster_id="\u202e",
            name="\u2066",
            taken_at="2026-11-21T08:30:00Z",
            brokers=tuple(Broker(id=i, rack=Rack(rack)) for i, rack in racks.items()),
            topics={"\u2028": Topic(name="\u2028")},
            partitions=PartitionTable.of(
                [Partition(topic="\u2028", partition=0, replicas=(3,), leader=None)]
            ),
            notes=(Note(kind="torn", text="\x1b[2J"),),
        )
        run(snapshot(value))
        captured = capsys.readouterr()
        assert "broker 2: rack-odd: wanted printable text; had a\\u202eb" in captured.out
        assert captured.out.startswith("\\u2066 (\\u202e) at 2026")
        assert "\\u2028-0: dead-replica" in captured.out
        loads, torn = captured.err.splitlines()
        assert 'broker 2 ("a\\u202eb": expected printable text)' in loads
        assert torn == "warning: torn: \\x1b[2J"
        assert all(line.isprintable() for line in captured.out.splitlines())


class TestLoads:
    def test_uneven_ones_are_findings(self, snapshot, capsys):
        assert run([*snapshot(cluster(), loads=True), "--json"]) == 2
        printed = document(capsys)
        assert printed["counts"]["replica-balance"] == 6
        assert printed["counts"]["leader-balance"] == 3
        assert set(printed["not_checked"]) == {"topic-spread"}
        assert [f["message"] for f in printed["findings"] if f["broker"] == 2] == [
            "broker 2: replica-balance: wanted 4 replicas; had 1"
        ]

    def test_topics_too(self, snapshot, tmp_path, capsys):
        policy = tmp_path / "p.toml"
        policy.write_text(
            'format = "rackwise.policy/1"\n[[topics]]\nmatch = ["*"]\ntopic_spread = "even"\n'
        )
        command = [*snapshot(cluster(), loads=True), "--policy", str(policy), "--json"]
        assert run([*command, "--rule", "topic-spread"]) == 2
        printed = document(capsys)
        assert {f["broker"] for f in printed["findings"]} == {1, 3, 4}
        assert {f["topic"] for f in printed["findings"]} == {"orders"}

    def test_where_no_placement_keeps_the_rules_there_are_none(self, snapshot, tmp_path, capsys):
        policy = tmp_path / "p.toml"
        policy.write_text(
            'format = "rackwise.policy/1"\n[[topics]]\nmatch = ["*"]\nreplication = 4\n'
            'spread = { level2 = "distinct" }\n'
        )
        command = [*snapshot(cluster(), loads=True), "--policy", str(policy)]
        assert run([*command, "--fail-on", "never"]) == 0
        captured = capsys.readouterr()
        assert captured.err.startswith("loads are not checked: ")
        assert "replica-balance, leader-balance: fair loads were not given" in captured.out

    def test_nobody_works_them_out_for_other_rules(self, snapshot, monkeypatch):
        monkeypatch.setattr("rackwise.core.planning.plan.fair_loads", None)
        assert run([*snapshot(cluster(), loads=True), "--rule", "spread-even"]) == 2


class TestJson:
    def test_one_document_has_all(self, snapshot, capsys):
        assert run(["--json", *snapshot(cluster())]) == 2
        printed = document(capsys)
        assert printed["format"] == "rackwise.audit/1"
        assert (printed["cluster_id"], printed["source"], printed["fail_on"]) == (
            "demo",
            "kafka",
            "warning",
        )
        assert (printed["brokers"], printed["topics"], printed["partitions"]) == (6, 1, 8)
        assert printed["counts"] == {"spread-even": 1, "rack-loss-min-isr": 1}
        assert printed["findings"][0] == {
            "rule": "spread-even",
            "severity": "error",
            "topic": "orders",
            "partition": 0,
            "broker": None,
            "level": "level2",
            "wanted": "/eu/a 1, /eu/c 1",
            "had": "/eu/a 2, /eu/c 0",
            "message": (
                "orders-0: spread-even at level2: wanted /eu/a 1, /eu/c 1; had /eu/a 2, /eu/c 0"
            ),
        }
        assert set(printed["not_checked"]) == {
            "replica-balance",
            "leader-balance",
            "topic-spread",
            "unequal-racks",
        }
        assert [loss["rack"] for loss in printed["blast_radius"]] == [
            "/eu",
            "/eu/a",
            "/eu/b",
            "/eu/c",
        ]
        assert printed["blast_radius"][1] == {
            "rack": "/eu/a",
            "level": 2,
            "level_name": "level2",
            "brokers": [1, 2],
            "offline": 0,
            "under_min_isr": 1,
            "leaders_lost": 8,
            "top_survivor": {"broker": 3, "leaders": 8},
            "replicas_lost": 9,
            "bytes_to_restore": 9 * 2**30,
            "unknown_sizes": 0,
        }

    def test_rules_that_were_not_asked_for_are_not_checked(self, snapshot, capsys):
        run([*snapshot(cluster()), "--json", "--rule", "offline", "--rule", "spread-even"])
        printed = document(capsys)
        assert printed["counts"] == {"spread-even": 1}
        assert set(printed["not_checked"]) == set(RULES) - {"offline", "spread-even"}

    def test_many_rules_that_were_not_asked_for_are_counted(self, snapshot, capsys):
        run([*snapshot(cluster()), "--rule", "offline"])
        text = capsys.readouterr().out
        assert f"not checked\n  {len(RULES) - 1} rules: not asked for; --json has all\n" in text

    def test_all_rules_that_were_asked_for_and_not_checked_are_named(
        self, snapshot, tmp_path, capsys
    ):
        ignored = list(RULES)[: RULES_SHOWN + 1]
        policy = tmp_path / "policy.toml"
        policy.write_text(f'format = "rackwise.policy/1"\n[audit]\nignore = {ignored}\n')
        run([*snapshot(cluster()), "--policy", str(policy)])
        assert f"  {', '.join(ignored)}: ignored by the policy\n" in capsys.readouterr().out

    def test_partitions_by_name_where_a_rack_was_asked_for(self, snapshot, capsys):
        run([*snapshot(cluster()), "--json", "--lose", "/eu/a", "--lose", "/eu"])
        whole, zone = document(capsys)["blast_radius"]
        assert whole["offline_partitions"] == [f"orders-{n}" for n in range(8)]
        assert zone["under_min_isr_partitions"] == ["orders-0"]
        assert zone["offline_partitions"] == []

    def test_notes_are_told_twice(self, snapshot, capsys):
        command = snapshot(cluster(notes=(Note(kind="torn", text="read three times"),)))
        run([*command, "--json"])
        captured = capsys.readouterr()
        assert captured.err == "warning: torn: read three times\n"
        printed = parse(captured.out.encode(), where="stdout", error=InvalidConfig)
        assert printed["notes"] == [{"kind": "torn", "text": "read three times"}]


class TestRefused:
    @pytest.mark.parametrize(
        ("arguments", "message", "hint"),
        [
            (
                [],
                "expected exactly one of --snapshot and --bootstrap-server, got none",
                (
                    "--snapshot FILE reads a file, --bootstrap-server H:P a running cluster, "
                    "--cluster NAME one of the fleet file"
                ),
            ),
            (
                ["--snapshot", "s.json", "--bootstrap-server", "h:9092"],
                "expected exactly one of --snapshot and --bootstrap-server, got both",
                (
                    "--snapshot FILE reads a file, --bootstrap-server H:P a running cluster, "
                    "--cluster NAME one of the fleet file"
                ),
            ),
            (
                ["--snapshot", "s.json", "--command-config", "c"],
                "--command-config requires --bootstrap-server",
                "omit --command-config, or give --bootstrap-server instead of --snapshot",
            ),
            (
                ["--snapshot", "/none/s.json"],
                "/none/s.json cannot be read: No such file or directory",
                "look at the path and its permissions",
            ),
            (
                ["--snapshot", "/dev/zero"],
                "invalid /dev/zero: expected a regular file, got a character device",
                "give the path of a file; of a pipe, write its output to a file first",
            ),
        ],
    )
    def test_the_source(self, capsys, arguments, message, hint):
        assert run(["audit", *arguments]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err == f"error: {message}\nhint: {hint}\n"

    @pytest.mark.parametrize(
        ("arguments", "message", "hint"),
        [
            (
                ["--rule", "spred-even"],
                'no rule is called "spred-even"',
                "rules: rack-missing, rack-odd",
            ),
            (
                ["--lose", "/eu/z"],
                'invalid --lose: expected a rack of the cluster, got "/eu/z"',
                "racks: /eu, /eu/a, /eu/b, /eu/c",
            ),
            (["--max-input", "10"], "expected at most 10 bytes", "if the file is meant to be"),
        ],
    )
    def test_what_the_cluster_or_the_audit_does_not_have(
        self, snapshot, capsys, arguments, message, hint
    ):
        assert run([*snapshot(cluster()), *arguments]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert message in captured.err
        assert f"\nhint: {hint}" in captured.err

    def test_a_policy_that_does_not_fit_names_its_line(self, snapshot, tmp_path, capsys):
        policy = tmp_path / "p.toml"
        policy.write_text('format = "rackwise.policy/1"\n\nbrokers = { drain = [9] }\n')
        assert run([*snapshot(cluster()), "--policy", str(policy), "--json"]) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        printed = parse(captured.err.encode(), where="stderr", error=InvalidConfig)
        assert printed == {
            "error": "InvalidPolicy",
            "message": f"invalid {policy}:3 at $.brokers.drain[0]: no broker has id 9",
            "wanted": "a broker of the cluster",
            "had": 9,
            "hint": "brokers: 1, 2, 3, 4, 5, 6",
            "where": f"{policy}:3",
        }

    def test_a_snapshot_that_is_none_has_a_json_path(self, tmp_path, capsys):
        (tmp_path / "s.json").write_text('{"format":"rackwise.snapshot/2"}')
        assert run(["audit", "--snapshot", str(tmp_path / "s.json")]) == 1
        assert capsys.readouterr().err == (
            f"error: invalid {tmp_path / 's.json'} at $.format: expected format 1, got 2\n"
            "hint: upgrade Rackwise, a newer one wrote this file\n"
        )


@pytest.mark.kafka
def test_a_running_cluster_names_exactly_what_was_placed_rack_blind(kraft_cluster, capsys):
    command = ["audit", "--bootstrap-server", kraft_cluster.bootstrap, "--json"]
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, "audited", [[0, 1, 2], [3, 0, 1], [1, 2, 3]], min_insync_replicas="2")
        try:
            assert run([*command, "--rule", "spread-even"]) == 2
        finally:
            admin.delete_topics(["audited"])
    printed = parse(capsys.readouterr().out.encode(), where="stdout", error=InvalidConfig)
    found = [finding for finding in printed["findings"] if finding["topic"] == "audited"]
    assert [(finding["partition"], finding["had"]) for finding in found] == [(1, "a 2, c 0")]
    assert [loss["rack"] for loss in printed["blast_radius"]] == ["a", "b", "c"]


@pytest.mark.kafka
def test_a_running_cluster_of_a_fleet_file_is_called_as_there(kraft_cluster, tmp_path):
    fleet = fleet_with_window(tmp_path / "rackwise.toml", kraft_cluster, "22:00-05:00")
    other = ["--cluster", "prod", "--fleet", fleet[1], "--bootstrap-server"]
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        own = admin.describe_cluster()["cluster_id"]
    for words in (["audit"], ["doctor", "--client-rack", "a"]):
        for source, title in ((fleet, f"prod ({own})"), ([*other, kraft_cluster.bootstrap], own)):
            code, out, err = called(*words, *source)
            assert code in {0, 2}, err
            assert out.startswith(f"{title} at "), (words, title)


@pytest.mark.zookeeper
def test_a_cluster_on_zookeeper_is_judged_too(zookeeper_cluster, capsys):
    command = ["audit", "--bootstrap-server", zookeeper_cluster.bootstrap, "--json"]
    with closing(connect(zookeeper_cluster.bootstrap)) as admin:
        create(admin, "audited", [[0, 1, 2], [1, 2, 0]])
        create(admin, "alone", [[2]])
        try:
            code = run([*command, "--rule", "rack-loss-offline", "--fail-on", "warning"])
        finally:
            admin.delete_topics(["audited", "alone"])
    assert code == 2
    printed = parse(capsys.readouterr().out.encode(), where="stdout", error=InvalidConfig)
    found = {(finding["topic"], finding["partition"]) for finding in printed["findings"]}
    assert ("alone", 0) in found
    assert "audited" not in {topic for topic, _ in found}


class TestMetrics:
    @pytest.fixture
    def written(self, snapshot, tmp_path):
        """Audit a cluster with these options; the metrics, without label names."""

        def audited(value, *options, code):
            place = tmp_path / "rackwise.prom"
            assert run([*snapshot(value), "--metrics", str(place), *options]) == code
            return {
                (name.removeprefix("rackwise_"), *(label for _, label in labels)): value
                for (name, labels), value in read(place.read_text()).items()
            }

        return audited

    def test_the_figures_of_the_audit(self, written, monkeypatch):
        monkeypatch.setattr("rackwise.cli.audit.audit.utc_now", lambda: "2026-11-22T08:30:00Z")
        found = written(cluster(blind=2), code=2)
        assert found["partitions", "s"] == "8"
        assert found["partitions_unsafe", "s"] == "2"
        assert found["findings", "s", "spread-even", "error"] == "2"
        assert found["partitions_offline_on_rack_loss", "s", "/eu/a"] == "0"
        assert found["snapshot_age_seconds", "s"] == "86400"

    def test_the_cluster_is_called_as_the_option_says(self, written):
        found = written(cluster(blind=0), "--name", "prod-eu", code=0)
        assert found["partitions", "prod-eu"] == "8"
        assert ("partitions", "s") not in found

    def test_no_unsafe_partition_is_a_number_if_all_rules_were_checked(self, written):
        assert written(cluster(blind=0), code=0)["partitions_unsafe", "s"] == "0"

    def test_no_unsafe_partition_is_not_known_without_racks(self, written):
        blind = cluster(blind=0)
        brokers = tuple(replace(each, rack=None) for each in blind.brokers)
        found = written(replace(blind, brokers=brokers), code=2)
        assert ("partitions_unsafe", "s") not in found
        assert found["partitions", "s"] == "8"

    def test_one_rule_does_not_tell_how_many_partitions_are_unsafe(self, written):
        found = written(cluster(blind=2), "--rule", "offline", code=0)
        assert ("partitions_unsafe", "s") not in found
        assert found["partitions", "s"] == "8"

    def test_the_name_of_the_cluster_is_the_label(self, written):
        found = written(replace(cluster(), name="payments"), code=2)
        assert {place[1] for place in found} == {"payments"}

    @pytest.mark.parametrize(
        ("file", "cluster_id", "name"),
        [
            ("prod-2026-11-21.json", "x", "prod"),
            ("2026-11-21.json.gz", "x", "x"),
            ("2026-11-21.json.gz", None, "2026-11-21"),
        ],
    )
    def test_without_a_name_it_is_that_of_the_file(self, tmp_path, file, cluster_id, name):
        source = ClusterSource(snapshot=tmp_path / file)
        assert source.name_of(replace(cluster(), cluster_id=cluster_id)) == name

    def test_a_running_cluster_without_a_name_has_its_id(self):
        source = ClusterSource(bootstrap_server="localhost:1")
        assert source.name_of(cluster()) == "demo"

    def test_a_place_that_cannot_be_written_is_refused_first(self, snapshot, tmp_path, capsys):
        place = tmp_path / "no" / "rackwise.prom"
        assert run([*snapshot(cluster()), "--metrics", str(place)]) == 1
        told = capsys.readouterr()
        assert "No such file" in told.err
        assert told.out == ""

    def test_the_document_is_printed_too(self, written, capsys):
        written(cluster(), "--json", code=2)
        text = capsys.readouterr().out.encode()
        document = parse(text, where="stdout", error=InvalidConfig)
        assert document["format"] == "rackwise.audit/1"


class TestNothingFound:
    """No finding is no all-clear where rules of severity error could not be checked."""

    POLICY = 'format = "rackwise.policy/1"\nracks = { missing = "unaware" }\n' + UNEVEN

    @pytest.fixture
    def blind(self, tmp_path):
        value = cluster(blind=0)
        brokers = tuple(replace(each, rack=None) for each in value.brokers)
        write_snapshot(replace(value, brokers=brokers), tmp_path / "s.json")
        (tmp_path / "p.toml").write_text(self.POLICY)
        return ["audit", "--snapshot", tmp_path / "s.json", "--policy", tmp_path / "p.toml"]

    def test_the_text_says_how_many_rules_were_not_checked(self, blind):
        code, out, _ = called(*blind)
        assert code == 0
        assert (
            "no findings; 4 rules of severity error were not checked, "
            "so it is not known whether all partitions are safe"
        ) in out
        assert "spread-even, spread-distinct, spread-at-least, rack-count" in out

    def test_rules_that_were_not_asked_for_do_not_count(self, blind):
        assert "no findings\n" in called(*blind, "--rule", "offline")[1]
        said = called(*blind, "--rule", "spread-even")[1]
        assert "no findings; 1 rule of severity error was not checked" in said
