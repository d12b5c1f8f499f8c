"""Opens the store of an address: `zookeeper://h:2181,h2:2181/chroot` or `file:///dir`."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import unquote

from rackwise.core.errors import InvalidConfig, MissingDependency
from rackwise.core.identity.nodes.store import KAFKAS
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import ModuleType

    from rackwise.adapters.files.identity.store import DirectoryStore
    from rackwise.adapters.zookeeper import StoreConfig, ZooKeeperStore
    from rackwise.core.identity.nodes.store import IdentityStore, Parent

FILE = "file://"
ZOOKEEPER = "zookeeper://"
CONNECT_S = 10.0
PATIENCE_S = 30.0


def is_directory(url: str) -> bool:
    """Whether the store at this address is a directory."""
    return url.startswith(FILE)


def open_store(
    url: str,
    config: StoreConfig | None = None,
    *,
    session_timeout_s: float = 10.0,
    read_only: bool = False,
    connect_s: float = CONNECT_S,
    patience_s: float = PATIENCE_S,
) -> ZooKeeperStore | DirectoryStore:
    """Open the store at an address; the caller closes it. Times: see `open_zookeeper`.

    Raises `InvalidConfig`, `Unreachable`, `StoreNotReady`, `MissingDependency` without kazoo.
    """
    if is_directory(url):
        from rackwise.adapters.files.identity.store import DirectoryStore

        return DirectoryStore(directory_of(url), read_only=read_only)
    return _zookeeper(url).open_zookeeper(  # type: ignore[no-any-return]
        url,
        config,
        session_timeout_s=session_timeout_s,
        read_only=read_only,
        connect_s=connect_s,
        patience_s=patience_s,
    )


def read_store_config(path: str | Path) -> StoreConfig:
    """Read the settings of `--store-config`. See `adapters.zookeeper.read_store_config`."""
    return _zookeeper(ZOOKEEPER).read_store_config(path)  # type: ignore[no-any-return]


def init_store(
    url: str, config: StoreConfig | None = None, *, check: bool = False
) -> tuple[Parent, ...]:
    """Create the required nodes, or only check them; return the state of each."""
    if is_directory(url):
        from rackwise.adapters.files.identity.store import check_parents, make_parents

        return (check_parents if check else make_parents)(directory_of(url))
    package = _zookeeper(url)
    look = package.check_znodes if check else package.create_znodes
    return look(url, config)  # type: ignore[no-any-return]


def store_warnings(url: str, config: StoreConfig | None) -> tuple[str, ...]:
    """Return warnings for the operator, before the store is opened."""
    if config is None or is_directory(url):
        return ()
    return config.warnings(_zookeeper(url).Address.parse(url))


def init_warnings(
    url: str, parents: Sequence[Parent], config: StoreConfig | None
) -> tuple[str, ...]:
    """Return warnings about the nodes that `init` found or created."""
    warnings = []
    opened = sum(each.is_open for each in parents)
    if opened:
        warnings.append(
            f"{counted(opened, 'node')} of the store may be changed and deleted by any client that "
            "reaches ZooKeeper: set a login in --store-config before the first init, or let only "
            "the brokers reach ZooKeeper"
        )
    made = any(each.path in KAFKAS and each.state == "made" for each in parents)
    if made and config is not None and config.scheme == "digest":
        warnings.append(
            "created Kafka's own nodes for this digest login, which Kafka cannot use: its brokers "
            "will be denied; delete /brokers, start a broker first, then run init again"
        )
    elif made and not is_directory(url):
        warnings.append(
            "created Kafka's own nodes, because no broker has ever registered at this address: if "
            "brokers of this cluster exist, the path of --store differs from zookeeper.connect"
        )
    return tuple(warnings)


def mapping_writers(
    store: IdentityStore, url: str, config: StoreConfig | None, key: str
) -> tuple[str, ...] | None:
    """Return who may change the mapping of a key; None = not known, or not ZooKeeper.

    See `adapters.zookeeper.mapping_writers`. `url`, `config`: those of the store.
    """
    if is_directory(url):
        return None
    package = _zookeeper(url)
    settings = config or package.StoreConfig()
    return package.mapping_writers(store, settings, key)  # type: ignore[no-any-return]


def directory_of(url: str) -> str:
    """Return the path of `file:///dir`. Raises `InvalidConfig`.

    >>> directory_of("file:///var/lib/rackwise%20ids")
    '/var/lib/rackwise ids'
    """
    path = unquote(url.removeprefix(FILE))
    if not path.startswith("/") or "\0" in path:
        raise _invalid(url)
    return path


def _zookeeper(url: str) -> ModuleType:
    if not url.startswith(ZOOKEEPER):
        raise _invalid(url)
    try:
        from rackwise.adapters import zookeeper
    except ModuleNotFoundError as error:
        if error.name != "kazoo":
            raise
        raise MissingDependency(
            "a store in ZooKeeper needs kazoo, which is not installed",
            wanted="kazoo",
            had=None,
            hint="pip install 'rackwise[zookeeper]'",
        ) from None
    return zookeeper


def _invalid(url: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid store: expected zookeeper://HOST:PORT/CHROOT or file:///DIR, got {escaped(url)}",
        wanted="zookeeper://HOST:PORT/CHROOT or file:///DIR",
        had=url,
        hint="use for example --store zookeeper://zk-1:2181,zk-2:2181/kafka",
    )
