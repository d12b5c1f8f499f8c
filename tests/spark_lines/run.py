"""Runs the pipeline's tests on the other lines of Spark.

    python tests/spark_lines/run.py            every line that has a lock beside this file
    python tests/spark_lines/run.py 4.0 4.1    these lines

Each line is installed once into `build/spark-LINE` and precedes the one of the virtual environment
in `PYTHONPATH`. Its folder has PySpark alone; all other packages are those of the environment. The
data source in Python requires Spark 4.2, so older lines leave its tests out. Spark before 4.2
leaves sockets open until they are collected, and Python reports each of them. Spark 4.0 has no Unix
domain sockets, and its own test helpers load pandas on Spark, which warns without a variable.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
GIVEN_PATH = [os.environ["PYTHONPATH"]] if os.environ.get("PYTHONPATH") else []
"""Where Rackwise is, if it is not the installed one."""
SESSION = "tests/pipeline/runtime/test_session.py"
FULL_DISKS = "tests/pipeline/stream/test_full_disks.py"
SUITE = ("-m", "spark and not kafka and not long", "tests/pipeline")
BEFORE_4_2 = (
    *("--ignore", "tests/pipeline/kafka", "--ignore", "tests/pipeline/test_stream_python.py"),
    *("--deselect", f"{FULL_DISKS}::test_a_full_disk_of_a_new_checkpoint_is_named"),
    *("-W", "ignore::pytest.PytestUnraisableExceptionWarning", "-W", "ignore::ResourceWarning"),
)


NO_UNIX_SOCKETS = ("--deselect", f"{SESSION}::test_rows_travel_to_python_through_a_unix_socket")


def installed(line):
    """The folder of the line's PySpark; a stamp makes reruns free."""
    lock, folder = HERE / f"{line}.txt", ROOT / "build" / f"spark-{line}"
    stamp = folder / "spark.stamp"
    if not stamp.is_file() or stamp.read_text() != lock.read_text():
        print(
            f"installing {lock.name} into build/{folder.name} (once)", file=sys.stderr, flush=True
        )
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        alone = ["--no-deps", "--require-hashes", "--upgrade", "--target", folder]
        subprocess.run([*pip, *alone, "--requirement", lock], check=True)
        stamp.write_text(lock.read_text())
    return folder


def options_of(line):
    """What pytest leaves out on the line."""
    version = tuple(map(int, line.split(".")))
    return [
        *(BEFORE_4_2 if version < (4, 2) else ()),
        *(NO_UNIX_SOCKETS if version < (4, 1) else ()),
    ]


def passes(line):
    """Whether the pipeline's tests pass on the line."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join([str(installed(line)), *GIVEN_PATH]),
        "PYARROW_IGNORE_TIMEZONE": "1",
    }
    found = [sys.executable, "-c", "import pyspark; print(pyspark.__version__)"]
    version = subprocess.run(found, env=environment, check=True, capture_output=True, text=True)
    print(f"Spark {version.stdout.strip()}", flush=True)
    if not version.stdout.startswith(f"{line}."):
        raise SystemExit(f"expected Spark {line}, got {version.stdout.strip()}")
    pytest = [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir=.pytest_cache/spark-{line}"]
    command = [*pytest, *SUITE, *options_of(line)]
    return subprocess.run(command, env=environment, cwd=ROOT, check=False).returncode == 0


def main(lines):
    """Run the lines one after another; the status is 1 if a test of any fails."""
    lines = lines or sorted(lock.stem for lock in HERE.glob("*.txt"))
    failed = [line for line in lines if not passes(line)]
    print(f"failed: {' '.join(failed)}" if failed else f"passed: {' '.join(lines)}", flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
