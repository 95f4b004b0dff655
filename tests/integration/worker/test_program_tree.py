"""Nothing that a program starts outlives its task: not its end, its cancellation, or the death of its worker."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.integration.worker.programs import (
    LINUX,
    STUBBORN,
    alive,
    change,
    failed,
    numbers,
    run,
    sh,
)
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine


@pytest.fixture
def pids(tmp_path: Path) -> Iterator[Path]:
    """Where programs write their process ids; what is left of them at the end is killed."""
    yield tmp_path / "pids"
    for pid in numbers(tmp_path / "pids"):
        if alive(pid):
            os.kill(pid, signal.SIGKILL)


async def test_what_it_leaves_behind_is_ended(pids: Path) -> None:
    assert await run(sh("sleep 1000 & echo $! > pids; echo done", cwd=pids.parent)) == b"done"
    assert not any(map(alive, numbers(pids)))


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is ended")
async def test_what_it_leaves_behind_is_ended_even_if_it_does_not_want_to(pids: Path) -> None:
    assert await run(sh(f"{STUBBORN}\necho done", cwd=pids.parent, kill_after=0.5)) == b"done"
    assert len(numbers(pids)) == 3
    assert not any(map(alive, numbers(pids)))


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is ended")
async def test_cancelled_it_ends_the_whole_tree(pids: Path) -> None:
    program = sh(f"{STUBBORN}\nsleep 1000; sleep 1000", cwd=pids.parent, kill_after=0.5)
    running = asyncio.create_task(run(program))
    await asyncio.to_thread(wait_until, (pids.parent / "ready").exists)
    assert all(map(alive, numbers(pids)))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert len(numbers(pids)) == 3
    assert not any(map(alive, numbers(pids)))


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is ended")
async def test_cancelled_again_it_is_still_waited_for(pids: Path) -> None:
    running = asyncio.create_task(run(sh(f"{STUBBORN}\nsleep 1000; sleep 1000", cwd=pids.parent, kill_after=0.5)))
    await asyncio.to_thread(wait_until, (pids.parent / "ready").exists)
    while not running.done():
        running.cancel()
        await asyncio.sleep(0.01)
    assert running.cancelled()
    assert not any(map(alive, numbers(pids)))


async def test_cancelled_it_may_end_in_its_own_way(tmp_path: Path) -> None:
    script = "trap 'echo bye > bye; exit 0' TERM; echo ready > ready; while :; do sleep 0.01; done"
    running = asyncio.create_task(run(sh(script, cwd=tmp_path, kill_after=30)))
    await asyncio.to_thread(wait_until, (tmp_path / "ready").exists)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (tmp_path / "bye").read_text() == "bye\n"


@pytest.mark.slow
async def test_where_nothing_is_adopted_the_group_is_ended(pids: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on macOS."""
    change(monkeypatch, pids.parent, "PR_SET_CHILD_SUBREAPER = 36", "PR_SET_CHILD_SUBREAPER = 100_000")
    script = "trap '' TERM; (trap '' TERM; echo in >> ready; exec sleep 1000) & echo $! $$ > pids; sleep 1000"
    running = asyncio.create_task(run(sh(f"{script}; sleep 1000", cwd=pids.parent, kill_after=0.5)))
    await asyncio.to_thread(wait_until, lambda: len(numbers(pids)) == 2 and (pids.parent / "ready").exists())
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert not any(map(alive, numbers(pids)))
    assert await run(sh("(sleep 1000)& echo $! > pids; echo done", cwd=pids.parent)) == b"done"
    assert not any(map(alive, numbers(pids)))


async def test_one_that_is_stopped_ends_too(pids: Path) -> None:
    running = asyncio.create_task(run(sh("echo $$ > pids; kill -STOP $$", cwd=pids.parent, kill_after=30)))
    await asyncio.to_thread(wait_until, lambda: numbers(pids))
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asyncio.wait_for(running, 20)


async def test_cancelled_at_once_it_ends_at_once(pids: Path) -> None:
    """At any moment of its start: none of them waits for SIGKILL."""
    for turns in range(12):
        running = asyncio.create_task(run(sh("echo $$ >> pids; exec sleep 1000", cwd=pids.parent, kill_after=60)))
        for _ in range(turns):
            await asyncio.sleep(0)
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(running, DEADLINE)
    assert not any(map(alive, numbers(pids)))


# argv: what the program does; whether to fork once it runs, into a process that keeps our pipes open
WORKER = """
import asyncio, os, sys, time
from pathlib import Path
from pyadeq import Lease
from pyadeq._tasks.context import CURRENT, TaskContext
from pyadeq._worker.programs import Program

async def fork():
    while not Path("ready").exists():
        await asyncio.sleep(0.01)
    if not (pid := os.fork()):
        time.sleep(1000)
    Path("forked").write_text(str(pid))

async def main():
    lease = Lease("t1", "token", 1, 1, 1, 0.0, b"", {})
    CURRENT.set(TaskContext(lease))
    forking = asyncio.create_task(fork()) if sys.argv[2] else None
    await Program(["sh", "-c", sys.argv[1]], kill_after=0.5)(lease)

asyncio.run(main())
"""


def start_worker(folder: Path, script: str, fork: str = "") -> subprocess.Popen[bytes]:
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])}
    return subprocess.Popen([sys.executable, "-c", WORKER, script, fork], cwd=folder, env=env)


@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is ended")
@pytest.mark.parametrize("fork", ["", "fork"])
def test_nothing_is_left_when_the_worker_is_killed(pids: Path, fork: str) -> None:
    """Not even when a fork of the worker keeps its pipes open."""
    forked = pids.parent / "forked"
    worker = start_worker(pids.parent, f"{STUBBORN}\nsleep 1000; sleep 1000", fork)
    try:
        wait_until((forked if fork else pids.parent / "ready").exists)
        assert all(map(alive, numbers(pids)))
    finally:
        worker.kill()
        worker.wait()
    try:
        wait_until(lambda: not any(map(alive, numbers(pids))))
    finally:
        for pid in numbers(forked):
            os.kill(pid, signal.SIGKILL)


@pytest.mark.skipif(not LINUX, reason="elsewhere the program would live on")
def test_the_program_dies_with_the_process_that_looks_after_it(pids: Path) -> None:
    """Also when the worker cannot do anything about it."""
    worker = start_worker(pids.parent, "echo $$ > pids; echo $PPID > keeper; exec sleep 1000")
    try:
        wait_until(lambda: numbers(pids) and numbers(pids.parent / "keeper"))
        worker.send_signal(signal.SIGSTOP)
        (keeper,) = numbers(pids.parent / "keeper")
        os.kill(keeper, signal.SIGKILL)
        wait_until(lambda: not any(map(alive, numbers(pids))))
    finally:
        worker.kill()
        worker.wait()


async def test_its_group_is_ended_by_the_worker_then(pids: Path) -> None:
    running = asyncio.create_task(failed(sh("(sleep 1000)& echo $! $PPID $$ > pids; sleep 1000", cwd=pids.parent)))
    await asyncio.to_thread(wait_until, lambda: len(numbers(pids)) == 3)
    child, keeper, program = numbers(pids)
    os.kill(keeper, signal.SIGKILL)
    failure = await running
    assert (failure.reason, failure.exit_code, failure.retryable) == ("crash", 137, True)
    await asyncio.to_thread(wait_until, lambda: not alive(child) and not alive(program))
