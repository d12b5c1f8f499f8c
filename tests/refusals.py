"""One command called in this process, and what must hold where it rejects its input."""

from __future__ import annotations

from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO

import pytest

from rackwise.cli.apply import rollback
from rackwise.cli.main import run
from rackwise.core.errors import ForeignReassignment
from rackwise.core.text import with_short_words

ODD_RACKS_HINT = (
    "give all brokers racks of one form, or map them with --policy FILE ([racks.map]), or place "
    "without racks: --disable-rack-aware"
)


def called(*arguments):
    """Exit code, stdout and stderr."""
    out, err = StringIO(), StringIO()
    with redirect_stdout(out), redirect_stderr(err):
        code = run([str(argument) for argument in arguments])
    return code, out.getvalue(), err.getvalue()


def check_refused(command, message, hint, *, file=None):
    """Exit code 1, nothing on stdout, exactly this message and hint, and `file` unchanged."""
    before = file and file.read_bytes()
    code, out, err = called(*command)
    assert (code, out) == (1, ""), f"expected exit code 1 and no stdout; stderr: {err}"
    lines = [f"error: {message}", *([f"hint: {hint}"] if hint else [])]
    expected = with_short_words("\n".join([*lines, ""]))
    assert err == expected, f"expected on stderr:\n{expected}\ngot:\n{err}"
    assert (file and file.read_bytes()) == before, "the command changed the file"


def replaced(data, old, new):
    """The same bytes with the first `old` replaced by `new`."""
    changed = data.replace(old.encode(), new.encode(), 1)
    assert changed != data, f"{old} is not there"
    return changed


@contextmanager
def rejected_preflight(number):
    """Let the preflight check of this number in a rollback, from 1 on, find another tool's move."""
    left, real = [number], rollback.run_preflight

    def check(*words, **named):
        left[0] -= 1
        if not left[0]:
            raise ForeignReassignment("another tool moves t-0", hint="wait for its end")
        return real(*words, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(rollback, "run_preflight", check)
        yield
