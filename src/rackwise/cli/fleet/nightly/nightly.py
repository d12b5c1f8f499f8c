"""`rackwise nightly`: snapshots, audits, plans and prices a fleet, and tells what changed."""

from __future__ import annotations

import os
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.adapters.clock import SHIFT
from rackwise.cli.app import with_option_groups
from rackwise.cli.shell import Shell, check_installed, parse_duration_ms
from rackwise.cli.source import utc_now
from rackwise.core.errors import InvalidConfig, JournalUnwritable, Locked, WorldError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.core.fleet_file import FleetFile
    from rackwise.core.nightly.commands import NightOptions
    from rackwise.core.secret import Secret

LEAST_MEASURE_MS = 1000
MOST_PERCENT = 10_000
NEEDED = (
    ("kafka", "kafka", "talk to brokers"),
    ("pyspark", "spark", "analyze"),
    ("pyarrow", "spark", "analyze"),
    ("jinja2", "report", "render a report"),
)
"""Package, extra and purpose of what the steps load."""


@dataclass(frozen=True, kw_only=True)
class NightlyOptions:
    """Options of `rackwise nightly`."""

    out: Annotated[
        Path,
        typer.Option(
            metavar="DIR", help="Keep snapshots, plans, the bill, metrics and the state here."
        ),
    ]
    fleet: Annotated[
        str | None,
        typer.Option(
            metavar="FILE",
            help="Read the clusters from this file. [default: rackwise.toml in the working folder "
            "or above]",
        ),
    ] = None
    notify: Annotated[
        str | None,
        typer.Option(
            metavar="REFERENCE",
            help="Post what changed to the webhook whose URL is in '${env:NAME}' or "
            "'${file:PATH}'.",
        ),
    ] = None
    cost_rise: Annotated[
        int,
        typer.Option(
            metavar="PERCENT",
            min=0,
            max=MOST_PERCENT,
            help="Notify when a day costs more than this above the same day a week before.",
        ),
    ] = 20
    measure: Annotated[
        str,
        typer.Option(metavar="TIME", help="Take two snapshots of each cluster, this far apart."),
    ] = "60s"
    engine: Annotated[
        Literal["local", "spark"],
        typer.Option(
            metavar="ENGINE",
            help="Price on this engine: local, this machine without Java, or spark.",
        ),
    ] = "local"
    keep_days: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Remove days of the bill, snapshots, audits and plans before the last N days. "
            "[default: keep all]",
        ),
    ] = None
    parallel: Annotated[
        int, typer.Option(metavar="N", min=1, max=64, help="Run at most N steps at a time.")
    ] = 4
    step_limit: Annotated[
        str, typer.Option(metavar="TIME", help="End a step that takes longer than this.")
    ] = "1h"
    refresh: Annotated[
        bool,
        typer.Option(
            "--refresh",
            help="Take the second snapshots of a night of this day again, and repeat what is made "
            "from them, such as after a repair.",
        ),
    ] = False
    at: Annotated[
        str | None,
        typer.Option(
            metavar="TIME",
            help="Rehearse: run as if it were this time, such as 2026-11-26T02:00:00Z.",
        ),
    ] = None


@with_option_groups()
def nightly(context: typer.Context, options: NightlyOptions) -> int:
    """Run the night of a fleet: snapshots, audits, plans, the bill, metrics and notices.

    Each step is a command that can be repeated by hand; nightly.json in --out has its words and
    its exit code. A cluster that fails stops no other. A run that was killed continues when it is
    started again on the same day, UTC; a run that is complete does nothing, unless --refresh is
    given. Reads from clusters only. Exit codes: 0 done, 2 unsafe partitions or a plan with moves,
    3 a step failed, 4 another run, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.adapters.files.nightly import made_folders, night_is_locked
    from rackwise.adapters.files.state_folder import LockHolder, holder, locked
    from rackwise.cli.fleet.nightly.drive import Driver, NightSettings
    from rackwise.cli.fleet.nightly.show import show

    measure_ms, limit_ms = _durations(options)
    _rehearse(options.at)
    fleet = _fleet(shell, options)
    webhook = _webhook(options)
    for package, extra, purpose in NEEDED:
        check_installed(package, extra, purpose)
    root = options.out.resolve()
    try:
        made_folders(root, ["metrics"])
        with ExitStack() as held:
            try:
                held.enter_context(locked(root, since=utc_now(), command="nightly"))
            except Locked:
                raise night_is_locked(root, holder(root) or LockHolder()) from None
            except JournalUnwritable as error:
                raise InvalidConfig(
                    f"invalid --out: expected a folder with a lock file that can be written to, "
                    f"got {escaped(str(root))}: {escaped(str(error.had))}",
                    wanted="a folder that can be written to",
                    had=error.had,
                    hint="free space on the disk, or give --out a folder that this user can "
                    "write to",
                    where=str(root),
                ) from None
            settings = NightSettings(
                root=root,
                fleet=fleet,
                options=_night_options(options, fleet, measure_ms),
                webhook=webhook,
                webhook_variable=_variable(options.notify),
                limit_percent=options.cost_rise,
                parallel=options.parallel,
                step_limit_ms=limit_ms,
                refresh=options.refresh,
            )
            driver = Driver(shell, settings)
            code = driver.run()
            show(shell, driver)
    except WorldError as error:
        shell.error(error)
        return 3
    return code


def _durations(options: NightlyOptions) -> tuple[int, int]:
    """The time between two looks and the limit of a step, in milliseconds."""
    measure_ms = int(parse_duration_ms("--measure", options.measure))
    limit_ms = int(parse_duration_ms("--step-limit", options.step_limit))
    for option, text, value in (
        ("--measure", options.measure, measure_ms),
        ("--step-limit", options.step_limit, limit_ms),
    ):
        if value < LEAST_MEASURE_MS:
            raise InvalidConfig(
                f"invalid {option}: expected at least 1s, got {escaped(text)}",
                wanted="at least 1s",
                had=text,
                hint=f"for example {option} 60s",
            )
    return measure_ms, limit_ms


def _rehearse(at: str | None) -> None:
    """Shift the clock of this process and of its steps. Raises `InvalidConfig`."""
    if at is None:
        return
    os.environ.pop(SHIFT, None)
    try:
        wanted = datetime.fromisoformat(at)
    except ValueError:
        wanted = None
    if wanted is None or wanted.tzinfo is None:
        raise InvalidConfig(
            f"invalid --at: expected a time such as 2026-11-26T02:00:00Z, got {escaped(at)}",
            wanted="a time with its zone",
            had=at,
            hint="end it with Z for UTC",
        )
    ahead = wanted.astimezone(UTC) - datetime.fromisoformat(utc_now())
    os.environ[SHIFT] = str(round(ahead.total_seconds()))


def _fleet(shell: Shell, options: NightlyOptions) -> FleetFile:
    """The fleet file. Raises `InvalidConfig` where there is none."""
    from rackwise.adapters.files.fleet_file import find_fleet_file, read_fleet_file

    path = Path(options.fleet) if options.fleet else find_fleet_file(Path.cwd())
    if path is None:
        raise InvalidConfig(
            "expected a fleet file, got none",
            wanted="rackwise.toml",
            hint="give --fleet FILE, or write rackwise.toml with a table [clusters.NAME]",
            where="--fleet",
        )
    path = path.absolute()
    return read_fleet_file(path, environ=os.environ, max_bytes=shell.max_input)


def _webhook(options: NightlyOptions) -> Secret | None:
    if options.notify is None:
        return None
    from rackwise.adapters.webhook import read_webhook

    return read_webhook(options.notify, environ=os.environ)


def _variable(reference: str | None) -> str | None:
    """The variable that a reference names; None for a file."""
    from rackwise.core.fleet_file import REFERENCE

    found = REFERENCE.fullmatch(reference or "")
    return found[2] if found is not None and found[1] == "env" else None


def _night_options(options: NightlyOptions, fleet: FleetFile, measure_ms: int) -> NightOptions:
    """What the steps depend on. Their words repeat this command, with a reference as it is."""
    from rackwise.core.nightly.commands import NightOptions

    words = ["nightly", "--fleet", fleet.name, "--out", str(options.out.absolute())]
    if options.notify is not None:
        words += ["--notify", options.notify]
    return NightOptions(
        measure_ms=measure_ms,
        engine=options.engine,
        keep_days=options.keep_days,
        command=tuple(words),
    )
