"""The store of identities in ZooKeeper: sessions, logins, nodes, the cluster's view."""

from __future__ import annotations

from rackwise.adapters.zookeeper.address import Address
from rackwise.adapters.zookeeper.config import StoreConfig, read_store_config
from rackwise.adapters.zookeeper.parents import check_parents, make_parents
from rackwise.adapters.zookeeper.store import ZooKeeperStore, open_store
from rackwise.adapters.zookeeper.view import ZooKeeperView

__all__ = [
    "Address",
    "StoreConfig",
    "ZooKeeperStore",
    "ZooKeeperView",
    "check_parents",
    "make_parents",
    "open_store",
    "read_store_config",
]
