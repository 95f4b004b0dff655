"""The older layouts: what their readers find, and each step of a migration with a kill."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from pyadeq import Adeq, BadArgument, Queue
from pyadeq.access import acl_rules
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError, ConfigError, QueueDraining
from pyadeq.ext.move.migrate import Migration, Moving, State, escrow, lists, stream
from pyadeq.ext.move.migrate.enqueuer import Enqueuer
from pyadeq.ext.move.migrate.move import LEFT_TO_OLD
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer, error
from tests.integration.move.test_migrate import BACK, Killed, killed_at
from tests.migrate.older import LAYOUTS

pytestmark = pytest.mark.any_engine

STEPS = {
    "mirror": ["noted", "paused", "copied", "ended"],
    "shadow": ["noted", "compared"],
    "cutover": ["noted", "recalled", "taken", "sent", "enqueued", "marked", "given back", "copies deleted"],
    "rollback": BACK,
}
LATER = 4_102_444_800.0


@pytest.fixture
def old(old_server: EmbeddedServer) -> Iterator[Redis]:
    with Redis.from_url(old_server.url) as client:
        client.flushall()
        yield client


class Case:
    """A layout with a queue in pyadeq."""

    def __init__(self, name: str, old: Redis, adeq: Adeq, queue: Queue) -> None:
        self.old, self.adeq, self.queue, self.layout = old, adeq, queue, LAYOUTS[name](old)

    def migration(self, **options: Any) -> Migration:
        """A new command."""
        queues = {self.layout.queue: self.queue.name}
        return Migration(self.adeq, self.layout.source(self.old), to="here", queues=queues, **options)

    def to_cutover(self) -> None:
        """Run all steps up to the cutover."""
        self.migration().mirror()
        assert not self.migration().shadow().differences.counts
        self.migration().cutover()

    def write(self, number: int) -> None:
        """Enqueue a task by the writer of pyadeq."""
        self.layout.write(self.adeq, self.old, number, self.queue.name)

    def copies(self) -> int:
        """The number of copies."""
        return self.adeq.queue(f"{self.queue.name}.mirror").stats().pending

    def waiting(self) -> list[int]:
        """The numbers of the tasks that wait in pyadeq, in their order."""
        lanes = [*self.queue.stats().lanes]
        ids = [task.id for lane in lanes for task in self.queue.iterate("ready", lane=lane)]
        ids += [task.id for task in self.queue.iterate("delayed")]
        return [self.layout.number(task.payload) for task in self.queue.get_many(ids) if task]


@pytest.fixture
def case(queue: Queue, old: Redis, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Case]]:
    monkeypatch.setattr(escrow, "MOST", 3)
    with Adeq.from_url(url) as adeq:
        yield lambda name: Case(name, old, adeq, queue)
        with suppress(AdeqError):
            adeq.queue(f"{queue.name}.mirror").admin.purge(all=True)


def layout_of(old: Redis) -> dict[bytes, Any]:
    """All that waits: the lists, the sorted sets, and the entries of the stream without their ids."""
    found: dict[bytes, Any] = {}
    for key in old.scan_iter():
        if (kind := old.type(key)) == b"list":
            found[key] = old.lrange(key, 0, -1)
        elif kind == b"zset":
            found[key] = old.zrange(key, 0, -1, withscores=True)
        elif kind == b"stream":
            rows: Any = old.xrange(key)
            found[key] = [fields for _, fields in rows]
    return found


def fill(one: Case) -> list[int]:
    """Seven tasks, and one that is due much later if the layout has such. Returns their numbers."""
    for number in range(1, 8):
        one.layout.put(one.old, number)
    if one.layout.name != "stream":
        return [*range(1, 8)]
    one.layout.put(one.old, 4_000)
    one.old.zadd(stream.DELAYED, {"task-4000": LATER * 1000})
    return [*range(1, 8), 4_000]


@pytest.mark.parametrize("name", LAYOUTS)
def test_each_step_is_killed_and_repeated_and_a_rollback_restores_the_layout(
    name: str, case: Callable[[str], Case]
) -> None:
    one = case(name)
    numbers = fill(one)
    before, digest = layout_of(one.old), one.migration().plan().digest
    for verb, steps in STEPS.items():
        for step in steps:
            with suppress(Killed):
                getattr(one.migration(at=killed_at(step, 1)), verb)()
        done = getattr(one.migration(), verb)()
        if verb in ("mirror", "shadow"):
            assert (done.equal, done.differences.as_json()) == (len(numbers), [])
            assert (layout_of(one.old), one.copies(), one.waiting()) == (before, len(numbers), [])
        elif verb == "cutover":
            assert (sorted(one.waiting()), one.copies()) == (numbers, 0)
    assert (layout_of(one.old), done.digest, done.stayed.as_json()) == (before, digest, [])
    assert (one.waiting(), one.copies()) == ([], 0)
    one.to_cutover()
    assert sorted(one.waiting()) == numbers


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_writer_writes_what_the_phase_says_and_a_rollback_returns_all(name: str, case: Callable[[str], Case]) -> None:
    one = case(name)
    one.write(1)
    assert (one.old.exists(f"adeq:migrate:{{{name}}}:about"), one.copies(), one.waiting()) == (0, 0, [])
    one.migration().mirror()
    one.write(2)
    assert (one.copies(), one.waiting()) == (2, [])
    assert one.migration().shadow().equal == 2
    one.migration().cutover()
    before = layout_of(one.old)
    one.write(3)
    one.write(4)
    assert (layout_of(one.old), one.copies(), sorted(one.waiting())) == (before, 0, [1, 2, 3, 4])
    status = one.migration().status()
    assert status
    assert (status.phase, status.count(State.moved) >= 4) == ("cutover", True)
    one.queue.ack(one.queue.claim(limit=1)[0])
    assert one.migration().rollback().back == status.count(State.moved, State.again) - 1
    one.write(5)
    assert one.waiting() == []
    one.to_cutover()
    assert len(one.waiting()) == 4
    one.migration().cleanup()
    one.write(6)
    assert len(one.waiting()) == 5
    assert [key for key in one.old.scan_iter("adeq:*") if b":wrote:" not in key] == [
        b"adeq:migrate:{%s}:about" % name.encode()
    ]
    with pytest.raises(AdeqError, match="rollback is not possible now: it was cleaned up"):
        one.migration().rollback()


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_task_of_a_producer_that_was_killed_after_the_cutover_is_enqueued_by_the_next_command(
    name: str, case: Callable[[str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case(name)
    fill(one)
    one.to_cutover()
    known = len(one.waiting())

    def killed(*_: Any, **__: Any) -> None:
        raise Killed

    with monkeypatch.context() as dies:
        dies.setattr("pyadeq.ext.move.migrate.writer.Enqueuer.enqueue", killed)
        for number in (11, 12, 13):
            with pytest.raises(Killed):
                one.write(number)
    assert (len(one.waiting()), one.migration().status().count(State.written)) == (known, 3)  # type: ignore[union-attr]
    with pytest.raises(AdeqError, match="3 messages are only in the escrow"):
        one.migration().cleanup()
    one.migration().cutover()
    assert len(one.waiting()) == known + 3


def test_the_phases_come_in_their_order(case: Callable[[str], Case]) -> None:
    one = case("stream")
    for verb in ("shadow", "cutover"):
        with pytest.raises(AdeqError, match=f"{verb} is not possible now: nothing has begun; begin with mirror"):
            getattr(one.migration(), verb)()
    assert one.migration().status() is None  # so it may go to another installation
    one.migration().mirror()
    for verb, what in (("cutover", "go on with shadow"), ("move", "a mirror has begun")):
        with pytest.raises(AdeqError, match=f"{verb} is not possible now: .*{what}"):
            getattr(one.migration(), verb)()
    one.migration().shadow()
    one.migration().cutover()
    with pytest.raises(AdeqError, match="mirror is not possible now: producers write to pyadeq"):
        one.migration().mirror()


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_shadow_reports_each_difference_and_the_next_mirror_ends_it(name: str, case: Callable[[str], Case]) -> None:
    one = case(name)
    numbers = fill(one)
    one.migration().mirror()
    one.layout.put(one.old, 8)
    for _ in range(10):  # takes all that is due
        one.layout.work(one.old)
    one.layout.put(one.old, 9)
    found = one.migration().shadow()
    (difference,) = found.differences.as_json()
    assert (difference["why"], difference["count"]) == ("it has no copy", 1)
    ran: Any = one.old.llen("ran")  # also 8, which had no copy; one task of the stream has failed and waits again
    assert (found.ended, found.equal) == (ran - 1, len(numbers) - ran + 1)
    again = one.migration().mirror()
    assert (again.copied, again.ended, again.equal) == (1, found.ended, found.equal)
    assert not one.migration().shadow().differences.counts


def test_what_the_stream_has(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.layout.put(one.old, 26)
    one.layout.put(one.old, 27)
    one.layout.work(one.old)  # 26 fails at its first attempt, and is delayed
    one.old.zadd(stream.DELAYED, {"task-26": LATER * 1000})
    for number in (1, 2, 3, 4, 5):
        one.layout.put(one.old, number)
    one.old.hset("ade:task:task-1", mapping={"priority": 0, "maxAttempts": 5, "parentTaskId": "p1", "kind": "overlay"})
    one.old.delete("ade:task:task-2")
    one.old.hset("ade:task:task-3", "status", "cancelled")
    one.old.hset("ade:task:task-4", "payload", "no JSON")
    source = one.layout.source(one.old)
    plan = one.migration().plan()
    assert [(planned.moves, planned.delayed, planned.left) for planned in plan.places] == [(2, 0, 3), (1, 1, 0)]
    assert {row["why"]: row["ids"] for row in plan.left.as_json()} == {
        "its hash no longer exists": ["task-2"],
        "its status is cancelled": ["task-3"],
        "its hash is not that of a task": ["task-4"],
    }
    (moving,) = source.read(stream.PLACES[stream.DELAYED], [f"{LATER * 1000} task-26".encode()])
    assert isinstance(moving, Moving)
    assert (moving.delivered, moving.task.run_after, moving.task.max_attempts) == (True, LATER, 2)
    done = one.migration().move()
    assert {row["why"]: row["ids"] for row in done.delivered.as_json()} == {
        "the old system had delivered it before": ["task-26"]
    }
    task = one.queue.get("task-1")
    assert task
    assert (task.kind, task.priority, task.max_attempts, task.payload) == ("overlay", 0, 5, {"number": 1})
    assert task.headers
    assert task.headers["stream"]["parentTaskId"] == "p1"
    rows: Any = one.old.xrange(stream.STREAM)
    assert [fields[b"taskId"] for _, fields in rows][-3:] == [b"task-2", b"task-3", b"task-4"]


def test_what_workers_promote_soon_is_left_to_them(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.old.hset(stream.WORKERS, "w1", "{}")
    for number, seconds in ((10, 1), (20, 30), (30, 900)):
        one.layout.put(one.old, number)
        now: Any = one.old.time()
        one.old.zadd(stream.DELAYED, {f"task-{number}": (now[0] + seconds) * 1000})
    for heartbeat in (None, now[0] - 50):  # it has just begun, or it lives
        if heartbeat:
            one.old.zadd(stream.HEARTBEATS, {"w1": heartbeat * 1000})
        done = one.migration().move()
        assert done.left.as_json() == [{"why": LEFT_TO_OLD, "count": 2, "ids": ["task-10", "task-20"]}]
    assert one.queue.stats().delayed == 1
    one.old.zadd(stream.HEARTBEATS, {"w1": (now[0] - 70) * 1000})  # it was killed, and stays registered
    done = one.migration().move()
    assert (done.moved, done.left.as_json()) == (2, [])


def test_what_the_lists_have(case: Callable[[str], Case]) -> None:
    one = case("lists")
    keys = [
        lists.work_queue("osis", "default", "1"),
        lists.work_queue("osis", "io"),
        lists.work_queue("osis", priority=2),
        lists.actor_work_queue("osis"),
    ]
    for number, key in enumerate(keys):
        one.old.hset(lists.job_hash(f"j{number}"), mapping={"status": "Dispatched", "script": "x"})
        one.old.lpush(key, f"j{number}")
    one.old.hset(lists.job_hash("done"), "status", "finished")
    one.old.lpush(keys[2], "done", "lost")
    one.old.lpush(lists.actor_jobs("unnamed"), "j1")  # a list with the name of a job's hash
    one.old.lpush(lists.control_queue("osis"), "stop")
    one.old.lpush(lists.reply_queue("j9"), "4")
    plan = one.migration().plan()
    assert [(planned.place.key, planned.moves, planned.left) for planned in plan.places] == [
        (keys[2], 1, 2),
        (keys[0], 1, 0),
        (keys[1], 1, 0),
        (keys[3], 1, 0),
    ]
    assert plan.others == {
        "in lists of actors that are no type (name each with --queue)": 1,
        "in control queues": 1,
    }
    hashes = {key: one.old.hgetall(key) for key in one.old.scan_iter("hero:job:j?")}
    assert one.migration().move().moved == 4
    assert {key: one.old.hgetall(key) for key in hashes} == hashes
    views = one.queue.get_many(["j0", "j1", "j2", "j3"])
    assert [(view.lane, view.priority) for view in views if view] == [
        ("group/default/inst/1", 5),
        ("group/io", 5),
        ("any", 2),
        ("any", 5),
    ]
    assert views[0]
    assert views[0].payload == {"job_id": "j0", "job": {"status": "Dispatched", "script": "x"}}
    assert one.old.lrange(keys[2], 0, -1) == [b"lost", b"done"]


def test_the_keys_of_the_lists() -> None:
    assert lists.consumed("sal", "io", "3", priorities=[0, 7], legacy=[lists.actor_queue("sal")]) == [
        "hero:q:work:type:sal:group:io:inst:3:prio:0",
        "hero:q:work:type:sal:group:io:prio:0",
        "hero:q:work:type:sal:prio:0",
        "hero:q:work:type:sal:group:io:inst:3",
        "hero:q:work:type:sal:group:io",
        "hero:q:work:type:sal",
        "hero:q:work:type:sal:group:io:inst:3:prio:7",
        "hero:q:work:type:sal:group:io:prio:7",
        "hero:q:work:type:sal:prio:7",
        "hero:job:actor_queue:sal",
    ]
    assert lists.control_queue("sal", "io", "3") == "hero:q:ctl:type:sal:group:io:inst:3"
    assert lists.presence("sal", "io", "3") == "hero:meta:actor:inst:sal:io:3"
    assert (lists.reply_queue("j"), lists.queue_stats("q")) == ("hero:q:reply:j", "hero:meta:queue:stats:q")
    with pytest.raises(BadArgument, match="group: None is not accepted with the instance '3'"):
        lists.work_queue("sal", instance="3")


def test_failures_are_published_where_the_old_workers_did(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.layout.put(one.old, 1)
    one.old.hset(stream.task_key("task-1"), "attemptCount", 2)
    one.migration().move()
    with one.old.pubsub() as listener:  # type: ignore[no-untyped-call]
        listener.subscribe(stream.FAILURES)
        while (listener.get_message(timeout=5) or {}).get("type") != "subscribe":
            pass
        one.queue.fail(one.queue.claim()[0], "bad input", retryable=False)
        assert stream.publish_failures(one.adeq, one.old, one.queue.name) == 1
        found: Any = listener.get_message(timeout=5)
        assert json.loads(found["data"]) == {"taskId": "task-1", "error": "bad input", "totalAttempts": 3}
    assert stream.publish_failures(one.adeq, one.old, one.queue.name) == 0


def test_a_writer_checks_before_it_writes(case: Callable[[str], Case]) -> None:
    one = case("stream")
    writer = stream.StreamWriter(one.adeq, one.old, queue=one.queue.name)
    with pytest.raises(BadArgument, match="id: 'bad id' is not accepted"):
        writer.enqueue({}, id="bad id")
    with pytest.raises(AdeqError, match="priority: 12 is not accepted"):
        writer.enqueue({}, priority=12)
    assert layout_of(one.old) == {stream.STREAM.encode(): []}
    fill(one)
    one.to_cutover()
    other = stream.StreamWriter(one.adeq, one.old, queue="other")
    with pytest.raises(AdeqError, match=f"its tasks go to '{one.queue.name}' already, not to 'other'"):
        other.enqueue({})


def test_a_repeated_write_has_no_effect(case: Callable[[str], Case]) -> None:
    one = case("lists")
    source = escrow.Escrow(one.old, "lists")
    place = lists.place_of(lists.work_queue("osis"))
    assert place
    for _ in range(2):
        assert source.write([place], one.queue.name, b"j1", "key", "same", "", {}) == ("", "", -1)
    assert one.old.lrange(place.key, 0, -1) == [b"j1"]


def test_the_commands_of_a_mirror(case: Callable[[str], Case], old_server: EmbeddedServer, url: str) -> None:
    one = case("stream")
    fill(one)
    where = "stream", "--from", old_server.url, "--url", url
    to = "--queue", f"tasks={one.queue.name}"
    assert "shadow is not possible now" in command("migrate", "shadow", *where, *to).stderr
    assert command("migrate", "mirror", *where, *to).stdout == "8 tasks with a copy, 8 of them copied now\n"
    one.layout.put(one.old, 8)
    differs = command("migrate", "shadow", *where, *to)
    assert (differs.status, differs.stdout) == (
        1,
        "8 tasks with a copy, 0 of them copied now\n1 different: it has no copy (task-8)\n",
    )
    assert answer("migrate", "cutover", *where, *to, "--publish-failures")["moved"] == 9
    assert answer("migrate", "status", *where)["phase"] == "cutover"
    assert "phase: cutover\n" in command("migrate", "status", *where).stdout
    assert answer("migrate", "rollback", *where)["back"] == 9
    assert answer("migrate", "cleanup", *where, "--name", "stream")["deleted"] == 9
    lists_ = "lists", "--from", old_server.url, "--url", url
    only = error(2, "migrate", "cutover", *lists_, "--publish-failures")
    assert "--publish-failures: it is an option for stream" in only
    assert "options for celery and rq, not for lists" in error(2, "migrate", "plan", *lists_, "--trust-pickle")


@pytest.mark.parametrize(
    "payload",
    ['{"backoffMultiplier": {"a": 1}}', '{"maxBackoffMs": 1%s}' % ("0" * 400), "[" * 100_000],
    ids=["wrong type", "too large a number", "too deep"],
)
def test_a_payload_that_no_reader_expects_does_not_stop_the_others(case: Callable[[str], Case], payload: str) -> None:
    one = case("stream")
    one.layout.put(one.old, 1)
    one.layout.put(one.old, 2)
    one.old.hset("ade:task:task-1", "payload", payload)
    done = one.migration().move()
    assert (done.moved, done.left.as_json()) == (
        1,
        [{"why": "its hash is not that of a task", "count": 1, "ids": ["task-1"]}],
    )
    assert one.migration().rollback().back == 2


def test_a_queue_with_the_name_of_a_mirror_keeps_its_tasks(case: Callable[[str], Case]) -> None:
    one = case("stream")
    fill(one)
    mine = one.adeq.queue(f"{one.queue.name}.mirror")
    mine.enqueue("mine")
    mine.enqueue("mine", lane="group/a")
    with pytest.raises(AdeqError, match="2 tasks are in it that are not all copies; nothing was changed"):
        one.migration().mirror()
    one.migration().move()
    one.migration().rollback()
    one.migration().move()
    one.migration().cleanup()
    assert (mine.stats().pending, mine.stats().mode) == (2, "running")


def test_copies_cannot_be_claimed_if_a_writer_makes_the_first_one(case: Callable[[str], Case]) -> None:
    one = case("lists")  # a list without jobs does not exist, so the mirror finds no place
    one.migration().mirror()
    one.write(1)
    mirror = one.adeq.queue(f"{one.queue.name}.mirror")
    assert (mirror.stats().ready, mirror.claim()) == (1, [])


@pytest.mark.parametrize("verb", ["cutover", "rollback"])
def test_copies_of_a_list_that_no_command_has_seen_are_deleted(case: Callable[[str], Case], verb: str) -> None:
    one = case("lists")
    one.migration().mirror()
    one.write(1)
    one.layout.work(one.old)
    assert (one.copies(), [*layout_of(one.old)]) == (1, [b"ran"])
    one.migration().shadow()
    getattr(one.migration(), verb)()
    assert one.copies() == 0


def test_a_command_that_was_overtaken_changes_no_phase_and_deletes_nothing(case: Callable[[str], Case]) -> None:
    one = case("stream")
    fill(one)
    one.migration().mirror()
    one.migration().shadow()
    stale, later = one.migration(), escrow.Escrow(one.old, "stream")

    def overtaken(verb: str) -> None:
        """Let another command begin when this one has begun, as if the lock of this one had ended."""
        with stale._command(verb):
            later.begin("here")
            if verb == "cutover":
                later.note(phase="rollback")
                stale._escrow.note(phase="cutover")
            else:
                stale._escrow.delete()

    with pytest.raises(AdeqError, match="another command of this migration has begun since"):
        overtaken("cutover")
    assert later.about()["phase"] == "rollback"
    one.migration().rollback()
    one.to_cutover()
    with pytest.raises(AdeqError, match="another command of this migration has begun since"):
        overtaken("cleanup")
    assert one.migration().status().count(State.moved) == 8  # type: ignore[union-attr]

    def cleaned_up(step: str) -> None:
        if step == "checked":
            later.begin("here")
            later.delete()

    with pytest.raises(AdeqError, match="another command of this migration has begun since"):
        one.migration(at=cleaned_up).cleanup()


def test_what_pyadeq_refuses_of_a_writer_never_reaches_the_old_workers(
    case: Callable[[str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case("stream")
    one.to_cutover()
    one.write(1)
    for killed in (False, True):
        with monkeypatch.context() as dies:
            if killed:
                dies.setattr(escrow.Escrow, "mark_written", lambda *_: None)
            with pytest.raises(AdeqError, match="pyadeq has another task with its id"):
                one.write(1)  # its hash has another time of creation, so it is another task
        one.migration().cutover()
        assert (one.old.xlen(stream.STREAM), len(one.waiting())) == (0, 1)
    assert one.migration().status().count(State.gone) == 2  # type: ignore[union-attr]
    one.migration().cleanup()


def test_what_a_draining_queue_refuses_is_not_enqueued_later(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.to_cutover()
    one.queue.admin.drain()
    with pytest.raises(QueueDraining):
        one.write(1)
    one.queue.admin.resume()
    one.write(2)
    assert (one.migration().cutover().moved, one.waiting()) == (0, [2])


def test_writers_do_not_renew_the_time_of_what_a_killed_command_has_enqueued(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.layout.put(one.old, 1)
    one.queue.configure(idempotency=3600, finished_max=0)
    one.migration().mirror()
    one.migration().shadow()
    with pytest.raises(Killed):
        one.migration(at=killed_at("enqueued", 1)).cutover()
    one.queue.ack(one.queue.claim(limit=1)[0])
    one.adeq.client.delete(f"{one.queue.base}:once", f"{one.queue.base}:once:due")  # its time is over
    about = escrow.Escrow(one.old, "stream").base + ":about"
    one.old.hincrby(about, f"taken_ms:{stream.STREAM}", -3_600_000)
    one.write(2)
    done = one.migration().cutover()
    assert (done.moved, done.unsure, one.waiting()) == (0, 1, [2])


def test_a_writer_marks_no_message_of_a_later_migration(case: Callable[[str], Case]) -> None:
    one, place = case("stream"), stream.PLACES[stream.STREAM]
    one.to_cutover()
    source = escrow.Escrow(one.old, "stream")
    _, run, number = source.write([place], one.queue.name, b"message", "key", "call", "", {})
    assert source.mark_written(place, number, State.moved, "earlier") == b""
    assert source.mark_written(place, number, State.moved, run) == b"w"


def test_what_is_left_again_and_again_is_kept_once(case: Callable[[str], Case]) -> None:
    one, key = case("lists"), lists.work_queue("osis")
    one.to_cutover()
    for number in range(5):
        one.old.hset(lists.job_hash(f"bad{number}"), mapping={"status": "started"})
        one.old.lpush(key, f"bad{number}")
    place = lists.place_of(key)
    assert place
    for number in range(3):
        one.layout.put(one.old, number * 3 + 2)  # it comes above them
        assert one.migration().cutover().left.counts.total() == 5
        assert len(escrow.Escrow(one.old, "lists").kept(place)) == 5
    status = one.migration().status()
    assert status
    assert status.count(State.kept) == 5


def test_a_queue_with_a_name_that_is_too_long_for_a_mirror_can_be_rolled_back(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.queue = one.adeq.queue(f"{one.queue.name:x<100}")
    numbers = fill(one)
    with pytest.raises(ConfigError, match="is not accepted"):
        one.migration().mirror()
    assert one.migration().status() is None
    one.migration().move()
    assert one.migration().rollback().back == len(numbers)
    one.migration().cleanup()


def test_an_entry_with_too_many_fields_stays_where_it_is_and_the_others_move(
    case: Callable[[str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case("stream")
    large: Any = {f"f{number}": "x" for number in range(500)}
    for number in range(1, 10):
        one.layout.put(one.old, number)
        if number in (1, 5, 9):
            one.old.xadd(stream.STREAM, {"taskId": f"large-{number}", **large})
    one.old.xadd(stream.STREAM, {"taskId": "task-8", **dict(list(large.items())[1:])})  # the second delivery of a task
    why = "its entry has more than 500 fields; it stays where it is"
    left = [{"why": why, "count": 3, "ids": ["large-1", "large-5", "large-9"]}]
    before = layout_of(one.old)
    plan = one.migration().plan()
    assert ([(planned.moves, planned.left) for planned in plan.places], plan.left.as_json()) == ([(10, 3)], left)
    one.migration().mirror()
    assert one.migration().shadow().differences.as_json() == left
    source = Path(escrow.__file__).parent / "lua" / "ends.lua"
    few = source.read_text(encoding="utf-8").replace("MOST_PASSED = 100", "MOST_PASSED = 1")
    read = escrow.source_of
    monkeypatch.setattr(escrow, "source_of", lambda *names: read(*names).replace(read("ends"), few))
    for moved in (9, 0):
        done = one.migration().cutover()
        assert (done.moved, done.left.as_json()) == (moved, left)
        assert [fields[b"taskId"] for fields in layout_of(one.old)[stream.STREAM.encode()]] == [
            b"large-1", b"large-5", b"large-9",
        ]  # fmt: skip
    one.migration().rollback()
    after = layout_of(one.old)
    assert sorted(map(str, after[stream.STREAM.encode()])) == sorted(map(str, before[stream.STREAM.encode()]))
    assert one.migration().mirror().copied == 9
    one.migration().shadow()
    assert one.migration().cutover().moved == 9


def test_an_entry_that_names_a_field_twice_is_the_same_one_again(case: Callable[[str], Case]) -> None:
    one = case("stream")
    for number in range(5):
        script = "return redis.call('XADD', KEYS[1], '*', 'taskId', ARGV[1], 'a', '1', 'a', '2')"
        one.old.eval(script, 1, stream.STREAM, f"lost-{number}")
    assert one.migration().move().left.counts.total() == 5
    one.old.xreadgroup("ade-workers", "w", {stream.STREAM: ">"}, count=4)
    assert one.migration().move().left.counts.total() == 1
    assert one.migration().status().count(State.gone) == 4  # type: ignore[union-attr]


def test_a_list_whose_type_is_no_name_is_reported_alone(
    case: Callable[[str], Case], old_server: EmbeddedServer, url: str
) -> None:
    one = case("lists")
    numbers = fill(one)
    odd = {"x:y": "hero:q:work:type:x:y", "a b": "hero:q:work:type:a b", "z=1": "hero:q:work:type:z=1:prio:2"}
    for number, key in enumerate(odd.values()):
        one.old.hset(lists.job_hash(f"odd-{number}"), mapping={"status": "dispatched", "number": 99})
        one.old.lpush(key, f"odd-{number}")
    whys = {
        f"queue: '{name}' is not accepted; allowed: 1 to 100 of A-Z a-z 0-9 . _ @ + -; give it another name: "
        f"--queue {name}=NEW": [f"odd-{number}"]
        for number, name in enumerate(odd)
    }
    every = Migration(one.adeq, one.layout.source(one.old), to="here")
    source, long = one.layout.source(one.old), f"ü{'x' * 198}ü b"
    (read,) = source.read(lists.place_of(lists.work_queue(long)), [b"odd-0"])
    assert (read.task.kind, len(read.task.kind.encode())) == (f"ü{'x' * 198}", 200)
    plan = every.plan()
    assert ({row["why"]: row["ids"] for row in plan.left.as_json()}, plan.digest) == (whys, every.plan().digest)
    assert [planned.left for planned in plan.places if not planned.to] == [1, 1, 1]
    try:
        for found in (every.mirror().differences, every.shadow().differences, every.cutover().left):
            assert {row["why"]: row["ids"] for row in found.as_json()} == whys
        assert one.adeq.queue("osis").stats().pending == len({*numbers})
        with pytest.raises(ConfigError, match="give it another name: --queue x:y=NEW"):
            Migration(one.adeq, one.layout.source(one.old), to="here", queues={"x:y": "x:y"}).plan()
        where = ("lists", "--from", old_server.url, "--url", url)
        assert "--queue x:y=NEW (odd-0)" in command("migrate", "plan", *where).stdout
        named = [word for name in odd for word in ("--queue", f"{name}={one.queue.name}")]
        assert [row["moves"] for row in answer("migrate", "plan", *where, *named)["queues"]] == [1, 1, 1]
    finally:
        every.rollback()


def test_a_queue_that_drains_is_refused_before_anything_is_taken(case: Callable[[str], Case]) -> None:
    one = case("lists")
    numbers = fill(one)
    one.queue.admin.drain()
    before = layout_of(one.old)
    for verb in ("move", "mirror", "shadow", "cutover"):
        if verb in ("move", "cutover"):
            with pytest.raises(AdeqError, match=f"drains and takes no tasks.*adeq queue resume {one.queue.name}"):
                getattr(one.migration(), verb)()
        else:
            getattr(one.migration(), verb)()
        assert layout_of(one.old) == before
    one.queue.admin.pause()  # a paused queue takes tasks
    one.migration().cutover()
    assert sorted(one.waiting()) == numbers


def test_places_are_not_looked_up_again_for_each_place(
    case: Callable[[str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    one, calls = case("lists"), Counter[str]()

    def counted(owner: Any, name: str) -> None:
        plain = getattr(owner, name)

        def call(*arguments: Any) -> Any:
            calls[name] += 1
            return plain(*arguments)

        monkeypatch.setattr(owner, name, call)

    counted(escrow.Escrow, "places")
    counted(lists, "_types")
    found = []
    for number in (2, 20):
        for group in range(number):
            one.old.hset(lists.job_hash(f"j{group}"), mapping={"status": "dispatched", "number": group})
            one.old.lpush(lists.work_queue("osis", f"g{group}"), f"j{group}")
        calls.clear()
        one.migration().plan()
        one.migration().move()
        one.migration().rollback()
        found.append(dict(calls))
    assert found[0] == found[1]


@pytest.mark.parametrize("state", ["completed", "dead", "deleted"])
def test_a_job_that_has_ended_in_pyadeq_is_not_pushed_again_in_silence(case: Callable[[str], Case], state: str) -> None:
    one = case("lists")
    one.to_cutover()
    one.write(1)
    one.write(1)  # a producer that repeats its call
    assert one.waiting() == [1]
    (lease,) = one.queue.claim(lanes=one.layout.lanes)
    one.write(1)
    if state == "deleted":
        one.queue.configure(finished_max=0)
    if state == "dead":
        one.queue.fail(lease, "no", retryable=False)
    else:
        one.queue.ack(lease)
    how = {"dead": r"\(dead\), .*use queue.dead.retry\(id\) or a new id", "deleted": r"\(ended\), .*use a new id"}
    for _ in range(2):
        with pytest.raises(
            AdeqError, match=how.get(state, r"'job-1': it has ended in pyadeq \(completed\), .*a new id")
        ):
            one.write(1)
    assert one.waiting() == []
    one.old.hset(lists.job_hash("job-1"), "status", "finished")
    with pytest.raises(AdeqError, match="'job-1': its status is finished"):
        lists.ListWriter(one.adeq, one.old, queues={"osis": one.queue.name}).push("job-1", "osis")
    one.migration().cutover()
    assert (one.waiting(), one.migration().rollback().back) == ([], 0)


@pytest.mark.parametrize("step", ["", "enqueued"])
@pytest.mark.parametrize("name", LAYOUTS)
def test_a_push_whose_message_a_command_has_enqueued_meanwhile_is_no_error(
    name: str, step: str, case: Callable[[str], Case], monkeypatch: pytest.MonkeyPatch
) -> None:
    one = case(name)
    for number in range(11, 18):
        one.layout.put(one.old, number)
    one.to_cutover()
    one.queue.ack_many([(lease, None) for lease in one.queue.claim(limit=100, lanes=one.layout.lanes)])
    enqueue = Enqueuer.enqueue

    def late(*arguments: Any, **options: Any) -> Any:
        """A command comes between the two steps of a push, and a worker runs the task. It may be killed then."""
        monkeypatch.setattr(Enqueuer, "enqueue", enqueue)
        with suppress(Killed):
            one.migration(at=killed_at(step, 1)).cutover()
        one.queue.ack(one.queue.claim(lanes=one.layout.lanes)[0])
        return enqueue(*arguments, **options)

    monkeypatch.setattr(Enqueuer, "enqueue", late)
    one.write(1)
    assert one.migration().status().count(State.moved) == 8  # type: ignore[union-attr]
    one.migration().cutover()
    assert one.waiting() == []
    if name == "lists":
        with pytest.raises(AdeqError, match="it has ended in pyadeq"):
            one.write(1)


def test_a_hash_with_too_many_fields_is_refused_before_it_is_written(case: Callable[[str], Case]) -> None:
    one = case("stream")
    fields: dict[str, Any] = {f"f{number}": "" for number in range(9000)}
    with pytest.raises(BadArgument, match="fields: 9,008 are not accepted; allowed: up to 100"):
        stream.StreamWriter(one.adeq, one.old, queue=one.queue.name).enqueue({}, **fields)
    assert [*one.old.scan_iter()] == [stream.STREAM.encode()]


OLD_RIGHTS = "~ade:* ~hero:* ~adeq:migrate:* +@read +@write +@scripting +@connection +info +time"


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_rights_that_the_guide_names_are_enough(
    name: str, case: Callable[[str], Case], old_server: EmbeddedServer, url: str
) -> None:
    one, root = case(name), Redis.from_url(url)
    numbers, clients = fill(one), cast("tuple[Any, ...]", (one.old, root))
    for client, rules in zip(
        clients, (OLD_RIGHTS.split(), acl_rules("producer", "operator", "lock.work")), strict=True
    ):
        client.execute_command("ACL", "SETUSER", "mover", "reset", "on", ">p", *rules)
    user: Any = {"username": "mover", "password": "p"}
    try:
        with Redis.from_url(old_server.url, **user) as old, Redis.from_url(url, **user) as new, Adeq(new) as adeq:
            mover = Case.__new__(Case)
            mover.old, mover.adeq, mover.queue, mover.layout = old, adeq, adeq.queue(one.queue.name), one.layout
            for verb in ("plan", "mirror"):
                getattr(mover.migration(), verb)()
            mover.write(9)
            for verb in ("shadow", "cutover"):
                getattr(mover.migration(), verb)()
            mover.write(8)
            for verb in ("status", "rollback", "move", "rollback", "move", "cleanup"):
                getattr(mover.migration(), verb)()
        assert sorted(one.waiting()) == sorted([*numbers, 8, 9])
    finally:
        for client in clients:
            client.execute_command("ACL", "DELUSER", "mover")
        root.close()


def test_a_queue_that_is_named_like_a_mirror_keeps_what_has_moved(case: Callable[[str], Case]) -> None:
    one = case("lists")
    names = [one.queue.name, f"{one.queue.name}.mirror"]
    for number, name in enumerate(names):
        one.old.hset(lists.job_hash(f"j{number}"), mapping={"status": "dispatched", "number": number})
        one.old.lpush(lists.work_queue(name), f"j{number}")

    def migration() -> Migration:
        return Migration(one.adeq, one.layout.source(one.old), to="here")

    with pytest.raises(ConfigError, match=r"would get the copies .*; give it another name: --queue OLD=NEW"):
        migration().mirror()
    assert migration().status() is None
    assert migration().move().moved == 2
    assert migration().cleanup() == 2
    assert [one.adeq.queue(name).stats().ready for name in names] == [1, 1]


ODD_IDS = ("a b", "ü:1", "", "x" * 300, "{a}", "a\nb", b"\xff\xfe")


def test_ids_that_no_task_can_have_stay_and_the_others_move(case: Callable[[str], Case]) -> None:
    one, key = case("lists"), lists.work_queue("osis")
    for id in (*ODD_IDS, "a:b:c"):
        one.old.hset(b"hero:job:" + (id if isinstance(id, bytes) else id.encode()), mapping={"status": "dispatched"})
        one.old.lpush(key, id)
    before, plan = layout_of(one.old), one.migration().plan()
    assert (plan.places[0].moves, plan.places[0].left) == (1, len(ODD_IDS))
    for moved in (1, 0):
        done = one.migration().move()
        assert (done.moved, done.left.counts.total(), done.left.counts["it has no id"]) == (moved, len(ODD_IDS), 1)
    assert [task.id for task in one.queue.iterate("ready")] == ["a:b:c"]
    assert (one.migration().rollback().digest, layout_of(one.old)) == (plan.digest, before)


def test_a_rollback_puts_back_what_no_task_can_be(case: Callable[[str], Case]) -> None:
    one, key = case("lists"), lists.work_queue("osis")
    for id in ODD_IDS:
        one.old.lpush(key, id)
    before = layout_of(one.old)
    with suppress(Killed):
        one.migration(at=killed_at("taken", 1)).move()
    one.queue.configure(idempotency=1)
    assert one.migration().rollback().unsure == 0  # they were never enqueued
    assert sorted(layout_of(one.old)[key.encode()]) == sorted(before[key.encode()])


def test_a_task_with_a_long_id_moves_again_after_a_rollback(case: Callable[[str], Case]) -> None:
    one, id = case("lists"), "x" * 195
    one.old.hset(lists.job_hash(id), mapping={"status": "dispatched", "number": 1})
    one.old.lpush(lists.work_queue("osis"), id)
    for _ in range(2):
        assert one.migration().move().moved == 1
        assert one.waiting() == [1]
        assert one.migration().rollback().back == 1


def test_a_key_of_another_program_is_no_stream(case: Callable[[str], Case]) -> None:
    one = case("stream")
    fill(one)
    one.old.delete(stream.STREAM)
    one.old.set(stream.STREAM, "x")
    plan = one.migration().plan()
    assert ([planned.moves for planned in plan.places], plan.others) == ([1], {"running in workers": 0})


def test_a_task_that_is_no_hash_does_not_stop_the_others(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.layout.put(one.old, 1)
    one.layout.put(one.old, 2)
    one.old.delete("ade:task:task-1")
    one.old.set("ade:task:task-1", "x")
    assert one.migration().move().left.ids == {"its hash no longer exists": ["task-1"]}
    assert one.waiting() == [2]


@pytest.mark.parametrize("phase", ["", "mirror", "cutover"])
def test_a_writer_that_meets_a_key_of_another_type_writes_nothing(phase: str, case: Callable[[str], Case]) -> None:
    one = case("lists")
    one.layout.put(one.old, 1)
    if phase == "mirror":
        one.migration().mirror()
    elif phase == "cutover":
        one.to_cutover()
    one.old.set("adeq:migrate:{lists}:hero:q:work:type:osis:prio:7:messages", "x")
    one.old.set(lists.actor_queue("osis"), "x")
    one.old.hset(lists.job_hash("odd"), mapping={"status": "dispatched"})
    before = layout_of(one.old)
    writer = lists.ListWriter(one.adeq, one.old, queues={"osis": one.queue.name})
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        writer.push("odd", "osis", priority=7, legacy=[lists.actor_queue("osis")])
    assert layout_of(one.old) == before
    assert one.queue.get("odd") is None


def test_a_writer_that_meets_a_record_of_another_type_writes_nothing(case: Callable[[str], Case]) -> None:
    one = case("stream")
    one.to_cutover()
    one.old.set("ade:task:odd", "x")
    before = one.old.dbsize()
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        stream.StreamWriter(one.adeq, one.old, queue=one.queue.name).enqueue({}, id="odd")
    assert one.old.dbsize() == before
