"""`rackwise plan set-rf --placer`: a placer chooses the brokers; `apply` executes the plan."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace

import pytest

from kafka_topics import document
from kafka_traffic import create, delete, until
from rackwise import change_replication
from rackwise.adapters.files import parse_placement, read_plan, write_snapshot
from rackwise.adapters.kafka import connect, topic_rows
from rackwise.core.model import Topic
from rackwise.core.placement import JavaRandom, Placement, RackMode, Ring
from rackwise.core.planning.model import SetReplication
from refusals import ODD_RACKS_HINT, called, check_refused
from small_clusters import small_cluster

PATHS = {0: "/eu/a", 1: "/eu/b", 2: "/eu/c", 3: "/eu/a", 4: "/eu/b", 5: "/eu/c"}
LISTS = {"t-0": [0, 1], "t-1": [2, 3], "t-2": [4, 5], "u-0": [0, 1], "__in-0": [0, 1]}
POLICY = 'format = "rackwise.policy/1"\n'


def rows_of(topic):
    return Placement.of(
        {
            int(name.partition("-")[2]): row
            for name, row in LISTS.items()
            if name.startswith(f"{topic}-")
        }
    )


def ring(topic, replication, seed=1, *, racks=RackMode.ENFORCED, rng=None):
    return change_replication(
        rows_of(topic),
        small_cluster(PATHS, {}).brokers,
        replication,
        placer=Ring(),
        racks=racks,
        rng=rng or JavaRandom(seed),
    )


@pytest.fixture
def run(tmp_path):
    """Plan for a cluster; the exit code, stdout, stderr and the moves: name -> row."""

    def run(*words, racks=PATHS, policy=None, empty=()):
        snapshot, out = tmp_path / "s.json", tmp_path / "plan.json"
        cluster = small_cluster(racks, LISTS)
        topics = {**cluster.topics, **{name: Topic(name=name) for name in empty}}
        write_snapshot(replace(cluster, topics=topics), snapshot)
        files = ["--snapshot", snapshot, "--out", out]
        if policy is not None:
            (tmp_path / "p.toml").write_text(POLICY + policy)
            files += ["--policy", tmp_path / "p.toml"]
        code, printed, err = called("plan", "set-rf", *words, "--placer", "ring", *files)
        plan = read_plan(out)
        return code, printed, err, {f"{m.topic}-{m.partition}": m.after for m in plan.moves}

    return run


class TestRows:
    def test_they_are_those_of_the_placer_for_the_topics_that_match(self, run, tmp_path):
        forth, back = tmp_path / "forth.json", tmp_path / "back.json"
        words = ["t=3", "--seed", 1, "--kafka-json", forth, "--rollback-json", back]
        code, out, err, moves = run(*words)
        wanted = ring("t", 3)
        assert (code, err) == (2, "")
        assert moves == {f"t-{partition}": wanted[partition] for partition in wanted}
        assert out.splitlines()[-4:] == [
            "goal     set-rf t=3",
            "moves    3 replicas added and 0 removed, in 3 partitions",
            "bytes    3 bytes to copy",
            "proof    not proved: placer ring with seed 1 chose the brokers, and not the search",
        ]
        assert parse_placement(forth.read_bytes(), where="forth") == {
            ("t", partition): wanted[partition] for partition in wanted
        }
        assert parse_placement(back.read_bytes(), where="back") == {
            ("t", partition): rows_of("t")[partition] for partition in wanted
        }
        plan = read_plan(tmp_path / "plan.json")
        assert plan.goal == SetReplication((("t", 3),))
        assert {move.reasons for move in plan.moves} == {("replication",)}
        code, out, _ = called("proof", tmp_path / "plan.json", "--snapshot", tmp_path / "s.json")
        assert code == 2

    def test_topics_without_partitions_are_noted(self, run):
        code, _, err, moves = run("*=3", "--seed", 1, empty=["void", "zero"])
        assert (code, {name.rpartition("-")[0] for name in moves}) == (2, {"__in", "t", "u"})
        assert err == "2 topics left out, which have no partitions: void, zero\n"

    def test_one_seed_serves_all_topics_and_later_globs_win(self, run):
        _, _, _, moves = run("*=2", "t=3", "u=1", "--seed", 4)
        rng = JavaRandom(4)
        wanted = {"t": ring("t", 3, rng=rng), "u": ring("u", 1, rng=rng)}
        assert moves == {f"{name}-{p}": rows[p] for name, rows in wanted.items() for p in rows}

    def test_a_drawn_seed_is_told_and_repeats_the_rows(self, run):
        _, out, err, moves = run("t=4")
        seed = err.split()[2].removesuffix(":")
        assert err == f"generated seed {seed}: --seed {seed} gives the same rows again\n"
        assert run("t=4", "--seed", seed) == (2, out, "", moves)

    def test_the_options_of_the_placer_count(self, run):
        words = ["t=3", "--seed", 1, "--placer-option", "start=1", "--json"]
        _, out, _, moves = run(*words)
        wanted = change_replication(
            rows_of("t"), small_cluster(PATHS, {}).brokers, 3, placer=Ring(start=1)
        )
        assert moves == {f"t-{partition}": wanted[partition] for partition in wanted}
        assert document(out)["verdict"]["problems"] == [
            "placer ring start=1 with seed 1 chose the brokers, and not the search"
        ]

    def test_nothing_to_move(self, run):
        code, out, _, moves = run("t=2", "--seed", 1)
        assert (code, moves) == (0, {})
        assert "moves    none: nothing to move\n" in out

    def test_fewer_replicas_copy_nothing(self, run):
        code, out, _, moves = run("t=1", "--seed", 1)
        assert (code, moves) == (2, {"t-0": (0,), "t-1": (2,), "t-2": (4,)})
        assert "moves    0 replicas added and 3 removed, in 3 partitions\nproof" in out

    def test_excluded_topics_stay(self, run):
        words = ["*=3", "--seed", 1, "--exclude", "u", "--exclude", "__*"]
        assert {name[0] for name in run(*words)[3]} == {"t"}
        policy = '[[topics]]\nmatch = ["t", "__*"]\nexclude = true\n'
        assert {name[0] for name in run("*=3", "--seed", 1, policy=policy)[3]} == {"u"}


NAMES = {id_: f"z{id_ % 3}" for id_ in PATHS}


def test_a_policy_that_minimises_dollars_needs_no_prices(run):
    assert run("t=3", "--seed", 1, policy='[cost]\nminimise = "usd"\n')[0] == 2


class TestRacks:
    def test_names_are_mapped_by_the_policy(self, run):
        names = {**NAMES, 5: "/eu/z2"}
        policy = '[racks]\nmap = { z0 = "/eu/z0", z1 = "/eu/z1", z2 = "/eu/z2" }\n'
        _, _, _, moves = run("t=3", "--seed", 1, racks=names, policy=policy)
        assert moves == {f"t-{partition}": ring("t", 3)[partition] for partition in range(3)}

    @pytest.mark.parametrize("option", ["--disable-rack-aware", "--ignore-racks"])
    def test_they_can_be_ignored(self, run, option):
        _, _, _, moves = run("t=3", "--seed", 1, option, racks=NAMES)
        wanted = ring("t", 3, racks=RackMode.DISABLED)
        assert moves == {f"t-{partition}": wanted[partition] for partition in range(3)}

    def test_partial_racks_name_the_broker(self, tmp_path):
        write_snapshot(small_cluster({**PATHS, 5: "b"}, LISTS), tmp_path / "s.json")
        check_refused(
            ["plan", "set-rf", "t=3", "--placer", "ring", "--snapshot", tmp_path / "s.json"],
            "all brokers must have a rack that counts; 1 of 6 have none: "
            'broker 5 ("b": expected a path, as 5 of 6 brokers have)',
            ODD_RACKS_HINT,
        )


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (
            ["drain", "1", "--placer", "ring"],
            "--placer requires the goal set-rf, got drain",
            "omit --placer: for other goals the search chooses the brokers",
        ),
        (
            ["set-rf", "t=3", "--placer", "ring", "--repair", "--max-moves", 3, "--solver", "flow"],
            "--placer cannot be combined with --repair, --max-moves, --solver",
            "omit them, or omit --placer to find the cheapest moves",
        ),
        (
            ["set-rf", "t=3", "--seed", 0],
            "--seed requires --placer",
            "omit --seed, or name a placer: --placer ring",
        ),
        (
            ["set-rf", "t=3", "--placer", "kip36"],
            'placer "kip36" cannot change the replication of existing partitions',
            "--placer levels",
        ),
        (
            ["set-rf", "x=3", "--placer", "ring"],
            'invalid set-rf: expected a pattern that matches a topic, got "x"',
            "topics: __in, t, u",
        ),
    ],
)
def test_what_cannot_be(tmp_path, words, message, hint):
    write_snapshot(small_cluster(PATHS, LISTS), tmp_path / "s.json")
    check_refused(["plan", *words, "--snapshot", tmp_path / "s.json"], message, hint)


@pytest.mark.kafka
@pytest.mark.usefixtures("state")
def test_the_plan_is_executed_on_real_brokers(kraft_cluster, tmp_path):
    """Racks are names, so the policy makes paths of them; `apply` compares them mapped."""
    name, policy, out = "ringed", tmp_path / "p.toml", tmp_path / "plan.json"
    policy.write_text(f'{POLICY}[racks]\nmap = {{ a = "/r/a", b = "/r/b", c = "/r/c" }}\n')
    server = ["--bootstrap-server", kraft_cluster.bootstrap]
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, name, [[0, 1], [2, 3], [1, 2]])
        try:
            until(lambda: topic_rows(admin, name) is not None, "the topic")
            words = [f"{name}=3", "--placer", "ring", "--policy", policy, "--out", out, *server]
            assert called("plan", "set-rf", *words)[0] == 2
            wanted = {move.partition: list(move.after) for move in read_plan(out).moves}
            assert sorted(wanted) == [0, 1, 2]
            code, _, err = called("apply", out, *server)
            assert code == 0, err
            until(lambda: topic_rows(admin, name).as_dict() == wanted, "the rows of the plan")
            assert called("apply", out, *server)[:2] == (0, "3 moves: nothing to do\n")
        finally:
            delete(admin, name)
