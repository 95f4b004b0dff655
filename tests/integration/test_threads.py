"""One Adeq serves many threads, from the first moment on."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier, active_count

import redis

from pyadeq import Adeq
from pyadeq._sync.kernel.hints import Hints
from tests.waiting import DEADLINE

THREADS = 8


def test_threads_that_come_at_once_are_one_worker(url: str, base_name: str) -> None:
    start = Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool, Adeq.from_url(url) as adeq:
        for turn in range(50):
            name = f"{base_name}-{turn}"

            def ask(_: int, name: str = name) -> tuple[int, str]:
                start.wait()
                queue = adeq.queue(name)
                return id(queue), queue._identities.own_name()

            assert len(set(pool.map(ask, range(THREADS)))) == 1
        queue = adeq.queue(base_name)
        queue.enqueue_many(range(100))

        def claim(_: int) -> list[str]:
            start.wait()
            return [lease.id for lease in queue.claim(limit=10)]

        claimed = [id for some in pool.map(claim, range(THREADS)) for id in some]
        assert len(claimed) == len(set(claimed)) == 80
        assert queue.stats().workers == 1


def test_threads_listen_on_one_connection(url: str, client: redis.Redis, base_name: str) -> None:
    start = Barrier(THREADS)
    before = active_count()
    with Adeq.from_url(url) as adeq:
        hints = Hints(adeq._nodes)

        def listen(number: int) -> None:
            start.wait()
            for turn in range(100):
                with hints.listening(f"{base_name}-{turn % 3}") as ear, redis.Redis.from_url(url) as own:
                    assert own.spublish(f"{base_name}-{turn % 3}", f"{number}-{turn}") == 1
                    words: list[str] = []
                    while f"{number}-{turn}" not in words:
                        words = ear.wait(DEADLINE)
                        assert words

        with ThreadPoolExecutor(THREADS) as pool:
            list(pool.map(listen, range(THREADS)))
        assert not hints._exchange._channels
        assert len(hints._exchange._lines) == 1
        hints.close()
    assert active_count() == before
