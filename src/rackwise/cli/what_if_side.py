"""One side of `rackwise what-if`: a cluster, judged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rackwise.core.audit import Findings, RackLoss
    from rackwise.core.errors import InputError
    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Plan


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """One side of the question; `refusal`: why there is no plan."""

    cluster: Cluster
    findings: Findings
    losses: tuple[RackLoss, ...]
    plan: Plan | None
    refusal: InputError | None
