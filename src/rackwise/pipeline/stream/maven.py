"""Asks Maven repositories for the versions of a connector of Spark, and fetches its jars.

```
ask     maven-metadata.xml of each repository, or the files of versions     4.2.1, else 4.2.x
fetch   Spark's own Ivy, in a Java of its own and silent                    paths of jars
```

The repositories are those that Spark itself asks: `spark.jars.repositories`, then
`DEFAULT_ARTIFACT_REPOSITORY` of the environment, else Maven Central; or those of
`spark.jars.ivySettings`, which only Ivy can ask. Jars come from and go to the cache of Ivy
(`spark.jars.ivy`). If no repository answers, the newest version of the line in that cache is used.

Limits: `ask` gives no password to a repository (Ivy does, from its settings); Maven's own folder
(`~/.m2`) is not searched.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import tempfile
import time
import urllib.request
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.error import HTTPError
from urllib.parse import urlsplit
from xml.sax.saxutils import quoteattr

from rackwise.core.constants import MAVEN_CENTRAL
from rackwise.core.errors import ConnectorMissing
from rackwise.core.text import escaped
from rackwise.core.tls_faults import tls_fault
from rackwise.pipeline.runtime.java import find_java

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

REPOSITORIES, IVY_SETTINGS, IVY = (
    f"spark.jars.{name}" for name in ("repositories", "ivySettings", "ivy")
)
JAVA_OPTIONS = "spark.driver.extraJavaOptions"
CENTRAL_INSTEAD = "DEFAULT_ARTIFACT_REPOSITORY"
ANSWER_S = 10.0
"""Seconds that a repository has for an answer."""
FETCH_S = 300.0
"""Seconds that Ivy has to fetch the jars, some 10 MB."""
LARGEST_LIST = 2**20
IVY_HOME = ".ivy2.5.2"
"""The folder of Spark's Ivy in the home folder."""
NOT_FOUND = 404
LONGEST_REASON = 300
_MODULE = re.compile(r"(.+?)-\d[^/]*\.jar")
_VERSION = re.compile(rb"<version>\s*([\w.+-]+)\s*</version>")
_PATCH = re.compile(r"(\d+\.\d+)\.(\d+)")
_FAULTS = (r"(Server access error.*)", r"::\s+(\S+;\S+: .*)", r"(.*(?:Exception|FAILED).*)")
"""What Ivy prints, the most telling first."""


@dataclass(frozen=True, slots=True)
class Line:
    """A version of Spark and of its Scala, and the connector that fits it: of Kafka."""

    version: str
    """`4.2.1`"""
    scala: str
    """`2.13`"""

    title: ClassVar[str] = "Spark's Kafka connector"
    group: ClassVar[str] = "org.apache.spark"
    artifact: ClassVar[str] = "spark-sql-kafka-0-10"
    """How the names of its jars begin."""
    hint: ClassVar[str] = (
        "give local jars with --conf spark.jars=FILE,FILE or another repository with "
        "--conf spark.jars.repositories=URL, or read with --connector python"
    )

    @property
    def module(self) -> str:
        """The name of the connector: `spark-sql-kafka-0-10_2.13`."""
        return f"{self.artifact}_{self.scala}"

    @property
    def minor(self) -> str:
        """The line: `4.2`."""
        return ".".join(self.version.split(".")[:2])

    @property
    def wanted(self) -> str:
        """The coordinate, for a message."""
        return f"{self.group}:{self.module}:{self.minor}.x"

    @property
    def lacking(self) -> str:
        """What a repository without a version has not."""
        return f"{self.minor}.x"

    @property
    def guesses(self) -> tuple[str, ...]:
        """The versions to ask for where a repository has no list of them."""
        found = _PATCH.match(self.version)
        patches = range(int(found[2]) if found else 0, -1, -1)
        return tuple(dict.fromkeys([self.version, *(f"{self.minor}.{each}" for each in patches)]))

    @property
    def in_ivy(self) -> tuple[str, ...]:
        """The versions to ask for, in the words of Ivy."""
        return self.version, f"{self.minor}.+"

    def best(self, versions: Iterable[str]) -> str | None:
        """This version if it is there, else the newest one of the same line.

        >>> line = Line("4.2.1", "2.13")
        >>> line.best(["4.1.3", "4.2.0", "4.2.0-preview5"]), line.best(["4.1.3"])
        ('4.2.0', None)
        """
        found = [*versions]
        if self.version in found:
            return self.version
        patches = {int(m[2]) for v in found if (m := _PATCH.fullmatch(v)) and m[1] == self.minor}
        return f"{self.minor}.{max(patches)}" if patches else None


class _NoAnswer(Exception):
    """A repository that cannot be asked."""


def repositories(conf: Mapping[str, str], env: Mapping[str, str]) -> list[str]:
    """Addresses with a slash at the end, in the order in which Spark asks them."""
    more = [each.strip() for each in conf.get(REPOSITORIES, "").split(",")]
    places = [*filter(None, more), env.get(CENTRAL_INSTEAD) or MAVEN_CENTRAL]
    return [place if place.endswith("/") else f"{place}/" for place in places]


def ask(line: Line, places: Sequence[str]) -> tuple[str | None, str]:
    """The version that the repositories have, and else why there is none."""
    versions: list[str] = []
    reasons = []
    for place in places:
        try:
            versions += _versions(line, f"{place}{line.group.replace('.', '/')}/{line.module}/")
        except _NoAnswer as error:
            reasons.append(f"{shown(place)}: {error}")
        else:
            reasons.append(f"{shown(place)} has no {line.lacking}")
        if line.version in versions:
            break
    return line.best(versions), "; ".join(reasons)


def _versions(line: Line, place: str) -> Iterator[str]:
    """The versions in a folder of a repository. Raises `_NoAnswer`."""
    listed = _get(f"{place}maven-metadata.xml")
    if listed is not None:
        yield from (each.decode() for each in _VERSION.findall(listed))
        return
    for version in line.guesses:
        if _get(f"{place}{version}/{line.module}-{version}.pom") is not None:
            yield version
            return


def _get(address: str) -> bytes | None:
    """The content at an address; None if there is nothing. Raises `_NoAnswer`."""
    end = time.monotonic() + ANSWER_S
    content = b""
    try:
        with urllib.request.urlopen(address, timeout=ANSWER_S) as answer:  # noqa: S310 (the user's)
            while time.monotonic() < end and len(content) <= LARGEST_LIST:
                if not (chunk := answer.read1(2**16)):
                    return content
                content += chunk
        reason = "the list of versions is too long or too slow"
    except HTTPError as error:
        error.close()
        if error.code == NOT_FOUND:
            return None
        reason = f"answers {error.code}"
    except (OSError, HTTPException, ValueError) as error:
        cause = getattr(error, "reason", error)
        if isinstance(cause, FileNotFoundError):
            return None
        reason = "the address or the answer is not valid"
        if (fault := tls_fault(error)) is not None:
            reason = fault.text
        elif isinstance(cause, TimeoutError):
            reason = f"no answer in {ANSWER_S:.0f} s"
        elif isinstance(cause, OSError):
            reason = cause.strerror or type(cause).__name__
    raise _NoAnswer(escaped(reason))


def shown(place: str) -> str:
    """An address without a user and password."""
    parts = urlsplit(place)
    return escaped(parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl())


@dataclass(frozen=True, slots=True)
class Ivy:
    """Spark's Ivy, started as a program of its own."""

    line: Line
    home: Path
    jars: Sequence[str]
    """Names of the jars that Spark has."""
    conf: Mapping[str, str]
    env: Mapping[str, str]

    def fetch(self) -> list[str]:
        """The paths of the connector and of what it needs. Raises `ConnectorMissing`."""
        places = repositories(self.conf, self.env)
        if settings := self.conf.get(IVY_SETTINGS):
            versions, reason = [*self.line.in_ivy], ""
            asked = f"the repositories of {escaped(settings)}"
        else:
            version, reason = ask(self.line, places)
            versions = [] if version is None else [version]
            asked = ", ".join(map(shown, places))
        for version in versions or self._cached():
            found, reason = self._resolved(version, places)
            if found:
                return found
        raise ConnectorMissing(
            f"expected {self.line.title} {self.line.wanted} from {asked}, got none: {reason}",
            wanted=self.line.wanted,
            had=reason,
            hint=self.line.hint,
        )

    @property
    def _folder(self) -> Path:
        return Path(self.conf.get(IVY) or Path(self.env.get("HOME") or Path.home(), IVY_HOME))

    def _cached(self) -> list[str]:
        """The best version in the cache, if there is one."""
        files = (self._folder / "cache" / self.line.group / self.line.module).glob("ivy-*.xml")
        best = self.line.best(path.stem.removeprefix("ivy-") for path in files)
        return [] if best is None else [best]

    def _resolved(self, version: str, places: Sequence[str]) -> tuple[list[str], str]:
        """The paths of the jars, or none and the reason."""
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            settings = self.conf.get(IVY_SETTINGS)
            if not settings:
                settings = str(folder / "settings.xml")
                Path(settings).write_text(self._settings(places), encoding="utf-8")
            asked, paths = folder / "ivy.xml", folder / "paths"
            asked.write_text(self._module(version), encoding="utf-8")
            ivy = next(map(str, (self.home / "jars").glob("ivy-*.jar")), "ivy.jar")
            command = [str(find_java(self.env).executable), *self._java_options(), "-jar", ivy]
            command += ["-settings", settings, "-cache", str(self._folder / "cache")]
            command += ["-ivy", str(asked), "-types", "jar", "bundle", "-cachepath", str(paths)]
            try:
                done = subprocess.run(  # noqa: S603 (the user's own Java)
                    [*command, "-warn"],
                    check=False,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.STDOUT,
                    timeout=FETCH_S,
                    encoding="utf-8",
                    errors="replace",
                )
            except subprocess.TimeoutExpired:
                return [], f"not complete after {FETCH_S:.0f} s"
            if done.returncode == 0 and paths.is_file():
                return [*filter(None, paths.read_text().strip().split(os.pathsep))], ""
        faults = (re.search(fault, done.stdout) for fault in _FAULTS)
        first = next((found[1] for found in faults if found), f"exit {done.returncode}")
        return [], escaped(first.strip()[:LONGEST_REASON])

    def _java_options(self) -> list[str]:
        """The proxies of the environment, and the properties of the conf."""
        options = ["-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        for scheme, proxy in urllib.request.getproxies().items():
            parts = urlsplit(proxy)
            if scheme in {"http", "https"} and parts.hostname:
                options.append(f"-D{scheme}.proxyHost={parts.hostname}")
                options.append(f"-D{scheme}.proxyPort={parts.port or 80}")
        given = shlex.split(self.conf.get(JAVA_OPTIONS, ""))
        return [*options, *(each for each in given if each.startswith("-D"))]

    def _settings(self, places: Sequence[str]) -> str:
        resolvers = "".join(
            f'<ibiblio name="r{number}" m2compatible="true" timeoutConstraint="own" '
            f"root={quoteattr(place)}/>"
            for number, place in enumerate(places)
        )
        limit = f"{ANSWER_S * 1000:.0f}"
        return (
            '<ivysettings><settings defaultResolver="all"/><timeout-constraints>'
            f'<timeout-constraint name="own" connectionTimeout="{limit}" readTimeout="{limit}"/>'
            '</timeout-constraints><resolvers><chain name="all" returnFirst="true">'
            f"{resolvers}</chain></resolvers></ivysettings>"
        )

    def _module(self, version: str) -> str:
        """The connector and what it needs, without what Spark has."""
        own = sorted({found[1] for jar in self.jars if (found := _MODULE.fullmatch(jar))})
        left_out = "".join(f"<exclude module={quoteattr(name)}/>" for name in own)
        return (
            '<ivy-module version="2.0"><info organisation="rackwise" module="connector"/>'
            '<configurations><conf name="default"/></configurations><dependencies>'
            f"<dependency org={quoteattr(self.line.group)} name={quoteattr(self.line.module)} "
            f'rev={quoteattr(version)} conf="default-&gt;default(runtime)"/>'
            f"{left_out}</dependencies></ivy-module>"
        )
