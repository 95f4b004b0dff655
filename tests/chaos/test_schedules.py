"""Schedules whose workers are killed at any moment: every time is accounted for, and fires once at most."""

import random
import signal
import subprocess
import sys
from functools import partial
from typing import Any

import pytest
import redis

from pyadeq import Adeq, At, Every, Queue, Schedule, Schedules, Task
from tests.audit import audit
from tests.chaos.conftest import SCALE
from tests.chaos.task_stream import read_tasks
from tests.integration.workers import ROOT
from tests.waiting import wait_until
from tests.worker_processes import Workers

pytestmark = pytest.mark.slow

PERIOD = 0.2
LEASE = 1.0
HANDLER = """
import asyncio


async def handle(lease):
    await asyncio.sleep(0.01)
"""
# Fires, and is killed and replaced, until nothing is due. Tells how often it was killed on its way.
SCHEDULERS = """
import os
import random
import signal
import sys
import time

from pyadeq import Adeq

url, name = sys.argv[1:]
chance = random.Random(8)
kills = 0
while True:
    child = os.fork()
    if not child:
        with Adeq.from_url(url) as adeq:
            adeq.queue(name).schedules.fire_due()
        os._exit(0)
    time.sleep(chance.uniform(0.0, 0.1 + 0.02 * kills))
    os.kill(child, signal.SIGKILL)
    if not os.waitpid(child, 0)[1]:
        break
    kills += 1
print(kills)
"""


def view(queue: Queue, name: str) -> Schedule:
    schedule = queue.schedules.get(name)
    assert schedule
    return schedule


def has_fired(queue: Queue, times: int) -> bool:
    return view(queue, "allow").fired >= times


def number(first: float, until: float) -> int:
    """How many times there are from the first to just before another."""
    return round((until - first) / PERIOD)


def test_every_time_is_accounted_for_whoever_is_killed(workers: Workers, queue: Queue, client: redis.Redis) -> None:
    queue.configure(lease=LEASE, events_max=1_000_000, max_attempts=1000, max_crashes=1000)
    chance = random.Random(8)
    for overlap in ("allow", "skip", "buffer_one"):
        queue.schedules.set(overlap, Every(PERIOD), overlap=overlap)
    queue.schedules.set("impatient", Every(PERIOD, offset=PERIOD / 2), overlap="allow", catch_up=1)
    names = ("allow", "skip", "buffer_one", "impatient")
    firsts = {name: view(queue, name).next or 0.0 for name in names}
    running = ["w0", "w1"]
    for name in running:
        workers.start(name)
    wait_until(partial(has_fired, queue, 1))
    for kill in range(round(3 * SCALE)):
        enough = view(queue, "allow").fired + chance.randrange(1, 5)
        wait_until(partial(has_fired, queue, enough))
        victim = running.pop(chance.randrange(len(running)))
        workers.signal(victim, signal.SIGKILL)
        running.append(f"again{kill}")
        workers.start(running[-1])
    for name in running:  # all at once, and for a while nobody is there
        workers.signal(name, signal.SIGKILL)
        workers.wait(name)
    left = view(queue, "impatient")
    wait_until(lambda: queue.stats().now > (left.next or 0.0) + 2)
    workers.start("last")
    wait_until(lambda: view(queue, "impatient").fired > left.fired)
    wait_until(lambda: all((view(queue, name).next or 0.0) > queue.stats().now - 1 for name in names))
    for name in names:
        one = view(queue, name)
        assert one.next
        assert one.fired + one.skipped + one.missed == number(firsts[name], one.next), one
        queue.schedules.pause(name)
    wait_until(lambda: not queue.stats().pending and not queue.stats().running)

    told: dict[str, list[int]] = {name: [] for name in names}
    for event in read_tasks(client, queue.base):
        if event.name in ("schedule.fired", "schedule.skipped"):
            told[event.ids[0]].append(int(event.words["at_ms"]))
    ends = {name: view(queue, name) for name in names}
    for name, one in ends.items():
        assert (one.missed > 0) == (name == "impatient")
        assert one.skipped == 0 or name in ("skip", "buffer_one")
        assert len(told[name]) == len(set(told[name])) == one.fired + one.skipped
        assert told[name] == sorted(told[name])
    counters = queue.stats().counters
    assert counters["enqueued"] == counters["completed"] == sum(one.fired for one in ends.values())
    assert audit(client, queue.base) == []


class Stopped(Exception):
    """The client is there no more."""


class Mortal:
    """Makes so many calls of a client; the last one is made, or is not, and then the client ends."""

    def __init__(self, runner: Any, calls: int, made: bool) -> None:
        self._runner = runner
        self._left = calls
        self._made = made

    def send(self, call: Any) -> Any:
        self._left -= 1
        if self._left == 0 and not self._made:
            raise Stopped
        answer = self._runner.send(call)
        if self._left == 0:
            raise Stopped
        return answer


class Clock:
    """Milliseconds that pass when the test says so."""

    now_ms = 1_000_000

    def __call__(self) -> int:
        return self.now_ms


@pytest.mark.parametrize("made", [True, False], ids=["after the call", "before the call"])
def test_a_scheduler_may_end_after_any_of_its_steps(url: str, base_name: str, made: bool) -> None:
    clock = Clock()
    step, ends = 0, 0
    with Adeq.from_url(url, clock=clock) as adeq:
        while True:
            step += 1
            queue = adeq.queue(f"{base_name}-{step}")
            queue.configure(clock="test")
            begin = clock.now_ms / 1000
            queue.schedules.set("often", Every(1), overlap="allow")
            queue.schedules.set("late", Every(1), catch_up=1)
            queue.schedules.set("once", At(begin + 2), overlap="allow")
            clock.now_ms += 5_000
            runner: Any = Mortal(queue.schedules._runner, step, made)
            mortal = Schedules(runner, queue.calls)
            try:
                mortal.fire_due()
            except Stopped:
                ends += 1
            else:
                break
            finally:
                queue.schedules.fire_due()
            counted = {one.name: (one.fired, one.skipped, one.missed) for one in queue.schedules.iterate()}
            assert counted == {"often": (5, 0, 0), "late": (1, 1, 3), "once": (1, 0, 0)}
            ids = [task.id for task in queue.iterate("ready")]
            assert len(ids) == len(set(ids)) == 7
    assert ends >= 1 + 5 + 3 + 1 + 1  # read, fire, read


def test_a_scheduler_may_be_killed_at_any_moment(url: str, queue: Queue, client: redis.Redis) -> None:
    schedules = 300
    now = queue.stats().now
    with Adeq.from_url(url) as adeq, adeq.pipeline() as pipe:
        for n in range(schedules):  # their time has come, which `now` does not tell
            pipe.add(queue.calls.put_schedule(f"s{n}", At(now + 0.001), Task(), f"r{n}", now))

    command = [sys.executable, "-c", SCHEDULERS, url, queue.name]
    kills = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=120).stdout
    assert int(kills) > 0
    found = list(queue.schedules.iterate())
    assert {(one.fired, one.skipped, one.missed, one.state) for one in found} == {(1, 0, 0, "ended")}
    ids = {task.id for task in queue.iterate("ready")}
    assert ids == {one.last_id for one in found}
    assert len(ids) == queue.stats().counters["enqueued"] == schedules
    assert audit(client, queue.base) == []
