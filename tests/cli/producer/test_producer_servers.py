"""`rackwise producer` asks running brokers where leaders are."""

from __future__ import annotations

from contextlib import closing

import pytest

from consumer_snapshots import document
from kafka_traffic import create
from producer_snapshots import rates_text
from rackwise.adapters.files import read_split
from rackwise.adapters.kafka import connect
from refusals import called

TOPIC = "bounded"
LEADERS = [0, 1, 2, 0, 1, 2]
"""Brokers 0, 1, 2 are in racks a, b, c."""


@pytest.mark.kafka
def test_a_split_from_brokers(kraft_cluster, tmp_path):
    rates, out = tmp_path / "r.json", tmp_path / "split.json"
    rates.write_text(rates_text("a 1e6 b 1e6", topic=TOPIC))
    with closing(connect(kraft_cluster.bootstrap)) as admin:
        create(admin, TOPIC, [[leader] for leader in LEADERS])
        words = ["--bootstrap-server", kraft_cluster.bootstrap, "--rates", rates, "--json"]
        code, told, _ = called("producer", "split", *words, "--out", out)
        admin.delete_topics([TOPIC])
    assert code == 0
    assert document(told)["weights"] == {"a": 2, "b": 2, "c": 2}
    assert read_split(out).shares["a"] == pytest.approx({"a": 11 / 15, "b": 0, "c": 4 / 15})
