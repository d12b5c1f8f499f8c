"""The disk of the journal is full during a run: nothing more starts, and the run is resumed."""

from __future__ import annotations

import pytest

from acked_records import Writing
from hand_made_plans import configs, lists, plan_file, shown
from kafka_topics import NAME
from kafka_traffic import create, produce, until
from rackwise.adapters.files.journal import parse_journal
from small_disk import BALLAST, PAGE, small_disk

pytestmark = pytest.mark.kafka

COUNT = 8
BEFORE = [[0, 1]] * COUNT
AFTER = {(NAME, each): (2, 1) for each in range(COUNT)}
PLANNED = {each: [2, 1] for each in range(COUNT)}


@pytest.fixture
def cluster(kraft_cluster):
    return kraft_cluster


@pytest.fixture
def ballast(state):
    """A file whose removal makes room; the disk leaves one page to the lock and one to the run."""
    with small_disk(state, 8):
        file = state / BALLAST
        file.write_bytes(bytes(6 * PAGE))
        yield file


@pytest.fixture
def scene(admin, cluster, ballast, tmp_path):  # noqa: ARG001 (the disk is small already)
    """A plan, somebody who writes, and all configs; then every acknowledged record is there."""
    create(admin, NAME, BEFORE)
    produce(cluster.bootstrap, {(NAME, 0): 50})
    path = plan_file(tmp_path / "p.json", admin, AFTER)
    with Writing(cluster.bootstrap, NAME, COUNT):
        yield path, configs(admin, NAME)


def test_a_journal_that_cannot_grow_ends_the_run_and_resume_completes_it(
    admin, called, state, scene, ballast
):
    """Exit code 3, the file and the throttles by name, no move without its line."""
    path, before = scene
    code, out, err = called("apply", path, "--throttle", "10MB", "--per-broker", "1")
    (journal,) = state.glob("*/*.journal")
    assert (code, out) == (3, ""), err
    error, hint = err.splitlines()[-2:]
    assert error == (
        f"error: cannot keep a journal at {journal}: No space left on device; nothing more was "
        f"done; throttles stay set: broker 0, broker 1, broker 2; topic {NAME}"
    )
    assert hint == (
        "hint: free space on the disk or mend the permissions of the folder, keep RACKWISE_STATE "
        "as it is; then rackwise resume"
    )
    asked = requested(journal)
    assert 0 < len(asked) < COUNT
    until(lambda: moved(admin) == asked, "the moves that the journal names, and no other")
    assert configs(admin, NAME) != before

    code, out, err = called("resume", path)
    assert (code, out) == (4, ""), err
    assert f"error: cannot keep a journal at {journal}: No space left on device\n" in err
    assert moved(admin) == asked

    ballast.unlink()
    assert called("resume", path)[0] == 0
    shown(admin, NAME, PLANNED)
    until(lambda: configs(admin, NAME) == before, "configs as before")


def requested(journal):
    """The partitions whose move the journal announces."""
    entries = parse_journal(journal.read_bytes(), journal).entries
    asked = [each.fields["partitions"] for each in entries if each.type == "batch_intent"]
    return {number for partitions in asked for _, number in partitions}


def moved(admin):
    return {number for number, row in lists(admin, NAME).items() if row == PLANNED[number]}
