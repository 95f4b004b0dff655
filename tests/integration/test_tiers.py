"""What leaves the programs of a queue: nothing that the data tier of a task hides."""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import pytest
import redis

import pyadeq
from pyadeq import Queue, tiers
from pyadeq.models import TaskView
from pyadeq.models.queue import Tier
from tests.integration.cli.run import adeq, answer, error
from tests.integration.cli.test_tree import TREE

pytestmark = pytest.mark.any_engine

SECRET = "only-for-ann"
EXITS = (
    ("task", "ls"),
    ("task", "ls", "-o", "json"),
    ("task", "show", "done"),
    ("task", "show", "done", "-o", "json"),
    ("task", "show", "broken"),
    ("task", "steps", "done"),
    ("task", "steps", "done", "-o", "json"),
    ("task", "tree", "done"),
    ("task", "tree", "done", "-o", "json"),
    ("task", "watch", "done"),
    ("task", "watch", "broken", "-o", "jsonl"),
    ("task", "result", "done"),
    ("task", "result", "broken", "-o", "json"),
    ("dead", "ls"),
    ("dead", "show", "broken", "-o", "json"),
)
OF_SCHEDULES = (("schedule", "ls"), ("schedule", "ls", "-o", "json"), ("schedule", "show", "s"))
OF_ARCHIVES = (("archive", "write"), ("archive", "read"), ("archive", "verify"))
HIDING: tuple[Tier, ...] = ("confidential", "restricted")
SILENT = {
    *("task enqueue", "task cancel", "task retry", "dead retry", "dead abandon", "dead stats"),
    *("task run-now", "task ack", "task fail", "task release", "task heartbeat"),
    "task claim",  # shows all, as whoever claims a task runs it
    *(f"schedule {verb}" for verb in ("set", "pause", "resume", "trigger", "backfill", "fire", "rm")),
}


def plant(queue: Queue, tier: Tier) -> None:
    """A completed and a dead task, with the secret in all that the tier hides."""
    words: dict[str, Any] = (
        {"user": SECRET, "tags": [SECRET], "limits": [SECRET], "source": SECRET} if tier == "restricted" else {}
    )
    keys = ("idempotency_key", "unique", "scope") if tier == "restricted" else ()
    for id in ("done", "broken"):
        own: dict[str, Any] = dict.fromkeys(keys, f"{SECRET}-{id}")
        queue.enqueue(SECRET, id=id, tier=tier, headers={"x": SECRET}, **words, **own)
    for lease in queue.claim(limit=2):
        queue.progress(lease, 0.5, SECRET, log=SECRET, output=SECRET)
        name = SECRET if tier == "restricted" else "shown"
        queue.leases.keep_steps([pyadeq.StepValue(lease, name, 1, "step", SECRET.encode())])
        if lease.id == "done":
            queue.ack(lease, {"result": SECRET})
        else:
            queue.fail(lease, SECRET if tier == "restricted" else "shown", retryable=False)
    queue.schedules.set("s", pyadeq.Every(3600), SECRET, headers={"x": SECRET}, tier=tier, **words)


def events_of(client: redis.Redis, queue: Queue) -> list[dict[bytes, bytes]]:
    entries: Any = client.xrange(f"{queue.base}:events")
    return [fields for _, fields in entries]


@pytest.mark.parametrize("tier", HIDING)
def test_a_planted_secret_is_at_no_exit(url: str, queue: Queue, tier: Tier) -> None:
    plant(queue, tier)
    for noun, verb, *rest in EXITS:
        ended = adeq(noun, verb, queue.name, *rest, "--url", url)
        said = ended.stdout + ended.stderr
        assert "done" in said or "broken" in said, (noun, verb, rest)
        assert SECRET not in said, (noun, verb, rest)
    for noun, verb, *rest in OF_SCHEDULES:
        ended = adeq(noun, verb, *rest, "--queue", queue.name, "--url", url)
        assert ended.status == 0
        assert SECRET not in ended.stdout + ended.stderr, (noun, verb, rest)


@pytest.mark.parametrize("tier", HIDING)
def test_it_is_in_no_archive(url: str, queue: Queue, tier: Tier, tmp_path: Path) -> None:
    plant(queue, tier)
    place, stream = str(tmp_path / "archive"), f"queue:{queue.name}"
    for noun, verb in OF_ARCHIVES:
        ended = adeq(noun, verb, place, "--stream", stream, "-o", "json", ADEQ_URL=url)
        assert ended.status == 0
        assert SECRET not in ended.stdout + ended.stderr, verb
    files = [gzip.decompress(path.read_bytes()).decode() for path in Path(place).rglob("*.gz")]
    assert '"state":"completed"' in "".join(files)
    assert '"state":"dead"' in "".join(files)
    assert SECRET not in "".join(files)


@pytest.mark.parametrize("tier", HIDING)
def test_it_is_in_no_event(client: redis.Redis, queue: Queue, tier: Tier) -> None:
    plant(queue, tier)
    events = events_of(client, queue)
    assert len(events) > 3
    assert SECRET.encode() not in b" ".join(value for fields in events for value in fields.values())


def test_the_default_is_that_of_the_queue(url: str, queue: Queue) -> None:
    assert adeq("queue", "configure", queue.name, "--tier", "confidential", "--url", url).status == 0
    queue.enqueue("secret", id="a")
    queue.enqueue("open", id="b", tier="public")
    found = [queue.get(id) for id in ("a", "b")]
    assert [task.tier for task in found if task] == ["confidential", "public"]
    assert [lease.tier for lease in queue.claim(limit=2)] == ["confidential", "public"]
    queue.schedules.set("s", pyadeq.Every(3600), "secret")
    assert answer("schedule", "show", "s", "--queue", queue.name, "--url", url)["payload"] is None


def test_a_reveal_shows_all_and_says_who_has_looked(url: str, queue: Queue, client: redis.Redis) -> None:
    queue.enqueue({"n": 1}, id="a", tier="restricted", user="ann")
    assert "--reveal shows it" in adeq("task", "show", queue.name, "a", "--url", url).stderr
    shown = answer("task", "show", queue.name, "a", "--reveal", "--as", "bob", "--url", url)
    assert (shown["payload"], shown["user"], shown["tier"]) == ({"n": 1}, "ann", "restricted")
    queue.ack(queue.claim()[0], "fine")
    assert "--reveal shows it" in error(1, "task", "result", queue.name, "a", "--url", url)
    ended = adeq("task", "result", queue.name, "a", "--reveal", "--url", url, ADEQ_ACTOR="eve")
    assert ended.stdout == "fine\n"
    events = events_of(client, queue)
    looks = [fields[b"payload"] for fields in events if fields[b"event"] == b"task.revealed"]
    assert looks == [b"actor=bob", b"actor=eve"]


@pytest.mark.parametrize("of_queue", ["confidential", "public"])
def test_a_reply_without_its_task_is_not_shown(url: str, queue: Queue, of_queue: Tier) -> None:
    queue.configure(tier=of_queue, finished_max=0)
    queue.enqueue(1, id="a", reply=True, tier="restricted")
    queue.ack(queue.claim()[0], SECRET)
    queue.admin.trim()
    assert queue.get("a") is None
    for more in ((), ("--reveal",), ("-o", "json")):
        assert "its end is not shown" in error(1, "task", "result", queue.name, "a", *more, "--url", url)


def test_each_field_of_a_task_has_its_place() -> None:
    """A new field is added to `tiers.FIELDS`, or here if every tier may show it."""
    there = {*TaskView.model_fields, *TaskView.model_computed_fields}
    of_bytes = {f"{name}_base64" for name in TaskView.STORED}
    hiding = {name for names in tiers.FIELDS.values() for name in names}
    always = there - hiding - of_bytes - {*TaskView.STORED.values()}
    assert always == {
        *("id", "state", "kind", "tier", "priority", "lane", "place", "parent", "after", "after_any", "after_when"),
        *("due", "deadline", "created", "started", "ended", "expires_at", "timeout", "nominal", "schedule", "gather"),
        *(
            "attempts",
            "crashes",
            "deliveries",
            "steps",
            "max_attempts",
            "awaits",
            "fallback",
            "reply",
            "trace",
            "worker",
        ),
        *("fence", "steps", "progress", "progress_at", "exit_code", "reason", "unreadable"),
    }


def test_each_command_about_tasks_is_an_exit_or_shows_none() -> None:
    """A new command is added to EXITS, or to SILENT if it shows nothing that a task holds."""
    there = {path for path in TREE if path.split()[0] in ("task", "dead", "schedule", "archive")}
    assert there == {" ".join(words[:2]) for words in EXITS + OF_SCHEDULES + OF_ARCHIVES} | SILENT
