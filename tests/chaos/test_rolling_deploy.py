"""Two builds on one queue: a deploy and its rollback, a migration under load, and the older build after it."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Backoff
from pyadeq import asyncio as aio
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import LayoutError
from tests.audit import audit
from tests.chaos.deployed import DEAD, HELD, REFUSED
from tests.chaos.newer import ROOT, make_newer
from tests.conftest import CLUSTER
from tests.waiting import DEADLINE, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CLUSTER, reason="these have a server of their own")]
BASE = "ade:{queue:q}"


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {"older": ROOT, "newer": make_newer(tmp_path_factory.mktemp("newer"))}


@pytest.fixture
def own(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


class Program:
    """One client process, and what it has said."""

    def __init__(self, build: Path, *arguments: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, ROOT / "tests/chaos/deployed.py", *arguments],
            env={**os.environ, "PYTHONPATH": str(build)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self.said: list[dict[str, Any]] = []
        self._listening = threading.Thread(target=self._listen, daemon=True)
        self._listening.start()

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self.said.append(json.loads(line))

    def all(self, word: str) -> list[Any]:
        return [one[word] for one in list(self.said) if word in one]

    def until(self, word: str, count: int = 1) -> Any:
        """The last thing of a kind that it has said, as soon as there are so many."""
        wait_until(lambda: len(self.all(word)) >= count)
        return self.all(word)[-1]

    def go_on(self) -> None:
        assert self._process.stdin
        self._process.stdin.write("\n")
        self._process.stdin.flush()

    def end(self, how: signal.Signals | None = signal.SIGTERM) -> int:
        """Its exit status. how: None lets it come to its end by itself."""
        if how:
            self._process.send_signal(how)
        status = self._process.wait(DEADLINE)
        self._listening.join(DEADLINE)
        return status

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()


class Deployment:
    """Workers and producers of two builds on one queue."""

    def __init__(self, url: str, builds: dict[str, Path], folder: Path) -> None:
        self.url, self.builds, self.folder = url, builds, folder
        self._stack = ExitStack()
        self._count = 0
        self.programs: list[Program] = []

    def start(self, build: str, role: str) -> Program:
        self._count += 1
        program = Program(self.builds[build], role, self.url, "q", f"{role}-{self._count}-{build}", str(self.folder))
        self._stack.callback(program.close)
        self.programs.append(program)
        assert program.until("version").startswith("99.") == (build == "newer")
        return program

    def replace(self, programs: list[tuple[str, Program]], build: str) -> list[tuple[str, Program]]:
        """One after the other, the first one killed; each new one must have done something before the next goes."""
        new = []
        for number, (role, program) in enumerate(programs):
            killed = number == 0
            assert program.end(signal.SIGKILL if killed else signal.SIGTERM) == (-signal.SIGKILL if killed else 0)
            new.append((role, self.start(build, role)))
            new[-1][1].until("ended" if role == "work" else "put", 5)
        return new

    def command_line(self, build: str, *arguments: str) -> tuple[int, dict[str, Any], str]:
        done = subprocess.run(
            [sys.executable, "-m", "pyadeq.ext.cli", "scripts", "migrate", "-o", "json", "--url", self.url, *arguments],
            env={**os.environ, "PYTHONPATH": str(self.builds[build])},
            cwd=self.folder,
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        return done.returncode, json.loads(done.stdout or "{}"), done.stderr

    def __enter__(self) -> Deployment:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()


def forms(client: redis.Redis) -> set[bool]:
    """Whether leases are in the newer form, and what is left of those of dead tasks."""
    held: list[bytes] = client.hvals(f"{BASE}:running")  # type: ignore[assignment]
    dead: list[bytes] = client.zrange(f"{BASE}:dead", 0, -1)  # type: ignore[assignment]
    left: list[Any] = [client.hget(f"{BASE}:task:{id.decode()}", "ran") for id in dead]
    return {ran.startswith(b"=") for ran in [*(one.split(b"|")[1] for one in held), *left]}


def stored(client: redis.Redis) -> dict[bytes, Any]:
    return {key: client.dump(key) for key in client.scan_iter(f"{BASE}*")}


async def serve(url: str) -> None:
    async with aio.Adeq.from_url(url) as adeq:
        with pytest.raises(LayoutError, match="upgrade this client"):
            await aio.Worker(adeq.queue("q"), asyncio.sleep).run()


def test_a_deploy_its_rollback_and_a_migration(own: EmbeddedServer, builds: dict[str, Path], tmp_path: Path) -> None:
    with redis.Redis.from_url(own.url) as client, Deployment(own.url, builds, tmp_path) as here:
        with Adeq.from_url(own.url) as adeq:
            adeq.queue("q").configure(events_max=10_000_000, backoff=Backoff(base=0.05, jitter=0))
        crew = [(role, here.start("older", role)) for role in ("work", "work", "work", "produce", "produce")]
        holder = here.start("newer", "hold")
        assert holder.until("held") == HELD
        for build in ("newer", "older", "newer"):
            crew = here.replace(crew, build)
            assert forms(client) == {False}
        late = here.start("older", "work")
        late.until("ended", 5)

        status, _, _ = here.command_line("older")
        assert status == 0
        status, answer, _ = here.command_line("newer", "--dry-run")
        assert (status, answer["layout"], [one["layout"] for one in answer["migrated"]]) == (0, 2, [1])
        status, answer, _ = here.command_line("newer")
        assert status == 1
        assert "workers that do not know layout 2 are alive: " in answer["migrated"][0]["error"]
        assert "or use force" in answer["migrated"][0]["error"]
        assert client.hget(f"{BASE}:config", "layout_min") == b"1"
        late.until("ended", 10)

        status, answer, _ = here.command_line("newer", "--force")
        assert (status, answer["migrated"][0]["before"], answer["migrated"][0]["layout"]) == (0, 1, 2)
        assert answer["migrated"][0]["rewritten"] >= HELD + DEAD
        assert forms(client) == {True}
        assert late.end(None) == REFUSED
        assert "this data needs scripts of layout 2 or newer, these are of layout 1" in late.until("refused")

        for role, program in crew:
            word = "ended" if role == "work" else "put"
            program.until(word, len(program.all(word)) + 20)
        holder.go_on()
        assert holder.until("acked") == ["completed"] * HELD
        assert [program.end() for role, program in crew if role == "produce"] == [0, 0]
        wait_until(lambda: not client.exists(*(f"{BASE}:{name}" for name in ("running", "ready:any", "delayed"))))
        assert [program.end() for role, program in crew if role == "work"] == [0, 0, 0]
        judge = here.start("newer", "judge")
        assert [judge.until(word) for word in ("violations", "problems")] == [[], []]
        assert judge.until("checks") > 10_000
        assert audit(client, BASE) == []


def test_the_older_build_refuses_before_it_writes(own: EmbeddedServer, builds: dict[str, Path], tmp_path: Path) -> None:
    with redis.Redis.from_url(own.url) as client, Deployment(own.url, builds, tmp_path) as here:
        producer = here.start("older", "produce")
        producer.until("put", 10)
        assert producer.end() == 0
        assert here.command_line("newer")[0] == 0
        before = stored(client)
        for role in ("produce", "work", "hold", "judge"):
            refused = here.start("older", role)
            assert refused.end(None) == REFUSED
            assert "upgrade this client" in refused.until("refused")
        status, answer, _ = here.command_line("older")
        assert status == 1
        assert "ADEQ_LAYOUT" in answer["migrated"][0]["error"]
        asyncio.run(serve(own.url))
        assert stored(client) == before


def test_a_queue_that_the_newer_build_makes_is_for_both(
    own: EmbeddedServer, builds: dict[str, Path], tmp_path: Path
) -> None:
    with Deployment(own.url, builds, tmp_path) as here:
        here.start("newer", "produce").until("put", 5)
        worker = here.start("older", "work")
        worker.until("ended", 5)


def test_a_migration_that_a_failover_sets_back_begins_anew(
    own: EmbeddedServer, builds: dict[str, Path], tmp_path: Path
) -> None:
    """The server forgets, in the middle of it, that the layout was raised, as one does whose primary is lost."""
    with redis.Redis.from_url(own.url) as client, Deployment(own.url, builds, tmp_path) as here:
        holder = here.start("older", "hold")
        assert holder.until("held") == HELD
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests/chaos/set_back.py"), own.url, "q"],
            env={**os.environ, "PYTHONPATH": str(builds["newer"])},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"before": 1, "layout": 2, "set_back": 2}
        assert forms(client) == {True}
        assert client.hmget(f"{BASE}:config", "layout", "layout_min", "rewritten") == [b"2", b"2", b"2"]
