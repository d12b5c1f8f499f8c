"""Options and input of `rackwise producer`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.shell import parse_duration_ms
from rackwise.core.errors import InvalidConfig, UnknownBroker
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rackwise.adapters.files import RackRatesFile
    from rackwise.cli.shell import Shell
    from rackwise.cli.source import ClusterSource
    from rackwise.core.model import Cluster
    from rackwise.core.partitioner import BrokerFault, TopicView

CapacityName = Literal["leaders", "brokers"]

TopicName = Annotated[
    str | None,
    typer.Option(metavar="NAME", help="Reject the --rates file if it is for another topic."),
]
RatesFile = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        help="Read from this file how much the clients of each rack send, as rackwise-rates/1.",
    ),
]
Eps = Annotated[
    float,
    typer.Option(
        metavar="X",
        help="Let a rack receive up to 1 + X times its even share of the produced bytes.",
    ),
]
CapacityOption = Annotated[
    CapacityName,
    typer.Option(
        help="Compute the even share of a rack from the number of its leaders or of its brokers."
    ),
]
UsdPerGib = Annotated[
    float,
    typer.Option(
        metavar="USD",
        help="Price of a GiB that crosses racks: the sum of the charges on both sides.",
    ),
]

_FAULT = "broker=3,at=10s,for=20s,kind=down"
_KEYS = {"down": ("at", "broker", "for", "kind"), "slow": ("at", "broker", "for", "kind", "rtt")}


@dataclass(frozen=True, slots=True, kw_only=True)
class ProducerInputs:
    """A topic, the rates of its clients and the weights of its racks."""

    topic: str
    cluster: Cluster
    view: TopicView
    rates: RackRatesFile
    weights: Mapping[str, int]
    """Rack -> leaders or brokers, as --capacity says."""

    @property
    def broker_racks(self) -> tuple[str, ...]:
        """Racks with a broker that can lead a partition."""
        from rackwise.core.partitioner import rack_weights

        counts = rack_weights(self.cluster, self.view, "brokers")
        return tuple(rack for rack, brokers in counts.items() if brokers)


@dataclass(frozen=True, slots=True, kw_only=True)
class SplitUpdate:
    """The effect of `--out`."""

    is_changed: bool
    largest_change: float | None
    """The largest change of a share; None if there was no file."""


def gather_inputs(
    shell: Shell,
    source: ClusterSource,
    topic: str | None,
    rates: Path,
    capacity: CapacityName,
) -> ProducerInputs:
    """Read the rates and the cluster. Warns of racks that cannot be counted.

    Raises `SplitFileError`, `SplitError`, `UnknownTopic`, and `InvalidConfig` for rates of another
    topic.
    """
    from rackwise.adapters import files
    from rackwise.core.partitioner import leaders_without_rack, rack_weights, topic_view
    from rackwise.core.partitioner.split.rates import RackColumns, odd_racks

    rates_file = files.read_rack_rates(rates, max_bytes=shell.max_input)
    if topic not in {None, rates_file.topic}:
        raise InvalidConfig(
            f"invalid --rates: expected the rates of {escaped(str(topic))}, got those of "
            f"{escaped(rates_file.topic)} in {escaped(str(rates))}",
            wanted=topic,
            had=rates_file.topic,
            hint="omit --topic, or give the rates of that topic",
            where=str(rates),
        )
    cluster = source.read(shell, sizes=False)
    view = topic_view(cluster, rates_file.topic)
    weights = rack_weights(cluster, view, capacity)
    columns = RackColumns.of(rates_file.rates, weights)
    if odd := odd_racks(columns.racks):
        shell.warn(
            f"{', '.join(map(escaped, odd))}: of another form than the other racks, so no level is "
            "shared with them; Kafka compares racks as texts"
        )
    if missing := leaders_without_rack(view):
        shell.warn(
            f"{escaped(rates_file.topic)}: {counted(missing, 'partition')} with a leader "
            "without rack are not counted; set broker.rack"
        )
    for rack in sorted({*rates_file.rates.free, *rates_file.rates.pinned}):
        if rack not in weights:
            shell.warn(
                f"{escaped(rack)} has clients and no broker, so all they send crosses racks; place "
                "leaders there, or correct the rates"
            )
    return ProducerInputs(
        topic=rates_file.topic, cluster=cluster, view=view, rates=rates_file, weights=weights
    )


def parse_modes(text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """Parse modes separated by commas, each once; all without a list."""
    modes = tuple(dict.fromkeys(known if text is None else text.split(",")))
    for mode in modes:
        if mode not in known:
            raise InvalidConfig(
                f"invalid --mode: expected some of {', '.join(known)}, got {escaped(mode)!r}",
                wanted=", ".join(known),
                had=mode,
                hint=f"--mode {','.join(known[:2])}",
            )
    return modes


def parse_faults(texts: Sequence[str], brokers: Collection[int]) -> tuple[BrokerFault, ...]:
    """Parse `--fault`. Raises `InvalidConfig`, `UnknownBroker`."""
    return tuple(_parse_fault(text, brokers) for text in texts)


def _parse_fault(text: str, brokers: Collection[int]) -> BrokerFault:
    from rackwise.core.partitioner import BrokerFault

    pairs = [part.partition("=")[::2] for part in text.split(",")]
    fields = dict(pairs)
    kind = fields.get("kind", "")
    if kind not in _KEYS or len(fields) < len(pairs) or tuple(sorted(fields)) != _KEYS[kind]:
        raise _invalid_fault(text)
    if not (fields["broker"].isascii() and fields["broker"].isdigit()):
        raise _invalid_fault(text)
    broker = int(fields["broker"]) if len(fields["broker"]) <= len("2147483647") else -1
    if broker not in brokers:
        raise UnknownBroker(
            f"invalid --fault: expected a broker of the cluster, got {escaped(fields['broker'])}",
            wanted=", ".join(map(str, sorted(brokers))),
            had=fields["broker"],
            hint=f"brokers: {', '.join(map(str, sorted(brokers)))}",
        )
    return BrokerFault(
        broker=broker,
        at_ms=parse_duration_ms("--fault at", fields["at"]),
        for_ms=parse_duration_ms("--fault for", fields["for"]),
        kind="down" if kind == "down" else "slow",
        rtt_ms=parse_duration_ms("--fault rtt", fields["rtt"]) if kind == "slow" else 0.0,
    )


def _invalid_fault(text: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid --fault: expected {_FAULT}, or kind=slow,rtt=300ms, got {escaped(text)}",
        wanted=_FAULT,
        had=text,
        hint="give each of broker, at, for and kind once, and rtt only with kind=slow",
    )
