"""One command runs the tests of one capability."""

import pytest

from only import CAPABILITIES, ROOT, main, paths_of


@pytest.mark.parametrize("capability", CAPABILITIES)
def test_every_capability_names_tests_that_exist(capability):
    assert all((ROOT / path).exists() for path in paths_of(capability))


def test_every_folder_of_tests_belongs_to_a_capability():
    named = {path for capability in CAPABILITIES for path in paths_of(capability)}
    tests = [
        file.relative_to(ROOT).as_posix()
        for folder in ("core", "adapters", "cli", "pipeline", "report")
        for file in (ROOT / "tests" / folder).glob("*/**/test_*.py")
    ]
    left = [test for test in tests if not any(test == p or test.startswith(f"{p}/") for p in named)]
    shared = ("tests/core/json", "tests/adapters/")
    lost = [test for test in left if not test.startswith(shared)]
    assert lost == [], "add the folder to a capability in CAPABILITIES of tests/only.py"


def test_an_unknown_capability_is_one_line_and_an_error(capsys):
    assert main(["nonsense"]) == 1
    assert "one of: placement, planning" in capsys.readouterr().err
