"""Many start at once: S1, S2, S3, S6, S7, S8."""

from __future__ import annotations

from functools import partial

from chaos.fleet import most_tries, p50
from chaos.stage import SPARES, Scene

OWNED, SPARE = 7, 9
SPREAD_S = 2.0
RESTARTED = 12
ONE_HOST = 4
BOOT_PER_HOST_MS = 40


def keys(number, prefix="x"):
    return [f"{prefix}{each}" for each in range(number)]


def figures_of(fleet, starts):
    """The figures of every scene in which many start."""
    return {
        "up": sum(each.is_up for each in starts),
        "ids": len({each.id for each in starts if each.is_up}),
        "mapped": len(set(fleet.mapped().values())),
        "errors": sum(each.refusal is not None for each in starts),
        "poisoned": fleet.poisoned(),
        "tries": most_tries(starts),
        "p50_s": round(p50(starts), 2),
    }


def new_cluster(stage, size, _rng, literal):
    with stage.fleet(literal=literal) as fleet:
        starts = fleet.run(*(fleet.plan(key, seed=at) for at, key in enumerate(keys(size.hosts))))
        if not literal:
            fleet.check()
        return figures_of(fleet, starts)


def one_owner(stage, size, rng, literal, *, spread_s, options):
    """Whether, in one round, the owner of 7 did not get it."""
    with stage.fleet(literal=literal) as fleet:
        fleet.topic(OWNED)
        fleet.map("owner", OWNED)
        plans = [
            fleet.plan(key, options=options, seed=at, delay_s=rng.uniform(0, spread_s))
            for at, key in enumerate(["owner", *keys(size.hosts - 1)])
        ]
        starts = fleet.run(*plans)
        if not literal:
            fleet.check()
        return any((each.id == OWNED) != (each.key == "owner") for each in starts if each.id)


RULES = {
    "unmapped": SPARES,
    "any": {**SPARES, "spare": "any", "grace_s": 30, "on_blocked": "grace"},
}
"""With `any`, strangers wait for the end of the grace, until the owner is back."""


def stolen(stage, size, rng, literal):
    """The owner of 7 is down for a moment; strangers start with it, at once or within 2 s."""
    told = {}
    for spread_s, when in ((0.0, "at once"), (SPREAD_S, "within 2 s")):
        for rule, options in RULES.items() if not literal else [("literal", {})]:
            play = partial(one_owner, spread_s=spread_s, options=options)
            times = sum(play(stage, size, rng, literal) for _ in range(size.rounds))
            told[f"stolen, {rule}, {when}"] = f"{times} of {size.rounds}"
    return told


def times(told, word):
    return [int(value.split()[0]) for name, value in told.items() if word in name]


def killed_and_wiped(stage, _size, rng, literal):
    """kill -9, restarted at once with empty disks, sessions of 4 s."""
    with stage.fleet(literal=literal) as fleet:
        names = keys(RESTARTED, "h")
        first = fleet.run(*(fleet.plan(key) for key in names))
        before = fleet.mapped()
        fleet.end(first)
        for key in names:
            fleet.wipe(key)
        again = fleet.run(*(fleet.plan(key, seed=rng.randrange(2**32)) for key in names))
        had = {each.key: each.id for each in first}
        if not literal:
            fleet.check()
        after = fleet.mapped()
        return {
            "kept": sum(each.id == had[each.key] for each in again),
            "new": sum(each.id != had[each.key] for each in again),
            "mappings lost": sum(after.get(key) != value for key, value in before.items()),
            "p50_s": round(p50(again, "up"), 2),
        }


def on_one_host(stage, _size, _rng, literal):
    """4 brokers of one host at the same instant, then with `--instance`."""
    told = {}
    for wants_instance in (False,) if literal else (False, True):
        with stage.fleet(literal=literal) as fleet:
            plans = []
            for at, name in enumerate(keys(ONE_HOST, "slot")):
                options = {"wait_s": 2.0, **({"instance": name} if wants_instance else {})}
                plans.append(fleet.plan("h1", name=name, options=options, seed=at))
            starts = fleet.run(*plans)
            word = " by instance" if wants_instance else ""
            told |= {
                f"up{word}": sum(each.is_up for each in starts),
                f"refused{word}": sum(each.refusal == "HostHasLiveBroker" for each in starts),
                f"ids{word}": len({each.id for each in starts if each.is_up}),
                f"mapped{word}": len(fleet.mapped()),
            }
    return told


def one_spare(stage, size, _rng, literal, *, command):
    """One spare id that no key is mapped to, as many strangers as there are hosts.

    A command boots longer than all of them take to decide, as Kafka does.
    """
    boots = f"boot.ms={BOOT_PER_HOST_MS * size.hosts * command}"
    with stage.fleet(literal=literal) as fleet:
        fleet.topic(SPARE)
        # To the letter, each start stands still once it has decided, until all have decided: that
        # order of events is possible, and no scheduler decides whether it is played.
        stopped = {"at": "WriteMeta<", "how": "STOP"} if literal else {}
        plans = [
            fleet.plan(key, boots, command=command, options=SPARES, seed=at, **stopped)
            for at, key in enumerate(keys(size.hosts))
        ]
        starts = fleet.run(*plans)
        for each in starts:
            each.go_on()
        fleet.until(lambda: all(each.is_settled for each in starts), "them to go on")
        if not literal:
            fleet.check()
        have_it = sum(each.id == SPARE for each in starts if each.is_up)
        return {**figures_of(fleet, starts), "have the spare": have_it}


def all_are_up(told, size):
    return told["up"] == told["ids"] == told["mapped"] == size.hosts and told["poisoned"] == 0


SCENES = (
    Scene(
        "S1",
        "a new cluster, all at the same instant",
        new_cluster,
        safe=lambda told, size: all_are_up(told, size) and told["tries"] <= 2,
        danger=lambda told, size: told["ids"] == size.hosts,
    ),
    Scene(
        "S2",
        "the owner of 7 is down for a moment",
        stolen,
        safe=lambda told, _: sum(times(told, "stolen")) == 0,
        danger=lambda told, size: times(told, "within 2 s")[0] >= 0.8 * size.rounds,
    ),
    Scene(
        "S3",
        "12 brokers kill -9, restarted at once, disks empty",
        killed_and_wiped,
        safe=lambda told, _: told["kept"] == RESTARTED and told["mappings lost"] == 0,
        danger=lambda told, _: told["new"] >= RESTARTED - 1,
    ),
    Scene(
        "S6",
        "4 brokers on one host",
        on_one_host,
        safe=lambda told, _: (
            (told["up"], told["refused"]) == (1, 3)
            and told["ids by instance"] == told["mapped by instance"] == ONE_HOST
        ),
        danger=lambda told, _: (told["ids"], told["mapped"]) == (ONE_HOST, 1),
    ),
    Scene(
        "S7",
        "one spare id, all of them strangers",
        partial(one_spare, command=False),
        safe=lambda told, size: (
            all_are_up(told, size)
            and told["have the spare"] == 1
            and told["tries"] <= 4
            and told["errors"] == 0
        ),
        danger=lambda told, size: told["errors"] == size.hosts - 1,
    ),
    Scene(
        "S8",
        "the same through the launcher",
        partial(one_spare, command=True),
        safe=lambda told, size: all_are_up(told, size) and told["have the spare"] == 1,
        danger=lambda told, size: told["poisoned"] == size.hosts - 1,
    ),
)
