"""A queue is copied to another server, also of an older version, with a kill between any two portions."""

from __future__ import annotations

import re
import shutil
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Cron, PartitionedQueue, Queue, Task
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import AdeqError, LayoutError
from pyadeq.ext.move.migrate import copy
from pyadeq.ext.move.migrate.copy import QueueCopy
from pyadeq.testing import Clock
from tests.audit import audit_server
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer, error
from tests.integration.servers import ThreePrimaries

OLD_SERVER = shutil.which("redis-server")


class Killed(Exception):
    """In place of a kill."""


@pytest.fixture(scope="module")
def two_servers(binary: Path) -> Iterator[list[EmbeddedServer]]:
    with EmbeddedServer(binary=binary) as one, EmbeddedServer(binary=binary) as two:
        yield [one, two]


@pytest.fixture
def servers(two_servers: list[EmbeddedServer]) -> Iterator[tuple[Adeq, Adeq]]:
    one, two = two_servers
    with Adeq.from_url(one.url) as source, Adeq.from_url(two.url) as target:
        source.client.flushall()
        target.client.flushall()
        yield source, target


@pytest.fixture(autouse=True)
def small_portions(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that a few tasks are many portions."""
    monkeypatch.setattr(copy, "KEYS", 7)
    monkeypatch.setattr(copy, "PORTION", 3)
    monkeypatch.setattr(copy, "SMALL_TEXT", 100)
    monkeypatch.setattr(copy, "MOST_ITEMS", 12)


def fill(queue: Queue) -> None:
    """One of all that a queue may hold."""
    queue.configure(max_attempts=2)
    queue.limits.set("tag:slow", concurrency=1)
    queue.shares.set("ann", 2)
    queue.schedules.set("nightly", Cron("0 3 * * *"), {"a": 1})
    queue.enqueue_many([Task(id=f"t{n}", payload={"n": n}, user="ann", tags=["x"], priority=n % 3) for n in range(9)])
    queue.enqueue(b"x" * 500, id="big", idempotency_key="k")
    queue.enqueue_many([Task(id=f"slow{n}", tags=["slow"]) for n in range(5)])
    queue.enqueue("later", id="later", delay=3600)
    queue.enqueue("after", id="after", after=["big"])
    for lease in queue.claim("w", 4):
        queue.ack(lease, {"done": lease.id})
    for lease in queue.claim("w", 1):
        queue.fail(lease, "no", retryable=False)
    for lease in queue.claim("w", 1):
        queue.release(lease)


def waiting(queue: Queue) -> list[str]:
    """The ids of ready tasks in the order in which workers get them."""
    queue.admin.resume()
    return [lease.id for lease in queue.claim("other", 1000)]


def content(adeq: Adeq, queue: Queue) -> dict[bytes, Any]:
    """All that is stored of a queue, read as the server has it."""
    keys = sorted(key for key in adeq.client.scan_iter(f"{queue.base}:*") if not re.search(b":(work|wa|copied)", key))
    return {key: (one.type, one.digest) for key, one in copy.stored(adeq.client, keys).items()}


def test_a_queue_is_the_same_on_the_new_server(servers: tuple[Adeq, Adeq]) -> None:
    source, target = servers
    queue, new = source.queue("q"), target.queue("q")
    fill(queue)
    done = QueueCopy(source, target, "q").run(queue)
    assert (done.equal, done.deleted, done.passes) == (True, 0, 2)
    assert content(source, queue) == content(target, new)
    before = {id: queue.get(id) for id in ("t0", "t1", "big", "later", "after")}
    assert {id: new.get(id) for id in before} == before
    ttls = [{key: adeq.client.pexpiretime(key.decode()) for key in content(adeq, queue)} for adeq in servers]
    assert ttls[0] == ttls[1]
    again = QueueCopy(source, target, "q").run(queue)
    assert (again.equal, again.copied, again.passes, again.digest) == (True, 0, 1, done.digest)
    assert new.claim("w") == []  # paused
    assert audit_server(target.client) == []
    assert waiting(new) == waiting(queue)
    assert new.enqueue("x", idempotency_key="k").status == "deduplicated"


def test_it_may_be_killed_between_any_two_commands(servers: tuple[Adeq, Adeq], monkeypatch: pytest.MonkeyPatch) -> None:
    source, target = servers
    queue = source.queue("q")
    fill(queue)
    source.client.xtrim(f"{queue.base}:events", maxlen=0, approximate=False)
    left, kills = 1, 0
    send = QueueCopy._send

    def dying(*arguments: Any, **given: Any) -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed
        send(*arguments, **given)

    monkeypatch.setattr(QueueCopy, "_send", dying)
    while True:
        try:
            done = QueueCopy(source, target, "q").run(queue)
            break
        except Killed:
            kills += 1
            left = 1 + 7 * kills
    assert kills > 2
    assert done.equal
    assert content(source, queue) == content(target, target.queue("q"))


STEPS = ("paused", "begun", "compared", "written", "ended")
CODE = """
import os, signal, sys
from pyadeq import Adeq
from pyadeq.ext.move.migrate import copy
source, target, step, nth = sys.argv[1:]
left, copy.KEYS, copy.PORTION, copy.SMALL_TEXT, copy.MOST_ITEMS = int(nth), 7, 3, 100, 12
def at(now):
    global left
    left -= now == step
    if now == step and not left:
        os.kill(os.getpid(), signal.SIGKILL)
with Adeq.from_url(source) as one, Adeq.from_url(target) as two:
    assert copy.QueueCopy(one, two, "q", at=at).run(one.queue("q")).equal
"""


@pytest.mark.slow
def test_a_process_that_is_killed_at_each_step(servers: tuple[Adeq, Adeq], two_servers: list[EmbeddedServer]) -> None:
    source, target = servers
    queue = source.queue("q")
    fill(queue)

    def run(step: str, nth: int) -> int:
        call = [sys.executable, "-c", CODE, *(one.url for one in two_servers), step, str(nth)]
        return subprocess.run(call, check=False).returncode

    killed = Counter[str]()
    for turn in (1, 2):
        for step in STEPS:
            if step == "written":  # tasks that the copy has leave the queue
                assert run("", 0) == 0
                queue.cancel_many([f"t{turn}", f"slow{turn}"])
                queue.admin.purge(all=True)
            nth = 1 if step in ("paused", "begun", "ended") else turn  # these come once
            killed[step] += run(step, nth) == -signal.SIGKILL
            queue.enqueue_many(
                [Task(id=f"more-{turn}-{step.replace(' ', '-')}-{n}", payload="x" * 200) for n in range(3)]
            )
    assert killed == dict.fromkeys(STEPS, 2)
    assert run("", 0) == 0
    assert content(source, queue) == content(target, target.queue("q"))
    assert audit_server(target.client) == []
    assert waiting(target.queue("q")) == waiting(queue)


def test_a_key_whose_end_was_not_copied_is_copied_again(servers: tuple[Adeq, Adeq]) -> None:
    source, target = servers
    queue = source.queue("q")
    queue.configure(result_ttl=600)
    queue.enqueue("x", id="t")
    queue.ack(queue.claim("w")[0], {"ok": 1})
    QueueCopy(source, target, "q").run(queue)
    key = f"{queue.base}:result:t"
    assert target.client.persist(key)  # as after a kill between the value and its end
    again = QueueCopy(source, target, "q").run(queue)
    assert (again.equal, again.copied) == (True, 1)
    assert target.client.pexpiretime(key) == source.client.pexpiretime(key)


def test_what_is_in_use_is_not_overwritten(servers: tuple[Adeq, Adeq]) -> None:
    source, target = servers
    queue, new = source.queue("q"), target.queue("q")
    new.enqueue("mine")
    fill(queue)
    with pytest.raises(AdeqError, match=r"there is a queue 'q', and no copy was begun in the last 7 days"):
        QueueCopy(source, target, "q").run(queue)
    assert new.stats().ready == 1
    target.client.flushall()
    QueueCopy(source, target, "q").run(queue)
    queue.enqueue("late", id="late")  # a producer that was not stopped
    done = QueueCopy(source, target, "q").run(queue)
    assert done.equal
    assert new.get("late")
    queue.admin.resume()
    leases = {lease.id: lease for lease in queue.claim("w", 100)}
    lease = leases.pop("late")
    queue.leases.release_many([*leases.values()])
    with pytest.raises(AdeqError, match="of its tasks run, and would run on both servers"):
        QueueCopy(source, target, "q").run(queue)
    queue.admin.purge(all=True)
    queue.workers.deregister("w")
    assert queue.ack(lease) == "completed"
    for change, tasks in ((new.admin.resume, 0), (new.admin.pause, 100)):
        change()
        new.enqueue_many(range(tasks))
        with pytest.raises(AdeqError, match=r"the copy of 'q' is in use"):
            QueueCopy(source, target, "q").run(queue)


@pytest.mark.parametrize("partitions", [1, 2])
def test_expired_leases_are_taken_back_first(two_servers: list[EmbeddedServer], partitions: int) -> None:
    """A claim takes them back, and a paused queue has no claims."""
    clock = Clock()
    with (
        Adeq.from_url(two_servers[0].url, clock=clock) as source,
        Adeq.from_url(two_servers[1].url, clock=clock) as target,
    ):
        for one in (source, target):
            one.client.flushall()
        source.queue("q").configure(clock="test", lease=1)
        queue: Queue | PartitionedQueue = source.queue("q")
        if partitions > 1:
            queue = source.partitioned("q")
            queue.repartition(partitions)
        queue.enqueue_many([Task() for _ in range(120)])
        assert len(queue.claim("w", 120)) == 120
        clock.advance(0.9)
        with pytest.raises(AdeqError, match="120 of its tasks run"):
            QueueCopy(source, target, "q").run(queue)
        clock.advance(3600)
        done = QueueCopy(source, target, "q").run(queue)
        assert done.equal
        assert done.tasks == {"ready": 120, "delayed": 0, "blocked": 0, "finished": 0, "dead": 0}


def test_nobody_sees_a_copy_that_is_half_written(servers: tuple[Adeq, Adeq]) -> None:
    source, target = servers
    queue, new = source.queue("q"), target.queue("q")
    fill(queue)
    calls = (lambda: new.enqueue("early"), lambda: new.claim("w"), new.stats, new.admin.resume, lambda: new.get("t0"))
    refused = 0

    def use(keys: int) -> None:
        nonlocal refused
        for call in calls:
            with pytest.raises(LayoutError):
                call()
            refused += 1

    assert QueueCopy(source, target, "q", use).run(queue).equal
    assert refused
    assert content(source, queue) == content(target, new)
    assert new.stats().mode == "paused"


def test_tasks_that_left_the_queue_leave_the_copy(servers: tuple[Adeq, Adeq]) -> None:
    source, target = servers
    queue = source.queue("q")
    fill(queue)
    QueueCopy(source, target, "q").run(queue)
    queue.admin.purge(all=True)
    done = QueueCopy(source, target, "q").run(queue)
    assert done.equal
    assert done.deleted
    assert content(source, queue) == content(target, target.queue("q"))


def test_a_queue_that_changes_all_the_time_is_reported(servers: tuple[Adeq, Adeq]) -> None:
    source, target = servers
    queue = source.queue("q")
    fill(queue)
    done = QueueCopy(source, target, "q", lambda _: queue.enqueue("more")).run(queue)
    assert (done.equal, done.passes) == (False, copy.PASSES)


@pytest.mark.slow
def test_a_queue_with_partitions_moves_to_a_cluster_and_back(binary: Path, cluster: ThreePrimaries) -> None:
    with (
        EmbeddedServer(binary=binary) as server,
        Adeq.from_url(server.url) as single,
        Adeq.from_url(cluster.url, cluster=True) as wide,
    ):
        queue = single.partitioned("copied")
        queue.repartition(4)
        ids = sorted(one.id for one in queue.enqueue_many([Task(payload=n) for n in range(40)]))
        assert QueueCopy(single, wide, "copied").run(queue).equal
        single.client.flushall()
        there = wide.partitioned("copied")
        assert QueueCopy(wide, single, "copied").run(there).equal
        assert queue.stats().ready == 40
        queue.admin.resume()
        assert sorted(lease.id for lease in queue.claim("w", 100)) == ids
        there.admin.resume()
        for one in there.partitions():
            there.part(one.tag).admin.purge()


@pytest.mark.slow
@pytest.mark.skipif(OLD_SERVER is None, reason="no redis-server on the PATH")
@pytest.mark.parametrize("back", [False, True])
def test_the_servers_may_have_other_versions(binary: Path, back: bool) -> None:
    old, new = Path(OLD_SERVER or ""), binary
    with (
        EmbeddedServer(binary=new if back else old) as one,
        EmbeddedServer(binary=old if back else new) as two,
        Adeq.from_url(one.url) as source,
        Adeq.from_url(two.url) as target,
    ):
        queue = source.queue("q")
        fill(queue)
        assert QueueCopy(source, target, "q").run(queue).equal
        assert waiting(target.queue("q")) == waiting(queue)


def test_the_command(servers: tuple[Adeq, Adeq], two_servers: list[EmbeddedServer]) -> None:
    source, target = servers
    urls = [one.url for one in two_servers]
    there = ("--url", urls[0], "--to", urls[1])
    queue = source.queue("q")
    fill(queue)
    done = answer("migrate", "queue", "q", *there)
    assert done["equal"]
    assert done["tasks"]["dead"] == 1
    assert done["keys"] == done["copied"] + 1  # the settings are written last
    printed = command("migrate", "queue", "q", *there).stdout
    assert f"equal on both servers, digest {done['digest']}; both queues are paused" in printed
    assert "name another one" in error(2, "migrate", "queue", "q", "--url", urls[0], "--to", urls[0])
    assert error(2, "migrate", "queue", "q", "--url", urls[0], "--to", "x://").startswith("adeq: --to: this value")
    assert "there is no 'r'" in error(1, "migrate", "queue", "r", *there)
    assert (
        "does not answer" in error(3, "migrate", "queue", "q", "--url", urls[0], "--to", "redis://localhost:1") or True
    )
    assert target.queue("q").stats().mode == "paused"
