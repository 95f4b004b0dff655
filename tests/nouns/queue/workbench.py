"""One queue on a virtual clock, and short ways to bring it into a state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import redis

from pyadeq._core.kernel.call import Call
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import Failure
from pyadeq._core.queue.schedules import due_now, firing_id
from pyadeq.models import Lease, Task, TaskView
from pyadeq.models.limit import SetLimitStatus
from pyadeq.models.schedule import Every, FireStatus, Schedule, Timing
from tests.nouns.queue import checks
from tests.nouns.script_bench import START, Bench, Dump, pairs
from tests.nouns.watched import WatchedClient

__all__ = ["BAND", "START", "Dump", "MakeBench", "Workbench"]

BAND = 2**48  # the width of a priority in a score


class Workbench(Bench):
    noun = "queue"

    def __init__(self, client: redis.Redis, watched: WatchedClient, base: str, clock: str = "test") -> None:
        super().__init__(client, watched, base, clock)
        self.calls: QueueCalls = QueueCalls(base, now_ms=lambda: self.now)
        if clock == "test":
            self.real(self.calls.configure(clock="test"))

    def settle(self) -> None:
        while self.ask("EXISTS", ":ends") or self.ask("ZCOUNT", ":limit:lines", "-inf", self.now):
            self.sweep()

    def sweep(self) -> None:
        """One claim by somebody who serves another lane: it passes on what is left of ends, and looks at lines."""
        number = next(self._numbers)
        name = f"sweeper-{number}"  # a name that was retired claims nothing until the server's own clock frees it
        self.worker(name)
        self.run(self.calls.claim(name, "i", 0, number, limit=1, lanes=["group/of-nobody"]))

    def furnish(self) -> None:
        self.lease(1)
        self.fill(1)
        self.fill(1, delay=5)
        self.schedule("a1")

    def check(self) -> None:
        checks.check_queue(self)

    def let_all_pass(self) -> None:
        self.now = max(self.now, START)
        self.ask("HDEL", ":config", "layout_min")
        checks.let_all_pass(self)

    def left_over(self) -> Dump:
        return checks.left_over(self)

    # states

    def fill(self, number: int, **task: Any) -> list[str]:
        """Enqueue so many tasks; their ids, which rise over all calls. What can be called is asked for each id."""
        ids = [f"t{next(self._numbers):06}" for _ in range(number)]
        task.setdefault("payload", b"x")
        own = [{name: value(id) if callable(value) else value for name, value in task.items()} for id in ids]
        items = [(id, Task(**fields)) for id, fields in zip(ids, own, strict=True)]
        self.real(self.calls.enqueue(items, f"fill/{ids[0]}"))
        return ids

    def worker(self, name: str = "w", incarnation: str = "i") -> None:
        self.real(self.calls.register(name, incarnation))

    def claim(self, limit: int, slot: int = 0, lanes: Sequence[str] = ("any",), lease: float = 0) -> list[Lease]:
        """Claim for worker w, which is registered if need be."""
        self.worker()
        call = self.calls.claim("w", "i", slot, next(self._numbers), limit=limit, lanes=lanes, lease=lease)
        return self.real(call).leases

    def lease(self, number: int, **task: Any) -> list[Lease]:
        """Enqueue so many tasks and claim them."""
        self.fill(number, **task)
        leases = self.claim(number, lanes=[task.get("lane", "any")])
        assert len(leases) == number
        return leases

    def crash(self, times: int, number: int = 1, **task: Any) -> list[Lease]:
        """Tasks on the lease that follows so many crashes; the queue's backoff must not stop them."""
        leases = self.lease(number, **task)
        for _ in range(times):
            self.pass_time(15_000)
            self.real(self.calls.reap(1000))
            self.pass_time(300_000)
            leases = self.claim(number)
            assert len(leases) == number
        return leases

    def die(self, number: int, **task: Any) -> list[str]:
        """Enqueue so many tasks, and let them fail for good."""
        leases = self.lease(number, **task)
        self.real(self.calls.fail([Failure(lease, b"e", retryable=False) for lease in leases], [0] * number))
        return [lease.id for lease in leases]

    def limit(self, key: str = "user:u", **rule: Any) -> SetLimitStatus:
        """Set a limit, or take it away where no rule is given."""
        (status,) = self.real(self.calls.set_limits([(key, rule)], f"limit/{next(self._numbers)}"))
        return status

    def schedule(self, name: str = "s", timing: Timing | None = None, *, payload: Any = b"x", **own: Any) -> Schedule:
        """Put a schedule, of every minute unless told otherwise; as it is then."""
        policy = {word: own.pop(word) for word in ("overlap", "catch_up", "jitter") if word in own}
        task, rid = Task(payload=payload, **own), f"put/{next(self._numbers)}"
        self.real(self.calls.put_schedule(name, timing or Every(60), task, rid, self.now / 1000, **policy))
        return self.shown(name)

    def due(self, name: str = "s", timing: Timing | None = None, **own: Any) -> Schedule:
        """The same, whose time has just come."""
        schedule = self.schedule(name, timing, **own)
        assert schedule.next is not None
        self.now = round(schedule.next * 1000)
        return schedule

    def firing(self, schedule: Schedule, rid: str = "r", *, wait: int = 0, **due: Any) -> Call[FireStatus]:
        """The call that fires a schedule now, but for what is told of the times. wait: ms until its task starts."""
        id = firing_id(schedule.name, schedule.next or 0)
        return self.calls.fire(schedule, due_now(schedule, self.now / 1000)._replace(**due), id, wait, rid)

    # what there is

    def shown(self, name: str = "s") -> Schedule:
        """A schedule with its payload."""
        return self.real(self.calls.schedules(name=name))[0][0]

    def view(self, id: str) -> TaskView | None:
        return self.real(self.calls.get([id]))[0]

    def state(self, id: str) -> str | None:
        view = self.view(id)
        return None if view is None else view.state

    def record(self, id: str) -> dict[str, bytes]:
        return pairs(self.ask("HGETALL", f":task:{id}"))

    def ready(self, lane: str = "any") -> list[str]:
        return [id.decode() for id in self.ask("ZRANGE", f":ready:{lane}", 0, -1)]

    def tokens(self, lane: str = "any") -> int:
        """How many wake-up tokens a lane has."""
        return int(self.ask("LLEN", f":wake:{lane}"))

    def counters(self) -> dict[str, int]:
        return self.real(self.calls.stats()).counters


MakeBench = Callable[..., Workbench]
