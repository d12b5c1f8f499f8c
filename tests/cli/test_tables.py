"""Output for people fits the terminal: names are cut in the middle, words are never broken."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from consumer_snapshots import group, member
from producer_snapshots import rates_text
from rackwise.adapters.files import write_snapshot
from rackwise.cli import tables
from rackwise.cli.main import run
from rackwise.core.model import Broker, Cluster, Partition, PartitionTable, Topic
from rackwise.core.racks import Rack
from rackwise.report.fitting import fitted, plain
from rackwise.report.formats import columns
from terminals import terminal

WIDTH = 80
MIDDLE = "abcdefgh"
"""Stands in the middle of each long name, where a name is cut."""


def long_name(start, length):
    return f"{start}-{MIDDLE * length}"[: length - 4] + "-end"


TOPIC, OTHER = long_name("orders", 249), long_name("payments", 249)
GROUP = long_name("billing", 249)
RACKS = [long_name(f"zone{number}", 120) for number in range(3)]


def named_at_length():
    """Six brokers in three racks; all replicas of each partition are in one rack or two."""
    lists = [(1, 4, 2), (2, 5, 3), (1, 4, 3), (3, 6, 1)]
    return Cluster(
        cluster_id="demo",
        taken_at="2026-11-21T08:30:00Z",
        brokers=tuple(Broker(id=id_, rack=Rack(RACKS[(id_ - 1) % 3])) for id_ in range(1, 7)),
        topics={name: Topic(name=name) for name in (TOPIC, OTHER)},
        partitions=PartitionTable.of(
            Partition(topic=name, partition=number, replicas=ids, leader=ids[0], isr=ids)
            for name in (TOPIC, OTHER)
            for number, ids in enumerate(lists)
        ),
        groups=(
            group(
                member("m0", RACKS[0], ()),
                member("m1", RACKS[1], ()),
                name=GROUP,
                assignor="roundrobin",
            ),
        ),
    )


@pytest.fixture
def folder(tmp_path, monkeypatch):
    made = named_at_length()
    monkeypatch.chdir(tmp_path)
    write_snapshot(made, tmp_path / "today.json.gz")
    first = tuple(Broker(id=each.id, rack=each.rack) for each in made.brokers)[:-1]
    kept = [each for each in made.partitions if 6 not in each.replicas]
    write_snapshot(
        Cluster(
            cluster_id="demo",
            taken_at="2026-11-20T08:30:00Z",
            brokers=first,
            topics=made.topics,
            partitions=PartitionTable.of(kept),
        ),
        tmp_path / "yesterday.json.gz",
    )
    sent = " ".join(f"{rack} {2**20}" for rack in RACKS)
    (tmp_path / "rates.json").write_text(rates_text(sent, sent, topic=TOPIC))
    return tmp_path


def printed(*words, width=WIDTH):
    """What a command prints on a terminal, without colours."""
    with (
        pytest.MonkeyPatch.context() as changed,
        terminal(width) as (side, screen),
        os.fdopen(os.dup(side), "w") as stdout,
    ):
        changed.setattr(sys, "stdout", stdout)
        code = run(words)
    assert code in {0, 2}
    return [plain(line) for line in screen.lines]


def lines_in(width, rows, **options):
    """The lines of a table on a terminal of this width."""
    with pytest.MonkeyPatch.context() as changed:
        changed.setattr(tables, "terminal_width", lambda: width)
        return tables.aligned_lines(rows, **options)


def check(lines, width=WIDTH):
    assert lines
    assert [line for line in lines if columns(line) > width] == []
    broken = [
        word
        for line in lines
        for word in line.split()
        if MIDDLE in word and not any(start in word for start in ("orders-", "payme", "bill", "zo"))
    ]
    assert broken == [], "the middle of a name without its start"
    assert [line for line in lines if line != line.rstrip()] == []


SNAPSHOT = ("--snapshot", "today.json.gz")


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ("audit", *SNAPSHOT),
        ("audit", *SNAPSHOT, "--lose", RACKS[1]),
        ("what-if", *SNAPSHOT, "--lose", RACKS[1]),
        ("diff", "yesterday.json.gz", "today.json.gz"),
        ("consumer", "evaluate", *SNAPSHOT),
        ("consumer", "simulate", *SNAPSHOT, "--group", GROUP),
        ("producer", "simulate", *SNAPSHOT, "--rates", "rates.json", "--duration", "2s"),
        ("producer", "split", *SNAPSHOT, "--rates", "rates.json"),
        ("doctor", *SNAPSHOT, "--client-rack", RACKS[0]),
        ("placers",),
    ],
    ids=lambda words: " ".join(words).partition(" --snapshot")[0] + str(len(words)),
)
def test_a_command_prints_no_line_that_is_wider_than_the_terminal(words):
    check(printed(*words))


@pytest.mark.usefixtures("folder")
def test_a_plan_its_proof_and_an_explanation_fit_the_terminal():
    check(printed("plan", "balance", *SNAPSHOT, "--out", "plan.json", "--price-rules"))
    check(printed("proof", "plan.json", *SNAPSHOT))
    check(printed("explain", "plan.json", f"{TOPIC}-0", *SNAPSHOT))


def test_tables_of_broker_ids_fit_the_terminal(folder):
    store = ("--store", f"file://{folder}/ids")
    printed("broker-id", "init", *store)
    for number in (7, 8):
        key = long_name(f"zone-{number}", 200)
        check(printed("broker-id", "assign", key, str(number), *store))
    check(printed("broker-id", "list", *store))
    check(printed("broker-id", "show", "--key", long_name("zone-7", 200), *store))


@pytest.mark.usefixtures("folder")
def test_a_wide_terminal_is_used_and_none_changes_nothing(capsys):
    wide = printed("audit", *SNAPSHOT, width=400)
    assert any(len(line) > 300 for line in wide)
    check(wide, 400)
    run(["audit", *SNAPSHOT])
    lines = capsys.readouterr().out.splitlines()
    assert any(TOPIC in line for line in lines)
    assert lines == printed("audit", *SNAPSHOT, width=2000)


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    "words",
    [
        ("audit", *SNAPSHOT, "--json"),
        ("plan", "repair", *SNAPSHOT, "--json"),
        ("place", *SNAPSHOT, "--partitions", "40", "--replication-factor", "3", "--seed", "7"),
    ],
    ids=["audit", "plan", "place"],
)
def test_data_for_programs_is_the_same_on_a_terminal(capsys, words):
    run(words)
    assert printed(*words) == capsys.readouterr().out.splitlines()


CELLS = st.text(st.sampled_from("abc 7\u754c"), max_size=90)
TABLES = st.integers(1, 7).flatmap(
    lambda size: st.lists(st.tuples(*[CELLS] * size), min_size=1, max_size=6)
)


@given(TABLES, st.sets(st.integers(0, 6)))
def test_a_table_fits_and_keeps_words_that_have_room(rows, numbers):
    lines = lines_in(WIDTH, rows, numbers=numbers, mark="~ ")
    assert all(columns(line) <= WIDTH for line in lines)
    short = {word for row in rows for cell in row for word in cell.split() if columns(word) <= 8}
    assert short <= {word for line in lines for word in line.split()}


@given(st.text(st.sampled_from("abc d\u754c"), max_size=300), st.integers(20, 90))
def test_a_line_fits_and_loses_no_word_that_has_room(text, width):
    lines = fitted(text, width).split("\n")
    assert all(columns(line) <= width for line in lines)
    words = [word for word in text.split() if columns(word) <= width // 2]
    assert [word for word in " ".join(lines).split() if columns(word) <= width // 2] == words


def test_the_rest_of_a_line_stands_below_its_text():
    assert fitted("\x1b[31merror  \x1b[0m orders-4: broken when all is gone", 30) == (
        "\x1b[31merror  \x1b[0m orders-4: broken when\n        all is gone"
    )
    assert fitted("  hint: restart each of the brokers", 24) == (
        "  hint: restart each of\n        the brokers"
    )


def test_a_word_that_fits_alone_is_whole_and_a_longer_one_is_cut():
    setting = "replica.selector.class=RackAwareReplicaSelector"
    assert fitted(f"  hint: set {setting} everywhere", 50).splitlines() == [
        "  hint: set",
        setting,
        "        everywhere",
    ]
    assert fitted(f"  hint: set {setting}", 40).splitlines() == [
        "  hint: set",
        "        replica.selecto..ReplicaSelector",
    ]


def test_a_gap_where_a_line_ends_leaves_no_spaces():
    assert fitted("a 3 members  168 partitions", 14) == "a 3 members\n168 partitions"


def test_a_command_is_not_wrapped():
    line = "next    rackwise apply plan.json --bootstrap-server kafka-1:9092 --until 05:00"
    assert fitted(line, 40) == line


def test_a_header_of_a_narrow_column_is_wrapped_before_a_name_is_cut():
    name = "payments.authorised.v2"
    lines = lines_in(31, [("topic", "under min ISR"), (name, "12")], numbers=[1])
    assert lines == [
        "topic                     under",
        "                        min ISR",
        "payments.authorised.v2       12",
    ]


def test_a_message_on_stderr_keeps_its_names_and_breaks_at_spaces(tmp_path):
    name = tmp_path / f"{MIDDLE * 12}.json"
    command = [sys.executable, "-m", "rackwise.cli", "audit", "--snapshot", str(name)]
    with terminal(WIDTH) as (side, screen):
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=side, check=False)
    assert str(name) in screen.text
    assert all(len(line) <= WIDTH or str(name) in line for line in screen.lines)


def test_a_long_cell_is_cut_and_the_others_are_as_wide_as_what_is_left():
    lines = lines_in(None, [("g" * 30_000, "1"), ("short", "2")])
    name = "g" * 20 + "..(29,960 characters).." + "g" * 20
    assert lines == [f"{name}  1", f"{'short'.ljust(len(name))}  2"]


def test_a_cell_of_many_words_takes_few_lines():
    name = "g " * 15_000
    rows = [(name, "1"), ("short", "2")]
    assert max(map(len, lines_in(None, rows))) < 1_100
    assert len(lines_in(80, rows)) < 50
