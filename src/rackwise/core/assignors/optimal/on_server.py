"""The optimal assignment as a broker makes it, for groups of the consumer protocol (KIP-848).

Goals: the balance, crossings and moves of `assign_optimal`; the very partitions that the
server-side assignor `rack-optimal` chooses. It is written in Java (`server-assignor`), and the same
cases test both.

What a broker knows is less than what the leader of a classic group knows. So the input maps as
follows:

```
input                     for the broker                      here
topic                     its id; names are unknown           the text of the id as its name
racks of a partition      a set; the leader is unknown        any order
rack of a member          a text                              equal or not, no levels
owned                     the target assignment; each         `owned` without generations
                          partition has one member at most
```

The algorithm is that of `assign_optimal` with the balance `total`. Only the choice among equal
optima differs: `primal_dual_flow` replaces the solver, and fixes it. Ties go by the ids of topics
and members, and by the first member that has a rack or a list of topics.

```
                 t-0  t-1  t-2  t-3
replicas in      a    a b  b    b a
target now       m1   m2   m1   m2      m1 in a, m2 in b
next             m1   m2   m2   m1      4 local, 2 moves
```

Where the target is already optimal it is the only optimum without moves. So a group that changes
from `assign_optimal` in the classic protocol to the server-side assignor moves nothing.

What this does not do: speed. Use `assign_optimal` for large groups; it is as good.

Source: KIP-848, KIP-1101 (racks of partitions), KIP-881.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from rackwise.core.assignors.members import NO_GENERATION, rack_sets
from rackwise.core.assignors.optimal.group import ReadingGroup
from rackwise.core.assignors.optimal.network import best_members
from rackwise.core.assignors.optimal.primal_dual import primal_dual_flow

if TYPE_CHECKING:
    from rackwise.core.assignors.members import Assignment, Members, ReplicaRacks


def assign_on_server(members: Members, racks: ReplicaRacks) -> Assignment:
    """The assignment of the server-side assignor `rack-optimal`.

    Topics are named by the text of their ids. `owned` is the target assignment; generations are
    ignored. Raises `InvalidMember`, `InvalidReplicaRacks` and `OptimumTooLarge`.
    """
    sets = rack_sets(members, racks)
    known = sorted({rack for found in sets.values() for each in found for rack in each})
    # Racks become names without levels.
    names = {rack: f"rack-{number}" for number, rack in enumerate(known)}
    group = ReadingGroup.of(
        {
            name: replace(
                member,
                rack=member.rack and names.get(member.rack, f"no-{member.rack}"),
                generation=NO_GENERATION,
            )
            for name, member in members.items()
        },
        {
            topic: [[names[rack] for rack in sorted(each)] for each in found]
            for topic, found in sets.items()
        },
        target="follower",
        weights=None,
    )
    units = np.arange(group.starts[-1])[:, None]
    holder_of = (
        best_members(group, units, None, solve=primal_dual_flow)
        if len(units)
        else np.zeros(0, dtype=np.int64)
    )
    return group.assignment(members, holder_of)
