"""`rackwise producer`: simulates partitioners and writes a bounded split of traffic."""

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
    ProducerInputs,
    RatesFile,
    SplitUpdate,
    TopicName,
    UsdPerGib,
    gather_inputs,
    parse_faults,
    parse_modes,
)
from rackwise.cli.shell import Shell, parse_duration_ms
from rackwise.cli.source import ClusterSource, CommandConfig, Server, SnapshotFile, utc_now
from rackwise.core.errors import InvalidConfig
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.adapters.files import SplitFile
    from rackwise.core.partitioner import ProducerScenario, SimulationResult, Split

EPS = 0.1
USD_PER_GIB = 0.02
FEW_WINDOWS = 100
"""With fewer windows the shares of a producer are inaccurate."""

app = typer.Typer(
    help="Simulate partitioners, and split the traffic of producers between racks.",
    rich_markup_mode=None,
)


@app.command()
def simulate(
    context: typer.Context,
    rates: RatesFile,
    snapshot: SnapshotFile = None,
    bootstrap_server: Server = None,
    command_config: CommandConfig = None,
    topic: TopicName = None,
    eps: Eps = EPS,
    capacity: CapacityOption = "leaders",
    usd_per_gib: UsdPerGib = USD_PER_GIB,
    mode: Annotated[
        str | None,
        typer.Option(
            metavar="LIST",
            help="Simulate only these partitioners: uniform,kip,upstream,bounded. [default: all]",
        ),
    ] = None,
    sticky_bytes: Annotated[
        int,
        typer.Option(
            metavar="N",
            help="Send this many bytes to a partition before the next partition is chosen "
            "(batch.size).",
        ),
    ] = 16_384,
    record_bytes: Annotated[
        int, typer.Option(metavar="N", help="Size of a record in bytes.")
    ] = 1_000,
    broker_bytes_per_s: Annotated[
        float, typer.Option(metavar="N", help="Bytes per second that a broker accepts.")
    ] = 1e8,
    rtt: Annotated[str, typer.Option(metavar="TIME", help="Time until a broker responds.")] = "2ms",
    duration: Annotated[str, typer.Option(metavar="TIME", help="Simulate this much time.")] = "60s",
    availability_timeout: Annotated[
        str,
        typer.Option(
            metavar="TIME", help="Value of partitioner.availability.timeout.ms. 0ms turns it off."
        ),
    ] = "0ms",
    seed: Annotated[int, typer.Option(metavar="N", help="Seed of the random numbers.")] = 0,
    max_load_factor: Annotated[
        float | None,
        typer.Option(
            metavar="X", help="Exit with 2 if a mode loads a rack more than X times the mean."
        ),
    ] = None,
    fault: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FAULT",
            help="Simulate a fault: broker=3,at=10s,for=20s,kind=down, or "
            "kind=slow,rtt=300ms. May be repeated.",
        ),
    ] = None,
) -> int:
    """Simulate producers; print a row for each partitioner.

    Writes nothing. Exit codes: 0 done, 2 a mode exceeds --max-load-factor, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.cli.producer import text as output
    from rackwise.core.partitioner import MODES, ProducerScenario, cross_cost
    from rackwise.core.partitioner.split.rates import check_eps

    source = ClusterSource(snapshot, bootstrap_server, command_config)
    selected = parse_modes(mode, MODES)
    times = {
        "rtt_ms": parse_duration_ms("--rtt", rtt),
        "duration_ms": parse_duration_ms("--duration", duration),
    }
    timeout_ms = int(parse_duration_ms("--availability-timeout", availability_timeout))
    most = _parse_load_factor(max_load_factor)
    cross_cost(0.0, usd_per_gib=usd_per_gib)
    check_eps(eps)
    inputs = gather_inputs(shell, source, topic, rates, capacity)
    broker_faults = parse_faults(fault or (), [broker.id for broker in inputs.cluster.brokers])
    scenarios = [
        ProducerScenario(
            view=inputs.view,
            rates=inputs.rates.rates,
            weights=inputs.weights,
            mode=each,
            eps=eps,
            sticky_bytes=sticky_bytes,
            record_bytes=record_bytes,
            broker_bytes_per_s=broker_bytes_per_s,
            availability_timeout_ms=timeout_ms,
            faults=broker_faults,
            **times,
        )
        for each in MODES
        if each in selected
    ]
    found = _simulate(shell, scenarios, seed)
    _warn_of_few_windows(shell, scenarios[0])
    if shell.is_json:
        from rackwise.cli.producer.documents import CODEC, simulation_document

        document = simulation_document(
            inputs, scenarios[0], found, capacity=capacity, usd_per_gib=usd_per_gib, seed=seed
        )
        shell.document(document, CODEC)
    else:
        shell.text(output.simulation_text(inputs, scenarios[0], found, usd_per_gib=usd_per_gib))
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
    command_config: CommandConfig = None,
    topic: TopicName = None,
    eps: Eps = EPS,
    capacity: CapacityOption = "leaders",
    usd_per_gib: UsdPerGib = USD_PER_GIB,
    out: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the split here, as rackwise-split/1.")
    ] = None,
    valid_for: Annotated[
        str, typer.Option(metavar="TIME", help="Let producers use the split for this long.")
    ] = "1h",
) -> int:
    """Compare bounds on the load of racks, and write the split of one bound.

    A split states which share of its bytes each rack sends to each rack. The rows show how local
    each bound is and what it costs. Writes only --out. Exit codes: 0 done, 2 --out had other
    content before, 1 error.
    """
    shell: Shell = context.obj
    from rackwise.cli.producer import text as output
    from rackwise.core.partitioner import split_advice

    source = ClusterSource(snapshot, bootstrap_server, command_config)
    valid_for_ms = _parse_validity(valid_for)
    if out is not None and not math.isfinite(eps):
        raise InvalidConfig(
            f"--out requires a finite --eps, got {eps}",
            wanted="a finite number",
            had=eps,
            hint="without a bound no split is needed: set partitioner.rack.aware only",
        )
    inputs = gather_inputs(shell, source, topic, rates, capacity)
    advice = split_advice(
        inputs.rates.rates,
        inputs.weights,
        eps,
        partitions=len(inputs.view.leaders),
        broker_racks=inputs.broker_racks,
        usd_per_gib=usd_per_gib,
    )
    written = None
    if out is not None:
        new = _split_file(inputs, advice.at(eps).split, eps, capacity, valid_for_ms)
        written = _write_split(shell, out, new)
    if shell.is_json:
        from rackwise.cli.producer.documents import CODEC, split_document

        document = split_document(
            inputs, advice, written, eps=eps, capacity=capacity, usd_per_gib=usd_per_gib
        )
        shell.document(document, CODEC)
    else:
        shell.text(output.split_text(inputs, advice, eps, f"even share by {capacity}", usd_per_gib))
    return 2 if written is not None and written.is_changed else 0


def _simulate(
    shell: Shell, scenarios: Sequence[ProducerScenario], seed: int
) -> tuple[SimulationResult, ...]:
    """Simulate each mode with the same random numbers."""
    from random import Random

    from rackwise.core.partitioner import simulate_producers

    total = sum(scenario.windows for scenario in scenarios)
    with shell.progress("windows", total=total) as advance:
        return tuple(
            simulate_producers(scenario, rng=Random(seed), advance=advance)  # noqa: S311 (reproducible)
            for scenario in scenarios
        )


def _warn_of_few_windows(shell: Shell, scenario: ProducerScenario) -> None:
    """Warn if there are too few windows for accurate shares."""
    rates = [rate for rate in scenario.rates.free.values() if rate]
    windows = int(min(rates) * scenario.duration_ms / 1000 / scenario.window_bytes) if rates else 0
    if windows < FEW_WINDOWS:
        shell.warn(
            f"the slowest producers complete {counted(windows, 'window')} in that time, so "
            "shares are inaccurate; give a longer --duration or a smaller --sticky-bytes"
        )


def _parse_load_factor(value: float | None) -> float:
    """Parse `--max-load-factor`; infinite without it."""
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


def _parse_validity(text: str) -> int:
    """Parse `--valid-for` to 1 or more milliseconds."""
    valid_for_ms = int(parse_duration_ms("--valid-for", text))
    if valid_for_ms < 1:
        raise InvalidConfig(
            f"invalid --valid-for: expected 1ms or more, got {escaped(text)}",
            wanted=">= 1ms",
            had=text,
            hint="start with 1h, and write the split again every half hour",
        )
    return valid_for_ms


def _split_file(
    inputs: ProducerInputs, split: Split, eps: float, capacity: CapacityName, valid_for_ms: int
) -> SplitFile:
    from rackwise.adapters import files

    return files.SplitFile(
        topic=inputs.topic,
        eps=eps,
        capacity=capacity,
        weights=inputs.weights,
        rates=inputs.rates.rates,
        shares=split.shares,
        made_from=files.SplitSources(
            rates=inputs.rates.sha256, snapshot=files.fingerprint(inputs.cluster)
        ),
        made_at_ms=int(datetime.fromisoformat(utc_now()).timestamp() * 1000),
        valid_for_ms=valid_for_ms,
    )


def _write_split(shell: Shell, out: Path, new: SplitFile) -> SplitUpdate:
    """Write the split. Raises `SplitFileError` for an existing file that is no split."""
    from rackwise.adapters import files
    from rackwise.core.partitioner import RENEWED, largest_change

    had = files.read_split(out, max_bytes=shell.max_input) if out.exists() else None
    files.write_split(out, new)
    if had is None:
        return SplitUpdate(is_changed=False, largest_change=None)
    change = largest_change(had.shares, new.shares)
    is_changed = replace(had, made_at_ms=new.made_at_ms) != new
    if is_changed:
        shell.note(
            f"{escaped(str(out))} had other content; its shares changed by at most {change:.3f}; "
            f"a change of {RENEWED} is worth a new split"
        )
    return SplitUpdate(is_changed=is_changed, largest_change=change)
