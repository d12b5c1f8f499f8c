"""The repository names the project only, and every dependency is pinned by hash."""

import re
import subprocess
from pathlib import Path

import pytest

from rackwise.core import errors

ROOT = Path(__file__).parents[2]
FILES = [
    ROOT / name
    for name in subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.splitlines()
    if (ROOT / name).is_file()
]
TEXTS = [file for file in FILES if file.suffix not in {".gz", ".parquet", ".png"}]
HOME_OF_A_MACHINE = re.compile(r"(?<![\w./-])/(?:work|root|home|Users|farm)/\w")
INDEX = re.compile(r"pypi\.org|files\.pythonhosted|index-url|artifactory|nexus|find-links")
SECRET = re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY|AKIA[0-9A-Z]{16}|ghp_[A-Za-z0-9]{36}")
THIS = Path(__file__).resolve()


@pytest.mark.parametrize(
    "pattern", [HOME_OF_A_MACHINE, INDEX, SECRET], ids=["path", "index", "secret"]
)
def test_no_file_holds_a_machine_path_an_index_address_or_a_secret(pattern):
    found = {
        f"{file.relative_to(ROOT)}: {match.group()}"
        for file in TEXTS
        if file != THIS and (match := pattern.search(file.read_text(errors="replace")))
    }
    assert (
        found - {"requirements/locks.py: index-url", "requirements/locks.py: find-links"} == set()
    )


@pytest.mark.parametrize(
    "lock", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda f: f.stem
)
def test_every_locked_package_has_hashes(lock):
    packages = re.split(r"\n(?=\w)", lock.read_text())[1:]
    assert packages
    assert [p.splitlines()[0] for p in packages if "--hash=sha256:" not in p] == []


def test_ci_runs_the_verbs_of_the_readme():
    commands = (ROOT / ".ci" / "run").read_text().splitlines()
    assert commands[0].startswith("#!")
    assert commands[1] == "set -eu"
    assert [line for line in commands if "make " in line] == ["make check", "make test"]
    assert "make test" in (ROOT / "README.md").read_text()


def leaves(root: type) -> list[type]:
    below = root.__subclasses__()
    return [leaf for child in below for leaf in leaves(child)] or [root]


LEAVES = sorted({leaf.__name__ for leaf in leaves(errors.RackwiseError)})


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_error_leaf_is_met_by_a_test(leaf):
    tests = [
        file for file in FILES if "tests" in file.parts and file.suffix == ".py" and file != THIS
    ]
    assert any(re.search(rf"\b{leaf}\b", file.read_text()) for file in tests)


@pytest.mark.parametrize("leaf", LEAVES)
def test_every_error_leaf_is_in_the_drawn_tree(leaf):
    assert leaf in (errors.__doc__ or "")
