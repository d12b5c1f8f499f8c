"""The Containerfile: what it copies exists, what it installs is locked, and who runs what."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from containerfiles import line_of, stages_of
from shown_commands import ROOT

FILE = ROOT / "Containerfile"
STAGES = stages_of(FILE.read_text())
TARGETS = ("tool", "spark")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
USER = "65532:65532"


def every(word, stages=STAGES):
    return [each for name in stages for each in STAGES[name].instructions if each.word == word]


def shown(target, word):
    """The last instruction of a word, which is the one that counts."""
    return [each for each in line_of(STAGES, target) if each.word == word][-1]


def test_the_default_target_is_the_tool():
    assert list(STAGES)[-1] == "tool"
    assert set(TARGETS) <= set(STAGES)


def test_each_copied_file_exists_and_is_in_the_context():
    kept = [
        line.removeprefix("!")
        for line in (ROOT / ".containerignore").read_text().splitlines()
        if line.startswith("!")
    ]
    sources = set()
    for copy in every("COPY"):
        if copy.words[0].startswith("--from="):
            assert copy.words[0].removeprefix("--from=") in STAGES
            continue
        sources |= set(copy.words[:-1])
    assert "src" in sources
    for source in sources:
        assert (ROOT / source).exists()
        assert source.split("/")[0] in kept
    assert {source.split("/")[0] for source in sources} == set(kept)


def test_the_copied_files_are_all_that_the_wheel_is_built_from():
    needs = {PROJECT["readme"], *PROJECT["license-files"], "pyproject.toml", "src"}
    copied = {word for each in every("COPY", ["build"]) for word in each.words[:-1]}
    assert needs <= copied


def test_each_package_is_locked():
    installs = [
        command
        for run in every("RUN")
        for command in run.text.split("&&")
        if " install " in command and "pip" in command
    ]
    assert len(installs) == 4
    for command in installs:
        assert "--require-hashes" in command or "--no-deps" in command
        for name in re.findall(r"requirements/\S+", command):
            assert "--hash=sha256:" in (ROOT / name).read_text()
    wheels = [run.text for run in every("RUN") if "pip wheel" in run.text]
    assert len(wheels) == 1
    assert "--no-build-isolation" in wheels[0]


def test_the_locks_have_what_the_extras_of_the_images_need():
    sys.path.insert(0, str(ROOT / "requirements"))
    try:
        import locks
    finally:
        sys.path.pop(0)
    for name in ("image", "image-spark"):
        (wanted,) = locks.WANTS[name]
        locked = (ROOT / "requirements" / f"{name}.txt").read_text()
        for extra in re.fullmatch(r"rackwise\[(.*)\]", wanted)[1].split(","):
            for need in PROJECT["optional-dependencies"][extra]:
                package = re.match(r"[\w-]+", need)[0].lower()
                assert package == "rackwise" or f"\n{package}==" in locked


@pytest.mark.parametrize("target", TARGETS)
class TestTarget:
    def test_it_is_a_command_of_a_user_without_rights(self, target):
        assert shown(target, "USER").text == USER
        assert shown(target, "ENTRYPOINT").words == ["rackwise"]
        assert "rackwise" in PROJECT["scripts"]
        assert shown(target, "CMD").words == ["--help"]
        words = {each.word for each in line_of(STAGES, target)}
        assert not words & {"HEALTHCHECK", "EXPOSE", "VOLUME", "ADD"}

    def test_its_labels_name_this_version_and_license(self, target):
        labels = shown(target, "LABEL").text
        assert f'image.version="{PROJECT["version"]}"' in labels
        assert f'image.licenses="{PROJECT["license"]}"' in labels
        assert f'image.source="{PROJECT["urls"]["Source"]}"' in labels

    def test_its_default_command_prints_the_help(self, target):
        words = [*shown(target, "ENTRYPOINT").words[1:], *shown(target, "CMD").words]
        done = subprocess.run(
            [sys.executable, "-m", "rackwise.cli", *words],
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, "Usage: rackwise" in done.stdout) == (0, True)


def test_the_manifests_run_these_images_as_this_user():
    texts = [file.read_text() for file in (ROOT / "deploy" / "kubernetes").glob("*/*.yaml")]
    images = set(re.findall(r"image: (rackwise\S*)", "".join(texts)))
    version = PROJECT["version"]
    assert images == {f"rackwise:{version}", f"rackwise:{version}-spark"}
    told = set(re.findall(r"--tag (\S+)", FILE.read_text()))
    assert told == images
    job = yaml.safe_load((ROOT / "deploy" / "kubernetes" / "apply" / "apply.yaml").read_text())
    context = job["spec"]["template"]["spec"]["securityContext"]
    assert f"{context['runAsUser']}:{context['runAsGroup']}" == USER
