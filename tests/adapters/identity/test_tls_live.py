"""Brokers of a cluster of TLS alone, whose registrations name no host: the KIP's gc fails there."""

import subprocess
from contextlib import closing

import pytest

from kafka_pem import AUTHORITY, CERTIFICATE, KEY
from kafka_traffic import until
from launched_brokers import RACKWISE, ZooKeeperBrokers
from rackwise.adapters.launch import operator
from rackwise.adapters.launch.views import stores
from rackwise.adapters.zookeeper import ZooKeeperView
from rackwise.core.identity.nodes.store import HOSTS, IDS, Create

pytestmark = [pytest.mark.zookeeper, pytest.mark.fault, pytest.mark.long]

OLD_ENOUGH_S = 150.0
"""A registration is young for a minute."""


@pytest.fixture
def fleet(java_home, tmp_path):
    keystore, authority = tmp_path / "broker.pem", tmp_path / "authority.pem"
    keystore.write_text(KEY + CERTIFICATE)
    authority.write_text(AUTHORITY)
    overrides = {
        "security.inter.broker.protocol": "SSL",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": str(keystore),
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(authority),
    }
    folder = tmp_path / "tls"
    with ZooKeeperBrokers(
        java_home=java_home, folder=folder, brokers=2, protocol="SSL", overrides=overrides
    ) as made:
        yield made


def test_ids_come_back_and_gc_goes_by_who_was_seen_to_register(fleet):
    ids = fleet.up()
    broker = fleet.brokers[0]
    broker.kill()
    broker.wipe()
    assert fleet.up(0) == {0: ids[0]}
    with closing(stores.open_store(fleet.url, None)) as store:
        path = f"{IDS}/{ids[0]}"
        assert b'"host":null' in store.read((path,))[path].data
        mapping = b'{"version":0,"broker.id":%d}' % ids[0]
        store.commit((Create(f"{HOSTS}/old", mapping),))
        view = ZooKeeperView(store)

        def garbage():
            return operator.garbage(store, view, apply=False, has_registrations=True)

        until(garbage, "the registration to be old enough", OLD_ENOUGH_S)
        assert [(each.mapping.key, each.winner) for each in garbage()] == [("old", "host-0")]
        literal = operator.garbage_literal(store, apply=False)
        assert {each.mapping.key for each in literal} == {"host-0", "host-1", "old"}
    done = subprocess.run([*RACKWISE, "gc", "--apply", "--store", fleet.url], check=False)
    assert done.returncode == 0
    assert {key: fleet.mapping(key) for key in ("host-0", "host-1", "old")} == {
        "host-0": ids[0],
        "host-1": ids[1],
        "old": None,
    }
