"""Starts that are killed or stopped at each of their steps: S9, S12, S15 and seeded moments.

A stop between the last look at the claim and the rename (`check>`, `rename<`) is the window that
stays open. It is not played, since Kafka's own registration guards it.
"""

from __future__ import annotations

import time

from chaos.stage import SPARES, Scene
from rackwise.adapters.launch import operator
from rackwise.adapters.zookeeper import ZooKeeperView

SESSION_S = 1.0
PAST_S = 1.6
"""After so long a session of a process that stands still is over."""
PATIENT = {"wait_s": 60.0}
SUPERVISED = {**SPARES, "hold_s": 10.0}
"""Who is not up by then ends, and starts again."""
BOOTS, BOOTS_SOON = "boot.ms=4500", "boot.ms=300"
BOOT_OF = {"Spawn<": (BOOTS,)}
"""A broker boots for seconds, as Kafka does: its start notices a lost claim before it registers."""

WRITTEN = {"check<2": 1, "Spawn<": 2}
"""Files that are there at a point."""

HERE = ("Commit<", "Commit>", "rename>1", "rename>2", "WriteMeta>", "registered", "Confirm<")
LAUNCHED = ("Spawn<", "Spawn>", "Confirm<", "Confirm>", "Release>")
KILLS = ("Gather>", *HERE, "WriteMeta<", "check<1", "rename<1", "rename<2", "Confirm>", "Release>")
STOPS = ("Gather>", "Commit<", "Commit>", "WriteMeta<", "check<1", "check<2")


def killed_everywhere(stage, _size, rng, literal):
    """A host for each point, killed there, twice; others start between."""
    with stage.fleet(literal=literal, session_s=SESSION_S) as fleet:
        hosts = [(f"h{at}", point, False) for at, point in enumerate((*HERE, "Confirm>"))]
        hosts += [(f"l{at}", point, True) for at, point in enumerate(LAUNCHED)]

        def plans(*, is_killed):
            for key, point, command in hosts:
                fault = {"at": point, "how": "KILL"} if is_killed else {}
                yield fleet.plan(
                    key, command=command, options=PATIENT, seed=rng.randrange(2**32), **fault
                )

        seen, killed = [], 0
        for is_killed in (True, True, False):
            starts = fleet.run(*plans(is_killed=is_killed))
            seen.append(fleet.mapped())
            if is_killed:
                killed += sum("reached" in each.told for each in starts)
                fleet.end([each for each in starts if each.is_up])  # its point came before
                others = [fleet.plan(f"x{len(seen)}{at}", seed=at) for at in range(3)]
                fleet.run(*others)
        final = fleet.mapped()
        fleet.check()
        ids = {each.key: each.id for each in starts}
        return {
            "points": len(hosts),
            "killed": killed,
            "up": sum(each.is_up for each in starts),
            "changed": sum(final[key] != was for each in seen for key, was in each.items()),
            "mapped otherwise": sum(final[key] != ids[key] for key in ids),
            "poisoned": fleet.poisoned(),
        }


def asleep(fleet, plans):
    """Stopped starts whose session is over."""
    starts = fleet.run(*plans)
    since = time.monotonic()
    fleet.until(lambda: time.monotonic() - since > PAST_S, "the end of their sessions")
    fleet.until(lambda: not fleet.claims(), "the end of their claims")
    return starts


def give_away(fleet, key):
    """An operator gives the id of a key that is down to another key."""
    broker_id = fleet.mapped().get(key)
    if broker_id is not None:
        view = ZooKeeperView(fleet.store)
        operator.assign(
            fleet.store, view, f"{key}-heir", broker_id, force=True, has_registrations=True
        )
    return broker_id


def files_under_lost_claims(fleet, starts):
    """Disks with an id that their key does not have."""
    disks, mapped = fleet.disks(), fleet.mapped()
    return sum(
        disks.get(each.key, {mapped.get(each.key)}) != {mapped.get(each.key)} for each in starts
    )


def robbed_in_their_sleep(fleet, plans):
    """Starts stopped past their session, while the ids of `given` keys were given away."""
    starts = asleep(fleet, plans)
    for each in starts:
        if each.key.startswith("given"):
            give_away(fleet, each.key)
        each.go_on()
    fleet.until(lambda: all(each.is_settled for each in starts), "them to go on")
    fleet.check()
    return starts


def stopped_past_the_session(stage, _size, rng, literal):
    """SIGSTOP before commit, each rename and spawn; the id of every second one is given away."""
    points = ("Commit<", "Commit>", "WriteMeta<", "check<1", "check<2", "Spawn<")
    with stage.fleet(literal=literal, session_s=SESSION_S) as fleet:
        plans = [
            fleet.plan(
                f"{who}{at}",
                *BOOT_OF.get(point, ()),
                command=point == "Spawn<",
                options=PATIENT,
                seed=rng.randrange(2**32),
                at=point,
                how="STOP",
            )
            for at, point in enumerate(points)
            for who in ("kept", "given")
        ]
        starts = robbed_in_their_sleep(fleet, plans)
        # A start is settled when its broker registers, or when it has stopped the broker.
        spawned = [each for each in starts if each.plan["command"] and "given" in each.key]
        fleet.until(lambda: all(each.has_ended for each in spawned), "a broker to be stopped")
        return {
            "stopped": sum("reached" in each.told for each in starts),
            "up": sum(each.is_up for each in starts),
            "ClaimLost": sum(each.refusal == "ClaimLost" for each in starts),
            "files under lost claims": files_under_lost_claims(fleet, starts),
            "written after the loss": sum(
                each.refusal == "ClaimLost" and each.renames > WRITTEN.get(each.plan["at"], 0)
                for each in starts
            ),
        }


def expired_while_booting(stage, _size, rng, literal):
    """The session ends while the child boots; every second key gets another id meanwhile."""
    with stage.fleet(literal=literal, session_s=SESSION_S) as fleet:
        keys = [f"{who}{at}" for at in range(2) for who in ("kept", "given")]
        plans = [
            fleet.plan(
                key,
                BOOTS,
                command=True,
                options=PATIENT,
                seed=rng.randrange(2**32),
                at="Spawn>",
                how="STOP",
            )
            for key in keys
        ]
        starts = robbed_in_their_sleep(fleet, plans)
        lost = [each for each in starts if each.refusal == "ClaimLost"]
        return {
            "claimed again": sum(each.is_up for each in starts),
            "ClaimLost": len(lost),
            "files left": sum(each.key in fleet.disks() for each in lost),
        }


def moments(stage, size, rng, literal):
    """All start within half a second; two of three are killed or stopped at a seeded point.

    In every second play 7 belongs to an owner that is down for a moment; otherwise to no key. A
    start that has ended starts again, one in two with an empty disk.
    """
    is_owned = rng.random() < 0.5
    with stage.fleet(literal=literal, session_s=SESSION_S) as fleet:
        fleet.topic(7)
        if is_owned:
            fleet.map("x0", 7)
        keys = [f"x{at}" for at in range(size.hosts)]
        starts = fleet.run(*(faulty(fleet, key, rng) for key in keys))
        takes = {each.key: {each.id} for each in starts}
        since = time.monotonic()
        if any(each.is_stopped for each in starts):
            fleet.until(lambda: time.monotonic() - since > PAST_S, "the end of their sessions")
        for each in starts:
            if each.is_stopped:
                each.go_on()
        for _ in range(1 if literal else 5):
            down = [key for key in keys if not any(e.is_up for e in fleet.started if e.key == key)]
            for key in down:
                going = any(not e.has_ended for e in fleet.started if e.key == key)
                if rng.random() < 0.5 and not going:
                    fleet.wipe(key)
            fleet.until(lambda: all(each.is_settled for each in fleet.started), "them to go on")
            down = [key for key in keys if not any(e.is_up for e in fleet.started if e.key == key)]
            again = fleet.run(
                *(
                    fleet.plan(key, BOOTS_SOON, options=SUPERVISED, seed=rng.randrange(2**32))
                    for key in down
                )
            )
            for each in again:
                takes[each.key].add(each.id)
        if not literal:
            fleet.check()
        return judged(fleet, keys, takes, is_owned)


def faulty(fleet, key, rng):
    how = rng.choice(["KILL", "STOP", None])
    at = {"KILL": rng.choice(KILLS), "STOP": rng.choice(STOPS), None: None}[how]
    return fleet.plan(
        key,
        BOOTS_SOON,
        options=SUPERVISED,
        seed=rng.randrange(2**32),
        delay_s=rng.uniform(0, 0.5),
        at=at,
        how=how,
    )


def judged(fleet, keys, takes, is_owned):
    up, mapped = fleet.up(), fleet.mapped()
    ids = [each.id for each in up]
    return {
        "up": len(up),
        "twice": len(ids) - len(set(ids)),
        "stolen": int(is_owned and any((e.id == 7) != (e.key == "x0") for e in up)),
        "changed": sum(len(takes[key] - {None}) > 1 for key in keys),
        "poisoned": fleet.poisoned(),
        "not mapped": sum(mapped.get(each.key) != each.id for each in up),
        "down": len(keys) - len(up),
    }


EVILS = ("twice", "stolen", "changed", "poisoned", "not mapped", "down")

SCENES = (
    Scene(
        "S9",
        "SIGKILL at each step, twice",
        killed_everywhere,
        safe=lambda told, _: (
            told["up"] == told["points"]
            and told["changed"] == told["mapped otherwise"] == told["poisoned"] == 0
        ),
    ),
    Scene(
        "S12",
        "SIGSTOP past the session before commit, rename, spawn",
        stopped_past_the_session,
        safe=lambda told, _: (
            told["files under lost claims"] == told["written after the loss"] == 0
            and told["ClaimLost"] > 0
        ),
    ),
    Scene(
        "S15",
        "the session ends while the child boots",
        expired_while_booting,
        safe=lambda told, _: told == {"claimed again": 2, "ClaimLost": 2, "files left": 0},
    ),
    Scene(
        "moments",
        "killed and stopped at seeded moments",
        moments,
        safe=lambda told, _: all(told[each] == 0 for each in EVILS),
        danger=lambda told, _: any(told[each] > 0 for each in EVILS),
    ),
)
