"""Takes a broker id for this host and starts the broker: options in, `Acquired` out.

```
server.properties (+ overrides in COMMAND)  ids, log dirs, listeners, limits
--key                                       the name of this host
log dirs                                    the ids and the data on them
--store, --bootstrap-server                 the store and the cluster to ask
```

All of this is read before the store is opened, so an error until then has written nothing.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Sequence
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING

from rackwise.adapters.launch.broker.host_key import read_key
from rackwise.adapters.launch.broker.log_dirs import read_log_dirs
from rackwise.adapters.launch.broker.process import check_command
from rackwise.adapters.launch.broker.server_properties import read_server_properties
from rackwise.adapters.launch.run import Check, OnAcquired, Report, Run, new_nonce
from rackwise.adapters.launch.views import stores
from rackwise.adapters.launch.views.lazy_view import LazyView
from rackwise.core.errors import InvalidConfig, Unreachable
from rackwise.core.identity.model import Mode, Rules
from rackwise.core.identity.refusals import ClusterMismatch
from rackwise.core.identity.start.actions import Launch, Starting
from rackwise.core.identity.start.gather import Host
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.launch.broker.server_properties import ServerProperties
    from rackwise.adapters.launch.options import Acquired, AcquireOptions
    from rackwise.core.identity.model import LocalLogDir
    from rackwise.core.identity.nodes.store import ClusterView, IdentityStore

WAIT_PER_SESSION = 1.5
SILENCE = "CLUSTER_SILENT: no broker answers; Kafka's controller must reject a second registration"

OnScan = Callable[[int, int], None]


def acquire(
    options: AcquireOptions,
    command: Sequence[str] | None,
    *,
    report: Report = lambda _: None,
    on_acquired: OnAcquired = lambda _: None,
    on_scan: OnScan = lambda _done, _of: None,
    check: Check = lambda: None,
    rng: random.Random | None = None,
) -> Acquired:
    """Take an id, write it to the log dirs, start the command and wait for its end.

    Without a command, wait until a broker of that id is registered.

    `report` receives a line for each phase. `on_acquired` receives the id once it is on the disks,
    before the command starts. `on_scan` receives the progress of a topic scan as `(done, of)`.
    `check` is called about once a second while no command runs; an exception of it ends the start.
    Raises a leaf of `IdentityRefused` if there is no id to take, `InvalidConfig`, `Unreachable`,
    `MetaWriteFailed`, `ClaimLost`, `NotRegistered`.
    """
    check_spare(options)
    properties = _properties(options, command or ())
    key = read_key(
        options.key,
        environment=os.environ,
        instance=options.instance,
        allow_unstable=options.allow_key,
    )
    if command:
        check_command(command, os.environ)
    log_dirs = read_log_dirs(properties.dirs)
    is_alone = options.new_cluster or all(each.meta is not None for each in log_dirs)
    with ExitStack() as stack:
        store = stack.enter_context(closing(_store(options, properties, report)))
        view = _view(stack, options, properties, store, on_scan)
        cluster_id, warnings = None, key.warnings
        if isinstance(view, LazyView):
            cluster_id, silence = _cluster_id(view, log_dirs, options)
            warnings += silence
        host = Host(
            mode=properties.mode,
            key=key.text,
            nonce=new_nonce(),
            endpoints=properties.endpoints,
            configured=properties.configured,
            log_dirs=log_dirs,
            migrating=properties.migrating,
            is_controller=properties.is_controller,
            cluster_id=cluster_id,
            above=_generate_above(options, properties),
            is_watched=options.missing == "watch",
            name=os.uname().nodename,
            pid=os.getpid(),
        )
        launch = Launch(
            command=bool(command),
            carries_id=properties.has_carrier,
            hold_ms=int(options.hold_s * 1000),
        )
        return Run(
            store=store,
            view=view,
            host=host,
            state=Starting(rules=build_rules(options, properties), launch=launch),
            command=tuple(command or ()),
            warnings=warnings,
            is_alone=is_alone and properties.mode is Mode.KRAFT,
            report=report,
            on_acquired=on_acquired,
            check=check,
            rng=rng or random.Random(),  # noqa: S311 (spreads retries, guards nothing)
        ).run()


def check_spare(options: AcquireOptions) -> None:
    """Reject options under which no spare can ever be taken. Raises `InvalidConfig`.

    A start that scans knows only since its own first look that an id is missing.
    """
    counts_itself = options.missing == "scan" and options.grace_s > 0
    if options.spare == "never" or options.literal or not counts_itself:
        return
    if options.on_blocked in {"error", "generate"}:
        raise InvalidConfig(
            f"--spare {options.spare} can never take an id with --on-blocked {options.on_blocked}: "
            f"a start that scans must wait for --grace {options.grace_s:g} s itself",
            wanted="a start that waits for --grace",
            had=f"--on-blocked {options.on_blocked}",
            hint="omit --on-blocked, or use --missing watch, or --grace 0",
        )


def build_rules(options: AcquireOptions, properties: ServerProperties) -> Rules:
    """Build the rules from the options and the configuration."""
    wait_ms = WAIT_PER_SESSION * properties.session_timeout_ms
    is_kraft = properties.mode is Mode.KRAFT
    generation = options.generate_above is not None if is_kraft else properties.generation
    if options.literal:
        literal = Rules.literal_kip()
        return Rules(
            spare=literal.spare,
            grace_ms=literal.grace_ms,
            wait_ms=literal.wait_ms,
            ignore_unreadable=literal.ignore_unreadable,
            adopt_data=literal.adopt_data,
            accept_loss=literal.accept_loss,
            literal=True,
            literal_step_b=literal.literal_step_b,
            generation=generation,
            reserved_max=properties.reserved_max,
        )
    return Rules(
        spare=options.spare,
        on_blocked=options.on_blocked,
        grace_ms=int(options.grace_s * 1000),
        wait_ms=int(wait_ms if options.wait_s is None else options.wait_s * 1000),
        generation=generation,
        reserved_max=properties.reserved_max,
        ignore_unreadable=options.ignore_unreadable_dirs,
        adopt_data=options.adopt_data,
        accept_loss=options.accept_loss,
    )


def _properties(options: AcquireOptions, command: Sequence[str]) -> ServerProperties:
    if options.server_properties is None:
        raise InvalidConfig(
            "expected the broker's own configuration, got none",
            wanted="--server-properties FILE",
            had=None,
            hint="add --server-properties server.properties",
        )
    properties = read_server_properties(options.server_properties, command)
    if properties.mode is Mode.KRAFT and options.bootstrap_server is None:
        raise InvalidConfig(
            "expected the address of a broker of the KRaft cluster, got none",
            wanted="--bootstrap-server HOST:PORT",
            had=None,
            hint="add --bootstrap-server kafka-1:9092,kafka-2:9092",
        )
    return properties


def _store(options: AcquireOptions, properties: ServerProperties, report: Report) -> IdentityStore:
    url = options.store_url
    if url is None and properties.zookeeper_connect is not None:
        url = f"{stores.ZOOKEEPER}{properties.zookeeper_connect}"
    if url is None:
        raise InvalidConfig(
            "expected a store, got neither --store nor zookeeper.connect in server.properties",
            wanted="--store URL",
            had=None,
            hint="add --store file:///DIR, or --store zookeeper://HOST:PORT/CHROOT",
        )
    config = (
        None if options.store_config is None else stores.read_store_config(options.store_config)
    )
    for warning in stores.store_warnings(url, config):
        report(f"warning: {warning}")
    return stores.open_store(url, config, session_timeout_s=options.session_timeout_s)


def _view(
    stack: ExitStack,
    options: AcquireOptions,
    properties: ServerProperties,
    store: IdentityStore,
    on_scan: OnScan,
) -> ClusterView:
    if properties.mode is Mode.ZOOKEEPER:
        from rackwise.adapters.zookeeper import ZooKeeperStore, ZooKeeperView

        if not isinstance(store, ZooKeeperStore):
            raise InvalidConfig(
                "expected the ZooKeeper of the cluster as store, got a folder",
                wanted="zookeeper://HOST:PORT/CHROOT",
                had="file://",
                hint="omit --store: the default is zookeeper.connect of server.properties",
            )
        return ZooKeeperView(store, progress=on_scan)
    return LazyView(stack, options.bootstrap_server or "", options.command_config)


def _cluster_id(
    view: LazyView, log_dirs: Sequence[LocalLogDir], options: AcquireOptions
) -> tuple[str | None, tuple[str, ...]]:
    """Return the id of a KRaft cluster: from its brokers, the disks, or `--cluster-id`.

    The second value is a warning if no broker answered.
    """
    if options.new_cluster and options.cluster_id is None and not _ids_on_disk(log_dirs):
        raise InvalidConfig(
            "expected the id of the new cluster, got none: no log dir holds it",
            wanted="--cluster-id ID",
            had=None,
            hint="add --cluster-id with the id that kafka-storage.sh format gave the controllers",
        )
    try:
        found = view.cluster_id()
    except Unreachable:
        known = _ids_on_disk(log_dirs)
        if not known and not options.new_cluster:
            raise
        return min(known, default=options.cluster_id), (SILENCE,)
    if options.cluster_id not in {None, found}:
        raise ClusterMismatch(
            f"invalid --cluster-id: expected {escaped(found or 'unknown')}, as at "
            f"{escaped(options.bootstrap_server or '')}, got {escaped(options.cluster_id or '')}",
            wanted=found,
            had=options.cluster_id,
        )
    return found, ()


def _ids_on_disk(log_dirs: Sequence[LocalLogDir]) -> frozenset[str]:
    ids = (None if each.meta is None else each.meta.cluster_id for each in log_dirs)
    return frozenset(filter(None, ids))


def _generate_above(options: AcquireOptions, properties: ServerProperties) -> int:
    return properties.reserved_max if options.generate_above is None else options.generate_above
