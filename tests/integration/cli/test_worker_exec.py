"""`adeq worker run --exec`: a program for each task, from the command line to the record."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis

from pyadeq import Queue, TaskView
from tests.integration.cli.run import adeq, answer, error, lines
from tests.integration.worker.programs import LINUX, alive
from tests.integration.workers import Start, get, starting
from tests.quick import slow_after
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine


@pytest.fixture
def start(tmp_path: Path, url: str, base_name: str) -> Iterator[Start]:
    with starting(tmp_path, url, base_name) as start:
        yield start


@pytest.fixture
def place(url: str, base_name: str) -> dict[str, Any]:
    """What the commands need to find the test's queue."""
    return {"ADEQ_URL": url, "ADEQ_QUEUE": base_name}


def queue_payload(task: TaskView) -> bytes:
    assert task.data is not None
    return task.data


def token_of(client: redis.Redis, queue: Queue, id: str) -> str:
    """The token of a lease of somebody else."""
    running: Any = client.hget(f"{queue.base}:running", id)
    return str(running.decode().split()[0])


def test_a_program_runs_for_each_task(start: Start, queue: Queue, tmp_path: Path) -> None:
    start("--exec", "sh -c 'cat; echo noted >&2; exit $ADEQ_TASK_KIND'", "--output-dir", "out", "--name", "w1")
    good = queue.enqueue({"n": 1}, kind="0").id
    bad = queue.enqueue({"n": 2}, kind="65").id
    wait_until(lambda: (queue.stats().finished, queue.stats().dead) == (1, 1))
    task = get(queue, good)
    assert (task.state, task.result, task.worker, task.exit_code) == ("completed", {"n": 1}, "w1", None)
    assert task.output == str(tmp_path / "out" / f"{good}.1")
    assert Path(task.output, "stdout").read_bytes() == queue_payload(task)
    task = get(queue, bad)
    assert (task.reason, task.exit_code, task.error) == ("bad_input", 65, "noted\nthe program exited with 65")
    assert task.output
    assert Path(task.output, "stderr").read_text() == "noted\n"


@pytest.mark.slow
def test_it_knows_its_queue_and_its_worker(start: Start, queue: Queue) -> None:
    start("--exec", "sh -c 'echo $ADEQ_QUEUE $ADEQ_WORKER'", "--name", "w1")
    id = queue.enqueue().id
    wait_until(lambda: get(queue, id).state == "completed")
    assert get(queue, id).result == f"{queue.name} w1"


@pytest.mark.slow
def test_progress_of_a_program_is_seen_while_it_runs(
    start: Start, client: redis.Redis, queue: Queue, place: dict[str, Any], tmp_path: Path
) -> None:
    start("--exec", "sh -c 'echo 0.25 a quarter >&3; while [ ! -e go ]; do sleep 0.01; done'")
    id = queue.enqueue().id
    wait_until(lambda: get(queue, id).progress == 0.25)
    queue.progress((id, token_of(client, queue, id)), log="a line")
    shown_lines = lines("task", "show", queue.name, id, **place)
    assert ["progress", "0.25"] in shown_lines
    assert ["progress_text", "a", "quarter"] in shown_lines
    assert (shown_lines[-2], shown_lines[-1][1:]) == (["log"], ["a", "line"])
    shown = answer("task", "show", queue.name, id, **place)
    assert (shown["progress"], shown["progress_text"]) == (0.25, "a quarter")
    assert [line["text"] for line in shown["log"]] == ["a line"]
    watched = adeq("task", "watch", queue.name, id, "--for", "0", **place)
    assert f"{id} running run 1 25% a quarter" in watched.stdout
    (tmp_path / "go").touch()
    wait_until(lambda: get(queue, id).state == "completed")


@pytest.mark.parametrize("how", slow_after(1, ["cancel", "timeout", "stop"]))
def test_the_end_of_a_run_ends_its_tree(start: Start, queue: Queue, tmp_path: Path, how: str) -> None:
    script = "trap '' TERM; (trap '' TERM; sleep 1000)& echo $! $$ > pids; wait; sleep 1000"
    worker = start("--exec", f'sh -c "{script}"', "--kill-after", "500ms", "--grace", "0")
    id = queue.enqueue(timeout=1 if how == "timeout" else None, max_attempts=1).id
    pids = tmp_path / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    if how == "cancel":
        queue.cancel(id)
    elif how == "stop":
        worker.child.send_signal(signal.SIGTERM)
    wait_until(lambda: get(queue, id).state in ("cancelled", "dead", "ready"))
    assert get(queue, id).state == {"cancel": "cancelled", "timeout": "dead", "stop": "ready"}[how]
    # Where a task is told as ended, nothing of it runs any more.
    assert not any(map(alive, map(int, pids.read_text().split())))


@pytest.mark.slow
@pytest.mark.skipif(not LINUX, reason="elsewhere only the process group is ended")
def test_nothing_is_left_of_a_killed_worker(start: Start, queue: Queue, tmp_path: Path) -> None:
    script = "(sleep 1000)& echo $! $$ > pids; sleep 1000"
    worker = start("--exec", f"sh -c '{script}'", "--kill-after", "500ms", "--lease", "1")
    queue.enqueue()
    pids = tmp_path / "pids"
    wait_until(lambda: pids.exists() and len(pids.read_text().split()) == 2)
    worker.child.kill()
    wait_until(lambda: not any(map(alive, map(int, pids.read_text().split()))))


@pytest.mark.slow
def test_what_exit_statuses_mean_can_be_said(start: Start, queue: Queue) -> None:
    start("--exec", "sh -c 'exit $ADEQ_TASK_KIND'", "--on-exit", "3=fail", "--on-exit", "4=retry:3000")
    fails, waits = (queue.enqueue(kind=kind).id for kind in ("3", "4"))
    wait_until(lambda: (get(queue, fails).state, get(queue, waits).state) == ("dead", "delayed"))
    task = get(queue, waits)
    assert (task.reason, task.exit_code) == ("exit_4", 4)
    assert task.due
    assert task.due - queue.stats().now > 2900


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "run what? Name MODULE:NAME, or a program with --exec"),
        (["m:f", "--exec", "cat"], "run what? Name MODULE:NAME, or a program with --exec"),
        (["m:f", "--output-dir", "x"], "--output-dir goes with --exec"),
        (["m:f", "--kill-after", "3"], "--kill-after goes with --exec"),
        (["--exec", "no-such-program"], "command: there is no program 'no-such-program' on the PATH"),
        (["--exec", "'"], 'command: "\'" is not accepted: No closing quotation'),
        (["--exec", "cat", "--on-exit", "x=fail"], "--on-exit: 'x=fail' is not accepted; write STATUS=WHAT"),
        (["--exec", "cat", "--on-exit", "3=explode"], "on_exit: 'explode' for 3 is not accepted; allowed: retry"),
        (["--exec", "cat", "--on-exit", "300=fail"], "on_exit: 300 is not accepted"),
        (["--exec", "cat", "--output-dir", "/dev/null/x"], "output_dir: '/dev/null/x' cannot be made"),
        (["--exec", "cat", "--group", "a b"], "--group: 'a b' is not accepted"),
        (["--exec", "cat", "--capability", "a b"], "--capability: 'a b' is not accepted"),
    ],
)
def test_what_cannot_work_is_refused_before_anything_runs(arguments: list[str], message: str) -> None:
    assert error(2, "worker", "run", *arguments).startswith(f"adeq: {message}")


@pytest.mark.parametrize("arguments", [["--output-max", "much"], ["--renew", "hope"], ["--health", "70000"]])
def test_wrong_usage_ends_with_2(arguments: list[str]) -> None:
    assert adeq("worker", "run", "--exec", "cat", *arguments).status == 2
