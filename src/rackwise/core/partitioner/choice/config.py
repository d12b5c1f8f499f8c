"""A producer's options for choosing partitions, by the names of Kafka and of Rackwise.

An option is rejected only if its value is certainly a mistake. An option that only has no effect is
a finding of `problems`, because no send may fail for it.

```
rack_aware, rack ""          semantics kip: all partitions, finding blank-rack; upstream: rejected
rack us-east-1a, brokers     all partitions, finding rack-unmatched: names of zones differ from
in use1-az1, use1-az2        account to account, their ids do not
partitioner.class            KIP-1123: "no effect when a custom partitioner is used", finding
```

`semantics`: `kip` is the text of KIP-1123 with Rackwise's additions (racks of several levels,
shares, the backlog cap); `upstream` behaves exactly as kafka-clients 4.4.0. Source: KIP-794,
KIP-1123, `ProducerConfig` of Kafka 4.4.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from rackwise.core.errors import PartitionerConfigError
from rackwise.core.findings import Finding, Rule, RuleTable, Severity
from rackwise.core.partitioner.choice.rack_levels import is_blank, levels_of
from rackwise.core.partitioner.options import HINT, PARTITIONER_CLASS, read_options
from rackwise.core.partitioner.split.split import common_levels
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterator, Mapping


PRODUCER_RULES: RuleTable[Callable[..., Iterator[Finding]]] = RuleTable()
"""Rule name -> rule, in the order of the findings; no send fails for a finding."""
PRODUCER = "producer"
"""The place of every finding about a producer."""
STICKY_BYTES = 16_384
"""Kafka's default `batch.size`."""


@dataclass(frozen=True, slots=True)
class PartitionerConfig:
    """The options of one producer.

    Raises `PartitionerConfigError`. Source: KIP-794, KIP-1123.
    """

    rack_aware: bool = False
    """partitioner.rack.aware."""
    rack: str | None = None
    """client.rack, raw text."""
    ignore_keys: bool = False
    """partitioner.ignore.keys."""
    adaptive: bool = True
    """partitioner.adaptive.partitioning.enable."""
    availability_timeout_ms: int = 0
    """partitioner.availability.timeout.ms; 0 = off."""
    sticky_bytes: int = STICKY_BYTES
    """batch.size."""
    semantics: Literal["kip", "upstream"] = "kip"
    """rackwise.semantics."""
    rack_depth: int | None = None
    """rackwise.rack.depth: the number of levels of `rack` that a local leader shares; None = all.
    """
    backlog_cap_windows: int = 64
    """rackwise.backlog.cap.windows: a partition with this many unacknowledged windows is unusable;
    0 = off."""
    max_skew: float | None = None
    """rackwise.max.skew: the assumption that no rack of clients sends more than this many times the
    even part of its leaders."""
    eps: float = 0.1
    """rackwise.eps: the goal that no rack of leaders gets more than `1 + eps` times its even part.
    """
    custom_partitioner: str | None = None
    """The configured partitioner.class."""
    draws: Literal["random", "even"] = "random"
    """rackwise.draws: `random` as in Kafka, or `even`, which gives each partition its part within a
    short time as well."""

    def __post_init__(self) -> None:
        if self.semantics not in ("kip", "upstream"):
            raise _invalid_option("semantics", "kip or upstream", self.semantics)
        if self.draws not in ("random", "even"):
            raise _invalid_option("draws", "random or even", self.draws)
        _check_least("sticky_bytes", self.sticky_bytes, 1, hint="use the producer's batch.size")
        _check_least("availability_timeout_ms", self.availability_timeout_ms, 0)
        _check_least("backlog_cap_windows", self.backlog_cap_windows, 0)
        _check_least("eps", self.eps, 0, is_whole=False)
        if self.max_skew is not None:
            _check_least("max_skew", self.max_skew, 1, is_whole=False)
        if not isinstance(self.rack, str | None):
            raise _invalid_option("rack", "a text", self.rack)
        self._check_depth()
        if self.semantics == "upstream":
            self._check_upstream()

    @classmethod
    def from_kafka(cls, options: Mapping[str, object]) -> PartitionerConfig:
        """Read a producer's options by name; options of other parts are ignored.

        Values are texts or typed values. Raises `PartitionerConfigError`.
        """
        fields = read_options(options)
        custom = options.get(PARTITIONER_CLASS)
        if custom is None:
            return cls(**fields)
        without_custom = cls(**fields)
        fields |= {"adaptive": False, "custom_partitioner": escaped(str(custom))}
        if without_custom.semantics == "kip":
            fields |= {"rack_aware": False}
        return cls(**fields)

    def problems(self, broker_racks: Collection[str | None] | None = None) -> tuple[Finding, ...]:
        """Options without the effect that they seem to have, as findings of `PRODUCER_RULES`.

        `broker_racks`: the brokers' racks; None = unknown.
        """
        return tuple(
            each for check in PRODUCER_RULES.checks.values() for each in check(self, broker_racks)
        )

    @property
    def client_levels(self) -> tuple[str, ...]:
        """The levels of `rack`, coarsest first; `()` for a blank rack."""
        if self.rack is None or is_blank(self.rack):
            return ()
        return levels_of(self.rack, whole=self.semantics == "upstream")

    @property
    def local_depth(self) -> int:
        """The number of leading levels that a local leader's rack shares with the client's."""
        return len(self.client_levels) if self.rack_depth is None else self.rack_depth

    @PRODUCER_RULES.rule("blank-rack", Severity.WARNING, "a rack-aware producer has no client.rack")
    def _blank_rack(self, _: Collection[str | None] | None) -> Iterator[Finding]:
        if self.rack_aware and is_blank(self.rack):
            yield PRODUCER_RULES.finding(
                "blank-rack",
                where=PRODUCER,
                wanted="a client.rack because partitioner.rack.aware is true",
                had=repr(self.rack or ""),
                hint="set client.rack",
            )

    @PRODUCER_RULES.rule(
        "rack-unmatched", Severity.WARNING, "no broker is in the rack that a producer names"
    )
    def _rack_unmatched(self, broker_racks: Collection[str | None] | None) -> Iterator[Finding]:
        if not self.rack_aware or is_blank(self.rack) or broker_racks is None:
            return
        if not self._has_broker(broker_racks):
            names = sorted({escaped(rack) for rack in broker_racks if rack})
            yield PRODUCER_RULES.finding(
                "rack-unmatched",
                where=PRODUCER,
                wanted=f"one of {', '.join(names)}" if names else "brokers with racks",
                had=escaped(str(self.rack)),
                hint="use zone ids: zone names differ between accounts"
                if names
                else "set broker.rack on every broker",
            )

    @PRODUCER_RULES.rule(
        "custom-partitioner",
        Severity.WARNING,
        "a partitioner.class leaves partitioner.* without effect",
    )
    def _custom_partitioner(self, _: Collection[str | None] | None) -> Iterator[Finding]:
        if self.custom_partitioner is not None:
            yield PRODUCER_RULES.finding(
                "custom-partitioner",
                where=PRODUCER,
                wanted="no partitioner.class, for partitioner.rack.aware and "
                "partitioner.adaptive.partitioning.enable have no effect when a custom "
                "partitioner is used",
                had=self.custom_partitioner,
                hint="leave partitioner.class out",
            )

    def _has_broker(self, broker_racks: Collection[str | None]) -> bool:
        client, whole = self.client_levels, self.semantics == "upstream"
        return any(
            common_levels(client, levels_of(rack, whole=whole)) >= self.local_depth
            for rack in broker_racks
            if rack
        )

    def _check_depth(self) -> None:
        if self.rack_depth is None:
            return
        _check_least("rack_depth", self.rack_depth, 1)
        levels = self.client_levels
        if levels and self.rack_depth > len(levels):
            raise _invalid_option(
                "rack_depth",
                f"1 to {len(levels)}, the levels of {escaped(str(self.rack))}",
                self.rack_depth,
            )

    def _check_upstream(self) -> None:
        if self.rack_aware and is_blank(self.rack):
            raise PartitionerConfigError(
                "invalid client.rack: expected a rack because partitioner.rack.aware is true, got "
                f"{self.rack or ''!r}",
                wanted="a client.rack because partitioner.rack.aware is true",
                had=repr(self.rack or ""),
                hint="set client.rack",
                where="client.rack",
            )
        for name, value, plain in (
            ("rack_depth", self.rack_depth, None),
            ("max_skew", self.max_skew, None),
            ("draws", self.draws, "random"),
        ):
            if value != plain:
                raise _invalid_option(
                    name, "semantics kip", f"semantics upstream with {name} {value}"
                )


def _invalid_option(
    name: str, wanted: str, value: object, hint: str = HINT
) -> PartitionerConfigError:
    had = value if isinstance(value, int | float) else escaped(str(value))
    return PartitionerConfigError.of(name, wanted=wanted, had=had, hint=hint)


# This rule is checked where the split is used: `adapters/clients/steering.py`.
PRODUCER_RULES.add(
    Rule("stale-split", Severity.WARNING, "a split is older than it may be, or of other leaders")
)


def _check_least(
    name: str, value: object, least: int, *, is_whole: bool = True, hint: str = HINT
) -> None:
    if isinstance(value, bool) or not isinstance(value, int if is_whole else int | float):
        raise _invalid_option(name, "an integer" if is_whole else "a number", value, hint)
    if not math.isfinite(value) or value < least:
        raise _invalid_option(name, f">= {least}", value, hint)
