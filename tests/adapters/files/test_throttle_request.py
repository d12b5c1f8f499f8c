"""The file by which a command asks a running process for another throttle."""

from __future__ import annotations

import pytest

from rackwise.adapters.files.throttle_request import (
    read_request,
    request_path,
    withdraw_request,
    write_request,
)


def test_a_request_is_read_as_it_was_written(tmp_path):
    path = request_path(tmp_path / "5f.journal")
    assert path == tmp_path / "5f.throttle"
    assert read_request(path) is None
    asked = write_request(path, 80_000_000, lasts_ms=60_000)
    assert read_request(path) == asked
    assert asked.rate == 80_000_000
    assert write_request(path, 80_000_000, lasts_ms=60_000).request != asked.request


def test_a_request_is_void_after_its_time(tmp_path):
    path = tmp_path / "5f.throttle"
    write_request(path, 1, lasts_ms=-1)
    assert read_request(path) is None


@pytest.mark.parametrize("lasts_ms", [60_000, -1])
def test_a_command_withdraws_its_own_request_only(tmp_path, lasts_ms):
    path = tmp_path / "5f.throttle"
    mine = write_request(path, 1, lasts_ms=60_000)
    theirs = write_request(path, 2, lasts_ms=lasts_ms)
    withdraw_request(path, mine)
    assert path.exists()
    withdraw_request(path, theirs)
    assert not path.exists()
    withdraw_request(path, theirs)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        '{"expires_ms":99999999999999,"rate":0,"request":"a"}',
        '{"expires_ms":99999999999999,"rate":true,"request":"a"}',
        '{"expires_ms":99999999999999,"rate":1,"request":5}',
        '{"expires_ms":"soon","rate":1,"request":"a"}',
        '{"expires_ms":99999999999999,"rate":1',
    ],
)
def test_a_damaged_file_is_no_request(tmp_path, text):
    path = tmp_path / "5f.throttle"
    path.write_text(text)
    assert read_request(path) is None


def test_a_folder_is_no_request(tmp_path):
    assert read_request(tmp_path) is None
