"""What is said of consumer groups does not fit the cluster: weights of nothing, racks of nobody.

A table of weights has to fit: a row of a topic or partition that the cluster does not have is
refused by its reader, as a mistyped name would count as nothing; rows of topics that the groups do
not read are no matter. Where none of the groups reads anything with a weight above 0 the table is
refused, as every assignment would be the best; where only some do not, they are named.

Racks that no broker has are no error: brokers may be added there. They are named.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidWeights
from rackwise.core.text import counted, escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rackwise.cli.shell import Shell
    from rackwise.core.assignors import Described, TopicPartition
    from rackwise.core.model import Cluster

SHOWN = 5
"""So many names are said."""


def check_weighed(
    shell: Shell,
    groups: Mapping[str, Mapping[TopicPartition, int] | None],
    path: Path | None,
) -> None:
    """Warn of groups that read nothing with a weight; `InvalidWeights` where that is all.

    `groups`: name -> the weights of what it reads.
    """
    idle = [
        name
        for name, weights in groups.items()
        if weights is not None and not any(weights.values())
    ]
    if idle and len(idle) == len(groups):
        raise InvalidWeights(
            f"invalid {escaped(str(path))}: expected a weight above 0 for the topics of "
            f"{some(idle)}, got none",
            wanted="a weight above 0",
            had=0,
            hint="add rows for its topics to the table, or omit --weights",
            where=str(path),
        )
    for name in idle:
        shell.warn(f"{escaped(name)}: no weight above 0 is known of what it reads")


def tell_racks(
    shell: Shell,
    cluster: Cluster,
    groups: Sequence[Described],
    client_racks: Sequence[tuple[str, str]],
) -> None:
    """Warn of racks that no broker has, and of patterns that say nothing."""
    for each in groups:
        racks = [member.rack for member in each.members.values()]
        text = _strange_text(cluster, racks)
        if text:
            shell.warn(f"{escaped(each.group.group)}: {text}")
    silent = [
        member.client_id for each in groups for member in each.group.members if member.rack is None
    ]
    for glob, rack in client_racks:
        if not any(fnmatchcase(client, glob) for client in silent):
            shell.warn(
                f"--client-rack {escaped(glob)}={escaped(rack)} matches no member without a rack"
            )


def tell_added(shell: Shell, cluster: Cluster, add: Mapping[str, int]) -> None:
    """Warn of members to add in racks that no broker has."""
    text = _strange_text(cluster, [rack for rack, count in add.items() for _ in range(count)])
    if text:
        shell.warn(f"--add: {text}")


def some(names: Iterable[str]) -> str:
    """The first names, and how many more there are."""
    listed = [escaped(name) for name in names]
    more = f" and {len(listed) - SHOWN} more" if len(listed) > SHOWN else ""
    return ", ".join(listed[:SHOWN]) + more


def _strange_text(cluster: Cluster, racks: Iterable[str | None]) -> str | None:
    """What is said of members in racks that no broker has; None where there are none."""
    known = {broker.rack.text for broker in cluster.brokers if broker.rack is not None}
    strange = [rack for rack in racks if rack is not None and rack not in known]
    if not strange:
        return None
    return (
        f"{counted(len(strange), 'member')} in a rack that no broker has: "
        f"{some(sorted(set(strange)))} (racks of brokers: {some(sorted(known)) or 'none'})"
    )
