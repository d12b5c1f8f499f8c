"""Reads options by Kafka's names, as texts or values; an unknown name gets the nearest name.

```
"partitioner.rack.aware": "True"     -> rack_aware=True          true or false, any case
"batch.size": 0                      -> sticky_bytes=1           as Kafka reads it
"partitioner.rack.awar": "true"      rejected: partitioner.rack.aware is the nearest name
"linger.ms": 5                       ignored: another part of the client reads it
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
    from collections.abc import Callable, Mapping

OWN_PREFIXES = ("partitioner.", "rackwise.")
PARTITIONER_CLASS = "partitioner.class"
HINT = "the options are listed at PartitionerConfig"
LONG = 2**63
"""Kafka's greatest integers are below this number."""


def read_options(options: Mapping[str, object]) -> dict[str, Any]:
    """Field of `PartitionerConfig` -> value, for the options that are set.

    Raises `PartitionerConfigError` for an unknown `partitioner.*` or `rackwise.*`, and for a value
    of another type.
    """
    found: dict[str, Any] = {}
    for name in sorted(options):
        if name in OPTIONS:
            field, read = OPTIONS[name]
            found[field] = read(name, options[name])
        elif name.startswith(OWN_PREFIXES) and name != PARTITIONER_CLASS:
            nearest = get_close_matches(name, [*OPTIONS, PARTITIONER_CLASS], n=1, cutoff=0)[0]
            raise PartitionerConfigError(
                f"unknown option {escaped(name)}: did you mean {nearest}?",
                wanted=nearest,
                had=escaped(name),
                hint=HINT,
                where=escaped(name),
            )
    return found


def _invalid_option(name: str, wanted: str, value: object) -> PartitionerConfigError:
    had = escaped(str(value))
    return PartitionerConfigError(
        f"invalid {name}: expected {wanted}, got {had}",
        wanted=wanted,
        had=had,
        hint=HINT,
        where=name,
    )


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
        "batch.size": ("sticky_bytes", _batch_size),
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
