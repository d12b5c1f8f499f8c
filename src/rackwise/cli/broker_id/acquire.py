"""`rackwise broker-id acquire`: a broker's start, under the id that is its own."""

from __future__ import annotations

import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NoReturn

import typer

from rackwise.cli.broker_id.options import (
    Bootstrap,
    CommandConfig,
    ServerProperties,
    StoreConfigFile,
    StoreUrl,
    scan_of,
)
from rackwise.cli.shell import Shell
from rackwise.core.errors import RackwiseError
from rackwise.core.kafka_limits import GREATEST_ID

if TYPE_CHECKING:
    from types import FrameType

    from rackwise.adapters.launch.options import Acquired

TRY_AGAIN = 75
"""EX_TEMPFAIL: a later try may succeed by itself."""
LITERAL_DANGERS = (
    "--literal follows the KIP to the letter and reserves nothing: it takes the id of a broker "
    "that is down for a moment, gives one id to many disks, forgets mappings and guards no data; "
    "leave it out but for comparison"
)

STOPS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2)

SpareName = Literal["never", "unmapped", "any"]
MissingBy = Literal["scan", "watch"]
BlockedThen = Literal["error", "wait", "generate"]

KeySource = Annotated[
    str,
    typer.Option(
        "--key",
        metavar="SOURCE",
        help="The host's name: hostname, mac:IFACE, env:NAME, file:PATH or text:VALUE.",
    ),
]
InstanceName = Annotated[
    str | None,
    typer.Option("--instance", metavar="NAME", help="Which broker of several on this host."),
]
UnstableKey = Annotated[
    bool, typer.Option("--allow-key", help="Though the name looks as if it changed.")
]
Command = Annotated[
    list[str] | None,
    typer.Argument(metavar="[-- COMMAND...]", help="Starts the broker; {broker.id} is the id."),
]


def acquire(
    context: typer.Context,
    command: Command = None,
    server_properties: ServerProperties = None,
    store: StoreUrl = None,
    store_config: StoreConfigFile = None,
    bootstrap_server: Bootstrap = None,
    command_config: CommandConfig = None,
    key: KeySource = "hostname",
    instance: InstanceName = None,
    allow_key: UnstableKey = False,
    spare: Annotated[
        SpareName, typer.Option(help="Which ids of lost brokers a new host may take.")
    ] = "never",
    grace: Annotated[
        float, typer.Option(metavar="S", min=0, help="So long a spare must have been missing.")
    ] = 300.0,
    missing: Annotated[
        MissingBy, typer.Option(help="Who sees it missing: this start, or broker-id watch.")
    ] = "scan",
    on_blocked: Annotated[
        BlockedThen, typer.Option(help="Where every spare is reserved.")
    ] = "error",
    wait: Annotated[
        float | None,
        typer.Option(
            metavar="S",
            min=0,
            help="For a registration that nobody renews; by default 1.5 of its session timeout.",
        ),
    ] = None,
    generate_above: Annotated[
        int | None,
        typer.Option(metavar="MAX", min=0, max=GREATEST_ID, help="KRaft: draw ids above MAX."),
    ] = None,
    new_cluster: Annotated[
        bool, typer.Option("--new-cluster", help="KRaft: no broker runs, no topic is there.")
    ] = False,
    cluster_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="KRaft: of a new cluster, whose brokers cannot be asked."),
    ] = None,
    ignore_unreadable_dirs: Annotated[
        bool, typer.Option("--ignore-unreadable-dirs", help="Go on without those log dirs.")
    ] = False,
    adopt_data: Annotated[
        bool, typer.Option("--adopt-data", help="Data without meta.properties is this broker's.")
    ] = False,
    accept_loss: Annotated[
        bool, typer.Option("--accept-loss", help="Though no other replica of its data is in sync.")
    ] = False,
    literal: Annotated[
        bool, typer.Option("--literal", help="The KIP to the letter: for comparison only.")
    ] = False,
    session_timeout: Annotated[
        float, typer.Option(metavar="S", min=1, help="Of the session with the store.")
    ] = 10.0,
    hold: Annotated[
        float,
        typer.Option(metavar="S", min=0, help="Without COMMAND: wait so long for a registration."),
    ] = 600.0,
    report: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the document there, too.")
    ] = None,
) -> int:
    """Take this host's broker id, write meta.properties, start the broker and stay its parent.

    With COMMAND stdout is the broker's. Without one our document goes there once the id is on the
    disks, and we stay until somebody registers it. Exit: the broker's status, 128+n after signal n;
    before it runs 1 error, 3 stopped half-way, 4 refused, 75 refused and a later try may succeed.
    """
    shell: Shell = context.obj
    from rackwise.adapters.launch import acquire as acquire_id
    from rackwise.adapters.launch.options import AcquireOptions

    if literal:
        shell.warn(LITERAL_DANGERS)
    options = AcquireOptions(
        server_properties=server_properties,
        store_url=store,
        store_config=store_config,
        bootstrap_server=bootstrap_server,
        command_config=command_config,
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
            stack.enter_context(stopping.heard())
            acquired: Acquired = acquire_id(
                options,
                command or None,
                tell=lambda text: shell.note(f"broker-id: {text}"),
                taken=lambda found: _taken(shell, report, found, is_alone=not command),
                scan=scan_of(stack, shell),
                check=stopping.check,
            )
    except RackwiseError as error:
        if not may_pass(error):
            raise
        shell.error(error)
        return TRY_AGAIN
    except _Stopped as stopped:
        return 128 + stopped.number
    return acquired.exit_status or 0


class _Stopped(BaseException):
    """A signal arrived while no command ran that it is passed on to."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@dataclass
class _Stopping:
    """Signals end a start in order: what it has claimed is given back.

    A second one ends the process at once; one that is ignored, as under nohup, stays so. What a
    handler raises may be lost in a client's `except:`, so a start asks `check` now and then.
    """

    number: int | None = None

    def check(self) -> None:
        """Raise `_Stopped` where a signal has arrived."""
        if self.number is not None:
            raise _Stopped(self.number)

    @contextmanager
    def heard(self) -> Iterator[None]:
        """Hear them until the end."""
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


def _taken(shell: Shell, report: Path | None, acquired: Acquired, *, is_alone: bool) -> None:
    """Print the document where no command has stdout, and write the report.

    A broker is not kept down by a disk that is full of something else.
    """
    from rackwise.adapters.launch.report import acquired_document, write_report

    if is_alone:
        shell.document(acquired_document(acquired))
    if report is None:
        return
    try:
        write_report(report, acquired)
    except RackwiseError as error:
        shell.warn(f"the report is not written: {error.message}; {error.hint}")


def may_pass(error: RackwiseError) -> bool:
    """Whether a later start may succeed by itself."""
    from rackwise.core.errors import IdentityRefused, Unreachable

    return isinstance(error, Unreachable) or (
        isinstance(error, IdentityRefused) and error.retryable
    )
