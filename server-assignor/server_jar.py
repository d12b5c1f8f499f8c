"""Builds the jar of the server-side assignors: `python server-assignor/server_jar.py [FOLDER]`.

Goals: the same bytes from the same sources; no tool but Java.

The locked Eclipse compiler compiles, also where a JDK is installed, because compilers differ. The
jar stores its entries sorted, without compression, with one fixed time. Its SHA-512 stands beside
it, in the form that `sha512sum --check` reads.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path

from rackwise.adapters.sandbox.jars import resolve
from rackwise.pipeline.runtime.java import find_java

ROOT = Path(__file__).parent
FOLDER = ROOT.parent / "build" / "server-assignor"
VERSION = tomllib.loads((ROOT.parent / "pyproject.toml").read_text())["project"]["version"]
JARS = "server-assignor"
COMPILER = "org.eclipse.jdt.internal.compiler.batch.Main"
OPTIONS = ("-source", "17", "-target", "17", "-g:lines,source", "-encoding", "UTF-8")
WARNINGS = ("-warn:+unused,uselessTypeCheck,unnecessaryElse", "-failOnWarning")
COMPILE_S = 120.0
FIXED_TIME = (1980, 1, 1, 0, 0, 0)
UNIX = 3
"""What an entry says of the system that wrote it, on every system."""
MANIFEST = (
    "Manifest-Version: 1.0\r\n"
    "Automatic-Module-Name: io.rackwise.assignor\r\n"
    "Implementation-Title: rackwise-server-assignor\r\n"
    f"Implementation-Version: {VERSION}\r\n\r\n"
)


def build(folder: Path = FOLDER) -> Path:
    """Write the jar and its checksum into the folder; return the path of the jar.

    Raises `MissingDependency` without Java, `JarMissing`, and `CalledProcessError` with the
    compiler's messages in `stdout` and `stderr`.
    """
    folder.mkdir(parents=True, exist_ok=True)
    jar = folder / f"rackwise-server-assignor-{VERSION}.jar"
    with tempfile.TemporaryDirectory() as classes:
        compile_into(Path(classes))
        pack(Path(classes), jar)
    checksum = hashlib.sha512(jar.read_bytes()).hexdigest()
    jar.with_name(f"{jar.name}.sha512").write_text(f"{checksum}  {jar.name}\n")
    return jar


def compile_into(classes: Path) -> None:
    """Compile all sources with the locked compiler, against Kafka's public interface alone."""
    jars = os.pathsep.join(map(str, resolve(JARS)))
    sources = sorted(map(str, (ROOT / "src").rglob("*.java")))
    java = find_java(os.environ).home / "bin" / "java"
    words = [java, "-cp", jars, COMPILER, *OPTIONS, *WARNINGS, "-cp", jars, "-d", classes]
    subprocess.run([*words, *sources], check=True, timeout=COMPILE_S, capture_output=True)


def pack(classes: Path, jar: Path) -> None:
    """Write a jar whose bytes depend on the classes alone."""
    entries = {"META-INF/MANIFEST.MF": MANIFEST.encode()}
    for file in sorted(classes.rglob("*.class")):
        entries[file.relative_to(classes).as_posix()] = file.read_bytes()
    with zipfile.ZipFile(jar, "w", zipfile.ZIP_STORED) as archive:
        for name, content in entries.items():
            entry = zipfile.ZipInfo(name, FIXED_TIME)
            entry.create_system = UNIX
            entry.external_attr = 0o644 << 16
            archive.writestr(entry, content)


if __name__ == "__main__":
    try:
        print(build(*map(Path, sys.argv[1:])))
    except subprocess.CalledProcessError as error:
        sys.exit(f"{(error.stdout + error.stderr).decode()}\n{error}")
