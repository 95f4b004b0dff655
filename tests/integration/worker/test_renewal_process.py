"""The helper process that renews leases: it lives and ends with the worker, and is replaced when it fails."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from pyadeq import _renewer
from pyadeq._worker.renewal import process as renewal_process
from pyadeq._worker.renewal.base import Heard, Renewal
from pyadeq._worker.renewal.process import ProcessRenewal
from pyadeq.asyncio import Adeq, Queue
from pyadeq.errors import ConfigError
from tests.integration.running import adeq, queue
from tests.integration.worker.renewing import (
    LEASE,
    block_the_loop,
    claim,
    hears_when_asked,
    ignore,
    is_kept,
    keep_the_gil,
    renewing,
)
from tests.waiting import DEADLINE, eventually, wait_until

__all__ = ["adeq", "queue"]  # fixtures

pytestmark = pytest.mark.any_engine

ROOT = Path(__file__).parents[3]

# It says which process renews, and which is a child of its own that has all its pipes; and later that it is cancelled.
PROGRAM = """
import asyncio, os, sys, time
from pyadeq.asyncio import Adeq, Worker

async def main(url, name, fork):
    async def handle(lease):
        child = 0
        if fork and not (child := os.fork()):
            time.sleep(3600)
        print(worker._renewal._helper.pid, child, flush=True)
        try:
            await asyncio.sleep(3600)
        finally:
            print("cancelled", flush=True)

    async with Adeq.from_url(url) as adeq:
        worker = Worker(adeq.queue(name), handle, name="w1", lease=1, renew="process")
        await worker.run()

asyncio.run(main(sys.argv[1], sys.argv[2], sys.argv[3] == "fork"))
"""


def helper(renewal: Renewal) -> int:
    assert isinstance(renewal, ProcessRenewal)
    return renewal._helper.pid if renewal._helper else 0


def runs(pid: int) -> bool:
    """Whether there is such a process; one that has ended and that nobody has waited for is none."""
    state = subprocess.run(["ps", "-o", "state=", "-p", str(pid)], capture_output=True, text=True, check=False).stdout
    return state.strip()[:1] not in ("", "Z")


@asynccontextmanager
async def program(url: str, name: str, *arguments: str) -> AsyncIterator[tuple[asyncio.subprocess.Process, int, int]]:
    """The program, its helper, and its forked child."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", PROGRAM, url, name, *(arguments or ("alone",))),
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=asyncio.subprocess.PIPE,
    )
    assert process.stdout
    child = 0
    try:
        async with asyncio.timeout(DEADLINE):
            helper, child = map(int, (await process.stdout.readline()).split())
        yield process, helper, child
    finally:
        if child:
            os.kill(child, signal.SIGKILL)
        with suppress(ProcessLookupError):
            process.kill()
        await process.communicate()


@pytest.mark.slow
async def test_a_worker_that_is_stopped_loses_its_lease(queue: Queue, url: str, base_name: str) -> None:
    (task,) = await queue.enqueue_many(["work"])
    async with program(url, base_name) as (worker, pid, _):
        assert await queue.claim("w2", wait=2) == []
        worker.send_signal(signal.SIGSTOP)
        async with asyncio.timeout(DEADLINE):
            while not (others := await queue.claim("w2", wait=1, lease=60)):
                pass
        assert [lease.id for lease in others] == [task.id]
        assert runs(pid)
        worker.send_signal(signal.SIGCONT)
        assert worker.stdout
        async with asyncio.timeout(DEADLINE):
            said = await worker.stdout.readline()
            if said.split()[:1] == [b"%d" % pid]:  # it was handed the task once more while it stood: a lease long gone
                said = await worker.stdout.readline()
            assert said == b"cancelled\n"


@pytest.mark.slow
@pytest.mark.parametrize("way", ["alone", "fork"])
async def test_the_helper_ends_with_a_worker_that_is_killed(queue: Queue, url: str, base_name: str, way: str) -> None:
    await queue.enqueue("work")
    async with program(url, base_name, way) as (worker, pid, _):
        worker.kill()
        await eventually(lambda: not runs(pid))
        async with asyncio.timeout(DEADLINE):
            while not await queue.claim("w2", wait=1):
                pass


@pytest.mark.parametrize("state", [_renewer.state_in_proc, _renewer.state_from_ps])
def test_it_sees_whether_a_process_runs(state: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    if state is _renewer.state_in_proc and not _renewer.PROC.exists():
        pytest.skip("there is no /proc here")
    monkeypatch.setattr(_renewer, "PROC", _renewer.PROC if state is _renewer.state_in_proc else Path("/nowhere"))
    with subprocess.Popen(["sleep", "3600"]) as other:
        assert _renewer.standing(other.pid) == ""
        other.send_signal(signal.SIGSTOP)
        wait_until(lambda: _renewer.standing(other.pid) == "is stopped")
        other.send_signal(signal.SIGCONT)
        wait_until(lambda: _renewer.standing(other.pid) == "")
        other.kill()
        wait_until(lambda: _renewer.standing(other.pid) == "is gone")
    assert _renewer.standing(other.pid) == "is gone"


@pytest.mark.slow
async def test_without_a_sign_of_life_it_renews_no_more(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    async with renewing("process", queue, ignore, patience=0.5) as renewal:
        lease = await claim(queue, renewal)
        keep_the_gil(0.5 + LEASE + 1)
        assert not await is_kept(queue, lease)
        await eventually(lambda: "has given no sign of life for 0.5 s" in caplog.text)
        assert f"leases are not renewed: the worker's process ({os.getpid()})" in caplog.text
        again = await claim(queue, renewal)
        await asyncio.sleep(LEASE * 1.5)
        assert await is_kept(queue, again)


@pytest.mark.slow
async def test_helpers_that_fail_are_replaced(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    lease = 5.0
    async with renewing("process", queue, ignore, lease) as one, renewing("process", queue, ignore, lease) as other:
        held = [await claim(queue, one, lease), await claim(queue, other, lease)]
        first = helper(one), helper(other)
        os.kill(first[0], signal.SIGKILL)
        os.kill(first[1], signal.SIGSTOP)
        await eventually(lambda: not {helper(one), helper(other)} & {0, *first})
        ended = "the process that renews leases ended with -9; a thread renews until there is another"
        assert caplog.text.count(ended) == 2
        assert not any(map(runs, first))
        assert [await is_kept(queue, lease) for lease in held] == [True, True]
        keep_the_gil(lease + 1)
        assert [await is_kept(queue, lease) for lease in held] == [True, True]


@pytest.mark.slow
async def test_meanwhile_a_thread_renews(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal_process, "SHORTEST_PAUSE", 3600.0)
    async with renewing("process", queue, ignore) as renewal:
        before = await claim(queue, renewal)
        os.kill(helper(renewal), signal.SIGKILL)
        await eventually(lambda: not helper(renewal))
        after, dropped = await claim(queue, renewal), await claim(queue, renewal)
        renewal.drop([dropped.token])
        block_the_loop()
        assert [await is_kept(queue, lease) for lease in (before, after, dropped)] == [True, True, False]


async def test_the_thread_can_be_asked_too(queue: Queue, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(renewal_process, "SHORTEST_PAUSE", 3600.0)
    all_heard: list[Heard] = []
    async with renewing("process", queue, all_heard.append, 3600) as renewal:
        await claim(queue, renewal, 3600)
        os.kill(helper(renewal), signal.SIGKILL)
        await eventually(lambda: not helper(renewal))
        await hears_when_asked(renewal, all_heard)


async def test_only_the_end_of_its_input_ends_it(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    heard = asyncio.Event()
    async with renewing("process", queue, lambda _: heard.set()) as renewal:
        pid = helper(renewal)
        assert os.getpgid(pid) != os.getpgid(0)  # a terminal's signals go to our process group
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            os.kill(pid, number)
        await claim(queue, renewal)
        await asyncio.wait_for(heard.wait(), DEADLINE)
        assert helper(renewal) == pid
    assert not runs(pid)
    assert caplog.text == ""


async def test_a_helper_that_cannot_start_is_told(
    queue: Queue, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for executable, why in (("/bin/false", "it ended with 1"), (str(tmp_path), "Permission denied")):
        monkeypatch.setattr(sys, "executable", executable)
        with pytest.raises(ConfigError, match=f"renew: 'process' does not work here.*{why}.*'thread' or 'loop'"):
            await ProcessRenewal(queue, "w1", 0, lambda: 0, ignore).start()


async def test_no_password_is_in_its_arguments_or_environment() -> None:
    async with (
        Adeq.from_url("redis://user:hidden@localhost:1") as adeq,
        renewing("process", adeq.queue("default"), ignore) as renewal,
    ):
        pid = helper(renewal)
        command = ["ps", "eww", "-p", str(pid)]
        shown = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert "pyadeq._renewer" in shown
    assert "hidden" not in shown
