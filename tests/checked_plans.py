"""The check of a plan from its cluster and policy alone, as `rackwise proof` does it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.planning.proof.applied import apply_plan
from rackwise.core.planning.proof.certificate import check_applied

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.model import Cluster
    from rackwise.core.planning.model import Plan, Verdict
    from rackwise.core.policy import Policy
    from rackwise.core.traffic import Price


def check(cluster: Cluster, policy: Policy, plan: Plan, *, prices: Sequence[Price] = ()) -> Verdict:
    """Apply the moves, then check the plan; raises what the two raise."""
    return check_applied(apply_plan(cluster, policy, plan, prices=prices), plan)
