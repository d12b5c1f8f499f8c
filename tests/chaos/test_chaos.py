"""Scenes of chaos on a real ZooKeeper, with a process for each start.

Each is played by our rules and to the letter of KIP-426. The literal play must show its danger;
otherwise the scene proves nothing. In `make long` 50 start at once, 5 rounds; `run.py` beside this
file plays any scene over many seeds and prints the figures.
"""

import os
import shlex
import signal
import sys
from random import Random

import pytest
from kazoo.client import KazooClient

from chaos import scenes_faults, scenes_garbage, scenes_starts
from chaos.stage import QUICK, WHOLE, OpenStage
from kafka_servers import or_failed
from stand_in_broker import register

pytestmark = [pytest.mark.zookeeper, pytest.mark.fault]

SCENES = [
    scene for module in (scenes_starts, scenes_garbage, scenes_faults) for scene in module.SCENES
]
CONTROLS = [scene for scene in SCENES if scene.danger is not None]
MANY_START = ("S1", "S2", "S7", "S8", "moments")
SLOW = ("S3", "S8", "S9", "S15")
"""These take seconds of sessions and boots, and are left to `make long`."""


@pytest.fixture(scope="module")
def stage(java_home, tmp_path_factory):
    folder = tmp_path_factory.mktemp("chaos")
    with or_failed(lambda: OpenStage(java_home=java_home, folder=folder)) as opened:
        yield opened


def named(scenes, *names):
    wanted = [scene for scene in scenes if not names or scene.name in names]
    cases = [
        pytest.param(each, id=each.name, marks=[pytest.mark.long] * (each.name in SLOW))
        for each in wanted
    ]
    return pytest.mark.parametrize("scene", cases)


def played(stage, scene, size, *, literal, seed=0):
    told = scene.play(stage, size, Random(f"{scene.name} {seed}"), literal)
    print(f"{scene.name} {'literal' if literal else 'safe'} {told}")
    return told


@named(SCENES)
def test_what_must_hold_holds(stage, scene):
    """F20: sessions that end, servers and starts that are killed or stopped, many at once."""
    told = played(stage, scene, QUICK, literal=False)
    assert scene.safe(told, QUICK), told


@named(CONTROLS)
def test_the_kips_text_shows_the_danger(stage, scene):
    told = played(stage, scene, QUICK, literal=True)
    assert scene.danger(told, QUICK), told


def test_a_stand_in_that_registers_twice_is_registered_and_another_is_not(stage):
    """`KafkaZkClient.CheckedEphemeral`: the node of the own session is no other registration."""
    with stage.fleet() as fleet:
        own, other = (KazooClient(fleet.connect) for _ in range(2))
        for each in (own, other):
            each.start()
        first, again = (register(own, 7, "PLAINTEXT://h7:9092", has_host=True) for _ in range(2))
        assert first == again
        with pytest.raises(SystemExit, match=r"broker.id 7 is registered already"):
            register(other, 7, "PLAINTEXT://h7:9092", has_host=True)
        for each in (own, other):
            each.stop()
            each.close()


CUT = """
import sys
import stand_in_broker
from kazoo.exceptions import ConnectionLoss

register, cuts = stand_in_broker.register, iter((False, True, False))

def cut(*told, **options):
    if next(cuts):
        raise ConnectionLoss
    return register(*told, **options)

stand_in_broker.register = cut
stand_in_broker.main(sys.argv[1:])
"""
"""A stand-in whose second registration, the one after its session, loses the connection."""


def test_a_stand_in_registers_again_until_it_succeeds(stage):
    with stage.fleet(session_s=1.0) as fleet:
        plan = fleet.plan("h7")
        (start,) = fleet.run({**plan, "command": [sys.executable, "-c", CUT, plan["file"]]})
        os.kill(start.child, signal.SIGSTOP)
        fleet.until(lambda: not fleet.registered(), "its registration to end")
        os.kill(start.child, signal.SIGCONT)
        fleet.until(lambda: fleet.registered() or start.has_ended, "it to register again")
        assert start.is_up, fleet.said(start)


def test_a_broker_that_writes_half_a_line_hides_no_report(stage):
    with stage.fleet() as fleet:
        plan = fleet.plan("h7", command=True)
        talks = shlex.join(plan["command"]) + " > /dev/null"
        (start,) = fleet.run({**plan, "command": ["sh", "-c", f"printf half; exec {talks}"]})
        assert start.is_up


@pytest.mark.long
@pytest.mark.timeout(900)
@named(SCENES, *MANY_START)
def test_what_must_hold_holds_among_fifty(stage, scene):
    told = played(stage, scene, WHOLE, literal=False)
    assert scene.safe(told, WHOLE), told


@pytest.mark.long
@named(CONTROLS, *MANY_START)
def test_the_kips_text_shows_the_danger_among_fifty(stage, scene):
    told = played(stage, scene, WHOLE, literal=True)
    assert scene.danger(told, WHOLE), told


@pytest.mark.long
@pytest.mark.parametrize("seed", range(1, 5))
def test_moments_of_other_seeds(stage, seed):
    (scene,) = [each for each in SCENES if each.name == "moments"]
    told = played(stage, scene, QUICK, literal=False, seed=seed)
    assert scene.safe(told, QUICK), told
