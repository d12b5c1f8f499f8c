"""Reads what a rack-aware producer was given: librdkafka's settings and the partitioner's options.

```
given                                          used
client_rack, or conf with client.rack;         partitioner.rack.aware is true unless it is set
partitioner.* and rackwise.* in conf           the window is batch.size, or librdkafka's 1,000,000
a PartitionerConfig instead of these           as it is: the window is its sticky_bytes
two different racks                            rejected
batch.size that is no integer                  rejected: librdkafka reads "1M" as 1
other values that librdkafka rejects           left to librdkafka
partitioner that places records without a key  it stays in force (KIP-1123): nothing is steered
partitioner *_random                           it leaves records without a key to chance: steered
```

librdkafka rejects the partitioner's options, so they are taken out of its settings. Its topic
settings may stand in `default.topic.config`. Source: KIP-1123, librdkafka's CONFIGURATION.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Final

from rackwise.adapters.clients.producer_options import checked_config, invalid_option
from rackwise.adapters.clients.rack import check_rack
from rackwise.core.partitioner import PartitionerConfig
from rackwise.core.partitioner.options import BATCH_SIZE, OWN_PREFIXES

LIBRDKAFKA_BATCH_BYTES: Final = 1_000_000
"""librdkafka's default `batch.size`."""
LIBRDKAFKA_REFRESH_MS: Final = 300_000
"""librdkafka's default `topic.metadata.refresh.interval.ms`."""
WRITE: Final = (
    'write RackAwareProducer({"bootstrap.servers": "..."}, client_rack="use1-az1"), or give '
    'PartitionerConfig(rack_aware=True, rack="use1-az1") after the settings'
)
RACK: Final = "client.rack"
_OF_TOPICS = "default.topic.config"
_OF_CONNECTIONS = (
    "api.version.",
    "bootstrap.servers",
    "broker.address.",
    "broker.version.",
    "client.dns.lookup",
    "client.id",
    "connections.max.idle.ms",
    "enable.sasl.",
    "enable.ssl.",
    "https.",
    "metadata.broker.list",
    "oauth_cb",
    "reconnect.",
    "retry.backoff.",
    "sasl.",
    "security.",
    "socket.",
    "ssl.",
)


@dataclass(frozen=True, slots=True)
class ProducerSettings:
    """The settings of one rack-aware producer."""

    conf: dict[str, object]
    """librdkafka's settings."""
    config: PartitionerConfig
    """The partitioner's options; without an effect if a custom partitioner is in force."""
    partitioner: str
    """librdkafka's `partitioner`, which places the records that are not steered."""

    @property
    def is_custom(self) -> bool:
        """Whether librdkafka's partitioner places all records."""
        return self.config.custom_partitioner is not None

    @property
    def has_statistics(self) -> bool:
        """Whether librdkafka calls `stats_cb`."""
        return _integer(self.conf.get("statistics.interval.ms"), 0) > 0

    @property
    def refresh_ms(self) -> int:
        """The time between two refreshes of librdkafka's metadata; below 1 for none."""
        return _integer(self.conf.get("topic.metadata.refresh.interval.ms"), LIBRDKAFKA_REFRESH_MS)

    def connection(self) -> dict[str, Any]:
        """The settings for a second, silent client of the same brokers."""
        kept = {name: v for name, v in self.conf.items() if name.startswith(_OF_CONNECTIONS)}
        return {**kept, "log_level": 0, "error_cb": _ignored}


def read_settings(conf: object, config: object, client_rack: str | None) -> ProducerSettings:
    """Check and divide what a producer was given.

    Raises `PartitionerConfigError`, and `InvalidConfig` without a rack.
    """
    if not isinstance(conf, Mapping):
        raise invalid_option("conf", "a dict of librdkafka's settings", conf, WRITE)
    own = {
        name: value
        for name, value in conf.items()
        if isinstance(name, str) and name.startswith(OWN_PREFIXES)
    }
    theirs = {name: value for name, value in conf.items() if name not in own}
    if config is None:
        if client_rack is not None:
            _check_one_rack(theirs.get(RACK), client_rack)
            theirs[RACK] = client_rack
        window = _of_topics(theirs, BATCH_SIZE, LIBRDKAFKA_BATCH_BYTES)
        config = _config_of({**own, BATCH_SIZE: window}, theirs.get(RACK))
    elif own or client_rack is not None:
        named = ", ".join([*sorted(own), *[RACK] * (client_rack is not None)])
        raise invalid_option("options", "none beside a PartitionerConfig", named, WRITE)
    else:
        config = checked_config(config)
        _check_one_rack(theirs.get(RACK), config.rack)
    partitioner = str(_of_topics(theirs, "partitioner", None) or "consistent_random")
    if not partitioner.endswith("_random"):
        config = replace(config, rack_aware=False, adaptive=False, custom_partitioner=partitioner)
    return ProducerSettings(theirs, config, partitioner)


def _config_of(own: Mapping[str, object], rack: object) -> PartitionerConfig:
    """The configuration by Kafka's option names, rack-aware unless it says otherwise."""
    config = PartitionerConfig.from_kafka({"partitioner.rack.aware": True, **own, RACK: rack})
    if config.rack_aware:
        check_rack(config.rack, "Producer")
    return config


def _check_one_rack(of_settings: object, rack: str | None) -> None:
    """Reject two different racks of one client."""
    if of_settings is not None and rack is not None and of_settings != rack:
        raise invalid_option(RACK, "one value", f"{of_settings} and {rack}", WRITE)


def _integer(value: object, default: int) -> int:
    """An integer of librdkafka's settings; the default for what librdkafka itself rejects."""
    try:
        return int(str(value))
    except ValueError:
        return default


def _ignored(_error: object) -> None:
    """The second client's errors: the first client reports them too."""


def _of_topics(conf: Mapping[str, object], name: str, default: object) -> object:
    of_topics = conf.get(_OF_TOPICS)
    nested = of_topics.get(name, default) if isinstance(of_topics, Mapping) else default
    return conf.get(name, nested)
