"""Jobs of RQ move into pyadeq and back. The jobs are recorded: tests/migrate/record_rq.py."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from redis import Redis
from redis.exceptions import NoPermissionError

from pyadeq import Adeq, Queue, Tasks
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError
from pyadeq.ext.move.migrate import Left, Migration, Moving, RqQueues, State, escrow
from pyadeq.ext.move.migrate.rows import read_rows, read_whole
from tests.integration.cli.run import answer, error
from tests.integration.move.test_migrate import BACK, Killed, ids_in, killed_at
from tests.quick import slow_after

pytestmark = pytest.mark.any_engine

JOBS = json.loads((Path(__file__).parents[2] / "unit" / "rq_jobs.json").read_text(encoding="utf-8"))
LIST, SET, LOCK = "rq:queue:default", "rq:scheduled:default", "rq:scheduler-lock:default"
LATER = 4_102_444_800.125
tasks = Tasks()


@tasks.task(name="app.add", max_attempts=9)
def add(a: int, b: int, z: int = 0) -> int:
    return a + b + z


@pytest.fixture
def old(old_server: EmbeddedServer) -> Iterator[Redis]:
    with Redis.from_url(old_server.url) as client:
        client.flushall()
        client.sadd("rq:queues", LIST)
        yield client


@pytest.fixture
def migrate(queue: Queue, old: Redis, url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Migration]]:
    monkeypatch.setattr(escrow, "MOST", 3)
    with Adeq.from_url(url) as adeq:
        yield lambda **options: Migration(adeq, RqQueues(old), to="here", queues={"default": queue.name}, **options)


def put(old: Redis, *names: tuple[str, str], at: float | None = None) -> None:
    """Add jobs, as RQ does: each of a recorded job, and its id."""
    for name, id in names:
        old.hset(f"rq:job:{id}", mapping={key: value.encode("latin-1") for key, value in JOBS[name].items()})
        if at is None:
            old.rpush(LIST, id)
        else:
            old.zadd(SET, {id: at})


def fill(old: Redis) -> None:
    put(old, ("plain", "a1"), ("pickle", "p1"), ("plain", "a2"), ("plain", "a3"), ("callback", "c1"), ("plain", "a4"))
    put(old, ("plain", "s1"), ("repeats", "r1"), ("plain", "s2"), ("plain", "s3"), at=LATER)


def layout(old: Redis) -> dict[bytes, Any]:
    """Everything that is on the old server, but for the escrow."""
    keys: list[Any] = [key for key in old.scan_iter() if not key.startswith(b"adeq:")]
    return {key: old.dump(key) if key == b"rq:queues" else contents(old, key) for key in sorted(keys)}


def contents(old: Redis, key: bytes) -> Any:
    kind = old.type(key)
    if kind == b"list":
        return old.lrange(key, 0, -1)
    return old.zrange(key, 0, -1, withscores=True) if kind == b"zset" else old.hgetall(key)


def read(old: Redis, name: str, **options: Any) -> Moving | Left:
    source = RqQueues(old, **options)
    put(old, (name, name))
    (place,) = source.places([])
    (found,) = source.read(place, [name.encode()])
    return found


BASIS = {"kind": "app.add", "payload": {"args": [1, 2], "kwargs": {"z": 3}}, "timeout": 180.0, "max_attempts": 1}


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("plain", {}),
        ("options", {"timeout": 60.0, "result_ttl": 0.0, "headers": {"rq": {"meta": {"user": "ann"}}}}),
        ("retries", {"max_attempts": 4, "backoff": {"base": 10.0, "multiplier": 1.0, "cap": 10.0, "jitter": 0.0}}),
        ("intervals", {"max_attempts": 4, "backoff": {"base": 10.0, "cap": 60.0, "jitter": 0.0}}),
    ],
)
def test_what_a_job_becomes(name: str, options: dict[str, Any], old: Redis) -> None:
    found = read(old, name)
    assert isinstance(found, Moving), found
    assert found.task.model_dump(exclude_defaults=True) == {"id": name, **BASIS, **options}


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("pickle", "it is a pickle, which is only loaded with --trust-pickle"),
        ("callback", "it has a callback"),
        ("repeats", "it repeats: make a schedule of it"),
        ("unknown", "its function 'app.unknown' is not in --tasks"),
    ],
)
def test_what_cannot_move(name: str, why: str, old: Redis) -> None:
    found = read(old, name, tasks=tasks)
    assert (type(found), found[:2]) == (Left, (name, why))


def test_jobs_that_others_depend_on_or_that_are_damaged_are_left(old: Redis) -> None:
    old.sadd("rq:job:plain:dependents", "x")
    assert read(old, "plain")[:2] == ("plain", "other jobs depend on it")
    old.hset("rq:job:retries", "data", b"\x80 no pickle")
    old.delete("rq:job:unknown")
    source = RqQueues(old, trust_pickle=True)
    found = source.read(source.places([])[0], [b"unknown", b"\xff", b"retries"])
    assert [one.why for one in found if isinstance(one, Left)] == [
        "its job no longer exists",
        "its job no longer exists",
        "it is no job of RQ",
    ]


def test_a_pickle_that_is_trusted_and_a_time_to_live(old: Redis) -> None:
    put(old, ("pickle", "p"))
    old.expire("rq:job:p", 100)
    source = RqQueues(old, tasks=tasks, trust_pickle=True)
    (found,) = source.read(source.places([])[0], [b"p"])
    assert isinstance(found, Moving), found
    assert (json.loads(found.task.payload), found.task.max_attempts) == ({"a": 1, "b": 2, "z": 3}, 9)
    assert isinstance(found.task.expires_at, float)
    assert 90 < found.task.expires_at - time.time() <= 100


@pytest.mark.parametrize("step", slow_after(1, ["enqueued", "taken", "recalled", "marked", "given back"]))
def test_a_killed_move_goes_on_and_can_be_rolled_back(
    step: str, old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    fill(old)
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
        assert [id.partition("+")[0] for id in ids_in(queue)] == ["a1", "a2", "a3", "a4", "s1", "s2", "s3"]
        assert (old.lrange(LIST, 0, -1), old.zrange(SET, 0, -1)) == ([b"p1", b"c1"], [b"r1"])
        migrate().rollback()


def test_a_scheduler_of_rq_keeps_what_is_due(old: Redis, queue: Queue, migrate: Callable[..., Migration]) -> None:
    put(old, ("plain", "due"), at=time.time() - 1)
    put(old, ("plain", "soon"), at=time.time() + 5)
    put(old, ("plain", "later"), at=LATER)
    old.set(LOCK, "scheduler")
    assert migrate().move().moved == 1
    assert old.zrange(SET, 0, -1) == [b"due", b"soon"]
    task = queue.get("later")
    assert task is not None
    assert task.due == LATER
    old.delete(LOCK)
    assert migrate().move().moved == 2
    status = migrate().status()
    assert status
    assert status.count(State.moved) == 3


def test_a_scheduler_of_rq_keeps_what_was_put_back_and_is_due(old: Redis, migrate: Callable[..., Migration]) -> None:
    put(old, ("callback", "soon"), at=time.time() + 5)
    put(old, ("callback", "later"), at=LATER)
    assert migrate().move().left.counts.total() == 2
    seen = []

    def at(step: str) -> None:
        if step == "recalled":
            seen.append(old.zrange(SET, 0, -1))

    old.set(LOCK, "scheduler")  # it may have read `soon` already, and enqueues it
    for verb in ("move", "rollback"):
        getattr(migrate(at=at), verb)()
        assert (seen.pop(), old.zrange(SET, 0, -1)) == ([b"soon"], [b"soon", b"later"])
    old.delete(LOCK)
    migrate(at=at).move()
    assert (seen.pop(), old.zrange(SET, 0, -1)) == ([b"later"], [b"soon", b"later"])  # `later` was put back
    old.set(LOCK, "scheduler")
    old.zrem(SET, "soon")  # it has enqueued it
    migrate().move()
    status = migrate().status()
    assert status
    assert (status.count(State.kept), status.count(State.gone)) == (1, 1)


def test_an_id_that_is_enqueued_again_is_another_job(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    put(old, ("plain", "nightly"), ("plain", "a1"), ("plain", "gone"))
    assert migrate().move().moved == 3
    put(old, ("plain", "nightly"))
    old.hset("rq:job:nightly", "enqueued_at", "2026-11-28T15:23:46.053100Z")
    old.delete("rq:job:gone")
    done = migrate().move()
    assert (done.again, done.left.as_json()) == (
        0,
        [{"why": "pyadeq has another task with its id", "count": 1, "ids": ["nightly"]}],
    )
    result = migrate().rollback()
    assert old.lrange(LIST, 0, -1) == [b"a1", b"nightly"]
    assert result.stayed.as_json() == [
        {"why": "ready; its job on the old server was replaced or deleted", "count": 2, "ids": ["gone", "nightly"]}
    ]
    assert ids_in(queue) == ["nightly", "gone"]
    assert migrate().cleanup() == 4
    assert old.exists("rq:job:nightly")


def test_a_rollback_puts_a_job_back_once_whose_id_an_earlier_one_had(
    old: Redis, queue: Queue, migrate: Callable[..., Migration]
) -> None:
    queue.configure(finished_max=0)
    put(old, ("plain", "nightly"))
    assert migrate().move().moved == 1
    queue.ack(queue.claim()[0])
    put(old, ("plain", "nightly"), at=LATER)
    old.hset("rq:job:nightly", "enqueued_at", "2026-11-28T15:23:46.053100Z")
    before = layout(old)
    assert migrate().move().moved == 1
    result = migrate().rollback()
    assert (result.back, layout(old), ids_in(queue)) == (1, before, [])
    assert result.stayed.ids == {"delayed; its job on the old server was replaced or deleted": ["nightly"]}


@pytest.mark.parametrize(("verb", "last"), [("rollback", "put back"), ("move", "enqueued")])
def test_a_command_that_was_overtaken_by_a_cleanup_says_so(
    verb: str, last: str, old: Redis, migrate: Callable[..., Migration]
) -> None:
    put(old, ("pickle", "p1"), *(("plain", f"s{number}") for number in range(4)), at=LATER)
    if verb == "rollback":
        migrate().move()

    def at(step: str) -> None:
        if step == last:
            other = escrow.Escrow(old, "rq")
            other.begin("here")
            other.delete()

    with pytest.raises(AdeqError, match="another command of this migration has begun since"):
        getattr(migrate(at=at), verb)()


def test_the_commands_and_a_cleanup(old: Redis, old_server: EmbeddedServer, queue: Queue, url: str) -> None:
    fill(old)
    where = "rq", "--from", old_server.url, "--url", url
    moved = answer("migrate", "move", *where, "-q", f"default={queue.name}", "--trust-pickle")
    assert (moved["moved"], sorted(one["why"] for one in moved["left"])) == (
        8,
        ["it has a callback", "it repeats: make a schedule of it"],
    )
    assert answer("migrate", "cleanup", *where, "--name", "rq")["deleted"] == 10
    assert len(old.keys("rq:job:*")) == 10  # an id may have been enqueued again
    assert not old.keys("adeq:*")
    assert "--key-prefix: it is an option for celery and bullmq, not for rq" in error(
        2, "migrate", "plan", *where, "--key-prefix", "x"
    )


def test_the_rights_that_the_guide_names_are_enough(
    old: Redis, old_server: EmbeddedServer, queue: Queue, url: str
) -> None:
    fill(old)
    root: Any = old
    readers = "+@read +@scripting +@connection +info +time"
    for rights in (readers, f"{readers} +@write"):
        root.execute_command(
            "ACL", "SETUSER", "mover", "reset", "on", ">p", "~rq:*", "~adeq:migrate:*", *rights.split()
        )
        user: Any = {"username": "mover", "password": "p"}
        with Redis.from_url(old_server.url, **user) as client, Adeq.from_url(url) as adeq:
            one = Migration(adeq, RqQueues(client), to="here", queues={"default": queue.name})
            assert sum(place.moves for place in one.plan().places) == 7
            with suppress(NoPermissionError):
                for verb in ("move", "status", "rollback", "move", "cleanup"):
                    getattr(one, verb)()
    root.execute_command("ACL", "DELUSER", "mover")
    assert len(ids_in(queue)) == 7


def test_hashes_are_read_in_calls_of_bounded_size(old: Redis) -> None:
    keys = [f"large:{number}" for number in range(7)]
    for number, key in enumerate(keys):
        old.hset(key, mapping={"a": str(number), "b": b"x" * 100_000})
    old.pexpire(keys[1], 60_000)
    old.delete(keys[2], keys[3])
    old.set(keys[3], "no hash")
    others = [f"{key}:other" for key in keys]
    old.set(others[5], "")
    old.config_resetstat()
    rows = read_rows(old, keys, ["a", "b", "c"], others)
    calls: Any = old.info("commandstats")
    assert calls["cmdstat_evalsha"]["calls"] - calls["cmdstat_evalsha"]["failed_calls"] == 2
    assert [row.values and (row.values[0], row.values[2]) for row in rows] == [
        (b"0", None), (b"1", None), (None, None), None, (b"4", None), (b"5", None), (b"6", None),
    ]  # fmt: skip
    assert [row.other for row in rows] == [0, 0, 0, 0, 0, 1, 0]
    assert [row.ttl_ms > 0 for row in rows] == [False, True, *[False] * 5]
    assert [len(row) for row in read_whole(old, keys)] == [2, 2, 0, 0, 2, 2, 2]
    assert read_rows(old, []) == []


def test_more_hashes_than_a_call_reads(old: Redis) -> None:
    keys = [f"small:{number}" for number in range(250)]
    for key in keys:
        old.hset(key, "name", key)
    assert [row[b"name"].decode() for row in read_whole(old, keys)] == keys
    assert [row.other for row in read_rows(old, keys, ["name"], keys)] == [1] * 250


def test_keys_of_another_program_do_not_stop_the_others(old: Redis, migrate: Callable[..., Migration]) -> None:
    fill(old)
    before = migrate().plan()
    old.sadd("rq:queues", "rq:queue:other", b"rq:queue:\xff")
    for key in ("rq:queue:other", "rq:scheduled:other", "rq:wip:other"):
        old.set(key, "x")
    every = RqQueues(old)
    assert [place.key for place in every.places([])] == [LIST, SET]
    assert (migrate().plan().digest, every.others()) == (before.digest, before.others)
