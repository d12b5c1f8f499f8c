"""A real terminal of a given width, and what programs write to it."""

from __future__ import annotations

import fcntl
import os
import struct
import termios
import threading
import time
from contextlib import contextmanager

PATIENCE_S = 60


class Screen:
    """What was written to a terminal."""

    def __init__(self, main):
        self._main = main
        self._read = bytearray()
        self._reader = threading.Thread(target=self._drain, daemon=True)
        self._reader.start()

    def _drain(self):
        while True:
            try:
                found = os.read(self._main, 65536)
            except OSError:  # Linux: the other side is closed
                return
            if not found:
                return
            self._read += found

    def type(self, keys):
        """Press these keys."""
        os.write(self._main, keys.encode())

    def wait_for(self, wanted, *, times=1):
        """Wait until the text was written this many times."""
        end = time.monotonic() + PATIENCE_S
        while self.text.count(wanted) < times:
            assert time.monotonic() < end, f"{wanted!r} is not in {self.text!r}"
            time.sleep(0.02)

    def finish(self):
        """Wait until all is read that was written before the other side was closed."""
        self._reader.join(timeout=60)
        assert not self._reader.is_alive()

    @property
    def text(self):
        return self._read.decode().replace("\r\n", "\n")

    @property
    def lines(self):
        return self.text.splitlines()


@contextmanager
def terminal(columns, *, rows=24):
    """A pseudo terminal: yields its file descriptor for a program, and the screen."""
    main, side = os.openpty()
    fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
    screen = Screen(main)
    try:
        yield side, screen
    finally:
        os.close(side)
        screen.finish()
        os.close(main)
