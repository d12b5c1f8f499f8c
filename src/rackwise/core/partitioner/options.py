"""Reads options by Kafka's names, as texts or values; an unknown name gets the nearest name.

```
"partitioner.rack.aware": "True"     -> rack_aware=True          true or false, any case
"batch.size": 0                      -> sticky_bytes=1           as Kafka reads it
"partitioner.rack.awar": "true"      rejected: partitioner.rack.aware is the nearest name
"client.rak": "a"                    rejected: client.rack is the nearest name
"linger.ms": 5                       ignored: another part of the client reads it
```

`split_options` does the same for the keyword arguments of a Python client, which have underscores.
There, every unknown name is rejected:

```
client_rack="a", linger_ms=5         {"client.rack": "a"} and {"linger_ms": 5}
"client.rack": "a", linger_ms=5      the same
client_rak="a"                       rejected: client_rack is the nearest name
```

What this does not do: check values against each other. Source: `ProducerConfig` of Kafka 4.4.
"""

from __future__ import annotations

from difflib import get_close_matches
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from rackwise.core.errors import PartitionerConfigError
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping

OWN_PREFIXES = ("partitioner.", "rackwise.")
PARTITIONER_CLASS = "partitioner.class"
BATCH_SIZE = "batch.size"
HINT = "the options are listed at PartitionerConfig"
MISSPELT = 0.82
"""A name that is as similar to an option is a misspelt option.

The most similar options of Java's, librdkafka's and kafka-python's producers have 0.72.
"""
LONG = 2**63
"""Kafka's greatest integers are below this number."""


def read_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Field of `PartitionerConfig` -> value, for the options that are set.

    Raises `PartitionerConfigError` for an unknown `partitioner.*` or `rackwise.*`, for a misspelt
    option, and for a value of another type.
    """
    found: dict[str, Any] = {}
    for name in sorted(options):
        if name in OPTIONS:
            field, read = OPTIONS[name]
            found[field] = read(name, options[name])
        elif name != PARTITIONER_CLASS and (name.startswith(OWN_PREFIXES) or _is_misspelt(name)):
            raise _unknown_option(name, [*OPTIONS, PARTITIONER_CLASS])
    return found


def split_options(
    configs: Mapping[str, object], *, client: Collection[str], batch_size: str
) -> tuple[dict[str, object], dict[str, object]]:
    """The partitioner's options by Kafka's names, and the options that the client itself reads.

    `client`: the names of the client's own options. `batch_size`: the one of them that is Kafka's
    batch.size; it is in both results. Raises `PartitionerConfigError` for an unknown name, and for
    an option with two values.
    """
    own = {name: name for name in OPTIONS if name != BATCH_SIZE}
    own |= {name.replace(".", "_"): name for name in own}
    ours: dict[str, object] = {}
    theirs: dict[str, object] = {}
    for name, value in configs.items():
        if name in client:
            theirs[name] = value
        elif name not in own:
            raise _unknown_option(name, [*own, *client])
        elif own[name] in ours:
            both = f"{own[name]} and {own[name].replace('.', '_')}"
            raise _invalid_option(own[name], "one value", both)
        else:
            ours[own[name]] = value
    if batch_size in theirs:
        ours[BATCH_SIZE] = theirs[batch_size]
    return ours, theirs


def _is_misspelt(name: str) -> bool:
    as_kafka = name.lower().replace("_", ".")
    return bool(get_close_matches(as_kafka, OPTIONS, n=1, cutoff=MISSPELT))


def _unknown_option(name: str, known: Iterable[str]) -> PartitionerConfigError:
    nearest = get_close_matches(name, known, n=1, cutoff=0)[0]
    return PartitionerConfigError(
        f"unknown option {escaped(name)}: did you mean {nearest}?",
        wanted=nearest,
        had=escaped(name),
        hint=HINT,
        where=escaped(name),
    )


def _invalid_option(name: str, wanted: str, value: object) -> PartitionerConfigError:
    return PartitionerConfigError.of(name, wanted=wanted, had=escaped(str(value)), hint=HINT)


def _boolean(name: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    text = value.strip().lower() if isinstance(value, str) else None
    if text not in {"true", "false"}:
        raise _invalid_option(name, "true or false", value)
    return text == "true"


def _integer(name: str, value: object) -> int:
    if isinstance(value, int) and not isinstance(value, bool):
        found = value
    else:
        try:
            found = int(_digits(value))
        except ValueError:
            raise _invalid_option(name, "an integer", value) from None
    if not -LONG <= found < LONG:
        raise _invalid_option(
            name, "an integer of 64 bits", f"one of {found.bit_length() + 1} bits"
        )
    return found


def _digits(value: object) -> str:
    """A number's text as Java accepts it: without underscores. Raises `ValueError`."""
    if not isinstance(value, str) or "_" in value:
        raise ValueError
    return value.strip()


def _batch_size(name: str, value: object) -> int:
    return _integer(name, value) or 1


def _number(name: str, value: object) -> float:
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool):
        return float(_integer(name, value))
    try:
        return float(_digits(value))
    except ValueError:
        raise _invalid_option(name, "a number", value) from None


def _maybe_integer(name: str, value: object) -> int | None:
    return None if value is None else _integer(name, value)


def _maybe_number(name: str, value: object) -> float | None:
    return None if value is None else _number(name, value)


def _text(name: str, value: object) -> str:
    if not isinstance(value, str):
        raise _invalid_option(name, "a text", value)
    return value


def _maybe_text(name: str, value: object) -> str | None:
    return None if value is None else _text(name, value)


OPTIONS: Mapping[str, tuple[str, Callable[[str, object], object]]] = MappingProxyType(
    {
        BATCH_SIZE: ("sticky_bytes", _batch_size),
        "client.rack": ("rack", _maybe_text),
        "partitioner.adaptive.partitioning.enable": ("adaptive", _boolean),
        "partitioner.availability.timeout.ms": ("availability_timeout_ms", _integer),
        "partitioner.ignore.keys": ("ignore_keys", _boolean),
        "partitioner.rack.aware": ("rack_aware", _boolean),
        "rackwise.backlog.cap.windows": ("backlog_cap_windows", _integer),
        "rackwise.draws": ("draws", _text),
        "rackwise.eps": ("eps", _number),
        "rackwise.max.skew": ("max_skew", _maybe_number),
        "rackwise.rack.depth": ("rack_depth", _maybe_integer),
        "rackwise.semantics": ("semantics", _text),
    }
)
"""Option -> field of `PartitionerConfig`, and the function that reads its value."""
