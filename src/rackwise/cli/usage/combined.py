"""Options that cannot be given together."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Sequence


def reject_combined(option: str, others: Sequence[str], *, hint: str) -> None:
    """Reject options that have no effect beside another one. Raises `InvalidConfig`.

    `others`: the names of the given options; none of them is no error.
    """
    if others:
        names = ", ".join(others)
        raise InvalidConfig(
            f"{option} cannot be combined with {names}",
            wanted=f"{option} alone",
            had=names,
            hint=hint,
        )
