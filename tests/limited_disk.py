"""`python limited_disk.py FOLDER PAGES WORD ..`: the command with these words, and a small disk.

Where the folder is no disk of its own, the writes of this process are limited instead.
"""

import sys
from pathlib import Path

import pytest

from rackwise.cli.main import run
from small_disk import limit_writes

if __name__ == "__main__":
    folder, pages, *words = sys.argv[1:]
    with pytest.MonkeyPatch.context() as patch:
        if not Path(folder).is_mount():
            limit_writes(patch, Path(folder), int(pages))
        code = run(words)
    sys.exit(code)
