"""The wheel: what `pip install rackwise` installs, from where, and that two builds are the same."""

import re
import shutil
import tomllib
import zipfile
from email.parser import Parser

import pytest

from house.test_repository import TEXTS
from shown_commands import ROOT, blocks_of
from wheels import built

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
EXTRAS = PROJECT["optional-dependencies"]
GUIDE = ROOT / "docs" / "guides" / "install.md"
NAMED = re.compile(r"rackwise\[([a-z,-]+)\]")
MEETS_LATER = {ROOT / "CHANGELOG.md"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    return built(tmp_path_factory.mktemp("wheel"))


def name_of(requirement):
    return re.match(r"[\w-]+", requirement)[0]


class TestWheel:
    def test_pip_installs_what_the_commands_on_files_need_and_no_more(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            (file,) = [each for each in archive.namelist() if each.endswith("/METADATA")]
            metadata = Parser().parsestr(archive.read(file).decode())
        always = [each for each in metadata.get_all("Requires-Dist") if "extra ==" not in each]
        assert [name_of(each) for each in always] == ["numpy", "ortools", "rich", "typer"]
        assert set(metadata.get_all("Provides-Extra")) == set(EXTRAS)

    def test_it_has_the_command_and_each_file_of_the_package(self, wheel):
        with zipfile.ZipFile(wheel) as archive:
            names = set(archive.namelist())
            (points,) = [each for each in names if each.endswith("/entry_points.txt")]
            assert "rackwise = rackwise.cli:main" in archive.read(points).decode()
        source = ROOT / "src"
        wanted = {
            str(each.relative_to(source))
            for each in TEXTS
            if each.is_relative_to(source) and each.is_file()
        }
        assert wanted <= names
        assert {each.split("/")[0] for each in names} == {"rackwise", "rackwise-0.1.0.dist-info"}

    @pytest.mark.parametrize("target", ["wheel", "sdist"])
    def test_two_builds_in_two_folders_are_the_same(self, tmp_path, target):
        files = []
        for name in ("one", "two"):
            root = tmp_path / name / "root"
            for part in ("src", "docs"):
                ignored = shutil.ignore_patterns("__pycache__")
                shutil.copytree(ROOT / part, root / part, ignore=ignored)
            for part in ("pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE"):
                shutil.copyfile(ROOT / part, root / part)  # with another time
            files.append(built(tmp_path / name / "dist", root=root, target=target))
        one, two = files
        assert one.name == two.name
        assert one.read_bytes() == two.read_bytes()


class TestExtras:
    def test_each_extra_that_a_text_or_an_error_names_exists(self):
        named = {
            (name, file.relative_to(ROOT).as_posix())
            for file in TEXTS
            if file not in MEETS_LATER
            for match in NAMED.finditer(file.read_text(errors="replace"))
            for name in match[1].split(",")
        }
        assert {(name, file) for name, file in named if name not in EXTRAS} == set()
        assert {name for name, _ in named} > {"kafka", "spark", "report", "zookeeper"}

    def test_all_is_all_extras_except_the_one_that_pip_compiles(self):
        (everything,) = EXTRAS["all"]
        assert set(NAMED.fullmatch(everything)[1].split(",")) == set(EXTRAS) - {
            *("all", "dev", "gssapi")
        }

    def test_the_guide_lists_each_extra(self):
        rows = re.findall(r"^\| (`[^|]*) \|", GUIDE.read_text(), re.MULTILINE)
        listed = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
        assert sorted(listed) == sorted(set(EXTRAS) - {"dev"})

    def test_the_guide_leaves_out_all_but_numpy(self):
        (text,) = [block for _, block in blocks_of(GUIDE, "text")]
        left_out = {line.split(" ;")[0] for line in text.splitlines()}
        needed = {name_of(each) for each in PROJECT["dependencies"]}
        assert left_out == needed - {"numpy"}
        (small,) = [block for _, block in blocks_of(GUIDE, "sh") if "--no-deps rackwise" in block]
        told = set(re.findall(r'"([^"]+)"', small))
        assert told == {
            next(each for each in PROJECT["dependencies"] if name_of(each) == "numpy"),
            *EXTRAS["aiokafka"],
        }
