"""Programs of the machine that tests of `deploy` ask about its files, where they are installed.

Nothing else can answer for them: they are no packages of Python, and a copy of their rules would
test itself. `.ci/run` says which are missing. The schemas of Kubernetes and the text of the files
are tested everywhere.
"""

from __future__ import annotations

import shutil

import pytest

USES = {
    "kubectl": "to build the overlays of deploy/kubernetes as Kubernetes does",
    "systemd-analyze": "to verify deploy/systemd as systemd does",
}


def needs(program):
    """Leave a test out where the machine has no such program; the reason says how to run it."""
    return pytest.mark.skipif(
        shutil.which(program) is None, reason=f"install {program} {USES[program]}"
    )
