"""The units: systemd accepts them, they are hardened, and their command exists."""

import os
import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from command_lines import parsed
from deploy_tools import needs
from rackwise.adapters.files.fleet_file import read_fleet_file
from shown_commands import ROOT, blocks_of

FOLDER = ROOT / "deploy" / "systemd"
SERVICE = FOLDER / "rackwise-nightly.service"
TIMER = FOLDER / "rackwise-nightly.timer"
USERS = FOLDER / "rackwise.conf"
ALERTS = ROOT / "docs" / "guides" / "alerts.md"
DEMO = ROOT / "examples" / "demo"
MOST_EXPOSURE = 14
"""Tenths, of 0 to 100; a service without hardening has 96."""
PR_SET_MDWE = 65
needs_systemd = needs("systemd-analyze")


def value(key):
    """The value of a key that the service has once."""
    (found,) = re.findall(rf"^{key}=(.*)$", SERVICE.read_text(), re.MULTILINE)
    return found


def systemd(*words):
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


@needs_systemd
class TestSystemd:
    @pytest.fixture
    def copies(self, tmp_path):
        """The units with a program that is there."""
        program = shlex.split(value("ExecStart"))[0]
        text = SERVICE.read_text().replace(program, sys.executable)
        (tmp_path / SERVICE.name).write_text(text)
        shutil.copy(TIMER, tmp_path)
        return [tmp_path / SERVICE.name, tmp_path / TIMER.name]

    def test_it_finds_no_fault_in_the_units(self, copies):
        assert systemd("systemd-analyze", "verify", *copies) == (0, "")

    def test_it_finds_no_fault_in_the_lines_that_add_notices(self, copies):
        ((_, lines),) = blocks_of(ALERTS, "ini")
        folder = copies[0].with_name(f"{SERVICE.name}.d")
        folder.mkdir()
        program = shlex.split(value("ExecStart"))[0]
        (folder / "override.conf").write_text(lines.replace(program, sys.executable))
        assert systemd("systemd-analyze", "verify", *copies) == (0, "")

    def test_it_finds_a_key_that_does_not_exist(self, copies):
        copies[0].write_text(copies[0].read_text().replace("ProtectClock", "ProtectClok"))
        assert "ProtectClok" in systemd("systemd-analyze", "verify", *copies)[1]

    def test_the_service_is_exposed_to_little(self):
        words = ("systemd-analyze", "security", "--offline=true")
        code, told = systemd(*words, f"--threshold={MOST_EXPOSURE}", SERVICE)
        assert code == 0, told.splitlines()[-1]

    def test_the_timer_has_a_time(self):
        time = re.search("OnCalendar=(.*)", TIMER.read_text())[1]
        assert systemd("systemd-analyze", "calendar", time)[0] == 0

    def test_the_user_is_one_that_sysusers_makes(self):
        code, told = systemd("systemd-sysusers", "--dry-run", USERS)
        assert (code, value("User") in told) == (0, True)


class TestCommand:
    def test_nightly_is_a_command_with_these_options(self):
        program, *words = shlex.split(value("ExecStart"))
        assert program.endswith("/rackwise")
        name, options = parsed(words)
        assert name == "nightly"
        assert Path(options["out"]).name == value("StateDirectory")
        assert value("SuccessExitStatus") == "2"

    def test_a_fleet_file_finds_the_login_where_systemd_puts_it(self, tmp_path):
        name, _ = value("LoadCredential").split(":")
        fleet = tmp_path / "rackwise.toml"
        text = re.search(rf"\$\{{env:CREDENTIALS_DIRECTORY\}}/{name}", SERVICE.read_text())[0]
        fleet.write_text(f'[clusters.prod]\nbootstrap = "a:9092"\ncommand_config = "{text}"\n')
        folder = "/run/credentials/rackwise-nightly.service"
        read = read_fleet_file(fleet, environ={"CREDENTIALS_DIRECTORY": folder})
        assert [each.command_config for each in read.clusters] == [f"{folder}/{name}"]

    def test_commands_run_without_memory_that_is_writable_and_executable(self, tmp_path):
        """As `MemoryDenyWriteExecute=yes` wants; the kernel has it as a flag of a process."""
        assert value("MemoryDenyWriteExecute") == "yes"
        script = (
            "import ctypes, os, sys\n"
            f"ctypes.CDLL(None).prctl({PR_SET_MDWE}, 1, 0, 0, 0)\n"
            "os.execv(sys.executable, [sys.executable, '-m', 'rackwise.cli', *sys.argv[1:]])\n"
        )
        looks = (DEMO / "earlier.json.gz", DEMO / "snapshot.json.gz")
        bill = ("--flows", DEMO / "flows", "--subnets", DEMO / "subnets.csv", "--provider", "aws")
        for words, code in (
            (("plan", "repair", "--snapshot", looks[1], "--out", tmp_path / "plan.json"), 2),
            (("analyze", *looks, *bill, "--engine", "local", "--out", tmp_path / "out"), 0),
        ):
            done = subprocess.run(
                [sys.executable, "-c", script, *words],
                env=dict(os.environ),
                capture_output=True,
                text=True,
                check=False,
            )
            assert done.returncode == code, done.stderr
