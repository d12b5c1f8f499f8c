"""Output of a command: data to stdout, everything else to stderr; JSON or text."""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, is_dataclass
from enum import StrEnum
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from rackwise.core.byte_sizes import size_in_bytes
from rackwise.core.errors import InvalidConfig, MissingDependency, RackwiseError, SparkMissing
from rackwise.core.text import alternatives, escaped, escaped_json, with_short_words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from rackwise.core.json.codec import Codec

MAX_INPUT = "256MiB"
MILLISECONDS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|min|h|d)")
QUIET_S = 2.0
"""Progress is shown only for work that takes longer."""
LINE_EVERY_S = 10.0
"""Without a terminal, progress is one line per interval."""


CHOICE = re.compile(
    r"Invalid value for '(--[a-z-]+|[A-Z]+)': '(.*)' is not (?:one of )?'(.+)'\.", re.DOTALL
)
"""Typer's message for a value that is not among the choices of an option."""


class Terminated(BaseException):
    """Raised when SIGTERM or SIGHUP arrives."""

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__(number)
        self.number = number


def terminal_width(*, stderr: bool = False) -> int | None:
    """Return the columns of the terminal; None if the stream goes elsewhere."""
    try:
        return os.get_terminal_size((sys.stderr if stderr else sys.stdout).fileno()).columns or None
    except (AttributeError, OSError, ValueError):  # a stream may be any object
        return None


class Color(StrEnum):
    """When to use colour."""

    AUTO = "auto"
    ALWAYS = "always"
    NEVER = "never"


def version() -> str:
    """Return the version of the installed package."""
    from importlib.metadata import version as version_of

    return version_of("rackwise")


def parse_duration_ms(option: str, text: str) -> float:
    """Parse `2ms`, `60s`, `1.5h` to milliseconds. Raises `InvalidConfig`."""
    found = DURATION.fullmatch(text)
    if found is None:
        raise InvalidConfig(
            f"invalid {option}: expected a duration such as 60s, got {escaped(text)}",
            wanted=" ".join(MILLISECONDS),
            had=text,
            hint=f"units: {' '.join(MILLISECONDS)}",
        )
    return float(found[1]) * MILLISECONDS[found[2]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Output settings of this run; built once, passed to each command as `ctx.obj`."""

    is_json: bool = False
    is_quiet: bool = False
    is_debug: bool = False
    color: str = Color.AUTO
    max_input_text: str = MAX_INPUT
    cluster_name: str | None = None
    """Name in the fleet file of the cluster that the command reads; None: not one of a file."""

    @classmethod
    def of(cls, options: Sequence[str]) -> Shell:
        """Read the global options. Typer reports invalid values later."""
        values = {"--color": str(Color.AUTO), "--max-input": MAX_INPUT}
        pending = iter(options)
        for option in pending:
            name, is_joined, value = option.partition("=")
            if name in values:
                values[name] = value if is_joined else next(pending, values[name])
        return cls(
            is_json="--json" in options,
            is_quiet="--quiet" in options,
            is_debug="--debug" in options,
            color=values["--color"],
            max_input_text=values["--max-input"],
        )

    @property
    def max_input(self) -> int:
        """The largest size of one input file after unpacking, in bytes."""
        return size_in_bytes(self.max_input_text)

    def has_color(self, *, stderr: bool = False) -> bool:
        """Whether to colour this stream: `--color` decides, then NO_COLOR, then the terminal."""
        if self.color != Color.AUTO:
            return self.color == Color.ALWAYS
        return not os.environ.get("NO_COLOR") and (sys.stderr if stderr else sys.stdout).isatty()

    @property
    def width(self) -> int:
        """Columns of the terminal; 100 without a terminal."""
        return terminal_width() or 100

    def document(self, document: object, codec: Codec | None = None) -> None:
        """Print one JSON document on stdout, keys sorted.

        `document`: a declared dataclass, or plain JSON. `codec`: of the dataclass; default
        `cli.documents.DOCUMENTS`.
        """
        from rackwise.core.json.pieces import json_pieces

        if is_dataclass(document):
            from rackwise.cli.documents import DOCUMENTS

            document = (codec or DOCUMENTS).object(type(document)).streamed(document)
        self.pieces(json_pieces(document))

    def data(self, text: str) -> None:
        """Print data for programs on stdout, unchanged."""
        print(text, flush=True)

    def pieces(self, pieces: Iterable[str]) -> None:
        """Print data for programs on stdout, unchanged, piece by piece, and a line feed."""
        sys.stdout.writelines(pieces)
        print(flush=True)

    def text(self, text: str) -> None:
        """Print text for people on stdout. On a terminal its lines fit."""
        from rackwise.report.fitting import fitted

        print(fitted(with_short_words(text), terminal_width()), flush=True)

    def note(self, text: str) -> None:
        """Print a note on stderr, unless `--quiet`."""
        if not self.is_quiet:
            _say(text)

    def warn(self, text: str) -> None:
        """Print a warning on stderr. It says what to do."""
        _say(self._marked("warning", "33", text))

    def error(self, error: RackwiseError) -> None:
        """Print an error on stderr: a line and a hint for people, or one JSON line."""
        if self.is_json:
            line = escaped_json(json.dumps(error.as_dict(), ensure_ascii=False))
            with suppress(OSError):
                print(line, file=sys.stderr, flush=True)
            return
        _say(self._marked("error", "31", escaped(error.message)))
        if error.hint:
            _say(self._marked("hint", "36", escaped_lines(error.hint)))

    def usage(self, message: str) -> None:
        """Print a usage error."""
        self.error(usage_error(message))

    def internal(self, error: Exception) -> None:
        """Print an internal error without its traceback."""
        parts = ["internal error", type(error).__name__, *str(error).splitlines()[:1]]
        summary = ": ".join(each for each in parts if each)
        self.error(RackwiseError(summary, hint="run again with --debug and report the output"))

    def _marked(self, mark: str, code: str, text: str) -> str:
        return (
            f"\x1b[{code}m{mark}:\x1b[0m {text}"
            if self.has_color(stderr=True)
            else f"{mark}: {text}"
        )

    @contextmanager
    def progress(self, label: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
        """Show progress of work that takes longer than two seconds; yields `advance(count)`.

        A terminal gets a bar with done/total, rate and time left; others get a line every ten
        seconds.
        """
        meter = Meter(self, label, total)
        try:
            yield meter.advance
        finally:
            meter.close()


def _say(text: str) -> None:
    """Print text for people on stderr, on a terminal wrapped at spaces.

    A closed stderr is no error.
    """
    from rackwise.report.fitting import fitted

    text = fitted(with_short_words(text), terminal_width(stderr=True), has_cuts=False)
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)


def usage_error(message: str) -> InvalidConfig:
    """The error of a command line that typer rejects.

    >>> usage_error("Invalid value for '--side': 'both' is not one of 'auto', 'egress'.").message
    'invalid --side: expected auto or egress, got both'
    """
    found = CHOICE.fullmatch(message)
    if found is None:
        return InvalidConfig(
            message.rstrip("."), hint="rackwise --help, or rackwise COMMAND --help"
        )
    option, value, choices = found.groups()
    wanted = alternatives(choices.split("', '"))
    return InvalidConfig(
        f"invalid {option}: expected {wanted}, got {escaped(value)}",
        wanted=wanted,
        had=value,
        hint=f"choose one of these for {option}",
    )


def escaped_lines(text: str) -> str:
    """Escape each line alone; only a line feed ends one.

    Hints may contain the last log lines of a server.
    """
    return "\n".join(escaped(line) for line in text.removesuffix("\n").split("\n"))


class Meter:
    """Counts finished work and draws it on stderr; see `Shell.progress`."""

    def __init__(self, shell: Shell, label: str, total: int | None) -> None:
        self._shell = shell
        self._label = label
        self._total = total
        self._done = 0
        self._started = time.monotonic()
        self._last_line = self._started - LINE_EVERY_S + QUIET_S
        self._bar: Any = None

    def advance(self, count: int) -> None:
        """Count finished units."""
        self._done += count
        now = time.monotonic()
        if self._shell.is_quiet or now - self._started < QUIET_S:
            return
        if sys.stderr.isatty():
            self._draw()
        elif now - self._last_line >= LINE_EVERY_S:
            self._last_line = now
            of = f"/{self._total}" if self._total is not None else ""
            rate = self._done / (now - self._started)
            left = (
                f", {(self._total - self._done) / rate:.0f} s left" if self._total and rate else ""
            )
            self._shell.note(f"{self._label}: {self._done}{of}, {rate:.0f}/s{left}")

    def _draw(self) -> None:
        if self._bar is None:
            from rich.console import Console
            from rich.progress import (
                BarColumn,
                MofNCompleteColumn,
                Progress,
                TextColumn,
                TimeRemainingColumn,
            )

            console = Console(stderr=True, no_color=not self._shell.has_color(stderr=True))
            self._bar = Progress(
                TextColumn("{task.description}", markup=False),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[rate]}", justify="right", markup=False),
                TimeRemainingColumn(),
                console=console,
                transient=True,
            )
            self._bar.add_task(self._label, total=self._total, rate="")
            self._bar.start()
            console.show_cursor()  # a signal may end the process before `close`
        rate = f"{self._done / (time.monotonic() - self._started):.0f}/s"
        self._bar.update(self._bar.task_ids[0], completed=self._done, rate=rate)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.stop()


@contextmanager
def installed(extra: str, purpose: str) -> Iterator[None]:
    """Turn a failed import in the block into `MissingDependency` with a hint to install `extra`.

    `purpose` completes the sentence "PACKAGE is required to ...". A missing PySpark raises
    `SparkMissing`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "rackwise").partition(".")[0]
        if package == "rackwise":
            raise
        missing = SparkMissing if package == "pyspark" else MissingDependency
        raise missing(
            f"{package} is required to {purpose}, but it is not installed",
            wanted=package,
            hint=f'pip install "rackwise[{extra}]"',
        ) from None


def check_installed(package: str, extra: str, purpose: str) -> None:
    """Raise what `installed` raises where a package is absent, without loading the package."""
    with installed(extra, purpose):
        if find_spec(package) is None:
            raise ModuleNotFoundError(f"No module named {package!r}", name=package)
