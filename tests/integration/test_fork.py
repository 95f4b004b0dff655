"""A client that goes through a fork: parent and child are two workers."""

import os
from threading import Thread
from typing import Any

import redis

from pyadeq import Adeq
from pyadeq._sync.kernel.hints import Hints
from tests.waiting import DEADLINE, wait_until


def test_parent_and_child_claim_different_tasks(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue_many(range(10))
        assert len(queue.claim(limit=1)) == 1
        with redis.Redis.from_url(url) as seen:
            child = os.fork()
            if child == 0:
                try:
                    claimed = [lease.id for lease in queue.claim(limit=3)]
                    seen.rpush(f"{base_name}:child", *claimed)
                finally:
                    os._exit(0)
            os.waitpid(child, 0)
            mine = {lease.id for lease in queue.claim(limit=3)}
            theirs = {id.decode() for id in seen.lrange(f"{base_name}:child", 0, -1)}
            seen.delete(f"{base_name}:child")
        assert (len(mine), len(theirs), mine & theirs) == (3, 3, set())
        assert queue.stats().workers == 2


def test_a_child_does_not_wait_for_a_batch_of_its_parent(proxy: Any, base_name: str) -> None:
    with Adeq.from_url(proxy.url, batch=True) as adeq:
        queue = adeq.queue(base_name)
        queue.enqueue("first")
        proxy.hold.clear()
        callers = [Thread(target=queue.enqueue, args=(number,), daemon=True) for number in range(5)]
        for caller in callers:
            caller.start()
        assert proxy.held.wait(DEADLINE)
        child = os.fork()
        if child == 0:
            status = 1
            try:
                queue.enqueue("child")
                status = 0
            finally:
                os._exit(status)
        proxy.hold.set()
        assert os.waitpid(child, 0)[1] == 0
        for caller in callers:
            caller.join(DEADLINE)
        assert queue.stats().ready == 7


def test_parent_and_child_hear_on_connections_of_their_own(url: str, client: redis.Redis, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        hints = Hints(adeq._nodes)
        with hints.listening(base_name) as ear:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    with hints.listening(base_name) as own:
                        adeq.client.rpush(f"{base_name}:child", "listens")
                        status = 0 if own.wait(DEADLINE) == ["word"] else 2
                    hints.close()
                finally:
                    os._exit(status)
            assert client.blpop([f"{base_name}:child"], 20)
            assert client.spublish(base_name, "word") == 2
            assert os.waitpid(child, 0)[1] == 0
            wait_until(lambda: client.pubsub_shardnumsub(base_name) == [(base_name.encode(), 1)])
            assert ear.wait(DEADLINE) == ["word"]
            assert client.spublish(base_name, "more") == 1
            assert ear.wait(DEADLINE) == ["more"]
        hints.close()
