"""The guide from plain racks to paths, on six real brokers that restart one after the other.

A service calls `ensure_topic` from before the first restart until after the last one.
"""

from __future__ import annotations

import threading
from contextlib import closing, contextmanager

import pytest

from kafka_topics import document
from kafka_traffic import until
from rackwise.adapters.kafka import connect, ensure_topic
from rackwise.core.errors import WorldError
from refusals import called
from shown_commands import ROOT, blocks_of, missing_lines, shown_commands

GUIDE = ROOT / "docs" / "guides" / "from-plain-racks-to-paths.md"
ZONES = ("use1-az1", "use1-az2", "use1-az3")
SPREAD = {"spread-even", "spread-distinct", "spread-at-least"}


class Service:
    """Creates a topic of its own every second, as a service does when it starts."""

    def __init__(self, bootstrap):
        self._bootstrap = bootstrap
        self._is_over = threading.Event()
        self.created = []
        self.tries_again = 0
        self.errors = []

    def run(self):
        number = 0
        while not self._is_over.wait(1.0):
            try:
                with closing(connect(self._bootstrap)) as admin:
                    assert ensure_topic(admin, f"service-{number}", 1, 3)
            except WorldError:
                self.tries_again += 1  # a broker that is about to stop was asked
                number += 1
            except BaseException as error:
                self.errors.append(error)
                raise
            else:
                self.created.append(f"service-{number}")
                number += 1

    @contextmanager
    def running(self):
        thread = threading.Thread(target=self.run)
        thread.start()
        try:
            yield self
        finally:
            self._is_over.set()
            thread.join()

    def works(self):
        """Wait until the service has created another topic."""
        before = len(self.created)
        until(lambda: len(self.created) > before or self.errors, "the service")
        assert self.errors == []


class Guide:
    """The commands of the guide, on a cluster."""

    def __init__(self, bootstrap, folder):
        self._bootstrap = bootstrap
        self._folder = folder
        (policy,) = (text for _, text in blocks_of(GUIDE, "toml"))
        (folder / "policy.toml").write_text(policy)
        self.seen = []

    def words(self, shown):
        files = {path: str(self._folder / path) for path in ("policy.toml", "after.json.gz")}
        files |= {"plan.json": str(self._folder / "plan.json"), "kafka-1:9092": self._bootstrap}
        return [files.get(word, word) for word in shown.words]

    def follow(self, heading, codes=(0,)):
        """Run the commands of a section; each prints what the guide shows."""
        for shown in shown_commands(GUIDE):
            if shown.heading == heading:
                code, out, err = called(*self.words(shown))
                assert code in codes, (shown.words, out, err)
                assert missing_lines(shown, out) == [], (shown.words, out)
                self.seen.append(shown)

    def audit(self, *more):
        """What an audit finds: the rules about brokers, and those about the topic `orders`."""
        _, out, _ = called("audit", "--bootstrap-server", self._bootstrap, "--json", *more)
        findings = document(out)["findings"]
        odd = {each["broker"] for each in findings if each["rule"] == "rack-odd"}
        broken = {each["rule"] for each in findings if each["topic"] == "orders"} & SPREAD
        return odd, broken


def restart_with_path(cluster, broker):
    file = cluster.folder / f"broker-{broker}" / "server.properties"
    name = ZONES[broker % 3]
    cluster.stop(broker)
    cluster.wait_until_gone(broker)
    text = file.read_text()
    assert f"broker.rack={name}\n" in text
    file.write_text(text.replace(f"broker.rack={name}\n", f"broker.rack=/us-east-1/{name}\n"))
    cluster.start(broker)
    cluster.wait_until_ready()


def wait_until_in_sync(guide):
    """Repeat the command of the guide until its exit code is 0."""

    def is_in_sync():
        (shown,) = (each for each in shown_commands(GUIDE) if each.heading.startswith("Restart"))
        return called(*guide.words(shown))[0] == 0

    until(is_in_sync, "all replicas to be in sync", timeout_s=120)


@pytest.mark.kafka
@pytest.mark.long
def test_the_steps_of_the_guide_while_a_service_creates_topics(make_kraft, tmp_path, monkeypatch):
    monkeypatch.setenv("RACKWISE_STATE", str(tmp_path / "state"))
    cluster = make_kraft(brokers=6, racks=ZONES)
    server = ["--bootstrap-server", cluster.bootstrap]
    size = ["--partitions", "6", "--replication-factor", "3"]
    assert called("topic", "create", "orders", *server, *size, "--seed", "1")[0] == 0
    guide = Guide(cluster.bootstrap, tmp_path)
    with_map = ["--policy", str(tmp_path / "policy.toml")]
    guide.follow("Audit before the first restart")
    with Service(cluster.bootstrap).running() as service:
        service.works()
        for broker in range(6):
            restart_with_path(cluster, broker)
            wait_until_in_sync(guide)
            service.works()
            assert guide.audit(*with_map) == (set(), set())
            done = set(range(broker + 1))
            odd, broken = guide.audit()
            assert odd == (done if len(done) < 3 else set(range(6)) - done)
            assert broken == set()
            if broker == 0:
                guide.follow("Audit between two restarts", codes=(0, 2))
                guide.follow("Create topics between two restarts")
                code, _, err = called("topic", "create", "refused", *server, *size)
                assert (code, 'broker 0 ("/us-east-1/use1-az1": expected' in err) == (1, True)
            if broker == 1:
                plan_under_the_map(cluster, tmp_path, with_map)
            if broker == 2:
                apply_the_plan(cluster, tmp_path)
        guide.follow("Audit and repair after the last restart", codes=(0, 2))
        guide.follow("Change the clients", codes=(2,))
        service.works()
    assert service.errors == []
    assert len(service.created) > 6
    until(lambda: guide.audit("--rule", "spread-even") == (set(), set()), "the repair")
    _, out, _ = called("audit", *server, "--json", "--rule", "spread-even")
    assert document(out)["findings"] == []
    assert [each for each in shown_commands(GUIDE) if each not in guide.seen] == [
        each for each in shown_commands(GUIDE) if each.heading.startswith("Restart")
    ]


def plan_under_the_map(cluster, folder, with_map):
    """A plan of a moment when two of six brokers have paths; it moves what ignores racks."""
    server = ["--bootstrap-server", cluster.bootstrap]
    rows = ["--replica-assignment", "0:3:1,2:5:4"]
    assert called("topic", "create", "skewed", *server, *rows)[0] == 0
    words = ["--out", str(folder / "between.json.gz")]
    until(lambda: called("snapshot", *server, *words)[0] == 0, "a snapshot")
    words = ["--snapshot", str(folder / "between.json.gz"), "--topics", "skewed"]
    code, out, _ = called(
        "plan", "repair", *words, *with_map, "--out", str(folder / "between-plan.json")
    )
    assert (code, "~ skewed-0" in out, "~ skewed-1" in out) == (2, True, True)


def apply_the_plan(cluster, folder):
    """The plan is valid after one more broker has restarted with a path."""
    plan = str(folder / "between-plan.json")
    code, out, err = called("apply", plan, "--bootstrap-server", cluster.bootstrap)
    assert code == 0, (out, err)
