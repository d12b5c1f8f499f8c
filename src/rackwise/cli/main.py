"""Entry point: global options, exit codes, and the one place where errors become text.

Exit codes: 0 done or nothing to do, 1 error, 2 differences found, 3 stopped after a part was
written, 4 rejected before the first write, 130 after SIGINT, 143 after SIGTERM, 129 after SIGHUP,
141 after a closed stdout.
"""

from __future__ import annotations

import errno
import io
import os
import signal
import sys
import warnings
from contextlib import contextmanager
from traceback import clear_frames
from typing import TYPE_CHECKING, NoReturn, TextIO

import typer
from typer.exceptions import Exit, TyperException

from rackwise.cli.app import COMMANDS, build_app, build_help_app
from rackwise.cli.shell import Shell, Terminated
from rackwise.cli.usage.completion import COMPLETE, complete
from rackwise.cli.usage.global_options import (
    bare_fleet_with_value,
    global_options,
    globals_first,
    split_globals,
)
from rackwise.cli.usage.stdout import StdoutFailed, checked_stdout, drop_stdout
from rackwise.cli.usage.stopping import not_ignored
from rackwise.core.errors import (
    InvalidConfig,
    MemoryExhausted,
    RackwiseError,
    SettingsWarning,
    WorldError,
)
from rackwise.core.text import SURROGATE, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from types import FrameType


NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""Errors of a write to an open file, which do not name the file."""


def run(arguments: Sequence[str]) -> int:
    """Run one command and return its exit code. Errors that a user can cause are not raised."""
    for number in (signal.SIGTERM, *not_ignored([signal.SIGHUP])):
        signal.signal(number, _terminate)
    _open_streams()
    shell = Shell.of(global_options(arguments))
    if COMPLETE in os.environ:
        return complete(os.environ, COMMANDS, build_app)
    try:
        with checked_stdout(), _own_warnings(shell):
            code = _call(globals_first(bare_fleet_with_value(arguments)), shell)
            sys.stdout.flush()
    except StdoutFailed as failed:
        drop_stdout()
        if failed.is_closed:
            return 128 + signal.SIGPIPE
        shell.error(_from_system(failed.cause, "stdout"))
        return 1
    return code


def _call(arguments: list[str], shell: Shell) -> int:
    names = [each for each in split_globals(arguments)[1][:1] if each in COMMANDS]
    try:
        command = typer.main.get_command(build_app(*names) if names else build_help_app())
        with command.make_context("rackwise", arguments, obj=shell) as context:
            result = command.invoke(context)
    except Exit as leave:
        return int(leave.exit_code)
    except TyperException as error:
        shell.usage(error.format_message())
        return 1
    except RackwiseError as error:
        shell.error(error)
        return error.exit_code
    except KeyboardInterrupt:
        return 128 + signal.SIGINT
    except Terminated as stop:
        return 128 + stop.number
    except StdoutFailed:
        raise
    except Exception as error:
        known = _known(error)
        if shell.is_debug and not (known and isinstance(error, OSError)):
            raise
        # What the frames of the command hold is free for the message.
        clear_frames(error.__traceback__)
        known = known or _not_utf8(arguments)
        if known is None:
            shell.internal(error)
        else:
            shell.error(known)
        return 1
    return int(result or 0)


def _known(error: Exception) -> RackwiseError | None:
    """The error to print for an exception that says what failed: memory, a file or a disk."""
    if memory := MemoryExhausted.of(error):
        return memory
    if not isinstance(error, OSError):
        return None
    if error.filename is not None:
        return _from_system(error, escaped(str(error.filename)))
    return _from_system(error, "a file") if error.errno in NO_ROOM else None


@contextmanager
def _own_warnings(shell: Shell) -> Iterator[None]:
    """Print the warnings of adapters as the command line does, each text once."""
    told: set[str] = set()
    with warnings.catch_warnings():
        warnings.simplefilter("always", SettingsWarning)
        show = warnings.showwarning

        def print_warning(
            message: Warning | str,
            category: type[Warning],
            filename: str,
            lineno: int,
            file: TextIO | None = None,
            line: str | None = None,
        ) -> None:
            if not issubclass(category, SettingsWarning):
                show(message, category, filename, lineno, file, line)
            elif str(message) not in told:
                told.add(str(message))
                shell.warn(str(message))

        warnings.showwarning = print_warning
        yield


def _not_utf8(arguments: Sequence[str]) -> InvalidConfig | None:
    """What to say of an unexpected error if an argument is not UTF-8, else None.

    Linux allows any bytes in an argument; Python has those that are no UTF-8 as lone surrogates.
    Arrow and the Java of Spark take only UTF-8, and each fails in its own way.
    """
    words = [each for each in arguments if SURROGATE.search(each)]
    if not words:
        return None
    return InvalidConfig(
        f"invalid argument: expected text in UTF-8, got {escaped(words[0])}",
        wanted="text in UTF-8",
        had=words[0],
        hint="rename the file or folder, or write the name in UTF-8: this command works with "
        "libraries that take nothing else",
    )


def _from_system(error: OSError, name: str) -> WorldError:
    """Convert an error of the operating system; `name`: the file or stream."""
    reason = error.strerror or str(error)
    return WorldError(
        f"{name}: {reason}",
        wanted="a file or stream that works",
        had=reason,
        hint="check the disk and the target of the output",
        where=name,
    )


def _terminate(number: int, _frame: FrameType | None) -> NoReturn:
    """Stop in order at the first signal. A second signal ends the process at once."""
    signal.signal(number, signal.SIG_DFL)
    raise Terminated(number)


def _open_streams() -> None:
    """Open a substitute for each closed stream; else the next opened file would take its place.

    A closed stdout becomes a pipe without a reader. Characters that the terminal cannot show are
    escaped.
    """
    if sys.stdin is None:
        sys.stdin = open(os.devnull)  # noqa: PTH123, SIM115 (stays open)
    if sys.stdout is None:
        reader, writer = os.pipe()
        os.dup2(writer, reader)
        sys.stdout = os.fdopen(reader, "w")
        os.close(writer)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w")  # noqa: PTH123, SIM115 (stays open)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
