"""Workers and the command line on queues whose payloads are sealed: what cannot be read fails its attempt, no more."""

import asyncio
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

import pyadeq
from pyadeq import Lease
from pyadeq.asyncio import Adeq, Queue, Worker
from pyadeq.ext.crypto import Encrypted, Signed, new_key
from tests.integration.cli import COMMAND, adeq, answer, environment
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine
KEY = new_key()
HANDLERS = """
import os
from pyadeq.ext.crypto import Encrypted, new_key

codec = Encrypted([os.environ["MAIL_KEY"]])
other = Encrypted([new_key()])
nothing = 5

async def greet(lease):
    return f"hello {lease.payload}"
"""


@pytest.fixture
async def queue(url: str, base_name: str) -> AsyncIterator[Queue]:
    async with Adeq.from_url(url, codec=Encrypted([KEY])) as adeq:
        yield adeq.queue(base_name)


@pytest.fixture
async def forged(url: str, base_name: str) -> AsyncIterator[str]:
    """The id of a task that somebody without the key has put in line."""
    async with Adeq.from_url(url) as adeq:
        yield (await adeq.queue(base_name).enqueue({"args": ["x"]}, kind="echo", max_attempts=1)).id


async def worked(worker: Worker, queue: Queue, *ids: str) -> list[Any]:
    """How tasks have ended that a worker has done."""
    async with asyncio.timeout(DEADLINE):
        running = asyncio.create_task(worker.run())
        outcomes = [await queue.ended(id, DEADLINE) for id in ids]
        worker.stop()
        await running
    return outcomes


async def test_a_handler_that_reads_it(queue: Queue, forged: str) -> None:
    async def handle(lease: Lease) -> Any:
        return [lease.payload]

    receipt = await queue.enqueue("x")
    good, bad = await worked(Worker(queue, handle), queue, receipt.id, forged)
    assert good.result == ["x"]
    assert (bad.status, bad.reason) == ("dead", "PayloadError")
    assert "payload: it is not encrypted" in bad.error


async def test_a_function_with_arguments(queue: Queue, forged: str) -> None:
    @queue.task
    async def echo(what: str) -> str:
        return what

    receipt = await echo.enqueue("x")
    good, bad = await worked(Worker(queue, queue), queue, receipt.id, forged)
    assert (good.result, bad.reason) == ("x", "PayloadError")
    running = asyncio.create_task((worker := Worker(queue, queue)).run())
    assert await echo.run("y") == "y"
    worker.stop()
    await running


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "greetings_sealed.py").write_text(HANDLERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_command_line(url: str, base_name: str, folder: Path) -> None:
    env: Any = {"MAIL_KEY": KEY, "ADEQ_URL": url}
    sealed = ["--codec", "greetings_sealed:codec"]
    assert answer(*sealed, "task", "enqueue", base_name, "--payload", '"ann"', "--id", "t1", **env)["id"] == "t1"
    assert answer("task", "show", base_name, "t1", **env)["payload"].startswith("~e1:")
    assert answer("task", "show", base_name, "t1", ADEQ_CODEC="greetings_sealed:codec", **env)["payload"] == "ann"
    unread = adeq("--codec", "greetings_sealed:other", "task", "show", base_name, "t1", **env)
    assert (unread.status, "it was encrypted with another key" in unread.stdout) == (0, True)
    with pyadeq.Adeq.from_url(url, codec=Encrypted([KEY])) as client:
        (lease,) = client.queue(base_name).claim("w")
        client.queue(base_name).ack(lease, "hello ann")
    assert adeq(*sealed, "task", "result", base_name, "t1", **env).stdout == "hello ann\n"
    unread = adeq("--codec", "greetings_sealed:other", "task", "result", base_name, "t1", **env)
    assert unread.status == 1
    assert "--codec names what reads it" in unread.stderr


def test_a_worker_of_the_command_line(url: str, base_name: str, folder: Path) -> None:
    with pyadeq.Adeq.from_url(url, codec=Encrypted([KEY])) as client:
        receipt = client.queue(base_name).enqueue("ann")
        command = ["--codec", "greetings_sealed:codec", "worker", "run", "greetings_sealed:greet", "--queue", base_name]
        with subprocess.Popen([*COMMAND, *command], env=environment(MAIL_KEY=KEY, ADEQ_URL=url)) as worker:
            assert client.queue(base_name).result(receipt.id, DEADLINE) == "hello ann"
            worker.terminate()
        assert worker.returncode == 0


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("greetings_sealed", "write module:name, keys:codec for instance"),
        ("greetings_sealed:nothing", "is no codec; name an object with seal and open"),
        ("greetings_sealed:absent", "has no 'absent'"),
        ("nowhere:codec", "there is no module 'nowhere'"),
    ],
)
def test_a_codec_that_is_none(url: str, base_name: str, folder: Path, path: str, words: str) -> None:
    ended = adeq("--codec", path, "queue", "stats", base_name, "--url", url, MAIL_KEY=KEY)
    assert ended.status == 2
    assert words in ended.stderr
    assert KEY not in ended.stderr


def test_clients_of_one_process_may_have_several(url: str, base_name: str) -> None:
    with (
        pyadeq.Adeq.from_url(url, codec=Signed([KEY])) as one,
        pyadeq.Adeq.from_url(url, codec=Signed([new_key()], plain=True)) as two,
    ):
        one.queue(base_name).enqueue("x")
        two.queue(f"{base_name}-2").enqueue("y")
        assert one.queue(base_name).claim("w")[0].payload == "x"
        assert two.queue(f"{base_name}-2").claim("w")[0].payload == "y"
