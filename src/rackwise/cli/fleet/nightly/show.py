"""Shows how a night ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.fleet.nightly.documents import NightDocument, StepDocument
from rackwise.cli.tables import columns_text
from rackwise.core.nightly.commands import command_text
from rackwise.core.nightly.outcome import exit_code, failed, subject
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from rackwise.cli.fleet.nightly.drive import Driver
    from rackwise.cli.shell import Shell
    from rackwise.core.nightly.night import StepRun


def show(shell: Shell, driver: Driver) -> None:
    """Print the night on stdout."""
    if shell.is_json:
        shell.document(_document(driver))
        return
    night = driver.state.night
    rows = [_row(run, is_kept=run.start < driver.start) for run in night.runs]
    if rows:
        header = ("step", "of", "exit", "seconds", "ran")
        shell.text(columns_text(header, rows, numbers={2, 3}))
    failures = len(failed(night.runs))
    parts = [
        counted(len(driver.clusters), "cluster"),
        f"{counted(driver.ran, 'step')} executed",
        f"{failures} failed",
    ]
    if driver.settings.webhook is not None:
        parts.append(f"{counted(driver.sent, 'notice')} sent")
        if driver.state.outbox:
            parts.append(f"{len(driver.state.outbox)} unsent")
    shell.text(f"night of {night.day}: {', '.join(parts)}; {escaped(driver.layout.state)}")


def _row(run: StepRun, *, is_kept: bool) -> tuple[str, ...]:
    ran = f"kept from {run.began[11:]}" if is_kept else "now"
    return run.step, subject(run.clusters), str(run.exit), f"{run.took_ms / 1000:.1f}", ran


def _document(driver: Driver) -> NightDocument:
    night = driver.state.night
    return NightDocument(
        day=night.day,
        exit=exit_code(night),
        clusters=len(driver.clusters),
        ran=driver.ran,
        failed=len(failed(night.runs)),
        sent=driver.sent,
        unsent=len(driver.state.outbox),
        steps=tuple(
            StepDocument(
                step=run.step,
                clusters=run.clusters,
                command=command_text(run.command),
                exit=run.exit,
                reason=run.reason,
                hint=run.hint,
                began=run.began,
                seconds=run.took_ms / 1000,
                is_kept=run.start < driver.start,
            )
            for run in night.runs
        ),
    )
