"""Starts that interleave with crashes, lost answers and expiries keep the seven laws."""

import pytest

from identity_story import Plot, Story
from rackwise.core.identity.model import Rules
from rackwise.core.identity.nodes.store import FENCE, HOSTS, OWNERS, Create, Put

SEEDS = range(400)
TROUBLE = {"start": 6, "boot": 8, "kill": 2, "expire": 5, "crash": 1, "lose_session": 1}
PLOTS = {
    "never": Plot(rules=Rules(spare="never"), events=TROUBLE | {"plain": 1}),
    "unmapped": Plot(
        rules=Rules(spare="unmapped", grace_ms=0, on_blocked="generate"),
        used=frozenset({1, 7, 9}),
        events=TROUBLE,
    ),
    "any": Plot(
        rules=Rules(spare="any", grace_ms=4000, on_blocked="wait"), events=TROUBLE, turns=160
    ),
    "watched": Plot(
        rules=Rules(spare="any", grace_ms=4000, on_blocked="wait"),
        events=TROUBLE | {"lead": 1},
        is_watched=True,
        turns=180,
    ),
    "recreated": Plot(
        rules=Rules(spare="never"),
        used=frozenset({1, 7, 1001, 1002}),
        is_recreated=True,
        events=TROUBLE,
    ),
}
ASSIGNING = Plot(
    rules=Rules(spare="never"), mapped={"g": 1}, events=TROUBLE | {"assign": 4}, turns=200
)
CROWD = Plot(
    rules=Rules(spare="unmapped", grace_ms=0, on_blocked="generate"),
    used=frozenset({1, 9}),
    mapped={"g": 1},
    events={"start": 6, "boot": 4, "crash": 4, "expire": 6},
    turns=120,
    lost=0.0,
)


def told(plot, seeds=SEEDS, **changes):
    for seed in seeds:
        try:
            yield Story(plot, seed, **changes).tell()
        except AssertionError as error:
            raise AssertionError(f"seed {seed}: {error}") from error


@pytest.mark.parametrize("plot", PLOTS.values(), ids=PLOTS)
def test_the_laws_hold_in_every_order(plot):
    ways = {each for story in told(plot) for each in story.ways}
    assert len(ways) >= 2, "the stories show something"


def test_the_laws_hold_while_brokers_are_adopted():
    """Brokers start plainly, others through Rackwise, and an operator adopts all that run."""
    plot = Plot(
        rules=Rules(spare="unmapped", grace_ms=0, on_blocked="generate"),
        mapped={"g": 1},
        events=TROUBLE | {"plain": 4, "adopt": 6},
        turns=200,
    )
    stories = list(told(plot, range(200)))
    assert sum(story.adopted for story in stories) > len(stories)


def test_the_laws_hold_while_ids_are_assigned():
    """KIP-426: "a third-party tool could be used to manipulate the record in ZooKeeper"."""
    stories = list(told(ASSIGNING, range(200)))
    assert sum(story.assigned for story in stories) > len(stories)
    assert all("gen" in story.ways for story in stories[:20])


def test_the_laws_hold_in_a_crowd_at_one_spare():
    stories = list(told(CROWD, range(100)))
    assert any("b1" in story.ways for story in stories)


BREAKS = {
    "got others may have moved since the fence": (
        CROWD,
        lambda op: isinstance(op, Put) and op.path == FENCE and op.version is not None,
        "I4",
    ),
    "an id that is generated may be assigned meanwhile": (
        ASSIGNING,
        lambda op: isinstance(op, Create) and op.path.startswith(OWNERS),
        "I4",
    ),
    "the mapping is not stored": (
        PLOTS["never"],
        lambda op: isinstance(op, Create | Put) and op.path.startswith(HOSTS),
        "I6",
    ),
}


@pytest.mark.parametrize(("plot", "strip", "law"), BREAKS.values(), ids=BREAKS)
def test_without_one_of_its_operations_a_commit_breaks_a_law(plot, strip, law):
    with pytest.raises(AssertionError, match=law):
        list(told(plot, strip=strip))
