"""Workers that also take care of the installation: `adeq worker run --maintain`."""

import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq, EmbeddedServer
from pyadeq.ext.operate.archive import Archive
from tests.integration.cli.run import error
from tests.integration.workers import Start, starting
from tests.quick import slow_after
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

STREAM = "queue:jobs"


@pytest.fixture
def url(binary: Path) -> Iterator[str]:
    """A server whose keys are all of the test."""
    with EmbeddedServer(binary=binary) as server:
        yield server.url


@pytest.fixture
def start(tmp_path: Path, url: str) -> Iterator[Start]:
    with starting(tmp_path, url, "jobs") as start:
        yield start


@pytest.mark.slow
@pytest.mark.parametrize("handler", slow_after(1, ["jobs:plain", "jobs:queue"]))
def test_workers_take_care_and_work(start: Start, url: str, tmp_path: Path, handler: str) -> None:
    """Two of them. One is killed."""
    archive = Archive(str(tmp_path / "archive"))
    taken = f"care taken care=archive name={STREAM} events="
    with Adeq.from_url(url) as client:
        queue = client.queue("jobs")
        queue.enqueue({"text": "x"}, kind="whisper")
        environment = {"ADEQ_ARCHIVE": str(tmp_path / "archive")}
        workers = [start(handler, "--maintain", "--maintain-every", "100ms", **environment) for _ in range(2)]
        wait_until(lambda: queue.stats().finished == 1 and archive.lag(client)[STREAM] == 0)
        workers[0].close()
        queue.enqueue({"text": "y"}, kind="whisper")
        wait_until(lambda: queue.stats().finished == 2 and taken in workers[1].log)
        workers[1].child.send_signal(signal.SIGTERM)
        assert workers[1].ended() == 0
        wait_until(lambda: archive.write(client, hold=1) and archive.lag(client)[STREAM] == 0)
        found = archive.verify(client)
        assert (found.bad, found.tasks) == (0, 2)
        assert "no care" not in workers[1].log


@pytest.mark.slow
def test_a_server_that_comes_back_is_taken_care_of(start: Start, binary: Path, tmp_path: Path) -> None:
    archive = Archive(str(tmp_path / "archive"))
    with EmbeddedServer(binary=binary, appendfsync="always") as server, Adeq.from_url(server.url) as client:
        environment = {"ADEQ_ARCHIVE": str(tmp_path / "archive"), "ADEQ_URL": server.url}
        client.queue("jobs").enqueue("x")
        worker = start("jobs:plain", "--maintain", "--maintain-every", "100ms", **environment)
        wait_until(archive.parts)
        server.kill()
        wait_until(lambda: "no care" in worker.log)
        server.restart()
        client.queue("jobs").enqueue("y")
        wait_until(lambda: worker.log.rpartition("no care")[2].count("care taken care=archive"))


def test_a_queue_of_asyncio_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "homes.py").write_text(
        "from pyadeq.asyncio import Adeq\n"
        "queue = Adeq.from_url('redis://nowhere').queue('q')\n"
        "@queue.task\n"
        "async def work(): pass\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    sys.modules.pop("homes", None)
    assert "--maintain: a queue of pyadeq.asyncio is not accepted" in error(
        2, "worker", "run", "homes:queue", "--maintain"
    )
