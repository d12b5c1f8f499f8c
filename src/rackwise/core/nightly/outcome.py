"""What a night came to: the steps that failed, in words, and its exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rackwise.core.nightly.night import Night, StepRun

DONE: Final = 0
DIFFERENCES: Final = 2
STEP_FAILED: Final = 3


def exit_code(night: Night) -> int:
    """3 if a step failed, 2 if an audit has findings or a plan has moves, else 0."""
    if failed(night.runs):
        return STEP_FAILED
    return DIFFERENCES if any(run.exit == DIFFERENCES for run in night.runs) else DONE


def failed(runs: Iterable[StepRun]) -> list[StepRun]:
    """The runs that failed."""
    return [run for run in runs if not run.is_ok]


def of_cluster(runs: Iterable[StepRun], cluster: str) -> list[StepRun]:
    """The runs about this cluster alone, without those of a fleet that has one cluster."""
    return [run for run in runs if run.clusters == (cluster,) and run.step != "price"]


def of_fleet(runs: Iterable[StepRun]) -> list[StepRun]:
    """The runs about several clusters or all of them."""
    return [run for run in runs if not run.clusters or run.step == "price"]


def failure_text(run: StepRun) -> str:
    """A failed step as a sentence, safe to print.

    >>> from rackwise.core.nightly.night import StepRun
    >>> failure_text(StepRun(step="audit", clusters=("eu",), command=("audit",), exit=1,
    ...     reason="error: no racks", began="", took_ms=5, start=1))
    'the step audit failed with exit code 1: error: no racks'
    """
    why = "" if run.reason is None else f": {escaped(run.reason)}"
    return f"the step {run.step} failed with exit code {run.exit}{why}"


def subject(clusters: Sequence[str]) -> str:
    """Whom a step is about, safe to print."""
    return names_text(clusters) if clusters else "the fleet"
