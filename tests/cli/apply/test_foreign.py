"""`apply` of Kafka's own reassignment JSON, and of what `place` prints, on real brokers."""

from __future__ import annotations

import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import lists, shown
from kafka_topics import NAME, document
from kafka_traffic import RATES, create, delete, produce, until
from rackwise.adapters.files import reassignment_text
from rackwise.adapters.kafka.applying.throttles import read_throttles
from rackwise.cli.main import run

TESTS = Path(__file__).parents[2]
BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 2), (NAME, 3): (1, 0)}
DONE = {0: [2, 1], 1: [1, 2], 2: [2, 0], 3: [1, 0]}

pytestmark = pytest.mark.kafka


@pytest.fixture
def cluster(kraft_cluster):
    return kraft_cluster


@pytest.fixture
def path(admin, tmp_path):
    create(admin, NAME, BEFORE)
    file = tmp_path / "kafka.json"
    file.write_text(reassignment_text(AFTER))
    return str(file)


def throttles(admin):
    return read_throttles(admin, topics=[NAME], brokers=[0, 1, 2, 3])


@pytest.mark.usefixtures("path")
def test_rows_that_place_made_for_another_cluster_are_rejected(admin, called, tmp_path):
    """They were executed on this cluster."""
    rows = tmp_path / "rows.json"
    placed = '{"format":"rackwise.placement/1","cluster_id":"other","topic":"%s",'
    placed += '"first_partition":0,"rows":[[2,1]]}'
    rows.write_text(placed % NAME)
    code, out, err = called("apply", str(rows))
    assert (code, out) == (4, "")
    assert "wrong cluster: expected other, the plan's cluster, got " in err
    assert lists(admin, NAME) == dict(enumerate(BEFORE))


def test_it_is_checked_journalled_and_rolled_back(admin, called, path, state):
    code, out, err = called("apply", path, "--check")
    assert (code, out) == (0, "2 moves: may run\n"), err
    assert "proof    not proved: not ours\n" in err
    assert not [*state.glob("*/*.journal")]
    code, out, err = called("apply", path, "--next", "1")
    assert code == 3, err
    code, out, err = called("apply", path, "--json")
    printed = document(out)
    assert (code, printed["done"], printed["proof"]) == (0, 2, "not proved: not ours"), err
    shown(admin, NAME, DONE)
    assert called("apply", path)[:2] == (0, "2 moves: nothing to do\n")
    assert called("status", path)[0] == 0
    code, out, err = called("rollback", path)
    assert code == 0, err
    shown(admin, NAME, dict(enumerate(BEFORE)))
    assert called("apply", path)[0] == 0, "what was rolled back may be applied again"
    shown(admin, NAME, DONE)


@pytest.mark.long
def test_killed_it_is_resumed_with_its_throttle(admin, cluster, called, path):
    produce(cluster.bootstrap, {(NAME, 0): 100})
    before = throttles(admin)
    words = ["apply", path, "--throttle", "50kB", "--bootstrap-server", cluster.bootstrap]
    killed = [sys.executable, str(TESTS / "killed_command.py"), "5", "SIGKILL", *words]
    assert subprocess.run(killed, check=False, capture_output=True).returncode == -9
    assert throttles(admin).brokers[2] == {RATES[1]: "50000"}
    code, out, err = called("resume", path, "--throttle", "50MB")
    assert (code, out) == (0, "2 moves: 2 done, 0 failed, 0 skipped, 0 dropped\n"), err
    shown(admin, NAME, DONE)
    until(lambda: throttles(admin) == before, "throttles as before")


@pytest.mark.usefixtures("path")
@pytest.mark.parametrize(
    ("targets", "told"),
    [
        ({(NAME, 9): (0, 1)}, f"{NAME}-9 does not exist"),
        ({(NAME, 0): (0, 17)}, f"{NAME}-0: broker 17 is not listed"),
    ],
)
def test_what_does_not_fit_the_cluster_writes_nothing(
    admin, called, tmp_path, state, targets, told
):
    file = tmp_path / "other.json"
    file.write_text(reassignment_text(targets))
    code, out, err = called("apply", str(file))
    assert (code, out) == (4, "")
    assert told in err
    assert not [*state.glob("*/*.json")]
    assert lists(admin, NAME) == dict(enumerate(BEFORE))


@pytest.mark.long
def test_a_partition_that_another_tool_moves_is_rejected(admin, cluster, called, path):
    produce(cluster.bootstrap, {(NAME, 0): 100})
    words = ["apply", path, "--throttle", "1", "--bootstrap-server", cluster.bootstrap]
    killed = [sys.executable, str(TESTS / "killed_command.py"), "5", "SIGKILL", *words]
    assert subprocess.run(killed, check=False, capture_output=True).returncode == -9
    other = Path(path).with_name("other.json")
    other.write_text(reassignment_text({(NAME, 0): (1, 2)}))
    code, _, err = called("apply", str(other))
    assert (code, f"got 1 that are: {NAME}-0" in err) == (4, True), err
    assert called("cancel", path)[0] == 0
    with suppress(Exception):
        admin.alter_partition_reassignments({TopicPartition(NAME, 0): None})


@pytest.mark.usefixtures("path")
def test_the_rows_of_two_topics_that_place_prints(admin, cluster, called, capsys, tmp_path):
    other = f"{NAME}-too"
    create(admin, other, [[0, 1]])
    try:
        lines = []
        for topic, partitions in ((NAME, "4"), (other, "1")):
            size = ["--partitions", partitions, "--replication-factor", "2", "--topic", topic]
            words = ["place", *size, "--bootstrap-server", cluster.bootstrap]
            assert run([*words, "--format", "reassignment"]) == 0
            lines.append(capsys.readouterr().out)
        file = tmp_path / "rows.json"
        file.write_text("".join(lines))
        code, _, err = called("apply", str(file))
        assert code == 0, err
        wanted = [document(line)["partitions"] for line in lines]
        for topic, rows in zip((NAME, other), wanted, strict=True):
            shown(admin, topic, {row["partition"]: row["replicas"] for row in rows})
    finally:
        delete(admin, other)
