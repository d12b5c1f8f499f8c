"""The wheel and the source archive of this checkout, and environments to install the wheel into."""

import os
import subprocess
import sys
import venv
from pathlib import Path

from shown_commands import ROOT

EPOCH = "1700000000"


def environment():
    """The environment of a user: the checkout is not on the path of Python."""
    kept = {name: each for name, each in os.environ.items() if name != "PYTHONPATH"}
    return {**kept, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_INPUT": "1"}


def built(folder, *, root=ROOT, target="wheel"):
    """The file that hatchling builds from `root` into `folder`; `target`: wheel or sdist."""
    hatchling = Path(sys.executable).with_name("hatchling")
    command = [hatchling, "build", "--target", target, "--directory", folder]
    subprocess.run(
        command,
        cwd=root,
        env={**environment(), "SOURCE_DATE_EPOCH": EPOCH},
        check=True,
        capture_output=True,
    )
    (file,) = folder.glob("*.whl" if target == "wheel" else "*.tar.gz")
    return file


def installed(folder, *arguments):
    """A new environment in `folder` with what `pip install` of these arguments gives."""
    venv.create(folder, with_pip=True)
    pip(folder, *arguments)
    return folder


def pip(folder, *arguments):
    """Run `pip install` in the environment."""
    command = [folder / "bin" / "pip", "install", "--quiet", *arguments]
    subprocess.run(command, env=environment(), check=True, capture_output=True, text=True)


def called(folder, *words, cwd):
    """The ended process of a command of the environment."""
    command = [folder / "bin" / words[0], *words[1:]]
    return subprocess.run(
        command, cwd=cwd, env=environment(), capture_output=True, text=True, check=False
    )
