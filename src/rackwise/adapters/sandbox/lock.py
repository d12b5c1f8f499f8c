"""The lock of jars (`jars.toml`), and the locations on this machine where a locked jar may be."""

from __future__ import annotations

import hashlib
import tomllib
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from rackwise.core.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

KAFKA_4_4 = "kafka-4.4.0"
KAFKA_4_3 = "kafka-4.3.1"
KAFKA_3_9 = "kafka-3.9.2"
KRAFT_JARS: Mapping[str, str] = MappingProxyType({"4.4": KAFKA_4_4, "4.3": KAFKA_4_3})
"""Kafka version that runs in KRaft mode -> its set of jars, the newest first."""
DEFAULT_KAFKA = "4.4"


@dataclass(frozen=True, kw_only=True)
class Jar:
    """One row of the lock."""

    coordinate: str
    size: int
    """In bytes."""
    sha512: str
    """Lower-case hexadecimal."""
    sets: tuple[str, ...]

    @cached_property
    def path(self) -> str:
        """The path in a Maven repository: `org/slf4j/slf4j-api/1.7.36/slf4j-api-1.7.36.jar`."""
        group, artifact, version = self.coordinate.split(":")
        return f"{group.replace('.', '/')}/{artifact}/{version}/{artifact}-{version}.jar"

    @cached_property
    def file_name(self) -> str:
        """The name in the cache: `slf4j-api-1.7.36.jar`."""
        return self.path.rpartition("/")[2]

    def is_at(self, path: Path) -> bool:
        """Whether the file is this jar, by size and hash."""
        try:
            if path.stat().st_size != self.size:
                return False
            with path.open("rb") as file:
                return hashlib.file_digest(file, "sha512").hexdigest() == self.sha512
        except OSError:
            return False


@dataclass(frozen=True, slots=True)
class JarLocations:
    """The folders on this machine that may contain jars."""

    cache: Path
    """A flat folder."""
    maven: Path
    """Maven's own layout."""

    @classmethod
    def of(cls, environment: Mapping[str, str]) -> JarLocations:
        """From RACKWISE_CACHE, XDG_CACHE_HOME and HOME; the folders need not exist."""
        home = Path(environment["HOME"]) if "HOME" in environment else Path.home()
        caches = Path(environment.get("XDG_CACHE_HOME") or home / ".cache")
        own = environment.get("RACKWISE_CACHE")
        return cls(
            cache=(Path(own) if own else caches / "rackwise" / "jars").absolute(),
            maven=(home / ".m2" / "repository").absolute(),
        )

    def find(self, jar: Jar) -> Path | None:
        """A local file that is the locked jar, checked just now."""
        candidates = (self.cache / jar.file_name, self.maven / jar.path)
        return next((path for path in candidates if jar.is_at(path)), None)


def locked_jars(name: str) -> tuple[Jar, ...]:
    """The jars of one set of the lock, in its order. Raises `InvalidConfig` for an unknown set."""
    lock = tomllib.loads(files(__package__).joinpath("jars.toml").read_text(encoding="utf-8"))
    jars = [
        Jar(coordinate=row["jar"], size=row["size"], sha512=row["sha512"], sets=tuple(row["sets"]))
        for row in lock["jars"]
    ]
    chosen = tuple(jar for jar in jars if name in jar.sets)
    if not chosen:
        known = " or ".join(sorted({each for jar in jars for each in jar.sets}))
        raise InvalidConfig(
            f"invalid set of jars: expected {known}, got {name}", wanted=known, had=name
        )
    return chosen
