"""Names and ids of zones, and the conversion from one to the other by a table.

The same zone has two texts. On AWS `us-east-1a` is a name, which means another place in another
account, and `use1-az1` is an id, which means one place in all accounts. On Azure a zone `1` of a
location is a name: each subscription has its own numbers. Neither follows from the other, so only a
table can convert them.

```
name          id             to ids:    us-east-1a -> use1-az4    use1-az4 -> use1-az4
us-east-1a    use1-az4       to names:  use1-az4 -> us-east-1a
us-east-1b    use1-az6       us-east-1c -> an error: not in the table
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, TypeAlias

from rackwise.core.errors import InvalidAddresses
from rackwise.core.text import escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable

ZONE_LABEL = "topology.kubernetes.io/zone"
"""The label that has the zone of a node of Kubernetes, and of its pods (KEP-4742)."""
ZoneForm: TypeAlias = Literal["id", "name"]


def azure_zone(location: str, number: str) -> str:
    """The name of a zone of Azure, as Kubernetes labels nodes there.

    >>> azure_zone("westeurope", "1")
    'westeurope-1'
    """
    return f"{location.lower()}-{number}"


@dataclass(frozen=True, slots=True, kw_only=True)
class ZonePair:
    """One zone."""

    name: str
    id: str
    where: str = ""
    """File and line, for messages."""


class ZoneTable:
    """Zones by name and by id. Raises `InvalidAddresses` if a name or an id has two partners."""

    def __init__(self, pairs: Iterable[ZonePair]) -> None:
        self._by_name: dict[str, ZonePair] = {}
        self._by_id: dict[str, ZonePair] = {}
        for pair in pairs:
            for known, key in ((self._by_name, pair.name), (self._by_id, pair.id)):
                first = known.setdefault(key, pair)
                if (first.name, first.id) != (pair.name, pair.id):
                    raise InvalidAddresses(
                        f"invalid zones: expected each zone once, got {escaped(key)} in "
                        f"{escaped(first.where)} and in {escaped(pair.where)}",
                        wanted=f"{first.name},{first.id}",
                        had=f"{pair.name},{pair.id}",
                        hint="keep one of the two lines; each account or subscription has its own "
                        "table",
                        where=pair.where,
                    )

    def converted(self, zone: str, form: ZoneForm) -> str:
        """The id or the name of a zone that is given by either. Raises `InvalidAddresses`."""
        by_form = {"id": self._by_id, "name": self._by_name}
        if zone in by_form[form]:
            return zone
        other = by_form["name" if form == "id" else "id"].get(zone)
        if other is None:
            raise InvalidAddresses(
                f"invalid zone {escaped(zone)}: expected one of the table, got one that it lacks",
                wanted=names_text([*self._by_name]),
                had=zone,
                hint="add a line name,id to the file of --zones, or omit --as",
            )
        return other.id if form == "id" else other.name
