"""Spark's daemon of Python workers, whose tasks wait at a chosen function until they are killed.

Started by Spark with `spark.python.daemon.module=held_daemon`. The environment has

```
HELD_AT      package.module:Class.function    a generator: its tasks wait behind the first value
HELD_IN      a folder: each task that waits writes its `Held` there, to a file `0`, `1`, ..
HELD_COUNT   so many tasks wait; the next ones run as they are
```
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial, wraps
from importlib import import_module
from pathlib import Path

from pyspark import daemon

from rackwise.core.errors import InvalidConfig
from rackwise.core.json.strict import parse
from rackwise.pipeline.runtime.worker_daemon import silent


@dataclass(frozen=True)
class Held:
    """Process ids of a task that waits."""

    worker: int
    """The Python worker."""
    executor: int
    """The Java of the executor, or of the driver where tasks run in it."""


def held_tasks(folder):
    """The tasks that wait or waited, the first one first."""
    files = sorted(folder.glob("[0-9]*"), key=lambda file: int(file.name))
    read = partial(parse, where="a task that waits", error=InvalidConfig)
    return [Held(**read(file.read_bytes())) for file in files]


def conf_of(folder, count, function):
    """The conf of a session whose tasks wait."""
    held = {"HELD_AT": function, "HELD_IN": str(folder), "HELD_COUNT": str(count)}
    paths = [str(Path(__file__).parent), os.environ.get("PYTHONPATH")]
    environment = {**held, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
    return {
        "spark.python.daemon.module": Path(__file__).stem,
        **{f"spark.executorEnv.{name}": value for name, value in environment.items()},
    }


def wait_behind_first(values, wait):
    """The generator, which calls `wait` when its second value is asked for."""

    @wraps(values)
    def waiting(*arguments, **named):
        for number, value in enumerate(values(*arguments, **named)):
            yield value
            if number == 0:
                wait()

    return waiting


def wait_to_be_killed(folder, count, executor):
    """Wait for ever if fewer than `count` tasks have done so."""
    told = folder / f".{os.getpid()}"
    told.write_text(json.dumps(asdict(Held(worker=os.getpid(), executor=executor))))
    for number in range(count):
        with suppress(FileExistsError):
            os.link(told, folder / str(number))
            while True:
                signal.pause()


def main(environment):
    module, _, path = environment["HELD_AT"].partition(":")
    *owners, name = path.split(".")
    owner = import_module(module)
    for each in owners:
        owner = getattr(owner, each)
    folder, count = Path(environment["HELD_IN"]), int(environment["HELD_COUNT"])
    executor = os.getppid()
    values = wait_behind_first(
        getattr(owner, name), lambda: wait_to_be_killed(folder, count, executor)
    )
    setattr(owner, name, values)
    daemon.worker = silent(daemon.worker)
    daemon.manager()


if __name__ == "__main__":
    main(os.environ)
