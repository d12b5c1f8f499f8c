"""A view of a KRaft cluster that connects when it is first used.

When all brokers of a cluster start at once, no broker answers the first of them yet.
"""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from rackwise.core.errors import Unreachable

if TYPE_CHECKING:
    from collections.abc import Mapping
    from contextlib import ExitStack
    from pathlib import Path

    from rackwise.adapters.kafka.broker_view import AdminView
    from rackwise.core.identity.model import Registration
    from rackwise.core.identity.nodes.guard import PartitionReplicas

FIRST_S = 10.0
AGAIN_S = 1.0


class LazyView:
    """`ClusterView` that connects on demand. Raises `Unreachable` until a broker answers."""

    def __init__(self, stack: ExitStack, bootstrap: str, command_config: Path | None) -> None:
        self._stack = stack
        self._bootstrap = bootstrap
        self._command_config = command_config
        self._view: AdminView | None = None
        self._timeout_s = FIRST_S

    def cluster_id(self) -> str | None:
        """Return the id of the cluster."""
        return self._connected().cluster_id()

    def registered(self) -> Mapping[int, Registration]:
        """Return the registered brokers."""
        return self._connected().registered()

    def used(self) -> frozenset[int]:
        """Return the ids in replica lists."""
        return self._connected().used()

    def at_risk(self, id: int, present: frozenset[str]) -> tuple[str, ...]:  # noqa: A002, the word
        """Return the partitions whose only live in-sync replica has this id."""
        return self._connected().at_risk(id, present)

    def partitions_of(self, id: int) -> tuple[PartitionReplicas, ...]:  # noqa: A002, the word
        """Return each partition with a replica of this id."""
        return self._connected().partitions_of(id)

    def _connected(self) -> AdminView:
        if self._view is None:
            from rackwise.adapters.kafka import connect, read_client_config
            from rackwise.adapters.kafka.broker_view import AdminView

            path = self._command_config
            settings = {} if path is None else read_client_config(path)
            try:
                admin = connect(self._bootstrap, settings, timeout_s=self._timeout_s)
            except Unreachable:
                self._timeout_s = AGAIN_S
                raise
            self._view = AdminView(self._stack.enter_context(closing(admin)))
        return self._view
