"""The store of identities in ZooKeeper, and the view of the cluster there."""

from __future__ import annotations

from rackwise.adapters.zookeeper.address import Address
from rackwise.adapters.zookeeper.config import StoreConfig, read_store_config
from rackwise.adapters.zookeeper.store import ZooKeeperStore, open_zookeeper
from rackwise.adapters.zookeeper.view import ZooKeeperView
from rackwise.adapters.zookeeper.znodes import check_znodes, create_znodes, mapping_writers

__all__ = [
    "Address",
    "StoreConfig",
    "ZooKeeperStore",
    "ZooKeeperView",
    "check_znodes",
    "create_znodes",
    "mapping_writers",
    "open_zookeeper",
    "read_store_config",
]
