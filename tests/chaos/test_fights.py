"""Six starters fight over two spare ids while ZooKeeper dies and brokers stand still.

`make long` plays 500 rounds. `fights.py` beside this file plays any number, and prints the figures.
"""

import pytest

from chaos.fights import KILLED_EVERY, STARTERS, STOPPED_EVERY, fight, literal_fight
from chaos.stage import OpenStage
from kafka_servers import or_failed

pytestmark = [pytest.mark.zookeeper, pytest.mark.fault]

QUICK, WHOLE = 8, 500


@pytest.fixture
def stage(java_home, tmp_path):
    with or_failed(lambda: OpenStage(java_home=java_home, folder=tmp_path)) as opened:
        yield opened


def check_fights(fights, rounds):
    """No id twice; and there was a fight, in each way that is meant: else nothing is proved."""
    print(fights)
    assert fights.rounds == rounds
    assert fights.double_ids == 0
    assert fights.contested == rounds, "every round has a fight"
    assert fights.lost_races > 0
    assert fights.refusals["AmbiguousSpare"] > 0
    assert fights.zookeeper_kills == rounds // KILLED_EVERY
    # A broker that is stopped while it boots may have registered a moment before.
    assert fights.stopped >= fights.registered_again >= rounds // (2 * STOPPED_EVERY)
    assert fights.refusals["SpareReserved"] >= rounds // (2 * STOPPED_EVERY)


def test_two_spares_go_to_two_of_six(stage):
    """F20: ZooKeeper killed, brokers stopped past their session; KIP-426, "steals broker id"."""
    check_fights(fight(stage, QUICK), QUICK)


def test_the_kips_text_puts_one_id_on_every_disk(stage):
    assert literal_fight(stage) == STARTERS - 1


@pytest.mark.long
@pytest.mark.timeout(7200)
def test_two_spares_go_to_two_of_six_in_500_rounds(stage):
    fights = fight(stage, WHOLE, seed=1)
    check_fights(fights, WHOLE)
    assert fights.stopped > fights.registered_again, "brokers that boot stand still, too"
