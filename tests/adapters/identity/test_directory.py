"""The directory store where it goes wrong: killed, full, denied, damaged, hanging."""

from __future__ import annotations

import errno
import fcntl
import os
import resource
import subprocess
import sys
import threading

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kafka_traffic import until
from rackwise.adapters.files.identity import store as identity_store
from rackwise.adapters.files.identity.state import State, StoredEntry, format_state, parse_state
from rackwise.adapters.files.identity.store import DirectoryStore, check_parents, make_parents
from rackwise.core.errors import Conflict, MissingPermission, Unreachable
from rackwise.core.identity.nodes.store import CLAIMS, FENCE, HOSTS, Create, Delete, Put
from rackwise.core.identity.refusals import StoreCorrupt, StoreNotReady

H7, CLAIM7 = f"{HOSTS}/h7", f"{CLAIMS}/7"
KILLS = 3


@pytest.fixture
def folder(tmp_path):
    make_parents(tmp_path / "store")
    return tmp_path / "store"


WRITER = """
import sys
from rackwise.adapters.files.identity.store import DirectoryStore
from rackwise.core.identity.nodes.store import CLAIMS, FENCE, HOSTS, Create, Delete, Put
store = DirectoryStore(sys.argv[1])
number = 0
while True:
    store.commit([Put(FENCE, b""), Create(f"{HOSTS}/a{number}", b"x" * 2000),
                  Create(f"{HOSTS}/b{number}", b""), Create(f"{CLAIMS}/{number}", b"", True)])
    if number:
        store.commit([Delete(f"{HOSTS}/a{number - 1}"), Delete(f"{HOSTS}/b{number - 1}")])
        store.commit([Delete(f"{CLAIMS}/{number - 1}")])
    number += 1
"""


@pytest.mark.fault
def test_a_writer_that_is_killed_leaves_whole_commits(folder):
    """Each commit makes or deletes two nodes: both are there, or neither."""
    for _ in range(KILLS):
        with (
            DirectoryStore(folder) as store,
            subprocess.Popen([sys.executable, "-c", WRITER, str(folder)]) as writer,
        ):
            before = store.read([FENCE])[FENCE].version
            until(lambda b=before: store.read([FENCE])[FENCE].version > b + 3, "commits")
            writer.kill()
            writer.wait()
            names = store.children(HOSTS)
            assert {name[1:] for name in names if name[0] == "a"} == {
                name[1:] for name in names if name[0] == "b"
            }
            assert store.children(CLAIMS) == []
            store.commit([Put(FENCE, b"")])
            assert [each.name for each in (folder / "claims").iterdir()] == []
            for name in names:
                store.commit([Delete(f"{HOSTS}/{name}")])


def test_a_claim_file_names_its_id_and_goes_with_the_claim(folder):
    with DirectoryStore(folder) as store:
        store.commit([Create(CLAIM7, b"", ephemeral=True)])
        (file,) = (folder / "claims").iterdir()
        assert file.name.startswith("7.")
    assert list((folder / "claims").iterdir()) == []


def test_a_lock_that_somebody_keeps_is_not_waited_for_for_ever(folder, monkeypatch):
    monkeypatch.setattr(identity_store, "LOCK_S", 0.05)
    store = DirectoryStore(folder)
    with (folder / "lock").open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        assert store.read([FENCE])[FENCE].version == 0
        with pytest.raises(Unreachable) as refused:
            store.commit([Put(FENCE, b"")])
        assert refused.value.where == str(folder / "lock")
        assert "hangs" in refused.value.hint
    store.commit([Put(FENCE, b"")])


def test_a_lock_that_is_given_back_is_taken(folder):
    store = DirectoryStore(folder)
    held = os.open(folder / "lock", os.O_RDWR)
    fcntl.flock(held, fcntl.LOCK_EX)
    releaser = threading.Timer(0.05, os.close, [held])
    releaser.start()
    store.commit([Put(FENCE, b"")])
    releaser.join()
    assert store.read([FENCE])[FENCE].version == 1


def test_a_full_disk_changes_nothing(folder):
    """A limit on the size of files stands for the full disk: a write fails half way."""
    script = (
        "import resource, signal, sys\n"
        "from rackwise.adapters.files.identity.store import DirectoryStore\n"
        "from rackwise.core.errors import Unreachable\n"
        "from rackwise.core.identity.nodes.store import Create\n"
        "store = DirectoryStore(sys.argv[1])\n"
        "signal.signal(signal.SIGXFSZ, signal.SIG_IGN)\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))\n"
        "try:\n"
        f"    store.commit([Create({H7!r}, b'x' * 9000), Create({CLAIM7!r}, b'', True)])\n"
        "except Unreachable as error:\n"
        "    print(error.message, '|', error.hint)\n"
        "assert not store._claims\n"
    )
    before = (folder / "state.json").read_bytes()
    ran = subprocess.run(
        [sys.executable, "-c", script, str(folder)], capture_output=True, text=True, check=True
    )
    assert os.strerror(errno.EFBIG) in ran.stdout
    assert "what was there before is still there" in ran.stdout
    assert (folder / "state.json").read_bytes() == before
    assert list((folder / "claims").iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] == resource.RLIM_INFINITY


@pytest.mark.parametrize("place", ["gone", "file/below"])
def test_a_directory_that_was_not_prepared_wants_init(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreNotReady) as refused:
        DirectoryStore(tmp_path / place)
    assert "init" in refused.value.hint
    assert {each.state for each in check_parents(tmp_path / place)} == {"missing"}


def test_what_may_not_be_read_or_written_is_named(folder, monkeypatch):
    """Root may do all: the refusal is the system call's, made by hand."""
    store = DirectoryStore(folder)

    def denied(*_, **__):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(folder))

    monkeypatch.setattr(identity_store, "_replace", denied)
    with pytest.raises(MissingPermission) as refused:
        store.commit([Put(FENCE, b""), Create(CLAIM7, b"", ephemeral=True)])
    assert str(folder) in refused.value.message
    assert list((folder / "claims").iterdir()) == []
    assert store.read([CLAIM7]) == {CLAIM7: None}


def test_preparing_again_keeps_what_is_there_and_adds_what_is_missing(folder):
    state = parse_state((folder / "state.json").read_bytes(), where="state")
    kept = {path: entry for path, entry in state.nodes.items() if path != HOSTS}
    (folder / "state.json").write_bytes(format_state(State(number=99, nodes=kept)))
    assert [each.path for each in make_parents(folder) if each.state == "made"] == [HOSTS]
    with DirectoryStore(folder) as store:
        assert store.read([HOSTS])[HOSTS].czxid == 100


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b"[]", b"\xef\xbb\xbf{}", b'{"format":"rackwise.identity-store/2"}',
     b'{"format":"rackwise.identity-store/1","number":true,"nodes":{}}',
     b'{"format":"rackwise.identity-store/1","number":1,"nodes":{"/a":7}}',
     b'{"format":"rackwise.identity-store/1","number":1,"nodes":{"/a":{"data":"","version":0}}}'],
)  # fmt: skip
def test_a_damaged_state_is_refused_and_left_as_it_is(folder, data):
    (folder / "state.json").write_bytes(data)
    with pytest.raises(StoreCorrupt) as refused:
        DirectoryStore(folder)
    assert refused.value.where == str(folder / "state.json")
    assert (folder / "state.json").read_bytes() == data


NODE = '"version":0,"czxid":1,"mzxid":1,"created_ms":1,"modified_ms":1'


@pytest.mark.parametrize(
    "node",
    ['"data":7', '"base64":"%"', '"data":"","base64":""', '"data":"","session":1',
     '"data":"","claim":"7.a"', '"data":"","session":1,"claim":"../7"',
     '"data":"","session":1,"claim":".."', '"data":"","session":true,"claim":"7.a"'],
)  # fmt: skip
def test_a_damaged_node_is_named(folder, node):
    text = f'{{"format":"rackwise.identity-store/1","number":1,"nodes":{{"/a":{{{NODE},{node}}}}}}}'
    (folder / "state.json").write_text(text)
    with pytest.raises(StoreCorrupt, match=r"\$\.nodes\[/a\]"):
        DirectoryStore(folder)


entries = st.builds(
    StoredEntry,
    data=st.binary(max_size=40),
    version=st.integers(0, 2**31),
    czxid=st.integers(0, 2**50),
    mzxid=st.integers(0, 2**50),
    created_ms=st.integers(0, 2**45),
    modified_ms=st.integers(0, 2**45),
)
claims = entries.flatmap(
    lambda entry: st.builds(
        lambda session: StoredEntry(
            **{name: getattr(entry, name) for name in StoredEntry.__slots__[:6]},
            session=session,
            claim=f"7.{session:x}",
        ),
        st.integers(1, 2**52),
    )
)
paths = st.text("abcZ09._:-", min_size=1, max_size=9).map("/brokers/hosts/{}".format)


@given(st.dictionaries(paths, entries | claims, max_size=5), st.integers(0, 2**50))
def test_what_is_written_is_read_back(nodes, number):
    state = State(number=number, nodes=nodes)
    assert parse_state(format_state(state), where="state") == state


def test_a_conflict_leaves_the_file_as_it_is(folder):
    before = (folder / "state.json").read_bytes()
    with DirectoryStore(folder) as store, pytest.raises(Conflict):
        store.commit([Create(H7, b""), Put(FENCE, b"", 9)])
    assert (folder / "state.json").read_bytes() == before


def test_a_commit_whose_clean_up_fails_is_reported_as_done(folder, monkeypatch):
    """The clean-up is no part of the commit, and the next commit removes what is left."""
    left = folder / "claims" / "9.abcd"

    def broken(_path):
        raise OSError(errno.EIO, "Input/output error")

    with DirectoryStore(folder) as store:
        number = store.next_number()
        left.touch()
        with monkeypatch.context() as patched:
            patched.setattr(identity_store.Path, "iterdir", broken)
            assert store.next_number() == number + 1
            store.commit([Create(H7, b"told")])
        assert left.exists()
        assert store.read([H7])[H7].data == b"told"
        assert store.next_number() == number + 2
        assert not left.exists()
