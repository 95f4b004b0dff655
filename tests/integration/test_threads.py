"""One Adeq serves many threads, from the first moment on."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

from pyadeq import Adeq

THREADS = 8


def test_threads_that_come_at_once_are_one_worker(url: str, base_name: str) -> None:
    start = Barrier(THREADS)
    with ThreadPoolExecutor(THREADS) as pool, Adeq.from_url(url) as adeq:
        for turn in range(50):
            name = f"{base_name}-{turn}"

            def ask(_: int, name: str = name) -> tuple[int, str]:
                start.wait()
                queue = adeq.queue(name)
                return id(queue), queue.default_worker

            assert len(set(pool.map(ask, range(THREADS)))) == 1
        queue = adeq.queue(base_name)
        queue.enqueue_many(range(100))

        def claim(_: int) -> list[str]:
            start.wait()
            return [lease.id for lease in queue.claim(limit=10)]

        claimed = [id for some in pool.map(claim, range(THREADS)) for id in some]
        assert len(claimed) == len(set(claimed)) == 80
        assert queue.stats().workers == 1
