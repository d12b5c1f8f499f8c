"""The server-side assignor beside Kafka's `uniform`: `python tests/bench/bench_server_assignor.py`.

Processor time for 10,000 partitions of 100 topics, two replicas in two of 3 racks, 500 members, in
one JVM, in turns:
the first epoch, an epoch that changes nothing, 5 % new members, and members of which half subscribe
to half of the topics.

`uniform` does not ask the broker for racks, which alone takes a multiple of its time. So each case
has two lines: the ratio to `uniform`, and the ratio to `uniform` and asking for the racks of all
partitions, which is the least that any assignor with racks needs. Left out with KAFKA=0.
"""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from random import Random

from pairs import tell

TESTS = Path(__file__).parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "oracle")]

from server_cases import coordinator_case, topic_id  # noqa: E402

from golden import SERVER_LINE, upstream  # noqa: E402

TOPICS, PARTITIONS, MEMBERS = 100, 100, 500
NEW = MEMBERS // 20
PAIRS = [(a, b) for a in "abc" for b in "abc" if a != b]
OPTIMAL, UNIFORM = "server.optimal", "coordinator.uniform"
"""Operations of the oracle."""
GATE = 2.0
ROUNDS = 200
WITHIN_S = 300.0


def topic_racks(rng: Random) -> dict[str, list[list[str]]]:
    """Topic id -> racks of each partition."""
    return {
        topic_id(rng): [list(rng.choice(PAIRS)) for _ in range(PARTITIONS)] for _ in range(TOPICS)
    }


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


def main() -> None:
    """Time each case, and print a line for each."""
    rng = Random(848)
    topics = topic_racks(rng)
    members = members_of(sorted(topics), MEMBERS, "member")
    first = {"topics": topics, "members": members}
    with tempfile.TemporaryDirectory() as folder, upstream(Path(folder), SERVER_LINE) as oracle:

        def with_target(case: dict, assignor: str) -> dict:
            """The case after an epoch of the assignor."""
            asked = coordinator_case(case) if assignor == UNIFORM else case
            held = oracle.ask(assignor, asked)["partitions"]
            return case | {
                "members": [member | {"owned": held[member["id"]]} for member in case["members"]]
            }

        half = sorted(topics)[: TOPICS // 2]
        mixed = [
            member | {"topics": half} if number % 2 else member
            for number, member in enumerate(members)
        ]
        new = members_of(sorted(topics), NEW, "new")

        def joined(case: dict) -> dict:
            return case | {"members": case["members"] + new}

        differing = {"topics": topics, "members": mixed}
        cases = {
            "first epoch": (first, first),
            "no change": (with_target(first, OPTIMAL), with_target(first, UNIFORM)),
            "5 % new members": (
                joined(with_target(first, OPTIMAL)),
                joined(with_target(first, UNIFORM)),
            ),
            "differing subscriptions": (differing, differing),
        }
        for name, (ours, peer) in cases.items():
            asked = {"ours": ours, "uniform": peer, "rounds": ROUNDS}
            taken = oracle.ask("time.server", asked, within_s=WITHIN_S)
            # Other processes only add to the time, so the least one is the time of the work.
            own, plain, asking = (min(taken[who]) for who in ("ours", "uniform", "asking"))
            pair = f"server-side rack-optimal / uniform, {name}"
            tell(f"{pair} ({own / 1e6:.2f} ms)", own / plain, gate=GATE)
            tell(f"{pair}, and asking for racks", own / (plain + asking), gate=None)


if __name__ == "__main__" and os.environ.get("KAFKA") != "0":
    main()
