"""Brokers, draws and answers of placers in the form of the vectors and of upstream's answers."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rackwise import Broker, Kip36, Rack, place
from rackwise.core.errors import InputError, InvalidSnapshot
from rackwise.core.json import strict as strict_json
from rackwise.core.placement import JavaRandom, MockRandom, Request, Striped, alternated
from rackwise.core.placement.rack_modes import RackMode

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

GOLDEN = Path(__file__).parent / "golden"
CORDONED = {
    " currently fenced.": " currently fenced, or have all their log directories cordoned.",
    " are registered.": (
        " are registered or some brokers have all their log directories cordoned."
    ),
}
"""How texts of 4.0 that errors carry go on in 4.3, which knows cordoned folders."""
RANDOMS = {"java": JavaRandom, "mock": MockRandom}


def placement_vectors(section: str) -> list[dict[str, Any]]:
    """One section of `golden/vectors-placement.json`."""
    file = GOLDEN / "vectors-placement.json"
    found: dict[str, Any] = strict_json.parse(
        file.read_bytes(), where=file.name, error=InvalidSnapshot
    )
    cases: list[dict[str, Any]] = found[section]
    return cases


def golden_cases(operation: str) -> list[dict[str, Any]]:
    """Upstream's frozen answers to one operation."""
    (file,) = GOLDEN.glob(f"{operation}.*.jsonl")
    return [
        strict_json.parse(line, where=file.name, error=InvalidSnapshot)
        for line in file.read_bytes().splitlines()[1:]
    ]


def broker(id_: int, rack: str | None = None, *, fenced: bool = False) -> Broker:
    """A broker as placers see it."""
    return Broker(
        id=id_, rack=None if rack is None else Rack(rack), is_live=not fenced, is_fenced=fenced
    )


def brokers_of(told: Iterable[Sequence[Any]]) -> tuple[Broker, ...]:
    """Brokers from [id, rack] or [id, rack, fenced]."""
    return tuple(broker(id_, rack, fenced=any(fenced)) for id_, rack, *fenced in told)


def racked(*racks: str | None) -> tuple[Broker, ...]:
    """Brokers 0, 1, .. in these racks."""
    return tuple(broker(id_, rack) for id_, rack in enumerate(racks))


def draws_of(told: Mapping[str, Any] | None) -> JavaRandom | None:
    """Draws from `{"kind": "java" | "mock", "seed": ..}`."""
    return None if told is None else RANDOMS[told["kind"]](told["seed"])


def our_answer(operation: str, case: Mapping[str, Any]) -> dict[str, Any]:
    """Our answer to a case of the oracle, in the oracle's form."""
    answer = {
        "place.alternate": _alternate,
        "place.kip36": _kip36,
        "place.striped": _striped,
    }[operation]
    try:
        return {"in": case, "out": answer(case)}
    except InputError as error:
        if error.upstream is None:
            raise
        kind, message = error.upstream
        if operation == "place.striped":
            for ending, newer in CORDONED.items():
                message = message.replace(ending, newer)
        return {"in": case, "error": {"class": kind, "message": message}}


def _alternate(case: Mapping[str, Any]) -> dict[str, Any]:
    return {"ids": list(alternated(brokers_of(case["brokers"])))}


def _kip36(case: Mapping[str, Any]) -> dict[str, Any]:
    made = place(
        brokers_of(case["brokers"]),
        case["partitions"],
        case["replication"],
        placer=Kip36(start=case["start"]),
        first_partition=case["first_partition"],
        rng=None if case["seed"] is None else JavaRandom(case["seed"]),
    )
    return {"rows": made.rows.tolist()}


def _striped(case: Mapping[str, Any]) -> dict[str, Any]:
    """`place` validates; the rows follow the given order of racks, which Java takes from a hash."""
    brokers = brokers_of(case["brokers"])
    size = {"partitions": case["partitions"], "replication": case["replication"]}
    place(
        brokers,
        **size,
        placer=Striped(),
        racks=RackMode.ONE_RACK,
        rng=draws_of(case["rng"]),
    )
    request = Request(brokers=brokers, **size, rng=draws_of(case["rng"]))
    return {"rows": Striped().place(request).tolist()}
