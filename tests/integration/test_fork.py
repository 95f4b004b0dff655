"""A client that goes through a fork: parent and child are two workers."""

import os

import redis

from pyadeq import Adeq


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
