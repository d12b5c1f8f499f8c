"""`python killed_stream.py POINT WORDS...`: a command whose driver and JVM are killed at a point.

```
sums          the messages of a batch are written, its sums are not
commit:N      before step N of a commit: folder, mark aside, its name, sync, tidying
end           a batch counts, and Spark has not recorded that it is done
write:N:DIR   before the Nth file or folder that Python makes, renames or removes below DIR
```

Start it as the leader of a session, since its process group is killed.
"""

from __future__ import annotations

import os
import signal
import sys

from rackwise.cli.main import run
from rackwise.pipeline.stream import run as stream
from rackwise.pipeline.stream.store import Store, StoreDisk

STEPS = ("make_folder", "write", "place", "sync", "remove")
CHANGES = {"os.rename", "os.mkdir", "os.link", "os.symlink", "os.remove", "os.rmdir"}
CHANGES |= {"shutil.rmtree"}


def die(*_, **__):
    os.killpg(0, signal.SIGKILL)


class CountingDisk(StoreDisk):
    """A disk that kills the process before a step."""

    def __init__(self, step):
        self.left = step

    def __getattribute__(self, name):
        if name in STEPS:
            self.left -= 1
            if self.left < 0:
                die()
        return object.__getattribute__(self, name)


def at_commit(step):
    commit = Store.commit

    def counted(store, batch):
        store.disk = StoreDisk() if step is None else CountingDisk(step)
        commit(store, batch)
        die()

    Store.commit = counted


def at_write(number, folder):
    left = number

    def watch(event, told):
        nonlocal left
        is_open = event == "open" and told[2] & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)
        is_change = is_open or event in CHANGES
        if is_change and isinstance(told[0], str | os.PathLike):
            left -= str(told[0]).startswith(folder)
            if left <= 0:
                die()

    sys.addaudithook(watch)


def main(point, words):
    name, _, more = point.partition(":")
    if name == "sums":
        stream.write_table = die
    elif name in {"commit", "end"}:
        at_commit(int(more) if more else None)
    else:
        number, _, folder = more.partition(":")
        at_write(int(number), folder)
    return run(words)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
