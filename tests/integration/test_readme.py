"""The README's Python runs as it stands there."""

import asyncio
import inspect
import threading
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from pyadeq import Adeq, Lease
from pyadeq.embedded import EmbeddedServer
from tests.conftest import CLUSTER, free_port
from tests.integration.examples import ROOT, Run, blocks, link_tools
from tests.integration.servers import AT_ONCE
from tests.waiting import DEADLINE

pytestmark = pytest.mark.any_engine

FOUND = blocks(ROOT / "README.md")
FIRST = FOUND[:2]  # a module with a task function, and a shell that runs it
BLOCKS = [block.text for block in FOUND[2:] if block.language == "python"]


@pytest.mark.skipif(CLUSTER, reason="the example is written for a single server")
def test_the_task_function_runs_in_a_worker(binary: Path) -> None:
    assert [block.language for block in FIRST] == ["python", "shell"]
    with TemporaryDirectory(prefix="adeq-", ignore_cleanup_errors=True) as name:
        assert link_tools(Path(name), FIRST, binary) is None
        with EmbeddedServer(binary=binary, port=free_port(), config=AT_ONCE) as server, Run(Path(name), server) as run:
            for block in FIRST:
                run.block(block)


def test_the_example_without_a_worker_ends_with_a_completed_task(capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(BLOCKS[0], "README.md", "exec"), {})
    *_, last = capsys.readouterr().out.splitlines()
    assert last == "{'ok': True} completed"


def test_the_handler_is_one_that_a_worker_runs(url: str, base_name: str) -> None:
    names: dict[str, Any] = {}
    exec(compile(BLOCKS[1], "README.md", "exec"), names)
    assert inspect.iscoroutinefunction(names["handle"])
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue({"prompt": "Hello"})
        leases: list[Lease] = queue.claim()
    assert asyncio.run(names["handle"](leases[0])) == {"length": 5}


def test_the_result_is_waited_for(url: str, base_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)

        def work() -> None:
            (lease,) = queue.claim(limit=1, wait=DEADLINE)
            queue.ack(lease, {"length": len(lease.payload["prompt"])})

        worker = threading.Thread(target=work)
        worker.start()
        exec(compile(BLOCKS[2], "README.md", "exec"), {"queue": queue})
        worker.join()
    assert capsys.readouterr().out == "{'length': 5}\n"


def test_the_pipeline_example_runs(url: str, base_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        receipt = queue.enqueue("work")
        exec(compile(BLOCKS[3], "README.md", "exec"), {"adeq": adeq, "queue": queue, "receipt": receipt})
    assert receipt.id in capsys.readouterr().out


def test_what_else_can_be_said_runs(url: str, base_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        exec(compile(BLOCKS[4], "README.md", "exec"), {"queue": queue})
        assert queue.stats().mode == "paused"
    assert capsys.readouterr().out.splitlines() == ["deduplicated", "0"]


def test_the_locks_of_the_example_are_given_back(url: str, base_name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with Adeq.from_url(url, prefix=base_name.replace(":", ".")) as adeq:
        exec(compile(BLOCKS[5], "README.md", "exec"), {"adeq": adeq})
        assert adeq.locks("default").stats().held == 0
    assert capsys.readouterr().out.splitlines() == ["True 1", "['account:1', 'account:2']"]
    assert len(BLOCKS) == 6, "a new example in the README wants a test here"
