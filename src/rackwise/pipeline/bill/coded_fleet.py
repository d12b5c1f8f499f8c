"""What tasks of the bill know of a fleet: names by code, ancestors of racks, members' addresses.

Arrays are small and are sent to each task once. A name with code c is at index c - 1, and the row
of a rack with code c in `ancestors` is c; row 0 is the unknown rack:

```
racks      /eu  /eu/a  /eu/b           ancestors   0: 0 0    1: 1 0    2: 1 2  ..
```
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa

from rackwise.pipeline.columns.addresses import PairIndex
from rackwise.pipeline.fleet.members import member_places

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rackwise.pipeline.fleet.fleet import Fleet


@dataclass(frozen=True, slots=True, kw_only=True)
class CodedFleet:
    """Names and codes as arrays."""

    clusters: pa.Array
    topics: pa.Array
    clients: pa.Array
    """Client groups."""
    racks: pa.Array
    """Whole paths."""
    ancestors: NDArray[np.int64]
    """Rack code -> code of its ancestor at each level, 0 for none; shape (racks + 1, levels)."""
    brokers: int
    """Number of brokers, whose codes are from 1."""
    members: PairIndex
    """(address as a long, cluster code) of group members -> their place, from 0."""

    @classmethod
    def of(cls, fleet: Fleet) -> CodedFleet:
        """The arrays of a fleet."""
        names = fleet.names
        places = member_places(fleet)
        deepest = max([1, *fleet.racks["depth"].to_pylist()])
        columns = [fleet.racks[f"l{depth}"].to_numpy() for depth in range(1, deepest + 1)]
        ancestors = np.zeros((len(names.racks) + 1, deepest), dtype=np.int64)
        ancestors[fleet.racks["rack"].to_numpy()] = np.column_stack(columns)
        return cls(
            clusters=pa.array(names.clusters, pa.string()),
            topics=pa.array(names.topics, pa.string()),
            clients=pa.array(names.clients, pa.string()),
            racks=pa.array(names.racks, pa.string()),
            ancestors=ancestors,
            brokers=len(names.brokers),
            members=PairIndex((ip for _, ip in places), (cluster for cluster, _ in places)),
        )


def named(codes: NDArray[np.int64], names: pa.Array) -> pa.Array:
    """The name of each code; null for 0.

    >>> named(np.array([2, 0]), pa.array(["a", "b"])).to_pylist()
    ['b', None]
    """
    return names.take(pa.array(codes - 1, mask=codes == 0))
