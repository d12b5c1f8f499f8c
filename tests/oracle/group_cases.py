"""Random consumer groups for upstream: seeded, small, and awkward on purpose."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from random import Random

TOPICS = ["t", "u", "orders", "orders-10", "orders-2", "Z", "a.b", "a_b"]
RACKS = ["a", "b", "c", "A", "use1-az1", "/eu/a", "/eu/b", "ß", "\uffee", "😀"]
SYLLABLES = [
    "Aa",
    "BB",
    "C#",
    "consumer-",
    "-",
    "0",
    "1",
    "9",
    "f3",
    "é",
    "漢",
    "\U0001d4b3",
    "\uffee",
]
"""What ids are made of; the first three collide in Java's hash tables."""


def _names(rng: Random, count: int) -> list[str]:
    """Different names; some are a prefix of another."""
    found: dict[str, None] = {}
    while len(found) < count:
        found["".join(rng.choices(SYLLABLES, k=rng.randint(1, 5)))] = None
    return list(found)


def _topics(rng: Random, racks: list[str | None], most: int) -> dict[str, list]:
    """Some topics are of one size, some partitions on every rack, some have no replica."""
    names = rng.sample(TOPICS, rng.randint(1, 5))
    size, replication = rng.randint(1, most), rng.choice([1, 2, 2, 3])
    same_racks = rng.random() < 0.2
    found = {}
    for name in names:
        count = size if rng.random() < 0.5 else rng.randint(0, most)
        found[name] = [
            racks if same_racks else rng.choices(racks, k=rng.choice([replication, replication, 0]))
            for _ in range(count)
        ]
    return found


def _claims(rng: Random, topics: dict[str, list], members: list[str]) -> dict[str, list]:
    """Most partitions are owned by one member, few by two; one may not exist."""
    found: dict[str, list] = {member: [] for member in members}
    for topic, partitions in topics.items():
        for partition in range(len(partitions) + (rng.random() < 0.1)):
            for member in rng.sample(members, min(len(members), rng.choice([0, 1, 1, 1, 1, 2]))):
                found[member].append([topic, partition])
    return found


def group_case(rng: Random, *, most: int = 12) -> dict:
    """One group: members in join order, and the racks of what they may read."""
    racks: list[str | None] = list(rng.sample(RACKS, rng.randint(1, 4)))
    with_gaps = [*racks, None] if rng.random() < 0.3 else racks
    topics = _topics(rng, with_gaps, most)
    listed = [*topics, "unknown"]
    same = listed if rng.random() < 0.5 else None
    ids = _names(rng, rng.choice([1, 2, 3, 4, 5, 8, 13, 20]))
    instances = _names(rng, len(ids))
    static_share = rng.choice([0, 0, 0.3, 1])
    claims = _claims(rng, topics, ids) if rng.random() < 0.6 else {}
    generations = rng.choice([[-1], [5], [5, 5, 5, 4], [-1, 3, 4, 5]])
    pool = [*racks, "z"] if rng.random() < 0.3 else racks
    rackless = rng.choice([0, 0, 0.3, 1])
    members = [
        {
            "id": id_,
            "topics": same or rng.choices(listed, k=rng.randint(0, len(listed))),
            "rack": None if rng.random() < rackless else rng.choice(pool),
            "instance": instance if rng.random() < static_share else None,
            "owned": claims.get(id_, []),
            "generation": rng.choice(generations),
        }
        for id_, instance in zip(ids, instances, strict=True)
    ]
    return {"topics": topics, "members": members}


def only_what_exists(case: dict) -> dict:
    """The case without owned partitions that a topic does not have, which upstream counts."""
    sizes = {topic: len(partitions) for topic, partitions in case["topics"].items()}
    members = [
        member | {"owned": [tp for tp in member["owned"] if tp[1] < sizes.get(tp[0], 0)]}
        for member in case["members"]
    ]
    return case | {"members": members}


def coordinated_case(rng: Random, *, most: int = 12) -> dict:
    """A group as the group coordinator sees it: one owner for each partition, topics with ids.

    Some members own too much, some nothing, some what they do not list.
    """
    case = only_what_exists(group_case(rng, most=most))
    more = rng.choice([0, 0, 0, 20])
    topics = case["topics"] | {
        f"more-{number}": [[]] * rng.randint(1, 3) for number in range(rng.randint(0, more))
    }
    ids = {topic: urlsafe_b64encode(rng.randbytes(16)).decode()[:22] for topic in topics}
    heirs = [member["id"] for member in case["members"]]
    heirs = rng.sample(heirs, rng.randint(1, len(heirs)))
    owned: dict[str, list] = {}
    if rng.random() < 0.7:
        for topic, partitions in case["topics"].items():
            for partition in range(len(partitions)):
                if rng.random() < 0.8:
                    owned.setdefault(rng.choice(heirs), []).append([topic, partition])
    lists = [member["topics"] for member in case["members"]]
    is_same = all(topics == lists[0] for topics in lists)
    members = [
        member
        | {
            "owned": owned.get(member["id"], []),
            "topics": [*topics, "unknown"] if is_same else member["topics"],
        }
        for member in case["members"]
    ]
    return {"topics": topics, "ids": ids, "members": members}
