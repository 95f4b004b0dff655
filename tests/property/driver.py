"""Runs every verb on the real scripts and on the model, and compares the answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import Any

import redis

from pyadeq import models
from tests.property.checks import Checks
from tests.property.convert import (
    from_due,
    from_items,
    from_settings,
    ms,
    to_acks,
    to_fails,
    to_notes,
    to_settings,
    to_task,
)
from tests.property.model import BY_ID
from tests.property.records import Answer, Spec


class Driver(Checks):
    """A queue with a test clock. `do` runs a verb; arguments and answers are the model's."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.agrees = True  # with the model, so far
        self._settled: dict[str, Answer] = {}
        self._last_fence: Counter[str] = Counter()  # by task
        self._lease_times: tuple[int, set[int]] = 0, set()
        self.run(self.calls.configure(clock="test"))

    def do(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        self.agrees = False
        self.let_go()
        try:
            act = partial(self._by_id, verb) if verb in BY_ID else getattr(self, f"_{verb}")
            real = act(*args, **kwargs)
        except redis.ResponseError as error:
            if not (real := str(error).partition(" ")[0]).startswith("ADEQ_"):
                raise
        expected = self.model.call(verb, *args, **kwargs)
        assert real == expected, f"{verb}{args}{kwargs or ''}: {real}, but the model says {expected}"
        if verb in ("claim", "settle") and real[0] == "ok":
            lease, deadlines = self._lease_times
            assert lease == (kwargs.get("lease") or self.model.settings["lease"])
            # One deadline is told for all, which may have been prolonged apart since.
            assert deadlines <= {self.model.tasks[id].at for id, *_ in real[4]}
        self.agrees = True
        return real

    # Producers and operators

    def _configure(self, rid: str | None = None, **changes: Any) -> dict[str, Any]:
        return from_settings(self.run(self.calls.configure(rid, **to_settings(changes))))

    def _enqueue(self, rid: str, specs: Sequence[Spec]) -> list[Answer]:
        call: Any = self.calls.enqueue([(spec.id, to_task(spec)) for spec in specs], rid)
        answers: list[Answer] = self.run(
            replace(call, decode=lambda reply: from_items(reply, [one.id for one in specs]))
        )
        return answers

    def _by_id(self, verb: str, ids: Sequence[str], rid: str | None = None, **more: Any) -> list[Answer]:
        """A verb whose script takes ids, and answers each with a status and perhaps fields."""
        call = self.calls.ask(verb, lambda answer: answer["items"], item=ids, rid=rid, **more)
        return [(one.status, *one.fields.values()) for one in self.run(call)]

    def _purge(self, rid: str, all: bool, page: int = 1000, lane: str | None = None) -> int:
        """In as many calls as it takes."""
        total = 0
        for call in count():
            purged, more = self.run(self.calls.purge(f"{rid}.{call}", all=all, lane=lane, limit=page))
            assert purged <= page
            total += purged
            if not more:
                break
        return total

    def _pause(self, rid: str) -> Any:
        return self.run(self.calls.pause(rid))

    def _resume(self, rid: str) -> Any:
        return self.run(self.calls.resume(rid))

    def _drain(self, rid: str) -> Any:
        return self.run(self.calls.drain(rid))

    # Sweeps

    def _promote(self, limit: int) -> Any:
        return self.run(self.calls.promote(limit))

    def _reap(self, limit: int) -> Any:
        return self.run(self.calls.reap(limit))

    def _expire(self, limit: int) -> Any:
        return self.run(self.calls.expire(limit))

    def _trim(self, limit: int) -> Any:
        return self.run(self.calls.trim(limit))

    # Workers

    def _register(self, worker: str, incarnation: str) -> Any:
        return self.run(self.calls.register(worker, incarnation, {"pid": 1}))

    def _deregister(self, worker: str, incarnation: str, leases: Sequence[Answer] = ()) -> Any:
        return self.run(self.calls.deregister(worker, incarnation, leases=leases))

    def _steer(self, names: Sequence[str], mode: Any, capacity: int | None, rid: str) -> list[Answer]:
        return [(status,) for status in self.run(self.calls.steer(names, mode, capacity, rid))]

    def _progress(self, rid: str, notes: Sequence[Answer]) -> list[Answer]:
        return [(status,) for status in self.run(self.calls.progress(to_notes(notes), rid))]

    def _claim(self, worker: str, incarnation: str, slot: int, n: int, *, lease: int = 0, **rest: Any) -> Answer:
        call = self.calls.claim(worker, incarnation, slot, n, lease=lease / 1000, **rest)
        return self._claimed(self.run(call), [], [])

    def _settle(
        self, worker: str, incarnation: str, slot: int, n: int, *,
        acks: Sequence[Answer] = (), fails: Sequence[Answer] = (), lease: int = 0, **rest: Any,
    ) -> Answer:  # fmt: skip
        settled = self.run(
            self.calls.settle(
                worker, incarnation, slot, n, acks=to_acks(acks), fails=to_fails(fails),
                jitters=[one[5] for one in fails], lease=lease / 1000, **rest,
            )
        )  # fmt: skip
        if settled.claimed.status != "ok":
            assert not settled.acks
            assert not settled.fails
            return (settled.claimed.status,)
        acked = self._once(acks, [(status,) for status in settled.acks])
        return self._claimed(settled.claimed, acked, self._once(fails, map(from_due, settled.fails)))

    def _claimed(self, claimed: models.Claimed, acked: list[Answer], failed: list[Answer]) -> Answer:
        if claimed.status != "ok":
            assert not claimed.leases
            return (claimed.status,)
        assert ms(claimed.now) == self.model.now
        self._lease_times = ms(claimed.lease), {ms(lease.deadline) for lease in claimed.leases}
        for lease in claimed.leases:
            fence = self.fences.get(lease.token)
            assert fence == lease.fence or (fence is None and lease.fence > self._last_fence[lease.id]), lease
            self.fences[lease.token] = self._last_fence[lease.id] = lease.fence
        leases = [(one.id, one.token, one.attempt, one.delivery, one.data) for one in claimed.leases]
        return "ok", acked, failed, ms(claimed.next_due or 0), leases

    def _ack(self, acks: Sequence[Answer]) -> list[Answer]:
        return self._once(acks, [(status,) for status in self.run(self.calls.ack(to_acks(acks)))])

    def _fail(self, fails: Sequence[Answer]) -> list[Answer]:
        answers = self.run(self.calls.fail(to_fails(fails), [one[5] for one in fails]))
        return self._once(fails, map(from_due, answers))

    def _release(self, leases: Sequence[Answer]) -> list[Answer]:
        return self._once(leases, [(status,) for status in self.run(self.calls.release(leases))])

    def _snooze(self, leases: Sequence[Answer]) -> list[Answer]:
        answers = self.run(self.calls.snooze([((id, token), delay / 1000) for id, token, delay in leases]))
        return self._once(leases, map(from_due, answers))

    def _heartbeat(self, leases: Sequence[Answer], worker: str, lease: int, busy: int | None = None) -> Answer:
        heard = self.run(self.calls.heartbeat(leases, worker, lease / 1000, busy))
        answers = [(o.status,) if o.deadline is None else (o.status, ms(o.deadline)) for o in heard.renewals]
        return heard.mode, heard.capacity, answers

    def _once(self, items: Sequence[Answer], answers: Iterable[Answer]) -> list[Answer]:
        """A token settles once: whatever is asked of it later, its answer stays, or it is lost."""
        answers = list(answers)
        for (_, token, *_), answer in zip(items, answers, strict=True):
            if answer == ("already",):  # another result than the first, which stays
                assert self._settled[token] == ("completed",)
            else:
                assert answer == ("lease_lost",) or self._settled.setdefault(token, answer) == answer
        return answers
