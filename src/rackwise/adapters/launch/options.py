"""The options of a start, and its result."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.core.identity.model import How, OnBlocked, Spare


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireOptions:
    """The options of `broker-id acquire`, one field each."""

    server_properties: Path | None = None
    store_url: str | None = None
    """`zookeeper://h:2181,h2:2181/chroot` or `file:///dir`; None = `zookeeper.connect` of
    `server_properties`."""
    store_config: Path | None = None
    bootstrap_server: str | None = None
    """Brokers of a KRaft cluster; None = the cluster is in ZooKeeper mode."""
    command_config: Path | None = None
    key: str = "hostname"
    """The source of the key, such as `hostname` or `env:NAME`."""
    instance: str | None = None
    allow_key: bool = False
    spare: Spare = "never"
    grace_s: float = 300.0
    missing: Literal["scan", "watch"] = "scan"
    on_blocked: OnBlocked = "grace"
    wait_s: float | None = None
    """How long to wait for a stale registration; None = 1.5 of the broker's session timeout."""
    generate_above: int | None = None
    new_cluster: bool = False
    cluster_id: str | None = None
    """The id of a new KRaft cluster."""
    ignore_unreadable_dirs: bool = False
    adopt_data: bool = False
    accept_loss: bool = False
    literal: bool = False
    session_timeout_s: float = 10.0
    hold_s: float = 600.0
    """How long a start without a command waits for a registration."""
    report: Path | None = None
    """The file for the result document."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired:
    """The id that a start took, and how its broker ended."""

    id: int
    how: How
    row: str
    """The row of the decision table, such as `D27`."""
    key: str
    waited_ms: int = 0
    wrote: tuple[str, ...] = ()
    """The log dirs that got a `meta.properties`."""
    took_from: tuple[str, ...] = ()
    """The keys whose mapping was removed."""
    warnings: tuple[str, ...] = ()
    exit_status: int | None = None
    """The exit status of the child, 128+n after signal n; 0 without a command; None while the
    child runs."""
