"""One command called in this process, and the law of its rejections."""

from __future__ import annotations

from contextlib import redirect_stderr, redirect_stdout
from io import StringIO

from rackwise.cli.main import run


def called(*arguments):
    """Exit code, stdout and stderr."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def check_refused(command, message, hint, *, file=None):
    """Law: exit code 1, exactly this sentence and this hint, and `file` unchanged."""
    before = file and file.read_bytes()
    code, out, err = called(*command)
    assert (code, out) == (1, ""), "law of refusals: exit 1, nothing on stdout"
    assert err == f"error: {message}\n" + (f"hint: {hint}\n" if hint else ""), "law of refusals"
    assert (file and file.read_bytes()) == before, "law of refusals: the file was changed"


def replaced(data, old, new):
    """The same bytes with the first `old` replaced by `new`."""
    changed = data.replace(old.encode(), new.encode(), 1)
    assert changed != data, f"{old} is not there"
    return changed
