"""Rackwise: rack awareness for Apache Kafka.

`__init__.pyi` lists every public name and the module that defines it. A name is imported when it is
first used, so `import rackwise` loads neither numpy nor a Kafka client nor Spark.
`from rackwise import pipeline` opens the Spark part.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def lazy_names(package: str) -> tuple[Callable[[str], object], Callable[[], list[str]]]:
    """Return `__getattr__` and `__dir__` of a package that lists its names in a stub (PEP 562).

    Each line of the stub names one object or submodule: `from rackwise.core.racks import Rack as
    Rack`. The stub is read when the first name is asked for.
    """
    homes: dict[str, str] = {}  # public name -> module that defines it

    def read_stub() -> dict[str, str]:
        if not homes:
            import re
            import sys

            spec = sys.modules[package].__spec__
            # The loader reads the stub, so that a package in a zip file works as well.
            stub: bytes = spec.loader.get_data(f"{spec.origin}i")
            names = re.findall(
                r"^from (rackwise\S*) import (?:\(\s*)?(\w+) as \2\b", stub.decode(), re.MULTILINE
            )
            homes.update({name: home for home, name in names})
        return homes

    def get(name: str) -> object:
        if name == "__all__":
            return sorted(read_stub())
        if name.startswith("__") or name not in read_stub():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        import sys
        from importlib import import_module

        module = import_module(homes[name])
        if name in vars(module):
            value = vars(module)[name]
        else:
            value = import_module(f"{homes[name]}.{name}")
        setattr(sys.modules[package], name, value)
        return value

    return get, lambda: sorted(read_stub())


__getattr__, __dir__ = lazy_names(__name__)
