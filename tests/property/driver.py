"""Runs every verb on the real scripts and on the model; compares the answers, and the keys with the model's state."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import redis

from pyadeq import models
from pyadeq._core.call import Call
from pyadeq._core.manifest import library
from pyadeq._core.queue import Failure, QueueCalls
from tests.property.model import SILENCE, Model
from tests.property.records import Answer, Backoff, Spec, Task

START = 1_700_000_000_000
BAND = 2**48
Scripts = dict[str, str]  # id -> the SHA-1 of its text on the server
Value = Any  # what a key holds


def load_scripts(client: redis.Redis, change: Callable[[str], str] = lambda text: text) -> Scripts:
    return {id: client.script_load(change(library()[id].text)) for id in library()}


class Driver:
    """A queue with a test clock. `do` runs a verb; arguments and answers are the model's."""

    def __init__(self, client: redis.Redis, base: str, scripts: Scripts) -> None:
        self.client, self.base, self.scripts = client, base, scripts
        self.model = Model(START)
        self.calls = QueueCalls(base, lambda: self.model.now)
        self._settled: dict[str, Answer] = {}
        self._fences: dict[str, int] = {}  # by token
        self._last_fence: Counter[str] = Counter()  # by task
        self._scores: dict[tuple[str, int], int] = {}
        self._last_event = "-"
        self._noted = 0
        self._lease_times: tuple[int, set[int]] = 0, set()
        self.run(self.calls.configure(clock="test"))

    def do(self, verb: str, *args: Any, **kwargs: Any) -> Any:
        real = getattr(self, f"_{verb}")(*args, **kwargs)
        expected = getattr(self.model, verb)(*args, **kwargs)
        assert real == expected, f"{verb}{args}{kwargs or ''}: {real}, but the model says {expected}"
        if verb in ("claim", "settle") and real[0] == "ok":
            lease, deadlines = self._lease_times
            assert lease == (kwargs.get("lease") or self.model.settings["lease"])
            # One deadline is told for all, which may have been prolonged apart since.
            assert deadlines <= {self.model.tasks[id].at for id, *_ in real[4]}
        return real

    def run(self, call: Call[Any]) -> Any:
        verb, _, *rest = call.command()
        client: Any = self.client
        return call.decode(client.execute_command(verb, self.scripts[call.script.id], *rest))

    def close(self) -> None:
        if keys := self.client.keys(f"{self.base}:*"):
            self.client.delete(*keys)

    # Verbs

    def _configure(self, **changes: Any) -> dict[str, Any]:
        if "lease" in changes:
            changes["lease"] /= 1000
        if "backoff" in changes:
            changes["backoff"] = to_backoff(changes["backoff"])
        settings = self.run(self.calls.configure(**changes))
        back = settings.backoff
        return {
            "lease": ms(settings.lease),
            "max_attempts": settings.max_attempts,
            "max_crashes": settings.max_crashes,
            "backoff": Backoff(ms(back.base), back.multiplier, ms(back.cap), back.jitter),
        }

    def _enqueue(self, rid: str, specs: Sequence[Spec]) -> list[str]:
        call = self.calls.enqueue([(spec.id, to_task(spec)) for spec in specs], rid)
        return [receipt.status for receipt in self.run(call)]

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
        return self._claimed(settled.claimed, acked, self._once(fails, map(from_failed, settled.fails)))

    def _claimed(self, claimed: models.Claimed, acked: list[Answer], failed: list[Answer]) -> Answer:
        if claimed.status != "ok":
            assert not claimed.leases
            return (claimed.status,)
        assert ms(claimed.now) == self.model.now
        self._lease_times = ms(claimed.lease), {ms(lease.deadline) for lease in claimed.leases}
        for lease in claimed.leases:
            fence = self._fences.get(lease.token)
            assert fence == lease.fence or (fence is None and lease.fence > self._last_fence[lease.id]), lease
            self._fences[lease.token] = self._last_fence[lease.id] = lease.fence
        leases = [(one.id, one.token, one.attempt, one.delivery, one.data) for one in claimed.leases]
        return "ok", acked, failed, ms(claimed.next_due or 0), leases

    def _ack(self, acks: Sequence[Answer]) -> list[Answer]:
        return self._once(acks, [(status,) for status in self.run(self.calls.ack(to_acks(acks)))])

    def _fail(self, fails: Sequence[Answer]) -> list[Answer]:
        answers = self.run(self.calls.fail(to_fails(fails), [one[5] for one in fails]))
        return self._once(fails, map(from_failed, answers))

    def _release(self, leases: Sequence[Answer]) -> list[Answer]:
        return self._once(leases, [(status,) for status in self.run(self.calls.release(leases))])

    def _once(self, items: Sequence[Answer], answers: Iterable[Answer]) -> list[Answer]:
        """A token settles once: whatever is asked of it later, its answer stays, or it is lost."""
        answers = list(answers)
        for (_, token, *_), answer in zip(items, answers, strict=True):
            assert answer == ("lease_lost",) or self._settled.setdefault(token, answer) == answer
        return answers

    def _heartbeat(self, leases: Sequence[Answer], worker: str, lease: int) -> list[Answer]:
        answers = self.run(self.calls.heartbeat(leases, worker, lease / 1000))
        return [(one.status,) if one.deadline is None else (one.status, ms(one.deadline)) for one in answers]

    def _cancel(self, ids: Sequence[str]) -> Any:
        return self.run(self.calls.cancel(ids))

    def _promote(self, limit: int) -> Any:
        return self.run(self.calls.promote(limit))

    def _reap(self, limit: int) -> Any:
        return self.run(self.calls.reap(limit))

    def _register(self, worker: str, incarnation: str) -> Any:
        return self.run(self.calls.register(worker, incarnation, {"pid": 1}))

    def _deregister(self, worker: str, incarnation: str) -> Any:
        return self.run(self.calls.deregister(worker, incarnation))

    # Readers

    def compare_views(self, ids: Sequence[str]) -> None:
        for id, view in zip(ids, self.run(self.calls.get(ids)), strict=True):
            task = self.model.tasks.get(id)
            if task is None:
                assert view is None
            else:
                parts = (view.data, view.error, view.result_data or None)
                assert parts == (task.spec.payload, task.error, task.result), view
                self._compare_view(task, view)

    def compare_lists(self, state: Any, lane: str, limit: int) -> None:
        if state == "ready":
            expected = self.model.line(lane)
        else:
            expected = [task for task in self.model.of(*MEMBERS[state]) if self._state(task) == state]
            expected.sort(key=lambda task: (task.at, task.id))
        views: list[models.TaskView] = []
        cursor = ""
        for _ in range(len(self.model.tasks) + 1):
            page = self.run(self.calls.list(state, lane=lane, cursor=cursor, limit=limit))
            assert len(page.tasks) <= limit
            views += page.tasks
            if not (cursor := page.cursor):
                break
        else:
            raise AssertionError(f"the pages of {state} in {lane} do not end")
        assert [view.id for view in views] == [task.id for task in expected]
        for task, view in zip(expected, views, strict=True):
            assert (view.data, view.error, view.result_data) == (None, None, None)
            self._compare_view(task, view)

    def _check_stats(self) -> None:
        model, stats = self.model, self.run(self.calls.stats())
        states = Counter(map(self._state, model.tasks.values()))
        assert (stats.ready, stats.delayed, stats.blocked) == (states["ready"], states["delayed"], 0)
        assert (stats.running, stats.stalled) == (states["running"] + states["stalled"], states["stalled"])
        assert (stats.finished, stats.dead) == (states["completed"] + states["cancelled"], states["dead"])
        assert stats.workers == sum(worker.seen > model.now - SILENCE for worker in model.workers.values())
        assert stats.lanes == Counter(task.spec.lane for task in model.of("ready"))
        assert stats.counters == +model.counts

    def _state(self, task: Task) -> str:
        return "stalled" if task.state == "running" and task.at <= self.model.now else task.state

    def _compare_view(self, task: Task, view: models.TaskView) -> None:
        spec, state, at, last = task.spec, self._state(task), task.at / 1000, task.last
        expected = {
            "state": state, "kind": spec.kind, "priority": spec.priority, "lane": spec.lane, "user": spec.user,
            "tags": spec.tags, "max_attempts": spec.max_attempts, "created": task.created / 1000,
            "due": at if state == "delayed" else None,
            "deadline": at if state in ("running", "stalled") else None,
            "ended": at if state in ("completed", "cancelled", "dead") else None,
            "attempts": task.attempts + bool(task.lease), "crashes": task.crashes, "deliveries": task.deliveries,
            "started": last.started / 1000 if last else None, "worker": last.worker if last else None,
            "fence": self._fences[last.token] if last else None, "reason": task.reason,
        }  # fmt: skip
        assert {name: getattr(view, name) for name in expected} == expected

    # Keys

    def read(self) -> dict[str, Value]:
        """What every key of the queue holds but the events; fails on a key that no header declares."""
        found: Any = self.client.keys(f"{self.base}:*")
        names = sorted(key.decode().removeprefix(f"{self.base}:") for key in found)
        pipe = self.client.pipeline(transaction=False)
        for name in names:
            key = f"{self.base}:{name}"
            match kind_of(name):
                case "hash":
                    pipe.hgetall(key)
                case "zset":
                    pipe.zrange(key, 0, -1, withscores=True)
                case "set":
                    pipe.smembers(key)
                case "list":
                    pipe.lrange(key, 0, -1)
                case "string":
                    pipe.get(key)
                case "stream":
                    pipe.xlen(key)
        return dict(zip(names, pipe.execute(), strict=True))

    def check(self) -> None:
        """Every task is in one set, the one that the model says, and what goes with it is true."""
        model, found = self.model, self.read()

        def zset(name: str) -> dict[str, int]:
            return {id.decode(): int(score) for id, score in found.get(name, [])}

        def below(prefix: str) -> set[str]:
            return {name.removeprefix(prefix) for name in found if name.startswith(prefix)}

        members = {name: zset(name) for name in ("delayed", "leases", "blocked", "finished", "dead")}
        assert members == {name: {task.id: task.at for task in model.of(*states)} for name, states in SETS.items()}
        lanes = {task.spec.lane for task in model.of("ready")}
        assert below("ready:") == lanes
        assert {lane.decode() for lane in found.get("lanes", ())} == lanes
        for lane in lanes:
            line = zset(f"ready:{lane}")
            assert list(line) == [task.id for task in model.line(lane)]
            for task in model.line(lane):
                assert line[task.id] // BAND == task.spec.priority
                # Between two placings a task keeps its score to the digit.
                assert line[task.id] == self._scores.setdefault((task.id, task.place), line[task.id])
        held = {id.decode(): lease.decode().split(" ")[0] for id, lease in found.get("running", {}).items()}
        assert held == {task.id: task.lease.token for task in model.of("running") if task.lease}
        assert below("task:") == below("payload:") == set(model.tasks)
        assert below("result:") == {task.id for task in model.of("completed") if task.result}
        assert below("wake:") == model.wake
        assert all(found[f"wake:{lane}"] == [b"1"] for lane in model.wake)
        assert zset("workers") == {name: worker.seen for name, worker in model.workers.items()}
        assert below("worker:") >= set(model.workers)
        self._check_events()
        self._check_stats()

    def _check_events(self) -> None:
        entries: Any = self.client.xrange(f"{self.base}:events", min=self._last_event)
        new: Counter[tuple[str, str, int]] = Counter()
        for stamp, entry in entries:
            new[entry[b"event"].decode(), entry[b"id"].decode(), int(entry[b"timestamp"])] += 1
            self._last_event = f"({stamp.decode()}"
        assert new == Counter(self.model.events[self._noted :])
        self._noted = len(self.model.events)


MEMBERS = {
    "delayed": ["delayed"], "running": ["running"], "stalled": ["running"], "blocked": [],
    "completed": ["completed"], "cancelled": ["cancelled"], "dead": ["dead"],
}  # fmt: skip
SETS = {
    "delayed": ["delayed"], "leases": ["running"], "blocked": [],
    "finished": ["completed", "cancelled"], "dead": ["dead"],
}  # fmt: skip


def kind_of(name: str) -> str:
    for script in map(library().__getitem__, library()):
        for key in script.keys:
            own = key.template.removeprefix("{base}:")
            if name == own or (key.suffix and name.startswith(own)):
                return key.type
    raise AssertionError(f"no header declares the key {{base}}:{name}")


def ms(seconds: float) -> int:
    return round(seconds * 1000)


def to_backoff(backoff: Backoff | None) -> models.Backoff | None:
    if backoff is None:
        return None
    return models.Backoff(
        base=backoff.base / 1000, multiplier=backoff.multiplier, cap=backoff.cap / 1000, jitter=backoff.jitter
    )


def to_task(spec: Spec) -> models.Task:
    return models.Task(
        payload=spec.payload, kind=spec.kind, priority=spec.priority, lane=spec.lane, delay=spec.delay / 1000,
        user=spec.user, tags=spec.tags, max_attempts=spec.max_attempts, backoff=to_backoff(spec.backoff),
    )  # fmt: skip


def to_acks(acks: Iterable[Answer]) -> list[Any]:
    return [((id, token), result) for id, token, result in acks]


def to_fails(fails: Iterable[Answer]) -> list[Failure]:
    return [Failure((id, token), error, reason, retryable) for id, token, retryable, reason, error, _ in fails]


def from_failed(answer: models.Failed) -> Answer:
    return (answer.status,) if answer.due is None else (answer.status, ms(answer.due))
