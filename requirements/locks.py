"""The locked dependencies: installs them, compiles them, checks that they are up to date.

    python3 requirements/locks.py install VENV LOCK   make VENV from LOCK, hashes required
    python3 requirements/locks.py compile             rewrite the locks (needs uv)
    python3 requirements/locks.py check               fail if pyproject.toml has changed since

Runs on a bare Python, before anything is installed.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

WANTED = (3, 11)
ROOT = Path(__file__).resolve().parent.parent
LOCKS = ROOT / "requirements"
MARK = "# dependency tables: sha256 "
MINIMAL = (
    "numpy",
    "coverage",
    "hypothesis",
    "pytest",
    "pytest-randomly",
    "pytest-timeout",
    "hatchling",
    "editables",
)
DOCS = ("mkdocs-material",)
"""The docs site is built without the package, in an environment of its own."""
BUILD = ("hatchling==1.32.0", "editables==0.5")
IMAGE = "kafka,msk-iam,stores,zookeeper,kubernetes,serve-oauth,report"
WANTS = {
    "dev": ("rackwise[dev]",),
    "minimal": MINIMAL,
    "docs": DOCS,
    "build": BUILD,
    "image": (f"rackwise[{IMAGE}]",),
    "image-spark": (f"rackwise[{IMAGE},connect]",),
}
"""Lock -> what is locked; the versions of `dev` are those of all others, too."""
RELEASES_WAIT = "7 days"


def missing() -> list[str]:
    """What this machine lacks, one line each."""
    lines = []
    if sys.version_info < WANTED:
        had = ".".join(map(str, sys.version_info[:2]))
        lines.append(
            f"python3 is {had}; {WANTED[0]}.{WANTED[1]} is wanted; hint: make PYTHON=python3.13"
        )
    try:
        import ensurepip  # noqa: F401 (its presence is the question)
        import venv  # noqa: F401
    except ImportError:
        lines.append("venv is missing; hint: install python3-venv")
    return lines


def digest(name: str) -> str:
    """SHA-256 of what the lock of this name was compiled from: tables of `pyproject.toml`."""
    import tomllib

    if name == "docs":
        return hashlib.sha256(json.dumps(DOCS).encode()).hexdigest()
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    tables = {
        "build": project["build-system"]["requires"],
        "python": project["project"]["requires-python"],
        "required": project["project"]["dependencies"],
        "extras": project["project"]["optional-dependencies"],
        "locks": {lock: wants for lock, wants in WANTS.items() if lock != "docs"},
    }
    return hashlib.sha256(json.dumps(tables, sort_keys=True).encode()).hexdigest()


def check() -> int:
    """Whether each lock was compiled from the present tables."""
    stale = [
        lock.name
        for lock in sorted(LOCKS.glob("*.txt"))
        if not lock.read_text().startswith(MARK + digest(lock.stem))
    ]
    for name in stale:
        print(f"requirements/{name} is older than pyproject.toml; hint: make lock", file=sys.stderr)
    return 1 if stale else 0


def compile_locks() -> int:
    """Resolve again for every platform and Python; only releases older than seven days are used."""
    uv = shutil.which("uv")
    if uv is None:
        print("uv is missing; hint: python3 -m pip install uv", file=sys.stderr)
        return 1
    for name, wants in WANTS.items():
        lock = LOCKS / f"{name}.txt"
        command = [uv, "pip", "compile", "-", "--universal", "--generate-hashes", "--no-header"]
        command += ["--no-annotate", "--no-emit-index-url", "--no-emit-find-links", "--quiet"]
        command += ["--python-version", "3.11", "--exclude-newer", RELEASES_WAIT]
        if name not in {"dev", "docs"}:
            command += ["--constraint", str(LOCKS / "dev.txt")]
        wanted = "\n".join(
            f"{each} @ {ROOT.as_uri()}" if each.startswith("rackwise") else each for each in wants
        )
        done = subprocess.run(command, input=wanted, text=True, capture_output=True, check=False)
        if done.returncode:
            print(done.stderr, file=sys.stderr)
            return 1
        body = "".join(
            line
            for line in done.stdout.splitlines(keepends=True)
            if not line.startswith("rackwise")
        )
        lock.write_text(f"{MARK}{digest(name)}\n{body}")
    return 0


def install(venv: Path, lock: Path) -> int:
    """Make `venv` from `lock` and install this checkout into it; a stamp makes a rerun free.

    An environment that builds the docs site needs no checkout.
    """
    stamp = venv / "rackwise.stamp"
    state = hashlib.sha256(lock.read_bytes() + (ROOT / "pyproject.toml").read_bytes()).hexdigest()
    if stamp.is_file() and stamp.read_text() == state:
        return 0
    if lines := missing():
        print("\n".join(lines), file=sys.stderr)
        return 1
    print(f"installing {lock.name} into {venv.name} (once)", file=sys.stderr, flush=True)
    stamp.unlink(missing_ok=True)
    python = venv / "bin" / "python"
    uv = shutil.which("uv")
    if uv:
        make = [uv, "venv", "--quiet", "--allow-existing", "--python", sys.executable, str(venv)]
        pip = [uv, "pip", "install", "--quiet", "--python", str(python)]
    else:
        make = [sys.executable, "-m", "venv", str(venv)]
        pip = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    steps = [
        make,
        [*pip, "--require-hashes", "--requirement", str(lock)],
        [*pip, "--no-deps", "--no-build-isolation", "--editable", str(ROOT)],
    ]
    if lock.stem == "docs":
        steps.pop()
    for step in steps:
        if subprocess.run(step, check=False, env={**os.environ, "PIP_NO_INPUT": "1"}).returncode:
            print(f"could not run {' '.join(step)}", file=sys.stderr)
            print("hint: is the package index reachable?", file=sys.stderr)
            return 1
    stamp.write_text(state)
    return 0


def main(arguments: list[str]) -> int:
    """Run one verb."""
    match arguments:
        case ["install", venv, lock]:
            return install(ROOT / venv, LOCKS / lock)
        case ["compile"]:
            return compile_locks()
        case ["check"]:
            return check()
        case _:
            print(__doc__, file=sys.stderr)
            return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
