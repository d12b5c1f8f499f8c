"""The traffic that a run observes: of flow files, of the meter, of rates.

```
snapshots with offsets   metered, if their racks can be priced      stored
facts, flows of meter    first look                                 days and bytes by source
these and rates          traffic                                    what is billed
```

What this does not do: choose between sources (`sources`); bill (`cross_rack`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rackwise.pipeline.bill.gold.metered import meter, runs_to_meter
from rackwise.pipeline.bill.gold.sources import first_look, traffic_of

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from datetime import datetime

    import pyarrow as pa

    from rackwise.pipeline.bill.gold.inputs import BillInputs
    from rackwise.pipeline.bill.gold.sources import Traffic
    from rackwise.pipeline.fleet.fleet import Fleet
    from rackwise.pipeline.ingest.silver import Silver
    from rackwise.pipeline.runtime.engine import Engine

TO_TRAFFIC = "gold: traffic"
"""The step."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """The traffic of a run, before it is billed."""

    traffic: Traffic | None
    looks: Mapping[str, Mapping[str, pa.Table]]
    """The result of `first_look`."""
    reconciled: tuple[datetime, datetime] | None
    """The time of the flow logs, if they are compared with the meter."""
    notes: tuple[str, ...]


def observe(
    engine: Engine,
    fleet: Fleet,
    facts: Silver | None,
    inputs: BillInputs,
    gold: str,
    begin: Callable[[str], None],
) -> Observed:
    """The traffic of a run.

    `facts`: of the flow files; `gold`: where the flows of the meter are stored; `begin` is called
    with the name of the step if there is traffic. Raises `BytesLost` and `InvalidSubnets`.
    """
    is_billed = facts is not None or inputs.has_rates
    runs, notes = runs_to_meter(inputs, fleet, is_billed=is_billed)
    if runs or is_billed:
        begin(TO_TRAFFIC)
    rack_of = inputs.racks.member_racks()
    metered = meter(engine, fleet, runs, inputs, rack_of, gold) if runs else None
    looks = first_look(engine, facts, metered)
    traffic = traffic_of(
        fleet,
        facts,
        inputs.rates,
        inputs.rate_days,
        looks=looks,
        rack_of=rack_of,
        metered=metered,
    )
    if facts is not None and facts.period is None:
        notes += ("no row of the flow files is traffic of a broker in the snapshots",)
    return Observed(
        traffic=traffic,
        looks=looks,
        reconciled=facts.period if traffic and metered and facts else None,
        notes=notes,
    )
