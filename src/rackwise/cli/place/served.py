"""`rackwise place --from-server`: the rows that a `rackwise serve` gives, asked for and shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from rackwise.cli.installed import installed
from rackwise.cli.place.options import broker_ids
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from rackwise.core.placement import Placement

FromServer = Annotated[
    str | None, typer.Option(metavar="H:P", help="Ask a rackwise serve instead, which places.")
]
ServedApiKey = Annotated[
    int | None, typer.Option(metavar="N", help="With --from-server: its api key. [default: 68]")
]


HEARD = ("--disable-rack-aware", "--broker-list")
"""Options of placing that go with the request; the others are the service's."""


def check_alone(names: Sequence[str]) -> None:
    """Refuse options that the service has decided: `InvalidConfig`."""
    theirs = [name for name in names if name not in HEARD]
    if theirs:
        raise InvalidConfig(
            f"--from-server cannot be combined with {', '.join(theirs)}",
            wanted="--from-server alone",
            had=" ".join(theirs),
            hint=f"give {theirs[0]} to rackwise serve, or omit --from-server",
        )


@dataclass(frozen=True, slots=True)
class Served:
    """Who is asked, None = nobody, and how."""

    server: str | None
    client_config: Path | None
    api_key: int | None
    broker_list: str | None
    ignores_racks: bool

    def check_absent(self) -> None:
        """Refuse what only a service is asked with: `InvalidConfig`."""
        if self.api_key is not None:
            raise InvalidConfig(
                "--api-key requires --from-server",
                wanted="--from-server",
                had="--api-key",
                hint="omit --api-key, or give --from-server",
            )

    def asked(self, partitions: int, replication: int) -> Placement:
        """The rows that the service answers.

        Raises `ServerRefused`, `NotRackwise`, `Unreachable`, `LocalProtocolError`, and what options
        and client settings raise.
        """
        from rackwise.core.placement import Placement

        with installed("kafka", "ask a server"):
            from rackwise.adapters import kafka
            from rackwise.adapters.rpc.client import (
                CreateReplicaAssignmentOptions,
                ReplicaAssignmentClient,
            )
        node_ids = () if self.broker_list is None else broker_ids(self.broker_list)
        config = self.client_config
        settings = {} if config is None else kafka.read_client_config(config)
        key = {} if self.api_key is None else {"api_key": self.api_key}
        opened = partial(ReplicaAssignmentClient, **key)
        with closing(kafka.connect_as(opened, self.server or "", settings)) as admin:
            options = CreateReplicaAssignmentOptions(force_simple_assignment=self.ignores_racks)
            result = admin.create_replica_assignment(partitions, replication, node_ids, options)
            return Placement.of(result.assignments().result())

    def document(self, form: str, rows: Placement, topic: str | None) -> dict[str, Any]:
        """The document of `place`; what only the service knows is null."""
        return {
            "format": form,
            "server": self.server,
            "cluster_id": None,
            "taken_at": None,
            "topic": topic,
            "placer": None,
            "placer_options": {},
            "rack_mode": "disabled" if self.ignores_racks else None,
            "seed": None,
            "first_partition": rows.first,
            "rows": rows.rows.tolist(),
            "brokers": _shares(rows.rows.tolist()),
            "racks": [],
            "forced": [],
        }


def _shares(rows: Sequence[Sequence[int]]) -> list[dict[str, int]]:
    held = Counter(id_ for row in rows for id_ in row)
    leaders = Counter(row[0] for row in rows)
    return [{"id": id_, "replicas": held[id_], "leaders": leaders[id_]} for id_ in sorted(held)]
