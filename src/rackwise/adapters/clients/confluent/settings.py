"""Reads what a rack-aware producer was given: librdkafka's settings and the partitioner's options.

```
given                                          used
client_rack, or conf with client.rack;         partitioner.rack.aware is true unless it is set
partitioner.* and rackwise.* in conf
a PartitionerConfig instead of these           as it is
batch.size of conf, or librdkafka's 1,000,000  the window, unless sticky_bytes was chosen
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
from rackwise.core.partitioner import PartitionerConfig
from rackwise.core.partitioner.choice.config import STICKY_BYTES
from rackwise.core.partitioner.choice.rack_levels import is_blank
from rackwise.core.partitioner.options import OWN_PREFIXES

LIBRDKAFKA_BATCH_BYTES: Final = 1_000_000
"""librdkafka's default `batch.size`."""
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
        return int(str(self.conf.get("statistics.interval.ms", 0))) > 0

    def connection(self) -> dict[str, Any]:
        """The settings for a second, silent client of the same brokers."""
        kept = {name: v for name, v in self.conf.items() if name.startswith(_OF_CONNECTIONS)}
        return {**kept, "log_level": 0, "error_cb": _ignored}


def read_settings(conf: object, config: object, client_rack: str | None) -> ProducerSettings:
    """Check and divide what a producer was given. Raises `PartitionerConfigError`."""
    if not isinstance(conf, Mapping):
        raise invalid_option("conf", "a dict of librdkafka's settings", conf, WRITE)
    given = dict(conf) if client_rack is None else {**conf, RACK: client_rack}
    own = {name: value for name, value in given.items() if name.startswith(OWN_PREFIXES)}
    theirs = {name: value for name, value in given.items() if name not in own}
    if config is None:
        config = _config_of(own, given.get(RACK))
    elif own or client_rack is not None:
        named = ", ".join([*sorted(own), *[RACK] * (client_rack is not None)])
        raise invalid_option("options", "none beside a PartitionerConfig", named, WRITE)
    else:
        config = checked_config(config)
    if config.sticky_bytes == STICKY_BYTES:
        size = int(str(_of_topics(theirs, "batch.size", LIBRDKAFKA_BATCH_BYTES)))
        config = replace(config, sticky_bytes=size)
    partitioner = str(_of_topics(theirs, "partitioner", "consistent_random"))
    if not partitioner.endswith("_random"):
        config = replace(config, rack_aware=False, adaptive=False, custom_partitioner=partitioner)
    return ProducerSettings(theirs, config, partitioner)


def _config_of(own: Mapping[str, object], rack: object) -> PartitionerConfig:
    """The configuration by Kafka's option names, rack-aware unless it says otherwise."""
    config = PartitionerConfig.from_kafka({"partitioner.rack.aware": True, **own, RACK: rack})
    if config.rack_aware and is_blank(config.rack):
        raise invalid_option(RACK, "the rack of this client", rack or "none", WRITE)
    return config


def _ignored(_error: object) -> None:
    """The second client's errors: the first client reports them too."""


def _of_topics(conf: Mapping[str, object], name: str, default: object) -> object:
    of_topics = conf.get(_OF_TOPICS)
    nested = of_topics.get(name, default) if isinstance(of_topics, Mapping) else default
    return conf.get(name, nested)
