"""One vector for each of the 38 rows: the change, the outcome, and what the KIP's text says.

`row`: the row that answers. If a vector's own row only passes on, that is a later row.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from identities import (
    ME,
    MY_SESSION,
    RULES,
    claim,
    disk,
    live,
    mapping,
    owner,
    registered,
)
from rackwise.core.identity.model import LocalLogDir, Mode, Rules, UnreadableMapping


class Vector(NamedTuple):
    name: str
    changes: dict[str, Any]
    outcome: str
    literal: str
    row: str
    rules: Rules = RULES
    literal_row: str | None = None  # None: the same row


M7 = (disk(number=7),)
NEVER = replace(RULES, spare="never")
H7 = mapping("h7", 7)
OLD_ME = live(registered(7, at=ME))
KRAFT = Mode.KRAFT
AT_RISK = {7: ("orders-4",)}
T1 = frozenset({1})

VECTORS = [
    Vector(
        "D1",
        {"log_dirs": (disk("/a", number=7), disk("/b", number=8))},
        "META_INCONSISTENT",
        "META_INCONSISTENT",
        "D1",
    ),
    Vector(
        "D2",
        {"log_dirs": (disk(number=7, cluster="A"),), "cluster_id": "B"},
        "WRONG_CLUSTER",
        "WRONG_CLUSTER",
        "D2",
    ),
    Vector(
        "D3",
        {"log_dirs": (disk(number=7, version=1, cluster="C"),)},
        "META_VERSION",
        "META_VERSION",
        "D3",
    ),
    Vector(
        "D4",
        {"mode": KRAFT, "log_dirs": (disk(version=1, cluster="C"),)},
        "META_INCOMPLETE",
        "META_INCOMPLETE",
        "D4",
    ),
    Vector("D5", {"configured": 3, "log_dirs": M7}, "ID_MISMATCH", "ID_MISMATCH", "D5"),
    Vector("D6", {"configured": 1001}, "ID_RANGE", "ID_RANGE", "D6"),
    Vector("D6", {"configured": -1}, "TAKE 7 b1", "TAKE 7 b1", "D34"),
    Vector("D6", {"configured": -2}, "ID_RANGE", "ID_RANGE", "D6"),
    Vector("D7", {"migrating": True}, "MIGRATION", "MIGRATION", "D7"),
    Vector("D7", {"migrating": True, "configured": 7}, "MIGRATION", "MIGRATION", "D7"),
    Vector(
        "D8",
        {"mode": KRAFT, "is_controller": True, "configured": 7},
        "CONTROLLER_DISK",
        "CONTROLLER_DISK",
        "D8",
    ),
    Vector(
        "D9",
        {"log_dirs": M7, "retired": {7}},
        "ID_RETIRED",
        "TAKE 7 meta",
        "D9",
        literal_row="D16",
    ),
    Vector(
        "D10",
        {"configured": 7, "claims": {7: claim(7, key="h7", session=MY_SESSION)}},
        "TAKE 7 already",
        "TAKE 7 configured",
        "D10",
        literal_row="D15",
    ),
    Vector(
        "D11",
        {"log_dirs": M7, "registered": live(registered(7)), "owners": {7: owner(7)}},
        "WAIT",
        "ID_IN_USE",
        "D11",
        literal_row="D12",
    ),
    Vector(
        "D12", {"log_dirs": M7, "registered": live(registered(7))}, "ID_IN_USE", "ID_IN_USE", "D12"
    ),
    Vector(
        "D13",
        {"configured": 7, "at_risk": None},
        "LOOK at_risk",
        "TAKE 7 configured",
        "D13",
        literal_row="D15",
    ),
    Vector(
        "D14",
        {"configured": 7, "at_risk": AT_RISK},
        "LAST_IN_SYNC",
        "TAKE 7 configured",
        "D14",
        literal_row="D15",
    ),
    Vector("D15", {"configured": 7}, "TAKE 7 configured", "TAKE 7 configured", "D15"),
    Vector("D16", {"log_dirs": M7}, "TAKE 7 meta", "TAKE 7 meta", "D16"),
    Vector(
        "D17",
        {"log_dirs": M7, "mapping": mapping("h7", 9)},
        "TAKE 7 meta",
        "TAKE 7 meta",
        "D17",
    ),
    Vector(
        "D18",
        {"log_dirs": (LocalLogDir(path="/a", problem="byte 0xEF at 0"),)},
        "META_UNREADABLE",
        "TAKE 7 b1",
        "D18",
        literal_row="D34",
    ),
    Vector(
        "D19",
        {"log_dirs": (LocalLogDir(path="/a", partitions=frozenset({"orders-4"})),)},
        "DATA_WITHOUT_META",
        "TAKE 7 b1",
        "D19",
        literal_row="D34",
    ),
    Vector(
        "D20",
        {"mapping_problem": '{"broker.id":true}'},
        "MAPPING_CORRUPT",
        "MAPPING_CORRUPT",
        "D20",
    ),
    Vector(
        "D21",
        {"mapping": H7, "retired": {7}},
        "ID_RETIRED",
        "TAKE 7 a",
        "D21",
        literal_row="D27",
    ),
    Vector(
        "D22",
        {"mapping": H7, "claims": {7: claim(7, key="h7", session=MY_SESSION)}},
        "TAKE 7 already",
        "TAKE 7 a",
        "D22",
        literal_row="D27",
    ),
    Vector(
        "D23",
        {"mapping": H7, "registered": OLD_ME, "waited_ms": 5_000},
        "WAIT",
        "GENERATE",
        "D23",
        literal_row="D36",
    ),
    Vector(
        "D24",
        {"mapping": H7, "registered": OLD_ME, "waited_ms": 27_000},
        "HOST_HAS_LIVE_BROKER",
        "GENERATE",
        "D24",
        literal_row="D36",
    ),
    Vector(
        "D25",
        {"mapping": H7, "registered": live(registered(7)), "generated": 1001},
        "MAPPED_ID_HELD",
        "TAKE 1001 gen",
        "D25",
        literal_row="D38",
    ),
    Vector(
        "D26",
        {"mapping": H7, "at_risk": AT_RISK},
        "LAST_IN_SYNC",
        "TAKE 7 a",
        "D26",
        literal_row="D27",
    ),
    Vector(
        "D26",
        {"mapping": H7, "at_risk": None},
        "LOOK at_risk",
        "TAKE 7 a",
        "D26",
        literal_row="D27",
    ),
    Vector("D27", {"mapping": H7}, "TAKE 7 a", "TAKE 7 a", "D27"),
    Vector(
        "D27",
        {"mapping": mapping("h7", 7, version=3, extra={"x": 1})},
        "TAKE 7 a",
        "TAKE 7 a",
        "D27",
    ),
    Vector("D28", {}, "GENERATE", "TAKE 7 b1", "D36", NEVER, "D34"),
    Vector("D29", {"used": None}, "LOOK missing", "LOOK missing", "D29"),
    Vector(
        "D29",
        {"watch": "leaderless"},
        "WATCHER_ABSENT",
        "TAKE 7 b1",
        "D29",
        literal_row="D34",
    ),
    Vector("D30", {"used": T1}, "GENERATE", "GENERATE", "D36"),
    Vector("D31", {"used": frozenset({1, 7, 9})}, "AMBIGUOUS_SPARE", "AMBIGUOUS_SPARE", "D31"),
    Vector(
        "D32",
        {"reserved": {1: (mapping("h1", 1),), 7: (mapping("g", 7),)}},
        "SPARE_RESERVED",
        "TAKE 7 b1",
        "D32",
        literal_row="D34",
    ),
    Vector(
        "D32",
        {"reserved": {1: (mapping("h1", 1),), 7: (mapping("g", 7),)}},
        "GENERATE",
        "TAKE 7 b1",
        "D36",
        replace(RULES, on_blocked="generate"),
        "D34",
    ),
    Vector(
        "D32",
        {"reserved": {1: (mapping("h1", 1),), 7: (mapping("g", 7),)}},
        "WAIT",
        "TAKE 7 b1",
        "D32",
        replace(RULES, on_blocked="wait"),
        "D34",
    ),
    Vector("D33", {"at_risk": AT_RISK}, "LAST_IN_SYNC", "TAKE 7 b1", "D33", literal_row="D34"),
    Vector("D33", {"at_risk": None}, "LOOK at_risk", "TAKE 7 b1", "D33", literal_row="D34"),
    Vector("D34", {}, "TAKE 7 b1", "TAKE 7 b1", "D34"),
    Vector(
        "D34",
        {"reserved": {7: (mapping("g", 7),)}},
        "TAKE 7 b1",
        "TAKE 7 b1",
        "D34",
        replace(RULES, spare="any"),
    ),
    Vector("D35", {}, "NO_ID", "NO_ID", "D35", replace(NEVER, generation=False)),
    Vector("D36", {"used": None}, "LOOK used", "GENERATE", "D36", NEVER),
    Vector("D36", {"generated": None}, "GENERATE", "GENERATE", "D36", NEVER),
    Vector(
        "D36",
        {"generated": None, "unreadable": {"g": UnreadableMapping(hint="delete it")}},
        "MAPPING_CORRUPT",
        "GENERATE",
        "D36",
        NEVER,
    ),
    Vector(
        "D37",
        {"used": frozenset({1, 1001}), "generated": 1001},
        "GENERATE",
        "TAKE 1001 gen",
        "D37",
        NEVER,
        "D38",
    ),
    Vector(
        "D37",
        {"generated": 1001, "owned": frozenset({1001})},
        "GENERATE",
        "TAKE 1001 gen",
        "D37",
        NEVER,
        "D38",
    ),
    Vector(
        "D37",
        {"used": frozenset({1, 1001}), "generated": 1002, "skipped": 1},
        "TAKE 1002 gen",
        "TAKE 1002 gen",
        "D38",
        NEVER,
    ),
    Vector(
        "D37",
        {"used": frozenset({1, 1001}), "generated": 1001, "skipped": 10_000},
        "NO_ID_LEFT",
        "TAKE 1001 gen",
        "D37",
        NEVER,
        "D38",
    ),
    Vector("D38", {"used": T1, "generated": 1001}, "TAKE 1001 gen", "TAKE 1001 gen", "D38"),
]


def literal_rules(vector):
    """The KIP's rules for a vector; step b is left out where the vector is about a later step."""
    is_after = vector.name in {"D35", "D36", "D37", "D38"} and vector.rules.spare == "never"
    return replace(Rules.literal_kip(step_b=not is_after), generation=vector.rules.generation)
