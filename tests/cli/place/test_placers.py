"""`rackwise placers`, and placers that another distribution brings."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from rackwise.adapters.files import write_snapshot
from rackwise.cli.placer_options import create_placer, find_placer
from rackwise.core.errors import InvalidConfig, InvalidPlacer
from rackwise.core.json.strict import parse
from rackwise.core.placement import Kip36, Levels, Ring, Unaware
from refusals import called, check_refused
from small_clusters import small_cluster

DISTRIBUTION = Path(__file__).parents[2] / "placer_distribution"


@pytest.fixture
def snapshot(tmp_path):
    file = tmp_path / "s.json"
    racks = {0: "a", 1: "b", 2: "c", 3: "a"}
    write_snapshot(small_cluster(racks, {}), file)
    return ["--snapshot", file]


@pytest.fixture
def installed(monkeypatch):
    monkeypatch.syspath_prepend(str(DISTRIBUTION))


def install_package(monkeypatch, folder, entries, module="", name="others"):
    """Install a distribution that offers these entry points."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[rackwise.placers]\n{entries}\n")
    (folder / f"{name}_module.py").write_text(module)
    monkeypatch.syspath_prepend(str(folder))


class TestBuiltIn:
    def test_they_are_listed_with_their_options(self):
        code, out, err = called("placers")
        assert (code, err) == (0, "")
        lines = out.splitlines()
        assert [line.split()[0] for line in lines] == [
            "placer",
            "kip36",
            "unaware",
            "striped",
            "ring",
            "levels",
        ]
        assert "start=none shift=none continuation=upstream" in lines[1]
        assert "built in" in lines[5]

    def test_and_as_one_document(self):
        code, out, _ = called("placers", "--json")
        printed = parse(out.encode(), where="stdout", error=InvalidConfig)
        assert (code, printed["format"]) == (0, "rackwise.placers/1")
        assert printed["placers"][-1] == {
            "name": "levels",
            "distribution": None,
            "about": "The default placer: spread at every rack level, then as even as possible",
            "options": {"balance": "brokers"},
        }

    def test_options_become_values_of_their_fields(self):
        assert create_placer("kip36", {"start": "3", "shift": "none"}) == Kip36(start=3, shift=None)
        assert create_placer("unaware", {"start": "3", "shift": "1"}) == Unaware(start=3, shift=1)
        assert create_placer("levels", {"balance": "racks"}) == Levels(balance="racks")
        assert create_placer("ring", {"start": "none", "skip": "root"}) == Ring(
            start=None, skip="root"
        )

    @pytest.mark.parametrize(
        ("name", "options", "message", "hint"),
        [
            (
                "other",
                {},
                (
                    "invalid --placer: expected one of kip36, unaware, striped, ring, levels,"
                    ' got "other"'
                ),
                ("run rackwise placers to list them, or install the package that offers it"),
            ),
            (
                "kip36",
                {"begin": "1"},
                (
                    'invalid option of placer "kip36": expected one of start, shift, '
                    "continuation, got begin"
                ),
                "run rackwise placers to list the options of each placer",
            ),
            (
                "striped",
                {"a": "1"},
                'invalid option of placer "striped": expected none, got a',
                "run rackwise placers to list the options of each placer",
            ),
            (
                "kip36",
                {"start": "x"},
                'invalid start: expected a number or none, got "x"',
                "run rackwise placers to list the options with their defaults",
            ),
            (
                "kip36",
                {"start": "-1"},
                "invalid start: expected an integer >= 0, got -1",
                "0 is the first broker of the ring",
            ),
            (
                "unaware",
                {"start": "1", "shift": "-2"},
                "invalid shift: expected an integer >= 0, got -2",
                "0 is the first broker of the ring",
            ),
            (
                "kip36",
                {"continuation": "other"},
                'invalid continuation: expected one of upstream, aligned, got "other"',
                (
                    "use upstream to add partitions as Kafka does, aligned to place them as if all "
                    "were created at once"
                ),
            ),
            (
                "ring",
                {"start": "-1"},
                "invalid start: expected an integer >= 0, got -1",
                "0 is the first child of each node",
            ),
            (
                "ring",
                {"skip": "all"},
                "invalid skip: expected one of subtree, root, none, got all",
                "use subtree: it repeats no broker and spreads each level as far as possible",
            ),
            (
                "levels",
                {"balance": "even"},
                "invalid balance: expected brokers or racks, got even",
                "use brokers for even brokers, racks for even racks",
            ),
        ],
    )
    def test_what_is_not_there_is_refused_with_what_is(
        self, snapshot, name, options, message, hint
    ):
        given = [word for pair in options.items() for word in ("--placer-option", "=".join(pair))]
        size = ["--partitions", 1, "--replication-factor", 1]
        check_refused(["place", *snapshot, *size, "--placer", name, *given], message, hint)


@pytest.mark.usefixtures("installed")
class TestAnotherDistribution:
    def test_its_placers_are_found_by_their_entry_points(self):
        assert find_placer("nearest").distribution == "example-placers"
        code, out, _ = called("placers")
        assert code == 0
        (line,) = (each for each in out.splitlines() if each.startswith("nearest"))
        assert " ".join(line.split()) == (
            "nearest example-placers start=0 Each partition on consecutive brokers, from `start` on"
        )

    def test_they_place_like_any_other(self, snapshot):
        size = ["--partitions", 3, "--replication-factor", 2, "--placer", "nearest"]
        code, out, _ = called("place", *snapshot, *size, "--placer-option", "start=1", "--seed", 1)
        assert (code, out) == (0, "1:2,2:3,3:0\n")

    @pytest.mark.parametrize(
        ("placer", "message"),
        [
            ("stuck", 'placer "stuck" put partition 0 twice on one broker: 0:0:0'),
            ("wide", 'invalid rows of placer "wide": expected int32 [6, 3], got float64 [6, 3]'),
            ("broken", 'placer "broken" raised ZeroDivisionError: 6 by zero'),
        ],
    )
    def test_what_they_do_wrong_is_refused(self, snapshot, placer, message):
        size = ["--partitions", 6, "--replication-factor", 3, "--seed", 1]
        check_refused(
            ["place", *snapshot, *size, "--placer", placer],
            message,
            "fix the placer, or use a built-in one such as levels",
        )

    def test_another_process_finds_them_as_well(self, snapshot):
        size = ["--partitions", "2", "--replication-factor", "1", "--placer", "nearest"]
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", "place", *map(str, snapshot), *size],
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(DISTRIBUTION), *sys.path])},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout) == (0, "0,1\n")


class TestDistributionsThatAreWrong:
    def test_the_name_of_a_built_in_placer_is_refused(self, monkeypatch, tmp_path, snapshot):
        install_package(monkeypatch, tmp_path / "site", "levels = others_module:Levels")
        check_refused(
            ["place", *snapshot, "--partitions", 1, "--replication-factor", 1],
            'expected one placer named "levels", got 2: built in and offered by others',
            "uninstall others, or have it give its placer another name",
        )
        check_refused(
            ["placers"],
            'expected one placer named "levels", got 2: built in and offered by others',
            "uninstall others, or have it give its placer another name",
        )

    def test_a_name_that_two_offer_is_refused(self, monkeypatch, tmp_path):
        install_package(monkeypatch, tmp_path / "x", "mine = x_module:A", name="x")
        install_package(monkeypatch, tmp_path / "y", "mine = y_module:A", name="y")
        with pytest.raises(InvalidPlacer, match=r"offered by [xy] and offered by [xy]"):
            find_placer("mine")

    @pytest.mark.parametrize(
        ("module", "message"),
        [
            (
                "import none_such",
                (
                    'placer "mine" of others cannot be loaded: ModuleNotFoundError: '
                    "No module named 'none_such'"
                ),
            ),
            (
                "class B: pass",
                (
                    'placer "mine" of others cannot be loaded: AttributeError: '
                    "module 'others_module' has no attribute 'A'"
                ),
            ),
            (
                "A = 1",
                'placer "mine" of others must be a class; others_module:A is of type int',
            ),
            (
                "class A:\n def __init__(self): raise KeyError('no')",
                "placer \"mine\" cannot be created: KeyError: 'no'",
            ),
        ],
    )
    def test_what_cannot_be_loaded_or_made_is_told(self, monkeypatch, tmp_path, module, message):
        monkeypatch.delitem(sys.modules, "others_module", raising=False)
        install_package(monkeypatch, tmp_path, "mine = others_module:A", module)
        with pytest.raises(InvalidPlacer) as caught:
            create_placer("mine", {})
        assert caught.value.message == message

    def test_a_class_that_is_no_placer_is_refused(self, monkeypatch, tmp_path, snapshot):
        monkeypatch.delitem(sys.modules, "others_module", raising=False)
        install_package(
            monkeypatch, tmp_path / "site", "mine = others_module:A", "class A: name = 'a'"
        )
        code, out, err = called(
            "place", *snapshot, "--partitions", 1, "--replication-factor", 1, "--placer", "mine"
        )
        assert (code, out) == (1, "")
        assert err.startswith(
            "error: invalid placer: expected an object with a name and a method place, got "
        )
