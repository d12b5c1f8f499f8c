"""Gives each cluster of a run the name that people call it by.

Goals, in order: one cluster has one name, whatever its files are called; the name is the same
tomorrow, when there is one more file; people recognize it.

The snapshots with one cluster id are one cluster; without an id, those with one file name are. The
name of a cluster is the first of these that exists:

1. the name in its snapshots (`rackwise snapshot --name`); the last snapshot that has one decides;
2. the stem of its files without dates and times, if all its files have the same stem;
3. the name of its folder, if all its files are in one folder, and no file of another cluster is;
4. the cluster id.

A stem or a folder that another cluster could be called by, or has as its id, is skipped.

```
files                                             ids     names
prod.json                                         x       prod
prod-2026-11-01.json  prod-2026-11-02.json        x x     prod     one history
eu/2026-11-01.json    us/2026-11-01.json          x y     eu  us
2026-11-01.json       2026-11-01T06.json          x y     x   y    a moment is no name
a.json                b.json                      x x     x        two stems are no name
```

Other inputs may refer to a cluster by its name or by its id.

What this does not do: reject two clusters with one name (see `fleet.histories`).
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Protocol

from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from datetime import datetime

    from rackwise.core.model import Cluster

_DAY = r"(?:19|20)\d\d([-_.]?)(?:0[1-9]|1[0-2])\1(?:0[1-9]|[12]\d|3[01])"
_TIME = r"(?:[-_.T ]?(?:[01]\d|2[0-3])(?:[-_.:h]?[0-5]\d(?:[-_.:]?[0-5]\d(?:\.\d+)?)?)?Z?)?"
_EPOCH = r"\d{13}|\d{10}"
_MOMENT = re.compile(rf"(?<!\d)(?:{_DAY}{_TIME}|{_EPOCH})(?!\d)", re.ASCII)
_SEPARATORS = re.compile(r"[-_. ]*\0[-_. ]*")


class TakenSnapshot(Protocol):
    """The parts of a snapshot that decide the name of its cluster."""

    @property
    def file(self) -> str:
        """Its path."""

    @property
    def name(self) -> str:
        """The name of its cluster."""

    @property
    def taken_at(self) -> datetime:
        """When it was taken."""

    @property
    def fingerprint(self) -> str:
        """SHA-256 of the content."""

    @property
    def cluster(self) -> Cluster:
        """The cluster."""


def cluster_names(snapshots: Sequence[TakenSnapshot]) -> list[str]:
    """The name of the cluster of each snapshot, in order of the snapshots."""
    clusters = _clusters(snapshots)
    owners = Counter(
        folder for history in clusters.values() for folder in {_folder(one.file) for one in history}
    )
    candidates = {key: _candidates(key, history, owners) for key, history in clusters.items()}
    claims = Counter(text for key, found in candidates.items() for text in {*found, key[0]})
    names = {}
    for key, history in clusters.items():
        free = [text for text in candidates[key] if claims[text] == 1]
        names[key] = next(iter([*carried_names(history)[-1:], *free]), key[0] or key[1])
    return [names[_key(one)] for one in snapshots]


def _candidates(
    key: tuple[str | None, str], history: Sequence[TakenSnapshot], owners: Mapping[str, int]
) -> list[str]:
    """The names that a cluster may have, best first; `owners`: folder -> clusters with files."""
    if carried := carried_names(history)[-1:]:
        return carried
    if key[0] is None:
        return [key[1]]
    stems = {stem(one.file) for one in history}
    folders = {_folder(one.file) for one in history}
    found = [*stems] if len(stems) == 1 else []
    found += [PurePosixPath(each).name for each in folders if owners[each] == len(folders) == 1]
    return [text for text in found if text]


def name_notes(snapshots: Sequence[TakenSnapshot]) -> list[str]:
    """A note for each cluster whose snapshots have several names."""
    notes = []
    for history in _clusters(snapshots).values():
        names = carried_names(history)
        others = dict.fromkeys(name for name in names if name != names[-1])
        if others:
            listed = ", ".join(map(escaped, others))
            notes.append(
                f"{escaped(names[-1])}: earlier snapshots have another name: {listed}; the name of "
                "the last snapshot is used"
            )
    return sorted(notes)


def names_by_text(snapshots: Iterable[TakenSnapshot]) -> Mapping[str, str]:
    """Cluster name or id -> cluster name; a name takes precedence over an equal id."""
    known = list(snapshots)
    by_id = {one.cluster.cluster_id: one.name for one in known if one.cluster.cluster_id}
    return by_id | {one.name: one.name for one in known}


def carried_names(history: Iterable[TakenSnapshot]) -> list[str]:
    """The names in the snapshots of one cluster, oldest first."""
    ordered = sorted(history, key=lambda one: (one.taken_at, one.fingerprint))
    return [one.cluster.name for one in ordered if one.cluster.name]


def stem(file: str) -> str:
    """The file's name without folder, suffix, dates and times; may be empty.

    >>> [stem(name) for name in ("s/prod.json.gz", "prod-2026-11-01T0600Z.json", "20261101.json")]
    ['prod', 'prod', '']
    """
    text = _MOMENT.sub("\0", whole_stem(file))
    inner = _SEPARATORS.sub("\0", text).strip("\0")
    return inner.replace("\0", "-")


def whole_stem(file: str) -> str:
    """The file's name without folder and suffix."""
    name = PurePosixPath(file).name
    return name.removesuffix(".gz").removesuffix(".json") or name


def _key(one: TakenSnapshot) -> tuple[str | None, str]:
    """The identity of a snapshot's cluster: its id, or the name of its file."""
    cluster_id = one.cluster.cluster_id
    return (cluster_id, "") if cluster_id else (None, stem(one.file) or whole_stem(one.file))


def _clusters(
    snapshots: Iterable[TakenSnapshot],
) -> Mapping[tuple[str | None, str], Sequence[TakenSnapshot]]:
    found: dict[tuple[str | None, str], list[TakenSnapshot]] = {}
    for one in snapshots:
        found.setdefault(_key(one), []).append(one)
    return found


def _folder(file: str) -> str:
    folder = str(PurePosixPath(file).parent)
    return "" if folder == "." else folder
