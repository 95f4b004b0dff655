"""Batches of threads when the system can start no more of them."""

import time
from threading import Thread

import pytest

from pyadeq import Adeq
from pyadeq._sync.kernel import batching
from tests.waiting import DEADLINE


def no_thread(_: object) -> None:
    time.sleep(0.02)  # others join the line meanwhile
    raise RuntimeError("can't start new thread")


def test_callers_send_by_themselves_if_no_thread_can_be_started(
    url: str, base_name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(batching, "spawn", no_thread)
    with Adeq.from_url(url, batch=True) as adeq:
        queue, ids = adeq.queue(base_name), []
        callers = [Thread(target=lambda n=n: ids.append(queue.enqueue(n).id), daemon=True) for n in range(16)]
        for one in callers:
            one.start()
            time.sleep(0.002)
        for one in callers:
            one.join(DEADLINE)
        assert len(set(ids)) == 16
        assert queue.stats().ready == 16
