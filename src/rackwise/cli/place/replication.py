"""`rackwise topic alter --replication-factor`: rows of a placer, executed as `rackwise apply` does.

```
state folder    TOPIC-SHA256-rf-R.json        Kafka's reassignment JSON of all partitions
rackwise apply  TOPIC-SHA256-rf-R.json        journal, throttle, resume, rollback
```

While a run of the file is open, its rows stay: the same command continues that run. New rows would
leave its journal and throttles to lists that no file has.
"""

from __future__ import annotations

import hashlib
import os
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.apply.window import WindowOptions
from rackwise.cli.place.options import resolve
from rackwise.cli.placer_options import print_generated_seed
from rackwise.core.errors import InvalidAssignment, InvalidConfig, InvalidPlan
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.cli.apply.options import Target
    from rackwise.cli.place.options import PlacementOptions
    from rackwise.cli.shell import Shell
    from rackwise.core.model import Cluster
    from rackwise.core.placement import Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationOptions:
    """The options of `topic alter` that change the replication factor."""

    replication_factor: Annotated[
        str | None,
        typer.Option(
            metavar="R",
            help="Give each partition this many replicas, as rackwise apply moves them.",
        ),
    ] = None
    throttle: Annotated[
        str | None,
        typer.Option(
            metavar="RATE",
            help="Limit copying to this rate per second and broker, such as 50MB, with "
            "--replication-factor. With --cluster, the default is its throttle in the fleet file.",
        ),
    ] = None

    def check(self, partitions: str | None, window: WindowOptions) -> None:
        """Check that one change is given, and no option without effect. Raises `InvalidConfig`.

        `partitions`: the text of --partitions.
        """
        if (partitions is None) == (self.replication_factor is None):
            raise InvalidConfig(
                "expected --partitions or --replication-factor, got "
                + ("none" if partitions is None else "both"),
                wanted="--partitions or --replication-factor",
                had=0 if partitions is None else 2,
                hint="change one after the other: new partitions take the replication factor of "
                "the topic",
            )
        given = {
            "--throttle": self.throttle is not None,
            "--window": window.window is not None,
            "--ignore-window": window.ignore_window,
        }
        option = next((name for name, is_given in given.items() if is_given), None)
        if self.replication_factor is None and option is not None:
            raise InvalidConfig(
                f"{option} requires --replication-factor",
                wanted="--replication-factor",
                had="--partitions",
                hint=f"omit {option}: new partitions are empty",
            )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplicationChange:
    """A topic of a running cluster, and the number of replicas that it shall have."""

    topic: str
    replication: int
    bootstrap_server: str
    command_config: Path | None
    throttle: str | None
    window: WindowOptions

    def run(self, context: typer.Context, cluster: Cluster, options: PlacementOptions) -> int:
        """Add or remove replicas, or continue to; return the exit code of `rackwise apply`.

        Raises `UnknownTopic`, and the errors of `change_replication` and of `rackwise apply`.
        """
        from rackwise.adapters import kafka
        from rackwise.adapters.files import write_reassignment
        from rackwise.cli.apply.commands import apply
        from rackwise.cli.apply.options import ApplyOptions

        shell: Shell = context.obj
        if self.topic not in cluster.topics:
            raise kafka.unknown_topic(self.topic)
        run_options = ApplyOptions(throttle=self.throttle)
        target = self._target(cluster)
        if _has_open_run(shell, target.plan):
            file = escaped(str(target.plan))
            shell.note(f"continuing the interrupted run of {file}, with the rows of that file")
        else:
            rows = self._rows(shell, cluster, options)
            write_reassignment({(self.topic, each): rows[each] for each in rows}, target.plan)
        groups = (target, run_options, self.window)
        return apply(
            context=context,
            **{key: value for each in groups for key, value in asdict(each).items()},
        )

    def _target(self, cluster: Cluster) -> Target:
        """The file of the rows in the state folder, and the cluster. Raises `JournalUnwritable`."""
        from rackwise.adapters.files.state_folder import made_folder, state_home
        from rackwise.cli.apply.options import Target

        folder = made_folder(state_home(os.environ), cluster.cluster_id or "")
        name = hashlib.sha256(self.topic.encode()).hexdigest()
        return Target(
            plan=folder / f"{name}-rf-{self.replication}.json",
            bootstrap_server=self.bootstrap_server,
            command_config=self.command_config,
        )

    def _rows(self, shell: Shell, cluster: Cluster, options: PlacementOptions) -> Placement:
        from rackwise.core.placement.topics import change_topics

        settings = resolve(options, cluster)
        rows = change_topics(
            cluster,
            {self.topic: self.replication},
            placer=settings.placer,
            racks=settings.racks,
            rng=settings.rng,
        )
        if self.topic not in rows:
            raise InvalidAssignment(
                f"topic {escaped(self.topic)} has no partitions",
                wanted=1,
                had=0,
                hint="if it is being created, wait until its partitions are shown",
            )
        print_generated_seed(shell, settings.generated_seed)
        return rows[self.topic]


def _has_open_run(shell: Shell, file: Path) -> bool:
    """Whether a run of the lists in this file has begun and is not over. Raises `InvalidPlan`."""
    from rackwise.adapters.files import read_bytes
    from rackwise.adapters.files.plan.targets import parse_targets
    from rackwise.cli.apply.foreign import has_open_run

    if not file.exists():
        return False
    data = read_bytes(file, error=InvalidPlan, max_bytes=shell.max_input)
    return has_open_run(shell, file.parent, parse_targets(data, where=str(file)).lists)
