"""The snapshots that the bill of a night needs, so that each day that it writes is whole.

A run of `analyze` replaces the days that it computes. A day whose traffic is only known in part
must not replace a day that is known whole, so a night starts at the day of the look before it, and
has one look from before that day:

```
looks      24th 02:00      25th 02:00      26th 02:00      27th 02:00 (tonight)
                                |------ the days of this run ------>   --from 26th
                                ^ read, for the traffic of the 26th from 00:00
```

If a cluster was down for some nights, its last look is older, and the run starts there: it computes
the days in between once more, from the same looks, and gets the same figures.

What this does not do: read files; divide traffic between days (`pipeline` does).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


class NightLook(NamedTuple):
    """A snapshot in the folder of a cluster. Looks sort by time."""

    day: str
    """The night, such as 2026-11-26."""
    number: int
    """1 is the first look of a night, 2 the second."""
    file: str


class Window(NamedTuple):
    """What a run of `analyze` reads."""

    first_day: str
    """Traffic before this day is ignored."""
    files: tuple[str, ...]


def window(looks: Mapping[str, Sequence[NightLook]], day: str) -> Window:
    """The snapshots and the first day of tonight's run.

    `looks`: cluster -> its looks with those of tonight; `day`: tonight.

    >>> looks = [NightLook(f"2026-11-{day}", 2, f"{day}.json.gz") for day in (23, 24, 25, 26)]
    >>> window({"prod": looks}, "2026-11-26")
    Window(first_day='2026-11-25', files=('24.json.gz', '25.json.gz', '26.json.gz'))
    """
    first_day = min(
        [
            day,
            *(
                max(each.day for each in of_cluster if each.day < day)
                for of_cluster in looks.values()
                if any(each.day < day for each in of_cluster)
            ),
        ]
    )
    files: list[str] = []
    for of_cluster in looks.values():
        files += _since(sorted(of_cluster), first_day)
    return Window(first_day, tuple(files))


def _since(looks: Sequence[NightLook], first_day: str) -> Iterable[str]:
    before = [each.file for each in looks if each.day < first_day]
    return [*before[-1:], *(each.file for each in looks if each.day >= first_day)]


def expired(looks: Sequence[NightLook], day: str, oldest: str) -> tuple[NightLook, ...]:
    """Looks that can be removed: before `oldest`, and not needed by a later night.

    The last two nights before `day` stay: the next run may need them.

    >>> looks = [NightLook(f"2026-11-{day}", 1, str(day)) for day in (20, 21, 22, 23)]
    >>> [each.file for each in expired(looks, "2026-11-23", "2026-11-23")]
    ['20']
    """
    nights = sorted({each.day for each in looks if each.day < day})[-2:]
    return tuple(each for each in looks if each.day < oldest and each.day not in nights)
