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
    cluster_folder,
    holder,
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


def test_the_second_run_is_told_who_has_it(tmp_path):
    with locked(tmp_path, since=NOW):
        with pytest.raises(Locked) as raised, locked(tmp_path, since="later"):
            pytest.fail("both have it")
        assert raised.value.message == (
            f"expected no other run on this cluster, got process {os.getpid()}, running since {NOW}"
        )
        assert stat.S_IMODE((tmp_path / "lock").stat().st_mode) == 0o600
        assert holder(tmp_path) == (str(os.getpid()), NOW)
    with locked(tmp_path, since="later"):
        assert (tmp_path / "lock").read_text() == f"{os.getpid()} later\n"


def test_a_killed_run_holds_nothing(tmp_path):
    script = (
        "import os, signal, sys\n"
        "from pathlib import Path\n"
        "from rackwise.adapters.files.state_folder import locked\n"
        "with locked(Path(sys.argv[1]), since='then'):\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n"
    )
    process = subprocess.run([sys.executable, "-c", script, str(tmp_path)], check=False)
    assert process.returncode == -9
    assert "then" in (tmp_path / "lock").read_text()
    assert holder(tmp_path) is None
    with locked(tmp_path, since=NOW):
        pass


def test_a_lock_that_cannot_be_made(tmp_path):
    with pytest.raises(JournalUnwritable), locked(tmp_path / "none", since=NOW):
        pytest.fail("no folder")
    (tmp_path / "lock").symlink_to("elsewhere")
    with pytest.raises(JournalUnwritable), locked(tmp_path, since=NOW):
        pytest.fail("a link")


def test_a_lock_that_nobody_holds(tmp_path):
    assert holder(tmp_path) is None
    with locked(tmp_path, since=NOW):
        pass
    assert holder(tmp_path) is None


def test_a_lock_whose_text_is_not_written_yet(tmp_path):
    with locked(tmp_path, since=NOW):
        (tmp_path / "lock").write_text("")
        assert holder(tmp_path) == ("unknown", "unknown")


def test_who_asks_for_the_holder_keeps_no_run_away(tmp_path):
    (tmp_path / "lock").touch()
    with (tmp_path / "lock").open() as asking:
        fcntl.flock(asking, fcntl.LOCK_SH)
        over = threading.Timer(0.02, fcntl.flock, [asking, fcntl.LOCK_UN])
        over.start()
        with locked(tmp_path, since=NOW):
            assert holder(tmp_path) == (str(os.getpid()), NOW)
        over.join()
