"""Where `rackwise broker-id` finds the store of identities and the cluster; the options for it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.installed import installed
from rackwise.cli.shell import Shell
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import HOSTS
from rackwise.core.kafka_limits import GREATEST_ID
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from rackwise.adapters.files.identity.store import DirectoryStore
    from rackwise.adapters.kafka.broker_view import AdminView
    from rackwise.adapters.zookeeper import ZooKeeperStore, ZooKeeperView
    from rackwise.core.identity.nodes.store import IdentityStore

SCHEME = "zookeeper://"
MAPPING_HINT = "broker-id assign KEY ID --force writes a mapping anew"
NODE_HINT = "mend or delete that node"

StoreUrl = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="URL",
        help="zookeeper://h:2181,h2:2181/chroot or file:///dir; by default zookeeper.connect of "
        "--server-properties.",
    ),
]
StoreConfigFile = Annotated[
    Path | None,
    typer.Option("--store-config", metavar="FILE", help="Properties: TLS, login, ACLs; mode 0600."),
]
ServerProperties = Annotated[
    Path | None, typer.Option(metavar="FILE", help="The broker's server.properties.")
]
Bootstrap = Annotated[
    str | None,
    typer.Option(
        "--bootstrap-server", metavar="H:P", help="KRaft: ask these brokers who is registered."
    ),
]
CommandConfig = Annotated[
    Path | None,
    typer.Option("--command-config", metavar="FILE", help="KRaft: client properties."),
]
BrokerId = Annotated[int, typer.Argument(metavar="ID", min=0, max=GREATEST_ID, help="The id.")]


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the store is, and who knows the brokers."""

    store: str | None
    store_config: Path | None
    server_properties: Path | None
    bootstrap_server: str | None
    command_config: Path | None

    @property
    def is_kraft(self) -> bool:
        """Whether the cluster has no registrations in ZooKeeper."""
        return self.bootstrap_server is not None

    @property
    def url(self) -> str:
        """The store's address. Raises `InvalidConfig` where nobody says it."""
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
def opened(
    shell: Shell,
    place: Place,
    *,
    read_only: bool,
    session_timeout_s: float = 10.0,
    patience_s: float = 30.0,
) -> Iterator[tuple[IdentityStore, ZooKeeperView | AdminView]]:
    """The store and the cluster's view, both closed at the end.

    `patience_s`: how long a lost session is waited for.
    """
    from rackwise.adapters.launch.views.stores import open_store, read_store_config, store_warnings

    url = place.url
    config = None if place.store_config is None else read_store_config(place.store_config)
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
        yield store, _view(stack, shell, place, store)


def scan_of(stack: ExitStack, shell: Shell) -> Callable[[int, int], None]:
    """Hears how many topics of how many were read, and shows it."""
    advance: Callable[[int], None] | None = None
    shown = 0

    def heard(done: int, of: int) -> None:
        nonlocal advance, shown
        if advance is None or done < shown:
            advance, shown = stack.enter_context(shell.progress("topics", of)), 0
        advance(done - shown)
        shown = done

    return heard


def _view(
    stack: ExitStack, shell: Shell, place: Place, store: ZooKeeperStore | DirectoryStore
) -> ZooKeeperView | AdminView:
    if place.bootstrap_server is None:
        with installed("zookeeper", "read ZooKeeper's nodes"):
            from rackwise.adapters import zookeeper

        return zookeeper.ZooKeeperView(store, progress=scan_of(stack, shell))
    with installed("kafka", "talk to brokers"):
        from rackwise.adapters import kafka
        from rackwise.adapters.kafka import broker_view

    settings = (
        {} if place.command_config is None else kafka.read_client_config(place.command_config)
    )
    admin = stack.enter_context(closing(kafka.connect(place.bootstrap_server, settings)))
    return broker_view.AdminView(admin)


def tell_problems(shell: Shell, problems: Mapping[str, str]) -> None:
    """Warn of each node that cannot be read."""
    for path, text in sorted(problems.items()):
        where = "" if path in text else f"{escaped(path)}: "
        hint = MAPPING_HINT if path.startswith(HOSTS) else NODE_HINT
        shell.warn(f"{where}{escaped(text)}; {hint}")
