"""Another client of ZooKeeper deletes or overwrites mappings: refused with a login, and shown."""

from __future__ import annotations

from contextlib import closing

import pytest
from kazoo.client import KazooClient
from kazoo.exceptions import NoAuthError
from kazoo.security import OPEN_ACL_UNSAFE, make_digest_acl

from broker_id_schemas import check_document
from rackwise.adapters.launch.views import stores
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import (
    CLAIMS,
    FENCE,
    HOSTS,
    IDS,
    KAFKAS,
    OURS,
    OWNERS,
    TOPICS,
    Create,
)
from rackwise.core.json.strict import parse
from refusals import called

pytestmark = pytest.mark.zookeeper

MAPPED = b'{"version":0,"broker.id":7}'
STOLEN = b'{"version":0,"broker.id":9}'
REGISTERED = (
    b'{"version":5,"host":"h7","port":9092,"endpoints":["PLAINTEXT://h7:9092"],"jmx_port":-1,'
    b'"listener_security_protocol_map":{"PLAINTEXT":"PLAINTEXT"},"timestamp":"1","features":{}}'
)
OPEN = "may be changed and deleted by any client that reaches ZooKeeper"


@pytest.fixture
def url(lone_zookeeper, chroot):
    """The chroot exists, open to all."""
    with closing(stores.open_store(lone_zookeeper.url)) as root:
        root._client.ensure_path(chroot)
    return lone_zookeeper.url + chroot


@pytest.fixture
def login(tmp_path):
    """`--store-config` of a digest login; others may read the nodes."""
    secret, config = tmp_path / "password", tmp_path / "store.properties"
    secret.write_text("kafkas-own\n")
    config.write_text(
        f"auth.scheme=digest\nauth.user=kafka\nauth.password.file={secret}\nacl.world.read=true\n"
    )
    for file in (secret, config):
        file.chmod(0o600)
    return "--store-config", str(config)


@pytest.fixture
def thief(url):
    """A client that has another login."""
    client = KazooClient(url.removeprefix("zookeeper://"))
    client.start(timeout=30)
    client.add_auth("digest", "thief:secret")
    yield client
    client.stop()
    client.close()


def kafkas_nodes(url):
    """As a first broker leaves them: open to all."""
    with closing(stores.open_store(url)) as store:
        store.commit([Create(path, b"") for path in KAFKAS])
        store.commit([Create(f"{IDS}/7", REGISTERED)])


def adopted(url, *words):
    kafkas_nodes(url)
    code, _, err = called("broker-id", "init", "--store", url, *words)
    assert code == 0
    assert called("broker-id", "adopt", "--all", "--store", url, *words)[0] == 0
    return err


def shown(url, *words, expect):
    code, out, err = called("broker-id", "show", "--key", "h7", "--store", url, *words, "--json")
    assert code == expect, err
    told = parse(out.encode(), where="stdout", error=InvalidConfig)
    check_document(told)
    return told


def dump(url):
    paths = (f"{HOSTS}/h7", f"{OWNERS}/7", FENCE)
    with closing(stores.open_store(url, read_only=True)) as store:
        return store.read(paths)


def test_without_a_login_init_warns_that_the_nodes_are_open(url):
    err = adopted(url)
    assert f"warning: {len(OURS)} nodes of the store {OPEN}" in err
    assert "set a login in --store-config before the first init" in err
    code, out, err = called("broker-id", "init", "--check", "--store", url, "--json")
    assert (code, OPEN in err) == (0, True)
    document = parse(out.encode(), where="stdout", error=InvalidConfig)
    check_document(document)
    assert {each["path"] for each in document["nodes"] if each["open"]} == set(OURS)
    told = called("broker-id", "show", "--key", "h7", "--store", url)[1]
    assert "changed by world:anyone (any client that reaches ZooKeeper)\n" in told


@pytest.mark.parametrize("is_deleted", [False, True])
def test_without_a_login_a_theft_succeeds_and_show_tells_of_it(url, thief, is_deleted):
    adopted(url)
    assert shown(url, expect=0)["writers"] == ["world:anyone"]
    if is_deleted:
        thief.delete(f"{HOSTS}/h7")
    else:
        thief.set(f"{HOSTS}/h7", STOLEN)
    told = shown(url, expect=2)
    assert told["mapped_id"] == (None if is_deleted else 9)
    assert told["disagreements"] == ["h7 registered id 7, which is not mapped to it"]


def test_with_a_login_another_client_can_neither_delete_nor_overwrite(url, login, thief):
    err = adopted(url, *login)
    assert OPEN not in err
    before = dump(url)
    assert before[f"{HOSTS}/h7"].data == MAPPED
    attempts = (
        lambda: thief.delete(f"{HOSTS}/h7"),
        lambda: thief.set(f"{HOSTS}/h7", STOLEN),
        lambda: thief.set_acls(f"{HOSTS}/h7", OPEN_ACL_UNSAFE),
        lambda: thief.create(f"{HOSTS}/h8", MAPPED),
        lambda: thief.create(f"{CLAIMS}/7", b"{}", ephemeral=True),
        lambda: thief.delete(f"{OWNERS}/7"),
        lambda: thief.set(FENCE, b""),
    )
    for attempt in attempts:
        with pytest.raises(NoAuthError):
            attempt()
    assert dump(url) == before
    told = shown(url, *login, expect=0)
    assert (told["mapped_id"], told["writers"]) == (7, ["self"])
    assert shown(url, expect=0)["writers"] == ["digest:kafka"]


@pytest.mark.parametrize(
    "words",
    [
        ("assign", "h8", "9"),
        ("assign", "h7", "9"),
        ("retire", "9"),
        ("adopt", "7", "--force", "--key", "k-{broker.id}"),
    ],
)
def test_our_own_commands_without_the_login_are_denied(url, login, words):
    adopted(url, *login)
    before = dump(url)
    code, out, err = called("broker-id", *words, "--store", url)
    assert (code, out) == (4, "")
    assert err.startswith("error: ZooKeeper denies ")
    assert dump(url) == before


def test_an_assignment_to_a_key_whose_mapping_is_denied_names_the_login(url, login):
    adopted(url, *login)
    path = f"{HOSTS}/h7"
    with closing(stores.open_store(url)) as store:
        store._client.add_auth("digest", "kafka:kafkas-own")
        store._client.set_acls(path, [make_digest_acl("another", "secret", all=True)])
    before = dump(url)
    code, _, err = called("broker-id", "assign", "h7", "9", "--store", url, *login)
    assert (code, f"hint: log in as the owner of {path}" in err) == (4, True), err
    code, _, err = called("broker-id", "assign", "h7", "9", "--force", "--store", url, *login)
    assert (code, f"error: ZooKeeper denies WRITE on {path}" in err) == (4, True), err
    assert dump(url) == before


def test_a_mapping_that_may_be_written_and_not_read_is_replaced_by_force(url, login):
    adopted(url, *login)
    path = f"{HOSTS}/h7"
    with closing(stores.open_store(url)) as store:
        store._client.add_auth("digest", "kafka:kafkas-own")
        store._client.set(path, STOLEN)
        store._client.set_acls(
            path, [make_digest_acl("kafka", "kafkas-own", write=True, admin=True)]
        )
    code, _, err = called("broker-id", "assign", "h7", "8", "--force", "--store", url, *login)
    assert code == 0, err
    with closing(stores.open_store(url)) as store:
        store._client.add_auth("digest", "kafka:kafkas-own")
        store._client.set_acls(path, OPEN_ACL_UNSAFE)
        assert store.read([path])[path].data == b'{"version":0,"broker.id":8}'


def test_a_start_without_the_login_is_denied_and_takes_nothing(url, login, tmp_path):
    adopted(url, *login)
    with closing(stores.open_store(url)) as store:
        store.commit([Create(f"{TOPICS}/orders", b'{"version":2,"partitions":{"0":[9]}}')])
    before = dump(url)
    file, data = tmp_path / "server.properties", tmp_path / "data"
    connect = url.removeprefix("zookeeper://")
    file.write_text(f"log.dirs={data}\nzookeeper.connect={connect}\n")
    start = ("acquire", "--server-properties", file, "--key", "text:thief", "--hold", "0")
    code, _, err = called("broker-id", *start, "--spare", "any", "--grace", "0")
    assert (code, "ZooKeeper denies" in err) == (4, True)
    assert dump(url) == before
    assert not list(data.rglob("*"))


def test_init_where_no_broker_has_registered_is_warned_of(url):
    """Such as a chroot that the brokers do not have."""
    first, second = (called("broker-id", "init", "--store", url)[2] for _ in range(2))
    warning = "warning: created Kafka's own nodes, because no broker has ever registered at this "
    assert warning in first
    assert "the path of --store differs from zookeeper.connect\n" in first
    assert warning not in second


def test_kafkas_own_nodes_under_a_digest_login_are_warned_of(url, login):
    """Kafka cannot log in so: its broker could not register."""
    code, _, err = called("broker-id", "init", "--store", url, *login)
    assert (code, "which Kafka cannot use: its brokers will be denied" in err) == (0, True)
    assert "will be denied" not in called("broker-id", "init", "--store", url, *login)[2]
