"""`adeq worker run --processes` and `--reload`, as PID 1 of a namespace where that is allowed."""

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest

from pyadeq import Queue
from pyadeq.ext.cli.shared.ending import ending_signals
from pyadeq.ext.cli.worker.processes import Child
from tests.integration.cli.run import COMMAND, environment
from tests.integration.deployments import commands
from tests.integration.workers import Start, Started, get, probe, starting
from tests.waiting import DEADLINE, wait_until

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]

APP = """
import os
from pyadeq.asyncio import Adeq
from work import handle

mail = Adeq.from_url(os.environ["ADEQ_URL"]).queue(os.environ["NAME"])

@mail.task
async def send(what: str) -> int:
    return await handle(what)
"""
JOBS = """
import asyncio
import os
import subprocess
from pathlib import Path

Path(f"import-{os.getpid()}").touch()

async def handle(lease):
    todo = lease if isinstance(lease, str) else lease.payload
    if todo == "crash":
        os._exit(7)
    if todo == "orphan":  # its parent, a shell, ends before it
        subprocess.run(["sh", "-c", "sleep 0.2 &"])
    if todo == "gate":
        while not Path("gate").exists():
            await asyncio.sleep(0.01)
    if todo == "hang":
        await asyncio.sleep(3600)
    return os.getpid()
"""
COMMANDS = [["work:handle", "--processes", "2"], ["work:handle", "--concurrency", "4"], *commands().values()]
CONTAINED = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]


@pytest.fixture
def start(tmp_path: Path, url: str, base_name: str) -> Iterator[Start]:
    with starting(tmp_path, url, base_name) as start:
        (tmp_path / "work.py").write_text(JOBS)
        (tmp_path / "app.py").write_text(APP)
        yield start


@pytest.fixture(scope="module")
def container() -> list[str]:
    """What starts a command as PID 1, or nothing where that is not allowed."""
    tried = [*CONTAINED, "true"]
    allowed = shutil.which("unshare") and subprocess.run(tried, capture_output=True, check=False).returncode == 0
    return CONTAINED if allowed else []


def children(pid: int) -> list[int]:
    return [int(one) for one in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def first_of(worker: Started, container: list[str]) -> int:
    """The process of the command, as we see it."""
    return children(worker.child.pid)[0] if container else worker.child.pid


def quick(command: list[str], *more: str) -> list[str]:
    """A command of a page, with a short grace time and any free port."""
    return ["0" if word == "7000" else word for word in command] + list(more)


def enqueue(queue: Queue, command: list[str], what: str) -> str:
    payload = {"what": what} if command[0] == "app:mail" else what
    return queue.enqueue(payload, kind="send").id


def in_use(queue: Queue, workers: int) -> None:
    wait_until(lambda: queue.stats().workers == workers)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_a_signal_ends_it_within_the_grace_time_and_no_task_is_lost(
    start: Start, queue: Queue, container: list[str], tmp_path: Path, command: list[str]
) -> None:
    worker = start(*quick(command, "--grace", "2"), container=container)
    count = int(command[command.index("--processes") + 1]) if "--processes" in command else 1
    in_use(queue, count)
    ids = [enqueue(queue, command, what) for what in ("gate", "hang", "x", "x")]
    wait_until(lambda: (queue.stats().running, queue.stats().finished) == (2, 2))
    os.kill(first_of(worker, container), signal.SIGTERM)
    wait_until(lambda: worker.log.count("stopping: running tasks may finish signal=SIGTERM grace=2s") >= count)
    (tmp_path / "gate").touch()
    assert worker.ended() == 0
    assert [get(queue, id).state for id in ids] == ["completed", "ready", "completed", "completed"]
    assert (get(queue, ids[1]).attempts, queue.stats().workers) == (0, 0)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_tasks_of_a_killed_command_are_taken_again(
    start: Start, queue: Queue, container: list[str], command: list[str]
) -> None:
    worker = start(*quick(command, "--lease", "1"), container=container)
    id = enqueue(queue, command, "hang")
    wait_until(lambda: get(queue, id).state == "running")
    os.kill(first_of(worker, container), signal.SIGKILL)
    worker.ended()
    if "--processes" in command and not container:
        wait_until(lambda: "the supervisor has ended: stopping" in worker.log)
    start(command[0], "--name", "heir")
    wait_until(lambda: get(queue, id).worker == "heir")


def test_a_process_that_crashes_is_started_again(
    start: Start, queue: Queue, container: list[str], tmp_path: Path
) -> None:
    worker = start("work:handle", "--processes", "2", "--name", "w", "--health", "0", container=container)
    in_use(queue, 2)
    assert sorted(one.name for one in queue.workers.list()) == ["w-1", "w-2"]
    wait_until(lambda: probe(worker, "/ready")[0] == 200)
    queue.run("x", wait=60)
    queue.enqueue("crash", max_attempts=1)
    wait_until(lambda: "a process has ended: starting it again" in worker.log)
    assert "status=7 in=1s" in worker.log
    wait_until(lambda: worker.log.count("worker started") == 3)
    in_use(queue, 2)
    wait_until(lambda: probe(worker, "/ready")[1].get("done") == 1)  # the count of the crashed process stays
    assert probe(worker, "/live")[1]["concurrency"] == 20
    queue.run("orphan", wait=60)
    first = first_of(worker, container)
    wait_until(lambda: len(children(first)) == 2)  # as PID 1, it has taken the orphan's status
    os.kill(first, signal.SIGTERM)
    assert worker.ended() == 0


def test_processes_that_an_operator_stops_are_not_started_again(start: Start, queue: Queue) -> None:
    worker = start("work:handle", "--processes", "2", "--name", "w", "--health", "0")
    in_use(queue, 2)
    queue.workers.control(["w-1"], mode="stop")
    wait_until(lambda: "a process has ended process=1" in worker.log)
    assert probe(worker, "/ready")[1]["reason"] == "the worker takes no tasks: its mode is stop"
    queue.workers.control(["w-2"], mode="stop")
    assert worker.ended() == 0


def test_a_second_signal_returns_the_tasks_of_all_processes(start: Start, queue: Queue) -> None:
    worker = start("work:handle", "--processes", "2", "--grace", "3600", "--concurrency", "1")
    in_use(queue, 2)
    ids = [queue.enqueue("hang").id for _ in range(2)]
    wait_until(lambda: queue.stats().running == 2)
    worker.child.send_signal(signal.SIGHUP)  # as a terminal that closes does
    wait_until(lambda: worker.log.count("stopping: running") == 3)
    worker.child.send_signal(signal.SIGINT)
    assert worker.ended() == 0
    assert [get(queue, id).state for id in ids] == ["ready", "ready"]


def test_what_is_wrong_with_all_processes_is_said_once(start: Start) -> None:
    worker = start("nowhere:handle", "--processes", "3")
    assert worker.ended() == 2
    assert worker.log.count("adeq: handler: there is no module 'nowhere'") == 1


def test_changed_source_is_loaded(start: Start, queue: Queue, tmp_path: Path) -> None:
    """Also after an error in it."""
    worker = start("work:handle", "--reload", "--name", "w1")
    assert queue.run("x", wait=60) == worker.child.pid
    (tmp_path / "work.py").write_text("async def handle(lease): x x 1")
    wait_until(lambda: "waiting for a change of the source" in worker.log)
    assert "the source has changed: starting again file=work.py" in worker.log
    assert "module 'work' cannot be imported: SyntaxError" in worker.log
    (tmp_path / "work.py").write_text("async def handle(lease): return 'new code'")
    assert queue.run("x", wait=60) == "new code"
    worker.child.send_signal(signal.SIGHUP)
    assert worker.ended() == 0
    assert "stopping: running tasks may finish signal=SIGHUP" in worker.log


def test_a_signal_ends_it_before_its_processes_have_begun(tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import pathlib, time; pathlib.Path('import').touch(); time.sleep(3600)")
    words = [*COMMAND, "worker", "run", "slow:handle", "--processes", "2"]
    with subprocess.Popen(words, cwd=tmp_path, env=environment(), stderr=subprocess.PIPE, text=True) as run:
        wait_until((tmp_path / "import").exists)
        run.send_signal(signal.SIGTERM)
        _, log = run.communicate(timeout=DEADLINE)
    assert (run.returncode, "status=-15" in log) == (0, True), log


def test_a_signal_that_is_ignored_ends_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """nohup ignores SIGHUP, and a shell ignores SIGINT for what it runs in the background."""
    monkeypatch.setattr(signal, "getsignal", lambda _: signal.SIG_IGN)
    assert ending_signals() == []
    assert ending_signals(signal.SIGTERM, signal.SIGINT) == [signal.SIGTERM, signal.SIGINT]


def test_a_process_that_cannot_be_started_now_is_started_later(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise BlockingIOError("too many processes")

    monkeypatch.setattr(os, "posix_spawn", refuse)
    child = Child(1)
    child.start()
    assert (child.pid, child.pipe) == (0, None)
    assert child.due < inf
