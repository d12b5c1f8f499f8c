"""Upstream Java as the judge: one long-lived JVM for each Kafka line, one JSON line per case.

`java/Oracle.java` serves all lines; `java/<line>/` holds the operations of that line.

First line out: `{"oracle":1,"java":..}`; then `{"id","op","in"}` -> `{"id","out"}` or
`{"id","error":{"class","message"}}`. Upstream's own output goes to a log file.
"""

from __future__ import annotations

import json
import os
import select
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Self

from rackwise.core.errors import InvalidConfig
from rackwise.core.json import strict as strict_json

if TYPE_CHECKING:
    from collections.abc import Iterator

SOURCES = Path(__file__).parent / "java"
ECJ = "org.eclipse.jdt.internal.compiler.batch.Main"
CASE_S = 10.0
COMPILE_S = 60.0


class OracleError(Exception):
    """Upstream threw: `cls` is its exception class, `message` its text."""

    def __init__(self, cls: str, message: str | None) -> None:
        super().__init__(f"{cls}: {message}")
        self.cls = cls
        self.message = message


class Oracle:
    """A context manager around the JVM of one line; `folder` takes classes and log.

    `jars` are upstream's; `heap` is the most memory that the JVM takes, in Java's notation.
    """

    def __init__(
        self, java_home: Path, jars: list[Path], folder: Path, *, line: str, heap: str = "256m"
    ) -> None:
        self._java = java_home / "bin" / "java"
        self._javac = java_home / "bin" / "javac"
        self._jars = jars
        self._folder = folder
        self._line = line
        self._heap = heap
        self._asked = 0

    def __enter__(self) -> Self:
        self._compile()
        path = os.pathsep.join([str(self._folder / "classes"), *map(str, self._jars)])
        self._log = (self._folder / "oracle.log").open("w")
        self._jvm = subprocess.Popen(
            [self._java, f"-Xmx{self._heap}", "-XX:+UseSerialGC", "-cp", path, "Oracle"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            bufsize=0,
        )
        self.about = self._read()
        return self

    def __exit__(self, *_error: object) -> None:
        self._jvm.stdin.close()
        try:
            self._jvm.wait(CASE_S)
        except subprocess.TimeoutExpired:
            self._jvm.kill()
            self._jvm.wait()
        self._jvm.stdout.close()
        self._log.close()

    def ask(self, op: str, case: dict, *, within_s: float = CASE_S) -> dict:
        """Upstream's answer to one case. Raises `OracleError` with upstream's class and message."""
        self._asked += 1
        question = {"id": self._asked, "op": op, "in": case}
        self._jvm.stdin.write(json.dumps(question, ensure_ascii=False).encode() + b"\n")
        answer = self._read(within_s)
        if answer["id"] != self._asked:
            raise AssertionError(f"answer {answer['id']} to question {self._asked}")
        if "error" in answer:
            raise OracleError(answer["error"]["class"], answer["error"]["message"])
        return answer["out"]

    def _read(self, within_s: float = CASE_S) -> dict:
        line = b""
        while not line.endswith(b"\n"):
            ready, _, _ = select.select([self._jvm.stdout], [], [], within_s)
            part = os.read(self._jvm.stdout.fileno(), 65536) if ready else b""
            if not part:
                self._jvm.kill()
                log = (self._folder / "oracle.log").read_text()[-2000:]
                raise AssertionError(f"no answer to case {self._asked} in {within_s} s\n{log}")
            line += part
        return strict_json.parse(line, where="oracle", error=InvalidConfig)

    def _compile(self) -> None:
        classes = self._folder / "classes"
        classes.mkdir(parents=True, exist_ok=True)
        path = os.pathsep.join(map(str, self._jars))
        sources = [str(SOURCES / "Oracle.java"), *sorted(map(str, self._own_sources()))]
        compiler = (
            [self._javac, "--release", "17"]
            if self._javac.exists()
            else [self._java, "-cp", path, ECJ, "-source", "17", "-target", "17", "-nowarn"]
        )
        subprocess.run(
            [*compiler, "-d", str(classes), "-cp", path, "-sourcepath", str(SOURCES), *sources],
            check=True,
            timeout=COMPILE_S,
            capture_output=True,
        )

    def _own_sources(self) -> Iterator[Path]:
        """The sources of this line; the compiler finds the shared sources that they use."""
        return (SOURCES / self._line).glob("*.java")
