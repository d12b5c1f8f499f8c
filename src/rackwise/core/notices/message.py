r"""The JSON document that a webhook gets.

```
{"format": "rackwise.notice/1", "id": "5f0c..", "day": "2026-11-27",
 "text": "Rackwise, night of 2026-11-27: 2 notices\n• prod: 1 topic became unsafe: orders\n..",
 "notices": [{"kind": "topic-unsafe", "cluster": "prod", "day": "2026-11-27", "text": ".."}, ..]}
```

`text` is what Slack shows, and services that take Slack's documents. Slack reads `<`, `>` and `&`
as its own markup, so that a name could mention a channel; they are written as entities there, and
plainly in `notices`.

`id` is the same each time the same notices are sent: a receiver that has seen it can drop the
document. A notice is sent again if `nightly` is killed between the answer and its record.

Limits: the text has the first `MOST` notices, the list all of them up to `MOST_LISTED`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from rackwise.core.json.canonical import sha256_of
from rackwise.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rackwise.core.json.canonical import Json
    from rackwise.core.notices.changes import Notice

FORMAT: Final = "rackwise.notice/1"
MOST: Final = 10
"""Notices in the text."""
MOST_LISTED: Final = 200
"""Notices in the list."""


def message(notices: Sequence[Notice]) -> dict[str, Json]:
    """The document of one or more notices, oldest first; their days ascend."""
    day = notices[-1].day
    lines = [f"Rackwise, night of {day}: {counted(len(notices), 'notice')}"]
    lines += [f"• {_slack(each.text)}" for each in notices[:MOST]]
    if len(notices) > MOST:
        lines.append(f"and {len(notices) - MOST} more")
    listed: list[Json] = [
        {"kind": each.kind, "cluster": each.cluster, "day": each.day, "text": each.text}
        for each in notices[:MOST_LISTED]
    ]
    return {
        "format": FORMAT,
        "id": sha256_of(listed),
        "day": day,
        "text": "\n".join(lines),
        "notices": listed,
    }


def _slack(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
