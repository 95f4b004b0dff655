"""`adeq worker`: real processes that run handlers, and are looked at and steered."""

import signal
import socket
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest

from pyadeq import Adeq, Queue
from pyadeq.ext.cli.worker import run as worker_run
from tests.integration.cli.run import adeq, answer, error, lines
from tests.integration.workers import HANDLERS, Start, get, probe, starting
from tests.quick import slow_after
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine


@pytest.fixture
def start(tmp_path: Path, url: str, base_name: str) -> Iterator[Start]:
    with starting(tmp_path, url, base_name) as start:
        yield start


@pytest.fixture
def place(url: str, base_name: str) -> dict[str, Any]:
    """What the commands need to find the test's queue."""
    return {"ADEQ_URL": url, "ADEQ_QUEUE": base_name}


Refused = Callable[..., str]


@pytest.fixture
def refused(tmp_path: Path, base_name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Refused]:
    """What a worker says that refuses to start. It runs in this process: to start one takes most of such a test."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    for name in ("apps", "homes", "jobs"):  # what an earlier test has imported
        sys.modules.pop(name, None)

    def run(*arguments: str, **environment: str) -> str:
        return error(2, "worker", "run", *arguments, **{"NAME": base_name, **environment})

    with mock.patch.object(worker_run, "Process", side_effect=AssertionError("it starts")):
        yield run


@pytest.mark.slow
def test_a_plain_function_is_a_handler(start: Start, queue: Queue) -> None:
    start("jobs:plain")
    id = queue.enqueue(1).id
    wait_until(lambda: get(queue, id).state == "completed")
    assert get(queue, id).result == {"plain": 1}


@pytest.mark.parametrize(
    ("name", "kind", "result"), slow_after(1, [("tasks", "shout", "HI"), ("queue", "whisper", "hi")])
)
def test_a_registry_or_a_queue_is_a_handler(start: Start, queue: Queue, name: str, kind: str, result: str) -> None:
    """A queue says its own name."""
    start(f"jobs:{name}", *(["--queue", queue.name] if name == "tasks" else []), ADEQ_QUEUE="")
    id = queue.enqueue({"text": "Hi"}, kind=kind).id
    wait_until(lambda: get(queue, id).state == "completed")
    assert get(queue, id).result == result


HOMES = """
import os
from pyadeq import Adeq
from pyadeq.asyncio import Adeq as AsyncAdeq

def work(text: str) -> str:
    return text.upper()

sync = Adeq.from_url(os.environ["HOME_URL"], prefix="own", source="home").queue(os.environ["NAME"])
other = AsyncAdeq.from_url(os.environ["HOME_URL"], prefix="own", source="home").queue(os.environ["NAME"])
for queue in (sync, other):
    queue.task(work)
"""


@pytest.mark.parametrize("name", slow_after(1, ["sync", "other"]))
def test_a_queue_is_worked_on_where_it_is(start: Start, tmp_path: Path, url: str, base_name: str, name: str) -> None:
    """Nothing says so but the queue itself: its server, its prefix."""
    (tmp_path / "homes.py").write_text(HOMES)
    nothing = {"ADEQ_URL": "", "ADEQ_QUEUE": ""}
    worker = start(f"homes:{name}", "--renew", "process", HOME_URL=url, **nothing)
    assert f"url={url}" in worker.log
    with Adeq.from_url(url, prefix="own") as adeq:
        queue = adeq.queue(base_name)
        assert queue.run({"text": "hi"}, kind="work", wait=DEADLINE) == "HI"


@pytest.mark.parametrize(
    ("options", "environment", "message"),
    [
        (
            ["--url", "redis://127.0.0.1:1"],
            {},
            "--url (or ADEQ_URL): redis://127.0.0.1:1 is not accepted",
        ),
        ([], {"ADEQ_URL": "redis://a:b@c:1"}, "--url (or ADEQ_URL): redis://c:1 is not accepted, because homes:sync"),
        (["--queue", "x"], {}, "--queue (or ADEQ_QUEUE): 'x' is not accepted, because homes:sync is of a queue with "),
        (
            [],
            {"ADEQ_PREFIX": "ade"},
            "--prefix (or ADEQ_PREFIX): 'ade' is not accepted, because homes:",
        ),
        (
            [],
            {"ADEQ_SLOT": "x"},
            "--slot (or ADEQ_SLOT): 'x' is not accepted, because homes:sync is of a queue with None",
        ),
        ([], {"ADEQ_CODEC": "homes:work"}, "--codec"),
    ],
)
def test_what_contradicts_the_queue_is_refused(
    refused: Refused, tmp_path: Path, url: str, options: list[str], environment: dict[str, str], message: str
) -> None:
    (tmp_path / "homes.py").write_text(HOMES)
    line = refused("homes:sync", *options, HOME_URL=url, **{"ADEQ_URL": "", "ADEQ_QUEUE": "", **environment})
    assert line.startswith(f"adeq: {message}")


@pytest.mark.slow
def test_the_same_said_twice_is_no_contradiction(start: Start, tmp_path: Path, url: str, base_name: str) -> None:
    (tmp_path / "homes.py").write_text(HOMES)
    said = {"ADEQ_URL": url, "ADEQ_QUEUE": base_name, "ADEQ_PREFIX": "own"}
    assert "worker started" in start("homes:sync", HOME_URL=url, **said).log


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("empty", "handler: 'jobs:empty' has no tasks"),
        ("shout", "handler: 'jobs:shout' is one task; name the Queue or the Tasks"),
        ("adeq", "handler: 'jobs:adeq' is a client; name one of its queues"),
        (
            "number",
            "handler: 'jobs:number' is not a function; define it as `async def number(lease): …`, or name a Queue",
        ),
        ("absent", "handler: 'jobs' ("),
    ],
)
def test_what_is_no_handler_is_refused(refused: Refused, tmp_path: Path, url: str, name: str, message: str) -> None:
    (tmp_path / "jobs.py").write_text(HANDLERS)
    assert refused(f"jobs:{name}", ADEQ_URL=url).startswith(f"adeq: {message}")


CONFIGURED = """
import os
from pathlib import Path
from pyadeq.asyncio import Adeq, Failures, Worker

adeq = Adeq.from_url(os.environ["HOME_URL"], prefix="own")
names = [os.environ["NAME"] + end for end in ("", ".mail", ".fax")]
first, mail, fax = map(adeq.queue, names)
failures = Failures().when(LookupError, "bad_input")

def note(word):
    with Path("notes").open("a") as notes:
        print(word, file=notes)

async def noted(lease, call_next):
    note("before")
    return await call_next(lease)

async def handle(lease):
    raise LookupError

@mail.task
async def send(text: str) -> str:
    return text.upper()

fax.task(send.function)
worker = Worker(
    first, handle, name="w1", concurrency=3, failures=failures, middleware=[noted], grace=7,
    on_start=lambda: note("start"), on_stop=lambda: note("stop"),
)
"""


@pytest.mark.slow
def test_a_configured_worker_and_queues_run_in_one_process(
    start: Start, tmp_path: Path, url: str, base_name: str
) -> None:
    """Its middleware, rules and hooks are used. An operator may stop one; a signal stops the others."""
    (tmp_path / "apps.py").write_text(CONFIGURED)
    names = {"HOME_URL": url, "ADEQ_URL": "", "ADEQ_QUEUE": ""}
    worker = start("apps:worker", "apps:mail", "apps:fax", "--health", "0", **names)
    with Adeq.from_url(url, prefix="own") as client:
        first, mail, fax = [client.queue(base_name + end) for end in ("", ".mail", ".fax")]
        dead = first.enqueue(max_attempts=5).id
        assert mail.run({"text": "hi"}, kind="send", wait=DEADLINE) == "HI"
        assert fax.run({"text": "hi"}, kind="send", wait=DEADLINE) == "HI"
        wait_until(lambda: get(first, dead).state == "dead")
        wait_until(lambda: probe(worker, "/ready")[0] == 200)
        ready = probe(worker, "/ready")[1]
        assert (ready["concurrency"], ready["done"], ready["failed"]) == (3 + 10 + 10, 3, 1)
        first.workers.control(["w1"], mode="stop")
        wait_until(lambda: "worker stopped" in worker.log)
        assert fax.run({"text": "on"}, kind="send", wait=DEADLINE) == "ON"
    worker.child.send_signal(signal.SIGTERM)
    assert worker.ended() == 0
    assert worker.log.count("worker stopped") == 3
    assert "signal=SIGTERM grace=30s" in worker.log
    assert (tmp_path / "notes").read_text().split() == ["start", "before", "stop"]


@pytest.mark.slow
def test_a_function_runs_for_several_queues_and_restarts_as_a_whole(start: Start, queue: Queue, url: str) -> None:
    with Adeq.from_url(url) as client:
        other = client.queue(f"{queue.name}.b")
        worker = start("jobs:handle", "--name", "w1", "--queue", queue.name, "--queue", other.name)
        assert [one.run(1, wait=DEADLINE) for one in (queue, other)] == [1, 1]
        other.workers.control(["w1"], mode="restart")
        wait_until(lambda: worker.log.count("worker started") == 4)
        assert [one.run(2, wait=DEADLINE) for one in (queue, other)] == [2, 2]
        queue.workers.register("w1")  # elsewhere: this worker ends with an error, and so does the process
        queue.enqueue()
        assert worker.ended() == 1
        assert "worker stopped queue=" + other.name in worker.log


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["apps:worker", "--lane-first"], "--lane-first: apps:worker is a Worker, which has its own options"),
        (["apps:worker", "--queue", "x"], "--queue (or ADEQ_QUEUE): 'x' is not accepted, because apps:worker is of"),
        (["apps:first", "apps:worker"], "apps:worker: another worker here has this queue; name each once"),
        (["apps:handle", "--queue", "a", "--queue", "a"], "apps:handle: another worker here has this queue"),
        (["apps:mail", "--exec", "cat"], "run what? Name MODULE:NAME, or a program with --exec: one of the two"),
        (["apps:worker", "--maintain"], "--maintain: a queue of pyadeq.asyncio is not accepted"),
    ],
)
def test_what_contradicts_a_worker_is_refused(
    refused: Refused, tmp_path: Path, url: str, arguments: list[str], message: str
) -> None:
    source = CONFIGURED.replace("fax.task(", "first.task(send.function)\nfax.task(")
    (tmp_path / "apps.py").write_text(source)
    assert refused(*arguments, HOME_URL=url, ADEQ_URL="", ADEQ_QUEUE="").startswith(f"adeq: {message}")


@pytest.mark.slow
def test_workers_are_listed_and_shown(start: Start, queue: Queue, place: dict[str, Any]) -> None:
    start(
        "jobs:hang",
        "--name",
        "w1",
        "--group",
        "g",
        "--capability",
        "gpu",
        "--capability",
        "big/x",
        "--concurrency",
        "3",
    )
    start("jobs:hang", "--name", "w2", "--renew", "loop")
    wait_until(lambda: queue.stats().workers == 2)
    first, second = answer("worker", "ls", **place)
    assert first["capabilities"] == ["gpu", "big/x"]
    assert first["lanes"] == ["group/g/inst/w1", "group/g", "any"]
    assert (first["name"], first["group"], first["capacity"], first["mode"]) == ("w1", "g", 3, "run")
    assert first["seen_iso"]
    assert (second["name"], second["group"], second["lanes"]) == ("w2", None, ["any"])
    head, *rows = lines("worker", "ls", **place)
    assert head[:3] == ["name", "mode", "capacity"]
    assert [row[0] for row in rows] == ["w1", "w2"]
    for option in (["--group", "g"], ["--capability", "gpu"]):
        assert [worker["name"] for worker in answer("worker", "ls", *option, **place)] == ["w1"]
    assert answer("worker", "ls", "--group", "none", **place) == []
    assert answer("worker", "show", "w1", **place)["capacity"] == 3
    assert ["capabilities", "gpu", "big/x"] in lines("worker", "show", "w1", **place)
    assert "has no 'w3'. See adeq worker ls" in error(1, "worker", "show", "w3", **place)
    assert f"queue {queue.name!r} has no workers" in adeq("worker", "ls", "--group", "none", **place).stderr
    assert "there is no 'nowhere'" in error(1, "worker", "ls", **{**place, "ADEQ_QUEUE": "nowhere"})


@pytest.mark.slow
def test_a_worker_is_quiet_until_it_is_told_to_go_on(start: Start, queue: Queue, place: dict[str, Any]) -> None:
    worker = start("jobs:handle", "--name", "w1", "--health", "0")
    wait_until(lambda: queue.stats().workers == 1)
    asked = answer("worker", "quiet", "w1", **place)
    assert asked == {"queue": queue.name, "mode": "quiet", "workers": [{"worker": "w1", "status": "asked"}]}
    quiet = "the worker takes no tasks: its mode is quiet"
    wait_until(lambda: probe(worker, "/ready")[1].get("reason") == quiet)  # not any more: it is not registered yet
    assert probe(worker, "/ready")[0] == 503
    assert probe(worker, "/live")[0] == 200
    id = queue.enqueue(1).id
    assert answer("worker", "ls", **place)[0]["mode"] == "quiet"
    assert get(queue, id).state == "ready"
    assert lines("worker", "resume", "--all", "--yes", **place) == [["worker", "status"], ["w1", "asked"]]
    wait_until(lambda: get(queue, id).state == "completed")


@pytest.mark.slow
def test_workers_are_resized(start: Start, queue: Queue, place: dict[str, Any]) -> None:
    start("jobs:hang", "--name", "w1", "--group", "g", "--concurrency", "1")
    wait_until(lambda: queue.stats().workers == 1)
    queue.enqueue_many([None] * 5)
    wait_until(lambda: queue.stats().running == 1)
    assert answer("worker", "resize", "3", "--group", "g", **place)["capacity"] == 3
    wait_until(lambda: queue.stats().running == 3)
    assert answer("worker", "show", "w1", **place)["wanted"] == 3


@pytest.mark.slow
def test_workers_are_stopped(start: Start, queue: Queue, place: dict[str, Any]) -> None:
    first, second = start("jobs:handle", "--name", "w1"), start("jobs:handle", "--name", "w2")
    wait_until(lambda: queue.stats().workers == 2)
    asked = answer("worker", "stop", "w1", "w3", status=1, **place)
    assert [worker["status"] for worker in asked["workers"]] == ["asked", "not_found"]
    assert first.ended() == 0
    assert "worker stopped" in first.log
    assert second.child.poll() is None
    assert adeq("worker", "stop", "--all", "--yes", **place).status == 0
    assert second.ended() == 0
    queue.configure()  # it had only workers until now
    assert "has no live workers" in error(1, "worker", "stop", "--all", "--yes", **place)
    assert "group 'g' of queue" in error(1, "worker", "stop", "--group", "g", **place)


@pytest.mark.slow
def test_a_worker_restarts_with_its_arguments(
    start: Start, queue: Queue, place: dict[str, Any], tmp_path: Path
) -> None:
    worker = start("jobs:handle", "--name", "w1", "--concurrency", "7")
    wait_until(lambda: queue.stats().workers == 1)
    source = (tmp_path / "jobs.py").read_text()
    (tmp_path / "jobs.py").write_text(source.replace("return lease.payload", 'return "new code"'))
    assert adeq("worker", "restart", "w1", **place).status == 0
    wait_until(lambda: worker.log.count("worker started") == 2)
    assert "worker restarts" in worker.log
    id = queue.enqueue(1).id
    wait_until(lambda: get(queue, id).state == "completed")
    assert get(queue, id).result == "new code"
    assert (tmp_path / "imported").read_text().split() == [str(worker.child.pid)] * 2
    (there,) = answer("worker", "ls", **place)
    assert (there["pid"], there["capacity"], there["mode"]) == (worker.child.pid, 7, "run")
    worker.child.send_signal(signal.SIGTERM)
    assert worker.ended() == 0


@pytest.mark.slow
def test_a_worker_of_a_queue_that_gets_partitions_serves_them(
    start: Start, queue: Queue, url: str, base_name: str
) -> None:
    worker = start("jobs:handle", "--name", "w1")
    wait_until(lambda: queue.stats().workers == 1)
    with Adeq.from_url(url) as client:
        whole = client.partitioned(base_name)
        whole.repartition(3)
        receipts = whole.enqueue_many(list(range(300)))
        assert len({receipt.id.rpartition("@")[2] for receipt in receipts}) == 3
        wait_until(lambda: whole.stats().finished == 300)
    assert worker.log.count("worker started") == 1
    worker.child.send_signal(signal.SIGTERM)
    assert worker.ended() == 0


@pytest.mark.parametrize(
    "arguments", [["stop"], ["stop", "w1", "--all"], ["resize", "3"], ["quiet", "--group", "g", "--all"]]
)
def test_who_is_meant_must_be_said(arguments: list[str]) -> None:
    assert "which workers? Name some, or --group, or --all" in error(2, "worker", *arguments)


def test_all_are_asked_only_after_a_yes(queue: Queue, place: dict[str, Any]) -> None:
    queue.workers.register("w1")
    assert "controls all workers of queue" in error(2, "worker", "stop", "--all", **place)


@pytest.mark.slow
def test_a_loop_that_stands_still_is_seen(start: Start, queue: Queue, tmp_path: Path) -> None:
    worker = start("jobs:stand_still", "--health", "0", "--health-after", "1", "--lease", "5")
    wait_until(lambda: probe(worker, "/ready")[0] == 200)
    queue.enqueue()
    wait_until(lambda: probe(worker, "/live")[0] == 503)
    status, body = probe(worker, "/ready")
    assert status == 503
    assert body["reason"].startswith("the event loop has stood still for ")
    (tmp_path / "go").touch()
    wait_until(lambda: probe(worker, "/live")[0] == 200)
    wait_until(lambda: probe(worker, "/ready")[1]["done"] == 1)


def test_a_port_that_is_taken_ends_with_2(start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        worker = start("jobs:handle", "--health", str(port))
        assert worker.ended() == 2
    assert f"adeq: health: nothing can listen at 127.0.0.1, port {port}" in worker.log
