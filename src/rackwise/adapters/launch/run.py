"""Executes a start: performs the actions of `step` on a real store, disks and a process.

```
options, server.properties, log dirs -> Host
step -> action -> performed here -> event -> step -> ...  until Succeed or Fail
```

This module decides nothing. After any exception the session is closed, which ends a claim, and a
child that still boots is stopped.
"""

from __future__ import annotations

import os
import random
import secrets
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

from rackwise.adapters.clock import monotonic_ms
from rackwise.adapters.launch.broker.log_dirs import remove_metas, write_metas
from rackwise.adapters.launch.broker.notify import READY, notify
from rackwise.adapters.launch.broker.process import Child
from rackwise.adapters.launch.options import Acquired
from rackwise.adapters.launch.views.gather import observe
from rackwise.core.errors import Conflict, LocalProtocolError, OutcomeUnknown, Unreachable
from rackwise.core.identity.decision.holders import wait_reason
from rackwise.core.identity.model import MetaProperties, Mode
from rackwise.core.identity.nodes.nodes import parse_claim, parse_mapping
from rackwise.core.identity.nodes.store import CLAIMS, HOSTS, IDS, MISSING, OWNERS
from rackwise.core.identity.refusals import (
    ClaimLost,
    MappingCorrupt,
    MetaWriteFailed,
    StoreCorrupt,
)
from rackwise.core.identity.start import actions
from rackwise.core.identity.start.step import step

if TYPE_CHECKING:
    from rackwise.core.identity.nodes.store import ClusterView, IdentityStore, Op
    from rackwise.core.identity.start.gather import Host

SLICE_MS = 200
"""The end of a child is noticed within this time."""
REPORT_MS = 5_000
WAIT_SLICE_MS = 1_000

Report: TypeAlias = Callable[[str], None]
OnAcquired: TypeAlias = Callable[[Acquired], None]
Check: TypeAlias = Callable[[], None]


@dataclass(kw_only=True)
class Run:
    """One start."""

    store: IdentityStore
    view: ClusterView
    host: Host
    state: actions.Starting
    command: Sequence[str] = ()
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    """The environment of the child."""
    warnings: tuple[str, ...] = ()
    """Warnings about the host, printed with those of the decision."""
    is_alone: bool = False
    report: Report = print
    """Receives a line for each phase."""
    on_acquired: OnAcquired = field(default=lambda _: None)
    """Receives the id once the files are written."""
    check: Check = field(default=lambda: None)
    """Ends the start by an exception, while no child runs."""
    rng: random.Random = field(default_factory=random.Random)
    child: Child | None = None
    reported_ms: int = 0
    """When the last line of a wait was reported."""

    def run(self) -> Acquired:
        """Run the start to its end. Raises what the start and the store raise."""
        try:
            with closing(self.store):
                self._steps()
            return self._acquired(self._status())
        finally:
            if self.child is not None:
                self.child.close()

    def _status(self) -> int:
        return 0 if self.child is None else self.child.wait()

    def _steps(self) -> None:
        event: actions.Event = actions.Started(at_ms=monotonic_ms())
        while True:
            self.state, action = step(self.state, event)
            if isinstance(action, actions.Succeed):
                return
            if isinstance(action, actions.Fail):
                remove_metas(action.unwrite)
                raise action.error
            self._check()
            event = self._perform(action)

    def _check(self) -> None:
        if self.child is None:
            self.check()

    def _perform(self, action: actions.Action) -> actions.Event:
        match action:
            case actions.Gather():
                observation = observe(
                    self.store, self.view, self.host, action, is_alone=self.is_alone
                )
                return actions.Gathered(at_ms=monotonic_ms(), observation=observation)
            case actions.Commit(ops=ops):
                return self._commit(ops)
            case actions.Confirm():
                return self._confirm(action)
            case actions.Sleep():
                return self._sleep(action)
            case actions.Hold():
                return self._hold(action)
            case _:
                return self._perform_more(action)

    def _perform_more(self, action: actions.Action) -> actions.Event:
        match action:
            case actions.WriteMeta():
                return self._write(action)
            case actions.Spawn(id=id):
                self.child = Child(self.command, broker_id=id, environment=self.environment)
                self.child.start()
                return actions.Spawned(at_ms=monotonic_ms())
            case actions.Signal():
                if self.child is not None:
                    self.child.stop()
                return actions.ChildEnded(at_ms=monotonic_ms())
            case actions.Release():
                self.store.close()
                return actions.Released(at_ms=monotonic_ms())
            case _:
                raise LocalProtocolError(
                    f"expected an action before the end of a start, got {type(action).__name__}"
                )

    def _commit(self, ops: Sequence[Op]) -> actions.CommitEnded:
        try:
            self.store.commit(ops)
        except Conflict:
            return actions.CommitEnded(at_ms=monotonic_ms(), outcome="conflict")
        except OutcomeUnknown:
            return actions.CommitEnded(at_ms=monotonic_ms(), outcome="unknown")
        except Unreachable:
            if self.child is None:
                raise
            return actions.CommitEnded(at_ms=monotonic_ms(), outcome="unknown")
        return actions.CommitEnded(at_ms=monotonic_ms(), outcome="done")

    def _confirm(self, action: actions.Confirm) -> actions.CommitEnded:
        ended = self._commit(action.ops)
        if ended.outcome == "done":
            self.report(f"registered as {action.id}")
            notify(READY, self.environment)
        return ended

    def _sleep(self, action: actions.Sleep) -> actions.Slept:
        if not action.on:
            time.sleep(self.rng.uniform(0, action.most_ms) / 1000)
            return actions.Slept(at_ms=monotonic_ms())
        begun_ms = monotonic_ms()
        until_ms = begun_ms + action.most_ms
        name = self._describe_waiting()
        waited_ms = begun_ms - self.state.held_since_ms
        changed: frozenset[str] = frozenset()
        while not changed and (left_ms := until_ms - monotonic_ms()) > 0:
            so_far = (waited_ms + monotonic_ms() - begun_ms) / 1000
            most = (waited_ms + action.most_ms) / 1000
            self._report_sometimes(f"waiting for {name}, {so_far:.1f} s of {round(most, 1):g} s")
            changed = self.store.wait(action.on, min(left_ms, WAIT_SLICE_MS))
            self._check()
            if self.host.mode is Mode.KRAFT:
                break
        return actions.Slept(at_ms=monotonic_ms(), changed=changed)

    def _describe_waiting(self) -> str:
        """Describe it, such as `id 7: held by session 0x1f, same key`."""
        seen = self.state.observation
        ids = sorted(int(name) for name in self.state.held if name.isdecimal())
        return "; ".join(
            f"id {each}: {'held' if seen is None else wait_reason(seen, each)}" for each in ids
        )

    def _slice_ms(self) -> int:
        """Without ZooKeeper the store has no registrations to watch, so look more often."""
        return WAIT_SLICE_MS if self.host.mode is Mode.KRAFT else REPORT_MS

    def _report_sometimes(self, line: str) -> None:
        if self.reported_ms == 0 or monotonic_ms() - self.reported_ms >= REPORT_MS:
            self.reported_ms = monotonic_ms()
            self.report(line)

    def _write(self, action: actions.WriteMeta) -> actions.Wrote:
        take, _ = actions.require_take(self.state)
        self.report(f"key {self.host.key} -> id {action.id} ({take.how}, {take.row})")
        for warning in (*self.warnings, *take.warnings):
            self.report(warning)
        meta = MetaProperties(
            version=0 if action.mode is Mode.ZOOKEEPER else 1,
            broker_id=action.id,
            cluster_id=action.cluster_id,
        )
        error: MetaWriteFailed | None = None
        wrote: tuple[str, ...] = ()
        check = (lambda: self._check_claim(action.id)) if action.claimed else (lambda: None)
        try:
            wrote = write_metas(self.host.log_dirs, meta, check=check)
        except MetaWriteFailed as failed:
            error, wrote = failed, tuple(map(str, failed.done))
        except ClaimLost:
            return actions.Wrote(at_ms=monotonic_ms(), wrote=(), claim_czxid=None)
        if action.dirs:
            self.report(f"wrote meta.properties in {len(wrote)} of {len(action.dirs)} log dirs")
        # The registration is read here too, and not before each file: a wait notices the changes
        # since the last read, and none is before this one.
        path = f"{CLAIMS}/{action.id}"
        claim = self.store.read((path, f"{IDS}/{action.id}"))[path]
        czxid = claim.czxid if claim is not None and claim.session == self.store.session else None
        self.state = replace(self.state, wrote=wrote)
        if error is None and (czxid is not None or not action.claimed):
            self.on_acquired(self._acquired(None))
        return actions.Wrote(at_ms=monotonic_ms(), wrote=wrote, claim_czxid=czxid, error=error)

    def _check_claim(self, broker_id: int) -> None:
        path = f"{CLAIMS}/{broker_id}"
        claim = self.store.read((path,))[path]
        if claim is None or claim.session != self.store.session:
            had = "nobody" if claim is None else parse_claim(claim, id=broker_id).key
            raise ClaimLost(
                f"lost the claim on id {broker_id} before a file was written: {had} holds it",
                wanted="ours",
                had=had,
                where=f"{CLAIMS}/{broker_id}",
            )

    def _hold(self, action: actions.Hold) -> actions.Held:
        """Wait for a change. An unreachable or unreadable store does not stop a running child."""
        since_s = (monotonic_ms() - self.state.wrote_ms) / 1000
        if since_s >= 1:
            self._report_sometimes(f"waiting for registration, {since_s:.0f} s")
        until_ms = monotonic_ms() + min(action.most_ms, self._slice_ms())
        on = (f"{IDS}/{action.id}", f"{CLAIMS}/{action.id}")
        while True:
            try:
                while not self._has_ended() and (left := until_ms - monotonic_ms()) > 0:
                    if self.store.wait(on, min(SLICE_MS, left)):
                        break
                    self._check()
                return self._held(action.id)
            except (Unreachable, MappingCorrupt, StoreCorrupt) as error:
                if self.child is None or self._has_ended():
                    raise
                self._report_sometimes(f"waiting for the store: {error}")
                self.child.status(SLICE_MS / 1000)

    def _has_ended(self) -> bool:
        return self.child is not None and self.child.status() is not None

    def _held(self, broker_id: int) -> actions.Held:
        status = None if self.child is None else self.child.status()
        names = [f"{parent}/{broker_id}" for parent in (CLAIMS, OWNERS, MISSING, IDS)]
        own = f"{HOSTS}/{self.host.key}"
        found = self.store.read((*names, own))
        claim, mapping = found[names[0]], found[own]
        return actions.Held(
            at_ms=monotonic_ms(),
            session=self.store.session,
            registration=self.view.registered().get(broker_id),
            claim=None if claim is None else parse_claim(claim, id=broker_id),
            mapping=None if mapping is None else parse_mapping(mapping, key=self.host.key),
            owner=found[names[1]] is not None,
            missing=found[names[2]] is not None,
            child=status,
        )

    def _acquired(self, status: int | None) -> Acquired:
        take, _ = actions.require_take(self.state)
        return Acquired(
            id=take.id,
            how=take.how,
            row=take.row,
            key=self.host.key,
            waited_ms=self.state.slept_ms,
            wrote=self.state.wrote,
            took_from=tuple(each.key for each in take.takes_from),
            warnings=(*self.warnings, *take.warnings),
            exit_status=status,
        )


def new_nonce() -> str:
    """Return a random text that distinguishes two starts of one key."""
    return secrets.token_hex(8)
