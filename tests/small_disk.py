"""A folder on a disk of a few pages, which is full after a few lines."""

from __future__ import annotations

import errno
import os
import subprocess
from contextlib import ExitStack, contextmanager

import pyarrow as pa
import pytest
from pyarrow import parquet

PAGE = os.sysconf("SC_PAGE_SIZE")
BALLAST = "ballast"


@contextmanager
def small_disk(folder, pages):
    """A disk of `pages` pages at a folder, for this process.

    A tmpfs, or limited writes where none can be mounted.
    """
    with ExitStack() as stack:
        try:
            stack.enter_context(mounted_disk(folder, pages))
        except (subprocess.CalledProcessError, OSError):
            limit_writes(stack.enter_context(pytest.MonkeyPatch.context()), folder, pages)
        yield


@contextmanager
def mounted_disk(folder, pages):
    """A tmpfs of `pages` pages at a folder, for all processes. Needs the right to mount."""
    folder.mkdir(mode=0o700, exist_ok=True)
    size = f"size={pages * PAGE},mode=700"
    subprocess.run(["mount", "-t", "tmpfs", "-o", size, "none", folder], check=True)
    try:
        yield
    finally:
        # A Java that has ended a moment ago may still hold a file.
        subprocess.run(["umount", "-l", folder], check=True)


@contextmanager
def filling_disk(folder, pages, limit):
    """A disk of `pages` pages at a folder; yields `full(free=N)`, a block in which N are free.

    `limit(patch)` makes writes fail in such a block where no disk can be mounted.
    """

    @contextmanager
    def full(*, free):
        # By this name it is no file of another program in a new checkpoint.
        ballast = fill(folder, pages, free=free).rename(folder / f".{BALLAST}.unfinished")
        yield
        ballast.unlink()

    @contextmanager
    def limited(**_):
        with pytest.MonkeyPatch.context() as patch:
            limit(patch)
            yield

    with ExitStack() as stack:
        try:
            stack.enter_context(mounted_disk(folder, pages))
        except (subprocess.CalledProcessError, OSError):
            yield limited
        else:
            yield full


def fail_to_write(*_, **__):
    """Arrow's own error; by a descriptor, because Arrow removes a path that it cannot write."""
    with pa.OSFile("/dev/full", "wb") as device:
        parquet.write_table(pa.table({"a": [1]}), device)


def limit_writes(patch, folder, pages):
    """Make `os.pwrite` and `os.fsync` of this process fail: each file takes whole pages."""
    write, sync = os.pwrite, os.fsync

    def limited(descriptor, data, at):
        if is_inside(descriptor):
            room = max(
                (pages - pages_of(folder) + _pages(os.fstat(descriptor).st_size)) * PAGE - at, 0
            )
            if not room:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            data = data[:room]
        return write(descriptor, data, at)

    def checked(descriptor):
        if is_inside(descriptor) and pages_of(folder) > pages:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        sync(descriptor)

    def is_inside(descriptor):
        place = os.path.realpath(f"/proc/self/fd/{descriptor}")
        return place.startswith(f"{folder}{os.sep}")

    patch.setattr(os, "pwrite", limited)
    patch.setattr(os, "fsync", checked)


def pages_of(folder):
    """The pages that the files of a folder take."""
    files = [each for each in folder.rglob("*") if each.is_file() and not each.is_symlink()]
    return sum(_pages(each.stat().st_size) for each in files)


def fill(folder, pages, *, free):
    """Write ballast to a disk of `pages` pages so that `free` of them are free; its file."""
    ballast = folder / BALLAST
    ballast.unlink(missing_ok=True)
    ballast.write_bytes(bytes((pages - pages_of(folder) - free) * PAGE))
    return ballast


def _pages(size):
    return -(-size // PAGE)
