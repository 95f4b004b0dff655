"""The proof: what the queue holds and what its events say, against what was put in and a plain run of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from typing import Any, NamedTuple

from pydantic import BaseModel
from redis import Redis

from pyadeq import Queue
from pyadeq.ext.prove.demo.history import History, read_history
from pyadeq.ext.prove.demo.job import Counts

Results = Mapping[str, Counts | None]
SETS = ("delayed", "blocked", "leases", "finished", "dead")


class Check(BaseModel):
    """One line of the proof; detail says what is wrong where it does not hold, or what was found."""

    claim: str
    holds: bool
    detail: str = ""


class Expected(NamedTuple):
    """results: of a plain run in one process, by task id. missing: the id that must be dead, and its attempts."""

    results: Mapping[str, Counts]
    missing: str
    max_attempts: int


def prove(queue: Queue, client: Redis, expected: Expected) -> list[Check]:
    """Check a queue that has done its work. Reads both through pyadeq and straight from the server."""
    history = read_history(client, queue.base)
    ids = list(expected.results)
    found = zip(ids, queue.get_many(ids), strict=True)
    results: Results = {id: None if task is None else task.result for id, task in found}
    return [
        one_result_each(queue, history, results),
        totals_equal(results, expected),
        dead_as_expected(queue, expected),
        one_set_each(client, queue.base, {*expected.results, expected.missing}),
    ]


def one_result_each(queue: Queue, history: History, results: Results) -> Check:
    """Each file completed once by the event stream, and in the queue's list of completed tasks."""
    files = results.keys()
    wrong = first_fault(
        ("completed more than once", [id for id, times in history.completed.items() if times > 1]),
        ("never completed, by the events", files - history.completed.keys()),
        ("completed, and not of the files", history.completed.keys() - files),
        ("not in the list of completed tasks", files ^ {task.id for task in queue.iterate("completed")}),
        ("without a result", [id for id, result in results.items() if result is None]),
    )
    return Check(claim=f"each of {len(files):,} files has exactly one completed result", holds=not wrong, detail=wrong)


def totals_equal(results: Results, expected: Expected) -> Check:
    """The counts equal those of the plain run, file by file and so in total."""
    claim = "the totals equal a plain run's"
    wrong = first_fault(("counted otherwise", [id for id in results if results[id] != expected.results[id]]))
    return Check(claim=claim, holds=not wrong, detail=wrong or shown(totals(results.values())))


def dead_as_expected(queue: Queue, expected: Expected) -> Check:
    """The dead set holds the missing file alone, after all its attempts."""
    dead = {task.id: task for task in queue.iterate("dead")}
    claim = f"the dead set holds exactly {expected.missing}, after {expected.max_attempts} attempts"
    wrong = first_fault(("in the dead set or not", dead.keys() ^ {expected.missing}))
    if not wrong:
        task = dead[expected.missing]
        if (task.attempts, task.reason) != (expected.max_attempts, "FileNotFoundError"):
            wrong = f"{task.attempts} attempts, {task.reason}"
    return Check(claim=claim, holds=not wrong, detail=wrong)


def one_set_each(client: Redis, base: str, ids: Collection[str]) -> Check:
    """Check in the server's own keys that each task has a record and is in one set, and that there is no lease."""
    lines = [key.decode() for key in client.scan_iter(f"{base}:ready:*", count=1000)]
    where = Counter[str]()
    for key in [*lines, *(f"{base}:{name}" for name in SETS)]:
        members: Any = client.zrange(key, 0, -1)
        where.update(id.decode() for id in members)
    records = {key.decode().removeprefix(f"{base}:task:") for key in client.scan_iter(f"{base}:task:*", count=1000)}
    left = {name: client.exists(f"{base}:{name}") for name in ("running", "leases")}
    wrong = first_fault(
        ("in more than one set", [id for id, times in where.items() if times > 1]),
        ("in no set", set(ids) - where.keys()),
        ("in a set, and not of the tasks", where.keys() - set(ids)),
        ("without a record, or with one too many", set(ids) ^ records),
        ("left behind", [name for name, exists in left.items() if exists]),
    )
    return Check(claim="each task is in exactly one set, and no lease is left", holds=not wrong, detail=wrong)


def kill_was_survived(history: History, victim: str | None) -> Check:
    """Leases of the killed worker were taken back, and others completed its tasks."""
    claim = "the killed worker's tasks were completed by the other"
    taken = [id for id, worker, _ in history.stalled if worker == victim]
    wrong = first_fault(
        ("completed by the killed worker", [id for id in taken if history.completed_by.get(id) == victim])
    )
    if victim is None:
        wrong = "all was done before a worker could be killed"
    elif not taken:
        wrong = f"{victim} held no lease"
    return Check(claim=claim, holds=not wrong, detail=wrong or f"{len(taken)} taken back")


def each_start_has_a_reason(history: History, starts: Counter[str], ids: Collection[str]) -> Check:
    """The handler was started once for each task, and again at most after a failure or a lease that was taken back."""
    again = Counter(id for id, _, _ in history.stalled) + history.failed
    wrong = first_fault(
        ("never started", set(ids) - starts.keys()),
        ("started without a reason", [id for id, times in starts.items() if times > (id in ids) + again[id]]),
    )
    claim = "the handler was started again only after a failure or a lost lease"
    return Check(claim=claim, holds=not wrong, detail=wrong)


def totals(results: Iterable[Counts | None]) -> dict[str, int]:
    """Sums over files; `unparsable` counts those that are not Python of this version."""
    found = [result for result in results if result]
    sums = {name: sum(int(result[name]) for result in found) for name in ("functions", "classes", "lines")}
    return {**sums, "unparsable": sum("error" in result for result in found)}


def shown(sums: Mapping[str, int]) -> str:
    """Sums in words."""
    return ", ".join(f"{count:,} {name}" for name, count in sums.items())


def first_fault(*faults: tuple[str, Collection[str]]) -> str:
    """The first fault that has ids: how many, what, and some of them."""
    for what, ids in faults:
        if ids:
            return f"{len(ids)} {what}: {', '.join(sorted(ids)[:3])}" + (" …" if len(ids) > 3 else "")
    return ""
