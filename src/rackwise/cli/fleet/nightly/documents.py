"""The document of `rackwise nightly`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class StepDocument:
    """One step of a night."""

    step: str
    """Name of the step."""
    clusters: tuple[str, ...]
    """Clusters that the step is about; empty for the whole fleet."""
    command: str
    """Command line that repeats the step."""
    exit: int
    """Exit code of the command."""
    reason: str | None
    """Error of a failed step; null after success."""
    hint: str | None
    """What to do about the error; null if the command did not say."""
    began: str
    """Start of the step, UTC."""
    seconds: float
    """Duration of the step."""
    is_kept: bool
    """Whether an earlier run of the day executed the step, and this run did not repeat it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NightDocument:
    """A night over a fleet."""

    format: Literal["rackwise.night/1"] = "rackwise.night/1"
    day: str
    """Day of the night, UTC."""
    exit: int
    """Exit code: 0 done, 2 differences found, 3 a step failed."""
    clusters: int
    """Clusters of the fleet file."""
    ran: int
    """Steps that this run executed; the others had succeeded in an earlier run of the day."""
    failed: int
    """Steps that failed."""
    sent: int
    """Notices that the webhook has taken in this run."""
    unsent: int
    """Notices that wait for the next run."""
    steps: tuple[StepDocument, ...]
    """The last run of each step, in the order in which they ended."""
