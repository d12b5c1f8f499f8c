"""Decides which racks of a cluster count: those that are sound and of the form that most have.

Kafka accepts any text as `broker.rack`. A cluster on its way from plain names to paths (KIP-879)
restarts its brokers one by one, so both forms exist side by side for a while. One tree cannot hold
both. Reading a cluster never fails for that: a rack that does not fit is odd, its broker counts as
a broker without a rack, and each user of racks says what it does with such brokers.

```
names: use1-az1 = /us/use1-az1
broker  broker.rack     mapped          counts          odd, because
1       use1-az1        /us/use1-az1    /us/use1-az1
2       /us/use1-az2    /us/use1-az2    /us/use1-az2
3       use1-az3        use1-az3        -               a name among paths: 2 of 3 brokers have
4       /us/            /us/            -               an empty segment
5       -               -               -
```

The rule, in order: map names into paths; leave out malformed racks; keep paths if a name was
mapped, or if as many other brokers have paths as have names, or more; else keep names. Settled
racks stay as they are: the names of the map are no paths, and its values are.

What this does not do: say what brokers without a rack mean (`racks.missing` of a policy, the rack
mode of a placement), or compare racks as Kafka does: `kip36` and `striped` take any text as a name.

Source: KIP-36 (`broker.rack`), KIP-879 (rack paths).
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Final, NamedTuple

from rackwise.core.errors import InvalidRack
from rackwise.core.racks import Rack
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

NO_MAP: Final[Mapping[str, str]] = MappingProxyType({})
"""No name is mapped into a path."""
MAP_HINT: Final = 'map the names into paths in the policy: racks.map = { "a" = "/REGION/a" }'


@dataclass(frozen=True, slots=True)
class OddRack:
    """A rack that does not count."""

    broker: int
    rack: Rack
    """Verbatim, as the broker names it."""
    wanted: str
    """What a rack that counts would be."""
    hint: str
    """What to do, as an imperative sentence."""

    @property
    def text(self) -> str:
        """`broker 3 ("use1-az3": expected a path, as 2 of 3 brokers have)`."""
        return f'broker {self.broker} ("{escaped(self.rack.text)}": expected {self.wanted})'


class SettledRacks(NamedTuple):
    """The racks of a cluster that count, and those that do not."""

    racks: Mapping[int, Rack | None]
    """Broker -> its rack after the map; None for no rack and for an odd one."""
    odd: tuple[OddRack, ...]
    """In the order of the brokers."""


def settle_racks(
    racks: Iterable[tuple[int, Rack | None]], names: Mapping[str, str] = NO_MAP
) -> SettledRacks:
    """The racks that count of (broker, rack) pairs; `names`: plain name -> path.

    >>> found = settle_racks([(1, Rack("/eu/a")), (2, Rack("b"))], {"a": "/eu/a"})
    >>> found.racks[2], found.odd[0].text
    (None, 'broker 2 ("b": expected a path, as 1 of 2 brokers have)')
    """
    given = dict(racks)
    settled: dict[int, Rack | None] = {}
    forms: dict[bool, dict[int, Rack]] = {True: {}, False: {}}
    odd: dict[int, OddRack] = {}
    is_mapped = False
    for id_, rack in given.items():
        settled[id_] = counting = mapped_rack(rack, names)
        is_mapped |= counting is not rack
        if rack is None or counting is None:
            continue
        try:
            counting.levels  # noqa: B018 (reading it is the check)
        except InvalidRack as error:
            odd[id_] = OddRack(id_, rack, f"{error.wanted}", f"{error.hint}")
        else:
            forms[counting.is_path][id_] = rack
    are_paths = is_mapped or len(forms[True]) >= len(forms[False])
    brokers = counted(len(odd) + len(forms[True]) + len(forms[False]), "broker")
    wanted = f"a {'path' if are_paths else 'name'}, as {len(forms[are_paths])} of {brokers} have"
    for id_, rack in forms[not are_paths].items():
        odd[id_] = OddRack(id_, rack, wanted, MAP_HINT)
    return SettledRacks(
        racks={id_: None if id_ in odd else rack for id_, rack in settled.items()},
        odd=tuple(odd[id_] for id_ in given if id_ in odd),
    )


def mapped_rack(rack: Rack | None, names: Mapping[str, str]) -> Rack | None:
    """The path that a name of the map stands for; any other rack as it is."""
    if rack is None or rack.text not in names:
        return rack
    return Rack(names[rack.text])
