"""Checks of consumer options against the cluster: unused weights, unknown racks.

The reader of weights rejects a row of an unknown topic or partition, because a mistyped name would
count as nothing. Rows of topics that the groups do not read are allowed. If no group reads a
partition with a weight above 0, the table is rejected, because every assignment would be the best.
If only some groups do not, a warning names them.

A rack without a broker is no error, because brokers may be added there. A warning names it.
"""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidWeights
from rackwise.core.text import counted, escaped, names_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from rackwise.cli.shell import Shell
    from rackwise.core.assignors import DescribedGroup, TopicPartition
    from rackwise.core.model import Cluster

SHOWN = 5
"""Messages list this many names."""


def check_weights(
    shell: Shell,
    groups: Mapping[str, Mapping[TopicPartition, int] | None],
    path: Path | None,
) -> None:
    """Warn of groups without a weight above 0. Raises `InvalidWeights` if all are such.

    `groups`: name -> weights of the partitions that it reads.
    """
    idle = [
        name
        for name, weights in groups.items()
        if weights is not None and not any(weights.values())
    ]
    if idle and len(idle) == len(groups):
        raise InvalidWeights(
            f"invalid {escaped(str(path))}: expected a weight above 0 for the topics of "
            f"{first_names(idle)}, got none",
            wanted="a weight above 0",
            had=0,
            hint="add rows for its topics to the table, or omit --weights",
            where=str(path),
        )
    for name in idle:
        shell.warn(f"{escaped(name)}: none of its partitions has a weight above 0")


def warn_of_racks(
    shell: Shell,
    cluster: Cluster,
    groups: Sequence[DescribedGroup],
    client_racks: Sequence[tuple[str, str]],
) -> None:
    """Warn of racks without a broker, and of patterns that match no member."""
    for each in groups:
        racks = [member.rack for member in each.members.values()]
        text = _unknown_racks_text(cluster, racks)
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


def warn_of_added_racks(shell: Shell, cluster: Cluster, add: Mapping[str, int]) -> None:
    """Warn of members that are added in racks without a broker."""
    text = _unknown_racks_text(cluster, [rack for rack, count in add.items() for _ in range(count)])
    if text:
        shell.warn(f"--add: {text}")


def first_names(names: Iterable[str]) -> str:
    """Format the first names and the number of the others."""
    return names_text(list(names), most=SHOWN)


def _unknown_racks_text(cluster: Cluster, racks: Iterable[str | None]) -> str | None:
    """Describe members in racks without a broker; None if there are none."""
    known = {broker.rack.text for broker in cluster.brokers if broker.rack is not None}
    unknown = [rack for rack in racks if rack is not None and rack not in known]
    if not unknown:
        return None
    return (
        f"{counted(len(unknown), 'member')} in racks without a broker: "
        f"{first_names(sorted(set(unknown)))} "
        f"(racks of brokers: {first_names(sorted(known)) or 'none'})"
    )
