"""`rackwise apply` on real brokers that changed after the plan: rejected, each change by name."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from kafka.structs import TopicPartition

from hand_made_plans import lists, plan_file, shown
from kafka_topics import NAME, document
from kafka_traffic import create, delete, produce, throttled_move, until

OTHER = f"{NAME}-other"
BEFORE = [[0, 1], [1, 2], [2, 0], [0, 1]]
AFTER = {(NAME, 0): (2, 1), (NAME, 1): (1, 0), (NAME, 3): (1, 0)}


@pytest.fixture
def cluster(kraft_first):
    """Each of the two; Kafka 3.9 for `make long`."""
    return kraft_first


class TestStale:
    @pytest.fixture
    def path(self, admin, tmp_path):
        create(admin, NAME, BEFORE)
        return plan_file(tmp_path / "p.json", admin, AFTER)

    def refused(self, called, path, name, *words):
        code, out, err = called("apply", path, "--json", "--quiet", *words)
        assert (code, out) == (4, "")
        printed = document(err)
        assert printed["error"] == name
        return printed

    def test_a_topic_made_anew(self, admin, called, path):
        """F7: deleted and made again between plan and apply."""
        delete(admin, NAME)
        create(admin, NAME, BEFORE)
        printed = self.refused(called, path, "StalePlan")
        assert f"{NAME}-0: expected topic id" in printed["had"]
        until(lambda: lists(admin, NAME)[0] == [0, 1], "the lists")

    def test_a_topic_that_is_gone(self, admin, called, path):
        """F7: deleted between plan and apply."""
        delete(admin, NAME)
        assert (
            f"{NAME}-3: the topic or the partition does not exist any more"
            in self.refused(called, path, "StalePlan")["had"]
        )

    def test_a_list_that_another_tool_changed(self, admin, called, path):
        """F8: only that one is listed; the rest may go on alone."""
        moved = TopicPartition(NAME, 1)
        admin.alter_partition_reassignments({moved: [2, 0]})
        until(lambda: lists(admin, NAME)[1] == [2, 0], "another tool's move")
        printed = self.refused(called, path, "StalePlan")
        assert printed["had"] == f"{NAME}-1: expected replicas 1,2, got 2,0"
        code, out, err = called("apply", path, "--allow-partial")
        assert (code, out.splitlines()[0]) == (
            0,
            "3 moves: 2 done, 0 failed, 0 skipped, 1 dropped",
        ), err
        assert "left out" in err
        shown(admin, NAME, {0: [2, 1], 1: [2, 0], 2: [2, 0], 3: [1, 0]})

    def test_partitions_that_were_added(self, admin, called, tmp_path):
        """F8: the moves of that topic are listed; the rest may go on alone."""
        create(admin, NAME, BEFORE)
        create(admin, OTHER, [[0, 1]])
        afters = {**AFTER, (OTHER, 0): (1, 0)}
        path = plan_file(tmp_path / "p.json", admin, afters)
        admin.create_partitions({NAME: len(BEFORE) + 2})
        until(lambda: len(lists(admin, NAME)) == len(BEFORE) + 2, "two more partitions")
        printed = self.refused(called, path, "StalePlan")
        assert printed["had"] == "; ".join(
            f"{NAME}-{number}: expected 4 partitions in the topic, got 6" for number in (0, 1, 3)
        )
        code, out, err = called("apply", path, "--allow-partial")
        counts = "4 moves: 1 done, 0 failed, 0 skipped, 3 dropped"
        assert (code, out.splitlines()[0]) == (0, counts), err
        shown(admin, OTHER, {0: [1, 0]})
        left = lists(admin, NAME)
        assert [left[number] for number in range(len(BEFORE))] == BEFORE
        delete(admin, OTHER)

    def test_another_cluster(self, admin, called, tmp_path):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "o.json", admin, AFTER, cluster_id="MkU3OEVBNTcwNTJENDM2Qk")
        self.refused(called, path, "WrongCluster")

    def test_a_plan_of_no_cluster(self, admin, called, tmp_path):
        create(admin, NAME, BEFORE)
        path = plan_file(tmp_path / "o.json", admin, AFTER, hypothetical=True)
        assert (
            "got one made from a hypothetical cluster"
            in self.refused(called, path, "StalePlan")["message"]
        )

    def test_a_foreign_reassignment(self, admin, cluster, called, path):
        """F10: of another partition; --alongside runs beside it."""
        produce(cluster.bootstrap, {(NAME, 2): 50})
        with throttled_move(admin, NAME, 2, [1, 0]):
            printed = self.refused(called, path, "ForeignReassignment")
            assert printed["had"] == f"{NAME}-2"
            code, _, err = called("apply", path, "--alongside")
            assert code == 0, err
        until(lambda: lists(admin, NAME)[0] == [2, 1], "the lists")

    def test_a_run_that_goes_on(self, called, path, state):
        """F17: on this host."""
        from rackwise.adapters.files.plan.read import read_plan
        from rackwise.adapters.files.state_folder import locked, made_folder

        folder = made_folder(state, read_plan(path).cluster_id)
        with locked(folder, since="2026-01-01T00:00:00Z", command="apply"):
            printed = self.refused(called, path, "Locked")
        assert str(os.getpid()) in printed["message"]
        assert "2026-01-01T00:00:00Z" in printed["message"]

    def test_a_state_folder_that_cannot_be_made(self, called, path, tmp_path, monkeypatch):
        """F15: exit 4 before the first write."""
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "file" / "state"))
        self.refused(called, path, "JournalUnwritable")

    def test_an_edited_plan(self, called, path, tmp_path):
        edited = tmp_path / "edited.json"
        edited.write_bytes(Path(path).read_bytes().replace(b'"after":[2,1]', b'"after":[2,0]'))
        code, out, err = called("apply", str(edited), "--json", "--quiet")
        assert (code, out, document(err)["error"]) == (1, "", "InvalidPlan")
