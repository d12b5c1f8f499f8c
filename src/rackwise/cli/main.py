"""Entry point: global options, exit codes, and the one place where errors become text.

Exit codes: 0 nothing to do or done, 1 error, 2 there is a difference, 3 something was written and
the goal is not reached, 4 refused before the first write, 130/143/141 SIGINT, SIGTERM, closed
stdout.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import typer
from typer.exceptions import Exit, TyperException

from rackwise.cli.app import COMMANDS, app_of, listing
from rackwise.cli.shell import Shell, Terminated, drop_stdout
from rackwise.core.errors import RackwiseError, WorldError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import FrameType

SWITCHES = ("--json", "--quiet", "--debug")
VALUED = ("--color", "--max-input")


def run(arguments: Sequence[str]) -> int:
    """Run one command; give its exit code. Never raises what a user could cause."""
    signal.signal(signal.SIGTERM, _terminate)
    _open_streams()
    shell = Shell.of(globals_of(arguments))
    try:
        code = _call(hoisted(arguments), shell)
        sys.stdout.flush()
    except BrokenPipeError:
        drop_stdout()
        return 128 + signal.SIGPIPE
    except OSError as error:
        drop_stdout()
        shell.error(_from_system(error))
        return 1
    return code


def _call(arguments: list[str], shell: Shell) -> int:
    named = [each for each in _split(arguments)[1][:1] if each in COMMANDS]
    try:
        command = typer.main.get_command(app_of(*named) if named else listing())
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
    except Terminated:
        return 128 + signal.SIGTERM
    except Exception as error:
        if shell.is_debug or isinstance(error, OSError):
            raise
        shell.internal(error)
        return 1
    return int(result or 0)


def _from_system(error: OSError) -> WorldError:
    """What the operating system refused; without a file it was stdout."""
    name = "stdout" if error.filename is None else escaped(str(error.filename))
    return WorldError(
        f"{name}: {error.strerror}",
        wanted="a file or stream that works",
        had=error.strerror,
        hint="look at the disk and at where the output goes",
        where=name,
    )


def _terminate(_number: int, _frame: FrameType | None) -> NoReturn:
    """End in order at the first signal; a second one ends the process at once."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    raise Terminated


def _open_streams() -> None:
    """Put something where the caller closed a stream, or the next file opened would be it.

    A closed stdout is a pipe that nobody reads; what a terminal cannot show is escaped.
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


def hoisted(arguments: Sequence[str]) -> list[str]:
    """The arguments, global options first: users may write them anywhere before `--`."""
    front, rest = _split(arguments)
    return [*front, *rest]


def globals_of(arguments: Sequence[str]) -> list[str]:
    """The global options alone, as given."""
    return _split(arguments)[0]


def _split(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    front: list[str] = []
    rest: list[str] = []
    pending = iter(arguments)
    for argument in pending:
        if argument == "--":
            rest += [argument, *pending]
        elif argument in SWITCHES or argument.startswith(tuple(f"{name}=" for name in VALUED)):
            front.append(argument)
        elif argument in VALUED and (value := next(pending, None)) is not None:
            front += [argument, value]
        else:
            rest.append(argument)
    return front, rest
