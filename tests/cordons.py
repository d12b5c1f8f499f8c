"""Log folders of real brokers that are cordoned for a while (KIP-1066)."""

from __future__ import annotations

from contextlib import contextmanager

from kafka.admin import ConfigResource, ConfigResourceType

from kafka_traffic import until
from rackwise.adapters.kafka.logs.read import read_log_dirs

ALL = "*"


@contextmanager
def cordoned(admin, broker, folders=ALL):
    """`folders` (paths, separated by commas) take no new replicas until the end of the block."""
    wanted = None if folders == ALL else set(folders.split(","))
    _set(admin, broker, folders)
    try:
        until(lambda: cordons(admin, broker, wanted), f"cordoned folders on broker {broker}")
        yield
    finally:
        _set(admin, broker, "")
        until(lambda: cordons(admin, broker, set()), f"no cordoned folder on broker {broker}")


def cordons(admin, broker, wanted):
    """Whether exactly these folders are cordoned; None is all of them."""
    folders = read_log_dirs(admin, [broker]).get(broker, ())
    found = {each.path for each in folders if each.is_cordoned}
    everything = {each.path for each in folders}
    return bool(folders) and found == (everything if wanted is None else wanted)


def _set(admin, broker, value):
    resource = ConfigResource(ConfigResourceType.BROKER, str(broker), {"cordoned.log.dirs": value})
    admin.alter_configs([resource])
