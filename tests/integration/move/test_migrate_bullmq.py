"""Jobs of BullMQ 5 and 6 move into pyadeq and back. The jobs are recorded: tests/migrate/record_bullmq.py."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import ResponseError

from pyadeq import Adeq, Queue, Tasks
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.move.migrate import BullQueues, Left, Migration, Moving, escrow
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer, error
from tests.integration.move.test_migrate import BACK, Killed, ids_in, killed_at
from tests.quick import slow_after

pytestmark = pytest.mark.any_engine

RECORDED = json.loads((Path(__file__).parents[2] / "unit" / "bullmq_jobs.json").read_text(encoding="utf-8"))
FLOW, SCHEDULER = "it is a child in a flow", "it is of a job scheduler: make a schedule of it"
WAITING = "first 1 plain exponential fixed custom at-once unknown misfit list once throttled"
MOVED = f"{WAITING} p3 p3-second p300 p-last later later-p2"
tasks = Tasks()


@tasks.task(name="app.add", max_attempts=9)
def add(a: int, b: int) -> int:
    return a + b


@pytest.fixture(params=["5", "6"])
def old(old_server: EmbeddedServer, request: pytest.FixtureRequest) -> Iterator[Redis]:
    with Redis.from_url(old_server.url) as client:
        client.flushall()
        with client.pipeline() as pipe:
            for key, value in RECORDED[request.param].items():
                if isinstance(value, str):
                    pipe.set(key, value)
                elif isinstance(value, list):
                    pipe.rpush(key, *value)
                elif "scores" in value:
                    pipe.zadd(key, dict(value["scores"]))
                else:
                    pipe.hset(key, mapping=value)
            now = int(time.time() * 1000)  # the recorded times have passed
            pipe.hset("bull:work:throttled", "timestamp", str(now))
            for number, id in enumerate(("later", "later-p2")):
                pipe.hset(f"bull:work:{id}", mapping={"timestamp": str(now + number), "delay": "3600000"})
                pipe.zadd("bull:work:delayed", {id: (now + number + 3_600_000) * 0x1000})
            pipe.execute()
        yield client


@pytest.fixture
def migrate(queue: Queue, old: Redis, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Migration]]:
    monkeypatch.setattr(escrow, "MOST", 4)
    with Adeq.from_url(url) as adeq:

        def made(**options: Any) -> Migration:
            return Migration(adeq, BullQueues(old), to="here", **{"queues": {"work": queue.name}, **options})

        yield made


def layout(old: Redis) -> dict[bytes, Any]:
    """Everything that is on the old server, but for the escrow."""
    found: dict[bytes, Any] = {}
    for key in sorted(one for one in old.scan_iter() if not one.startswith(b"adeq:")):
        kind = old.type(key)
        if kind == b"zset":
            found[key] = old.zrange(key, 0, -1, withscores=True)
        elif kind == b"list":
            found[key] = old.lrange(key, 0, -1)
        else:
            found[key] = old.hgetall(key) if kind == b"hash" else old.dump(key)
    return found


def read(old: Redis, id: str, functions: Tasks | None = None) -> Moving | Left:
    source = BullQueues(old, tasks=functions)
    for place in source.places(["work"]):
        score = old.zscore(place.key, id) if not place.lists else None
        if place.lists and id.encode() in old.lrange(place.key, 0, -1):
            return source.read(place, [id.encode()])[0]
        if score is not None:
            return source.read(place, [f"{score!r} {id}".encode()])[0]
    raise AssertionError(id)


BASIS = {"kind": "app.add", "payload": b'{"a":1,"b":2}', "priority": 0, "max_attempts": 1}
EXPONENTIAL = {"base": 0.75, "cap": 604800.0, "jitter": 0.25 / 0.75}


@pytest.mark.parametrize(
    ("id", "options"),
    [
        ("plain", {}),
        ("exponential", {"max_attempts": 3, "backoff": EXPONENTIAL}),
        (
            "fixed",
            {
                "max_attempts": 2,
                "backoff": {"base": 5.0, "multiplier": 1.0, "cap": 5.0, "jitter": 0.0},
                "result_ttl": 60.0,
            },
        ),
        ("custom", {"max_attempts": 2, "result_ttl": 0.0}),
        ("at-once", {"max_attempts": 2, "backoff": {"base": 0.0, "jitter": 0.0}}),
        ("once", {"unique": "d1"}),
        ("throttled", {}),
        ("p3", {"priority": 3}),
        ("p300", {"priority": 9}),
        ("p-last", {"priority": 9}),
    ],
)
def test_what_a_job_becomes(id: str, options: dict[str, Any], old: Redis) -> None:
    found = read(old, id)
    assert isinstance(found, Moving), found
    assert found.task.model_dump(exclude_defaults=True) == {"id": id, **BASIS, **options}


def test_jobs_of_two_queues_with_the_same_id_are_two(old: Redis, queue: Queue, url: str) -> None:
    old.flushall()
    for name in ("a", "b"):
        old.hset(f"bull:{name}:meta", "opts.maxLenEvents", 10_000)
        old.hset(f"bull:{name}:1", mapping={"name": "send", "data": "{}", "opts": "{}", "timestamp": 1})
        old.lpush(f"bull:{name}:wait", "1")
    with Adeq.from_url(url) as adeq:
        done = Migration(adeq, BullQueues(old), to="here", queues={"a": queue.name, "b": queue.name}).move()
    assert (done.moved, done.again, done.left.ids) == (1, 0, {"pyadeq has another task with its id": ["1"]})
    assert old.lrange("bull:b:wait", 0, -1) == [b"1"]


def test_a_delayed_job_has_its_time_and_its_priority(old: Redis) -> None:
    found = read(old, "later-p2")
    assert isinstance(found, Moving), found
    job = old.hmget("bull:work:later-p2", "timestamp", "delay")
    assert found.task.run_after == sum(int(one or 0) for one in job) / 1000
    assert found.task.priority == 2


def test_a_job_that_was_tried_before_has_the_rest_of_its_attempts(old: Redis) -> None:
    old.hset("bull:work:exponential", mapping={"atm": 1})
    found = read(old, "exponential")
    assert isinstance(found, Moving), found
    assert (found.task.max_attempts, found.task.headers) == (2, {"bullmq": {"attempts": 1}})
    assert found.task.backoff
    assert found.task.backoff.base == 1.5


@pytest.mark.parametrize(
    ("id", "why"),
    [
        ("child", FLOW),
        ("repeat:nightly:", SCHEDULER),
        ("unknown", "its name 'app.unknown' is not in --tasks"),
        ("misfit", "app.add: a: Input should be a valid integer"),
        ("list", "its data are no object, so they are no arguments by name"),
    ],
)
def test_what_cannot_move(id: str, why: str, old: Redis) -> None:
    if id.endswith(":"):
        delayed: Any = old.zrange("bull:work:delayed", 0, -1)
        (id,) = (one.decode() for one in delayed if one.startswith(id.encode()))
    found = read(old, id, tasks)
    assert isinstance(found, Left), found
    assert found.id == id
    assert found.why.startswith(why)


def test_damaged_jobs_are_left(old: Redis) -> None:
    place = BullQueues(old).places(["work"])[0]
    old.sadd("bull:work:plain:processed", "x")
    old.hset("bull:work:fixed", "defa", "child failed")
    old.hset("bull:work:once", "opts", "[" * 100_000)
    old.hset("bull:work:1", "data", "no JSON")
    odd = ["[]", '{"attempts": 1e999}', '{"attempts": 2, "backoff": {"type": "fixed", "jitter": 2}}']
    for number, options in enumerate(odd):
        old.hset(f"bull:work:odd{number}", mapping={"name": "app.add", "data": "{}", "opts": options})
    found = BullQueues(old).read(place, [f"odd{number}".encode() for number in range(len(odd))])
    assert [one.why for one in found if isinstance(one, Left)] == ["it is no job of BullMQ"] * len(odd)
    found = BullQueues(old).read(place, [b"none", b"\xff", b"plain", b"fixed", b"once", b"1"])
    assert [one.why for one in found if isinstance(one, Left)] == [
        "its job no longer exists",
        "its job no longer exists",
        "it is the parent in a flow",
        "a child of it has failed, so it is about to fail",
        "it is no job of BullMQ",
        "it is no job of BullMQ",
    ]


def test_a_move_keeps_the_order_and_everything_comes_back(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    before = layout(old)
    assert migrate().move().moved == len(MOVED.split())
    assert ids_in(queue) == MOVED.split()
    assert old.lrange("bull:work:wait", 0, -1) == [b"child"]
    assert not old.exists("bull:work:de:d1", "bull:work:de:d2")
    migrate().rollback()
    assert layout(old) == before
    assert 3_000_000 < old.pttl("bull:work:de:d2") <= 3_600_000


@pytest.mark.parametrize("step", slow_after(1, ["enqueued", "taken", "recalled", "marked", "given back"]))
def test_a_killed_move_goes_on_and_can_be_rolled_back(
    step: str, old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    before, digest = layout(old), migrate().plan().digest
    for nth in (1, 2, 3):
        with suppress(Killed):
            migrate(at=killed_at(step, nth)).move()
        for at in BACK:
            with suppress(Killed):
                migrate(at=killed_at(at, nth)).rollback()
        result = migrate().rollback()
        assert (layout(old), result.digest, result.stayed.as_json(), ids_in(queue)) == (before, digest, [], [])
        with suppress(Killed):
            migrate(at=killed_at(step, nth)).move()
        migrate().move()
        assert [id.partition("+")[0] for id in ids_in(queue)] == MOVED.split()
        migrate().rollback()


def test_paused_jobs_move_and_come_back_to_where_the_old_workers_look(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    before = layout(old)
    later = {"queues": {"later": queue.name}}
    assert migrate(**later).move().moved == 2
    assert ids_in(queue) == ["one", "two"]
    migrate(**later).rollback()
    assert layout(old) == before | {b"bull:later:marker": [(b"0", 0.0)]}
    migrate(**later).move()
    old.hdel("bull:later:meta", "paused")  # as BullMQ resumes a queue without waiting jobs
    migrate(**later).rollback()
    assert (old.lrange("bull:later:wait", 0, -1), old.exists("bull:later:paused")) == ([b"two", b"one"], 0)


def test_later_jobs_of_the_same_priority_come_after_those_that_were_put_back(
    old: Redis, migrate: Callable[..., Migration]
) -> None:
    migrate().move()
    old.delete("bull:work:pc")  # as workers do if no prioritized job waits
    migrate().rollback()
    assert old.get("bull:work:pc") == b"4"


def test_a_job_that_was_removed_meanwhile_is_not_put_back(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    migrate().move()
    old.delete("bull:work:p3")
    queue.cancel("p3")
    migrate().rollback()
    assert b"p3" not in old.zrange("bull:work:prioritized", 0, -1)
    assert b"p3-second" in old.zrange("bull:work:prioritized", 0, -1)


def test_the_commands(old: Redis, old_server: EmbeddedServer, queue: Queue, url: str) -> None:
    where = "bullmq", "--from", old_server.url, "--url", url
    name = f"work={queue.name}"
    plan = answer("migrate", "plan", *where, "-q", name)
    assert (plan["waiting for their children"], plan["of job schedulers"]) == (1, 1)
    rows = [(row["state"], row["priority"]) for row in plan["queues"]]
    assert rows == [("waiting", 0), ("prioritized", "each"), ("delayed", "each")]
    assert answer("migrate", "move", *where, "-q", name)["moved"] == len(MOVED.split())
    assert "each" in command("migrate", "status", *where).stdout
    assert answer("migrate", "cleanup", *where, "--name", "bullmq")["deleted"] == len(MOVED.split()) + 2
    assert not old.keys("adeq:*")
    assert "BullMQ has no pickles" in error(2, "migrate", "plan", *where, "--trust-pickle")
    assert answer("migrate", "plan", *where, "--key-prefix", "other")["source"] == "bullmq:other"


def test_a_job_whose_unique_key_another_task_has_stays_in_the_old_queue(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    queue.enqueue("other", id="other", unique="d1")  # that of the job `once`
    for _ in range(2):
        done = migrate().move()
        assert done.left.ids["another task of pyadeq has its unique key, or had it at the first move"] == ["once"]
        assert b"once" in old.lrange("bull:work:wait", 0, -1)
    queue.cancel("other")
    assert migrate().rollback().stayed.as_json() == []
    migrate().move()
    assert "once" in ids_in(queue)


def test_a_duplicate_of_a_moved_job_is_ignored(old: Redis, queue: Queue, migrate: Callable[..., Migration]) -> None:
    migrate().move()
    old.hset("bull:work:forgotten", mapping=old.hgetall("bull:work:once"))  # type: ignore[arg-type]
    old.lpush("bull:work:wait", "forgotten")
    done = migrate().move()
    assert (done.again, "forgotten" in ids_in(queue)) == (1, False)


def test_keys_of_another_program_do_not_stop_the_others(old: Redis, migrate: Callable[..., Migration]) -> None:
    before = migrate(queues={}).plan()
    for name in ("wait", "prioritized", "active", "failed"):
        old.set(f"bull:other:{name}", "x")
    old.hset("bull:other:meta", "paused", 1)
    after = migrate(queues={}).plan()
    assert (after.places, after.others) == (before.places, before.others)


def test_a_job_that_is_no_hash_does_not_stop_the_others(old: Redis, migrate: Callable[..., Migration]) -> None:
    old.delete("bull:work:plain")
    old.set("bull:work:plain", "x")
    assert migrate().plan().left.ids["its job no longer exists"] == ["plain"]


def make_odd(old: Redis) -> None:
    """Add elements whose keys are no hashes, and give other keys that the scripts touch other types."""
    old.set("bull:work:number", 51)
    old.rpush("bull:work:some", "a")
    old.xadd("bull:work:told", {"a": "b"})
    old.lpush("bull:work:wait", "number", "some", "told")
    old.zadd("bull:work:prioritized", {"number": 5 * 0x100000000})
    for key in ("de:d1", "marker", "pc"):
        old.delete(f"bull:work:{key}")
        old.hset(f"bull:work:{key}", "a", "b")


def test_keys_of_other_types_lose_and_double_no_job(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    make_odd(old)
    before, digest = layout(old), migrate().plan().digest
    for moved in (len(MOVED.split()), 0):
        done = migrate().move()
        assert (done.moved, done.left.counts["its job no longer exists"]) == (moved, 4)
    assert sorted(ids_in(queue)) == sorted(MOVED.split())
    result = migrate().rollback()
    assert (layout(old), result.digest, ids_in(queue)) == (before, digest, [])


@pytest.mark.parametrize(
    ("key", "value"),
    [("pc", "x"), ("throttled", {"opts": '{"de": {"ttl": 1e300}}'}), ("throttled", {"timestamp": "inf"})],
)
def test_odd_numbers_lose_and_double_no_job(
    key: str, value: Any, old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    if isinstance(value, str):
        old.set(f"bull:work:{key}", value)
    else:
        old.hset(f"bull:work:{key}", mapping=value)
    before, digest = layout(old), migrate().plan().digest
    assert migrate().move().moved == len(MOVED.split())
    assert migrate().rollback().digest == digest
    assert layout(old) in (before, {name: one for name, one in before.items() if name != b"bull:work:de:d2"})


def test_a_list_that_another_program_overwrites_loses_no_job(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    if old.exists("bull:later:wait"):  # BullMQ 6
        old.rename("bull:later:wait", "bull:later:paused")

    def overwrite(step: str) -> None:
        if step == "recalled":  # just before jobs are taken
            old.set("bull:later:wait", "x")

    assert migrate(queues={"later": queue.name}, at=overwrite).move().moved == 2
    assert ids_in(queue) == ["one", "two"]


@pytest.mark.parametrize("what", ["messages", "states"])
def test_a_key_of_the_escrow_with_another_type_stops_a_move_before_it_takes_jobs(
    what: str, old: Redis, migrate: Callable[..., Migration]
) -> None:
    before = layout(old)
    old.sadd(f"adeq:migrate:{{bullmq}}:bull:work:wait:{what}", "x")
    with pytest.raises(ResponseError, match="WRONGTYPE"):
        migrate().move()
    assert layout(old) == before


@pytest.mark.parametrize("step", ["rollback marked", "cancelled"])
def test_a_job_that_changes_after_a_killed_rollback_has_marked_it_is_put_back(
    step: str, old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    before = layout(old)
    migrate().move()
    with pytest.raises(Killed):
        migrate(at=killed_at(step, 1)).rollback()
    changed = ["later", "later-p2"]
    assert (changed[0] in ids_in(queue)) == (step == "rollback marked")
    for id in changed:
        old.hset(f"bull:work:{id}", "data", '{"a": 3, "b": 4}')  # as `updateData` does
    assert migrate().rollback().stayed.as_json() == []
    after = layout(old)
    assert {key for key in before if before[key] != after[key]} == {b"bull:work:%s" % id.encode() for id in changed}
