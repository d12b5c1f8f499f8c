"""Levels of the rack texts of clients and brokers; no text raises an error.

A text that `core.racks` reads as a path has the levels of that path. Any other text is one level,
also a text that a snapshot would reject, because Kafka accepts every text.

```
/eu/a/r7    eu, a, r7        use1-az1    use1-az1        /eu//a    one level: /eu//a
/           one level: /     U+00A0      one level, for blank is U+0020 and below
```
"""

from __future__ import annotations

from rackwise.core.errors import InvalidRack
from rackwise.core.racks import Rack

_BLANK = "".join(map(chr, range(0x21)))


def is_blank(rack: str | None) -> bool:
    """Whether a client's rack is absent or has only characters up to U+0020, as Java trims them."""
    return rack is None or not rack.strip(_BLANK)


def levels_of(rack: str, *, whole: bool = False) -> tuple[str, ...]:
    """The levels of a rack's text, coarsest first, at least one. `whole`: the text is one level."""
    if whole or not rack.startswith("/"):
        return (rack,)
    try:
        return Rack(rack).levels or (rack,)
    except InvalidRack:
        return (rack,)
