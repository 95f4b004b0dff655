"""Tasks of Celery move into pyadeq and back, with a kill between each two steps. The messages are recorded."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from pyadeq import Adeq, Queue
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.cli.migrate.report import NOTHING
from pyadeq.ext.move.migrate import CeleryQueues, Migration, State, enqueuer, escrow
from pyadeq.ext.move.migrate.enqueuer import OTHER
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer, error
from tests.integration.conftest import Proxy
from tests.quick import slow_after

pytestmark = pytest.mark.any_engine

PLAIN = json.loads((Path(__file__).parents[2] / "unit" / "celery_messages.json").read_text(encoding="utf-8"))
BACK = ["paused", "taken", "sent", "enqueued", "marked", "recalled"]
BACK += ["rollback marked", "cancelled", "put back", "resumed"]
LEFT = ("pickle", "chain")


class Killed(Exception):
    """In place of a kill."""


def message(name: str, id: str) -> bytes:
    """A recorded message with another id."""
    found = json.loads(PLAIN[name])
    found["headers"] |= {"id": id, "root_id": id}
    found["properties"] |= {"correlation_id": id, "delivery_tag": f"tag-{id}"}
    return json.dumps(found).encode()


class Old:
    """The old server, with queues of one test."""

    def __init__(self, client: Redis, url: str, prefix: str) -> None:
        self.client, self.url, self.prefix = client, url, prefix
        self.separator = "\x06\x16"

    def put(self, *names: tuple[str, str], queue: str = "work", step: int = 0) -> None:
        """Add messages, as Celery's producers do. names: each of a recorded message, and its id."""
        key = f"{self.prefix}{queue}"
        self.client.sadd(f"{self.prefix}_kombu.binding.{queue}", f"{queue}{self.separator * 2}{queue}")
        self.client.lpush(f"{key}{self.separator}{step}" if step else key, *(message(name, id) for name, id in names))

    def layout(self) -> dict[bytes, list[bytes]]:
        """All lists with what is in them."""
        found: dict[bytes, list[bytes]] = {}
        for key in sorted(self.client.scan_iter(match=f"{self.prefix}*")):
            if self.client.type(key) == b"list":
                found[key] = self.client.lrange(key, 0, -1)  # type: ignore[assignment]
        return found

    def ids(self, queue: str = "work") -> list[str]:
        """The ids that wait in a list, first the next one."""
        found: Any = self.client.lrange(f"{self.prefix}{queue}", 0, -1)
        return [json.loads(one)["headers"]["id"] for one in reversed(found)]


@pytest.fixture
def old(old_server: EmbeddedServer, base_name: str) -> Iterator[Old]:
    with Redis.from_url(old_server.url) as client:
        yield Old(client, old_server.url, f"{base_name} .")


@pytest.fixture
def few(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three messages in each call."""
    monkeypatch.setattr(escrow, "MOST", 3)


@pytest.fixture
def migrate(queue: Queue, old: Old, url: str) -> Iterator[Callable[..., Migration]]:
    with Adeq.from_url(url) as adeq:

        def made(**options: Any) -> Migration:
            source = CeleryQueues(old.client, prefix=old.prefix)
            return Migration(adeq, source, to="here", **{"queues": {"work": queue.name}, **options})

        yield made


def killed_at(step: str, nth: int) -> Callable[[str], None]:
    """Raise at a step when it comes for the nth time."""
    left = nth

    def at(name: str) -> None:
        nonlocal left
        left -= name == step
        if name == step and left == 0:
            raise Killed(step)

    return at


def fill(old: Old) -> list[str]:
    """Eight tasks, two of which cannot move. Returns the ids of those that can."""
    old.put(("plain", "a1"), ("pickle", "p1"), ("plain", "a2"), ("plain", "a3"), ("later", "l1"))
    old.put(("chain", "c1"), ("plain", "a4"), ("plain", "a5"))
    return ["a1", "a2", "a3", "l1", "a4", "a5"]


def forget_keys(queue: Queue, url: str) -> None:
    """As when the time of all idempotency keys is over, and they were deleted."""
    with Redis.from_url(url) as client:
        client.delete(f"{queue.base}:once", f"{queue.base}:once:due")


def ids_in(queue: Queue) -> list[str]:
    """The ids of the waiting tasks, in their order."""
    return [task.id for state in ("ready", "delayed") for task in queue.iterate(state)]


def test_plan_counts_what_moves_and_names_what_does_not(old: Old, migrate: Callable[..., Migration]) -> None:
    fill(old)
    old.put(("plain", "b1"), step=3)
    past = message("later", "b2").replace(b"2030-01-31", b"2020-01-31")
    old.client.lpush(f"{old.prefix}work{old.separator}3", past.replace(b'"expires": "2020', b'"expires": "2030'))
    old.client.hset(f"{old.prefix}unacked", "tag", "[]")
    before = old.layout()
    plan = migrate().plan()
    assert [(one.place.priority, one.moves, one.delayed, one.left) for one in plan.places] == [
        (0, 6, 1, 2),
        (3, 2, 0, 0),
    ]
    assert sorted(id for ids in plan.left.ids.values() for id in ids) == ["c1", "p1"]
    assert plan.others == {"fetched by workers": 1}
    assert old.layout() == before


def test_a_separator_of_celery_is_found_in_its_bindings(old: Old, migrate: Callable[..., Migration]) -> None:
    old.separator = ":"
    old.put(("plain", "a1"))
    old.put(("plain", "a2"), step=3)
    old.put(("plain", "b1"), queue="last", step=9)
    found = [("last", 9), ("work", 0), ("work", 3)]
    assert [(one.place.queue, one.place.priority) for one in migrate(queues={}).plan().places] == found
    assert [(one.place.queue, one.place.priority) for one in migrate().plan().places] == found[1:]
    old.client.sadd(f"{old.prefix}_kombu.binding.work", "key||work", "work||work")
    with pytest.raises(ConfigError, match="--from: the separator in the names of Celery's lists cannot be told"):
        migrate().plan()


def test_a_move_keeps_order_priority_and_what_cannot_move(
    old: Old, queue: Queue, migrate: Callable[..., Migration], few: None
) -> None:
    old.put(("plain", "low"), step=9)
    moved = fill(old)
    done = migrate().move()
    assert (done.moved, done.again, done.unsure, sum(done.left.counts.values())) == (7, 0, 0, 2)
    assert ids_in(queue) == [*(id for id in moved if id != "l1"), "low", "l1"]
    assert old.ids() == ["p1", "c1"]
    task = queue.get("a1")
    assert task is not None
    assert (task.kind, task.payload, task.priority) == ("app.add", {"args": [1, 2], "kwargs": {"z": 3}}, 0)
    later = queue.get("l1")
    assert later is not None
    assert (later.due, later.expires_at) == (1_896_080_400, 1_896_084_000)
    old.put(("plain", "a6"))
    again = migrate().move()
    assert (again.moved, again.again, sum(again.left.counts.values())) == (1, 0, 2)
    assert old.ids() == ["p1", "c1"]
    assert migrate().cleanup() == 10
    assert not old.client.keys("adeq:migrate:{celery:" + old.prefix + "*")


@pytest.mark.parametrize("step", slow_after(1, ["enqueued", "sent", "taken", "recalled", "marked", "given back"]))
def test_a_killed_move_goes_on_and_can_be_rolled_back(
    step: str, old: Old, queue: Queue, migrate: Callable[..., Migration], few: None
) -> None:
    expected, before = fill(old), old.layout()
    digest = migrate().plan().digest
    for nth in (1, 2):
        with pytest.raises(Killed) if nth == 1 else suppress(Killed):  # some steps come once
            migrate(at=killed_at(step, nth)).move()
        for at in BACK:  # the rollback is killed, too
            with suppress(Killed):
                migrate(at=killed_at(at, 1)).rollback()
        result = migrate().rollback()
        assert (old.layout(), result.digest, result.stayed.as_json()) == (before, digest, [])
        assert (ids_in(queue), queue.stats().mode) == ([], "running")
        with suppress(Killed):
            migrate(at=killed_at(step, nth)).move()
        migrate().move()
        assert [id.partition("+")[0] for id in ids_in(queue)] == [*(id for id in expected if id != "l1"), "l1"]
        assert old.ids() == ["p1", "c1"]
        assert migrate().rollback().stayed.as_json() == []
        assert old.layout() == before


def test_a_task_that_ran_and_was_deleted_before_the_move_goes_on_does_not_run_again(
    old: Old, queue: Queue, migrate: Callable[..., Migration], few: None
) -> None:
    fill(old)
    queue.configure(finished_max=0)
    with pytest.raises(Killed):
        migrate(at=killed_at("enqueued", 1)).move()
    for lease in queue.claim(limit=10):
        queue.ack(lease)
    assert queue.get("a1") is None
    assert migrate().move().moved == 6
    assert [lease.id for lease in queue.claim(limit=10)] == ["a3", "a4", "a5"]


def test_what_may_have_been_forgotten_is_not_guessed(
    old: Old, queue: Queue, migrate: Callable[..., Migration], url: str, few: None
) -> None:
    fill(old)
    queue.configure(idempotency=1)
    with pytest.raises(Killed):
        migrate(at=killed_at("enqueued", 1)).move()
    forget_keys(queue, url)
    done = migrate().move()
    assert (done.moved, done.unsure, done.left.counts.total()) == (4, 2, 2)
    with pytest.raises(AdeqError, match="2 messages are only in the escrow"):
        migrate().cleanup()
    done = migrate().move(unsure="enqueue")  # they are there already
    assert (done.moved, done.unsure, done.left.counts.total()) == (2, 0, 2)
    status = migrate().status()
    assert status
    assert status.count(State.unsure) == 0


@pytest.mark.parametrize(("unsure", "back"), [("back", ["a1"]), ("done", [])])
def test_a_rollback_settles_what_is_unsure(
    unsure: Any, back: list[str], old: Old, queue: Queue, migrate: Callable[..., Migration], url: str, few: None
) -> None:
    fill(old)
    queue.configure(idempotency=1, finished_max=0)
    with pytest.raises(Killed):
        migrate(at=killed_at("enqueued", 1)).move()
    queue.ack(queue.claim(limit=1)[0])  # a1 ran and was deleted; a2 waits, p1 was never moved
    forget_keys(queue, url)
    others = ["p1", "a3", "l1", "c1", "a4", "a5"]
    assert (migrate().rollback().unsure, old.ids()) == (2, others)
    with pytest.raises(AdeqError, match=r"2 are unsure: add --unsure .* or back\|done to rollback"):
        migrate().cleanup()
    with suppress(Killed):
        migrate(at=killed_at("rollback marked", 1)).rollback(unsure=unsure)
    result = migrate().rollback(unsure=unsure)
    assert (result.unsure, sorted(old.ids())) == (0, sorted([*back, "a2", *others]))
    assert ids_in(queue) == []
    assert migrate().cleanup() == 6  # of two batches: the second one had been taken, but not enqueued


@pytest.mark.parametrize("way", ["enqueue", "done", "back"])
def test_tasks_that_the_new_server_has_lost_are_found(
    way: Any, old: Old, queue: Queue, migrate: Callable[..., Migration], few: None
) -> None:
    old.put(("plain", "a1"), ("plain", "a2"), ("plain", "a3"), ("plain", "a4"), ("plain", "a4"))
    before = old.layout()
    queue.configure(finished_max=0)
    assert migrate().move().moved == 4
    queue.ack(queue.claim(limit=1)[0])  # a1 has run, and was deleted
    queue.admin.purge()  # as if a crash had taken the others
    queue.enqueue(0, id="a2")  # another task with that id
    with pytest.raises(AdeqError, match=r"4 messages are only in the escrow; .* 4 are unsure"):
        migrate().cleanup()
    if way == "back":
        assert migrate().rollback().unsure == 4
        result = migrate().rollback(unsure="back")
        assert (result.unsure, result.back, result.stayed.counts) == (0, 4, {})
        assert [*old.layout().values()] == [found[:-1] for found in before.values()]
    else:
        done = migrate().move(unsure=way)
        assert (done.moved, done.again, done.left.ids) == ((3, 0, {OTHER: ["a2"]}) if way == "enqueue" else (0, 0, {}))
        assert sorted(ids_in(queue)) == (["a2", "a3", "a4"] if way == "enqueue" else ["a2"])
    assert migrate().cleanup() == 5


@pytest.mark.parametrize("raised", [False, True])
def test_what_has_ended_is_not_lost_when_its_key_was_forgotten(
    raised: bool, old: Old, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    old.put(("plain", "a1"), ("plain", "a2"))
    queue.configure(finished_max=0, idempotency=1)
    assert migrate().move().moved == 2
    queue.ack(queue.claim(limit=1)[0])
    queue.admin.purge(all=True)
    if raised:
        queue.configure(idempotency=86_400)
    result = migrate().rollback()
    assert (result.unsure, result.stayed.counts) == (0, {"deleted": 2})
    assert migrate().cleanup() == 2


@pytest.mark.parametrize("verb", ["move", "rollback"])
def test_what_a_killed_command_has_enqueued_is_moved_though_the_next_one_cannot_read_it(
    verb: str, old: Old, queue: Queue, url: str
) -> None:
    old.put(("pickle", "p1"), ("plain", "a1"))
    before = old.layout()

    def migration(trusted: bool, **options: Any) -> Migration:
        source = CeleryQueues(old.client, prefix=old.prefix, trust_pickle=trusted)
        return Migration(adeq, source, to="here", queues={"work": queue.name}, **options)

    with Adeq.from_url(url) as adeq:
        with pytest.raises(Killed):
            migration(True, at=killed_at("enqueued", 1)).move()
        assert ids_in(queue) == ["p1", "a1"]
        result: Any = getattr(migration(False), verb)()
    if verb == "move":
        assert (result.moved, old.layout(), ids_in(queue)) == (2, {}, ["p1", "a1"])
    else:
        assert (result.back, old.layout(), ids_in(queue)) == (2, before, [])


def test_a_second_call_with_an_id_stays_and_is_no_delivery_of_the_first(
    old: Old, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    old.put(("plain", "a1"))
    second = message("plain", "a1").replace(b"tag-a1", b"tag-2")
    old.client.lpush(f"{old.prefix}work", second)
    done = migrate().move()
    assert (done.moved, done.again, done.left.ids) == (1, 0, {OTHER: ["a1"]})
    assert old.client.lrange(f"{old.prefix}work", 0, -1) == [second]


@pytest.mark.parametrize("purged", ["while it moves", "before the rollback"])
def test_a_cancelled_task_that_is_deleted_hides_no_second_one(
    purged: str, old: Old, queue: Queue, migrate: Callable[..., Migration], monkeypatch: pytest.MonkeyPatch
) -> None:
    old.put(("plain", "a1"), ("plain", "a2"))
    before = old.layout()
    migrate().move()
    migrate().rollback()
    if purged == "while it moves":
        views = enqueuer.views_of

        def views_of(*arguments: Any) -> Any:
            monkeypatch.setattr(enqueuer, "views_of", views)
            queue.admin.purge(all=True)
            return views(*arguments)

        monkeypatch.setattr(enqueuer, "views_of", views_of)
    assert migrate().move().moved == 2
    monkeypatch.undo()
    assert [id[:2] for id in ids_in(queue)] == ["a1", "a2"]
    if purged == "before the rollback":
        queue.configure(finished_max=0)
        queue.admin.trim()
        assert queue.get("a1") is None
    assert (migrate().rollback().back, old.layout(), ids_in(queue)) == (2, before, [])


@pytest.mark.parametrize("verb", ["move", "status", "rollback", "cleanup"])
def test_a_key_of_another_program_is_named(verb: str, old: Old, migrate: Callable[..., Migration]) -> None:
    old.put(("plain", "a1"))
    migrate().move()
    old.client.set(f"{old.prefix}work", "of another program")
    with pytest.raises(AdeqError, match=r"the key '.*work' was a list and is a string now; rename or delete it"):
        getattr(migrate(), verb)()


def test_an_old_server_that_comes_back_with_older_data_stops_a_move(
    old: Old, queue: Queue, migrate: Callable[..., Migration], few: None
) -> None:
    names = [f"a{number}" for number in range(1, 10)]
    old.put(*(("plain", name) for name in names))
    states = f"{escrow.Escrow(old.client, f'celery:{old.prefix}').base}:{old.prefix}work:states"
    batches = 0

    def at(step: str) -> None:
        nonlocal batches
        batches += step == "taken"
        if (step, batches) == ("taken", 3):
            old.client.delete(states)

    with pytest.raises(AdeqError, match="the old server has lost data since this command began; repeat it"):
        migrate(at=at).move()
    assert b"\0" not in (old.client.get(states) or b"")
    migrate().move()
    assert migrate().status()


def test_a_command_whose_lock_ran_out_has_done_its_work_if_no_other_one_has_begun(
    old: Old, queue: Queue, migrate: Callable[..., Migration], url: str
) -> None:
    old.put(("plain", "a1"))
    with Adeq.from_url(url) as adeq:

        def at(step: str) -> None:
            if step == "marked":
                (held,) = [one for one in adeq.locks("migrate").iterate() if one.state == "held"]
                adeq.locks("migrate").admin.force_release(held.locks[0].resource, "it stood still")

        assert migrate(at=at).move().moved == 1


def test_what_is_taken_from_one_list_says_nothing_about_another(
    old: Old, queue: Queue, migrate: Callable[..., Migration], url: str
) -> None:
    old.put(("plain", "b1"), step=3)
    queue.configure(finished_max=0)
    with pytest.raises(Killed):
        migrate(at=killed_at("enqueued", 1)).move()
    queue.ack(queue.claim(limit=1)[0])
    assert queue.get("b1") is None
    forget_keys(queue, url)
    about = escrow.Escrow(old.client, f"celery:{old.prefix}").base + ":about"
    fields: Any = old.client.hkeys(about)
    for name in fields:
        if name.startswith(b"taken_ms"):
            old.client.hincrby(about, name, -86_400_000)  # a day ago
    old.put(("plain", "a1"))  # the list that comes first
    done = migrate().move()
    assert (done.moved, done.unsure) == (1, 1)
    assert ids_in(queue) == ["a1"]


def test_a_rollback_leaves_what_has_begun(old: Old, queue: Queue, migrate: Callable[..., Migration], few: None) -> None:
    fill(old)
    migrate().move()
    first, second = queue.claim(limit=2)
    queue.ack(first)
    old.put(("plain", "new"))
    result = migrate().rollback()
    assert old.ids() == ["p1", "a3", "l1", "c1", "a4", "a5", "new"]
    assert {one["why"]: one["ids"] for one in result.stayed.as_json()} == {"running": ["a2"], "completed": ["a1"]}
    assert queue.ack(second) == "completed"
    assert queue.claim() == []
    assert migrate().cleanup() == 8


def test_a_rollback_says_why_a_waiting_task_has_begun(
    old: Old, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    old.put(("plain", "a1"))
    migrate().move()
    queue.release(queue.claim()[0])
    assert migrate().rollback().stayed.as_json() == [{"why": "ready, and has run before", "count": 1, "ids": ["a1"]}]


def test_a_task_that_was_tried_in_celery_after_a_rollback_can_move(
    old: Old, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    old.put(("plain", "a1"))
    migrate().move()
    migrate().rollback()
    old.client.rpop(f"{old.prefix}work")
    old.put(("retried", "a1"), ("retried", "a1"), ("plain", "a1"))
    done = migrate().move()
    (found,) = ids_in(queue)
    assert found.startswith("a1+")
    assert queue.claim()[0].payload == {"args": [1, 2], "kwargs": {}}
    assert (done.moved, done.again) == (1, 1)
    assert done.left.as_json() == [{"why": "pyadeq has another task with its id", "count": 1, "ids": ["a1"]}]


def test_a_rollback_out_of_a_queue_that_is_drained(
    old: Old, queue: Queue, migrate: Callable[..., Migration], few: None
) -> None:
    fill(old)
    before = old.layout()
    with pytest.raises(Killed):
        migrate(at=killed_at("taken", 2)).move()
    queue.admin.drain()
    with pytest.raises(Killed):
        migrate(at=killed_at("cancelled", 1)).rollback()
    assert queue.stats().mode == "paused"
    migrate().rollback()
    assert (old.layout(), queue.stats().mode) == (before, "draining")


def test_old_workers_take_what_was_put_back(
    old: Old, queue: Queue, migrate: Callable[..., Migration], few: None
) -> None:
    fill(old)
    migrate().move()
    old.client.rpop(f"{old.prefix}work")  # p1
    migrate().move()
    assert old.ids() == ["c1"]
    old.put(*(("pickle", f"p{n}") for n in range(2, 10)), ("plain", "a6"))
    migrate().move()
    old.client.rpop(f"{old.prefix}work", 8)  # all but the last one: more than a call handles
    migrate().rollback()
    assert old.ids() == ["a1", "a2", "a3", "l1", "a4", "a5", "p9", "a6"]
    assert migrate().cleanup() == 17


def test_a_move_of_one_queue_leaves_the_others_alone(old: Old, queue: Queue, migrate: Callable[..., Migration]) -> None:
    old.put(("plain", "a1"), ("pickle", "p1"))
    old.put(("plain", "b1"), queue="other")
    assert migrate().move().left.counts.total() == 1
    old.put(("plain", "a2"))
    done = migrate(queues={"other": queue.name}).move()
    assert (done.moved, done.left.counts.total(), old.ids()) == (1, 0, ["p1", "a2"])
    assert migrate().move().moved == 1
    old.client.delete(f"{old.prefix}work")  # old workers have run p1
    migrate().move()
    status = migrate().status()
    assert status is not None
    assert (status.count(State.kept), status.count(State.gone)) == (0, 1)


def test_an_id_that_is_taken_is_reported_and_another_delivery_is_not_run(
    old: Old, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    queue.enqueue("mine", id="a1")
    old.put(("plain", "a1"), ("plain", "a2"), ("plain", "a2"), ("later", "bad id"))
    done = migrate().move()
    assert (done.moved, done.again) == (1, 1)
    (own, taken) = sorted(done.left.as_json(), key=lambda one: str(one["why"]))
    assert own["ids"] == ["bad id"]
    assert own["why"].startswith("id: 'bad id' is not accepted; allowed: 1 to 200")
    assert (taken["ids"], taken["why"]) == (["a1"], "pyadeq has another task with its id")
    assert old.ids() == ["a1", "bad id"]
    task = queue.get("a1")
    assert task is not None
    assert task.payload == "mine"


def test_one_command_at_a_time_and_one_destination(
    old: Old, url: str, migrate: Callable[..., Migration], monkeypatch: pytest.MonkeyPatch
) -> None:
    old.put(("plain", "a1"))
    told = []
    waited: list[float] = []

    def at(step: str) -> None:
        if step == "taken":
            with pytest.raises(AdeqError, match="another command is migrating"):
                migrate(waits=waited.append).move()
            other = escrow.Escrow(old.client, f"celery:{old.prefix}")
            with pytest.raises(AdeqError, match="moves tasks to here, not to there"):
                other.begin("there")
            other.begin("here")  # as if the lock had been lost
            told.append(step)

    with monkeypatch.context() as short:
        short.setattr("pyadeq.ext.move.migrate.move.PATIENCE", 0.0)
        with pytest.raises(AdeqError, match="another command of this migration has begun since"):
            migrate(at=at).move()
    assert (told, waited) == (["taken"], [0.0])
    assert migrate().move().moved == 1


def test_a_command_that_was_overtaken_before_a_cleanup_writes_nothing_in_the_next_migration(old: Old) -> None:
    stale, later, third = (escrow.Escrow(old.client, f"celery:{old.prefix}") for _ in range(3))
    stale.begin("here")
    later.begin("here")
    later.delete()
    third.begin("here")
    with pytest.raises(AdeqError, match="another command of this migration has begun since"):
        stale.note(phase="rollback")
    assert (stale.is_last(), third.is_last()) == (False, True)
    third.delete()


def test_the_commands(old: Old, queue: Queue, url: str) -> None:
    fill(old)
    where = "celery", "--from", old.url, "--key-prefix", old.prefix, "--url", url
    plan = answer("migrate", "plan", *where, "-q", f"work={queue.name}")
    assert [(row["queue"], row["to"], row["moves"], row["left"]) for row in plan["queues"]] == [
        ("work", queue.name, 6, 2)
    ]
    assert answer("migrate", "status", *where)["queues"] == []
    moved = command("migrate", "move", *where, "-q", f"work={queue.name}")
    assert moved.status == 0, moved
    assert moved.stdout.startswith("6 tasks moved in ")
    assert "1 left: it is a pickle, which is only loaded with --trust-pickle (p1)" in moved.stdout
    status = answer("migrate", "status", *where)
    assert [(row["moved"], row["left"], row["waiting"]) for row in status["queues"]] == [(6, 2, 2)]
    taken: Any = old.client.lpop(f"{old.prefix}work", 2)
    status = answer("migrate", "status", *where)
    assert [(row["left"], row["waiting"]) for row in status["queues"]] == [(0, 0)]
    old.client.rpush(f"{old.prefix}work", *taken)
    assert answer("migrate", "rollback", *where, "--unsure", "back")["digest"] == plan["digest"]
    assert "add --name 'celery:" in error(2, "migrate", "cleanup", *where)
    assert "--name: 'celery' is not accepted" in error(2, "migrate", "cleanup", *where, "--name", "celery")
    assert answer("migrate", "cleanup", *where, "--name", f"celery:{old.prefix}")["deleted"] == 8
    assert command("migrate", "status", *where).stdout == f"{NOTHING}\n"
    for verb in ("rollback", "cleanup"):
        assert error(1, "migrate", verb, *where) == f"adeq: {NOTHING}"
    for arguments, text in [
        (("--from", "http://x"), "--from: this value is not accepted"),
        (("--from", "redis://127.0.0.1:1"), "--from: redis://127.0.0.1:1 does not answer"),
        (("--from", f"{old.url}?decode_responses=False"), "--from: the option decode_responses is not accepted"),
        (("--tasks", "json:dumps"), "--tasks: 'json:dumps' is not accepted"),
        (("-q", "work=a", "-q", "x", "-q", "work=b"), "--queue: 'work=a' and 'work=b' are not accepted together"),
        (("-q", "work", "-q", "work=b"), "--queue: 'work' and 'work=b' are not accepted together"),
    ]:
        assert text in command("migrate", "plan", *where, *arguments).stderr


def test_a_plan_of_a_queue_that_does_not_exist_names_those_with_tasks(old: Old, url: str) -> None:
    where = "celery", "--from", old.url, "--key-prefix", old.prefix, "--url", url
    none = command("migrate", "plan", "celery", "--from", old.url, "--key-prefix", "", "--url", url)
    assert none.stdout == "no task is waiting; if the old keys have a prefix, add --key-prefix\n"
    assert command("migrate", "plan", *where, "-q", "x").stdout == "no task is waiting in x; nor in another queue\n"
    old.put(("plain", "a1"))
    assert command("migrate", "plan", *where, "-q", "x").stdout == "no task is waiting in x; tasks wait in work\n"
    assert answer("migrate", "plan", *where, "-q", "x", "-q", "work")["empty"] == ["x"]


def test_a_command_without_the_prefix_of_the_move_says_so(old: Old, queue: Queue, url: str) -> None:
    old.put(("plain", "a1"))
    where, prefix = ("celery", "--from", old.url, "--url", url), ("--key-prefix", old.prefix)
    twice = "-q", f"work={queue.name}", "-q", f"work={queue.name}"
    assert command("migrate", "move", *where, *prefix, *twice).status == 0
    hint = "if the old keys have a prefix, add --key-prefix"
    for verb, *arguments in [("rollback",), ("cleanup", "--name", "celery"), ("cleanup",)]:
        assert error(1, "migrate", verb, *where, *arguments) == f"adeq: {NOTHING}; {hint}"
        ended = command("migrate", verb, *where, *arguments, "-o", "json")
        told = json.loads(ended.stdout)
        assert (ended.status, told["source"], told.get("back"), told.get("deleted")) in [
            (1, "celery", 0, None),
            (1, "celery", None, 0),
        ]
    assert command("migrate", "status", *where).stdout == f"{NOTHING}\n{hint}\n"
    assert error(1, "migrate", "rollback", "stream", *where[1:]) == f"adeq: {NOTHING}"
    assert command("migrate", "rollback", *where, *prefix).status == 0
    assert old.ids() == ["a1"]


def test_an_id_that_no_encoding_knows_does_not_stop_the_others(old: Old, queue: Queue, url: str) -> None:
    old.put(("plain", "a1"))
    for recorded, id in (("plain", b'"\\ud800"'), ("pickle", b'"\\udfff"')):
        # its tag is an ordinary one
        old.client.lpush(f"{old.prefix}work", message(recorded, "odd").replace(b'"odd"', id))
    old.put(("plain", "a2"))
    where = "celery", "--from", old.url, "--key-prefix", old.prefix, "--url", url
    before, name = old.layout(), ("-q", f"work={queue.name}")
    plan = command("migrate", "plan", *where, *name).stdout
    assert "1 would be left: its id has half of a surrogate pair (\\ud800)" in plan
    assert "(\\udfff)" in plan
    left = answer("migrate", "move", *where, *name)["left"]
    assert sorted(id for one in left for id in one["ids"]) == ["\ud800", "\udfff"]
    assert ids_in(queue) == ["a1", "a2"]
    assert answer("migrate", "rollback", *where)["back"] == 4
    assert old.layout() == before


def test_functions_of_several_modules(old: Old, url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    code = "from pyadeq import Tasks\ntasks = Tasks()\n@tasks.task(name={!r})\ndef add(a: int, b: int, z: int): ...\n"
    for module, name in [
        ("migrated_adding", "app.add"),
        ("migrated_other", "app.other"),
        ("migrated_twice", "app.add"),
    ]:
        (tmp_path / f"{module}.py").write_text(code.format(name), encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    old.put(("plain", "a1"), ("unknown", "u1"))
    where = "celery", "--from", old.url, "--key-prefix", old.prefix, "--url", url
    both = "--tasks", "migrated_adding:tasks", "--tasks", "migrated_other:tasks"
    (row,) = answer("migrate", "plan", *where, *both)["queues"]
    assert (row["moves"], row["left"]) == (1, 1)
    assert "name: 'app.add' is not accepted" in error(
        2, "migrate", "plan", *where, *both, "--tasks", "migrated_twice:tasks"
    )


@pytest.mark.slow
def test_a_process_that_is_killed_at_each_step(old: Old, queue: Queue, url: str) -> None:
    code = """
import os, signal, sys
from redis import Redis
from redis.backoff import NoBackoff
from redis.retry import Retry
from pyadeq import Adeq
from pyadeq.ext.move.migrate import CeleryQueues, Migration, escrow, move
url, old, prefix, name, last, verb = sys.argv[1:]
escrow.MOST, move.LEASE, steps = 3, 1.0, 0
def at(step):
    global steps
    steps += 1
    if steps == int(last):
        os.kill(os.getpid(), signal.SIGKILL)
with Adeq.from_url(url) as adeq, Redis.from_url(old) as client:
    source = CeleryQueues(client, prefix=prefix)
    getattr(Migration(adeq, source, to="here", queues={"work": name}, at=at), verb)()
"""

    def run(verb: str, last: int) -> int:
        call = [sys.executable, "-c", code, url, old.url, old.prefix, queue.name, str(last), verb]
        return subprocess.run(call, check=False, env=os.environ).returncode

    expected, before = fill(old), old.layout()
    ended = 0
    for last in range(3, 12, 4):
        ended += run("move", last)
        ended += run("rollback", last)
        assert run("rollback", 0) == 0
        assert old.layout() == before
    assert ended == 6 * -signal.SIGKILL
    assert run("move", 0) == 0
    assert [id.partition("+")[0] for id in ids_in(queue)] == [*(id for id in expected if id != "l1"), "l1"]
    assert old.ids() == ["p1", "c1"]


def test_lost_replies_of_the_old_server_change_nothing(
    proxy: Proxy, url: str, queue: Queue, base_name: str, few: None
) -> None:
    retry = Retry(NoBackoff(), 3)
    with Redis.from_url(url) as direct, Redis.from_url(proxy.url, retry=retry) as client, Adeq.from_url(url) as adeq:
        old = Old(direct, url, f"{base_name}.")
        moved, before = fill(old), old.layout()
        source = CeleryQueues(client, prefix=old.prefix)
        migration = Migration(adeq, source, to="here", queues={"work": queue.name})
        proxy.lose_every = 7
        assert migration.move().left.counts.total() == 2
        assert sorted(ids_in(queue)) == sorted(moved)
        assert old.ids() == ["p1", "c1"]
        migration.rollback()
        assert old.layout() == before
        assert proxy.lost > 5
        proxy.lose_every = 0
        migration.cleanup()
        direct.delete(*direct.keys(f"{old.prefix}*"))  # the audit knows no such keys


def test_calls_of_the_escrow_that_are_sent_twice_change_nothing(
    old: Old, queue: Queue, migrate: Callable[..., Migration], monkeypatch: pytest.MonkeyPatch, few: None
) -> None:
    moved, before, call = fill(old), old.layout(), escrow.Escrow._call

    def twice(*arguments: Any) -> Any:
        call(*arguments)
        return call(*arguments)

    monkeypatch.setattr(escrow.Escrow, "_call", twice)
    assert migrate().move().left.counts.total() == 2
    assert (sorted(ids_in(queue)), old.ids()) == (sorted(moved), ["p1", "c1"])
    migrate().rollback()
    assert old.layout() == before


def test_a_queue_with_partitions_is_refused(
    old: Old, url: str, base_name: str, migrate: Callable[..., Migration]
) -> None:
    with Adeq.from_url(url) as adeq:
        adeq.partitioned(f"{base_name}-p").repartition(2)
    fill(old)
    before = old.layout()
    for act in ("plan", "move"):
        with pytest.raises(ConfigError, match=r"has partitions, .*; move into a queue without partitions"):
            getattr(migrate(queues={"work": f"{base_name}-p"}), act)()
    assert old.layout() == before
