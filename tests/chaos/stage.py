"""The definition of a scene: it is played by our rules and to the letter of KIP-426.

The literal play is the control: if it does not show its danger, the scene proves nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING

from chaos.fleet import SERVER, Fleet, Zygote
from lone_zookeeper import LoneZooKeeper

if TYPE_CHECKING:
    from pathlib import Path
    from random import Random

Figures = Mapping[str, object]

SPARES = {"spare": "unmapped", "grace_s": 0, "on_blocked": "generate", "wait_s": 60.0}
"""Who comes may have the one spare id, else gets a new one."""


@dataclass(frozen=True)
class Size:
    """`hosts` that start at once; `rounds` of scenes that are played several times."""

    hosts: int
    rounds: int


QUICK = Size(hosts=12, rounds=1)
WHOLE = Size(hosts=50, rounds=5)


@dataclass
class Stage:
    """A ZooKeeper and a process that forks; each play has its own fleet."""

    server: LoneZooKeeper
    zygote: Zygote
    folder: Path
    numbers: count = field(default_factory=count)

    def fleet(self, **told):
        return Fleet(self.server, self.zygote, self.folder, f"play-{next(self.numbers)}", **told)


@dataclass(frozen=True)
class Scene:
    """`play(stage, size, rng, literal)` gives figures; `safe` and `danger` judge them.

    `danger`: for the literal play; None if no literal play can be compared.
    """

    name: str
    title: str
    play: Callable[[Stage, Size, Random, bool], Figures]
    safe: Callable[[Figures, Size], bool]
    danger: Callable[[Figures, Size], bool] | None = None


class OpenStage:
    """A stage as a context: `with OpenStage(java_home=..., folder=...) as stage`."""

    def __init__(self, *, java_home, folder):
        self.java_home, self.folder = java_home, folder
        self.running = ExitStack()

    def __enter__(self):
        server = LoneZooKeeper(
            java_home=self.java_home, folder=self.folder / "server", settings=SERVER
        )
        self.running.enter_context(server)
        return Stage(server, self.running.enter_context(Zygote()), self.folder)

    def __exit__(self, *_):
        self.running.close()
