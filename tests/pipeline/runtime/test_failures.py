"""A full disk is recognised in the errors of Java and of Python, and in no other error."""

from __future__ import annotations

import errno
import os
import tempfile

import pytest

from rackwise.pipeline.runtime.failures import full_disk, spark_failures

FULL = os.strerror(errno.ENOSPC)


@pytest.mark.classic
def test_java_that_finds_a_disk_full(spark, tmp_path):
    device = spark._jvm.java.io.FileOutputStream("/dev/full")
    with pytest.raises(spark_failures()) as raised:
        device.write(1)
    device.close()
    message = full_disk(raised.value, str(tmp_path)).message
    begin = f"the tables in {tmp_path} cannot be written: {FULL}; free on this machine: "
    assert message.startswith(begin)
    places = [place.partition(" bytes in ")[2] for place in message[len(begin) :].split(", ")]
    assert places == [str(tmp_path), tempfile.gettempdir()]


def test_of_tables_in_a_store_only_the_temporary_files_are_on_this_machine():
    message = full_disk(OSError(errno.ENOSPC, FULL), "s3://bill/tables").message
    assert message.startswith(f"the tables in s3://bill/tables cannot be written: {FULL}; ")
    assert message.count(" bytes in ") == 1
    assert message.endswith(f" bytes in {tempfile.gettempdir()}")


@pytest.mark.parametrize(
    "error",
    [
        OSError(errno.ENOSPC, FULL, "/data/file"),
        OSError(errno.EIO, os.strerror(errno.EIO)),
        ValueError("no space"),
        KeyboardInterrupt(),
    ],
)
def test_an_error_that_names_its_file_or_has_another_cause_is_left_alone(error, tmp_path):
    assert full_disk(error, str(tmp_path)) is None
