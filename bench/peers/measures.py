"""What is measured of one peer, each time on a server of its own: how fast, at what cost, how soon, after a crash."""

from __future__ import annotations

import contextlib
import math
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeVar

import redis

from bench.peers.contract import KEEP_SECONDS, WARM
from bench.peers.environments import Peer
from pyadeq import EmbeddedServer
from pyadeq.errors import AdeqError
from pyadeq.ext.prove.bench.cost import steps
from pyadeq.ext.prove.bench.scene import Plan, Scene, main_thread

T = TypeVar("T")

# The same for all. A rewrite of the append-only file in the middle of a run would hit whoever runs then.
APPENDFSYNC: Literal["everysec"] = "everysec"
SETTINGS = {"auto-aof-rewrite-percentage": "0"}
POLL = 0.01
DEADLINE = 60.0  # for what takes a moment: a start, a first task, the next one
FILL = 600.0  # for putting the tasks in line
WARM_UP = 5  # reports that are not counted
HOLD = 600  # seconds that the task runs whose worker is killed
RECOVERY = 150.0
MORE = 1.2  # times as many tasks as are kept fill a queue


class Failed(Exception):
    """A peer did not do what was asked; says what, and the end of what its process said."""


class Run:
    """A server and the processes of one measurement; all of them end with it."""

    def __init__(self, peer: Peer, stack: contextlib.ExitStack, binary: Path | None, keep: int = 0) -> None:
        self.peer = peer
        self._keep = ("--keep", str(keep)) if keep else ()
        self._stack = stack
        port = free_port()
        server = stack.enter_context(EmbeddedServer(port=port, binary=binary, appendfsync=APPENDFSYNC, config=SETTINGS))
        self.engine = server.engine
        self.url = f"redis://127.0.0.1:{port}/0"
        self.client = stack.enter_context(redis.Redis.from_url(server.url))

    def work(self) -> Process:
        """Start a worker."""
        return self._start("work")

    def enqueue(self, tasks: int) -> float:
        """Put tasks in line; the seconds that it took."""
        producer = self._start("enqueue", tasks)
        producer.wait(FILL)
        return float(producer.printed())

    def call(self, tasks: int, callers: int, way: str) -> tuple[float, float, float]:
        """Put tasks in line, each by a call of its own; the seconds, µs of the client per task, and ms."""
        producer = self._start("call", tasks, callers, way)
        producer.wait(FILL)
        seconds, cpu, p99 = map(float, producer.printed().split())
        return seconds, cpu, p99

    def counter(self) -> Callable[[int], int]:
        """How many of the enqueued tasks are completed and acknowledged."""
        script = self.client.register_script(self.peer.done)

        def done(tasks: int) -> int:
            answer: Any = script(args=[tasks])
            return int(answer)

        return done

    def send(self, count: int, hold: int = 0) -> None:
        """Send reports, one at a time, to a worker that runs."""
        self._start("send", count, hold).wait(DEADLINE + count)

    def _start(self, command: str, *words: object) -> Process:
        return self._stack.enter_context(process(self.peer, command, self.url, *map(str, words), *self._keep))


class Report(NamedTuple):
    """When it was sent and when it began, in nanoseconds, and for how many seconds it goes on."""

    sent: int
    began: int
    hold: int


class Usage(NamedTuple):
    """What a server has done: since it began, or for each task.

    us: microseconds of CPU of its main thread. commands: those that it has run, those that scripts send too.
    bytes_in, bytes_out: from its clients and to them.
    """

    us: float
    commands: float
    bytes_in: float
    bytes_out: float


class Flow(NamedTuple):
    """How fast tasks went in and were done, and what the server did for each of them, meanwhile."""

    per_second: float
    enqueue_per_second: float
    enqueue: Usage
    work: Usage


class Calls(NamedTuple):
    """Tasks that callers put in line, each by a call of its own: how fast, what each cost, and the slowest calls."""

    per_second: float
    client_us: float
    p99_ms: float
    server_us: float
    server_commands: float


class Steady(NamedTuple):
    """A task's whole life while as many tasks are deleted as end: what the server did for it, and what it left there.

    bytes, keys: how much more the server holds after the life of a task than before, divided by the tasks.
    """

    us: float
    commands: float
    bytes: float
    keys: float


class Process:
    """A peer's script at work. What it prints and says goes to files, so that a full pipe never stops it."""

    def __init__(self, name: str, popen: subprocess.Popen[bytes], output: Path, errors: Path) -> None:
        self._name, self._popen, self._output, self._errors = name, popen, output, errors

    def kill(self) -> None:
        self._popen.kill()
        self._popen.wait()

    def wait(self, deadline: float) -> None:
        """Until it has ended as it should."""
        try:
            code = self._popen.wait(deadline)
        except subprocess.TimeoutExpired:
            raise self.failed(f"took longer than {deadline:g} s") from None
        if code:
            raise self.failed(f"ended with {code}")

    def printed(self) -> bytes:
        """All whole lines."""
        return self._output.read_bytes().rpartition(b"\n")[0]

    def reports(self) -> list[Report]:
        """What has begun, in that order."""
        return [Report(*map(int, line.split())) for line in self.printed().splitlines()]

    def held(self) -> Report | None:
        """The report that goes on, if it has begun here."""
        return next((report for report in self.reports() if report.hold), None)

    def until(self, found: Callable[[], T | None], deadline: float, what: str) -> T:
        """The first answer that is not None."""
        end = time.monotonic() + deadline
        while (answer := found()) is None:
            if self._popen.poll() is not None:
                raise self.failed(f"ended with {self._popen.returncode}")
            if time.monotonic() > end:
                raise self.failed(f"{what} took longer than {deadline:g} s")
            time.sleep(POLL)
        return answer

    def failed(self, what: str) -> Failed:
        said = self._errors.read_text(errors="replace").splitlines()[-12:]
        return Failed("\n".join([f"{self._name} {what}", *said]))


@contextlib.contextmanager
def process(peer: Peer, *arguments: str) -> Iterator[Process]:
    with tempfile.TemporaryDirectory() as directory:
        output, errors = Path(directory, "output"), Path(directory, "errors")
        with output.open("wb") as out, errors.open("wb") as err:
            popen = peer.start(*arguments, output=out, errors=err)
        try:
            yield Process(f"{peer.name} {' '.join(arguments)}", popen, output, errors)
        finally:
            popen.kill()
            popen.wait()


@contextlib.contextmanager
def run(peer: Peer, binary: Path | None, keep: int = 0) -> Iterator[Run]:
    with contextlib.ExitStack() as stack:
        yield Run(peer, stack, binary, keep)


def throughput(peer: Peer, tasks: int, longest: float, binary: Path | None) -> Flow:
    """Tasks a second of one producer; then of one worker, from when a tenth is seen completed until all are.

    The first tenth is for pools to fill and code to be compiled. Either part ends after `longest` seconds. What the
    server did for the worker is counted from its start, and shared among the tasks that are done by then.
    """
    with run(peer, binary) as one:
        empty = usage(one.client)
        seconds = one.enqueue(tasks)
        filled = usage(one.client)
        done = one.counter()

        def more(than: int) -> int | None:
            count = done(tasks)
            return count if count > than else None

        def reach(goal: int, count: int) -> tuple[int, float]:
            """How many are done in the end, and when that was seen."""
            end = time.monotonic() + longest
            while count < goal and time.monotonic() < end:
                time.sleep(POLL)
                count = worker.until(partial(more, count), DEADLINE, f"a task after {count}")
            return count, time.monotonic()

        if before := done(tasks):
            raise Failed(f"{peer.name}: counts {before} tasks as done before there is a worker")
        worker = one.work()
        first, began = reach(tasks // 10, 0)
        last, ended = reach(tasks, first)
        if last == first:
            raise Failed(f"{peer.name}: {tasks} tasks are too few: all were done between two looks")
        return Flow(
            per_second=(last - first) / (ended - began),
            enqueue_per_second=tasks / seconds,
            enqueue=for_each(tasks, empty, filled),
            work=for_each(last, filled, usage(one.client)),
        )


def calls(peer: Peer, tasks: int, callers: int, way: str, binary: Path | None) -> Calls:
    """Enqueue by single calls, with no worker. All tasks must then wait on the server."""
    with run(peer, binary) as one:
        before = usage(one.client)
        seconds, cpu, p99 = one.call(tasks, callers, way)
        used = for_each(tasks + WARM, before, usage(one.client))
        if done := one.counter()(tasks + WARM):
            raise Failed(f"{peer.name}: {done} of {tasks + WARM} tasks do not wait after {callers} callers, {way}")
        return Calls(tasks / seconds, cpu, p99, used.us, used.commands)


def steady(peer: Peer, tasks: int, binary: Path | None) -> Steady:
    """Fill the retention. Then enqueue as many tasks as it keeps, let a worker end them, and see as many deleted."""
    with run(peer, binary, keep=tasks) as one:
        first = round(tasks * MORE)
        lives(one, first, first, KEEP_SECONDS)
        before, held = usage(one.client), holds(one.client)
        lives(one, tasks, first + tasks, peer.leaves)
        used = for_each(tasks, before, usage(one.client))
        keys, size = (after - there for after, there in zip(holds(one.client), held, strict=True))
        return Steady(used.us, used.commands, size / tasks, keys / tasks)


def lives(one: Run, tasks: int, whole: int, rest: float) -> None:
    """Put tasks in line, start a worker, and kill it some time after all are done.

    whole: how many tasks the server has seen by then. rest: seconds in which what is kept by age goes.
    """
    one.enqueue(tasks)
    done = one.counter()
    if (before := done(whole)) > whole - tasks:
        raise Failed(f"{one.peer.name}: counts {before} of {whole} tasks as done before the worker starts")
    worker = one.work()
    worker.until(lambda: done(whole) >= whole or None, FILL, f"{tasks} tasks")
    time.sleep(rest + 1)
    worker.kill()


def holds(client: redis.Redis) -> tuple[int, int]:
    """How many keys the server has, and bytes."""
    memory: Any = client.info("memory")
    size: Any = client.dbsize()
    return size, memory["used_memory"]


def life(peer: Peer, tasks: int, batch: int, events: bool, binary: Path | None) -> float:
    """Microseconds of the server's main thread for each task of ours: enqueue, claim and settle, so many in a call."""
    with run(peer, binary) as one, Scene.at(one.url, Plan(tasks=tasks, rounds=1)) as scene:
        queue = scene.adeq.queue("bench")
        try:
            if not events:
                queue.configure(events_max=0)
            enqueue, take = steps(scene, queue, tasks, batch)
            return (scene.cpu(enqueue) + scene.cpu(take)) / tasks * 1e6
        except AdeqError as error:
            raise Failed(f"batches of {batch}, events {'on' if events else 'off'}: {error}") from error


def latency(peer: Peer, samples: int, binary: Path | None) -> list[float]:
    """Seconds from just before a task is sent to an idle worker until its handler begins."""
    with run(peer, binary) as one:
        worker = one.work()
        one.send(1)
        worker.until(lambda: worker.reports() or None, DEADLINE, "the first report")
        one.send(WARM_UP + samples)
        expected = 1 + WARM_UP + samples
        reports = worker.until(
            lambda: found if len(found := worker.reports()) >= expected else None, DEADLINE, "the last report"
        )
        return [(report.began - report.sent) / 1e9 for report in sorted(reports)[1 + WARM_UP :]]


def recovery(peer: Peer, binary: Path | None) -> float:
    """Seconds from the kill of a worker in the middle of a task until another that was idle begins that task.

    Infinite if it does not within RECOVERY seconds.
    """
    with run(peer, binary) as one:
        workers = [one.work(), one.work()]
        count, end = 1, time.monotonic() + DEADLINE
        while not all(worker.reports() for worker in workers):  # until it has had a task one may not be ready
            if time.monotonic() > end:
                raise workers[-1].failed("did not begin to work")
            one.send(count)
            count *= 2
        one.send(1, HOLD)
        workers[0].until(lambda: any(worker.held() for worker in workers) or None, DEADLINE, "the task to be held")
        holder, other = sorted(workers, key=lambda worker: worker.held() is None)
        killed = time.monotonic_ns()
        holder.kill()
        while time.monotonic_ns() < killed + RECOVERY * 1e9:
            if again := other.held():
                return (again.began - killed) / 1e9
            time.sleep(POLL)
        return math.inf


def usage(client: redis.Redis) -> Usage:
    """Since the server began."""
    stats: Any = client.info("stats")
    return Usage(
        us=main_thread(client) * 1e6,
        commands=stats["total_commands_processed"],
        bytes_in=stats["total_net_input_bytes"],
        bytes_out=stats["total_net_output_bytes"],
    )


def for_each(tasks: int, before: Usage, after: Usage) -> Usage:
    return Usage(*((end - start) / tasks for start, end in zip(before, after, strict=True)))


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port
