"""Runs the steps of a night: commands of Rackwise as processes of their own.

A process takes its memory with it when it ends, cannot stop the other steps when it fails, and can
be repeated by hand from its words. It ends when this process ends, even if it is killed.

The output goes to nameless files, so that a command never waits for a reader. What it printed on
stdout is written to the file of the step whole, after success.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any, Final

from rackwise.adapters import dies_with_parent
from rackwise.core.errors import InvalidConfig, WorldError
from rackwise.core.json.strict import parse

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

TIMED_OUT: Final = 124
"""Exit code of a step that did not end in time, as of `timeout`."""
NOT_STARTED: Final = 126
"""Exit code of a step that cannot be started, as of a shell."""
STOP_S: Final = 10.0
"""A step that has not ended this long after SIGTERM is killed."""
_MOST_STDERR: Final = 65_536
_MOST_STDOUT: Final = 2**30
_LONGEST_REASON: Final = 400
_HINT: Final = "hint:"


@dataclass(frozen=True, slots=True, kw_only=True)
class StepEnd:
    """How a step ended."""

    exit: int
    """Exit code, 128 + n for signal n."""
    reason: str | None
    """The line of stderr that names the error; None if there is none."""
    hint: str | None
    """What to do about it, as the error says; None if it does not."""
    stdout: bytes
    took_ms: int


class StepNotStarted(WorldError):
    """The system has no process or memory for a step."""


class StepProcess:
    """A step that runs; `words`: those after `rackwise`; `scratch`: a folder for its output.

    Raises `StepNotStarted`, and `WorldError` if the folder takes no file.
    """

    def __init__(
        self, words: Sequence[str], *, environ: Mapping[str, str], scratch: Path, now_ms: int
    ) -> None:
        self._began_ms = now_ms
        self._is_late = False
        self._out, self._err = _output_files(scratch)
        try:
            self._process = subprocess.Popen(  # noqa: S603 (commands of ours)
                [
                    sys.executable,
                    "-I",
                    "-S",
                    dies_with_parent.__file__,
                    str(os.getpid()),
                    sys.executable,
                    "-P",
                    "-m",
                    "rackwise.cli",
                    *words,
                ],
                env=dict(environ),
                stdin=subprocess.DEVNULL,
                stdout=self._out,
                stderr=self._err,
                start_new_session=True,
            )
        except OSError as cause:
            self._drop_output()
            raise StepNotStarted(
                f"the system started no process: {cause.strerror}",
                wanted="a process",
                had=cause.strerror,
                hint="raise the limits of processes and memory, or give a smaller --parallel",
            ) from None

    def ended(self, now_ms: int, *, limit_ms: int) -> StepEnd | None:
        """How it ended; None while it runs. After `limit_ms` it is ended."""
        if self._process.poll() is None and now_ms - self._began_ms >= limit_ms:
            self._is_late = True
            self.stop()
        status = self._process.poll()
        if status is None:
            return None
        code = status if status >= 0 else 128 - status
        took_ms = max(0, now_ms - self._began_ms)
        reason, hint = cause_of(self._tail(self._err, _MOST_STDERR))
        if self._is_late:
            code, reason, hint = TIMED_OUT, f"it did not end within {limit_ms / 1000:g} s", None
        self._out.seek(0)
        stdout = self._out.read(_MOST_STDOUT)
        self.close()
        return StepEnd(exit=code, reason=reason, hint=hint, stdout=stdout, took_ms=took_ms)

    def terminate(self) -> None:
        """Ask the process to end, and do not wait."""
        self._process.terminate()

    def stop(self, patience_s: float = STOP_S) -> None:
        """End the process: SIGTERM, then SIGKILL."""
        self.terminate()
        try:
            self._process.wait(patience_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def close(self, patience_s: float = STOP_S) -> None:
        """End the process if it runs, and drop its output."""
        if self._process.poll() is None:
            self.stop(patience_s)
        self._drop_output()

    def _drop_output(self) -> None:
        for each in (self._out, self._err):
            with suppress(OSError):
                each.close()

    @staticmethod
    def _tail(file: IO[bytes], size: int) -> str:
        end = file.seek(0, os.SEEK_END)
        file.seek(max(0, end - size))
        return file.read(size).decode("utf-8", "replace")


def close_all(processes: Sequence[StepProcess]) -> None:
    """End all processes at once: together they have `STOP_S` before they are killed."""
    for each in processes:
        each.terminate()
    end_s = time.monotonic() + STOP_S
    for each in processes:
        each.close(max(0.0, end_s - time.monotonic()))


def _output_files(scratch: Path) -> tuple[IO[bytes], IO[bytes]]:
    """Nameless files for stdout and stderr. Raises `WorldError`."""
    with ExitStack() as opened:
        try:
            out = opened.enter_context(tempfile.TemporaryFile(dir=scratch))
            err = opened.enter_context(tempfile.TemporaryFile(dir=scratch))
        except OSError as cause:
            raise WorldError(
                f"cannot start a step in {scratch}: {cause.strerror}",
                wanted="a folder that can be written to",
                had=cause.strerror,
                hint="free the disk, then run the command again: it continues",
                where=str(scratch),
            ) from None
        opened.pop_all()
    return out, err


def cluster_id_of(stdout: bytes) -> str | None:
    """The id that a command with `--json` printed about its cluster; None if there is none."""
    found = _json_object(stdout).get("cluster_id")
    return found if isinstance(found, str) else None


def cause_of(stderr: str) -> tuple[str | None, str | None]:
    """The last error of a command, else its last line; and the hint of that error."""
    lines = [line.strip() for line in stderr.splitlines() if line.strip()]
    errors = [place for place, line in enumerate(lines) if line.startswith(("error:", "{"))]
    if not errors:
        return (lines[-1][:_LONGEST_REASON] if lines else None), None
    told, rest = lines[errors[-1]], lines[errors[-1] + 1 :]
    printed = _json_object(told.encode())
    if "message" in printed:
        told, hint = f"error: {printed['message']}", printed.get("hint")
    else:
        is_told = bool(rest) and rest[0].startswith(_HINT)
        hint = rest[0].removeprefix(_HINT).strip() if is_told else None
    return told[:_LONGEST_REASON], hint[:_LONGEST_REASON] if isinstance(hint, str) else None


def _json_object(data: bytes) -> Mapping[str, Any]:
    """What a command of ours printed with `--json`; empty if it is no such object."""
    try:
        found = parse(data, where="a step", error=InvalidConfig)
    except InvalidConfig:
        return {}
    return found if isinstance(found, dict) else {}
