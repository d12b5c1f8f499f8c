"""What to install where a package is not there."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rackwise.core.errors import MissingDependency

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def installed(extra: str, purpose: str) -> Iterator[None]:
    """Imports inside the block raise `MissingDependency` with the line that installs `extra`.

    `purpose`: what the package is wanted for, as in "wanted to ...".
    """
    try:
        yield
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] == "rackwise":
            raise
        raise MissingDependency(
            f"{error.name} is wanted to {purpose}; it is not installed",
            wanted=error.name,
            hint=f'pip install "rackwise[{extra}]"',
        ) from None
