"""The demo from beginning to end."""

from __future__ import annotations

import platform
from collections import Counter, defaultdict
from collections.abc import Mapping
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import monotonic, sleep

from redis import Redis

from pyadeq import Adeq, Backoff, EmbeddedServer, Queue
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.prove.demo.history import History, read_history
from pyadeq.ext.prove.demo.job import Counts, count
from pyadeq.ext.prove.demo.plan import MISSING, QUEUE, Plan, make_plan
from pyadeq.ext.prove.demo.proof import Check, Expected, each_start_has_a_reason, kill_was_survived, prove, totals
from pyadeq.ext.prove.demo.report import Killed, Report, Setup, Times
from pyadeq.ext.prove.demo.view import Progress, View
from pyadeq.ext.prove.demo.workers import CONCURRENCY, Kill, Workers
from pyadeq.models.base import iso

WORKERS = 2
LEASE = 3.0
BACKOFF = Backoff(base=0.5, cap=2.0)
MAX_ATTEMPTS = 3
POLL = 0.02  # seconds between two looks at the queue
STUCK = 30.0  # seconds without any progress


class PlainRun:
    """A plain run: it counts the same files in this process, one after the other, in slices of time."""

    def __init__(self, files: Mapping[str, Path]) -> None:
        self.results: dict[str, Counts] = {}
        self._left = dict(files)

    @property
    def left(self) -> int:
        """How many files are not counted yet."""
        return len(self._left)

    def work(self, seconds: float) -> None:
        """Count files for so long, and wait where none are left."""
        until = monotonic() + seconds
        while self._left and monotonic() < until:
            id, path = self._left.popitem()
            self.results[id] = count(path)
        sleep(max(0.0, until - monotonic()))


def run_demo(view: View, *, keep: Path | None = None, limit: int | None = None) -> Report:
    """Run it all on a private server, whose data stays in `keep`. limit: how many of the largest files.

    Raises AdeqError if the server does not start, or if the work comes to a halt.
    """
    plan = make_plan(limit)
    server = EmbeddedServer(keep)
    try:
        server.start()
    except ConfigError as error:
        raise AdeqError(str(error)) from error
    with server, Adeq.from_url(server.url, source="adeq demo") as adeq:
        queue = adeq.queue(QUEUE)
        queue.configure(lease=LEASE, max_attempts=MAX_ATTEMPTS, backoff=BACKOFF)
        setup = Setup(
            engine=server.engine,
            python=platform.python_version(),
            workers=WORKERS,
            concurrency=CONCURRENCY,
            lease=LEASE,
            backoff_base=BACKOFF.base,
            backoff_cap=BACKOFF.cap,
            max_attempts=MAX_ATTEMPTS,
        )
        _introduce(view, setup, plan)
        plain = PlainRun(plan.files)
        with NamedTemporaryFile(prefix="adeq-demo-") as file:
            with Workers(server.url, QUEUE, WORKERS, Path(file.name)) as workers:
                kill = _work(view, queue, plan, workers, plain)
            starts = Counter(file.read().decode().split())
        while plain.left:
            plain.work(POLL)
            done = len(plan.files) - plain.left
            view.update(Progress("Plain run", done, len(plan.files), {"to compare with, in this process": ""}))
        expected = Expected(plain.results, MISSING, MAX_ATTEMPTS)
        with Redis.from_url(server.url) as client:
            history = read_history(client, queue.base)
            proof = [
                *prove(queue, client, expected),
                kill_was_survived(history, kill.worker if kill else None),
                each_start_has_a_reason(history, starts, {MISSING, *plan.files}),
            ]
        return _report(setup, plan, history, kill, proof, starts, plain.results, keep)


def _introduce(view: View, setup: Setup, plan: Plan) -> None:
    tests = sum(task.user == "tests" for task in plan.tasks)
    view.say(f"Server   {setup.engine}, private, append-only file on")
    view.say(f"Tasks    parse {len(plan.files):,} files of Python {setup.python} and one that does not exist")
    view.say(
        f"         {len(plan.tasks) - tests:,} at priority 3, {tests:,} tests at priority 7; "
        f"{plan.delayed} delayed by 0.5 to 3 s"
    )
    view.say(
        f"Workers  {setup.workers} processes, {setup.concurrency} tasks each; lease {setup.lease:g} s; "
        f"{setup.max_attempts} attempts, backoff {setup.backoff_base:g} s to {setup.backoff_cap:g} s"
    )


def _work(view: View, queue: Queue, plan: Plan, workers: Workers, plain: PlainRun) -> Kill | None:
    """Enqueue, watch, and kill a worker half-way; return when every task is done."""
    total, kill, enqueued, told = len(plan.tasks), None, False, False
    last_done, last_change = -1, monotonic()
    while True:
        stats = queue.stats()
        workers.check()
        if not enqueued and stats.workers == WORKERS:
            queue.enqueue_many(plan.tasks)
            enqueued = True
            continue
        done = stats.finished + stats.dead
        if kill is None and done >= total // 2 and (kill := workers.kill_last(queue, done)):
            held = _leases(kill.held)
            view.say(f"Killed   {kill.worker} (pid {kill.pid}) with SIGKILL at {done:,} of {total:,}; it held {held}")
        if kill and not told and stats.counters.get("stalled", 0) >= kill.held:
            view.say(f"Back     {_leases(kill.held)} taken back {stats.now - kill.at:.1f} s after the kill")
            told = True
        view.update(_progress(stats.counters, total, done, stats.running, stats.pending, workers.alive))
        if enqueued and done == total:
            return kill
        if done != last_done:
            last_done, last_change = done, monotonic()
        elif monotonic() - last_change > STUCK:
            raise AdeqError(f"nothing was done for {STUCK:g} s: {stats.model_dump(exclude={'counters'})}")
        if kill is None:
            sleep(POLL)
        else:  # there is a processor to spare now
            plain.work(POLL)


def _leases(count: int) -> str:
    return f"{count} lease{'s' * (count != 1)}"


def _progress(counters: Mapping[str, int], total: int, done: int, running: int, waiting: int, alive: int) -> Progress:
    facts: dict[str, int | str] = {
        "running": f"{running:<2}",
        "waiting": f"{waiting:<5,}",
        "retried": counters.get("retried", 0),
        "taken back": f"{counters.get('stalled', 0):<2}",
        "workers": f"{alive} of {WORKERS}",
    }
    return Progress("Parsing", done, total, facts)


def _report(
    setup: Setup,
    plan: Plan,
    history: History,
    kill: Kill | None,
    proof: list[Check],
    starts: Counter[str],
    results: Mapping[str, Counts],
    keep: Path | None,
) -> Report:
    priority = {task.id: task.priority for task in plan.tasks}
    waits = defaultdict[str, list[float]](list)
    for id, wait in history.waits:
        waits["all"].append(wait)
        waits[f"priority {priority[id]}"].append(wait)
    killed = None
    if kill:
        times = [at for _, worker, at in history.stalled if worker == kill.worker]
        after = max(times) / 1000 - kill.at if times else None
        killed = Killed(worker=kill.worker, pid=kill.pid, done=kill.done, held=kill.held, taken_back_after=after)
    return Report(
        ok=all(check.holds for check in proof),
        setup=setup,
        started=history.first_ms / 1000,
        started_iso=iso(history.first_ms / 1000),
        tasks=len(plan.tasks),
        files=len(plan.files),
        delayed=plan.delayed,
        seconds=history.seconds,
        tasks_per_second=len(plan.tasks) / history.seconds if history.seconds else 0.0,
        wait={which: Times.of(waits[which]) for which in sorted(waits)},
        run=Times.of([seconds for _, seconds in history.runs]),
        starts=starts.total(),
        started_again=sorted(starts - Counter(list(starts))),
        accepted=history.completed.total(),
        retries=history.retries,
        taken_back=len(history.stalled),
        dead=len(history.dead),
        killed=killed,
        totals=totals(results.values()),
        proof=proof,
        data_dir=None if keep is None else str(keep.absolute()),
    )
