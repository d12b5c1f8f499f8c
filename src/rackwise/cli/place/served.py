"""`rackwise place --from-server`: asks a `rackwise serve` for the rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from math import ceil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.place.options import parse_broker_ids
from rackwise.cli.place.serve_options import MS_PER_S
from rackwise.cli.shell import installed
from rackwise.cli.source import client_settings
from rackwise.cli.usage.combined import reject_combined
from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from rackwise.cli.place.documents import BrokerShareDocument, PlacementDocument
    from rackwise.core.placement import Placement

FromServer = Annotated[
    str | None, typer.Option(metavar="H:P", help="Ask this rackwise serve for the placement.")
]
ServedApiKey = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Use this Kafka API key, the number of the request type, with --from-server. "
        "[default: 68]",
    ),
]
Timeout = Annotated[
    float | None,
    typer.Option(
        metavar="S",
        min=0.001,
        max=86_400,
        help="Longest time that the server may take, with --from-server. [default: 60]",
    ),
]

SENT = ("--disable-rack-aware", "--broker-list")
"""Placement options that are sent with the request; the server decides the others."""


def reject_local_options(names: Sequence[str]) -> None:
    """Reject options that the server decides. Raises `InvalidConfig`."""
    rejected = [name for name in names if name not in SENT]
    reject_combined(
        "--from-server",
        rejected,
        hint=f"give {', '.join(rejected[:1])} to rackwise serve, or omit --from-server",
    )


@dataclass(frozen=True, slots=True)
class PlacementServer:
    """A `rackwise serve`, and the options that are sent to it."""

    server: str | None
    """None without --from-server."""
    command_config: Path | None
    api_key: int | None
    timeout: float | None
    """In seconds."""
    broker_list: str | None
    ignores_racks: bool

    def check_absent(self) -> None:
        """Reject options that require --from-server. Raises `InvalidConfig`."""
        given = {"--api-key": self.api_key, "--timeout": self.timeout}
        names = [name for name, value in given.items() if value is not None]
        if names:
            raise InvalidConfig(
                f"{names[0]} requires --from-server",
                wanted="--from-server",
                had=names[0],
                hint=f"omit {names[0]}, or give --from-server",
            )

    def ask(self, partitions: int, replication: int) -> Placement:
        """Ask the server for rows.

        Raises `ServerRefused`, also after the timeout, `NotRackwise`, `Unreachable`,
        `LocalProtocolError`, and the errors of options and client settings.
        """
        from rackwise.core.placement import Placement

        with installed("kafka", "ask a server"):
            from rackwise.adapters import kafka
            from rackwise.adapters.rpc.client import (
                CreateReplicaAssignmentOptions,
                ReplicaAssignmentClient,
            )
        node_ids = () if self.broker_list is None else parse_broker_ids(self.broker_list)
        settings = client_settings(self.command_config)
        key = {} if self.api_key is None else {"api_key": self.api_key}
        client = partial(ReplicaAssignmentClient, **key)
        limit = {} if self.timeout is None else {"timeout_ms": ceil(self.timeout * MS_PER_S)}
        options = CreateReplicaAssignmentOptions(
            force_simple_assignment=self.ignores_racks, **limit
        )
        with closing(kafka.connect_as(client, self.server or "", settings)) as admin:
            result = admin.create_replica_assignment(partitions, replication, node_ids, options)
            return Placement.of(result.assignments().result())

    def document(self, rows: Placement, topic: str | None) -> PlacementDocument:
        """Describe the rows as `place` does; null stands for what only the server knows."""
        from rackwise.cli.place.documents import PlacementDocument

        return PlacementDocument(
            server=self.server,
            cluster_id=None,
            taken_at=None,
            topic=topic,
            placer=None,
            placer_options={},
            rack_mode="disabled" if self.ignores_racks else None,
            seed=None,
            first_partition=rows.first,
            rows=tuple(map(tuple, rows.rows.tolist())),
            brokers=_shares(rows.rows.tolist()),
            racks=(),
            forced=(),
        )


def _shares(rows: Sequence[Sequence[int]]) -> tuple[BrokerShareDocument, ...]:
    from rackwise.cli.place.documents import BrokerShareDocument

    held = Counter(id_ for row in rows for id_ in row)
    leaders = Counter(row[0] for row in rows)
    return tuple(
        BrokerShareDocument(id=id_, replicas=held[id_], leaders=leaders[id_])
        for id_ in sorted(held)
    )
