"""The shell around every command: exit codes, streams, signals, errors, colour, progress."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

import pytest

import rackwise
import rackwise.cli.main as command_line
from rackwise.cli.main import global_options, globals_first, run
from rackwise.cli.shell import Meter, Shell, Terminated, version
from rackwise.core.byte_sizes import size_in_bytes
from rackwise.core.errors import InvalidConfig, RackwiseError
from rackwise.core.json.strict import parse

REPORT = "hint: run again with --debug and report the output\n"
SOURCE = Path(rackwise.__file__).parents[1]
PROBE = """
import sys, types, typer
from rackwise.cli.app import COMMANDS, Command
from rackwise.cli.main import run
from rackwise.core.errors import (
    InvalidPlan, OtherFormat, PartialFailure, Unreachable, AuditFailed, JavaMissing)

def probe(context: typer.Context, what: str) -> int:
    shell = context.obj
    if what == "speak":
        for number in range(100000):
            shell.text(str(number))
    if what == "wait":
        shell.note("waiting")
        while True:
            sys.stdin.readline()
    if what == "stubborn":
        try:
            shell.note("waiting")
            sys.stdin.readline()
        finally:
            shell.note("cleaning up")
            sys.stdin.readline()
    if what == "memory":
        bytearray(2**62)
    if what == "array":
        import numpy as np

        np.zeros(2**50)
    if what == "bug":
        raise KeyError("hidden\\x1b")
    if what == "disk":
        raise OSError(28, "No space left on device", "/data/x")
    if what == "file":
        open("/dev/full", "wb", buffering=0).write(b"x")
    if what == "pipe":
        raise BrokenPipeError(32, "Broken pipe")
    if what == "reset":
        raise ConnectionResetError(104, "Connection reset by peer")
    if what == "slow":
        raise TimeoutError("timed out")
    if what == "quiet":
        raise TimeoutError
    if what == "fork":
        raise OSError(12, "Cannot allocate memory")
    if what == "thread":
        raise RuntimeError("can't start new thread")
    if what == "lost":
        shell.text("\\udc80 \\u00e9")
    if what == "multi":
        raise Unreachable("nobody", hint="log line 1\\nlog \\x1b li\\u2028ne 2")
    if what == "hostile":
        shell.document({"rack": "a\\x9b\\u202e\\u2028\\U000e0001 \\u00e9"})
    raised = {"input": InvalidPlan("a\\x1b\\x9bb", wanted=1, had=float, hint="mend", where="$.x"),
              "audit": AuditFailed("found", findings=[1]),
              "partial": PartialFailure("half", done=[1], failed=[2]),
              "refused": OtherFormat("no"),
              "world": Unreachable("nobody"),
              "missing": JavaMissing("no java")}
    if what in raised:
        raise raised[what]
    return int(what) if what.isdigit() else 0

module = sys.modules["rackwise.cli.probe"] = types.ModuleType("probe")
module.probe = probe
COMMANDS["probe"] = Command("probe", "A probe")
sys.exit(run(sys.argv[1:]))
"""


@contextmanager
def started(*arguments, **options):
    """A probe process whose streams are pipes unless stated otherwise."""
    pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
    command = [sys.executable, "-c", PROBE, *arguments]
    with subprocess.Popen(command, text=True, **{**pipes, **options}) as process:
        try:
            yield process
        finally:
            process.kill()


def probe(*arguments, **options):
    with started(*arguments, **options) as process:
        out, talk = process.communicate(timeout=60)
    return process.returncode, out, talk


def document(text):
    return parse(text.encode(), where="stderr", error=InvalidConfig)


class TestExitCodes:
    @pytest.mark.parametrize("code", [0, 2, 3, 4])
    def test_a_command_gives_its_own(self, code):
        assert probe("probe", str(code)) == (code, "", "")

    @pytest.mark.parametrize(
        ("what", "code", "talk"),
        [
            ("input", 1, "error: a\\x1b\\x9bb\nhint: mend\n"),
            ("audit", 2, "error: found\n"),
            ("partial", 3, "error: half\n"),
            ("refused", 4, "error: no\n"),
            ("world", 1, "error: nobody\n"),
            ("missing", 1, "error: no java\n"),
            ("multi", 1, "error: nobody\nhint: log line 1\nlog \\x1b li\\u2028ne 2\n"),
            (
                "disk",
                1,
                (
                    "error: /data/x: No space left on device\n"
                    "hint: check the disk and the target of the output\n"
                ),
            ),
            (
                "memory",
                1,
                (
                    "error: memory exhausted: an allocation failed\n"
                    "hint: use a machine with more memory; plan needs less with --topics, analyze "
                    "with --no-plans\n"
                ),
            ),
            (
                "array",
                1,
                (
                    "error: memory exhausted: Unable to allocate 8.00 PiB for an array with shape "
                    "(1125899906842624,) and data type float64\n"
                    "hint: use a machine with more memory; plan needs less with --topics, analyze "
                    "with --no-plans\n"
                ),
            ),
            (
                "fork",
                1,
                (
                    "error: memory exhausted: [Errno 12] Cannot allocate memory\n"
                    "hint: use a machine with more memory; plan needs less with --topics, analyze "
                    "with --no-plans\n"
                ),
            ),
            (
                "thread",
                1,
                (
                    "error: memory exhausted: can't start new thread\n"
                    "hint: raise the limits of threads and memory of this process\n"
                ),
            ),
            (
                "file",
                1,
                (
                    "error: a file: No space left on device\n"
                    "hint: check the disk and the target of the output\n"
                ),
            ),
            *(
                (what, 1, f"error: internal error: {said}\n{REPORT}")
                for what, said in (
                    ("pipe", "BrokenPipeError: [Errno 32] Broken pipe"),
                    ("reset", "ConnectionResetError: [Errno 104] Connection reset by peer"),
                    ("slow", "TimeoutError: timed out"),
                    ("quiet", "TimeoutError"),
                )
            ),
            (
                "bug",
                1,
                (
                    "error: internal error: KeyError: 'hidden\\x1b'\n"
                    "hint: run again with --debug and report the output\n"
                ),
            ),
        ],
    )
    def test_each_branch_of_the_tree_has_one(self, what, code, talk):
        assert probe("probe", what) == (code, "", talk)

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ([], "Missing command"),
            (["nonsense"], "No such command 'nonsense'"),
            (["audit", "--nonsense"], "No such option: --nonsense"),
            (["audit", "--snapshot"], "Option '--snapshot' requires an argument"),
            (["audit", "extra"], "Got unexpected extra argument(s) (extra)"),
            (["audit", "--color"], "No such option: --color"),
            (
                ["--color", "pink", "audit"],
                "invalid --color: expected auto, always or never, got pink",
            ),
            (
                ["--max-input", "5 apples", "audit"],
                "expected a size such as 256MiB, got '5 apples'",
            ),
        ],
    )
    def test_a_usage_error_is_1_never_2(self, capsys, arguments, message):
        assert run(arguments) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.startswith(f"error: {message}")
        assert "\nhint: " in captured.err

    def test_help_and_version_are_data(self, capsys):
        assert run(["--help"]) == 0
        captured = capsys.readouterr()
        assert "audit" in captured.out
        assert captured.err == ""
        assert run(["audit", "--help"]) == 0
        assert "--fail-on" in capsys.readouterr().out
        assert run(["--version"]) == 0
        assert capsys.readouterr().out == f"rackwise {version()}\n"

    @pytest.mark.parametrize("what", ["bug", "pipe", "slow"])
    def test_a_traceback_only_under_debug(self, what):
        code, out, talk = probe("probe", what, "--debug")
        assert (code, out) == (1, "")
        assert talk.startswith("Traceback (most recent call last)")
        assert "Traceback" not in probe("probe", what)[2]

    @pytest.mark.parametrize("what", ["disk", "file", "fork"])
    def test_no_traceback_of_what_the_system_says_also_under_debug(self, what):
        assert probe("probe", what, "--debug") == probe("probe", what)


class TestStreams:
    def test_a_reader_that_leaves_ends_the_command(self):
        with started("probe", "speak") as process:
            assert process.stdout.readline() == "0\n"
            process.stdout.close()
            assert process.wait(timeout=60) == 141
            assert process.stderr.read() == ""

    @pytest.mark.parametrize("encoding", ["utf-8", "ascii"])
    @pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["probe", "speak"]])
    def test_a_stdout_that_is_closed(self, arguments, encoding):
        command = [sys.executable, "-c", PROBE, *arguments]
        done = subprocess.run(
            ["/bin/sh", "-c", 'exec "$@" >&-', "sh", *command],
            env={**os.environ, "PYTHONIOENCODING": encoding},
            capture_output=True,
            check=False,
        )
        assert (done.returncode, done.stderr) == (141, b"")

    def test_no_stream_at_all(self):
        command = [sys.executable, "-c", PROBE, "probe", "input"]
        script = 'exec "$@" <&- >&- 2>&-'
        done = subprocess.run(["/bin/sh", "-c", script, "sh", *command], check=False)
        assert done.returncode == 1

    @pytest.mark.parametrize("arguments", [["--help"], ["probe", "speak"]])
    def test_a_disk_that_is_full(self, arguments):
        with open("/dev/full", "w") as full:  # noqa: PTH123 (a device)
            code, _, talk = probe(*arguments, stdout=full)
        assert code == 1
        assert talk == (
            "error: stdout: No space left on device\n"
            "hint: check the disk and the target of the output\n"
        )

    def test_nobody_who_listens_to_the_talk_is_no_reason_to_stop(self):
        with started("probe", "world") as process:
            process.stderr.close()
            assert process.wait(timeout=60) == 1

    def test_what_the_terminal_cannot_show_is_escaped(self):
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        assert probe("probe", "lost", env=environment) == (0, "\\udc80 \\xe9\n", "")


class TestSignals:
    @pytest.mark.parametrize(
        ("number", "code"),
        [(signal.SIGTERM, 143), (signal.SIGINT, 130), (signal.SIGHUP, 129)],
    )
    def test_one_ends_the_command_in_order(self, number, code):
        with started("probe", "wait") as process:
            assert process.stderr.readline() == "waiting\n"
            process.send_signal(number)
            assert process.wait(timeout=60) == code
            assert process.stderr.read() == ""

    @pytest.mark.parametrize(("stop", "code"), [(KeyboardInterrupt, 130), (Terminated, 143)])
    def test_one_while_a_command_is_loaded_too(self, monkeypatch, stop, code):
        def loads(*_):
            raise stop

        monkeypatch.setattr(command_line, "build_app", loads)
        assert run(["plan"]) == code

    def test_ctrl_c_while_packages_load_shows_no_traceback(self, tmp_path):
        (tmp_path / "typer.py").write_text("import os; os.kill(os.getpid(), 2)")
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", "plan"],
            env={**os.environ, "PYTHONPATH": f"{tmp_path}{os.pathsep}{SOURCE}"},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "", "")

    def test_a_second_sigterm_ends_it_at_once(self):
        with started("probe", "stubborn") as process:
            assert process.stderr.readline() == "waiting\n"
            process.send_signal(signal.SIGTERM)
            assert process.stderr.readline() == "cleaning up\n"
            process.send_signal(signal.SIGTERM)
            assert process.wait(timeout=60) == -signal.SIGTERM


class TestJson:
    def test_an_error_is_one_line_on_stderr(self):
        code, out, talk = probe("--json", "probe", "input")
        assert (code, out) == (1, "")
        assert talk.endswith("\n")
        assert talk[:-1].isprintable()
        assert document(talk) == {
            "error": "InvalidPlan",
            "message": "a\x1b\x9bb",
            "wanted": 1,
            "had": "<class 'float'>",
            "hint": "mend",
            "where": "$.x",
        }

    @pytest.mark.parametrize("arguments", [["audit", "--nonsense", "--json"], ["--json"]])
    def test_a_usage_error_as_well(self, capsys, arguments):
        assert run(arguments) == 1
        captured = capsys.readouterr()
        assert captured.out == ""
        assert document(captured.err)["error"] == "InvalidConfig"

    def test_no_character_of_a_document_acts_on_the_terminal(self):
        out = probe("--json", "probe", "hostile")[1]
        assert out == '{"rack": "a\\u009b\\u202e\\u2028\\udb40\\udc01 é"}\n'
        assert document(out) == {"rack": "a\x9b\u202e\u2028\U000e0001 é"}

    def test_an_internal_error_as_well(self):
        talk = probe("probe", "bug", "--json")[2]
        assert document(talk)["message"] == "internal error: KeyError: 'hidden\\x1b'"


class TestGlobalOptions:
    @pytest.mark.parametrize(
        ("arguments", "front", "rest"),
        [
            (["audit", "--json"], ["--json"], ["audit"]),
            (["--quiet", "audit", "--debug"], ["--quiet", "--debug"], ["audit"]),
            (["audit", "--color", "never", "x"], ["--color", "never"], ["audit", "x"]),
            (["audit", "--max-input=5MB"], ["--max-input=5MB"], ["audit"]),
            (["audit", "--", "--json"], [], ["audit", "--", "--json"]),
            (["audit", "--jsonish"], [], ["audit", "--jsonish"]),
            (["audit", "--color"], [], ["audit", "--color"]),
        ],
    )
    def test_they_may_stand_anywhere_before_the_dashes(self, arguments, front, rest):
        assert global_options(arguments) == front
        assert globals_first(arguments) == [*front, *rest]

    def test_the_shell_has_them(self):
        assert Shell.of(["--json", "--quiet", "--debug", "--color", "never"]) == Shell(
            is_json=True, is_quiet=True, is_debug=True, color="never"
        )
        assert Shell.of(["--max-input=5MB"]).max_input == 5_000_000
        assert Shell.of([]) == Shell()

    @pytest.mark.parametrize(
        ("text", "size"),
        [("5", 5), ("5B", 5), ("2kB", 2000), ("2KiB", 2048), ("256MiB", 2**28), ("1GB", 10**9)],
    )
    def test_sizes(self, text, size):
        assert size_in_bytes(text) == size

    @pytest.mark.parametrize(
        "text", ["", "0", "-1", "1.5MB", "5mb", "5Mbit", "MB", "٣", "1 MB", "9" * 5000]
    )
    def test_no_sizes(self, text):
        with pytest.raises(InvalidConfig, match="expected a size such as 256MiB") as raised:
            size_in_bytes(text)
        assert len(raised.value.message) < 100
        assert raised.value.hint == "units: B kB MB GB TB KiB MiB GiB TiB; a bare number is bytes"


class Terminal:
    """A stream that is a terminal."""

    def __init__(self):
        self.text = ""

    def write(self, text):
        self.text += text

    def flush(self):
        """Nothing is kept back."""

    def isatty(self):
        return True


class TestColour:
    @pytest.mark.parametrize(
        ("option", "no_color", "has_color"),
        [
            ("auto", None, True),
            ("auto", "", True),
            ("auto", "1", False),
            ("always", "1", True),
            ("never", None, False),
        ],
    )
    def test_option_then_environment_then_terminal(self, monkeypatch, option, no_color, has_color):
        monkeypatch.setattr(sys, "stdout", Terminal())
        monkeypatch.setattr(sys, "stderr", Terminal())
        monkeypatch.delenv("NO_COLOR", raising=False)
        if no_color is not None:
            monkeypatch.setenv("NO_COLOR", no_color)
        shell = Shell(color=option)
        assert shell.has_color() == has_color
        assert shell.has_color(stderr=True) == has_color
        shell.error(RackwiseError("x"))
        assert ("\x1b[31merror:\x1b[0m x" in sys.stderr.text) == has_color
        assert "error:" in sys.stderr.text

    def test_none_without_a_terminal(self):
        assert "\x1b[" not in probe("probe", "input")[2]
        assert "\x1b[31m" in probe("probe", "input", "--color", "always")[2]


class TestTalk:
    def test_quiet_keeps_warnings_and_errors(self, capsys):
        shell = Shell(is_quiet=True)
        shell.note("note")
        shell.warn("warning")
        shell.error(RackwiseError("error"))
        captured = capsys.readouterr()
        assert (captured.out, captured.err) == ("", "warning: warning\nerror: error\n")

    def test_long_names_are_cut_for_people_and_whole_in_documents(self, capsys, monkeypatch):
        name = "a" * 5_000 + " b" * 5_000
        shell = Shell()
        for show in (shell.text, shell.note, shell.warn):
            show(name)
            captured = capsys.readouterr()
            assert max(map(len, (captured.out + captured.err).split("\n"))) < 5_000
        shell.document({"group": name})
        assert name in capsys.readouterr().out
        monkeypatch.setattr("rackwise.cli.shell.terminal_width", lambda **_: 80)
        Shell(is_json=True).error(RackwiseError("odd group", had="é\x9b" * 5_000, where=name))
        (line,) = capsys.readouterr().err.splitlines()
        assert parse(line.encode(), where="stderr", error=InvalidConfig)["where"] == name

    def test_a_document_has_sorted_keys_and_no_nan(self, capsys):
        Shell().document({"b": 1, "a": "é"})
        assert capsys.readouterr().out == '{"a": "é", "b": 1}\n'
        with pytest.raises(ValueError, match="not JSON compliant"):
            Shell().document({"a": float("nan")})


class TestProgress:
    def test_short_work_is_silent(self, capsys):
        with Shell().progress("reading", 10) as advance:
            for _ in range(10):
                advance(1)
        assert capsys.readouterr() == ("", "")

    def test_without_a_terminal_a_line_now_and_then(self, capsys):
        meter = Meter(Shell(), "reading", 100)
        meter._started -= 30
        meter._last_line -= 30
        meter.advance(50)
        meter.advance(1)
        meter.close()
        assert capsys.readouterr().err == "reading: 50/100, 2/s, 30 s left\n"

    def test_of_an_unknown_whole(self, capsys):
        meter = Meter(Shell(), "reading", None)
        meter._started -= 30
        meter._last_line -= 30
        meter.advance(90)
        assert capsys.readouterr().err == "reading: 90, 3/s\n"

    def test_quiet(self, capsys):
        meter = Meter(Shell(is_quiet=True), "reading", None)
        meter._started -= 30
        meter._last_line -= 30
        meter.advance(90)
        assert capsys.readouterr().err == ""

    def test_on_a_terminal_a_bar_that_goes_away(self, monkeypatch):
        monkeypatch.setattr(sys, "stderr", Terminal())
        meter = Meter(Shell(), "reading", 100)
        meter._started -= 30
        meter.advance(50)
        meter.close()
        assert "reading" in sys.stderr.text
        assert "50/100" in sys.stderr.text


def test_the_command_line_without_its_packages_says_what_to_install():
    script = "import sys; sys.modules['typer'] = None; from rackwise.cli import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert done.returncode == 1
    assert done.stderr == (
        "error: typer is required by the command line, but it is not installed\n"
        "hint: pip install rackwise\n"
    )


def test_the_module_is_the_command():
    command = [sys.executable, "-m", "rackwise.cli", "--version"]
    assert subprocess.check_output(command, text=True) == f"rackwise {version()}\n"


ONE_THREAD = """
import os, sys
from rackwise.cli import main
sys.argv = ["rackwise", "--version"]
try:
    main()
except SystemExit:
    import numpy
    print(len(os.listdir("/proc/self/task")), os.environ["OPENBLAS_NUM_THREADS"])
"""


@pytest.mark.parametrize("given", [None, "2"])
def test_a_command_starts_no_threads_for_linear_algebra_unless_the_user_asks(given):
    environ = {name: value for name, value in os.environ.items() if "OPENBLAS_NUM" not in name}
    if given is not None:
        environ["OPENBLAS_NUM_THREADS"] = given
    shown = subprocess.run(
        [sys.executable, "-c", ONE_THREAD], capture_output=True, text=True, check=True, env=environ
    )
    threads, setting = shown.stdout.splitlines()[-1].split()
    assert (threads, setting) == (("1", "1") if given is None else (threads, given))


def test_a_start_without_enough_memory_has_no_traceback():
    """From limits in which no package loads to one that suffices, 10 MB apart."""
    for megabytes in range(60, 300, 10):
        limit = (megabytes << 20, megabytes << 20)
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", "audit", "--snapshot", "missing.json"],
            check=False,
            capture_output=True,
            text=True,
            preexec_fn=lambda limit=limit: resource.setrlimit(resource.RLIMIT_AS, limit),
        )
        assert done.returncode != 0, megabytes
        assert "Traceback" not in done.stderr, megabytes
        assert "internal error" not in done.stderr, megabytes
    assert done.stderr.startswith("error: missing.json cannot be read"), "the last limit suffices"
