"""`rackwise producer`: what ways of choosing partitions would do, and the split that is bounded."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rackwise.cli.producer.options import (
    CapacityName,
    CapacityOption,
    Eps,
    Given,
    RatesFile,
    TopicName,
    UsdPerGib,
    Written,
    faults,
    given,
    milliseconds,
    modes,
)
from rackwise.cli.shell import Shell
from rackwise.cli.source import ClientConfig, Server, SnapshotFile, check_source, utc_now
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.adapters.files import SplitFile
    from rackwise.core.partitioner import ProducerScenario, SimulationResult, Split

EPS = 0.1
USD_PER_GIB = 0.02
FEW_WINDOWS = 100
"""With fewer windows a producer's shares are not yet what they will be."""

app = typer.Typer(
    help="Producers: what ways of choosing partitions would do, and the bounded split.",
    rich_markup_mode=None,
)


@app.command()
def simulate(
    context: typer.Context,
    rates: RatesFile,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    topic: TopicName = None,
    eps: Eps = EPS,
    capacity: CapacityOption = "leaders",
    usd_per_gib: UsdPerGib = USD_PER_GIB,
    mode: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Some of uniform,kip,upstream,bounded; all by default."),
    ] = None,
    sticky_bytes: Annotated[
        int, typer.Option(metavar="N", help="batch.size: bytes before another partition.")
    ] = 16_384,
    record_bytes: Annotated[int, typer.Option(metavar="N", help="Of one record.")] = 1_000,
    broker_bytes_per_s: Annotated[
        float, typer.Option(metavar="N", help="What one broker takes.")
    ] = 1e8,
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Until a broker answers.")] = "2ms",
    duration: Annotated[str, typer.Option(metavar="TIME", help="Simulated time.")] = "60s",
    availability_timeout: Annotated[
        str, typer.Option(metavar="TIME", help="partitioner.availability.timeout.ms; 0ms is off.")
    ] = "0ms",
    seed: Annotated[int, typer.Option(metavar="N", help="Of the draws.")] = 0,
    max_load_factor: Annotated[
        float | None, typer.Option(metavar="X", help="A mode that loads a rack more: exit 2.")
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FAULT",
            help="broker=3,at=10s,for=20s,kind=down, or kind=slow,rtt=300ms; repeatable.",
        ),
    ] = None,
) -> int:
    """Replay producers: a row for each way of choosing partitions.

    Writes nothing. Exit: 0 done, 2 a mode exceeds --max-load-factor, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.cli.producer import text as form
    from rackwise.core.partitioner import MODES, ProducerScenario, cross_cost
    from rackwise.core.partitioner.split.rates import check_eps

    check_source(snapshot, bootstrap_server, client_config)
    wanted = modes(mode, MODES)
    times = {
        "rtt_ms": milliseconds("--rtt", rtt),
        "duration_ms": milliseconds("--duration", duration),
    }
    timeout_ms = int(milliseconds("--availability-timeout", availability_timeout))
    most = _greatest_factor(max_load_factor)
    cross_cost(0.0, usd_per_gib=usd_per_gib)
    check_eps(eps)
    told = given(shell, (snapshot, bootstrap_server, client_config), topic, rates, capacity)
    broken = faults(fault or (), [broker.id for broker in told.cluster.brokers])
    scenarios = [
        ProducerScenario(
            view=told.view,
            rates=told.rates.rates,
            weights=told.weights,
            mode=each,
            eps=eps,
            sticky_bytes=sticky_bytes,
            record_bytes=record_bytes,
            broker_bytes_per_s=broker_bytes_per_s,
            availability_timeout_ms=timeout_ms,
            faults=broken,
            **times,
        )
        for each in MODES
        if each in wanted
    ]
    found = _replayed(shell, scenarios, seed)
    _tell_few(shell, scenarios[0])
    terms = {"eps": eps, "capacity": capacity, "usd_per_gib": usd_per_gib, "seed": seed}
    if shell.is_json:
        shell.document(form.simulation_document(told, scenarios[0], found, **terms))
    else:
        shell.text(form.simulation_text(told, scenarios[0], found, usd_per_gib=usd_per_gib))
    over = [each for each in found if not each.load_factor <= most]
    for each in over:
        shell.note(
            f"{each.mode}: load factor {each.load_factor:.3f} is above --max-load-factor {most}"
        )
    return 2 if over else 0


@app.command()
def split(
    context: typer.Context,
    rates: RatesFile,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    client_config: ClientConfig = None,
    topic: TopicName = None,
    eps: Eps = EPS,
    capacity: CapacityOption = "leaders",
    usd_per_gib: UsdPerGib = USD_PER_GIB,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the split: rackwise-split/1.")
    ] = None,
    valid_for: Annotated[
        str, typer.Option(metavar="TIME", help="How long producers may follow the split.")
    ] = "1h",
) -> int:
    """Say what each bound on the racks' load gives and costs, and write the split of one.

    Writes no file but --out. Exit: 0 done, 2 --out was there and said something else, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.cli.producer import text as form
    from rackwise.core.partitioner import split_advice

    check_source(snapshot, bootstrap_server, client_config)
    valid_for_ms = _validity(valid_for)
    if out is not None and not math.isfinite(eps):
        raise InvalidConfig(
            f"--out requires a finite --eps, got {eps}",
            wanted="a finite number",
            had=eps,
            hint="without a bound no split is needed: set partitioner.rack.aware only",
        )
    told = given(shell, (snapshot, bootstrap_server, client_config), topic, rates, capacity)
    advice = split_advice(
        told.rates.rates,
        told.weights,
        eps,
        partitions=len(told.view.leaders),
        broker_racks=told.broker_racks,
        usd_per_gib=usd_per_gib,
    )
    written = None
    if out is not None:
        new = _split_file(told, advice.at(eps).split, eps, capacity, valid_for_ms)
        written = _written(shell, out, new)
    terms = {"eps": eps, "capacity": capacity, "usd_per_gib": usd_per_gib}
    if shell.is_json:
        shell.document(form.split_document(told, advice, written, **terms))
    else:
        shell.text(form.split_text(told, advice, eps, f"even part by {capacity}", usd_per_gib))
    return 2 if written is not None and written.is_changed else 0


def _replayed(
    shell: Shell, scenarios: Sequence[ProducerScenario], seed: int
) -> tuple[SimulationResult, ...]:
    """Each mode with the same draws."""
    from random import Random

    from rackwise.core.partitioner import simulate_producers

    total = sum(scenario.windows for scenario in scenarios)
    with shell.progress("windows", total=total) as advance:
        return tuple(
            simulate_producers(scenario, rng=Random(seed), advance=advance)  # noqa: S311 (replayed)
            for scenario in scenarios
        )


def _tell_few(shell: Shell, scenario: ProducerScenario) -> None:
    """Shares of a few windows say little."""
    rates = [rate for rate in scenario.rates.free.values() if rate]
    windows = int(min(rates) * scenario.duration_ms / 1000 / scenario.window_bytes) if rates else 0
    if windows < FEW_WINDOWS:
        shell.warn(
            f"the slowest producers end {counted(windows, 'window')} in that time, so shares are "
            "rough; give a longer --duration or a smaller --sticky-bytes"
        )


def _greatest_factor(value: float | None) -> float:
    """The load factor of `--max-load-factor`, infinite where none is given."""
    if value is None:
        return math.inf
    if math.isnan(value) or value < 1:
        raise InvalidConfig(
            f"invalid --max-load-factor: expected 1 or more, got {value}",
            wanted=">= 1",
            had=value,
            hint="1 is an even load; 1.2 lets a rack take a fifth more",
        )
    return value


def _validity(text: str) -> int:
    """Milliseconds of `--valid-for`, 1 or more."""
    valid_for_ms = int(milliseconds("--valid-for", text))
    if valid_for_ms < 1:
        raise InvalidConfig(
            f"invalid --valid-for: expected 1ms or more, got {escaped(text)}",
            wanted=">= 1ms",
            had=text,
            hint="start with 1h, and write the split again every half hour",
        )
    return valid_for_ms


def _split_file(
    told: Given, split: Split, eps: float, capacity: CapacityName, valid_for_ms: int
) -> SplitFile:
    from rackwise.adapters import files

    return files.SplitFile(
        topic=told.topic,
        eps=eps,
        capacity=capacity,
        weights=told.weights,
        rates=told.rates.rates,
        shares=split.shares,
        snapshot=files.fingerprint(told.cluster),
        rates_sha256=told.rates.sha256,
        made_at_ms=int(datetime.fromisoformat(utc_now()).timestamp() * 1000),
        valid_for_ms=valid_for_ms,
    )


def _written(shell: Shell, out: Path, new: SplitFile) -> Written:
    """Write the split; a file that is there and no split is left alone: `SplitFileError`."""
    from rackwise.adapters import files
    from rackwise.core.partitioner import RENEWED, largest_change

    had = files.read_split(out, max_bytes=shell.max_input) if out.exists() else None
    files.write_split(out, new)
    if had is None:
        return Written(is_changed=False, largest_change=None)
    change = largest_change(had.shares, new.shares)
    is_changed = replace(had, made_at_ms=new.made_at_ms) != new
    if is_changed:
        shell.note(
            f"{escaped(str(out))} was there and said something else; its shares moved by "
            f"{change:.3f} at most, {RENEWED} is worth renewing"
        )
    return Written(is_changed=is_changed, largest_change=change)
