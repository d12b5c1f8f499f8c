"""The options that the commands of `rackwise broker-id` share, and the store that they open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, TypeAlias

import typer

from rackwise.cli.shell import Shell, installed
from rackwise.cli.source import CommandConfig, connected
from rackwise.core.constants import GREATEST_ID
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.files.identity.store import DirectoryStore
    from rackwise.adapters.kafka.broker_view import AdminView
    from rackwise.adapters.zookeeper import StoreConfig, ZooKeeperStore, ZooKeeperView
    from rackwise.core.identity.nodes.store import IdentityStore
    from rackwise.core.identity.operator.roster import UnreadableNode

SCHEME = "zookeeper://"
Unasked: TypeAlias = Literal["reject", "warn", "ignore"]
"""What a command does if nobody can say which ids are registered and used."""

StoreConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--store-config",
        metavar="FILE",
        help="Read TLS settings, login and ACLs of the store from this properties file. Other "
        "users must not read it.",
    ),
]
SessionTimeout = Annotated[
    float,
    typer.Option(
        metavar="S",
        min=1,
        help="Let the store end the session after S seconds without a sign of life.",
    ),
]
BrokerId = Annotated[
    int, typer.Argument(metavar="ID", min=0, max=GREATEST_ID, help="The broker id.")
]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreOptions:
    """The options that say where the store is and how to ask the cluster."""

    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="URL",
            help="Keep identities in this store: zookeeper://h:2181,h2:2181/chroot or "
            "file:///dir. The default is zookeeper.connect of --server-properties.",
        ),
    ] = None
    store_config: StoreConfigFile = None
    server_properties: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Read the broker's settings from this file."),
    ] = None
    bootstrap_server: Annotated[
        str | None,
        typer.Option(
            "--bootstrap-server",
            metavar="H:P",
            help="Ask these brokers of a KRaft cluster which brokers are registered.",
        ),
    ] = None
    command_config: CommandConfig = None

    @property
    def is_kraft(self) -> bool:
        """Whether the cluster has no registrations in ZooKeeper."""
        return self.bootstrap_server is not None

    def sees_cluster(self, store: IdentityStore) -> bool:
        """Return whether the brokers or the store can say which ids are registered and used.

        A directory can if it has Kafka's nodes.
        """
        from rackwise.adapters.launch.views.stores import is_directory
        from rackwise.core.identity.nodes.store import IDS, TOPICS

        if self.is_kraft or not is_directory(self.url):
            return True
        return bool(store.children(IDS) or store.children(TOPICS))

    @property
    def config(self) -> StoreConfig | None:
        """The settings of `--store-config`; None = without."""
        if self.store_config is None:
            return None
        from rackwise.adapters.launch.views.stores import read_store_config

        return read_store_config(self.store_config)

    @property
    def url(self) -> str:
        """The store's address. Raises `InvalidConfig` if no option names one."""
        if self.store is not None:
            return self.store
        if self.server_properties is not None:
            from rackwise.adapters.launch.broker.server_properties import read_server_properties

            connect = read_server_properties(self.server_properties).zookeeper_connect
            if connect is not None:
                return SCHEME + connect
        raise InvalidConfig(
            "expected a store, got neither --store nor zookeeper.connect in --server-properties",
            wanted="--store URL",
            had=None,
            hint="--store zookeeper://zk-1:2181/kafka, or --store file:///var/lib/rackwise",
        )


@contextmanager
def open_cluster(
    shell: Shell,
    options: StoreOptions,
    *,
    read_only: bool,
    unasked: Unasked = "reject",
    session_timeout_s: float = 10.0,
    patience_s: float = 30.0,
) -> Iterator[tuple[IdentityStore, ZooKeeperView | AdminView]]:
    """Open the store and the view of the cluster; both are closed at the end.

    `patience_s`: how long to wait for a lost session to come back. Raises `InvalidConfig` if nobody
    can say which ids are registered and `unasked` is `reject`.
    """
    from rackwise.adapters.launch.views.stores import open_store, store_warnings

    url, config = options.url, options.config
    for warning in store_warnings(url, config):
        shell.warn(warning)
    with ExitStack() as stack:
        store = open_store(
            url,
            config,
            session_timeout_s=session_timeout_s,
            read_only=read_only,
            patience_s=patience_s,
        )
        stack.enter_context(closing(store))
        if unasked != "ignore" and not options.sees_cluster(store):
            _tell_of_unasked(shell, unasked)
        yield store, _view(stack, shell, options, store)


def _tell_of_unasked(shell: Shell, unasked: Unasked) -> None:
    """Reject a directory without `--bootstrap-server`, or warn of it."""
    problem = "expected --bootstrap-server with a store in a directory, got none"
    unknown = "the directory does not record which ids are registered and which have replicas"
    if unasked == "reject":
        raise InvalidConfig(
            f"{problem}: {unknown}",
            wanted="--bootstrap-server HOST:PORT",
            had=None,
            hint="add --bootstrap-server kafka-1:9092",
        )
    shell.warn(f"{problem}: {unknown}, so the command sees neither")


def scan_progress(stack: ExitStack, shell: Shell) -> Callable[[int, int], None]:
    """Return a callback that shows how many topics are read, as `(done, of)`."""
    advance: Callable[[int], None] | None = None
    shown = 0

    def show(done: int, of: int) -> None:
        nonlocal advance, shown
        if advance is None or done < shown:
            advance, shown = stack.enter_context(shell.progress("topics", of)), 0
        advance(done - shown)
        shown = done

    return show


def _view(
    stack: ExitStack, shell: Shell, options: StoreOptions, store: ZooKeeperStore | DirectoryStore
) -> ZooKeeperView | AdminView:
    if options.bootstrap_server is None:
        with installed("zookeeper", "read ZooKeeper's nodes"):
            from rackwise.adapters import zookeeper

        return zookeeper.ZooKeeperView(store, progress=scan_progress(stack, shell))
    admin = stack.enter_context(connected(options.bootstrap_server, options.command_config))
    from rackwise.adapters.kafka import broker_view

    return broker_view.AdminView(admin)


def warn_of_problems(shell: Shell, problems: Mapping[str, UnreadableNode]) -> None:
    """Warn of each node that cannot be read."""
    for path, each in sorted(problems.items()):
        where = "" if path in each.problem else f"{escaped(path)}: "
        shell.warn(f"{where}{escaped(each.problem)}; {each.hint}")
