"""Completion: what may stand at the cursor, and Tab in real shells."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import termios
from contextlib import contextmanager
from pathlib import Path

import pytest
import typer

import rackwise
from debian_packages import fetch
from rackwise.cli.app import COMMANDS, build_app
from rackwise.cli.main import run
from rackwise.cli.usage.completion import COMPLETE, LINE, candidates, words_of
from rackwise.cli.usage.help import Command
from terminals import terminal

ROOT = Path(__file__).parents[2]
PACKAGES = ("zsh", "zsh-common", "fish", "fish-common", "libpcre2-32-0")
UNPACKED = ROOT / "build" / "shells"


def values(line):
    return [each.value for each in candidates(line, COMMANDS, build_app)]


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("rackwise pl", ["plan", "place", "placers"]),
        ("rackwise --json pl", ["plan", "place", "placers"]),
        ("rackwise --color never pl", ["plan", "place", "placers"]),
        ("rackwise nonsense pl", []),
        ("rackwise --c", ["--color"]),
        ("rackwise --color ", ["auto", "always", "never"]),
        ("rackwise --show-completion z", ["zsh"]),
        ("rackwise plan re", ["repair", "replace"]),
        ("rackwise plan --json re", ["repair", "replace"]),
        ("rackwise plan --out p.json re", ["repair", "replace"]),
        ("rackwise plan --color always re", ["repair", "replace"]),
        ("rackwise plan repair --mi", ["--minimise"]),
        ("rackwise plan repair --minimise ", ["moves", "bytes", "usd"]),
        ("rackwise plan repair --minimise=b", ["--minimise=bytes"]),
        ("rackwise plan repair --he", ["--help"]),
        ("rackwise plan repair --js", ["--json"]),
        ("rackwise plan repair --color=n", ["--color=never"]),
        ("rackwise plan repair --snapshot ", []),
        ("rackwise plan repair --fleet --mi", ["--minimise"]),
        ("rackwise plan --fleet --json re", ["repair", "replace"]),
        ("rackwise plan repair --fleet ", []),
        ("rackwise plan 're", ["repair", "replace"]),
        ("rackwise stream ", ["run", "compact"]),
        ("rackwise stream run --chec", ["--checkpoint"]),
        ("rackwise stream nonsense ", []),
        ("rackwise broker-id acquire --key text:a -- ", []),
        ("rackwise snapshot --bootstrap-server kafka-1:", []),
        ("rackwise", []),
    ],
)
def test_what_may_stand_at_the_cursor(line, wanted):
    assert values(line) == wanted


def test_every_command_and_option_is_completed():
    assert values("rackwise ") == [*COMMANDS]
    for option in ("--snapshot", "--bootstrap-server", "--out", "--json", "--quiet"):
        assert option in values("rackwise plan repair --")


def test_words_of_a_line():
    assert words_of("rackwise plan --out 'my pl") == ["rackwise", "plan", "--out", "my pl"]
    assert words_of('rackwise "a b" ') == ["rackwise", "a b", ""]


def test_an_option_completes_by_its_own_function():
    """`typer.Option(autocompletion=..)`, with what was typed before."""

    def names(context: typer.Context):
        return [f"{context.params['fleet']}-a", "other"]

    def build(*_):
        app = typer.Typer()
        app.callback()(lambda: None)

        @app.command()
        def look(
            fleet: str = typer.Option("x"),
            cluster: str = typer.Option("", autocompletion=names),
        ):
            return fleet, cluster

        return app

    found = candidates("rackwise look --fleet f --cluster f", {"look": Command("x", "X")}, build)
    assert [each.value for each in found] == ["f-a"]


@pytest.mark.parametrize(
    ("shell", "line", "printed"),
    [
        ("bash", "rackwise stream co", "compact\n"),
        ("bash", "rackwise plan repair --minimise=b", "bytes\n"),
        ("zsh", "rackwise plan repair --minimise=b", "--minimise=bytes\n"),
        ("zsh", "rackwise placers", "placers:List the placers that --placer accepts\n"),
        ("fish", "rackwise placers", "placers\tList the placers that --placer accepts\n"),
        ("bash", "rackwise plan repair --out ", ""),
        ("bash", "rackwise stream nonsense x", ""),
    ],
)
def test_the_answer_to_the_script_of_each_shell(capsys, monkeypatch, shell, line, printed):
    monkeypatch.setenv(COMPLETE, shell)
    monkeypatch.setenv(LINE, line)
    assert run([]) == 0
    assert capsys.readouterr() == (printed, "")


def test_names_of_commands_load_none_of_them():
    script = "import sys; from rackwise.cli.main import run; run([]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script],
        env={**os.environ, COMPLETE: "bash", LINE: "rackwise pla"},
        capture_output=True,
        text=True,
        check=True,
    )
    *lines, loaded = done.stdout.splitlines()
    assert lines == ["plan", "place", "placers"]
    assert "rackwise.cli.plan.plan" not in loaded.split()


def test_a_shell_without_a_script_is_an_error(capsys):
    assert run(["--show-completion", "tcsh"]) == 1
    assert capsys.readouterr().err.startswith(
        "error: invalid --show-completion: expected bash, zsh or fish, got tcsh\n"
    )


@contextmanager
def interactive(tmp_path, *command, **environment):
    """A shell with a keyboard, and `rackwise` on its PATH: yields its screen."""
    program = tmp_path / "bin" / "rackwise"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m rackwise.cli "$@"\n')
    program.chmod(0o755)
    known = {
        "PATH": f"{program.parent}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "TERM": "xterm",
        "LANG": "C.UTF-8",
        "PYTHONPATH": str(Path(rackwise.__file__).parents[1]),
    }
    with terminal(200) as (side, screen):
        shell = subprocess.Popen(
            command,
            stdin=side,
            stdout=side,
            stderr=side,
            cwd=tmp_path,
            env=known | environment,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (no threads)
        )
        try:
            yield screen
        finally:
            shell.kill()
            shell.wait()


CLEAR = "\x15"
"""Ctrl-U deletes the line."""


def check_tab(screen):
    """Commands, values of options in both forms, and files."""
    screen.type("rackwise sna\t")
    screen.wait_for("snapshot")
    screen.type(f"{CLEAR}rackwise plan repair --minimise=b\t")
    screen.wait_for("--minimise=bytes")
    screen.type(f"{CLEAR}rackwise audit --snapshot tod\t")
    screen.wait_for("today.json.gz")
    screen.type(f"{CLEAR}rackwise plan repair --minimise \t\t")
    screen.wait_for("usd")


def test_tab_in_a_real_bash(tmp_path):
    (tmp_path / "today.json.gz").touch()
    with interactive(tmp_path, "bash", "--norc", "--noprofile", "-i") as screen:
        screen.wait_for("$ " if os.geteuid() else "# ")
        screen.type('eval "$(rackwise --show-completion bash)"; echo rea""dy\n')
        screen.wait_for("ready")
        check_tab(screen)


@pytest.fixture(scope="session")
def shells():
    """The folder of Debian's zsh and fish."""
    if not (UNPACKED / "usr" / "bin" / "fish").exists() and (why := fetch(PACKAGES, UNPACKED)):
        pytest.fail(f"zsh and fish cannot be fetched: {why}")
    return UNPACKED


@pytest.mark.long
def test_tab_in_a_real_zsh(tmp_path, shells):
    (tmp_path / "today.json.gz").touch()
    functions = shells / "usr" / "share" / "zsh" / "functions"
    (modules,) = shells.glob("usr/lib/*/zsh/*")
    with interactive(tmp_path, str(shells / "bin" / "zsh"), "-f", "-i") as screen:
        screen.wait_for("# " if os.geteuid() == 0 else "% ")
        screen.type(f"module_path=({modules}); fpath=({functions}/**/*(/) {functions})\n")
        screen.type("autoload -Uz compinit; compinit -u -D\n")
        screen.type('eval "$(rackwise --show-completion zsh)"; echo rea""dy\n')
        screen.wait_for("ready")
        check_tab(screen)


@pytest.mark.long
def test_tab_in_a_real_fish(tmp_path, shells):
    (tmp_path / "today.json.gz").touch()
    functions = shells / "usr" / "share" / "fish" / "functions"
    (library,) = shells.glob("usr/lib/*/libpcre2-32.so.0")
    fish = str(shells / "usr" / "bin" / "fish")
    environment = {"LD_LIBRARY_PATH": str(library.parent)}
    with interactive(tmp_path, fish, "--no-config", "-i", **environment) as screen:
        screen.wait_for("> " if os.geteuid() else "/")
        screen.type(f"set -g fish_function_path {functions}\n")
        screen.type('rackwise --show-completion fish | source; echo rea""dy\n')
        screen.wait_for("ready")
        check_tab(screen)
