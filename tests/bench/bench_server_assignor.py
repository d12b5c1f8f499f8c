"""The assignors for brokers / Kafka's `uniform`: `python tests/bench/bench_server_assignor.py`.

Processor time for 10,000 partitions of 100 topics, two replicas in two of 3 racks, 500 members, in
one JVM, in turns. Of `rack-optimal`: the first epoch, an epoch that changes nothing, 5 % new
members, one member less, other racks of 5 % of the partitions, one topic alone, and members of
which half subscribe to half of the topics. Of `rack-sticky`: the first three.

`uniform` does not ask the broker for racks, which alone takes a multiple of its time. So each case
has two more lines, as yardsticks: asking for the racks of all partitions / `uniform`, and ours /
`uniform` and asking. Nobody who heeds racks can do without asking: racks may have changed since the
last epoch, and the broker's metadata is another object every 500 ms. Left out with KAFKA=0.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from pairs import tell

if TYPE_CHECKING:
    from collections.abc import Iterator

    from oracle import Oracle

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "oracle")]

from server_cases import coordinator_case, topic_id  # noqa: E402

from golden import SERVER_LINE, upstream  # noqa: E402

TOPICS, PARTITIONS, MEMBERS = 100, 100, 500
NEW = MEMBERS // 20
CHANGED = 0.05
PAIRS = [(a, b) for a in "abc" for b in "abc" if a != b]
OPERATIONS = {
    "rack-optimal": "server.optimal",
    "rack-sticky": "server.sticky",
    "uniform": "coordinator.uniform",
}
"""Operations of the oracle."""
GATE = 2.0
ROUNDS = 200
WITHIN_S = 300.0


def topic_racks(rng: Random, topics: int = TOPICS) -> dict[str, list[list[str]]]:
    """Topic id -> racks of each partition."""
    each = TOPICS * PARTITIONS // topics
    return {topic_id(rng): [list(rng.choice(PAIRS)) for _ in range(each)] for _ in range(topics)}


def with_changed_racks(rng: Random, case: dict) -> dict:
    """The case with other racks of 5 % of the partitions."""
    topics = {
        topic: [
            list(rng.choice(PAIRS)) if rng.random() < CHANGED else replicas for replicas in rows
        ]
        for topic, rows in case["topics"].items()
    }
    return case | {"topics": topics}


def members_of(topics: list[str], count: int, prefix: str) -> list[dict]:
    """Members in all racks in turn, without partitions."""
    return [
        {
            "id": f"{prefix}-{number:04}",
            "topics": topics,
            "rack": "abc"[number % 3],
            "owned": [],
        }
        for number in range(count)
    ]


def after_epoch(oracle: Oracle, case: dict, assignor: str) -> dict:
    """The case after an epoch of the assignor."""
    asked = coordinator_case(case) if assignor == "uniform" else case
    held = oracle.ask(OPERATIONS[assignor], asked)["partitions"]
    return case | {
        "members": [member | {"owned": held[member["id"]]} for member in case["members"]]
    }


def cases_of(oracle: Oracle, assignor: str) -> Iterator[tuple[str, dict, dict]]:
    """Name, the group of ours and the group of `uniform`."""
    rng = Random(848)
    topics = topic_racks(rng)
    members = members_of(sorted(topics), MEMBERS, "member")
    first = {"topics": topics, "members": members}
    ours, peer = after_epoch(oracle, first, assignor), after_epoch(oracle, first, "uniform")
    new = members_of(sorted(topics), NEW, "new")
    joined = [each | {"members": each["members"] + new} for each in (ours, peer)]
    yield "first epoch", first, first
    yield "no change", ours, peer
    yield "5 % new members", joined[0], joined[1]
    if assignor == "rack-optimal":
        left = [each | {"members": each["members"][1:]} for each in (ours, peer)]
        yield "a member left", left[0], left[1]
        yield "racks of 5 % of the partitions changed", with_changed_racks(rng, ours), peer
        topics = topic_racks(rng, 1)
        single = {"topics": topics, "members": members_of(sorted(topics), MEMBERS, "member")}
        yield "one topic, first epoch", single, single
        held = [after_epoch(oracle, single, each) for each in (assignor, "uniform")]
        yield "one topic, no change", held[0], held[1]
        half = sorted(first["topics"])[: TOPICS // 2]
        mixed = [
            member | {"topics": half} if number % 2 else member
            for number, member in enumerate(members)
        ]
        yield "differing subscriptions", first | {"members": mixed}, first | {"members": mixed}


def main() -> None:
    """Time each case, and print three lines for each."""
    with tempfile.TemporaryDirectory() as folder, upstream(Path(folder), SERVER_LINE) as oracle:
        for assignor in ("rack-optimal", "rack-sticky"):
            for name, ours, peer in cases_of(oracle, assignor):
                asked = {"assignor": assignor, "ours": ours, "uniform": peer, "rounds": ROUNDS}
                taken = oracle.ask("time.server", asked, within_s=WITHIN_S)
                # Other processes only add to the time, so the least is the time of the work.
                own, plain, asking = (min(taken[who]) for who in ("ours", "uniform", "asking"))
                pair = f"server-side {assignor} / uniform, {name}"
                tell(f"{pair} ({own / 1e6:.2f} ms)", own / plain, gate=GATE)
                tell(f"{pair}: asking for racks / uniform", asking / plain, gate=None)
                tell(f"{pair}, and asking for racks", own / (plain + asking), gate=None)


if __name__ == "__main__" and os.environ.get("KAFKA") != "0":
    main()
