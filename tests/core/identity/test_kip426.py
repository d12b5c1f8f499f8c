"""KIP-426 over several starts: what other tools may rely on, and when several brokers are down."""

from dataclasses import replace

import pytest

from identities import BASE, RULES, decided, disk, live, registered, told
from identity_nodes import node
from rackwise.core.identity.nodes.nodes import parse_mapping
from rackwise.core.identity.nodes.store import HOSTS, IDS, MISSING, TOPICS
from rackwise.core.identity.operator.assign_retire import Ledger, assign


class TestPathsOfTheNodes:
    """KIP-426: "The paths of the nodes should be part of public interfaces thus stable enough for
    third-party tools to rely on.".
    """

    def test_they_are_those_of_the_text(self):
        assert [HOSTS, TOPICS, IDS, MISSING] == [
            "/brokers/hosts",
            "/brokers/topics",
            "/brokers/ids",
            "/brokers/missing_ids",
        ]

    def test_a_mapping_that_another_tool_wrote_is_used(self):
        written = parse_mapping(node(b'{"version": 0, "broker.id": 10}'), key="h7")
        assert told(decided(mapping=written, at_risk={10: ()})) == "TAKE 10 a"


class TestSeveralBrokersAreDown:
    """KIP-426: "It is undesirable for the latter ones to pick up broker id from the prior ones,
    thus it is better to stop. In an environment where stopped broker can be restarted automatically
    after some delay, and if only one broker loses its data, it will eventually start up after all
    other brokers start successfully. [..] In case multiple brokers lose their data, human
    intervention is needed.".
    """

    USED = frozenset({1, 7, 9})

    @pytest.mark.parametrize("spare", ["unmapped", "any"])
    def test_the_one_without_data_starts_after_all_others(self, spare):
        rules = replace(RULES, spare=spare)
        stopped = decided(rules, used=self.USED)
        assert told(stopped) == "AMBIGUOUS_SPARE"
        assert stopped.error.retryable
        with_its_data = decided(rules, used=self.USED, log_dirs=(disk(number=9),))
        assert told(with_its_data) == "TAKE 9 meta"
        again = decided(rules, used=self.USED, registered=live(registered(9)))
        assert told(again) == "TAKE 7 b1"

    def test_a_person_decides_for_those_that_lost_their_data(self):
        for key in ("h7", "h9"):
            assert told(decided(key=key, used=self.USED)) == "AMBIGUOUS_SPARE"
        ledger = Ledger(broker_id=9, fence=BASE.fence, now_ms=BASE.now_ms, owners={})
        written = assign("h9", ledger)[-1]
        assert written.path == "/brokers/hosts/h9"
        mapping = parse_mapping(node(written.data), key="h9")
        found = decided(key="h9", used=self.USED, mapping=mapping, at_risk={9: ()})
        assert told(found) == "TAKE 9 a"
