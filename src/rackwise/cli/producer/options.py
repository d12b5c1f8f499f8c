"""The options of `rackwise producer` that are values, and what both commands are given."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rackwise.cli.source import cluster_of
from rackwise.core.errors import InvalidConfig, UnknownBroker
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from rackwise.adapters.files import RackRatesFile
    from rackwise.cli.shell import Shell
    from rackwise.core.model import Cluster
    from rackwise.core.partitioner import BrokerFault, TopicView

CapacityName = Literal["leaders", "brokers"]

TopicName = Annotated[
    str | None, typer.Option(metavar="NAME", help="The topic; that of the rates by default.")
]
RatesFile = Annotated[
    Path, typer.Option(metavar="FILE", help="What clients of each rack send: rackwise-rates/1.")
]
Eps = Annotated[float, typer.Option(metavar="X", help="A rack may take 1 + X times its even part.")]
CapacityOption = Annotated[CapacityName, typer.Option(help="What a rack's even part goes by.")]
UsdPerGib = Annotated[
    float, typer.Option(metavar="USD", help="What a GiB costs that crosses racks, both sides.")
]

MILLISECONDS = {"ms": 1, "s": 1_000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
_DURATION = re.compile(r"([0-9]{1,9}(?:\.[0-9]{1,6})?)(ms|s|min|h|d)")
_FAULT = "broker=3,at=10s,for=20s,kind=down"
_KEYS = {"down": ("at", "broker", "for", "kind"), "slow": ("at", "broker", "for", "kind", "rtt")}


@dataclass(frozen=True, slots=True, kw_only=True)
class Given:
    """A topic as it stands, what is sent to it, and what its racks weigh."""

    topic: str
    cluster: Cluster
    view: TopicView
    rates: RackRatesFile
    weights: Mapping[str, int]

    @property
    def broker_racks(self) -> tuple[str, ...]:
        """Racks with a broker that can lead."""
        from rackwise.core.partitioner import rack_weights

        counts = rack_weights(self.cluster, self.view, "brokers")
        return tuple(rack for rack, brokers in counts.items() if brokers)


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What became of `--out`; `largest_change`: of a share, None where no file was there."""

    is_changed: bool
    largest_change: float | None


def given(
    shell: Shell,
    source: tuple[Path | None, str | None, Path | None],
    topic: str | None,
    rates: Path,
    capacity: CapacityName,
) -> Given:
    """Read what was named; `source` is what `check_source` let through.

    Raises `SplitFileError`, `SplitError`, `UnknownTopic`, and `InvalidConfig` where the rates are
    of another topic. Tells of racks that cannot be counted.
    """
    from rackwise.adapters import files
    from rackwise.core.partitioner import leaders_without_rack, rack_weights, topic_view
    from rackwise.core.partitioner.split.rates import RackColumns

    told = files.read_rack_rates(rates, max_bytes=shell.max_input)
    if topic not in {None, told.topic}:
        raise InvalidConfig(
            f"invalid --rates: expected the rates of {escaped(str(topic))}, got those of "
            f"{escaped(told.topic)} in {escaped(str(rates))}",
            wanted=topic,
            had=told.topic,
            hint="omit --topic, or give the rates of that topic",
            where=str(rates),
        )
    cluster = cluster_of(shell, *source, sizes=False)
    view = topic_view(cluster, told.topic)
    weights = rack_weights(cluster, view, capacity)
    RackColumns.of(told.rates, weights)
    if missing := leaders_without_rack(view):
        shell.warn(
            f"{escaped(told.topic)}: {counted(missing, 'partition')} led by a broker without rack "
            "are nobody's; set broker.rack"
        )
    for rack in sorted({*told.rates.free, *told.rates.pinned}):
        if rack not in weights:
            shell.warn(
                f"{escaped(rack)} has clients and no broker: what they send crosses; place leaders "
                "there, or mend the rates"
            )
    return Given(topic=told.topic, cluster=cluster, view=view, rates=told, weights=weights)


def milliseconds(option: str, text: str) -> float:
    """`2ms`, `60s`, `1.5h` -> milliseconds. Raises `InvalidConfig`."""
    found = _DURATION.fullmatch(text)
    if found is None:
        raise InvalidConfig(
            f"invalid {option}: expected a duration such as 60s, got {escaped(text)}",
            wanted=" ".join(MILLISECONDS),
            had=text,
            hint=f"units: {' '.join(MILLISECONDS)}",
        )
    return float(found[1]) * MILLISECONDS[found[2]]


def modes(text: str | None, known: Sequence[str]) -> tuple[str, ...]:
    """The modes of a list with commas, each once; all where none is given."""
    wanted = tuple(dict.fromkeys(known if text is None else text.split(",")))
    for mode in wanted:
        if mode not in known:
            raise InvalidConfig(
                f"invalid --mode: expected some of {', '.join(known)}, got {escaped(mode)!r}",
                wanted=", ".join(known),
                had=mode,
                hint=f"--mode {','.join(known[:2])}",
            )
    return wanted


def faults(texts: Sequence[str], brokers: Collection[int]) -> tuple[BrokerFault, ...]:
    """The faults of `--fault`. Raises `InvalidConfig`, `UnknownBroker`."""
    return tuple(_fault(text, brokers) for text in texts)


def _fault(text: str, brokers: Collection[int]) -> BrokerFault:
    from rackwise.core.partitioner import BrokerFault

    pairs = [part.partition("=")[::2] for part in text.split(",")]
    said = dict(pairs)
    kind = said.get("kind", "")
    if kind not in _KEYS or len(said) < len(pairs) or tuple(sorted(said)) != _KEYS[kind]:
        raise _no_fault(text)
    if not (said["broker"].isascii() and said["broker"].isdigit()):
        raise _no_fault(text)
    broker = int(said["broker"]) if len(said["broker"]) <= len("2147483647") else -1
    if broker not in brokers:
        raise UnknownBroker(
            f"invalid --fault: expected a broker of the cluster, got {escaped(said['broker'])}",
            wanted=", ".join(map(str, sorted(brokers))),
            had=said["broker"],
            hint=f"brokers: {', '.join(map(str, sorted(brokers)))}",
        )
    return BrokerFault(
        broker=broker,
        at_ms=milliseconds("--fault at", said["at"]),
        for_ms=milliseconds("--fault for", said["for"]),
        kind="down" if kind == "down" else "slow",
        rtt_ms=milliseconds("--fault rtt", said["rtt"]) if kind == "slow" else 0.0,
    )


def _no_fault(text: str) -> InvalidConfig:
    return InvalidConfig(
        f"invalid --fault: expected {_FAULT}, or kind=slow,rtt=300ms, got {escaped(text)}",
        wanted=_FAULT,
        had=text,
        hint="give each of broker, at, for and kind once, and rtt only with kind=slow",
    )
