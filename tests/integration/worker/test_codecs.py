"""Workers and the command line on queues whose payloads are sealed: what cannot be read fails its attempt, no more."""

import asyncio
import subprocess
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import pyadeq
from pyadeq import Lease, Task
from pyadeq.asyncio import Adeq, Queue, Worker
from pyadeq.ext.connect.crypto import Encrypted, Signed, new_key
from tests.integration.cli.run import COMMAND, adeq, answer, environment
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine
KEY = new_key()
HANDLERS = """
import os
from pyadeq.asyncio import Adeq
from pyadeq.ext.connect.crypto import Encrypted, new_key

codec = Encrypted([os.environ["MAIL_KEY"]])
other = Encrypted([new_key()])
queue = Adeq.from_url(os.environ["ADEQ_URL"], codec=codec).queue(os.environ.get("MAIL_QUEUE", "mail"))

@queue.task
async def shout(text):
    return text.upper()

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
        outcomes = [await queue.inspect.ended(id, DEADLINE) for id in ids]
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


async def test_a_handler_that_does_not_look_is_not_run_either(queue: Queue, forged: str) -> None:
    seen: list[str] = []

    async def handle(lease: Lease) -> None:
        seen.append(lease.id)

    receipt = await queue.enqueue("x")
    good, bad = await worked(Worker(queue, handle), queue, receipt.id, forged)
    assert (good.status, bad.reason, seen) == ("completed", "PayloadError", [receipt.id])


async def test_a_result_that_is_too_large_when_it_is_sealed_ends_its_own_attempt_only(queue: Queue) -> None:
    async def handle(lease: Lease) -> bytes:
        return b"x" * int(lease.payload)

    receipts = await queue.enqueue_many([1, 800 * 1024, 700 * 1024])
    small, large, fits = await worked(Worker(queue, handle), queue, *(receipt.id for receipt in receipts))
    assert (small.data, large.reason, len(fits.data)) == (b"x", "result_too_large", 700 * 1024)


async def test_a_codec_that_fails_ends_attempts_and_no_worker(url: str, base_name: str) -> None:
    class Failing(Encrypted):
        def seal(self, data: bytes, context: bytes) -> bytes:
            if (b"result" in context and data == b'"bad"') or b"error" in context:
                raise TimeoutError("the keys are away")
            return super().seal(data, context)

    async def handle(lease: Lease) -> Any:
        return lease.payload

    async with Adeq.from_url(url, codec=Failing([KEY])) as adeq:
        queue = adeq.queue(base_name)
        receipts = await queue.enqueue_many([Task(payload=word, max_attempts=1) for word in ("good", "bad", "fine")])
        good, bad, fine = await worked(Worker(queue, handle), queue, *(receipt.id for receipt in receipts))
    assert (good.result, bad.reason, bad.error, fine.result) == ("good", "TimeoutError", "", "fine")


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
    assert "name the right codec with --codec" in unread.stderr
    unread = adeq("--codec", "greetings_sealed:other", "task", "result", base_name, "t1", "-o", "json", **env)
    assert unread.status == 1
    assert adeq("--codec", "nowhere:codec", "scripts", "ls", **env).status == 0  # it asks no server


@contextmanager
def running(handler: str, env: dict[str, str]) -> Iterator[None]:
    """A worker of the command line, that ends well."""
    with subprocess.Popen([*COMMAND, "worker", "run", handler], env=env) as worker:
        try:
            yield
        finally:
            worker.terminate()
    assert worker.returncode == 0


@pytest.mark.slow
def test_a_worker_of_the_command_line(url: str, base_name: str, folder: Path) -> None:
    with pyadeq.Adeq.from_url(url, codec=Encrypted([KEY])) as client:
        receipt = client.queue(base_name).enqueue("ann")
        env = environment(MAIL_KEY=KEY, ADEQ_URL=url, ADEQ_CODEC="greetings_sealed:codec", ADEQ_QUEUE=base_name)
        with running("greetings_sealed:greet", env=env):
            assert client.queue(base_name).result(receipt.id, DEADLINE) == "hello ann"


def test_a_worker_of_a_queue_has_the_codec_of_that_queue(url: str, base_name: str, folder: Path) -> None:
    with pyadeq.Adeq.from_url(url, codec=Encrypted([KEY])) as client:
        receipt = client.queue(base_name).enqueue({"text": "ann"}, kind="shout")
        env = environment(MAIL_KEY=KEY, ADEQ_URL=url, MAIL_QUEUE=base_name)
        with running("greetings_sealed:queue", env=env):
            assert client.queue(base_name).result(receipt.id, DEADLINE) == "ANN"


@pytest.mark.parametrize(
    ("path", "words"),
    [
        ("greetings_sealed", "write module:name, for instance keys:codec"),
        ("greetings_sealed:nothing", "is not a codec; name an object with seal and open"),
        ("greetings_sealed:absent", "has no 'absent'"),
        ("nowhere:codec", "there is no module 'nowhere'"),
    ],
)
def test_a_codec_that_is_none(url: str, base_name: str, folder: Path, path: str, words: str) -> None:
    ended = adeq("--codec", path, "queue", "stats", base_name, "--url", url, MAIL_KEY=KEY, ADEQ_URL=url)
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
