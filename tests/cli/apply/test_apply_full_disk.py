"""A log folder becomes full during a run: no new move starts, and the run can be cancelled."""

from __future__ import annotations

import os
import resource
import signal
import threading
from contextlib import closing

import pytest

from acked_records import Writing
from hand_made_plans import plan_file, shown
from kafka_servers import KAFKA_VERSION
from kafka_traffic import create, produce, until
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox

pytestmark = [pytest.mark.kafka, pytest.mark.long]

NAME = "full"
BEFORE = [[0, 1], [1, 2], [2, 0]]
AFTER = {(NAME, 0): (0, 3), (NAME, 1): (1, 3), (NAME, 2): (2, 3)}
MOST_BYTES = 1_000_000
"""The greatest file that the full broker can write."""


@pytest.fixture(scope="module")
def cluster(java_home, tmp_path_factory):
    """Four brokers; the last has two folders for logs, and one for metadata alone."""
    folder = tmp_path_factory.mktemp("full") / "kraft"
    with Sandbox.kraft(
        version=KAFKA_VERSION, brokers=4, java_home=java_home, folder=folder
    ) as made:
        made.stop(3)
        home = made.folder / "broker-3"
        formatted = (home / "data" / "meta.properties").read_text().splitlines()
        folders = [home / "logs-1", home / "logs-2"]
        for number, each in enumerate(folders):
            each.mkdir()
            own = f"directory.id=AAAAAAAAAAAAAAAAAAAA{number}A"
            lines = [own if line.startswith("directory.id=") else line for line in formatted]
            (each / "meta.properties").write_text("\n".join(lines) + "\n")
        properties = home / "server.properties"
        with properties.open("a") as file:
            file.write(f"metadata.log.dir={home / 'data'}\n")
            file.write(f"log.dirs={','.join(map(str, folders))}\n")
        made.start(3)
        made.wait_until_ready()
        yield made


@pytest.fixture
def admin(cluster):
    with closing(connect(cluster.bootstrap)) as made:
        yield made


def offline(admin):
    """Folders that a broker calls broken."""
    found = admin.describe_log_dirs(brokers=[3])
    return [
        each["log_dir"] for broker in found for each in broker["log_dirs"] if each["error_code"]
    ]


def test_a_folder_that_is_full_is_named_and_nothing_is_added(
    admin, cluster, called, state, tmp_path
):
    """F16: a limit of the size of files at the broker that receives."""
    create(admin, NAME, BEFORE, segment_index_bytes="100000")
    produce(cluster.bootstrap, {(NAME, 0): 2_000})
    path = plan_file(tmp_path / "p.json", admin, AFTER)
    limit = (MOST_BYTES, resource.RLIM_INFINITY)
    resource.prlimit(cluster.pid(3), resource.RLIMIT_FSIZE, limit)

    def interrupt():
        try:
            until(lambda: offline(admin), "a folder to be offline")
            until(lambda: '"type":"pause"' in journal(state), "the run to begin nothing new")
        finally:
            os.kill(os.getpid(), signal.SIGINT)

    thread = threading.Thread(target=interrupt)
    thread.start()
    with Writing(cluster.bootstrap, NAME, len(BEFORE)):
        code, out, err = called("apply", path, "--per-broker", "1")
        thread.join()
        (full,) = offline(admin)
        assert code == 3, (out, err)
        assert f"paused, starting no new move: broker 3: log folder {full} has an error" in err
        assert out.splitlines()[0].startswith("3 moves: 0 done, 0 failed, 3 skipped, 0 dropped")
        assert f"! {NAME}-0  moving" in out
        assert f"! {NAME}-1  not_started" in out
        assert called("cancel", path)[0] == 0
        shown(admin, NAME, dict(enumerate(BEFORE)))


def journal(state):
    return "".join(each.read_text() for each in state.glob("*/*.journal"))
