"""Locks in a program with threads, that is forked, or interrupted."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Thread

import pytest

from pyadeq import Adeq, Grant
from pyadeq.errors import AdeqError, BadArgument, LockLost, WaitTimeout
from tests.waiting import DEADLINE, wait_until


@contextmanager
def interrupted_after(seconds: float) -> Iterator[None]:
    """As by Ctrl-C. Enter it inside `pytest.raises`: on a busy machine the signal comes before the body begins."""
    before = signal.signal(signal.SIGALRM, signal.default_int_handler)
    try:
        # Again, for one may come where nothing can be raised; late, so that a second one does not meet the clean-up.
        signal.setitimer(signal.ITIMER_REAL, seconds, 10)
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


# An interrupt in the middle of connecting leaves the socket to the garbage collector, which says so.
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_who_is_interrupted_while_waiting_leaves_nothing_behind(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)
        with locks.acquire("db:1", owner="a", ttl=300):
            for moment in range(1, 25):
                with pytest.raises(KeyboardInterrupt), interrupted_after(moment / 1000):
                    locks.take("db:1", owner="b", wait=DEADLINE)
                assert locks.get("db:1").waiting == 0


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_who_is_interrupted_while_holding_gives_it_back(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)

        def hold() -> None:
            with locks.acquire("db:1", owner="a"), interrupted_after(0.01):
                signal.pause()

        with pytest.raises(KeyboardInterrupt):
            hold()
        assert locks.stats().held == 0


def test_threads_hold_one_lock_in_turn(url: str, base_name: str) -> None:
    inside: list[int] = []
    fences: list[int] = []
    with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)

        def work(number: int) -> None:
            for turn in range(20):
                with locks.acquire(f"db:{turn % 2}", owner=f"o{number}", ttl=60) as grant:
                    if turn % 2:
                        inside.append(number)
                        assert inside == [number]
                        fences.append(grant.fence)
                        inside.remove(number)

        with ThreadPoolExecutor(8) as pool:
            list(pool.map(work, range(8)))
        assert len(fences) == 80
        assert fences == sorted(set(fences))
        wait_until(lambda: locks.stats().held == 0)


def test_a_child_neither_renews_nor_gives_back_what_its_parent_holds(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)
        with locks.acquire("db:1", owner="parent", ttl=10) as grant:
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    with pytest.raises(LockLost, match="forked"):
                        grant.check()
                    grant.release()  # does nothing
                    assert grant.lost
                    with locks.acquire("db:2", owner="child", ttl=2) as own:
                        before = own.deadline
                        wait_until(lambda: own.deadline != before)
                        assert list(locks._keeper._process.held) == [own.rid]
                    status = 0
                finally:
                    os._exit(status)
            assert os.waitpid(child, 0)[1] == 0
            assert not grant.lost
            assert [one.owner for one in locks.get("db:1").holders] == ["parent"]


def test_a_coroutine_function_is_not_called_back(url: str, base_name: str) -> None:
    async def on_lost(grant: Grant) -> None:
        raise AssertionError

    with Adeq.from_url(url) as adeq, pytest.raises(BadArgument, match=r"on_lost: .* only in asyncio"):
        adeq.locks(base_name).take("db:1", owner="a", on_lost=on_lost)


def test_without_a_thread_no_lock_is_kept(url: str, base_name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(thread: Thread) -> None:
        raise RuntimeError("can't start new thread")

    with Adeq.from_url(url) as adeq:
        locks = adeq.locks(base_name)
        with monkeypatch.context() as patch:
            patch.setattr(Thread, "start", refuse)
            with pytest.raises(AdeqError, match=r"<Grant of db:1 .* was given back, .*can't start new"):
                locks.take("db:1", owner="a", ttl=300)
            assert locks.stats().held == 0
        assert not locks._keeper._process.looping
        with locks.acquire("db:2", owner="a", ttl=3) as grant:
            before = grant.deadline
            while grant.deadline == before:
                grant.check()
            with monkeypatch.context() as patch:
                patch.setattr(Thread, "start", refuse)
                with pytest.raises(WaitTimeout):
                    locks.take("db:2", owner="b", wait=0.1)
                assert locks.get("db:2").waiting == 0
