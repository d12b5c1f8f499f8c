"""What a start is told, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from pathlib import Path

    from rackwise.core.identity.model import How, OnBlocked, Spare


@dataclass(frozen=True, slots=True, kw_only=True)
class AcquireOptions:
    """The options of `broker-id acquire`, one field each.

    `store_url`: `zookeeper://h:2181,h2:2181/chroot` or `file:///dir`; None = `zookeeper.connect` of
    `server_properties`. `bootstrap_server`: set = the cluster is in KRaft mode and is asked there.
    `key`: where the key comes from, as `hostname` or `env:NAME`. `wait_s`: how long a stale
    registration is waited for; None = 1.5 of the broker's session timeout. `hold_s`: how long a
    start without a command waits for a registration. `cluster_id`: of a new cluster in KRaft mode.
    `report`: where the document goes.
    """

    server_properties: Path | None = None
    store_url: str | None = None
    store_config: Path | None = None
    bootstrap_server: str | None = None
    command_config: Path | None = None
    key: str = "hostname"
    instance: str | None = None
    allow_key: bool = False
    spare: Spare = "never"
    grace_s: float = 300.0
    missing: Literal["scan", "watch"] = "scan"
    on_blocked: OnBlocked = "error"
    wait_s: float | None = None
    generate_above: int | None = None
    new_cluster: bool = False
    cluster_id: str | None = None
    ignore_unreadable_dirs: bool = False
    adopt_data: bool = False
    accept_loss: bool = False
    literal: bool = False
    session_timeout_s: float = 10.0
    hold_s: float = 600.0
    report: Path | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired:
    """The id that a start has, and how its broker ended.

    `row`: of the decision table, as `D27`. `wrote`: log dirs that got a `meta.properties`.
    `took_from`: keys whose mapping was removed. `exit_status`: the child's, 128+n after signal n;
    0 without a command; None while the child still runs.
    """

    id: int
    how: How
    row: str
    key: str
    waited_ms: int = 0
    wrote: tuple[str, ...] = ()
    took_from: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    exit_status: int | None = None
