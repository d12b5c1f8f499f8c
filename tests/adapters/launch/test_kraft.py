"""A start in KRaft mode: a store in a folder, a cluster that is asked over its brokers."""

import pytest

from rackwise.adapters.files.identity.store import make_parents
from rackwise.adapters.launch import AcquireOptions, acquire, driver
from rackwise.adapters.launch.views import lazy_view
from rackwise.core.errors import InvalidConfig, Unreachable
from rackwise.core.identity.refusals import ClusterMismatch, IdInUse, NotRegistered

pytestmark = pytest.mark.kafka


def options(tmp_path, bootstrap, node_id, **told):
    folder = tmp_path / "ids"
    make_parents(str(folder))
    file = tmp_path / "server.properties"
    file.write_text(
        f"process.roles=broker\nnode.id={node_id}\nlog.dirs={tmp_path}/a\n"
        "controller.quorum.voters=1@localhost:1\ncontroller.listener.names=CONTROLLER\n"
    )
    (tmp_path / "a").mkdir()
    return AcquireOptions(
        server_properties=file,
        store_url=f"file://{folder}",
        bootstrap_server=bootstrap,
        key="text:h7",
        wait_s=0.2,
        hold_s=0.2,
        **told,
    )


def test_a_free_id_is_written_with_the_clusters_own(kraft_cluster, tmp_path):
    with pytest.raises(NotRegistered):
        acquire(options(tmp_path, kraft_cluster.bootstrap, 77), None)
    lines = (tmp_path / "a" / "meta.properties").read_text().splitlines()
    assert "node.id=77" in lines
    assert any(line.startswith("cluster.id=") for line in lines)
    assert any(line.startswith("directory.id=") for line in lines)


def test_an_id_that_lives_is_refused(kraft_cluster, tmp_path):
    with pytest.raises(IdInUse):
        acquire(options(tmp_path, kraft_cluster.bootstrap, 0), None)
    assert list((tmp_path / "a").iterdir()) == []


def test_an_empty_disk_needs_somebody_who_answers(tmp_path, monkeypatch):
    monkeypatch.setattr(lazy_view, "FIRST_S", 1.0)
    with pytest.raises(Unreachable):
        acquire(options(tmp_path, "127.0.0.1:1", 77), None)
    assert list((tmp_path / "a").iterdir()) == []


def test_a_new_cluster_is_told_its_id(tmp_path, monkeypatch):
    """Its brokers cannot be asked, for none runs; without a command nobody starts one."""
    monkeypatch.setattr(lazy_view, "FIRST_S", 1.0)
    told = {"new_cluster": True, "cluster_id": "Some0000000000000000Ag"}
    taken = []
    with pytest.raises(Unreachable):
        acquire(options(tmp_path, "127.0.0.1:1", 77, **told), None, on_acquired=taken.append)
    assert [each.warnings for each in taken] == [(driver.SILENCE,)]
    lines = (tmp_path / "a" / "meta.properties").read_text().splitlines()
    assert {"node.id=77", "cluster.id=Some0000000000000000Ag"} < set(lines)


def test_a_new_cluster_without_an_id_is_refused(tmp_path):
    with pytest.raises(InvalidConfig) as met:
        acquire(options(tmp_path, "127.0.0.1:1", 77, new_cluster=True), None)
    assert met.value.wanted == "--cluster-id ID"
    assert list((tmp_path / "a").iterdir()) == []


def test_the_id_of_another_cluster_is_refused(kraft_cluster, tmp_path):
    told = {"new_cluster": True, "cluster_id": "Some0000000000000000Ag"}
    with pytest.raises(ClusterMismatch):
        acquire(options(tmp_path, kraft_cluster.bootstrap, 77, **told), None)
    assert list((tmp_path / "a").iterdir()) == []
