"""`rackwise upgrade check` on a real ZooKeeper, and what it refuses without one."""

from __future__ import annotations

import re
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from identity_stores import Place
from rackwise.adapters import zookeeper
from rackwise.adapters.sandbox.ports import free_ports
from rackwise.core.errors import InvalidConfig
from rackwise.core.identity.nodes.store import IDS, Create, Put
from rackwise.core.json.strict import parse
from rackwise.core.wire import upgrade, write_registration
from refusals import called, check_refused
from registrations import endpoint, sample

OLD = ["1=0.9.0.1,", "2=0.9.0.1,"]
SET = ["1=0.9.0.1,0.9.0.X", "2=0.9.0.1,0.9.0.X"]
UPGRADED = ["1=0.10.0,0.9.0.X", "2=0.10.0,0.9.0.X"]
RAISED = ["1=0.10.0,0.10.0", "2=0.10.0,0.10.0"]


GUIDE = (Path(__file__).parents[3] / "docs" / "guides" / "upgrade.md").read_text()


class Cluster:
    """Registrations below a chroot, rewritten one by one."""

    def __init__(self, url, running):
        self.zookeeper = url.removeprefix("zookeeper://")
        self.store = Place(url, running).prepare().open()

    def registered(self, broker_id, version, host="h", **changed):
        listeners = (endpoint(f"PLAINTEXT://{host}:9092"),)
        printed = sample(broker_id=broker_id, endpoints=listeners, **changed)
        self.put(broker_id, write_registration(printed, version=version))

    def put(self, broker_id, data):
        path = f"{IDS}/{broker_id}"
        is_there = self.store.read([path])[path] is not None
        self.store.commit([Put(path, data) if is_there else Create(path, data, ephemeral=True)])

    def check(self, *members, options=()):
        words = [word for member in members for word in ("--member", member)]
        return called("upgrade", "check", "--zookeeper", self.zookeeper, *words, *options)

    def printed(self, *members, options=()):
        code, out, err = self.check(*members, options=[*options, "--json"])
        assert err == ""
        return code, parse(out.encode(), where="stdout", error=InvalidConfig)


@pytest.fixture
def cluster(lone_zookeeper, chroot):
    with ExitStack() as running:
        yield Cluster(lone_zookeeper.url + chroot, running)


@pytest.mark.zookeeper
class TestSteps:
    """KIP-36: "rolling upgrade requires these steps"."""

    def test_the_four_steps_as_versions_and_racks_are_rewritten_one_by_one(self, cluster):
        for broker_id in (1, 2):
            cluster.registered(broker_id, 2)
        steps = []
        for members in (OLD, SET, UPGRADED, RAISED):
            code, printed = cluster.printed(*members)
            steps.append((code, printed["step"], printed["waiting"]))
        assert steps == [(0, 1, [1, 2]), (0, 2, [1, 2]), (0, 3, [1, 2]), (0, 4, [1, 2])]
        cluster.registered(1, 5)
        code, printed = cluster.printed(*RAISED)
        assert (code, printed["step"], printed["waiting"]) == (0, 4, [2])
        cluster.registered(2, 5, rack=None)
        code, printed = cluster.printed(*RAISED)
        assert (code, printed["step"], printed["waiting"]) == (2, None, [])
        assert [each["rule"] for each in printed["findings"]] == ["partial-racks"]
        cluster.registered(2, 5)
        code, printed = cluster.printed()
        assert (code, printed["step"], printed["findings"]) == (0, None, [])
        assert printed["format"] == "rackwise.upgrade/1"
        assert [each["rack"] for each in printed["brokers"]] == ["dc1", "dc1"]

    def test_what_is_not_told_is_not_known(self, cluster):
        cluster.registered(1, 2)
        code, printed = cluster.printed()
        assert (code, printed["step"], printed["unknown"]) == (2, 1, [1])
        assert [(each["rule"], each["severity"]) for each in printed["findings"]] == [
            ("version-unknown", "warning"),
            ("reader-breaks", "warning"),
        ]
        assert {each["hint"] for each in printed["findings"]} == {
            "give it for each of them, such as --member 1=SOFTWARE,IBP",
            "give its version: --member 1=SOFTWARE,IBP",
        }

    @pytest.mark.parametrize("to", [(), ("--to", "0.10.0")])
    def test_clients_of_0_9_0_0_are_held_against_what_comes(self, cluster, to):
        cluster.registered(1, 2)
        options = ("--client", "0.9.0.0", "--client", "0.9.0.1", *to)
        code, printed = cluster.printed("1=0.9.0.1,0.9.0", options=options)
        assert code == 2
        assert [each["message"].partition(":")[0] for each in printed["findings"]] == [
            "clients of version 0.9.0.0"
        ]


@pytest.mark.zookeeper
class TestShown:
    def test_text(self, cluster):
        cluster.registered(2, 3)
        cluster.registered(10, 2)
        code, out, err = cluster.check("10=0.9.0.0,0.9.0,dc2")
        assert (code, err) == (2, "")
        assert out.splitlines()[:6] == [
            "broker  registration  software  IBP    rack  endpoints",
            "     2             3  ?         ?      dc1   PLAINTEXT://h:9092",
            "    10             2  0.9.0.0   0.9.0  dc2   PLAINTEXT://h:9092",
            "",
            "step 2 of 4 to 0.10.0-IV1: upgrade the software of one broker after the other",
            "  not done: 10",
        ]
        assert (
            "error: broker 10: reader-breaks: wanted version 0.9.0.1 or later; had 0.9.0.0" in out
        )
        assert "warning: broker 10: rack-hidden: wanted a registration of version 3 " in out

    def test_the_sample_of_the_guide(self, cluster):
        cluster.registered(1, 2, host="kafka-1")
        cluster.registered(2, 2, host="kafka-2")
        words, _, lines = re.search(r"\$ rackwise (.*?)\n(.*?)```", GUIDE, re.DOTALL)[0].partition(
            "\n"
        )
        code, out, _ = cluster.check(*re.findall("--member ([^ ]+)", words))
        assert (code, out) == (0, lines.removesuffix("```"))

    def test_what_must_be_told_is_named(self, cluster):
        for broker_id in range(1, 12):
            cluster.registered(broker_id, 2)
        _, out, _ = cluster.check("3=0.9.0.1,")
        assert "  not done: 1, 2, 3, 4, 5, 6, 7, 8 and 3 more\n" in out
        assert "had not known of brokers 1, 2, 4, 5, 6, 7, 8, 9 and 2 more;" in out
        assert "such as --member 1=SOFTWARE,IBP\n" in out
        assert "not set" in out

    def test_all_done(self, cluster):
        cluster.registered(1, 3)
        assert cluster.check()[1].splitlines()[-1] == (
            "all four steps to 0.10.0-IV1 are done: every registration has version 3 or later"
        )


@pytest.mark.zookeeper
class TestRefused:
    def test_a_registration_that_is_none(self, cluster):
        cluster.put(7, b'{"version":0}')
        check_refused(
            ["upgrade", "check", "--zookeeper", cluster.zookeeper],
            "invalid /brokers/ids/7 at $.version: expected a version from 1 on, got 0",
            None,
        )

    def test_a_broker_that_is_not_registered(self, cluster):
        cluster.registered(1, 2)
        check_refused(
            ["upgrade", "check", "--zookeeper", cluster.zookeeper, "--member", "3=0.9.0.1,0.9.0"],
            "invalid --member: expected one of 1, got 3",
            "wait until that broker has started again, or omit its --member",
        )

    def test_nobody_is_registered(self, cluster):
        check_refused(
            ["upgrade", "check", "--zookeeper", cluster.zookeeper],
            f"expected registered brokers in {cluster.zookeeper}, got none below /brokers/ids",
            "add the chroot of the brokers' zookeeper.connect; KRaft needs no such upgrade",
        )


HINTS = {
    "--member": "use for example --member 1=0.10.0,0.9.0",
    "--zookeeper": "use for example --zookeeper zk-1:2181,zk-2:2181/kafka",
    "version": "two to four numbers: 0.9.0.1, 3.9.2",
    "ibp": "three numbers where the first is 0, else two, perhaps with -IVn: 0.10.0, 3.9-IV0",
}


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (["--member", "1"], "invalid --member: expected ID=SOFTWARE,IBP, got 1", "--member"),
        (
            ["--member", "x=1.0,1.0"],
            "invalid --member: expected ID=SOFTWARE,IBP, got x=1.0,1.0",
            None,
        ),
        (["--member", "-1=1.0"], "invalid --member: expected ID=SOFTWARE,IBP, got -1=1.0", None),
        (
            ["--member", "1=x,0.9.0"],
            "invalid --member: expected a version of Kafka, got x",
            "version",
        ),
        (["--client", "x"], "invalid --client: expected a version of Kafka, got x", "version"),
        (
            ["--member", "1=0.9.0.1,x"],
            "invalid --member: expected an inter.broker.protocol.version, got x",
            "ibp",
        ),
        (["--to", "x"], "invalid --to: expected an inter.broker.protocol.version, got x", "ibp"),
    ],
)
def test_what_is_refused_before_anybody_is_asked(words, message, hint):
    command = ["upgrade", "check", "--zookeeper", "127.0.0.1:1", *words]
    check_refused(command, message, HINTS[hint or "--member"])


@pytest.mark.parametrize("text", ["zk-1:x", "", "zookeeper://h:1", "h:1/a//b", "h:99999"])
def test_an_address_that_is_none_names_its_own_option(text):
    check_refused(
        ["upgrade", "check", "--zookeeper", text],
        f"invalid --zookeeper: expected HOST:PORT[,HOST:PORT...][/CHROOT], got {text}",
        HINTS["--zookeeper"],
    )


def test_a_zookeeper_that_does_not_answer(monkeypatch):
    monkeypatch.setattr(
        zookeeper, "open_zookeeper", partial(zookeeper.open_zookeeper, connect_s=1.0)
    )
    (port,) = free_ports(1)
    code, _, err = called("upgrade", "check", "--zookeeper", f"127.0.0.1:{port}")
    assert code == 1
    assert "within 1 s" in err
    assert err.splitlines()[-1].startswith("hint: check the address of --zookeeper, ")


def test_a_broker_that_is_told_twice():
    check_refused(
        ["upgrade", "check", "--zookeeper", "h:1", "--member", "1=1.0", "--member", "1=1.0"],
        "invalid --member: broker 1 appears twice",
        "omit one of them",
    )


def test_the_python_of_the_guide_holds():
    (block,) = re.findall(r"```python\n(.*?)```", GUIDE, re.DOTALL)
    exec(compile(block, "upgrade.md", "exec"), {})  # noqa: S102 (our own page)


def test_the_guide_explains_every_finding():
    source = Path(upgrade.__file__).read_text()
    codes = set(re.findall(r'^ +"([a-z]+-[a-z-]+)",$', source, re.MULTILINE))
    codes |= set(re.findall(r'code="([a-z-]+)"', source))
    assert codes == set(re.findall(r"^\| `([a-z-]+)` \|", GUIDE, re.MULTILINE))
    assert len(codes) == 7
