"""`typing.override` (PEP 698) for Python 3.11, which lacks it: a mark for the type checker."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

__all__ = ["override"]

Method = TypeVar("Method")

if TYPE_CHECKING:
    from typing_extensions import override
else:

    def override(method: Method) -> Method:
        """The method, unchanged."""
        return method
