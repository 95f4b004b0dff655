"""Workers of the real command line, for tests."""

import json
import os
import subprocess
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

from pyadeq import Queue, TaskView
from tests.integration.cli.run import COMMAND
from tests.waiting import DEADLINE, wait_until

ROOT = Path(__file__).parents[2]


HANDLERS = """
import asyncio
import os
import time
from pathlib import Path

from pyadeq import Adeq
from pyadeq._tasks.functions import Tasks

adeq = Adeq.from_url(os.environ["ADEQ_URL"])
queue = adeq.queue(os.environ["NAME"])
tasks = Tasks()
empty = Tasks()
number = 1
with Path("imported").open("a") as imported:
    imported.write(f"{os.getpid()}\\n")


async def handle(lease):
    return lease.payload


def plain(lease):
    return {"plain": lease.payload}


async def hang(lease):
    await asyncio.sleep(3600)


async def stand_still(lease):
    while not Path("go").exists():
        time.sleep(0.01)


@tasks.task
async def shout(text: str) -> str:
    return text.upper()


@queue.task
def whisper(text: str) -> str:
    return text.lower()
"""


class Started:
    """A worker of the real command line; its log goes to a file. container: the beginning of the command."""

    def __init__(
        self, folder: Path, arguments: tuple[str, ...], env: dict[str, str], container: Sequence[str] = ()
    ) -> None:
        self._log: IO[bytes] = (folder / f"{len(list(folder.iterdir()))}.log").open("w+b")
        command = [*container, *COMMAND, "worker", "run", *arguments]
        self.child = subprocess.Popen(command, cwd=folder, stderr=self._log, env=env)

    @property
    def log(self) -> str:
        return os.pread(self._log.fileno(), 1 << 20, 0).decode()

    @property
    def health(self) -> str:
        """Where it says how it is."""
        return self.log.partition(" health=")[2].split()[0]

    def ended(self) -> int:
        return self.child.wait(DEADLINE)

    def close(self) -> None:
        self.child.kill()
        self.child.wait()
        self._log.close()


Start = Callable[..., Started]


def get(queue: Queue, id: str) -> TaskView:
    task = queue.get(id)
    assert task
    return task


def probe(worker: Started, path: str) -> tuple[int, Any]:
    try:
        with urllib.request.urlopen(f"http://{worker.health}{path}", timeout=DEADLINE) as answered:
            return answered.status, json.load(answered)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


@contextmanager
def starting(tmp_path: Path, url: str, base_name: str) -> Iterator[Start]:
    """What starts workers on a queue, each until it says so in its log, and ends them all at the end."""
    (tmp_path / "jobs.py").write_text(HANDLERS)
    with ExitStack() as stack:

        def start(*arguments: str, container: Sequence[str] = (), **environment: str) -> Started:
            env = {**os.environ, "PYTHONPATH": str(ROOT), "ADEQ_URL": url, "ADEQ_QUEUE": base_name, "NAME": base_name}
            started = Started(tmp_path, arguments, env | environment, container)
            stack.callback(started.close)
            words = "worker started", "no answer from the server"
            wait_until(lambda: any(word in started.log for word in words) or started.child.poll() is not None)
            return started

        yield start
