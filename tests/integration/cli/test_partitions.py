"""The command line on a queue in partitions: every command is about all of them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Failure, PartitionedQueue, Task
from tests.integration.cli.run import adeq, answer, error, lines

pytestmark = pytest.mark.any_engine
EACH = 60  # of each kind of task: more than one partition has some


@pytest.fixture
def queue(url: str, base_name: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[PartitionedQueue]:
    with Adeq.from_url(url) as client:
        queue = client.partitioned(base_name)
        queue.repartition(3)
        queue.enqueue_many([Task(payload=n, kind="dead") for n in range(5 * EACH)])
        left = 5 * EACH
        while left:
            leases = queue.claim("w1", left)
            queue.fail_many([Failure(lease, "no", retryable=False) for lease in leases])
            left -= len(leases)
        queue.enqueue_many([Task(payload=n, kind="ready", user="ann") for n in range(5 * EACH)])
        yield queue


@pytest.fixture
def told(url: str, base_name: str, queue: PartitionedQueue) -> Any:
    return {"ADEQ_URL": url, "ADEQ_QUEUE": base_name}


def test_tasks_and_dead_tasks(base_name: str, told: Any) -> None:
    found = answer("task", "ls", base_name, "--all", **told)
    assert len(found) == 10 * EACH
    assert len({one["id"].rpartition("@")[2] for one in found}) == 3
    assert len(answer("task", "ls", base_name, "--kind", "ready", "--user", "ann", "--all", **told)) == 5 * EACH
    assert len(answer("dead", "ls", base_name, "--all", **told)) == 5 * EACH
    dry = answer("dead", "retry", base_name, "--all", "--dry-run", **told)
    assert (dry["matched"], dry["retried"]) == (5 * EACH, 0)
    dead = answer("dead", "ls", base_name, "--limit", "2", **told)
    ids = [one["id"] for one in dead]
    assert {one["status"] for one in answer("dead", "retry", base_name, *ids, **told)["tasks"]} == {"retried"}
    gone = answer("dead", "abandon", base_name, "--kind", "dead", "--yes", **told)
    assert (gone["matched"], gone["abandoned"]) == (5 * EACH - 2, 5 * EACH - 2)
    assert answer("dead", "ls", base_name, **told) == []


def test_limits_shares_and_schedules(base_name: str, queue: PartitionedQueue, told: Any) -> None:
    assert answer("limit", "set", "user:ann", "--concurrency", "1", **told)["status"] == "set"
    assert [one["key"] for one in answer("limit", "ls", **told)] == ["user:ann"]
    while queue.claim("w1", 100):
        pass
    (use,) = answer("limit", "show", "user:ann", **told)["keys"]
    assert use["running"] == 3
    (_, row) = lines("limit", "show", "user:ann", **told)
    assert row[3:6] == ["when", "one", "ends"]  # in each of the three
    assert answer("limit", "rm", "user:ann", **told)["limits"] == [{"key": "user:ann", "status": "removed"}]
    assert answer("share", "set", "ann", "2", **told)["weight"] == 2
    assert answer("share", "ls", **told) == [{"user": "ann", "weight": 2.0}]
    assert all(queue.part(part.tag).shares.get("ann") == 2 for part in queue.partitions())
    for n in range(6):
        assert answer("schedule", "set", f"s{n}", "--every", f"{60 - n}s", **told)["status"] == "created"
    assert len({part.tag for part in queue.partitions() for _ in queue.part(part.tag).schedules.iterate()}) > 1
    rows = answer("schedule", "ls", **told)
    assert sorted(row["name"] for row in rows) == [f"s{n}" for n in range(6)]
    assert [row["next"] for row in rows] == sorted(row["next"] for row in rows)
    assert len(answer("schedule", "show", "s5", **told)["upcoming"]) == 5
    assert answer("schedule", "trigger", "s5", **told)["schedules"][0]["status"] == "fired"
    assert answer("schedule", "pause", "s5", **told)["schedules"][0]["status"] == "paused"
    assert answer("schedule", "rm", "s5", "--yes", **told)["schedules"][0]["status"] == "removed"
    assert adeq("schedule", "show", "s5", **told).status == 1


def test_workers(queue: PartitionedQueue, told: Any) -> None:
    (worker,) = answer("worker", "ls", **told)
    assert worker["name"] == "w1"
    assert answer("worker", "show", "w1", **told)["mode"] == "run"
    assert answer("worker", "quiet", "w1", **told)["workers"] == [{"worker": "w1", "status": "asked"}]
    known = [queue.part(part.tag).workers.get("w1") for part in queue.partitions()]
    assert [one.mode for one in known if one] == ["quiet"] * len([one for one in known if one])


def test_a_task_is_found_where_it_is(base_name: str, queue: PartitionedQueue, told: Any) -> None:
    parent = queue.enqueue("p", kind="parent")
    child = queue.enqueue("c", parent=parent.id)
    tree = answer("task", "tree", base_name, parent.id, **told)
    assert [one["id"] for one in tree["tasks"]] == [parent.id, child.id]
    watched = adeq("task", "watch", base_name, child.id, "--for", "0", "-o", "json", **told)
    assert json.loads(watched.stdout)["state"] == "ready"
    assert adeq("task", "tree", base_name, "nobody", **told).status == 1


def test_the_queue_as_a_whole(base_name: str, told: Any) -> None:
    ended = adeq("queue", "watch", base_name, "--for", "0", "-o", "json", **told)
    assert (json.loads(ended.stdout)["ready"], json.loads(ended.stdout)["dead"]) == (5 * EACH, 5 * EACH)
    assert ["ready", str(5 * EACH)] in [line[:2] for line in lines("queue", "stats", base_name, **told)]


def test_a_file_is_refused_before_anything_is_sent(tmp_path: Path, base_name: str, told: Any) -> None:
    (tmp_path / "tasks.jsonl").write_text('{"payload": 1}\n')
    words = error(2, "task", "enqueue", base_name, "--file", str(tmp_path / "tasks.jsonl"), **told)
    assert "has partitions; enqueue its tasks with a program, from line 1 on" in words
    assert answer("queue", "stats", base_name, **told)["ready"] == 5 * EACH
