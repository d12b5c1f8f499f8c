"""The plan of a file with replica lists that somebody else chose.

```
the file        orders-0  1,3                       the same lists find the same plan again
state folder    LISTS-SHA256.foreign.json           the plan: the lists of before are in it
                PLAN-SHA256.journal
```

`apply` makes the plan from the cluster and keeps it, unless a run of an earlier one is open. The
other commands use the plan that is kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.cli.apply.journal_lines import read_lines

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.adapters.files.plan.reassignment import Placement
    from rackwise.adapters.kafka.applying.world import World
    from rackwise.cli.shell import Shell
    from rackwise.core.planning.model import Plan

NO_TOPIC = ""
"""A glob that no topic matches."""


def find_plan(
    shell: Shell,
    world: World,
    folder: Path,
    targets: Placement,
    *,
    may_replan: bool,
) -> Plan:
    """The plan that is kept for these lists, or a new one, which is kept if `may_replan`.

    Raises `InvalidPlan`, `StalePlan`, `ForeignReassignment`, and the errors of the cluster.
    """
    from rackwise.adapters.files.plan.write import write_plan

    path = _path(folder, targets)
    kept = _kept_plan(shell, path)
    if kept is not None and not (may_replan and _is_over(folder, kept)):
        return kept
    made = _made_plan(world, targets)
    if kept is not None and not made.moves:
        return kept
    if may_replan and made.moves:
        write_plan(made, path)
    return made


def has_open_run(shell: Shell, folder: Path, targets: Placement) -> bool:
    """Whether a run of these lists has begun, and did neither complete nor undo them.

    Raises `InvalidPlan` for a damaged plan or journal, `JournalUnwritable` if it cannot be read.
    """
    kept = _kept_plan(shell, _path(folder, targets))
    return kept is not None and not _is_over(folder, kept)


def _path(folder: Path, targets: Placement) -> Path:
    from rackwise.adapters.files.plan.targets import targets_sha256

    return folder / f"{targets_sha256(targets)}.foreign.json"


def _kept_plan(shell: Shell, path: Path) -> Plan | None:
    from rackwise.adapters.files.plan.read import read_plan

    return read_plan(path, max_bytes=shell.max_input) if path.exists() else None


def _is_over(folder: Path, plan: Plan) -> bool:
    """Whether no run of the plan is open: all of it was done, or it was undone, or none began."""
    from rackwise.adapters.files.journal import open_journal
    from rackwise.core.applying.start import history_of

    history = history_of(read_lines(open_journal(folder, plan.sha256)))
    has_begun = history.begin is not None
    return history.is_closed and (not has_begun or history.is_finished or history.was_cancelled)


def _made_plan(world: World, targets: Placement) -> Plan:
    from rackwise.adapters.files.plan.write import sealed
    from rackwise.adapters.kafka import read_cluster
    from rackwise.cli.source import utc_now
    from rackwise.core.applying.foreign import foreign_plan

    topics = sorted({topic for topic, _ in targets}) or [NO_TOPIC]
    cluster = read_cluster(world.admin, taken_at=utc_now(), topics=topics, configs=False)
    return sealed(foreign_plan(cluster, targets))
