"""What we use from others: none with a known hole, each licence kept, all of it listed."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from fnmatch import fnmatchcase

import pytest

from rackwise.core.errors import InputError
from rackwise.core.json.strict import parse
from shown_commands import ROOT

FIRST_FIXED = {
    "org.apache.zookeeper:zookeeper": ("3.8.6", "CVE-2026-24281"),
    "io.netty:netty-*": ("4.1.118.Final", "CVE-2025-24970"),
    "org.apache.logging.log4j:log4j-core": ("2.17.1", "CVE-2021-44832"),
    "commons-io:commons-io": ("2.14.0", "CVE-2024-47554"),
    "org.bitbucket.b_c:jose4j": ("0.9.6", "CVE-2024-29371"),
    "cryptography": ("44.0.1", "CVE-2024-12797"),
    "jinja2": ("3.1.6", "CVE-2025-27516"),
    "requests": ("2.32.4", "CVE-2024-47081"),
    "urllib3": ("2.6.0", "CVE-2025-66418"),
}
"""Part -> the first version without a known hole, and the hole."""


def numbers(version):
    return [int(each) for each in re.findall(r"\d+", version)]


def parts():
    """Name and version of every locked jar and Python package."""
    lock = ROOT / "src" / "rackwise" / "adapters" / "sandbox" / "jars.toml"
    for row in tomllib.loads(lock.read_text())["jars"]:
        name, _, version = row["jar"].rpartition(":")
        yield name, version
    text = (ROOT / "requirements" / "dev.txt").read_text()
    yield from re.findall(r"^([A-Za-z0-9._-]+)==([^ ;\\]+)", text, re.MULTILINE)


@pytest.mark.parametrize("pattern", FIRST_FIXED)
def test_no_part_has_a_hole_that_we_know(pattern):
    first, hole = FIRST_FIXED[pattern]
    found = [(name, version) for name, version in parts() if fnmatchcase(name, pattern)]
    old = [each for each in found if numbers(each[1]) < numbers(first)]
    assert found
    assert old == [], hole


@pytest.fixture(scope="module")
def bill(tmp_path_factory):
    out = tmp_path_factory.mktemp("sbom") / "sbom.json"
    subprocess.run([sys.executable, ROOT / "requirements" / "sbom.py", out], check=True)
    return parse(out.read_bytes(), where=out.name, error=InputError)


def test_the_bill_of_materials_lists_every_part(bill):
    listed = {
        (":".join(filter(None, [each.get("group"), each["name"]])), each["version"])
        for each in bill["components"]
    }
    assert listed == set(parts())
    refs = [each["bom-ref"] for each in bill["components"]]
    assert len(set(refs)) == len(refs)


def test_every_installed_package_states_a_licence(bill):
    names = {"colorama"}  # for Windows alone
    python = [each for each in bill["components"] if each["purl"].startswith("pkg:pypi/")]
    assert {each["name"] for each in python if "licenses" not in each} <= names
