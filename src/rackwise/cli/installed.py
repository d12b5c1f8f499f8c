"""Errors for missing packages, with the command that installs them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from rackwise.core.errors import MissingDependency, SparkMissing

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def installed(extra: str, purpose: str) -> Iterator[None]:
    """Turn a failed import in the block into `MissingDependency` with a hint to install `extra`.

    `purpose` completes the sentence "PACKAGE is required to ...". A missing PySpark raises
    `SparkMissing`.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        package = (error.name or "rackwise").partition(".")[0]
        if package == "rackwise":
            raise
        missing = SparkMissing if package == "pyspark" else MissingDependency
        raise missing(
            f"{package} is required to {purpose}, but it is not installed",
            wanted=package,
            hint=f'pip install "rackwise[{extra}]"',
        ) from None
