"""The log of a worker: one line for the end of each run, and never a payload or a result."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

import pyadeq
from pyadeq import Lease, RateLimited, Task
from pyadeq.asyncio import Adeq, Queue, Tasks
from pyadeq.ext.cli.shared.logs import Lines, LogFormat
from tests.integration.running import adeq, queue, working
from tests.integration.worker import crunching
from tests.integration.workers import ROOT, Start, Started, starting
from tests.waiting import eventually, wait_until

__all__ = ["adeq", "queue"]  # fixtures

SECRET = "hunter2-wysiwyg"
TRACE = "00-" + "ab" * 16 + "-" + "cd" * 8 + "-01"
Ends = Callable[[], list[dict[str, Any]]]


@pytest.fixture
def ends(caplog: pytest.LogCaptureFixture) -> Ends:
    """The fields of the lines so far."""
    caplog.set_level(logging.INFO, "pyadeq.task")
    return lambda: [vars(record)["data"] for record in caplog.records if record.name == "pyadeq.task"]


async def handle(lease: Lease) -> str:
    if lease.kind == "bad":
        raise ValueError("no\x1b[31m such\u202e page")
    if lease.kind == "slow":
        await asyncio.sleep(3600)
    return "done"


async def test_each_end_is_a_line(queue: Queue, ends: Ends, caplog: pytest.LogCaptureFixture) -> None:
    await queue.enqueue_many(
        [
            Task(kind="good", id="good"),
            Task(kind="bad", id="bad", max_attempts=2, backoff=pyadeq.Backoff(base=0.01)),
            Task(kind="slow", id="late", timeout=0.05, max_attempts=1),
            Task(kind="slow", id="cancelled"),
            Task(kind="slow", id="returned"),
        ]
    )
    async with working(queue, handle, name="w1", grace=0):
        await eventually(lambda: len(ends()) == 4)
        await queue.cancel("cancelled")
        await eventually(lambda: len(ends()) == 5)
    found = {(end["task"], end["attempt"]): end for end in ends()}
    assert len(found) == len(ends()) == 6
    assert all(end.pop("duration") >= 0 for end in found.values())
    about = {"queue": queue.name, "worker": "w1"}
    error = "ValueError: no?[31m such? page"
    failed = {"task": "bad", "kind": "bad", "reason": "ValueError", "error": error, **about}
    assert found["good", 1] == {"task": "good", "kind": "good", "attempt": 1, "outcome": "completed", **about}
    assert found["bad", 1] == {**failed, "attempt": 1, "outcome": "retried"}
    assert found["bad", 2] == {**failed, "attempt": 2, "outcome": "dead"}
    assert (found["late", 1]["outcome"], found["late", 1]["reason"]) == ("dead", "timeout")
    assert [found[id, 1]["outcome"] for id in ("cancelled", "returned")] == ["cancelled", "released"]
    levels = {record.getMessage().split(",")[0]: record.levelname for record in caplog.records}
    assert levels["task good completed: kind good"] == "INFO"
    assert levels["task bad failed and will run again: kind bad"] == "WARNING"


async def test_without_a_reader_completed_tasks_are_not_logged(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "pyadeq.task")
    await queue.enqueue_many([Task(kind="good"), Task(kind="bad", id="bad", max_attempts=1)])
    async with working(queue, handle) as worker:
        await eventually(lambda: worker.done == 2)
    assert [vars(record)["data"]["task"] for record in caplog.records] == ["bad"]
    assert not worker._settling._ends._began, "nothing is kept of ended tasks"


async def test_errors_of_restricted_tasks_are_not_shown(queue: Queue, ends: Ends) -> None:
    await queue.enqueue(kind="bad", tier="restricted", max_attempts=1)
    async with working(queue, handle):
        await eventually(ends)
    assert (ends()[0]["reason"], "error" in ends()[0]) == ("ValueError", False)


class Reversing:
    """A codec."""

    def seal(self, data: bytes, context: bytes) -> bytes:
        return data[::-1]

    open = seal


async def test_errors_of_encrypted_tasks_are_not_shown(url: str, base_name: str, ends: Ends) -> None:
    async with Adeq.from_url(url, codec=Reversing()) as adeq:
        queue = adeq.queue(base_name)
        await queue.enqueue(kind="bad", max_attempts=1)
        async with working(queue, handle):
            await eventually(ends)
    assert (ends()[0]["reason"], "error" in ends()[0]) == ("ValueError", False)


class Everything(logging.Handler):
    """All that is logged in this process, at any level, in each form."""

    def __init__(self) -> None:
        super().__init__(logging.NOTSET)
        self.text = ""
        self.forms = [Lines(form) for form in LogFormat]

    def emit(self, record: logging.LogRecord) -> None:
        self.text += "\n".join([*(form.format(record) for form in self.forms), repr(vars(record))])


@pytest.fixture
def everything() -> Iterator[Everything]:
    handler, root = Everything(), logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.NOTSET)
    yield handler
    root.removeHandler(handler)
    root.setLevel(level)


@pytest.fixture
async def loud(everything: Everything) -> AsyncIterator[None]:
    asyncio.get_running_loop().set_debug(True)
    yield
    asyncio.get_running_loop().set_debug(False)


@pytest.mark.usefixtures("loud")
async def test_no_line_has_a_payload_or_a_result(queue: Queue, everything: Everything) -> None:
    tasks = Tasks()

    @tasks.task
    async def echo(text: str, how: str = "", size: int = 1) -> str:
        if how == "wait":
            await asyncio.sleep(3600)
        if how == "limited":
            raise RateLimited("too much", 0)
        if how == "broken":
            raise LookupError("no page")
        return text * size

    @tasks.task
    def threaded(text: str) -> str:
        return text

    tasks.include(crunching.tasks)
    given = {"text": SECRET}
    await queue.enqueue_many(
        [
            Task(kind="echo", payload=given),
            Task(kind="echo", payload={**given, "size": 100_000}),  # the result is too large
            Task(kind="echo", payload={**given, "how": "wait"}, timeout=0.05, max_attempts=1),
            Task(kind="echo", payload={**given, "how": "wait"}, id="cancelled"),
            Task(kind="echo", payload={**given, "how": "wait"}, id="returned"),
            Task(kind="echo", payload={**given, "how": "limited"}, max_attempts=1),
            Task(kind="echo", payload={**given, "how": "broken"}, max_attempts=1),
            Task(kind="echo", payload={**given, "more": SECRET, SECRET: 1}),  # unknown arguments
            Task(kind="echo", payload={"text": [SECRET]}),  # bad input
            Task(kind="echo", payload=SECRET),
            Task(kind="threaded", payload=given),
            Task(kind="add", payload={"pair": SECRET}),  # in a process
            Task(kind="unknown", payload=given, id="unknown"),
        ]
    )
    async with working(queue, tasks, concurrency=20, grace=0, unknown_for=0) as worker:
        await eventually(lambda: worker.done == 11)
        await queue.cancel("cancelled")
        await eventually(lambda: worker.done == 12)
    words = "completed dead cancelled released bad_input result_too_large LookupError ignored"
    for word in words.split():
        assert word in everything.text
    assert SECRET not in everything.text


@pytest.fixture
def start(tmp_path: Path, url: str, base_name: str) -> Iterator[Start]:
    (tmp_path / "logged.py").write_text(LOGGED)
    with starting(tmp_path, url, base_name) as start:
        yield start


LOGGED = """
import logging


async def handle(lease):
    logging.getLogger("mine").info("at work")
    logging.getLogger("mine").debug("deep in it")
    if lease.kind == "bad":
        raise ValueError("no")
    return lease.payload
"""


def test_lines_of_json_have_the_trace(start: Start, url: str, base_name: str) -> None:
    worker = start("logged:handle", "--log-format", "json", "--log-level", "debug", "--name", "w1")
    with pyadeq.Adeq.from_url(url, trace=lambda: TRACE) as adeq:
        adeq.queue(base_name).enqueue({"text": SECRET}, id="t1", kind="echo")
    with pyadeq.Adeq.from_url(url, trace=lambda: "hostile\u202e trace") as adeq:
        adeq.queue(base_name).enqueue({"text": SECRET}, id="t2", kind="bad", max_attempts=1)
    wait_until(lambda: worker.log.count('"outcome"') == 2)
    lines = [json.loads(line) for line in worker.log.splitlines()]
    ids = {"trace_id": "ab" * 16, "span_id": "cd" * 8}
    (ended,) = [line for line in lines if line.get("outcome") == "completed"]
    assert ended.items() >= {"logger": "pyadeq.task", "level": "info", "task": "t1", "kind": "echo", **ids}.items()
    own = {line["message"]: line for line in lines if line["logger"] == "mine" and line["task"] == "t1"}
    assert own["at work"].items() >= {"level": "info", **ids}.items()
    assert own["deep in it"].items() >= {"level": "debug", **ids}.items()
    assert SECRET not in worker.log
    assert not [line for line in lines if line.get("task") == "t2" and "trace_id" in line]


@pytest.mark.slow
def test_the_level_and_the_form_can_be_chosen(start: Start, tmp_path: Path, url: str, base_name: str) -> None:
    worker = start("logged:handle", "-o", "json")
    assert json.loads(worker.log.splitlines()[0])["message"] == "worker started"
    worker.child.terminate()
    worker.ended()
    about = {**os.environ, "PYTHONPATH": str(ROOT), "ADEQ_URL": url, "ADEQ_QUEUE": base_name}
    quiet = Started(tmp_path, ("logged:handle", "-o", "json", "--log-format", "text", "--log-level", "warning"), about)
    with closing(quiet), pyadeq.Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue_many([Task(id="good"), Task(id="bad", kind="bad", max_attempts=1)])
        wait_until(lambda: queue.stats().finished == queue.stats().dead == 1 and quiet.log)
        (line,) = quiet.log.splitlines()
    assert re.fullmatch(
        r"\S+ warning task bad failed and is dead: kind bad, attempt 1, [0-9.]+ s, reason ValueError: ValueError: no",
        line,
    )
