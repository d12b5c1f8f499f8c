"""The download of jars from a Maven repository: parallel, limited in size, complete or absent."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import tempfile
import threading
import urllib.parse
import urllib.request
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING

from rackwise.core.constants import MAVEN_CENTRAL
from rackwise.core.errors import InvalidConfig, JarMissing
from rackwise.core.tls_faults import TlsHints, tls_fault

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from rackwise.adapters.sandbox.lock import Jar, JarLocations

THREADS = 4
TRIES = 2
ANSWER_S = 20.0
MVN_S = 60.0
CHUNK = 1 << 16
HASH_SHOWN = 16
NOT_ATTEMPTED = "an earlier jar failed"
_ADDRESS_HINT = "set RACKWISE_MAVEN_URL to a Maven repository that this machine can reach"
_TLS_HINTS = TlsHints(
    address="RACKWISE_MAVEN_URL",
    authority="set SSL_CERT_FILE to a PEM file with the authorities that you trust",
    own=_ADDRESS_HINT,
)


@dataclass(frozen=True, slots=True)
class FetchFailure:
    """The reason why a repository did not deliver a jar."""

    reason: str
    hint: str = _ADDRESS_HINT


def fetch(
    jars: Sequence[Jar],
    *,
    places: JarLocations,
    environment: Mapping[str, str],
    advance: Callable[[int], None],
) -> dict[str, Path]:
    """Coordinate -> path in the cache, or in Maven's own folder, for every requested jar.

    Raises `JarMissing` for the first jar that cannot be fetched, `InvalidConfig` for an invalid
    address.
    """
    repository = repository_of(environment)
    _make(places.cache)
    found: dict[str, Path] = {}
    reasons: dict[str, FetchFailure] = {}
    for jar, outcome in _download_all(jars, repository, places.cache):
        if isinstance(outcome, Path):
            found[jar.coordinate] = outcome
            advance(jar.size)
        else:
            reasons[jar.coordinate] = outcome
    left = {name for name, failure in reasons.items() if failure.reason == NOT_ATTEMPTED}
    tried_first = sorted(jars, key=lambda jar: jar.coordinate in left)
    for jar in tried_first:
        if jar.coordinate not in found:
            path = _fetch_with_maven(jar, places, environment)
            if path is None:
                raise _cannot_fetch(jar, reasons[jar.coordinate], repository, places)
            found[jar.coordinate] = path
            advance(jar.size)
    return found


def _make(cache: Path) -> None:
    try:
        cache.mkdir(parents=True, exist_ok=True)
        tempfile.TemporaryFile(dir=cache).close()
    except OSError as error:
        raise InvalidConfig(
            f"cannot write the jar cache {cache}: {error.strerror}",
            wanted="a folder that can be written",
            had=str(cache),
            hint="set RACKWISE_CACHE to a folder that you can write",
        ) from error


def repository_of(environment: Mapping[str, str]) -> str:
    """RACKWISE_MAVEN_URL or Maven Central, without a trailing slash. Raises `InvalidConfig`."""
    address = environment.get("RACKWISE_MAVEN_URL") or MAVEN_CENTRAL
    parts = urllib.parse.urlsplit(address)
    if parts.scheme not in {"https", "http"} or not parts.hostname or "@" in parts.netloc:
        raise InvalidConfig(
            "invalid RACKWISE_MAVEN_URL: expected https://HOST/PATH without user name and password",
            hint="for a repository with a password, unset RACKWISE_MAVEN_URL and configure the "
            "repository in ~/.m2/settings.xml",
        )
    return address.rstrip("/")


def _download_all(
    jars: Sequence[Jar], repository: str, cache: Path
) -> Iterator[tuple[Jar, Path | FetchFailure]]:
    """Each jar with its path or the reason; after the first failure no other jar is tried."""
    is_over = threading.Event()

    def work(jar: Jar) -> Path | FetchFailure:
        reason = FetchFailure(NOT_ATTEMPTED)
        for _ in range(TRIES):
            if is_over.is_set():
                return reason
            try:
                return _download(jar, repository, cache)
            except (OSError, HTTPException) as error:
                reason = _failure(error)
        is_over.set()
        return reason

    with ThreadPoolExecutor(THREADS, thread_name_prefix="jars") as threads:
        try:
            tasks = {threads.submit(work, jar): jar for jar in jars}
            for task in as_completed(tasks):
                yield tasks[task], task.result()
        finally:
            is_over.set()


def _failure(error: OSError | HTTPException) -> FetchFailure:
    fault = tls_fault(error)
    reason = str(error) or type(error).__name__
    return FetchFailure(
        reason if fault is None else fault.text, _TLS_HINTS.of(error, otherwise=_ADDRESS_HINT)
    )


def _download(jar: Jar, repository: str, cache: Path) -> Path:
    """Write one jar into the cache: to a temporary file, hashed on the way, then renamed.

    Reads at most one byte past the locked size. Raises `JarMissing` for a file that differs from
    the locked one, `OSError` and `HTTPException` for a failed transfer.
    """
    had = hashlib.sha512()
    size = 0
    handle, aside = tempfile.mkstemp(prefix=".", suffix=".part", dir=cache)
    try:
        with (
            os.fdopen(handle, "wb") as file,
            urllib.request.urlopen(f"{repository}/{jar.path}", timeout=ANSWER_S) as answer,  # noqa: S310 (repository_of lets only http and https pass)
        ):
            while chunk := answer.read(min(CHUNK, jar.size + 1 - size)):
                had.update(chunk)
                size += len(chunk)
                file.write(chunk)
            file.flush()
            os.fsync(file.fileno())
        if size != jar.size or had.hexdigest() != jar.sha512:
            raise _wrong_jar(jar, repository, size, had.hexdigest())
        target = cache / jar.file_name
        return Path(aside).replace(target)
    finally:
        Path(aside).unlink(missing_ok=True)


def _wrong_jar(jar: Jar, repository: str, size: int, sha512: str) -> JarMissing:
    at_least = "more than " if size > jar.size else ""
    shown = at_least + str(min(size, jar.size))
    return JarMissing(
        f"invalid jar {jar.coordinate}: expected {jar.size} bytes with SHA-512 "
        f"{jar.sha512[:HASH_SHOWN]}..., got {shown} bytes with {sha512[:HASH_SHOWN]}... from "
        f"{_host(repository)}",
        wanted=jar.sha512,
        had=sha512,
        hint="the repository has another file under this name: set RACKWISE_MAVEN_URL to a "
        "repository that you trust",
    )


def _cannot_fetch(
    jar: Jar, failure: FetchFailure, repository: str, places: JarLocations
) -> JarMissing:
    return JarMissing(
        f"cannot fetch jar {jar.coordinate} from {_host(repository)}: {failure.reason}",
        wanted=jar.sha512,
        had=None,
        hint=f"{failure.hint}, or copy {jar.file_name} to {places.cache} (RACKWISE_CACHE sets "
        "another folder)",
    )


def _fetch_with_maven(
    jar: Jar, places: JarLocations, environment: Mapping[str, str]
) -> Path | None:
    """Let an installed Maven fetch a jar into its own folder; None where that fails."""
    mvn = shutil.which("mvn", path=environment.get("PATH", os.defpath))
    if mvn is None:
        return None
    ask = [mvn, "-q", "-B", "dependency:get", f"-Dartifact={jar.coordinate}", "-Dtransitive=false"]
    try:
        subprocess.run(  # noqa: S603 (a fixed program, coordinates of the lock)
            ask,
            check=True,
            capture_output=True,
            timeout=MVN_S,
            stdin=subprocess.DEVNULL,
            env=dict(environment),
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return places.find(jar)


def _host(repository: str) -> str:
    return urllib.parse.urlsplit(repository).netloc
