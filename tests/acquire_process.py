"""`acquire` in its own process: `python acquire_process.py JSON [-- COMMAND...]`.

JSON holds the fields of `AcquireOptions`. stdout: the acquired id as JSON, before the command
starts. stderr: one line per phase. The process exits with the status of the command or of the
error; the name of the error is the last line on stderr. If `STOP_AT` is set in the environment, the
process stops itself (SIGSTOP) after it printed a line that starts with that text.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

from process_states import is_stopped

TESTS = Path(__file__).parent
PATHS = ("server_properties", "store_config", "command_config", "report")


class Acquiring:
    """The process, to signal, kill and read; `options` are those of `AcquireOptions`."""

    def __init__(self, folder, *command, stop_at="", **options):
        folder.mkdir(parents=True, exist_ok=True)
        self.out, self.err = folder / "acquired", folder / "told"
        self.environment = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join(each for each in sys.path if each),
            "STOP_AT": stop_at,
        }
        self.arguments = [
            sys.executable,
            __file__,
            json.dumps({key: str(v) if key in PATHS else v for key, v in options.items()}),
            *(["--", *map(str, command)] if command else []),
        ]
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                self.arguments, stdout=out, stderr=err, env=self.environment
            )

    @property
    def told(self):
        return self.err.read_text()

    def acquired(self):
        """What was acquired; None before that."""
        lines = [line for line in self.out.read_text().splitlines() if line.startswith("{")]
        return json.loads(lines[0]) if lines else None  # noqa: TID251 (our own text)

    def wait(self, timeout_s=60.0):
        return self.process.wait(timeout_s)

    def is_stopped(self):
        """Whether the process is stopped."""
        return is_stopped(self.process.pid)

    def close(self):
        """End the process and its command."""
        self.process.send_signal(signal.SIGCONT)
        if self.process.poll() is None:
            self.process.terminate()
            try:
                self.process.wait(10.0)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


def tell(line):
    print(line, file=sys.stderr, flush=True)
    stop_at = os.environ.get("STOP_AT")
    if stop_at and line.startswith(stop_at):
        os.kill(os.getpid(), signal.SIGSTOP)


def main(arguments):
    from rackwise.adapters.launch import AcquireOptions, acquire
    from rackwise.core.errors import RackwiseError

    fields = json.loads(arguments[0])  # noqa: TID251 (our own text)
    options = AcquireOptions(**{k: Path(v) if k in PATHS else v for k, v in fields.items()})
    try:
        done = acquire(
            options,
            arguments[2:],
            report=tell,
            on_acquired=lambda it: print(json.dumps(asdict(it)), flush=True),
        )
    except RackwiseError as error:
        print(error, type(error).__name__, sep="\n", file=sys.stderr, flush=True)
        return error.exit_code
    return done.exit_status


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
