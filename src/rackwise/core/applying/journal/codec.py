"""The lines of a journal as plain JSON values, and back.

Goals, in order: a line that is written is read back equal; anything else is rejected with its JSON
path; each line has one form.

```
BatchIntent(batch=2, act="move", partitions=(("orders", 4),))
{"type": "batch_intent", "batch": 2, "act": "move", "partitions": [["orders", 4]]}
```

The fields are declared in `lines`; `type` names the class. A partition is `[topic, number]`, a
throttle key `["broker", "4", "follower.replication.throttled.rate"]`, a setting
`[key, value before, value of this tool]`.

Limits: text, order, checks, and the keys that the writer of the file adds (`seq`, `at`, `check`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, get_args

from rackwise.core.applying import model
from rackwise.core.applying.journal.lines import Begin, Line
from rackwise.core.applying.model import ThrottleKey
from rackwise.core.applying.throttle_configs import LISTS, RATES
from rackwise.core.daily_hours import HOURS_WANTED, DailyHours
from rackwise.core.errors import InvalidPlan
from rackwise.core.json.codec import Codec, ObjectRules, Tagged
from rackwise.core.json.faults import Faults
from rackwise.core.json.node import JsonNode
from rackwise.core.model import PartitionId

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rackwise.core.json.canonical import Json

FORMAT = "rackwise.journal/1"


def _check_key(key: ThrottleKey, node: JsonNode) -> None:
    is_broker = key.kind == "broker" and key.key in RATES
    is_id = key.name.isascii() and key.name.isdigit()
    if not (is_broker and is_id) and not (key.kind == "topic" and key.key in LISTS):
        node.wrong("a throttle key of a broker or a topic")


def _check_begin(line: Begin, node: JsonNode) -> None:
    if line.window is not None and DailyHours.of(line.window) is None:
        node.at("window").wrong(HOURS_WANTED)


CODEC = Codec(
    names={**vars(model), "PartitionId": PartitionId},
    rules={ThrottleKey: ObjectRules(check=_check_key), Begin: ObjectRules(check=_check_begin)},
    unions={
        Line: Tagged(
            tag="type", kinds={kind.type: kind for kind in get_args(Line)}, wanted="a journal line"
        )
    },
)
LINE = CODEC.form(Line)
"""The form of a line."""


def fields_of(line: Line) -> dict[str, Json]:
    """A line as plain JSON values, `type` first.

    >>> from rackwise.core.applying.journal.lines import Pause
    >>> fields_of(Pause(reasons=("broker 4 is down",)))
    {'type': 'pause', 'reasons': ['broker 4 is down']}
    """
    written: dict[str, Json] = LINE.write(line)
    return written


def line_of(values: Mapping[str, Json], where: str = "journal") -> Line:
    """The line that was written as `values`; `where` names the file and the line in an error.

    Raises `InvalidPlan` with the JSON path.
    """
    faults = Faults(where, InvalidPlan)
    line: Line = LINE.read(JsonNode(values, faults))
    faults.raise_if_any()
    return line
