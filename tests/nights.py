"""Nights of `rackwise nightly` as processes: run, killed, and what their folder has."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from rackwise.adapters import files
from rackwise.adapters.clock import SHIFT
from rackwise.adapters.nightly_steps import StepEnd, StepProcess, cause_of
from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from refusals import called

COMMAND = [sys.executable, "-m", "rackwise.cli"]
FIRST, SECOND, THIRD = (f"2026-11-{day}T02:00:00Z" for day in (26, 27, 28))


class Ended(NamedTuple):
    """How a run ended."""

    code: int
    out: str
    err: str


class StepHere(StepProcess):
    """A step that runs its command in this process, for nights that are not about processes."""

    def __init__(self, words, **_):
        self._ended = called(*words)

    def ended(self, *_, **__):
        code, out, err = self._ended
        reason, hint = cause_of(err)
        return StepEnd(exit=code, reason=reason, hint=hint, stdout=out.encode(), took_ms=1)

    def close(self, *_):
        pass


class Fleet:
    """A fleet file and the folder of its nights. `clusters`: name -> keys of its table."""

    def __init__(self, folder: Path, clusters, *, url=None, defaults=()):
        self.file = folder / "rackwise.toml"
        self.data = folder / "data"
        self.url = url
        self.words = ["--measure", "1s"]
        self.write(clusters, defaults=defaults)

    def write(self, clusters, *, defaults=()):
        tables = {"defaults": dict(defaults)} | {
            f"clusters.{name}": keys for name, keys in clusters.items()
        }
        self.file.write_text(
            "".join(
                f"[{name}]\n" + "".join(f'{key} = "{value}"\n' for key, value in keys.items())
                for name, keys in tables.items()
            )
        )

    def command(self, at, *words):
        """The words of a run of the night, and its variables beside those of this process."""
        options = ["--fleet", str(self.file), "--out", str(self.data), "--at", at, *self.words]
        if self.url is None:
            return [*words, "nightly", *options], {}
        notify = ["--notify", "${env:RACKWISE_HOOK}"]
        return [*words, "nightly", *options, *notify], {"RACKWISE_HOOK": self.url}

    def started(self, at, *words):
        """A run of the night, as a process."""
        command, environ = self.command(at, *words)
        return subprocess.Popen(
            [*COMMAND, *command],
            env=os.environ | environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def night(self, at, *words):
        """A run of the night to its end."""
        return ended(self.started(at, *words))

    def called(self, at, *words):
        """A run of the night in this process; its steps are processes."""
        command, environ = self.command(at, *words)
        with pytest.MonkeyPatch.context() as patch:
            # A night sets it; so it is absent again after the block.
            for name, value in {SHIFT: "0", **environ}.items():
                patch.setenv(name, value)
            return Ended(*called(*command))

    def killed(self, at, after_s):
        """A run that is killed; the result if it ended before."""
        process = self.started(at)
        try:
            process.wait(after_s)
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
        return ended(process)

    def state(self):
        return document(self.data / "nightly.json")

    def runs(self):
        """(step, clusters) -> the last run of the step."""
        return {(run["step"], *run["clusters"]): run for run in self.state()["night"]["runs"]}

    def exits(self):
        return {step: run["exit"] for step, run in self.runs().items()}

    def summary(self):
        return files.read_published(self.data / "result").summary

    def moves(self, cluster, day):
        plan = files.read_plan(self.data / "plans" / cluster / f"{day}.json")
        return [(each.topic, each.partition, each.after) for each in plan.moves]

    def texts(self):
        """The content of every file of the folder."""
        return {path: path.read_bytes() for path in self.data.rglob("*") if path.is_file()}


def ended(process):
    out, err = process.communicate(timeout=280)
    return Ended(process.returncode, out, err)


def document(path):
    return parse(Path(path).read_bytes(), where=str(path), error=InvalidConfig)
