"""Scenes over many seeds: `python tests/chaos/run.py --seeds 100 --scenes S1,S7`.

```
--seeds N      seeds FIRST..FIRST+N-1 (default 5); --first FIRST (default 0)
--scenes A,B   default: all of them
--hosts N      that start at once (default 50); --rounds N of S2 (default 10)
--safe         without the literal plays
```

Each play prints a line. The table at the end has a row for each scene: the number of seeds in which
the laws held, the number in which the literal play showed its danger, and the worst figures of all
seeds. It exits with 1 if a law was broken, or no danger was shown.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1]))

from chaos import scenes_faults, scenes_garbage, scenes_starts
from chaos.stage import OpenStage, Size
from rackwise.pipeline.runtime.java import find_java

SCENES = {
    scene.name: scene
    for module in (scenes_starts, scenes_garbage, scenes_faults)
    for scene in module.SCENES
}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--scenes", default=",".join(SCENES))
    parser.add_argument("--hosts", type=int, default=50)
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--safe", action="store_true")
    return parser.parse_args()


class Column:
    """One way of playing a scene: how often it came out as it must, and its figures."""

    def __init__(self, judge):
        self.judge, self.plays, self.good, self.told = judge, 0, 0, {}

    def add(self, told, size):
        is_good = bool(self.judge(told, size))
        self.plays += 1
        self.good += is_good
        for name, value in told.items():
            self.told.setdefault(name, []).append(value)
        return is_good

    def text(self):
        if not self.plays:
            return "-"
        figures = ", ".join(f"{name} {spread(values)}" for name, values in self.told.items())
        return f"{self.good} of {self.plays}: {figures}"


def spread(values):
    """Least and most; for `n of m` the sum."""
    if isinstance(values[0], str):
        parts = [[int(each) for each in value.split(" of ")] for value in values]
        return f"{sum(a for a, _ in parts)} of {sum(b for _, b in parts)}"
    low, high = min(values), max(values)
    return f"{low}" if low == high else f"{low} to {high}"


def play(stage, scene, column, size, seed, *, literal):
    begun = time.monotonic()
    way = "literal" if literal else "safe"
    try:
        told = scene.play(stage, size, Random(f"{scene.name} {seed}"), literal)
    except AssertionError as failed:
        column.plays += 1
        print(f"MISSED {scene.name} {way} seed {seed} {failed}", flush=True)
        return
    mark = "ok" if column.add(told, size) else "MISSED"
    seconds = time.monotonic() - begun
    print(f"{mark:6} {scene.name} {way} seed {seed} {seconds:.1f} s {told}", flush=True)


def main():
    given = arguments()
    size = Size(hosts=given.hosts, rounds=given.rounds)
    scenes = [SCENES[name] for name in given.scenes.split(",")]
    safe = {scene.name: Column(scene.safe) for scene in scenes}
    literal = {scene.name: Column(scene.danger) for scene in scenes if scene.danger}
    with tempfile.TemporaryDirectory() as folder:
        java_home = find_java(os.environ).home
        with OpenStage(java_home=java_home, folder=Path(folder)) as stage:
            for seed in range(given.first, given.first + given.seeds):
                for scene in scenes:
                    play(stage, scene, safe[scene.name], size, seed, literal=False)
                    if scene.name in literal and not given.safe:
                        play(stage, scene, literal[scene.name], size, seed, literal=True)
    print(f"\n{'scene':8} {'safe | literal'}")
    for scene in scenes:
        shown = literal[scene.name].text() if scene.name in literal else "-"
        print(f"{scene.name:8} {scene.title}\n{'':9}safe    {safe[scene.name].text()}")
        print(f"{'':9}literal {shown}")
    columns = [*safe.values(), *literal.values()]
    return 0 if all(each.good == each.plays for each in columns) else 1


if __name__ == "__main__":
    sys.exit(main())
