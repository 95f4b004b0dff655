"""The demo works for real, its proof holds, and a queue that was tampered with is convicted."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
import redis
import typer

from pyadeq import Adeq, Backoff, Queue, Task
from pyadeq import asyncio as aio
from pyadeq.ext.cli.prove import demo as command
from pyadeq.ext.cli.shared.common import Format
from pyadeq.ext.prove.demo import plan
from pyadeq.ext.prove.demo.history import History
from pyadeq.ext.prove.demo.job import count, parse
from pyadeq.ext.prove.demo.proof import Check, Expected, each_start_has_a_reason, kill_was_survived, prove
from pyadeq.ext.prove.demo.report import Report, Times
from pyadeq.keys import check_name
from tests.quick import slow_after
from tests.waiting import DEADLINE, wait_until

pytestmark = pytest.mark.any_engine

DEMO = [sys.executable, "-m", "pyadeq.ext.cli", "demo"]
SOURCES = {
    "a.py": "def f(): pass\n\nasync def g(): pass\n",
    "b.py": "class C:\n    def m(self): pass\n",
    "bad.py": "def\n",
    "pkg/c.py": "",
}
FILES, TOTALS, DEAD, SETS = range(4)
linux = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs /proc")


@pytest.mark.slow
def test_it_works(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One run for all, for it takes a while."""
    report = demonstrate(tmp_path / "data")
    its_proof_holds(report)
    its_numbers_are_there(report)
    it_exits_with_1_if_the_proof_does_not_hold(report, monkeypatch, capsys)


def demonstrate(keep: Path) -> Report:
    """What `adeq demo --limit 60 -o json` answers."""
    ended = subprocess.run(
        [*DEMO, "--limit", "60", "-o", "json", "--keep", str(keep)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended
    assert "with SIGKILL" in ended.stderr
    assert keep.is_dir()
    return Report.model_validate(json.loads(ended.stdout))


def its_proof_holds(report: Report) -> None:
    assert report.ok
    assert len(report.proof) == 6
    assert all(check.holds for check in report.proof)


def its_numbers_are_there(report: Report) -> None:
    assert (report.files, report.tasks, report.delayed, report.dead) == (60, 61, 3, 1)
    assert report.killed
    assert report.killed.held >= 1
    assert report.killed.taken_back_after
    assert report.taken_back >= report.killed.held
    assert report.retries == report.setup.max_attempts - 1
    assert report.tasks + report.retries <= report.starts <= report.tasks + report.retries + report.taken_back
    assert report.accepted == report.files
    assert plan.MISSING in report.started_again
    assert report.totals["functions"] > 0
    assert report.wait.keys() == {"all", "priority 3", "priority 7"}
    assert 0 < report.run.p50 <= report.run.p90 <= report.run.p99 <= report.seconds


def it_exits_with_1_if_the_proof_does_not_hold(
    report: Report, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    wrong = report.model_copy(update={"ok": False, "proof": [Check(claim="all is well", holds=False, detail="no")]})
    monkeypatch.setattr(command, "run_demo", lambda *_, **__: wrong)
    with pytest.raises(typer.Exit) as ended:
        command.demo(output=Format.table)
    assert ended.value.exit_code == 1
    assert "all is well (no)" in capsys.readouterr().out


def children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):
        return False


@pytest.mark.slow
@linux
@pytest.mark.parametrize("number", slow_after(1, [signal.SIGKILL, signal.SIGINT]))
def test_nothing_outlives_it(number: signal.Signals) -> None:
    with subprocess.Popen(DEMO, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
        try:
            wait_until(lambda: len(children(process.pid)) == 3)  # two workers, and what stands over the server
            family = children(process.pid)
            family += [grandchild for child in family for grandchild in children(child)]
            process.send_signal(number)
            assert process.wait(DEADLINE) != 0
            wait_until(lambda: not any(map(alive, family)))
        finally:
            process.kill()


# the proof, on a small queue of its own


@pytest.fixture
def expected(tmp_path: Path) -> Expected:
    (tmp_path / "pkg").mkdir()
    for name, source in SOURCES.items():
        (tmp_path / name).write_text(source)
    return Expected({name: count(tmp_path / name) for name in SOURCES}, "missing.py", max_attempts=2)


@pytest.fixture
def queue(url: str, base_name: str, expected: Expected, tmp_path: Path) -> Queue:
    """A queue in which a worker has done all that is expected."""

    async def work() -> None:
        async with aio.Adeq.from_url(url) as adeq:
            queue = adeq.queue(base_name)
            await queue.configure(max_attempts=2, backoff=Backoff(base=0.01, cap=0.01))
            await queue.enqueue_many(
                [Task(id=id, payload={"path": str(tmp_path / id)}) for id in (*expected.results, expected.missing)]
            )
            worker = aio.Worker(queue, parse)
            running = asyncio.create_task(worker.run())
            async with asyncio.timeout(DEADLINE):
                while (now := await queue.stats()).finished + now.dead < len(SOURCES) + 1:
                    await asyncio.sleep(0.01)
            worker.stop()
            await running

    asyncio.run(work())
    return Adeq.from_url(url).queue(base_name)


def failures(queue: Queue, client: redis.Redis, expected: Expected) -> set[int]:
    """The lines of the proof that do not hold; each says why."""
    proof = prove(queue, client, expected)
    assert all(check.detail for check in proof if not check.holds)
    return {line for line, check in enumerate(proof) if not check.holds}


def test_a_queue_that_did_its_work_is_acquitted(queue: Queue, client: redis.Redis, expected: Expected) -> None:
    assert failures(queue, client, expected) == set()


def delete_record(client: redis.Redis, base: str) -> None:
    client.delete(f"{base}:task:a.py")


def drop_from_finished(client: redis.Redis, base: str) -> None:
    client.zrem(f"{base}:finished", "a.py")


def move_to_dead(client: redis.Redis, base: str) -> None:
    client.zrem(f"{base}:finished", "a.py")
    client.zadd(f"{base}:dead", {"a.py": 1})


def put_in_line_again(client: redis.Redis, base: str) -> None:
    client.zadd(f"{base}:ready:any", {"a.py": 1})


def complete_twice(client: redis.Redis, base: str) -> None:
    client.xadd(f"{base}:events", {"event": "task.completed", "timestamp": "1", "id": "b.py a.py"})


def change_result(client: redis.Redis, base: str) -> None:
    assert client.set(f"{base}:result:a.py", '{"functions":3,"classes":0,"lines":3}', xx=True)


def swap_results(client: redis.Redis, base: str) -> None:
    first, second = f"{base}:result:a.py", f"{base}:result:b.py"
    client.rename(first, f"{first}.moved")
    client.rename(second, first)
    client.rename(f"{first}.moved", second)


def revive_the_missing(client: redis.Redis, base: str) -> None:
    client.zrem(f"{base}:dead", "missing.py")


def give_the_missing_fewer_attempts(client: redis.Redis, base: str) -> None:
    client.hset(f"{base}:task:missing.py", "attempts", 1)


def leave_a_lease(client: redis.Redis, base: str) -> None:
    client.hset(f"{base}:running", "a.py", "token 1 any|1 1 1 0 1 w")


def add_a_stranger(client: redis.Redis, base: str) -> None:
    client.zadd(f"{base}:delayed", {"stranger": 1})


@pytest.mark.parametrize(
    ("tamper", "lines"),
    [
        (delete_record, {FILES, TOTALS, SETS}),
        (drop_from_finished, {FILES, TOTALS, SETS}),
        (move_to_dead, {FILES, DEAD}),
        (put_in_line_again, {SETS}),
        (complete_twice, {FILES}),
        (change_result, {TOTALS}),
        (swap_results, {TOTALS}),
        (revive_the_missing, {DEAD, SETS}),
        (give_the_missing_fewer_attempts, {DEAD}),
        (leave_a_lease, {SETS}),
        (add_a_stranger, {SETS}),
    ],
)
def test_a_queue_that_was_tampered_with_is_convicted(
    queue: Queue,
    client: redis.Redis,
    expected: Expected,
    damaged: Callable[[str], None],
    tamper: Callable[[redis.Redis, str], None],
    lines: set[int],
) -> None:
    damaged(queue.base)
    tamper(client, queue.base)
    assert failures(queue, client, expected) >= lines


def test_a_kill_must_have_taken_leases() -> None:
    survived = History(stalled=[("a", "w2", 1)], completed=Counter("a"), completed_by={"a": "w1"})
    assert kill_was_survived(survived, "w2").holds
    assert not kill_was_survived(survived, None).holds
    assert not kill_was_survived(survived, "w1").holds
    assert not kill_was_survived(History(), "w2").holds
    assert not kill_was_survived(History(stalled=[("a", "w2", 1)], completed_by={"a": "w2"}), "w2").holds


def test_a_start_must_have_a_reason() -> None:
    history = History(stalled=[("a", "w2", 1)], failed=Counter("bb"))
    starts = {"a": 2, "b": 3, "c": 1}
    assert each_start_has_a_reason(history, Counter(starts), {"a", "b", "c"}).holds
    for wrong in ({"a": 3}, {"b": 4}, {"c": 2}, {"c": 0}, {"stranger": 1}):
        assert not each_start_has_a_reason(history, +Counter(starts | wrong), {"a", "b", "c"}).holds


# its parts


def test_counts(tmp_path: Path) -> None:
    def counted(source: bytes) -> dict[str, int | str]:
        (tmp_path / "file.py").write_bytes(source)
        return count(tmp_path / "file.py")

    assert counted(b"def f():\n    async def g(): pass\nclass C: pass") == {"functions": 2, "classes": 1, "lines": 3}
    assert counted(b"") == {"functions": 0, "classes": 0, "lines": 0}
    assert counted(b"'\\d'\n") == {"functions": 0, "classes": 0, "lines": 1}
    assert counted(b"x = \n") == {"functions": 0, "classes": 0, "lines": 1, "error": "SyntaxError"}
    assert counted(b"\0")["error"] in ("ValueError", "SyntaxError")
    assert "error" in counted(b"# coding: nonsense\n")


def test_the_plan_is_the_standard_library() -> None:
    made = plan.make_plan()
    assert len(made.files) > 500
    assert made.files["asyncio/__init__.py"].is_file()
    assert not any("site-packages" in id for id in made.files) or len(made.files) > plan.FEW
    assert [task.id for task in made.tasks] == [plan.MISSING, *made.files]
    assert len({task.id for task in made.tasks}) == len(made.files) + 1
    assert all(check_name("id", task.id or "", "id") and task.kind == "parse" for task in made.tasks)
    assert made.delayed == len(made.files) // plan.DELAYED_EVERY
    assert {task.delay for task in made.tasks} == {0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0}
    assert not Path(made.tasks[0].payload["path"]).exists()


def test_names_outside_the_grammar_become_digests(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    odd = ["with space.py", "ünï.py", os.fsdecode(b"\xff.py")]
    for name in (*odd, "plain.py"):
        (tmp_path / name).touch()
    monkeypatch.setattr(plan, "stdlib", lambda: tmp_path)
    files = plan.find_files()
    digests = {id: path.name for id, path in files.items() if id.startswith("sha256:")}
    assert sorted(digests.values()) == sorted(odd)
    assert files["plain.py"] == tmp_path / "plain.py"
    assert len(files) > plan.FEW or any(id.startswith("site-packages/") for id in files)


def test_percentiles_are_exact() -> None:
    assert Times.of([float(value) for value in range(100, 0, -1)]) == Times(p50=50, p90=90, p99=99)
    assert Times.of([1.0]) == Times(p50=1, p90=1, p99=1)
    assert Times.of([]) == Times(p50=0, p90=0, p99=0)
