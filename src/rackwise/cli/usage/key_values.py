"""Options whose values are KEY=VALUE texts, each key once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Iterable


def parse_pairs(
    texts: Iterable[str] | None, *, option: str, example: str, prefix: str = ""
) -> dict[str, str]:
    """Parse KEY=VALUE texts, split at the first `=`. Raises `InvalidConfig`.

    `texts`: None if the option is not given. `example`: a value for the hint. `prefix`: the start
    of each key, in small letters; the user may write it in any.

    >>> parse_pairs(["a=1", "b=x=y"], option="--conf", example="a=1")
    {'a': '1', 'b': 'x=y'}
    """
    found: dict[str, str] = {}
    wanted = f"{prefix}KEY=VALUE"
    for text in texts or ():
        key, has_value, value = text.partition("=")
        if not key or not has_value or not key.lower().startswith(prefix):
            raise InvalidConfig(
                f"invalid {option}: expected {wanted}, got {escaped(text) or 'nothing'}",
                wanted=wanted,
                had=text,
                hint=f"for example {option} '{example}'; repeat {option} for each key",
            )
        if key in found:
            raise InvalidConfig(
                f"invalid {option}: expected each key once, got {escaped(key)} twice",
                wanted=1,
                had=2,
                hint=f"omit one {option} of this key",
            )
        found[key] = value
    return found
