"""What `plan`, `proof` and `what-if` refuse: exit 1, one sentence, a hint, nothing written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from consumer_snapshots import document
from plans import plan_of
from rackwise.adapters.files import (
    fingerprint,
    plan_bytes,
    policy_sha256,
    sealed,
    shipped_prices,
    write_plan,
    write_snapshot,
)
from rackwise.core.model import Note
from refusals import called, check_refused, replaced
from small_clusters import small_cluster

RACKS = {1: "/a", 2: "/b", 3: "/c", 4: "/a"}
LISTS = {"t-0": [1, 4, 2], "t-1": [1, 2, 3]}
PROVIDERS = ", ".join(sorted({price.provider for price in shipped_prices()}))
EDITED = "make a new plan; change the policy instead of the plan file"


@pytest.fixture
def check_rejected(tmp_path):
    """Check that a plan of a cluster is rejected, and that nothing was written."""

    def check(words, message, hint, *, racks=RACKS, policy=None, **fields):
        snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
        write_snapshot(small_cluster(racks, LISTS, **fields), snapshot)
        files = ["--snapshot", snapshot, "--out", out, "--kafka-json", tmp_path / "k.json"]
        if policy is not None:
            (tmp_path / "p.toml").write_text(f'format = "rackwise.policy/1"\n{policy}\n')
            files += ["--policy", tmp_path / "p.toml"]
        command = ["plan", *words, *files]
        check_refused(command, message.replace("POLICY", str(tmp_path / "p.toml")), hint)
        written = sorted(path.name for path in tmp_path.iterdir())
        assert written == ["p.toml", "s.json"][policy is None :]

    return check


class TestCluster:
    def test_some_brokers_without_rack(self, check_rejected):
        check_rejected(
            ["balance"],
            "expected a rack on every live broker, got 1 broker of 4 without a rack: 4",
            'set broker.rack, or racks.missing = "one-rack" or "unaware" in the policy',
            racks=RACKS | {4: None},
        )

    def test_a_search_that_does_not_fit_into_memory(self, check_rejected, monkeypatch):
        monkeypatch.setattr("rackwise.adapters.memory.free_memory", lambda: 500)
        check_rejected(
            ["repair"],
            "not enough memory: expected about 1 MB for a search over 11 arcs, got 0 MB",
            "use a machine with more memory, or fewer topics with --topics",
        )

    def test_one_on_the_move(self, check_rejected):
        check_rejected(
            ["repair"],
            "expected a cluster at rest, got 1 reassignment in progress: t-0",
            "wait until the reassignments are complete, or plan with --assume target",
            adding={"t-0": [2]},
        )

    def test_a_torn_snapshot(self, tmp_path):
        cluster = small_cluster(RACKS, LISTS, notes=[Note(kind="torn", text="brokers changed")])
        write_snapshot(cluster, tmp_path / "s.json")
        check_refused(
            ["plan", "repair", "--snapshot", tmp_path / "s.json"],
            "expected a snapshot of one moment, got a torn snapshot: brokers changed",
            "take the snapshot again when the cluster does not change",
        )


class TestTopics:
    @pytest.mark.parametrize(
        ("topics", "known"),
        [
            (["t"], "t"),
            (list("abcdefghijklmnt"), "a, b, c, d, e, f, g, h, i, j, k, l and 3 more"),
        ],
    )
    def test_numbers_of_replicas_for_topics_that_are_not_there(self, tmp_path, topics, known):
        lists = {f"{topic}-0": [1, 2, 3] for topic in topics}
        write_snapshot(small_cluster(RACKS, lists), tmp_path / "s.json")
        check_refused(
            ["plan", "set-rf", "t*=2", "T=2", "--snapshot", tmp_path / "s.json"],
            'invalid set-rf: expected a pattern that matches a topic, got "T"',
            f"topics: {known}",
        )


class TestGoals:
    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (
                ["dance"],
                (
                    "invalid GOAL: expected repair, balance, drain, replace, set-rf, add or "
                    "leaders, got dance"
                ),
                "choose one of these for GOAL",
            ),
            (
                ["drain"],
                "invalid drain: expected what to drain, got nothing",
                "for example: rackwise plan drain 7,8",
            ),
            (
                ["repair", "--rebalance"],
                "--rebalance requires the goal drain or set-rf, got repair",
                "omit --rebalance, or use the goal balance; add and balance rebalance anyway",
            ),
            (
                ["repair", "--time-limit", "0"],
                "invalid --time-limit: expected more than 0 and at most 1000000 seconds, got 0",
                "for example --time-limit 60",
            ),
            (
                ["repair", "--time-limit", "nan"],
                ("invalid --time-limit: expected more than 0 and at most 1000000 seconds, got nan"),
                "for example --time-limit 60",
            ),
            (
                ["repair", "--minimise", "usd"],
                "--minimise usd requires --provider",
                "for example --provider aws, or plan with --minimise moves",
            ),
            (
                ["repair", "--provider", "nobody"],
                f'expected prices of provider "nobody", got a table of {PROVIDERS}',
                "choose another --provider, or add rows to the table of --prices",
            ),
        ],
    )
    def test_what_cannot_be_meant(self, check_rejected, words, message, hint):
        check_rejected(words, message, hint)

    def test_a_policy_that_the_cluster_cannot_have(self, check_rejected):
        check_rejected(
            ["balance"],
            "invalid POLICY:2 at $.brokers.drain[0]: no broker has id 9",
            "brokers: 1, 2, 3, 4",
            policy="brokers = { drain = [9] }",
        )

    def test_dollars_of_a_level_without_a_price(self, check_rejected, tmp_path):
        table = tmp_path.parent / f"{tmp_path.name}.csv"
        table.write_text(
            "provider,region,level,kind,usd_per_gb_out,usd_per_gb_in,gb_bytes,valid_from,valid_to,"
            "source,is_checked\nme,*,region,*,1,2,1073741824,2020-01-01,,s,true\n"
        )
        check_rejected(
            ["balance", "--minimise", "usd", "--prices", table, "--provider", "me"],
            "expected a price of replication across level zone, got no such row of me",
            "add a row to the table of --prices, name the levels in the policy as the table does "
            "(racks.levels), or minimise moves without --provider",
        )

    def test_bytes_where_sizes_are_not_known(self, check_rejected):
        check_rejected(
            ["balance", "--minimise", "bytes"],
            (
                "expected the size of every partition to minimise bytes, "
                "got no size of 1 of 2 partitions"
            ),
            "plan with --minimise moves, or take the snapshot again when every broker answers",
            sizes={"t-0": None},
        )


class TestInfeasible:
    def test_the_partitions_are_named(self, tmp_path):
        write_snapshot(small_cluster(RACKS, LISTS), tmp_path / "s.json")
        policy = tmp_path / "p.toml"
        policy.write_text(
            'format = "rackwise.policy/1"\n'
            '[[topics]]\nmatch = ["*"]\nspread = { zone = "distinct" }\n'
        )
        words = ["--snapshot", tmp_path / "s.json", "--policy", policy, "--repair"]
        code, out, err = called("plan", "drain", "3", *words)
        assert (code, out) == (1, "")
        assert (
            err.splitlines()[0] == "t-0: expected 3 distinct zones, got 2 usable; the same for t-1"
        )
        assert err.count("error: ") == 1
        code, out, err = called("plan", "drain", "3", *words, "--json")
        printed = document(err)
        assert (code, out, printed["error"]) == (1, "", "Infeasible")
        assert [each.split(":")[0] for each in printed["impossible"]] == ["t-0", "t-1"]

    def test_many_are_cut_in_the_text_alone(self, tmp_path):
        lists = {f"t-{i}": [1, 2, 3] for i in range(60)}
        write_snapshot(small_cluster(RACKS, lists), tmp_path / "s.json")
        policy = tmp_path / "p.toml"
        policy.write_text(
            'format = "rackwise.policy/1"\n'
            '[[topics]]\nmatch = ["*"]\nspread = { zone = "distinct" }\n'
        )
        words = ["--snapshot", tmp_path / "s.json", "--policy", policy]
        _, _, err = called("plan", "drain", "3", *words)
        alike = "t-1, t-2, t-3, t-4, t-5 and 54 more"
        assert err.splitlines()[0] == (
            f"t-0: expected 3 distinct zones, got 2 usable; the same for {alike}"
        )
        _, _, err = called("plan", "drain", "3", *words, "--json")
        assert len(document(err)["impossible"]) == 60

    def test_many_reasons_are_cut_in_the_text_alone(self, tmp_path):
        racks = {broker: f"/{broker % 3}" for broker in range(60)}
        lists = {f"t-{i}": list(range(i + 4)) for i in range(53)}
        write_snapshot(small_cluster(racks, lists), tmp_path / "s.json")
        policy = tmp_path / "p.toml"
        policy.write_text(
            'format = "rackwise.policy/1"\n'
            '[[topics]]\nmatch = ["*"]\nspread = { zone = "distinct" }\n'
        )
        words = ["--snapshot", tmp_path / "s.json", "--policy", policy]
        _, _, err = called("plan", "repair", *words)
        assert err.splitlines()[49] == "t-49: expected 53 distinct zones, got 3 usable"
        assert err.splitlines()[50] == "and 3 more; --json has all"


class TestPlanFiles:
    """F22: hostile plans."""

    def test_of_another_snapshot(self, tmp_path):
        cluster = small_cluster(RACKS, LISTS)
        write_snapshot(cluster, tmp_path / "s.json")
        write_plan(plan_of(), tmp_path / "p.json")
        check_refused(
            ["proof", tmp_path / "p.json", "--snapshot", tmp_path / "s.json"],
            (
                f"{tmp_path / 'p.json'} was built from another snapshot than "
                f"{tmp_path / 's.json'}: expected the hash abababababab.., "
                f"got {fingerprint(cluster)[:12]}.."
            ),
            "give the snapshot that the plan was built from, or plan again from this one",
            file=tmp_path / "p.json",
        )

    def test_that_was_edited(self, tmp_path):
        write_snapshot(small_cluster(RACKS, LISTS), tmp_path / "s.json")
        edited = plan_bytes(plan_of()).replace(b'"gap":0', b'"gap":0 ').replace(b"9.14", b"9.15")
        (tmp_path / "p.json").write_bytes(edited)
        now = sealed(replace(plan_of(), solver="flow 9.15")).sha256
        check_refused(
            ["proof", tmp_path / "p.json", "--snapshot", tmp_path / "s.json"],
            (
                f"invalid {tmp_path / 'p.json'} at $.sha256: expected the hash of the plan, "
                f"{now[:16]}.., got "
                f"{plan_of().sha256[:16]}.."
            ),
            EDITED,
            file=tmp_path / "p.json",
        )

    def test_under_a_policy_that_is_none(self, tmp_path):
        cluster = small_cluster(RACKS, LISTS)
        write_snapshot(cluster, tmp_path / "s.json")
        policy = 'format = "rackwise.policy/1"\nrf = 3'
        made_from = replace(
            plan_of().made_from,
            snapshot_sha256=fingerprint(cluster),
            policy=policy,
            policy_sha256=policy_sha256(policy),
        )
        write_plan(plan_of(made_from=made_from), tmp_path / "p.json")
        code, out, err = called("proof", tmp_path / "p.json", "--snapshot", tmp_path / "s.json")
        assert (code, out) == (1, "")
        assert f'{tmp_path / "p.json"}: $.made_from.policy:2 at $.rf: unknown key "rf"' in err

    @pytest.mark.parametrize(
        ("old", "new", "message"),
        [
            (
                '"after":[1,3,4]',
                '"after":[1,3,1]',
                "invalid FILE at $.moves[0].after[2]: expected each broker once, got 1",
            ),
            (
                '"after":[1,3,4]',
                '"after":[1,3,7]',
                (
                    "invalid FILE at $.moves[0].after[2]: expected a broker of made_from.brokers, "
                    "got 7"
                ),
            ),
            (
                '"before":[1,2,4]',
                '"before":[1,3,4]',
                "invalid FILE at $.moves[0].after: expected another list than before, got a list",
            ),
            (
                '"partition":5',
                '"partition":4',
                ('invalid FILE at $.moves[1]: expected each partition once, got "orders-4" twice'),
            ),
        ],
    )
    def test_that_cannot_be_carried_out(self, tmp_path, old, new, message):
        write_snapshot(small_cluster(RACKS, LISTS), tmp_path / "s.json")
        file = tmp_path / "p.json"
        file.write_bytes(replaced(plan_bytes(plan_of()), old, new))
        command = ["proof", file, "--snapshot", tmp_path / "s.json"]
        check_refused(command, message.replace("FILE", str(file)), EDITED, file=file)

    def test_a_snapshot_in_its_place(self, tmp_path):
        file = tmp_path / "s.json"
        write_snapshot(small_cluster(RACKS, LISTS), file)
        check_refused(
            ["proof", file, "--snapshot", file],
            (
                f"invalid {file} at $.format: expected format rackwise.plan/1, got "
                f'"rackwise.snapshot/1"'
            ),
            "is it the right file for this option?",
            file=file,
        )


class TestKafkaJson:
    @pytest.mark.parametrize(
        ("text", "message", "hint"),
        [
            (
                '{"version":2,"partitions":[]}',
                "invalid FILE at $.version: expected version 1, got 2 (and 1 more fault)",
                "Kafka's rule: version 1 is the only one supported",
            ),
            (
                '{"version":1,"partitions":[]}',
                "invalid FILE at $.partitions: expected at least one partition, got an empty list",
                "Kafka's rule: Partition reassignment list cannot be empty",
            ),
            (
                '{"partitions":[{"topic":"t","partition":0,"replicas":[1],"log_dirs":["/d"]}]}',
                'invalid FILE at $.partitions[0].log_dirs[0]: expected "any", got "/d"',
                "racks do not decide the log folder; leave it out",
            ),
            (
                (
                    '{"partitions":[{"topic":"t","partition":0,"replicas":[1]},'
                    '{"topic":"t","partition":0,"replicas":[2]}]}'
                ),
                ('invalid FILE at $.partitions[1]: expected each partition once, got "t-0" twice'),
                "Kafka's rule: no duplicate topic partitions in a reassignment",
            ),
        ],
    )
    def test_what_kafka_would_refuse(self, tmp_path, text, message, hint):
        file = tmp_path / "k.json"
        file.write_text(text)
        check_refused(["diff", file, file], message.replace("FILE", str(file)), hint, file=file)


class TestSuppositions:
    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (
                [],
                "expected at least one change, got none",
                "for example --lose use1-az1",
            ),
            (
                ["--lose", "/mars"],
                'invalid rack to lose: expected a rack of the cluster, got "/mars"',
                "racks: /a, /b, /c",
            ),
            (["--lose-broker", "x"], 'invalid --lose-broker: expected a broker id, got "x"', None),
            (["--rf", "t"], 'invalid --rf: expected LEFT=RIGHT, got "t"', None),
            (["--move", "1"], 'invalid --move: expected LEFT=RIGHT, got "1"', None),
            (
                ["--rf", "t=2", "--rf", "q*=2"],
                'invalid --rf: expected a pattern that matches a topic, got "q*"',
                "topics: t",
            ),
        ],
    )
    def test_what_cannot_be(self, tmp_path, words, message, hint):
        write_snapshot(small_cluster(RACKS, LISTS), tmp_path / "s.json")
        check_refused(["what-if", "--snapshot", tmp_path / "s.json", *words], message, hint)
