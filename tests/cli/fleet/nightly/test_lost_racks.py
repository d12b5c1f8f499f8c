"""Nights of brokers that lose their racks: the webhook gets it once, and its end once."""

from contextlib import closing

import pytest

from kafka_traffic import create
from nights import FIRST, SECOND, THIRD, Fleet, StepHere
from rackwise.adapters.files import write_snapshot
from rackwise.adapters.kafka import connect
from rackwise.adapters.sandbox import Sandbox
from rackwise.cli.fleet.nightly import drive
from small_clusters import small_cluster
from webhooks import webhook

FOURTH = "2026-11-29T02:00:00Z"
RACKS = {1: "a", 2: "b", 3: "a"}
LISTS = {"orders-0": [1, 2], "clicks-0": [2, 3]}
UNKNOWN, KNOWN = ("safety-unknown", "shop"), ("safety-known", "shop")


@pytest.fixture
def hook():
    with webhook() as made:
        yield made


@pytest.fixture
def night(tmp_path, hook, monkeypatch):
    """A night of brokers with these racks; its looks write snapshots, its other steps run here."""
    racks = {}

    class Looked(StepHere):
        def __init__(self, words, **others):
            if "snapshot" in words:
                write_snapshot(small_cluster(racks, LISTS), words[words.index("--out") + 1])
                self._ended = 0, '{"cluster_id": "small"}', ""
            else:
                super().__init__(words, **others)

    monkeypatch.setattr(drive, "StepProcess", Looked)
    fleet = Fleet(tmp_path, {"shop": {"bootstrap": "127.0.0.1:1"}}, url=hook.url)

    def run(at, given):
        racks.clear()
        racks.update(given)
        told = len(hook.kinds())
        result = fleet.called(at)
        assert result.code in {0, 2}, result
        return hook.kinds()[told:], fleet.state()["clusters"]["shop"]

    return run


def test_a_cluster_that_lost_its_racks_is_told_once_and_once_when_it_has_them_again(night, hook):
    lost = dict.fromkeys(RACKS)
    assert night(FIRST, RACKS)[0] == []
    told, kept = night(SECOND, lost)
    assert told == [UNKNOWN]
    assert (kept["unknown_since"], "spread-even" in kept["unchecked"]) == ("2026-11-27", True)
    assert hook.documents[-1]["notices"][0]["text"] == (
        "shop: since the night of 2026-11-27 it is not known whether all topics are safe: 4 rules "
        "were not checked (no broker has a rack); set broker.rack on each broker, then run "
        "rackwise audit --cluster shop"
    )
    told, again = night(THIRD, lost)
    assert (told, again["unknown_since"]) == ([], "2026-11-27")
    told, kept = night(FOURTH, RACKS)
    assert (told, kept["unknown_since"], kept["unchecked"]) == ([KNOWN], None, [])
    assert hook.documents[-1]["text"].endswith("since the night of 2026-11-27; no topic is unsafe")


@pytest.mark.kafka
@pytest.mark.long
def test_brokers_that_lose_broker_rack_are_told_and_so_is_its_return(java_home, tmp_path, hook):
    racks = ("a", "b")
    with Sandbox.kraft(
        racks=racks, brokers=2, java_home=java_home, folder=tmp_path / "kafka"
    ) as kafka:
        with closing(connect(kafka.bootstrap)) as admin:
            create(admin, "lost-racks", [[0, 1]])
        fleet = Fleet(tmp_path, {"shop": {"bootstrap": kafka.bootstrap}}, url=hook.url)
        found = []
        for at, given in ((FIRST, None), (SECOND, (None, None)), (THIRD, None), (FOURTH, racks)):
            for broker, rack in enumerate(given or ()):
                restart(kafka, broker, rack)
            told = len(hook.kinds())
            result = fleet.night(at)
            assert result.code in {0, 2}, result
            found.append([kind for kind, _ in hook.kinds()[told:] if kind.startswith("safety")])
    assert found == [[], ["safety-unknown"], [], ["safety-known"]]


def restart(kafka, broker, rack):
    """Restart a broker with a rack, or without one."""
    file = kafka.folder / f"broker-{broker}" / "server.properties"
    lines = [line for line in file.read_text().splitlines() if not line.startswith("broker.rack=")]
    kafka.stop(broker)
    kafka.wait_until_gone(broker)
    file.write_text("\n".join([*lines, *([] if rack is None else [f"broker.rack={rack}"]), ""]))
    kafka.start(broker)
    kafka.wait_until_ready()
