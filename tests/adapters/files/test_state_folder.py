"""The state folder: ours alone, one run per cluster, and named in what is refused."""

from __future__ import annotations

import fcntl
import os
import stat
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from rackwise.adapters.files.state_folder import (
    STATE,
    LockHolder,
    cluster_folder,
    holder,
    lock_error,
    locked,
    made_folder,
    state_home,
)
from rackwise.core.errors import JournalUnwritable, Locked

NOW = "2026-01-02T03:04:05Z"


@pytest.mark.parametrize(
    ("environment", "wanted"),
    [
        ({"RACKWISE_STATE": "/s", "HOME": "/h", "XDG_STATE_HOME": "/x"}, "/s"),
        ({"HOME": "/h", "XDG_STATE_HOME": "/x"}, "/x/rackwise"),
        ({"HOME": "/h", "XDG_STATE_HOME": ""}, "/h/.local/state/rackwise"),
        ({}, str(Path.home() / ".local/state/rackwise")),
    ],
)
def test_where_it_is(environment, wanted):
    assert state_home(environment) == Path(wanted)


def test_commands_of_tests_use_none_of_the_users():
    of_the_user = {name: value for name, value in os.environ.items() if name != STATE}
    assert state_home(os.environ) != state_home(of_the_user)


def test_a_folder_per_cluster_for_its_owner_alone(tmp_path):
    home = tmp_path / "a" / "b"
    folder = made_folder(home, "MkU3OEVBNTcwNTJENDM2Qk")
    assert folder == cluster_folder(home, "MkU3OEVBNTcwNTJENDM2Qk")
    assert len(folder.name) == 16
    assert [stat.S_IMODE(each.stat().st_mode) for each in (home, folder)] == [0o700, 0o700]
    assert made_folder(home, "MkU3OEVBNTcwNTJENDM2Qk") == folder
    assert made_folder(home, "another") != folder


@pytest.mark.parametrize("mode", [0o720, 0o702])
def test_a_folder_that_others_may_write_to_is_refused(tmp_path, mode):
    folder = made_folder(tmp_path / "home", "c")
    folder.chmod(mode)
    with pytest.raises(JournalUnwritable, match="others may write to it"):
        made_folder(tmp_path / "home", "c")


def test_a_link_or_file_in_its_place_is_refused(tmp_path):
    home = tmp_path / "home"
    folder = made_folder(home, "c")
    folder.rename(home / "moved")
    folder.symlink_to(home / "moved")
    with pytest.raises(JournalUnwritable, match="it is no folder"):
        made_folder(home, "c")
    folder.unlink()
    folder.write_text("")
    with pytest.raises(JournalUnwritable, match="File exists"):
        made_folder(home, "c")


def test_a_home_that_cannot_be_made(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(JournalUnwritable) as raised:
        made_folder(tmp_path / "file" / "home", "c")
    assert "RACKWISE_STATE" in raised.value.hint


ONE, TWO = "5f0c9a7d21be" + "0" * 52, "81c0f2aa9e07" + "0" * 52


def test_the_second_run_is_told_who_has_it(tmp_path):
    with locked(tmp_path, since=NOW, command="apply", plan=ONE, file=Path("/ops/a.json")):
        for plan, named in (
            (ONE, "this plan"),
            (TWO, "another plan (/ops/a.json, 5f0c9a7d21be)"),
        ):
            with (
                pytest.raises(Locked) as raised,
                locked(tmp_path, since="later", command="apply", plan=plan),
            ):
                pytest.fail("both have it")
            assert raised.value.message == (
                f"expected no other run on this cluster, got process {os.getpid()}, which has been "
                f"executing {named} since {NOW}"
            )
        assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
        assert holder(tmp_path) == LockHolder(
            pid=str(os.getpid()),
            since=NOW,
            command="apply",
            plan=ONE,
            file="/ops/a.json",
            executes=ONE,
        )
    assert (tmp_path / "lock").read_text() == "", "nobody holds it"


def test_a_rollback_names_the_plan_that_it_undoes_and_the_one_that_it_executes(tmp_path):
    with locked(tmp_path, since=NOW, command="rollback") as lock:
        assert holder(tmp_path).runs(ONE), "the plan is not known yet, and may be this one"
        lock.write(plan=ONE)
        lock.write(executes=TWO)
        found = holder(tmp_path)
    assert (found.plan, found.executes) == (ONE, TWO)
    assert (found.runs(ONE), found.runs(TWO), found.runs("3" * 64)) == (True, True, False)
    assert found.does(ONE) == "rolling back this plan"


def test_a_reader_or_a_holder_without_a_plan_does_not_say_whether_it_is_another():
    known = LockHolder(pid="1", command="apply", plan=ONE, file="/ops/a.json")
    assert known.does() == "executing the plan (/ops/a.json, 5f0c9a7d21be)"
    early = LockHolder(pid="1", command="apply", file="/ops/a.json")
    assert (early.runs(ONE), early.does(ONE)) == (True, "executing the plan (/ops/a.json)")
    assert LockHolder(pid="1", command="cancel").does(ONE) == "cancelling a plan"
    assert not LockHolder(pid="1", command="throttles").runs(ONE)


@pytest.mark.parametrize(
    ("command", "does"),
    [
        ("apply", "executing this plan"),
        ("resume", "executing this plan"),
        ("cancel", "cancelling this plan"),
        ("throttle", "setting the throttle of this plan"),
        ("throttles", "clearing the throttles of earlier runs"),
    ],
)
def test_what_each_command_does(command, does):
    assert LockHolder(pid="1", command=command, plan=ONE).does(ONE) == does


def test_a_path_in_the_lock_is_safe_to_print(tmp_path):
    file = Path("/ops/\x1b[31m\udcff.json")
    with locked(tmp_path, since=NOW, command="apply", plan=ONE, file=file):
        assert holder(tmp_path).does(TWO) == (
            r"executing another plan (/ops/\x1b[31m?.json, 5f0c9a7d21be)"
        )


def test_a_killed_run_holds_nothing(tmp_path):
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from rackwise.adapters.files.state_folder import locked\n"
        "with locked(Path(sys.argv[1]), since='then', command='apply'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert process.returncode == -9
    assert "then" in (tmp_path / "lock").read_text()
    assert holder(tmp_path) is None
    with locked(tmp_path, since=NOW, command="apply"):
        pass


def test_a_lock_that_cannot_be_made(tmp_path):
    with pytest.raises(JournalUnwritable), locked(tmp_path / "none", since=NOW, command="apply"):
        pytest.fail("no folder")
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(JournalUnwritable), locked(tmp_path, since=NOW, command="apply"):
        pytest.fail("a link")


def test_a_lock_that_nobody_holds(tmp_path):
    assert holder(tmp_path) is None
    with locked(tmp_path, since=NOW, command="apply"):
        pass
    assert holder(tmp_path) is None


@pytest.mark.parametrize("text", ["", "412 2026-01-02T03:04:05Z", "[]", '{"pid":', '{"pid":4}'])
def test_a_lock_whose_text_says_nothing(tmp_path, text):
    """It may be of any plan: a run that has just begun, or one of an earlier version."""
    with locked(tmp_path, since=NOW, command="apply", plan=ONE):
        (tmp_path / "lock").write_text(text)
        found = holder(tmp_path)
    assert found == LockHolder()
    assert found.runs(TWO)
    assert lock_error(tmp_path, found, TWO).message == (
        "expected no other run on this cluster, got process unknown, which has been executing a "
        "plan since unknown"
    )


def test_who_asks_for_the_holder_keeps_no_run_away(tmp_path):
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        over = threading.Timer(0.02, fcntl.flock, [asking, fcntl.LOCK_UN])
        over.start()
        with locked(tmp_path, since=NOW, command="apply"):
            assert holder(tmp_path).pid == str(os.getpid())
        over.join()
