"""Two builds on one queue: a deploy and its rollback, a migration under load, and the older build after it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Backoff
from pyadeq import asyncio as aio
from pyadeq._version import __version__
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import LayoutError
from tests.audit import audit
from tests.chaos.deployed import DEAD, HELD, REFUSED
from tests.chaos.deployment import Build, Deployment
from tests.chaos.newer import ROOT, make_newer
from tests.conftest import CLUSTER
from tests.waiting import DEADLINE, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CLUSTER, reason="these have a server of their own")]
BASE = "ade:{queue:q}"


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Build]:
    newer = make_newer(tmp_path_factory.mktemp("newer"))
    return {"older": Build(ROOT, __version__), "newer": Build(newer, "99.")}


@pytest.fixture
def own(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


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


def test_a_deploy_its_rollback_and_a_migration(own: EmbeddedServer, builds: dict[str, Build], tmp_path: Path) -> None:
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
        assert (status, answer["layouts"]["queue"], answer["migrated"][0]["layout"]) == (0, 3, 2)
        status, answer, _ = here.command_line("newer")
        assert status == 1
        assert "workers that do not know layout 3 are alive: " in answer["migrated"][0]["error"]
        assert "or use force" in answer["migrated"][0]["error"]
        assert client.hget(f"{BASE}:config", "layout_min") == b"2"
        late.until("ended", 10)

        status, answer, _ = here.command_line("newer", "--force")
        assert (status, answer["migrated"][0]["before"], answer["migrated"][0]["layout"]) == (0, 2, 3)
        assert answer["migrated"][0]["rewritten"] >= HELD + DEAD
        assert forms(client) == {True}
        assert late.end(None) == REFUSED
        assert "this data needs scripts of layout 3 or newer, these are of layout 2" in late.until("refused")

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


def test_the_older_build_refuses_before_it_writes(
    own: EmbeddedServer, builds: dict[str, Build], tmp_path: Path
) -> None:
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
    own: EmbeddedServer, builds: dict[str, Build], tmp_path: Path
) -> None:
    with Deployment(own.url, builds, tmp_path) as here:
        here.start("newer", "produce").until("put", 5)
        worker = here.start("older", "work")
        worker.until("ended", 5)


def test_a_migration_that_a_failover_sets_back_begins_anew(
    own: EmbeddedServer, builds: dict[str, Build], tmp_path: Path
) -> None:
    """The server forgets, in the middle of it, that the layout was raised, as one does whose primary is lost."""
    with redis.Redis.from_url(own.url) as client, Deployment(own.url, builds, tmp_path) as here:
        holder = here.start("older", "hold")
        assert holder.until("held") == HELD
        done = subprocess.run(
            [sys.executable, str(ROOT / "tests/chaos/set_back.py"), own.url, "q"],
            env={**os.environ, "PYTHONPATH": str(builds["newer"].path)},
            capture_output=True,
            text=True,
            timeout=DEADLINE,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        assert json.loads(done.stdout) == {"before": 1, "layout": 2, "set_back": 2}
        assert forms(client) == {True}
        assert client.hmget(f"{BASE}:config", "layout", "layout_min", "rewritten") == [b"2", b"2", b"2"]
