"""`adeq worker run` as a process: it works, stops, dies and waits as it promises."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import IO

import pytest

from pyadeq import Adeq, EmbeddedServer, Queue, TaskView
from pyadeq.errors import ConfigError
from pyadeq.ext.cli.worker.handlers import load_handler
from tests.quick import slow_after
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine

ROOT = Path(__file__).parents[3]

# what a task is to do is in its payload: wait for a file, for ever, for ever in a thread, or only in one process
HANDLERS = """
import asyncio
import os
import threading
from pathlib import Path

from pyadeq.asyncio import TaskFailed


async def handle(lease):
    todo = lease.payload or {}
    if "gate" in todo:
        while not Path(todo["gate"]).exists():
            await asyncio.sleep(0.01)
    if "hang" in todo or "HANG" in os.environ:
        await asyncio.sleep(3600)
    if "thread" in todo:
        await asyncio.to_thread(threading.Event().wait)
    if "seconds" in todo:
        await asyncio.sleep(todo["seconds"])
    if "fail" in todo:
        raise TaskFailed("the cause", reason="told_to", retryable=False)
    return {"done": lease.id}


async def no_lease():
    pass


class Service:
    async def __call__(self, lease):
        pass

    async def method(self, lease):
        pass


service = Service()
number = 1
"""


class Process:
    """A worker of the real command line; its log goes to a file."""

    def __init__(self, folder: Path, url: str, queue: str, *arguments: str, **environment: str) -> None:
        self._log: IO[bytes] = (folder / f"{len(list(folder.iterdir()))}.log").open("w+b")
        command = [sys.executable, "-m", "pyadeq.ext.cli", "worker", "run", "jobs:handle", "--queue", queue]
        env = {**os.environ, "PYTHONPATH": str(ROOT), "ADEQ_URL": url, **environment}
        self.child = subprocess.Popen([*command, *arguments], cwd=folder, stderr=self._log, env=env)

    @property
    def log(self) -> str:
        return os.pread(self._log.fileno(), 1 << 20, 0).decode()

    def signal(self, number: signal.Signals) -> None:
        self.child.send_signal(number)

    def ended(self) -> int:
        return self.child.wait(DEADLINE)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        self._log.close()


Start = Callable[..., Process]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "jobs.py").write_text(HANDLERS)
    return tmp_path


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


@pytest.fixture
def start(folder: Path, processes: ExitStack, url: str, base_name: str) -> Start:
    """Start a worker on the test's queue."""

    def start(*arguments: str, url: str = url, **environment: str) -> Process:
        process = Process(folder, url, base_name, *arguments, **environment)
        processes.callback(process.close)
        return process

    return start


@pytest.fixture
def own_server(binary: Path) -> Iterator[EmbeddedServer]:
    """A server that a test may end and restart."""
    with EmbeddedServer(binary=binary, appendfsync="always") as server:
        yield server


def get(queue: Queue, id: str) -> TaskView:
    task = queue.get(id)
    assert task
    return task


def test_it_works_and_tells_how_each_task_ends(start: Start, queue: Queue) -> None:
    worker = start("--name", "w1")
    queue.enqueue_many([{"sesame": "open"}] * 25)
    failed = queue.enqueue({"fail": True}).id
    wait_until(lambda: (queue.stats().finished, queue.stats().dead) == (25, 1))
    assert all(task.worker == "w1" and task.state == "completed" for task in queue.iterate("completed"))
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert queue.stats().workers == 0
    lines = [line.split(" ", 1)[1] for line in worker.log.splitlines()]
    completed = [line for line in lines if line.startswith("info    task ") and " completed: attempt 1, " in line]
    assert len(completed) == 25
    started, failure, stopping, stopped = [line for line in lines if line not in completed]
    assert f"info    worker started queue={queue.name} worker=w1 concurrency=10" in started
    assert failure.startswith(f"warning task {failed} failed and is dead: attempt 1, ")
    assert failure.endswith("reason told_to: TaskFailed: the cause")
    assert "stopping: running tasks may finish signal=SIGTERM grace=30s" in stopping
    assert stopped.endswith("worker stopped queue=" + queue.name + " worker=w1 done=26")
    assert "sesame" not in worker.log


@pytest.mark.slow
def test_the_log_can_be_json(start: Start, queue: Queue) -> None:
    worker = start("-o", "json", "--name", "w1")
    wait_until(lambda: queue.stats().workers == 1)
    worker.signal(signal.SIGINT)
    assert worker.ended() == 0
    lines = [json.loads(line) for line in worker.log.splitlines()]
    assert [line["message"] for line in lines] == [
        "worker started",
        "stopping: running tasks may finish",
        "worker stopped",
    ]
    assert lines[0].items() >= {"level": "info", "queue": queue.name, "worker": "w1", "pid": worker.child.pid}.items()


def test_the_first_signal_drains_and_gives_the_rest_back(start: Start, queue: Queue, tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    queue.enqueue({"gate": str(gate)}, id="ends")
    queue.enqueue({"hang": True}, id="hangs")
    queue.enqueue({}, id="waits")
    places = {id: get(queue, id).place for id in ("hangs", "waits")}
    worker = start("--concurrency", "2", "--grace", "2")
    wait_until(lambda: queue.stats().running == 2)
    worker.signal(signal.SIGTERM)
    wait_until(lambda: "stopping" in worker.log)
    gate.touch()
    assert worker.ended() == 0
    assert get(queue, "ends").result == {"done": "ends"}
    assert [task.id for task in queue.iterate("ready")] == ["hangs", "waits"]
    assert {id: get(queue, id).place for id in places} == places
    assert (get(queue, "hangs").attempts, get(queue, "hangs").crashes) == (0, 0)
    assert (queue.stats().workers, queue.stats().running) == (0, 0)


@pytest.mark.slow
@pytest.mark.parametrize("payload", slow_after(1, [{"hang": True}, {"thread": True}]))
def test_the_second_signal_gives_all_back_at_once(start: Start, queue: Queue, payload: dict[str, bool]) -> None:
    queue.enqueue(payload, id="long")
    worker = start("--grace", "3600")
    wait_until(lambda: queue.stats().running == 1)
    worker.signal(signal.SIGINT)
    wait_until(lambda: "stopping" in worker.log)
    assert queue.stats().running == 1
    worker.signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert "stopping at once" in worker.log
    assert (get(queue, "long").state, get(queue, "long").attempts) == ("ready", 0)
    assert queue.stats().workers == 0


def test_the_tasks_of_a_killed_worker_are_done_by_another(start: Start, queue: Queue) -> None:
    queue.enqueue_many([{}] * 20)
    doomed = start("--name", "doomed", "--lease", "1", "--concurrency", "5", HANG="1")
    wait_until(lambda: queue.stats().running == 5)
    held = [task.id for task in queue.iterate("running")]
    doomed.signal(signal.SIGKILL)
    doomed.ended()
    start("--name", "heir")
    wait_until(lambda: queue.stats().finished == 20)
    assert all(task.worker == "heir" for task in queue.iterate("completed"))
    assert [(get(queue, id).crashes, get(queue, id).attempts) for id in held] == [(1, 1)] * 5
    assert queue.stats().counters["stalled"] == 5


@pytest.mark.slow
def test_a_server_that_is_away_is_waited_for_unless_a_worker_is_stopped(
    start: Start, own_server: EmbeddedServer, base_name: str
) -> None:
    with Adeq.from_url(own_server.url) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue({"hang": True})
        at_work = start(url=own_server.url)
        wait_until(lambda: queue.stats().running == 1)
        own_server.kill()
        # These two have never seen it.
        patient, stopped = start("--grace", "0", url=own_server.url), start(url=own_server.url)
        at_work.signal(signal.SIGTERM)
        wait_until(lambda: "stopping" in at_work.log)
        at_work.signal(signal.SIGTERM)
        wait_until(lambda: "no answer from the server, trying again" in stopped.log)
        assert "worker started" not in stopped.log
        stopped.signal(signal.SIGTERM)
        assert [at_work.ended(), stopped.ended()] == [0, 0]
        assert "stopped without the server" in at_work.log
        wait_until(lambda: "no answer from the server, trying again" in patient.log)
        own_server.restart()
        queue.enqueue({})
        wait_until(lambda: queue.stats().finished == 1)
        assert "worker started" in patient.log
        patient.signal(signal.SIGTERM)
        assert patient.ended() == 0


@pytest.mark.slow
def test_nothing_is_lost_when_the_server_restarts(start: Start, own_server: EmbeddedServer, base_name: str) -> None:
    with Adeq.from_url(own_server.url) as adeq:
        queue = adeq.queue(base_name)
        ids = {receipt.id for receipt in queue.enqueue_many([{"seconds": 0.02}] * 200)}
        for _ in range(2):
            start("--concurrency", "5", url=own_server.url)
        wait_until(lambda: queue.stats().finished >= 50)
        own_server.restart()
        wait_until(lambda: queue.stats().finished == 200)
        done = list(queue.iterate("completed"))
        assert {task.id for task in done} == ids
        assert [task.result for task in queue.get_many([task.id for task in done]) if task] == [
            {"done": task.id} for task in done
        ]
        assert queue.stats().counters["completed"] == 200


@pytest.mark.slow
def test_lanes_are_taken_from_the_options(start: Start, queue: Queue) -> None:
    queue.enqueue({}, lane="group/a")
    queue.enqueue({}, lane="group/b")
    queue.enqueue({}, id="other")
    start("--lane", "group/a", "--lane", "group/b")
    wait_until(lambda: queue.stats().finished == 2)
    assert get(queue, "other").state == "ready"


@pytest.mark.slow
def test_a_replaced_worker_ends_with_1(start: Start, queue: Queue) -> None:
    worker = start("--name", "w1")
    wait_until(lambda: queue.stats().workers == 1)
    queue.workers.register("w1")
    queue.enqueue({})
    assert worker.ended() == 1
    assert worker.log.splitlines()[-1].startswith("adeq: worker 'w1' was registered again elsewhere")


@pytest.mark.slow
def test_a_module_that_is_not_there_ends_with_2(url: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "pyadeq.ext.cli", "worker", "run", "nowhere:handle", "--url", url]
    env = {**os.environ, "PYTHONPATH": str(ROOT)}
    ended = subprocess.run(
        command, cwd=tmp_path, env=env, capture_output=True, text=True, timeout=DEADLINE, check=False
    )
    assert ended.returncode == 2
    assert ended.stderr == f"adeq: handler: there is no module 'nowhere', neither in {tmp_path} nor installed\n"


@pytest.fixture
def module(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], str]:
    """Write a module with this source; its name, which no other test uses."""
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def write(source: str) -> str:
        name = f"jobs_{len(list(folder.iterdir()))}_{os.path.basename(folder).replace('-', '_')}"
        (folder / f"{name}.py").write_text(source)
        return name

    return write


@pytest.mark.parametrize("function", ["handle", "service", "service.method"])
def test_a_handler_may_be_any_async_callable(module: Callable[[str], str], function: str) -> None:
    assert callable(load_handler(f"{module(HANDLERS)}:{function}"))


@pytest.mark.parametrize(
    ("source", "function", "message"),
    [
        (HANDLERS, "absent", "has no 'absent'"),
        (HANDLERS, "number", r"is not a function; define it as `async def number\(lease\): …`"),
        ("class Handle: pass", "Handle", "is not a function"),
        (HANDLERS, "no_lease", r"takes \(\); it must take one argument, the lease"),
        (
            "import absent_one",
            "handle",
            "cannot be imported: ModuleNotFoundError: No module named 'absent_one' .*line 1",
        ),
        ("1 / 0", "handle", r"cannot be imported: ZeroDivisionError: division by zero \(.*\.py, line 1\)"),
        ("def", "handle", r"cannot be imported: SyntaxError: .*line 1\)$"),
    ],
)
def test_a_handler_that_cannot_work_is_refused(
    module: Callable[[str], str], source: str, function: str, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        load_handler(f"{module(source)}:{function}")
