"""`rackwise broker-id acquire`: start a broker under its own id."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from rackwise.cli.app import with_option_groups
from rackwise.cli.broker_id.options import (
    SessionTimeout,
    StoreOptions,
    scan_progress,
)
from rackwise.cli.shell import Shell
from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import RackwiseError

if TYPE_CHECKING:
    from types import FrameType

    from rackwise.adapters.launch.options import Acquired

TRY_AGAIN = 75
"""EX_TEMPFAIL: a later try may succeed by itself."""
LITERAL_DANGERS = (
    "--literal follows KIP-426 literally and reserves nothing: it takes the id of a broker that is "
    "down for a moment, gives one id to several disks, forgets mappings and guards no data; use it "
    "only for comparison"
)

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

SpareName = Literal["never", "unmapped", "any"]
MissingBy = Literal["scan", "watch"]
BlockedThen = Literal["grace", "error", "wait", "generate"]


@with_option_groups()
def acquire(
    context: typer.Context,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]",
            help="The command that starts the broker. {broker.id} in it becomes the id.",
        ),
    ] = None,
    *,
    options: StoreOptions,
    key: Annotated[
        str,
        typer.Option(
            "--key",
            metavar="SOURCE",
            help="Take the name of the host from hostname, mac:IFACE, env:NAME, file:PATH or "
            "text:VALUE.",
        ),
    ] = "hostname",
    instance: Annotated[
        str | None,
        typer.Option(
            "--instance", metavar="NAME", help="Name this broker among several on the host."
        ),
    ] = None,
    allow_key: Annotated[
        bool,
        typer.Option("--allow-key", help="Accept a key that looks as if it changes with restarts."),
    ] = False,
    spare: Annotated[
        SpareName,
        typer.Option(
            help="Let a new host take an id of a lost broker: never, only an id that is "
            "mapped to no other host (unmapped), or any."
        ),
    ] = "never",
    grace: Annotated[
        float,
        typer.Option(
            metavar="S",
            min=0,
            help="Take the id of a lost broker only after it has been missing for S seconds.",
        ),
    ] = 300.0,
    missing: Annotated[
        MissingBy,
        typer.Option(help="Scan for missing ids, or use those that broker-id watch records."),
    ] = "scan",
    on_blocked: Annotated[
        BlockedThen,
        typer.Option(
            help="Choose what to do if no id of a lost broker may be taken yet: wait for the end "
            "of --grace, and reject the start if all are mapped to other hosts (grace); reject it "
            "at once (error); wait for lost brokers to return, too (wait); or generate a new id. "
            "With --missing scan and a --grace, error and generate never take an id, and are an "
            "error."
        ),
    ] = "grace",
    wait: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0,
            help="Wait S seconds for a stale registration to end. The default is 1.5 times "
            "its session timeout.",
        ),
    ] = None,
    generate_above: Annotated[
        int | None,
        typer.Option(
            metavar="MAX", min=0, max=GREATEST_ID, help="Generate ids above MAX in KRaft mode."
        ),
    ] = None,
    new_cluster: Annotated[
        bool,
        typer.Option(
            "--new-cluster", help="Start a new KRaft cluster, which has no broker and no topic."
        ),
    ] = False,
    cluster_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="Use this cluster id for a new KRaft cluster."),
    ] = None,
    ignore_unreadable_dirs: Annotated[
        bool, typer.Option("--ignore-unreadable-dirs", help="Ignore log dirs that cannot be read.")
    ] = False,
    adopt_data: Annotated[
        bool,
        typer.Option(
            "--adopt-data",
            help="Treat partitions in log dirs without meta.properties as data of this broker.",
        ),
    ] = False,
    accept_loss: Annotated[
        bool,
        typer.Option(
            "--accept-loss",
            help="Start with an empty disk even if no other in-sync replica of a partition "
            "is alive.",
        ),
    ] = False,
    literal: Annotated[
        bool,
        typer.Option("--literal", help="Follow KIP-426 literally, for comparison only."),
    ] = False,
    session_timeout: SessionTimeout = 10.0,
    hold: Annotated[
        float,
        typer.Option(
            metavar="S", min=0, help="Wait S seconds for a registration if there is no COMMAND."
        ),
    ] = 600.0,
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write the result document to FILE, too."),
    ] = None,
) -> int:
    """Take the broker id of this host, write meta.properties, start the broker and supervise it.

    With COMMAND, only the broker writes to stdout. Without COMMAND, the result document is printed
    when the id is on the disks, and the command waits until the broker registers. Exit codes: the
    exit code of the broker, or 128+n after signal n. If the broker does not start: 1 error, 3
    stopped half-way, 4 rejected, 75 rejected but a later try may succeed.
    """
    shell: Shell = context.obj
    from rackwise.adapters.launch import acquire as acquire_id
    from rackwise.adapters.launch.options import AcquireOptions

    if literal:
        shell.warn(LITERAL_DANGERS)
    acquire_options = AcquireOptions(
        server_properties=options.server_properties,
        store_url=options.store,
        store_config=options.store_config,
        bootstrap_server=options.bootstrap_server,
        command_config=options.command_config,
        key=key,
        instance=instance,
        allow_key=allow_key,
        spare=spare,
        grace_s=grace,
        missing=missing,
        on_blocked=on_blocked,
        wait_s=wait,
        generate_above=generate_above,
        new_cluster=new_cluster,
        cluster_id=cluster_id,
        ignore_unreadable_dirs=ignore_unreadable_dirs,
        adopt_data=adopt_data,
        accept_loss=accept_loss,
        literal=literal,
        session_timeout_s=session_timeout,
        hold_s=hold,
        report=report,
    )
    stopping = _Stopping()
    try:
        with ExitStack() as stack:
            stack.enter_context(stopping.catch_signals())
            acquired: Acquired = acquire_id(
                acquire_options,
                command or None,
                report=lambda text: shell.note(f"broker-id: {text}"),
                on_acquired=lambda found: _publish(shell, report, found, is_alone=not command),
                on_scan=scan_progress(stack, shell),
                check=stopping.check,
            )
    except RackwiseError as error:
        if not is_temporary(error):
            raise
        shell.error(error)
        return TRY_AGAIN
    except _Stopped as stopped:
        return 128 + stopped.number
    return acquired.exit_status or 0


class _Stopped(BaseException):
    """A signal arrived while no command runs that could receive it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class _Stopping:
    """Ends a start in order after a signal: its claim is released.

    A second signal ends the process at once. A signal that is ignored, as under nohup, stays
    ignored. A bare `except:` of a client library may swallow what a handler raises, so a start
    calls `check` repeatedly.
    """

    number: int | None = None

    def check(self) -> None:
        """Raise `_Stopped` if a signal has arrived."""
        if self.number is not None:
            raise _Stopped(self.number)

    @contextmanager
    def catch_signals(self) -> Iterator[None]:
        """Handle the signals until the end of the block."""
        before = {each: signal.getsignal(each) for each in STOPS}
        for each, handler in before.items():
            if handler is not signal.SIG_IGN:
                signal.signal(each, self._end)
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _end(self, number: int, _frame: FrameType | None) -> NoReturn:
        signal.signal(number, signal.SIG_DFL)
        self.number = number
        raise _Stopped(number)


def _publish(shell: Shell, report: Path | None, acquired: Acquired, *, is_alone: bool) -> None:
    """Print the document if no command uses stdout, and write the report.

    A report that cannot be written is a warning only: the broker starts all the same.
    """
    from rackwise.adapters.files.writing import write_bytes
    from rackwise.cli.broker_id.documents import acquired_document
    from rackwise.cli.documents import as_json
    from rackwise.core.json.canonical import canonical_json

    document = acquired_document(acquired)
    if is_alone:
        shell.document(document)
    if report is None:
        return
    try:
        write_bytes(report, (canonical_json(as_json(document)) + "\n").encode())
    except RackwiseError as error:
        shell.warn(f"cannot write the report: {error.message}; {error.hint}")


def is_temporary(error: RackwiseError) -> bool:
    """Return whether a later start may succeed by itself."""
    from rackwise.core.errors import IdentityRefused, Unreachable

    return isinstance(error, Unreachable) or (
        isinstance(error, IdentityRefused) and error.retryable
    )
