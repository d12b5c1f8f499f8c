"""Random groups as a broker knows them: topics by id, and one member at most for a partition."""

from __future__ import annotations

import base64
from typing import TYPE_CHECKING

from group_cases import group_case, only_what_exists

if TYPE_CHECKING:
    from random import Random


def server_case(rng: Random, *, most: int = 12) -> dict:
    """One group of the consumer protocol; `owned` is its target assignment."""
    case = only_what_exists(group_case(rng, most=most))
    names = {*case["topics"], *(topic for each in case["members"] for topic in each["topics"])}
    ids = {name: topic_id(rng) for name in sorted(names)}
    is_held: set[tuple[str, int]] = set()
    members = []
    for member in case["members"]:
        owned = [tp for tp in map(tuple, member["owned"]) if tp not in is_held]
        is_held |= set(owned)
        members.append(
            {
                "id": member["id"],
                "topics": sorted({ids[topic] for topic in member["topics"]}),
                "rack": member["rack"],
                "owned": sorted([ids[topic], number] for topic, number in owned),
            }
        )
    return {
        "topics": {ids[topic]: racks for topic, racks in case["topics"].items()},
        "members": members,
    }


def coordinator_case(case: dict) -> dict:
    """The same case in the form of Kafka's own assignors, whose topics have names and ids."""
    return {
        "topics": case["topics"],
        "ids": {topic: topic for topic in case["topics"]},
        "members": [member | {"instance": None} for member in case["members"]],
    }


def topic_id(rng: Random) -> str:
    """The text of a random topic id."""
    return base64.urlsafe_b64encode(rng.randbytes(16)).rstrip(b"=").decode()
