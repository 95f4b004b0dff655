"""The audit that follows every test finds what it is there for."""

from collections.abc import Callable
from typing import Any

import pytest
import redis

from pyadeq import Adeq, Queue, Task
from tests.audit import audit, audit_server
from tests.small_server import server, url

__all__ = ["server", "url"]  # fixtures: some tests audit all that the server holds

pytestmark = pytest.mark.any_engine

Damage = tuple[str, ...]


@pytest.fixture
def queue(url: str, base_name: str) -> Queue:
    """One task in each state, with all that a task can have."""
    adeq = Adeq.from_url(url)
    queue = adeq.queue(base_name)
    given: dict[str, Any] = {"user": "u", "tags": ["t"], "parent": "p", "kind": "k"}
    queue.enqueue_many(Task(id=id, unique=id, reply=True, **given) for id in ("done", "failed", "runs"))
    done, failed, _ = queue.claim("w", 3)
    queue.ack(done, result="r")
    queue.fail(failed, retryable=False)
    queue.enqueue(id="waits", scope="s", expires_at=4e9, idempotency_key="i", **given)
    queue.enqueue(id="later", delay=3600, **given)
    queue.enqueue(id="blocked", after=["runs"], gather=1, **given)
    return queue


def test_a_sound_queue_passes(queue: Queue, client: redis.Redis) -> None:
    assert audit(client, queue.base) == []
    queue.admin.purge(all=True)
    assert audit(client, queue.base) == []


@pytest.mark.parametrize(
    ("damage", "words"),
    [
        (("SET", "unheard:of", "1"), "unheard:of: unknown"),
        (("ZREM", "delayed", "later"), "task later is in []"),
        (("ZADD", "finished", "1", "runs"), "task runs is in ['finished', 'leases']"),
        (("DEL", "task:waits"), "waits is in ['ready:any'], but there is no such task"),
        (("HSET", "task:waits", "lane", "group/x"), "task waits of lane group/x is in"),
        (("SREM", "lanes", "any"), "lanes has []"),
        (("HDEL", "running", "runs"), "running has [], leases ['runs']"),
        (("ZADD", "deadlines", "1", "runs"), "deadlines has runs"),
        (("HSET", "task:ghost", "gone", "purged"), "task ghost is a stub that never goes"),
        (("SET", "payload:ghost", "1"), "payload:ghost has no task"),
        (("SET", "result:ghost", "1"), "result:ghost has no task"),
        (("RPUSH", "log:ghost", "1 line"), "log:ghost has no task"),
        (("RPUSH", "ended_runs:ghost", "1 1 1 0 1 w 2 failed error "), "ended_runs:ghost has no task"),
        (("DEL", "reply:done"), "task done has ended, and its reply is not there"),
        (("SET", "reply:failed", "1 dead other\n"), "reply:failed says ['dead', 'other'], the task ['dead', 'error']"),
        (("SET", "reply:done", "1 cancelled\n"), "reply:done says ['cancelled'], the task ['completed']"),
        (("PERSIST", "reply:done"), "reply:done never goes"),
        (("HSET", "worker:ghost", "incarnation", "i"), "worker:ghost is not in workers"),
        (("ZREM", "by:user:u", "done"), "by:user:u has"),
        (("ZADD", "by:tag:t", "1", "ghost"), "by:tag:t has"),
        (("DEL", "children:p"), "children:p has []"),
        (("DEL", "once:due"), "once has ['key:i'], once:due []"),
        (("HSET", "once", "unique:done", "done"), "once has unique:done for done"),
        (("HSET", "once", "scope:s", "runs"), "once has scope:s for runs"),
        (("HSET", "task:blocked", "awaits", "0"), "task blocked awaits 0 ends, 1 of them of children"),
        (("HSET", "task:blocked", "awaits", "3"), "task blocked awaits 3 ends, 1 of them of children"),
        (("DEL", "dependents:runs"), "task blocked awaits 2 ends, 1 of them of children, and depends on []"),
        (("HDEL", "task:blocked", "after"), "task blocked depends on ['runs']"),
        (("HDEL", "task:runs", "awaited"), "blocked depends on runs, which is in ['leases']"),
        (("ZADD", "dependents:ghost", "1", "blocked"), "blocked depends on ghost, which is in []"),
        (("ZADD", "ends", "1", "c runs"), "ends has 'c runs'"),
        (("HDEL", "config", "chains"), "tasks wait for others, ['blocked'], but config does not say so"),
        (("RPUSH", "wake:any", "1", "1"), "wake:any has more than one token"),
        (("RPUSH", "control:w", "1", "1"), "control:w has more than one token"),
        (("RPUSH", "control:w", "1"), "control:w never goes"),
    ],
)
def test_damage_is_found(queue: Queue, client: Any, damaged: Callable[[str], None], damage: Damage, words: str) -> None:
    damaged(queue.base)
    command, name, *rest = damage
    client.execute_command(command, f"{queue.base}:{name}", *rest)
    assert any(words in problem for problem in audit(client, queue.base)), audit(client, queue.base)


def test_tokens_for_nothing_and_foreign_keys_are_found(
    queue: Queue, client: redis.Redis, damaged: Callable[[str], None]
) -> None:
    damaged(queue.base)
    queue.cancel("later")
    client.rpush(f"{queue.base}:wake:group/gone", "1")
    assert any("a token for nothing" in problem for problem in audit(client, queue.base))
    client.set("{queue}stray", 1)
    assert "{queue}stray: no key of a queue, lock domain or other noun" in audit_server(client, [queue.base])
    client.delete("{queue}stray")
