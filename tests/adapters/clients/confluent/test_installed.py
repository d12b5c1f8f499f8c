"""An installed confluent-kafka without the names that the plug-ins use."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import requires

import pytest

from rackwise.adapters.clients.confluent.installed import CLIENT, SUPPORTED


@pytest.mark.parametrize(
    "older",
    [
        "sys.modules['confluent_kafka.aio'] = None",
        "import confluent_kafka; del confluent_kafka.fnv1a",
    ],
    ids=["no module", "no name"],
)
def test_a_client_that_is_too_old_is_said_to_be_installed(older):
    script = (
        f"import sys; {older}\n"
        "import confluent_kafka; confluent_kafka.__version__ = '2.10.0'\n"
        "from rackwise.core.errors import UnsupportedClient\n"
        "try: from rackwise.confluent import RackAwareProducer\n"
        "except UnsupportedClient as error: print(error); print(error.hint)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == [
        "unsupported confluent-kafka: expected confluent-kafka >=2.16,<3, got 2.10.0",
        "pip install 'confluent-kafka>=2.16,<3'",
    ]


def test_the_supported_versions_are_those_of_the_extra():
    found = {each.partition(";")[0] for each in requires("rackwise") if each.startswith(CLIENT)}
    (versions,) = (each.removeprefix(CLIENT).strip() for each in found)
    assert set(versions.split(",")) == set(SUPPORTED.split(","))
