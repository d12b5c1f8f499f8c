"""The options of a producer of kafka-python or of aiokafka, and the configuration that they make.

A producer is created with the options of its client and with those of the partitioner, by Kafka's
names or with `_` for `.`:

```
client_rack="a", linger_ms=5              rack-aware, in rack a
"client.rack": "a", linger_ms=5           the same
client_rack="a", partitioner=hash_it      KIP-1123: the user's own partitioner stays in force
client_rack="a", linger=5                 rejected: linger_ms is the nearest name
```

Where a partitioner of the user's own chooses, nothing is steered or counted. A warning says so.

Source: KIP-1123, `ProducerConfig` of Kafka 4.4.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rackwise.adapters.clients.rack import check_rack
from rackwise.adapters.clients.steering import warn
from rackwise.core.errors import PartitionerConfigError
from rackwise.core.partitioner import PartitionerConfig
from rackwise.core.partitioner.options import PARTITIONER_CLASS, split_options
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

PARTITIONER = "partitioner"
"""The option of kafka-python and of aiokafka that takes a partitioner of the user's own."""


def producer_configs(
    client_rack: str | None,
    configs: Mapping[str, object],
    *,
    client: Collection[str],
    batch_size: str,
    plain: str,
) -> tuple[PartitionerConfig, dict[str, Any]]:
    """The partitioner's configuration, rack-aware unless it says otherwise, and the client's own.

    `client`, `batch_size`: as in `split_options`. `plain`: the client's own class of producers.
    Raises `InvalidConfig` if it is rack-aware and has no rack, and `PartitionerConfigError`.
    """
    if client_rack is not None:
        configs = {"client_rack": client_rack, **configs}
    ours, theirs = split_options(configs, client=client, batch_size=batch_size)
    ours.setdefault("partitioner.rack.aware", True)
    config = PartitionerConfig.from_kafka(ours)
    if config.rack_aware:
        check_rack(config.rack, plain)
    own = theirs.get(PARTITIONER)
    if own is None:
        theirs.pop(PARTITIONER, None)
        return config, theirs
    name = getattr(own, "__name__", type(own).__name__)
    config = PartitionerConfig.from_kafka(ours | {PARTITIONER_CLASS: name})
    for finding in config.problems():
        warn(finding)
    return config, theirs


def check_keywords(given: Sequence[object], door: str) -> None:
    """Reject options that are not keyword arguments; `door`: the module of the producer.

    Raises `PartitionerConfigError`.
    """
    if given:
        hint = f'write {door}.RackAwareProducer(client_rack="use1-az1", **options)'
        raise invalid_option("options", "keyword arguments", given[0], hint)


def checked_config(config: object) -> PartitionerConfig:
    """A configuration of a partitioner that has an effect. Raises `PartitionerConfigError`."""
    if not isinstance(config, PartitionerConfig):
        rack = escaped(repr(config)) if isinstance(config, str) else "RACK"
        hint = f"write PartitionerConfig(rack_aware=True, rack={rack})"
        raise invalid_option("config", "a PartitionerConfig", config, hint)
    if config.rack and not config.rack_aware and config.custom_partitioner is None:
        hint = f"write PartitionerConfig(rack_aware=True, rack={escaped(repr(config.rack))})"
        raise invalid_option("rack_aware", "True because a rack is given", "False", hint)
    return config


def invalid_option(name: str, wanted: str, value: object, hint: str) -> PartitionerConfigError:
    """`value`: a text, or another object, which is named by its class: it may hold a password."""
    had = escaped(value) if isinstance(value, str) else f"an object of class {type(value).__name__}"
    return PartitionerConfigError.of(name, wanted=wanted, had=had, hint=hint)
