"""The graph of docs/guides/langgraph.md, whose worker is killed before, during and after the resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from tests.integration.examples import ROOT, blocks
from tests.waiting import wait_until

# Runs the tasks of the graph. The first time that it comes to the named point, it kills itself.
WORKER = """
import asyncio, os, pathlib, signal, sys
import agent
from pyadeq.asyncio import Adeq, Worker

point, url, prefix = sys.argv[1:]

def note(name):
    with open("passed", "a") as file:
        file.write(name + "\\n")
    if name == point and not pathlib.Path("killed").exists():
        pathlib.Path("killed").touch()
        os.kill(os.getpid(), signal.SIGKILL)

def resuming(**given):
    note("before")
    return command(**given)

def interrupting(value):
    answer = interrupt(value)
    note("during")
    return answer

async def settling(lease, call_next):
    done = await call_next(lease)
    if lease.kind == "resume":
        note("after")
    return done

command, interrupt = agent.Command, agent.interrupt
agent.Command, agent.interrupt = resuming, interrupting

async def main():
    async with Adeq.from_url(url, prefix=prefix) as adeq:
        await Worker(adeq.queue("agent"), agent.queue.tasks, lease=1, middleware=[settling]).run(signals=True)

asyncio.run(main())
"""


def start_worker(folder: Path, point: str, server: EmbeddedServer, prefix: str) -> subprocess.Popen[bytes]:
    command = [sys.executable, "worker.py", point, server.url, prefix]
    with (folder / "log").open("ab") as log:
        return subprocess.Popen(command, cwd=folder, stderr=log, env={**os.environ, "PYTHONPATH": str(ROOT)})


@pytest.mark.parametrize(
    ("point", "answer"),
    [("before", "approved"), ("during", "approved"), ("during", "rejected"), ("after", "approved")],
)
def test_an_answer_resumes_the_graph_exactly_once(
    point: str, answer: str, adeq: Adeq, adeq_prefix: str, server: EmbeddedServer, tmp_path: Path
) -> None:
    (graph,) = [block.text for block in blocks(ROOT / "docs/guides/langgraph.md") if block.title == "agent.py"]
    at_guide = 'Adeq.from_url("redis://localhost:6379")'
    assert at_guide in graph
    (tmp_path / "agent.py").write_text(
        graph.replace(at_guide, f"Adeq.from_url({server.url!r}, prefix={adeq_prefix!r})")
    )
    (tmp_path / "worker.py").write_text(WORKER)
    queue, deploys, changes = adeq.queue("agent"), adeq.queue("deploys"), adeq.changes("agent")
    adeq.locks("agent").configure(lease=1)
    changes.configure(follow_queue="agent")
    follow = {"approved": "resume", "rejected": "resume"}
    changes.policies.set("deploys", required=1, reviewers=["user:bob"], follow=follow)

    first = start_worker(tmp_path, point, server, adeq_prefix)
    receipt = queue.enqueue({"thread": "t1", "service": "shop"}, kind="start")
    wait_until(lambda: queue.inspect.ended(receipt.id, timeout=60).status == "completed")
    (entry,) = changes.inbox("bob").entries
    assert deploys.stats().pending == 0
    reply = changes.approve(entry, actor="bob") if answer == "approved" else changes.reject(entry, actor="bob")
    assert reply.status == answer
    assert first.wait(60) == -signal.SIGKILL
    second = start_worker(tmp_path, point, server, adeq_prefix)
    wait_until(lambda: queue.stats().completed == 2)
    # The same answer again, and the same task again: nothing more happens.
    again = changes.approve(entry, actor="bob") if answer == "approved" else changes.reject(entry, actor="bob")
    assert again.status in ("closed", "same")
    extra = queue.enqueue({"id": entry.id, "event": answer}, kind="resume")
    assert queue.inspect.ended(extra.id, timeout=60).status == "completed"
    second.terminate()
    assert second.wait(30) == 0

    assert deploys.stats().counters.get("enqueued", 0) == (answer == "approved")
    passed = (tmp_path / "passed").read_text().split()
    assert passed.count("during") == (2 if point == "during" else 1)
    assert passed.count("before") == (1 if point == "after" else 2)
