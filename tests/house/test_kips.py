"""Every sentence of the three KIPs names code, tests and, if need be, a document that exist."""

import ast
import re
import runpy
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = runpy.run_path(str(ROOT / "docs" / "reference" / "kips" / "page.py"))
KIPS = PAGE["read_kips"]()
ROWS = [
    pytest.param(row, id=f"KIP-{kip.number} {row.says}") for kip in KIPS for row in kip.sentences
]
CLASSES = (ast.ClassDef,)
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
REASON = "a different row, and no other, has a reason and the document that states it"
LACKS = "a partial or missing row, and no other, names what is missing"


@cache
def tree_of(path):
    return ast.parse((ROOT / path).read_text(encoding="utf-8"))


@cache
def sections_of(path):
    """The anchors of the headings of a page."""
    heads = re.findall(r"^#+ (.+)$", (ROOT / path).read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", head.lower()).replace(" ", "-") for head in heads}


def names_of(node):
    """The names that a statement defines."""
    if isinstance(node, (*CLASSES, *FUNCTIONS)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {each.id for each in targets if isinstance(each, ast.Name)}


def found(path, *names):
    """The statement that a dotted name stands for, or None."""
    node = tree_of(path)
    for name in names:
        body = getattr(node, "body", [])
        node = next((each for each in body if name in names_of(each)), None)
    return node


def is_test(node):
    """Whether pytest collects a test here."""
    if isinstance(node, CLASSES):
        return node.name.startswith("Test") and any(map(is_test, node.body))
    return isinstance(node, FUNCTIONS) and node.name.startswith("test_")


def problems(row):
    """What is wrong with a row."""
    yield from problems_of_code(row)
    yield from problems_of_tests(row)
    yield from problems_of_verdict(row)


def problems_of_code(row):
    path, _, symbol = row.code.partition("::")
    if not (ROOT / "src" / "rackwise" / path).is_file():
        yield f"no file {path}"
    elif found(f"src/rackwise/{path}", *symbol.split(".")) is None:
        yield f'no "{symbol}" in {path}'


def problems_of_tests(row):
    if not row.tests:
        yield "no test"
    for test in row.tests:
        path, *names = test.split("::")
        is_there = path.startswith("tests/") and (ROOT / path).is_file()
        if not is_there or not names or not is_test(found(path, *names)):
            yield f"no test {test}"


def problems_of_verdict(row):
    if row.verdict not in PAGE["VERDICTS"]:
        yield f"no verdict {row.verdict}"
    if (row.verdict == "different") != bool(row.because and row.stated):
        yield REASON
    if (row.verdict in {"partial", "missing"}) != bool(row.lacks):
        yield LACKS
    path, _, section = row.stated.partition("#")
    if path and not (ROOT / path).is_file():
        yield f"no document {path}"
    elif path and section not in sections_of(path):
        yield f'no section "{section}" in {path}'


@pytest.mark.parametrize("row", ROWS)
def test_code_tests_and_document_of_a_row_exist(row):
    assert list(problems(row)) == []


def test_no_sentence_appears_twice():
    said = [(kip.number, row.says) for kip in KIPS for row in kip.sentences]
    assert sorted(set(said)) == sorted(said)


WHOLE = PAGE["Sentence"](
    says="Brokers have racks.",
    code="core/racks.py::Rack.levels",
    tests=["tests/core/test_racks.py::TestLevels"],
    verdict="whole",
)
DIFFERENT = WHOLE._replace(
    verdict="different", because="Some have none.", stated="docs/concepts/racks.md#racks-and-levels"
)
BROKEN = [
    (WHOLE._replace(tests=[]), "no test"),
    (WHOLE._replace(code="core/rack.py::Rack"), "no file core/rack.py"),
    (WHOLE._replace(code="core/racks.py::Rack.depth"), 'no "Rack.depth" in core/racks.py'),
    (WHOLE._replace(code="core/racks.py"), 'no "" in core/racks.py'),
    *(
        (WHOLE._replace(tests=[test]), f"no test {test}")
        for test in (
            "tests/core/test_racks.py",
            "tests/core/test_rack.py::TestLevels",
            "tests/core/test_racks.py::TestLevel",
            "tests/core/test_racks.py::TestLevels::test_nothing",
            "tests/placements.py::racked",
            "src/rackwise/core/racks.py::Rack",
        )
    ),
    (WHOLE._replace(verdict="good"), "no verdict good"),
    (WHOLE._replace(verdict="different"), REASON),
    (WHOLE._replace(because="So.", stated=DIFFERENT.stated), REASON),
    (WHOLE._replace(verdict="partial"), LACKS),
    (WHOLE._replace(lacks="All."), LACKS),
    (DIFFERENT._replace(stated="docs/none.md#racks"), "no document docs/none.md"),
    (
        DIFFERENT._replace(stated="docs/concepts/racks.md#none"),
        'no section "none" in docs/concepts/racks.md',
    ),
    (
        DIFFERENT._replace(stated="docs/concepts/racks.md"),
        'no section "" in docs/concepts/racks.md',
    ),
]


@pytest.mark.parametrize("row", [WHOLE, DIFFERENT], ids=["whole", "different"])
def test_a_sound_row_has_no_problem(row):
    assert list(problems(row)) == []


@pytest.mark.parametrize(("row", "problem"), BROKEN, ids=range(len(BROKEN)))
def test_a_problem_would_be_found(row, problem):
    assert list(problems(row)) == [problem]
