"""`rackwise place`: the rows it prints, what it says about them, and what it refuses."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import replace
from typing import ClassVar

import pytest

from laws_placement import check_placement
from rackwise import Placement, place
from rackwise.adapters.files import parse_placement, write_snapshot
from rackwise.adapters.files.plan.targets import parse_targets
from rackwise.cli.place.options import TOPICS_NOTED
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.core.model import LogDir, Topic
from rackwise.core.placement import (
    PLACERS,
    JavaRandom,
    Kip36,
    Load,
    RackMode,
    Striped,
    parse_assignment,
)
from refusals import ODD_RACKS_HINT, called, check_refused
from small_clusters import small_cluster

EVEN = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c", 5: "c"}
PATHS = {0: "/eu/a", 1: "/eu/a", 2: "/eu/b", 3: "/eu/b", 4: "/us/c", 5: "/us/c"}
UNEVEN = {0: "a", 1: "a", 2: "b", 3: "b", 4: "c"}
PARTIAL = {1: "a", 4: None, 5: "b", 6: "c", 7: None, 9: None}
SEED = re.compile(r"generated seed (\d+): --seed \1 gives the same rows again\n")


@pytest.fixture
def file(tmp_path):
    def write(racks, lists=None, *, fenced=(), empty=()):
        cluster = small_cluster(racks, lists or {})
        topics = {**cluster.topics, **{name: Topic(name=name) for name in empty}}
        brokers = tuple(
            replace(each, is_fenced=each.id in fenced, is_live=each.id not in fenced)
            for each in cluster.brokers
        )
        path = tmp_path / "s.json"
        write_snapshot(replace(cluster, brokers=brokers, topics=topics), path)
        return path

    return write


def place_command(path, partitions, replication, *more):
    size = ["--partitions", partitions, "--replication-factor", replication]
    return ["place", "--snapshot", path, *size, *more]


def document(text):
    return parse(text.encode(), where="stdout", error=InvalidConfig)


class TestRows:
    def test_they_are_the_text_that_kafka_topics_takes(self, file):
        code, out, err = called(*place_command(file(EVEN), 4, 3, "--placer", "kip36", "--seed", 42))
        wanted = place(
            small_cluster(EVEN, {}).brokers, 4, 3, placer=Kip36(), rng=JavaRandom(42), load=Load()
        )
        assert (code, err) == (0, "")
        assert parse_assignment(out.strip()) == wanted

    def test_the_default_is_levels_and_keeps_the_law(self, file):
        code, out, _ = called(*place_command(file(EVEN), 12, 3, "--seed", 1))
        assert code == 0
        rows = parse_assignment(out.strip())
        check_placement(rows, small_cluster(EVEN, {}).brokers, replication=3, racks="aware")

    def test_a_drawn_seed_is_told_and_repeats_the_rows(self, file):
        _, out, err = called(*place_command(file(EVEN), 8, 3))
        (seed,) = SEED.fullmatch(err).groups()
        assert called(*place_command(file(EVEN), 8, 3, "--seed", seed)) == (0, out, "")

    def test_the_seed_decides_where_the_rings_begin(self, file):
        path = file(PATHS)
        rows = [
            called(*place_command(path, 4, 3, "--placer", "ring", "--seed", seed))[1]
            for seed in (1, 2, 3, 1)
        ]
        assert rows[0] == rows[3]
        assert len(set(rows)) == 3
        _, out, err = called(*place_command(path, 4, 3, "--placer", "ring"))
        (seed,) = SEED.fullmatch(err).groups()
        words = ["--placer", "ring", "--seed", seed]
        assert called(*place_command(path, 4, 3, *words)) == (0, out, "")
        words = ["--placer", "ring", "--placer-option", "start=0", "--seed", 1]
        assert called(*place_command(path, 2, 3, *words))[:2] == (0, "0:4:2,5:1:4\n")

    def test_equal_seeds_give_equal_rows_whatever_the_hash_seed(self, file):
        words = [str(word) for word in place_command(file(PATHS), 6, 3, "--seed", 9, "--placer")]
        script = (
            "import sys\n"
            "from rackwise.cli.main import run\n"
            f"sys.exit(sum(run([*sys.argv[1:], placer]) for placer in {list(PLACERS)}))\n"
        )
        printed = [
            subprocess.run(
                [sys.executable, "-c", script, *words],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in "01"
        ]
        assert printed[0] == printed[1]
        assert len(printed[0].splitlines()) == len(PLACERS)

    def test_the_reassignment_is_kafkas_json(self, file):
        words = place_command(file(EVEN), 3, 2, "--seed", 5)
        _, text, _ = called(*words)
        code, out, _ = called(*words, "--format", "reassignment", "--topic", "orders")
        assert code == 0
        rows = parse_assignment(text.strip())
        assert parse_placement(out.encode(), where="stdout") == {
            ("orders", partition): rows[partition] for partition in rows
        }

    @pytest.mark.parametrize("words", [["--json"], ["--format", "json"]])
    def test_json_is_one_document(self, file, words):
        code, out, err = called(
            *place_command(
                file(EVEN), 2, 3, "--placer", "kip36", "--placer-option", "start=0", *words
            )
        )
        parsed = document(out)
        seed = int(SEED.match(err)[1])
        leaders = [(each["replicas"], each["leaders"]) for each in parsed.pop("brokers")]
        assert code == 0
        assert parsed == {
            "format": "rackwise.placement/1",
            "cluster_id": "small",
            "taken_at": "2026-11-21T08:30:00Z",
            "topic": None,
            "placer": "kip36",
            "placer_options": {"start": "0"},
            "rack_mode": "enforced",
            "seed": seed,
            "first_partition": 0,
            "rows": [[0, 2, 4], [2, 4, 1]],
            "racks": [
                {"rack": "a", "brokers": 2, "replicas": 2, "leaders": 1},
                {"rack": "b", "brokers": 2, "replicas": 2, "leaders": 1},
                {"rack": "c", "brokers": 2, "replicas": 2, "leaders": 0},
            ],
            "forced": [],
        }
        assert leaders == [(1, 1), (1, 0), (2, 1), (0, 0), (2, 0), (0, 0)]


class TestBrokersAndRacks:
    def test_ignored_racks_have_two_names(self, file):
        words = place_command(file(PARTIAL), 4, 2, "--seed", 3)
        first = called(*words, "--disable-rack-aware")
        assert first[0] == 0
        assert called(*words, "--ignore-racks") == first

    def test_safe_drops_partial_racks_and_one_rack_keeps_them(self, file):
        words = place_command(file(PARTIAL), 6, 3, "--seed", 3)
        assert called(*words, "--rack-mode", "safe") == called(*words, "--ignore-racks")
        code, out, _ = called(*words, "--rack-mode", "one-rack", "--placer", "striped")
        brokers = small_cluster(PARTIAL, {}).brokers
        wanted = place(brokers, 6, 3, placer=Striped(), racks=RackMode.ONE_RACK, rng=JavaRandom(3))
        assert code == 0
        assert parse_assignment(out.strip()) == wanted

    def test_a_broker_list_leaves_the_others_alone(self, file):
        _, out, _ = called(*place_command(file(EVEN), 6, 3, "--broker-list", "0, 2,4", "--seed", 1))
        assert set(parse_assignment(out.strip()).rows.ravel().tolist()) == {0, 2, 4}

    def test_what_brokers_hold_breaks_ties_unless_it_shall_not(self, file):
        lists = {f"other-{p}": [0, 2, 4] for p in range(9)}
        path = file(EVEN, lists)
        for seed in range(8):
            _, out, _ = called(*place_command(path, 1, 3, "--seed", seed))
            assert set(parse_assignment(out.strip())[0]) == {1, 3, 5}
        rows = {
            called(*place_command(path, 1, 3, "--seed", seed, "--no-load"))[1] for seed in range(8)
        }
        assert any({0, 2, 4} & set(parse_assignment(row.strip())[0]) for row in rows)

    def test_the_replicas_of_the_topic_itself_are_no_load(self, file):
        """They move, so the rows are those of a cluster without the topic."""
        mine = {f"mine-{p}": [0, 2, 4] for p in range(9)}
        words = ["--format", "reassignment", "--topic", "mine", "--seed", 1]
        alone = called(*place_command(file(EVEN, {"other-0": [1, 3, 5]}), 2, 3, *words))
        path = file(EVEN, {**mine, "other-0": [1, 3, 5]})
        assert called(*place_command(path, 2, 3, *words)) == alone
        words = ["--format", "reassignment", "--topic", "new", "--seed", 1]
        assert called(*place_command(path, 2, 3, *words)) != alone

    def test_names_are_mapped_into_paths_by_the_policy(self, file, tmp_path):
        policy = tmp_path / "policy.toml"
        policy.write_text(
            'format = "rackwise.policy/1"\n[racks]\n'
            'map = { a = "/eu/a", b = "/eu/b", c = "/us/c" }\n'
        )
        words = ["--placer", "ring", "--seed", 3]
        wanted = called(*place_command(file(PATHS), 6, 3, *words))
        between = file({**EVEN, 1: "/eu/a", 4: "/us/c"})
        assert called(*place_command(between, 6, 3, *words, "--policy", policy)) == wanted
        code, _, err = called(*place_command(between, 6, 3, *words))
        assert (code, 'broker 1 ("/eu/a": expected a name' in err) == (1, True)


class TestAllTopics:
    LISTS: ClassVar[dict[str, list[int]]] = {
        **{f"orders-{p}": [0, 1] for p in range(6)},
        "orders.dead-0": [0, 1, 2],
        **{f"users-{p}": [0, 2] for p in range(3)},
    }

    def rows(self, text):
        found = {}
        for (topic, _), row in parse_placement(text.encode(), where="stdout").items():
            found.setdefault(topic, []).append(row)
        return {topic: Placement.of(dict(enumerate(rows))) for topic, rows in found.items()}

    def test_one_reassignment_has_all_topics_that_match(self, file):
        path = file(EVEN, self.LISTS)
        words = ["place", "--snapshot", path, "--all-topics", "orders*", "--seed", 5]
        code, out, err = called(*words)
        assert (code, err) == (0, "")
        assert called(*words, "--format", "reassignment") == (0, out, "")
        rows = self.rows(out)
        brokers = small_cluster(EVEN, {}).brokers
        rng, load = JavaRandom(5), Load(replicas={0: 3, 2: 3}, leaders={0: 3})
        first = place(brokers, 6, 2, load=load, rng=rng)
        assert sorted(rows) == ["orders", "orders.dead"]
        assert rows["orders"] == first
        check_placement(rows["orders.dead"], brokers, replication=3, racks="aware")
        assert len(rows["orders.dead"]) == 1

    def test_several_globs_a_broker_list_and_a_drawn_seed(self, file):
        path = file(EVEN, self.LISTS)
        words = ["place", "--snapshot", path, "--all-topics", "orders", "--all-topics", "users"]
        words += ["--broker-list", "1,3,5"]
        code, out, err = called(*words)
        (seed,) = SEED.fullmatch(err).groups()
        rows = self.rows(out)
        assert (code, sorted(rows)) == (0, ["orders", "users"])
        assert {id_ for each in rows.values() for id_ in each.rows.ravel().tolist()} == {1, 3, 5}
        assert called(*words, "--seed", seed) == (0, out, "")

    def test_json_is_one_document_with_all_topics(self, file):
        path = file(EVEN, self.LISTS)
        words = ["place", "--snapshot", path, "--all-topics", "*", "--seed", 2]
        code, out, _ = called(*words, "--json")
        printed = document(out)
        assert (code, printed["format"]) == (0, "rackwise.placements/1")
        assert (printed["failed"], printed["left_out"]) == ([], [])
        topics = {each["topic"]: each for each in printed["topics"]}
        shares = {
            topic: sum(each["replicas"] for each in one["brokers"]) for topic, one in topics.items()
        }
        assert shares == {"orders": 12, "orders.dead": 3, "users": 6}
        text = called(*words)[1]
        assert {topic: each["rows"] for topic, each in topics.items()} == {
            topic: rows.rows.tolist() for topic, rows in self.rows(text).items()
        }
        lists = parse_targets(out.encode(), where="stdout")
        assert lists.lists == parse_placement(text.encode(), where="stdout")
        assert lists.cluster_ids == ("small",)

    def test_a_topic_without_partitions_is_left_out(self, file):
        """As Kafka shows a topic while it is created or deleted."""
        path = file(EVEN, self.LISTS, empty=["fresh"])
        words = ["place", "--snapshot", path, "--all-topics", "*s*", "--seed", 1]
        code, out, err = called(*words)
        told = "1 topic left out, which has no partitions: fresh\n"
        assert (code, sorted(self.rows(out)), err) == (0, ["orders", "orders.dead", "users"], told)
        code, out, err = called(*words, "--json")
        assert (code, document(out)["left_out"], err) == (0, ["fresh"], told)
        words[4] = "fresh"
        code, out, err = called(*words)
        assert (code, document(out), err) == (0, {"partitions": [], "version": 1}, told)

    def test_a_topic_that_cannot_be_placed_is_named_and_the_others_are_printed(self, file):
        lists = {**self.LISTS, "odd-0": [0, 1], "odd-1": [0]}
        words = ["place", "--snapshot", file(EVEN, lists), "--all-topics", "*", "--seed", 1]
        code, out, err = called(*words)
        assert (code, sorted(self.rows(out))) == (1, ["orders", "orders.dead", "users"])
        why = "partition 1 has 1 replica, partition 0 has 2"
        hint = (
            "if a reassignment of the topic runs, wait for it or cancel it; else give all its "
            "partitions equally many replicas: rackwise plan set-rf"
        )
        assert err.splitlines() == [
            f"warning: topic odd has no new rows: {why}; {hint}",
            "error: 1 of 4 topics cannot be placed: odd",
            (
                "hint: the rows of all others are printed; to place only these, give --all-topics "
                "patterns that do not match the topics named here"
            ),
        ]
        code, out, err = called(*words, "--json")
        told = document(err.splitlines()[-1])
        assert (code, told["error"], told["wanted"], told["had"]) == (1, "PlacementFailures", 4, 3)
        assert [each["topic"] for each in document(out)["topics"]] == [
            "orders",
            "orders.dead",
            "users",
        ]
        assert document(out)["failed"] == [
            {"topic": "odd", "error": "InvalidAssignment", "message": why, "hint": hint}
        ]
        words[4] = "odd"
        code, out, err = called(*words)
        assert (code, out) == (1, "")
        assert err.splitlines()[1:] == [
            "error: 1 of 1 topic cannot be placed: odd",
            "hint: see the warning of each topic",
        ]

    def test_reasons_are_bounded_and_whole_in_json(self, file):
        lists = {f"t{topic:02}-0": [0, 1, 2] for topic in range(12)}
        words = ["place", "--snapshot", file(EVEN, {**lists, "u-0": [0]}), "--all-topics", "*"]
        words += ["--broker-list", "0,2", "--seed", 1]
        code, out, err = called(*words)
        assert (code, self.rows(out).keys()) == (1, {"u"})
        lines = err.splitlines()
        assert len(lines) == TOPICS_NOTED + 3
        assert lines[0].startswith("warning: topic t00 has no new rows: replication 3 needs 3 ")
        assert lines[TOPICS_NOTED:-1] == [
            "warning: 2 more topics have no new rows: --json prints the reason of each",
            "error: 12 of 13 topics cannot be placed: t00, t01, t02 and 9 more",
        ]
        code, out, _ = called(*words, "--json")
        assert (code, [each["topic"] for each in document(out)["failed"]]) == (
            1,
            [f"t{topic:02}" for topic in range(12)],
        )

    def test_notes_name_their_topic_and_are_bounded(self, file):
        lists = {f"t{topic:02}-{p}": [0, 1, 2] for topic in range(12) for p in range(50)}
        path = file(UNEVEN, lists)
        words = ["place", "--snapshot", path, "--seed", 1, "--no-load"]
        _, _, one = called(*words, "--partitions", 50, "--replication-factor", 3)
        code, _, err = called(*words, "--all-topics", "*")
        assert code == 0
        lines, alone = err.splitlines(), one.splitlines()
        wanted = [f"topic t00: {line}" for line in alone[:-1]]
        wanted += [f"warning: topic t00: {alone[-1].removeprefix('warning: ')}"]
        assert (len(alone), lines[:4]) == (4, wanted)
        assert len(lines) == 4 * TOPICS_NOTED + 1
        assert lines[-1] == "warning: 2 more topics with such shares: --json prints those of each"
        quiet = called("--quiet", *words, "--all-topics", "*")[2].splitlines()
        assert len(quiet) == TOPICS_NOTED + 1

    def test_kip36_on_uneven_racks_is_told_of_levels_once(self, file):
        racks = {0: "a", 1: "a", 2: "a", 3: "b", 4: "c"}
        lists = {f"{topic}-{p}": [0, 1] for topic in "tu" for p in range(30)}
        words = ["--all-topics", "*", "--seed", 1, "--placer", "kip36"]
        lines = called("place", "--snapshot", file(racks, lists), *words)[2].splitlines()
        hint = "hint: --placer levels balances everything that the racks do not force"
        assert (lines[-1], lines.count(hint)) == (hint, 1)

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (
                ["--all-topics", "x*"],
                'invalid --all-topics: expected a pattern that matches a topic, got "x*"',
                "topics: orders, orders.dead, users",
            ),
            (
                ["--all-topics", "*", "--partitions", 3, "--topic", "t", "--from-server", "h:1"],
                "--all-topics cannot be combined with --partitions, --topic, --from-server",
                "omit them: existing topics have a name, partitions and replicas",
            ),
            (
                ["--all-topics", "*", "--format", "cli"],
                "--all-topics requires --format reassignment or json",
                "the text for kafka-topics has one topic, without its name",
            ),
            (
                ["--all-topics", "*", "--timeout", 3],
                "--timeout requires --from-server",
                "omit --timeout, or give --from-server",
            ),
            (
                ["--partitions", 3],
                "expected --partitions and --replication-factor, got no --replication-factor",
                "give both, or place existing topics anew: --all-topics GLOB",
            ),
        ],
    )
    def test_options_that_cannot_be(self, file, words, message, hint):
        check_refused(["place", "--snapshot", file(EVEN, self.LISTS), *words], message, hint)


class TestWhatIsSaid:
    def test_forced_shares_and_a_broker_far_above_its_share(self, file):
        code, _, err = called(*place_command(file(UNEVEN), 50, 3, "--seed", 1))
        assert code == 0
        over = "replication 3 over 3 racks; an even share is"
        assert err.splitlines() == [
            f"rack a (2 brokers) can only hold 50 of 50 partitions: {over} 60",
            f"rack b (2 brokers) can only hold 50 of 50 partitions: {over} 60",
            f"rack c (1 broker) must hold 50 of 50 partitions: {over} 30",
            (
                "warning: broker 4 holds 50 of 150 replicas, 1.7 times an even share; the racks "
                "force it: add brokers to the small racks, or use fewer replicas"
            ),
        ]

    def test_kip36_on_uneven_racks_is_told_of_levels(self, file):
        racks = {0: "a", 1: "a", 2: "a", 3: "b", 4: "c"}
        _, _, err = called(*place_command(file(racks), 30, 2, "--seed", 1, "--placer", "kip36"))
        lines = err.splitlines()
        assert lines[-1] == "hint: --placer levels balances everything that the racks do not force"
        assert any(line.startswith("warning: broker ") for line in lines)
        _, _, even = called(*place_command(file(EVEN), 30, 2, "--seed", 1, "--placer", "kip36"))
        assert even == ""

    def test_one_replica_on_a_broker_is_never_too_many(self, file):
        assert called(*place_command(file(EVEN), 1, 3, "--seed", 1))[2] == ""

    def test_quiet_says_warnings_alone(self, file):
        _, _, err = called(*place_command(file(UNEVEN), 50, 3, "--quiet"))
        assert [line.split(":")[0] for line in err.splitlines()] == ["warning"]


class TestBadInput:
    """Exit 1, one sentence, a hint; nothing on stdout."""

    @pytest.mark.parametrize("count", [0, -1])
    def test_numbers_below_one(self, file, count):
        path = file(EVEN)
        check_refused(
            place_command(path, count, 3, "--seed", 1),
            f"invalid partitions: expected at least 1, got {count}",
            None,
        )
        check_refused(
            place_command(path, 1, count, "--seed", 1),
            f"invalid replication: expected at least 1, got {count}",
            None,
        )

    @pytest.mark.parametrize("text", ["True", "1.0", "x", "\u0661", "9" * 5000])
    def test_what_is_no_number(self, file, text):
        path = file(EVEN)
        check_refused(
            place_command(path, text, 3),
            f"invalid partitions: expected an integer of 1 or more, got {text}",
            None,
        )
        check_refused(
            place_command(path, 1, text),
            f"invalid replication: expected an integer of 1 or more, got {text}",
            None,
        )

    def test_more_replicas_than_brokers_names_the_fenced_ones(self, file):
        check_refused(
            place_command(file(EVEN, fenced=(3, 5)), 1, 5, "--seed", 1),
            "replication 5 needs 5 unfenced brokers; the cluster has 4",
            "use fewer replicas, or start the fenced brokers: 3, 5",
        )

    def test_racks_of_some_brokers(self, file):
        check_refused(
            place_command(file(PARTIAL), 1, 1, "--seed", 1),
            "all brokers must have a rack; 3 of 6 have none: 4, 7, 9",
            "set broker.rack on them, or place without racks: --disable-rack-aware",
        )

    @pytest.mark.parametrize(
        ("words", "message", "hint"),
        [
            (
                ["--broker-list", "0,6"],
                "invalid --broker-list: expected a broker of the cluster, got 6",
                "brokers: 0, 1, 2, 3, 4, 5",
            ),
            (
                ["--broker-list", "4,0,4"],
                "invalid --broker-list: expected each broker once, got 4 twice",
                "name each broker once",
            ),
            *(
                (
                    ["--broker-list", f"0,{id_}"],
                    f"invalid --broker-list: expected broker ids from 0 to 2147483647, got {id_}",
                    "for example --broker-list 1,2,3",
                )
                for id_ in (-1, 2**31, "9" * 5000)
            ),
            (
                ["--broker-list", "0,x"],
                'invalid --broker-list: expected broker ids, got "x"',
                "for example --broker-list 1,2,3",
            ),
            (
                ["--placer", "ring"],
                "ring wants rack paths that begin with /; broker 0 has the name a",
                "write racks as paths such as /eu/a, or place with levels or kip36",
            ),
            (
                ["--rack-mode", "safe", "--ignore-racks"],
                "expected one rack mode, got --disable-rack-aware and --rack-mode safe",
                "omit one of them",
            ),
            (
                ["--placer-option", "balance"],
                "invalid --placer-option: expected KEY=VALUE, got balance",
                "for example --placer-option 'balance=racks'; repeat --placer-option for each key",
            ),
            (
                ["--placer-option", "balance=racks", "--placer-option", "balance=racks"],
                "invalid --placer-option: expected each key once, got balance twice",
                "omit one --placer-option of this key",
            ),
            (
                ["--format", "reassignment"],
                "--format reassignment requires --topic",
                "give --topic NAME: Kafka's JSON names the topic of each partition",
            ),
            (
                ["--topic", "t"],
                "--topic requires --format reassignment or json",
                "omit --topic: the text for kafka-topics names no topic",
            ),
        ],
    )
    def test_options_that_cannot_be(self, file, words, message, hint):
        check_refused(place_command(file(EVEN), 1, 1, "--seed", 1, *words), message, hint)

    def test_a_second_format_beside_json(self, file):
        code, out, err = called(*place_command(file(EVEN), 1, 1, "--json", "--format", "cli"))
        assert (code, out) == (1, "")
        assert document(err)["message"] == "expected one format, got --json and --format cli"

    @pytest.mark.parametrize(
        ("rack", "wanted"),
        [
            ("/eu//a", "/level/level"),
            ("/eu/", "/level/level"),
            ("/eu/a", "a name, as 5 of 6 brokers have"),
        ],
    )
    def test_malformed_and_mixed_racks(self, file, rack, wanted):
        path = file({**EVEN, 4: rack})
        check_refused(
            place_command(path, 1, 1, "--seed", 1),
            "all brokers must have a rack that counts; 1 of 6 have none: "
            f'broker 4 ("{rack}": expected {wanted})',
            ODD_RACKS_HINT,
        )
        check_refused(
            place_command(path, 1, 1, "--seed", 1, "--placer", "ring"),
            "all brokers must have a rack that counts; 1 of 6 have none: "
            f'broker 4 ("{rack}": expected {wanted})',
            ODD_RACKS_HINT,
        )
        for words in (["--placer", "kip36"], ["--disable-rack-aware"], ["--rack-mode", "safe"]):
            code, out, _ = called(*place_command(path, 3, 2, "--seed", 1, *words))
            assert (code, out.count(":")) == (0, 3)

    def test_a_source_is_wanted(self):
        code, out, err = called("place", "--partitions", 1, "--replication-factor", 1)
        assert (code, out) == (1, "")
        assert err.startswith("error: expected exactly one of --snapshot and --bootstrap-server")


def test_cordoned_brokers_are_given_nothing_and_cannot_be_asked_for(tmp_path):
    cluster = small_cluster(EVEN, {"t-0": [0, 2]})
    cordoned = (LogDir(path="/data/a", is_cordoned=True),)
    brokers = tuple(
        replace(each, log_dirs=cordoned if each.id in {0, 5} else ()) for each in cluster.brokers
    )
    path = tmp_path / "s.json"
    write_snapshot(replace(cluster, brokers=brokers), path)
    code, out, _ = called("--json", *place_command(path, 12, 3, "--seed", 1))
    assert code == 0
    placed = document(out)
    assert {broker for row in placed["rows"] for broker in row} == {1, 2, 3, 4}
    assert [each["id"] for each in placed["brokers"]] == [1, 2, 3, 4]
    check_refused(
        place_command(path, 1, 1, "--broker-list", "1,5"),
        "invalid --broker-list: expected brokers that take new replicas, got 5, which is cordoned",
        "cordoned brokers: 0, 5; uncordon one by removing its log folders from cordoned.log.dirs",
    )
