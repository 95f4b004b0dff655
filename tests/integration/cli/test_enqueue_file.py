"""`adeq task enqueue --file`: many tasks, bad lines, and runs that are killed."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Queue
from pyadeq.ext.cli.shared import common
from tests.integration.cli.run import COMMAND, Ended, Terminal, adeq, answer, environment, error
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine

NOBODY = "redis://127.0.0.1:1"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "tasks.jsonl"


def write(file: Path, tasks: Iterable[Any]) -> None:
    file.write_text("".join(f"{json.dumps(task)}\n" for task in tasks))


def numbered(count: int) -> list[dict[str, Any]]:
    return [{"payload": n} for n in range(count)]


def checkpoint(file: Path) -> Path:
    return file.with_name(f"{file.name}.adeq-checkpoint")


def upload(url: str, queue: Queue, file: Path | str, *options: str, stdin: bytes = b"") -> Ended:
    return adeq("task", "enqueue", queue.name, "--file", str(file), "--url", url, *options, stdin=stdin)


def payloads(queue: Queue) -> list[Any]:
    """In the order of the line."""
    return [task.payload for task in queue.get_many([one.id for one in queue.iterate("ready")]) if task]


def test_a_file(url: str, queue: Queue, file: Path) -> None:
    write(file, [{"payload": {"n": 1}, "kind": "mail", "id": "t1"}, {"payload": "ü", "delay": 60, "tags": ["x"]}, {}])
    with file.open("a") as more:
        more.write('\n  \n{"payload": [], "backoff": {"base": 5}, "headers": {"h": 1}, "expires_at": 32503680000}')
    found = answer("task", "enqueue", queue.name, "--file", str(file), "--rid", "r1", "--url", url)
    assert found.pop("seconds") > 0
    counts = {"created": 4, "exists": 0, "deduplicated": 0}
    assert found == {"file": str(file), "rid": "r1", "lines": 6, **counts, "this_run": counts}
    tasks = queue.get_many(["t1", "r1.2", "r1.3", "r1.6"])
    assert [task and (task.payload, task.kind, task.tags) for task in tasks] == [
        ({"n": 1}, "mail", ()),
        ("ü", None, ("x",)),
        (None, None, ()),
        ([], None, ()),
    ]
    assert queue.stats().delayed == 1
    assert not checkpoint(file).exists()
    ended = upload(url, queue, file, "--rid", "r1")
    assert (ended.status, queue.stats().pending) == (0, 4)


def test_raw_lines(url: str, queue: Queue, file: Path) -> None:
    file.write_bytes(b"one\r\n\xff\x00two\n\n  \n{}")
    assert "4 created" in upload(url, queue, file, "--raw").stdout
    assert [task.data for task in queue.get_many([one.id for one in queue.iterate("ready")]) if task] == [
        b"one",
        b"\xff\x00two",
        b"  ",
        b"{}",
    ]


@pytest.mark.parametrize("options", [[], ["--raw"]])
def test_the_mark_at_the_start_of_a_file(url: str, queue: Queue, file: Path, options: list[str]) -> None:
    line = b'{"payload": 1}'
    file.write_bytes(b"\xef\xbb\xbf" + line + b"\r\n" + line)
    assert "2 created" in upload(url, queue, file, *options).stdout
    payload = {"payload": 1} if options else 1
    assert payloads(queue) == [payload, payload]


def test_times_with_a_unit(url: str, queue: Queue, file: Path) -> None:
    write(file, [{"id": "t1", "delay": "5m", "timeout": "1.5h"}, {"id": "t2", "timeout": "PT2M"}])
    assert "2 created" in upload(url, queue, file).stdout
    first, second = queue.get_many(["t1", "t2"])
    assert first is not None
    assert second is not None
    assert (first.state, first.timeout, second.timeout) == ("delayed", 5400, 120)


def test_a_file_whose_first_line_is_bad_leaves_nothing(url: str, queue: Queue, file: Path) -> None:
    write(file, ["bad", {}])
    ended = upload(url, queue, file)
    assert (ended.status, ended.stderr.splitlines()[1:]) == (1, [])
    assert not checkpoint(file).exists()


def test_a_first_batch_whose_answer_is_lost_is_not_forgotten(url: str, queue: Queue, file: Path) -> None:
    write(file, numbered(3))
    ended = upload(url, queue, file, "--durability", "replica")
    assert (ended.status, queue.stats().ready) == (1, 3)
    assert "0 lines done, nothing after that; the same command goes on there" in ended.stderr
    assert upload(url, queue, file).status == 0
    assert queue.stats().ready == 3


def test_duplicates_are_counted(url: str, queue: Queue, file: Path) -> None:
    write(file, [{"id": "t1"}, {"id": "t1"}, {"unique": "k"}, {"unique": "k"}])
    assert "2 created, 1 exists, 1 deduplicated in" in upload(url, queue, file).stdout


def test_payloads_that_grow(url: str, queue: Queue, file: Path) -> None:
    """1e15 is four bytes in the file and eighteen in the queue: one batch is more than one call may carry."""
    payload, headers = f"[{','.join(['1e15'] * 55_000)}]", json.dumps({"h": "x" * 4000})
    file.write_text(f'{{"payload": {payload}, "headers": {headers}}}\n' * 20)
    assert "20 created in" in upload(url, queue, file).stdout
    assert queue.admin.purge() == 20


def test_an_empty_file(url: str, queue: Queue, file: Path) -> None:
    file.touch()
    assert "no tasks in" in upload(url, queue, file).stdout
    assert not checkpoint(file).exists()


def test_standard_input(url: str, queue: Queue) -> None:
    data = b"".join(b'{"payload": %d}\n' % n for n in range(1500))
    for _ in range(2):
        ended = upload(url, queue, "-", "--rid", "r1", stdin=data)
        assert ended.stdout.startswith("stdin: 1,500 created in ")
    assert payloads(queue) == list(range(1500))
    ended = upload(url, queue, "-", stdin=b"{}\n{\n")
    assert ended.status == 1
    assert "stdin: 1 line done, nothing after that; all of it may be sent again with --rid " in ended.stderr
    assert "stdin, line 2: it is not JSON" in ended.stderr
    assert "stdin cannot be read from the middle" in upload(url, queue, "-", "--checkpoint", "c").stderr


@pytest.mark.parametrize(
    ("line", "text"),
    [
        ("{", "it is not JSON: EOF while parsing an object at column 1"),
        ('{"payload": NaN}', "payload must be bytes or JSON: payload is nan"),
        ("42", 'it must be an object with the fields of a task, {"payload": …}; with --raw each line is a payload'),
        ('{"prio": 3}', "prio: there is no such field; allowed: payload, id, kind, priority, "),
        ('{"priority": 10}', "priority: 10 is not accepted; allowed: an integer from 0 to 9"),
        ('{"priority": "high"}', "priority: 'high' is not accepted: Input should be a valid integer"),
        ('{"delay": "soon"}', "delay: 'soon' is not accepted; allowed: seconds, or a number with ms, s, m"),
        ('{"tags": "x"}', "tags: 'x' is not accepted: "),
        ('{"tags": ["no tag"]}', "tags: 'no tag' is not accepted; allowed: labels of 1 to 200"),
        ('{"lane": "here"}', "lane: 'here' is not accepted; allowed: any, group/"),
        ('{"id": "no id"}', "id: 'no id' is not accepted; allowed: 1 to 200"),
        ('{"backoff": {"base": -1}}', "backoff.base: -1 is not accepted: Input should be greater than"),
        ('{"backoff": {"bass": 1}}', "backoff.bass: "),
        ('{"run_after": "2999-01-01T00:00:00"}', "run_after must have a time zone"),
        ('{"payload": "%s"}' % ("x" * 2**20), "payload: <1048578 bytes> is not accepted; allowed: 0 to 1048576 bytes"),
        ('"%s"' % ("x" * 2**23), "it is longer than 8 MiB; a payload may have 1 MiB"),
    ],
    ids=range(16),
)
def test_a_bad_line(url: str, queue: Queue, file: Path, line: str, text: str) -> None:
    file.write_text('{"payload": 0}\n\n' + line + '\n{"payload": 1}\n')
    ended = upload(url, queue, file)
    assert (ended.status, ended.stdout) == (1, "")
    advice, message = ended.stderr.splitlines()
    assert message.startswith(f"adeq: {file}, line 3: {text}")
    assert len(message) < 500
    assert advice.endswith(
        f"2 lines done, nothing after that; the same command goes on there (checkpoint {checkpoint(file)})"
    )
    assert payloads(queue) == [0]
    file.write_text('{"payload": 0}\n\n{"payload": "mended"}\n{"payload": 1}\n')
    ended = upload(url, queue, file)
    assert (ended.status, ended.stderr.split(" (rid ")[0]) == (0, f"{file}: continuing after line 2")
    assert ended.stdout.startswith(f"{file}: 2 created in ")
    assert " s; with the runs before 3 created (rid " in ended.stdout
    assert payloads(queue) == [0, "mended", 1]


def test_a_batch_that_is_sent_again_creates_nothing_twice(url: str, queue: Queue, file: Path, tmp_path: Path) -> None:
    """As if the run had been killed after its call, before the checkpoint was written."""
    tasks: list[Any] = numbered(3500)
    tasks[1000], tasks[2000] = "bad", "bad"
    write(file, tasks)
    assert upload(url, queue, file).status == 1
    shutil.copy(checkpoint(file), tmp_path / "older")
    tasks[1000] = {"payload": 1000}
    write(file, tasks)
    assert upload(url, queue, file).status == 1
    assert queue.stats().ready == 2000
    shutil.copy(tmp_path / "older", checkpoint(file))
    write(file, numbered(3500))
    assert "with the runs before 3,500 created" in upload(url, queue, file).stdout
    assert payloads(queue) == list(range(3500))


@pytest.mark.slow
def test_a_run_that_was_killed_goes_on(url: str, queue: Queue, file: Path) -> None:
    count = 40_000
    write(file, numbered(count))
    command = [*COMMAND, "task", "enqueue", queue.name, "--file", str(file), "--url", url]
    for least in (1, 10_000, 20_000):
        child = subprocess.Popen(command, env=environment(), stderr=subprocess.DEVNULL)
        wait_until(lambda least=least: queue.stats().ready >= least)  # type: ignore[misc]
        child.send_signal(signal.SIGKILL)
        assert child.wait(DEADLINE) == -signal.SIGKILL
        assert checkpoint(file).exists()
    ended = upload(url, queue, file)
    assert ended.status == 0
    assert "continuing after line" in ended.stderr
    assert queue.stats().ready == queue.stats().counters["enqueued"] == count
    assert payloads(queue) == list(range(count))
    assert not checkpoint(file).exists()


@pytest.mark.slow
def test_a_run_that_is_interrupted_goes_on(url: str, queue: Queue, file: Path) -> None:
    write(file, numbered(30_000))
    command = [*COMMAND, "task", "enqueue", queue.name, "--file", str(file), "--url", url]
    with subprocess.Popen(command, env=environment(), stderr=subprocess.PIPE, text=True) as child:
        wait_until(lambda: queue.stats().ready)
        child.send_signal(signal.SIGINT)
        assert child.wait(DEADLINE) == 130
        assert child.stderr
        assert "the same command goes on there" in child.stderr.read()
    assert upload(url, queue, file).status == 0
    assert queue.stats().ready == 30_000


def test_a_server_that_is_away(url: str, queue: Queue, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "RETRY_FOR", 0.2)
    write(file, numbered(3))
    ended = upload(NOBODY, queue, file)
    assert ended.status == 3
    assert "lines done" not in ended.stderr
    assert not checkpoint(file).exists()
    assert upload(url, queue, file).status == 0


def test_a_queue_that_is_drained(url: str, queue: Queue, file: Path) -> None:
    queue.enqueue()
    queue.admin.drain()
    write(file, numbered(3))
    ended = upload(url, queue, file)
    assert ended.status == 1
    assert "takes no new tasks" in ended.stderr
    queue.admin.resume()
    assert upload(url, queue, file).status == 0
    assert queue.stats().ready == 4


def test_a_checkpoint_of_something_else(url: str, queue: Queue, file: Path, base_name: str) -> None:
    write(file, [*numbered(2), "bad"])
    assert upload(url, queue, file, "--rid", "r1").status == 1
    arguments = ["--file", str(file), "--url", url]
    assert "another rid (r1, not r2)" in error(2, "task", "enqueue", queue.name, *arguments, "--rid", "r2")
    assert "another --raw" in error(2, "task", "enqueue", queue.name, *arguments, "--raw")
    assert f"another server ({url}, not {NOBODY})" in upload(NOBODY, queue, file).stderr
    line = error(2, "task", "enqueue", f"{base_name}-other", *arguments)
    assert "another queue" in line
    assert "delete it to begin from the first line, or name another with --checkpoint" in line
    write(file, [{"payload": "changed"}, *numbered(2)])
    assert "has been changed since" in error(2, "task", "enqueue", queue.name, *arguments)
    checkpoint(file).write_text("nonsense")
    assert "is not a checkpoint" in error(2, "task", "enqueue", queue.name, *arguments)


def test_a_checkpoint_in_another_place(url: str, queue: Queue, file: Path, tmp_path: Path) -> None:
    other = tmp_path / "how-far"
    write(file, [*numbered(2), "bad"])
    assert upload(url, queue, file, "--checkpoint", str(other)).status == 1
    assert json.loads(other.read_text())["place"]["line"] == 2
    assert not checkpoint(file).exists()
    write(file, numbered(3))
    assert upload(url, queue, file, "--checkpoint", str(other)).status == 0
    assert not other.exists()
    ended = upload(url, queue, file, "--checkpoint", str(tmp_path / "no" / "folder"))
    assert (ended.status, queue.stats().ready) == (2, 3)
    assert "cannot be written (No such file or directory); name another place with --checkpoint" in ended.stderr


def test_files_that_cannot_be_read(url: str, queue: Queue, tmp_path: Path) -> None:
    for path, text in ((tmp_path, "Is a directory"), (tmp_path / "nothing", "No such file or directory")):
        line = error(2, "task", "enqueue", queue.name, "--file", str(path), "--url", url)
        assert line == f"adeq: --file: '{path}' cannot be read: {text}"


def test_a_pipe_is_read_once(url: str, queue: Queue, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    command = [*COMMAND, "task", "enqueue", queue.name, "--file", str(pipe), "--url", url]
    with subprocess.Popen(command, env=environment(), stdout=subprocess.PIPE, text=True) as child:
        pipe.write_text('{"payload": 1}\n')
        assert child.wait(DEADLINE) == 0
    assert payloads(queue) == [1]
    assert [one.name for one in tmp_path.iterdir()] == ["pipe"]


@pytest.mark.slow
def test_the_bar_of_a_terminal(url: str, queue: Queue, file: Path) -> None:
    write(file, numbered(40_000))
    with Terminal("task", "enqueue", queue.name, "--file", str(file), "--url", url) as terminal:
        terminal.read_until("Enqueuing")
        terminal.read_until("tasks, ")
        assert terminal.wait() == 0
        assert "40,000 created in" in terminal.seen
