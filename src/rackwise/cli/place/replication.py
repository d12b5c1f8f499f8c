"""`rackwise topic alter --replication-factor`: rows of a placer, executed as `rackwise apply` does.

```
state folder    TOPIC-rf-R.json        Kafka's reassignment JSON of all partitions
rackwise apply  TOPIC-rf-R.json        journal, throttle, resume, rollback
```
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

from rackwise.cli.place.options import resolve
from rackwise.cli.placer_options import print_generated_seed
from rackwise.core.errors import InvalidAssignment

if TYPE_CHECKING:
    from pathlib import Path

    import typer

    from rackwise.cli.apply.options import Target
    from rackwise.cli.place.options import PlacementOptions
    from rackwise.cli.shell import Shell
    from rackwise.core.model import Cluster
    from rackwise.core.placement import Placement

LONGEST_NAME = 200
"""Kafka allows longer names of topics, but with more text a name of a file would be too long."""


@dataclass(frozen=True, slots=True)
class ReplicationChange:
    """A topic of a running cluster, and the number of replicas that it shall have."""

    topic: str
    replication: int
    bootstrap_server: str
    client_config: Path | None
    throttle: str | None

    def run(self, context: typer.Context, cluster: Cluster, options: PlacementOptions) -> int:
        """Add or remove replicas; return the exit code of `rackwise apply`.

        Raises `UnknownTopic`, and the errors of `change_replication` and of `rackwise apply`.
        """
        from rackwise.adapters.files import write_reassignment
        from rackwise.cli.apply.budget import BudgetOptions
        from rackwise.cli.apply.commands import apply
        from rackwise.cli.apply.options import ApplyOptions

        shell: Shell = context.obj
        run_options = ApplyOptions(throttle=self.throttle)
        target = self.target(cluster)
        rows = self._rows(shell, cluster, options, target)
        write_reassignment({(self.topic, each): rows[each] for each in rows}, target.plan)
        groups = (target, run_options, BudgetOptions())
        words = {key: value for group in groups for key, value in asdict(group).items()}
        return apply(context=context, **words)

    def target(self, cluster: Cluster) -> Target:
        """The file of the rows in the state folder, and the cluster. Raises `JournalUnwritable`."""
        from rackwise.adapters.files.state_folder import made_folder, state_home
        from rackwise.cli.apply.options import Target

        folder = made_folder(state_home(os.environ), cluster.cluster_id or "")
        name = self.topic
        if len(name) > LONGEST_NAME:
            name = hashlib.sha256(name.encode()).hexdigest()
        return Target(
            plan=folder / f"{name}-rf-{self.replication}.json",
            bootstrap_server=self.bootstrap_server,
            client_config=self.client_config,
        )

    def _rows(
        self, shell: Shell, cluster: Cluster, options: PlacementOptions, target: Target
    ) -> Placement:
        from rackwise.adapters import kafka
        from rackwise.core.placement.topics import change_topics

        if self.topic not in cluster.topics:
            raise kafka.unknown_topic(self.topic)
        settings = resolve(options, cluster)
        try:
            rows = change_topics(
                cluster,
                {self.topic: self.replication},
                placer=settings.placer,
                racks=settings.racks,
                rng=settings.rng,
            )
        except InvalidAssignment as error:
            if not target.plan.exists():
                raise
            raise InvalidAssignment(
                error.message,
                wanted=error.wanted,
                had=error.had,
                hint=f"if a run was interrupted, continue it: {target.command('resume')}",
            ) from None
        print_generated_seed(shell, settings.generated_seed)
        return rows[self.topic]
