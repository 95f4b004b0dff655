"""What handlers need besides their arguments: made for a run or for a worker, and closed in time."""

import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import suppress
from typing import Annotated, Any

import pytest

from pyadeq import BadArgument, ConfigError
from pyadeq.asyncio import Depends, Queue, Shared, TaskContext, TaskDead, Tasks
from pyadeq.testing import override
from tests.integration.running import adeq, queue, working
from tests.integration.worker import depending

__all__ = ["adeq", "queue"]  # fixtures


async def test_a_shared_one_is_made_once_and_others_for_each_run(queue: Queue) -> None:
    said: list[str] = []

    async def pool() -> AsyncIterator[str]:
        said.append("open pool")
        yield "pool"
        said.append("close pool")

    async def session(context: TaskContext, pool: Annotated[str, Shared(pool)]) -> AsyncIterator[str]:
        said.append(f"open session of {context.id}")
        yield f"session of {pool}"
        said.append("close session")

    def same(session: str = Depends(session)) -> str:
        return session.upper()

    @queue.task
    async def send(to: str, session: Annotated[str, Depends(session)], *, loud: str = Depends(same)) -> list[str]:
        said.append(f"send to {to}")
        return [session, loud]

    async with working(queue, queue.tasks):
        for id in ("a", "b"):
            call: Any = send.options(id=id, wait=20)  # type checkers want what an annotation alone says
            assert await call.run(to=id) == ["session of pool", "SESSION OF POOL"]
            view = await queue.get(id)
            assert view
            assert view.payload == {"to": id}
    one_run = [[f"open session of {id}", f"send to {id}", "close session"] for id in ("a", "b")]
    assert said == ["open pool", *one_run[0], *one_run[1], "close pool"]


async def test_a_plain_handler_has_plain_ones_in_its_thread(queue: Queue) -> None:
    threads: list[tuple[str, int]] = []

    def pool() -> Iterator[str]:
        threads.append(("pool", threading.get_ident()))
        yield "pool"
        threads.append(("closed", 0))

    def session(pool: str = Shared(pool)) -> Iterator[str]:
        threads.append(("session", threading.get_ident()))
        yield pool
        threads.append(("end", threading.get_ident()))

    @queue.task
    def send(*, session: str = Depends(session)) -> str:
        threads.append(("send", threading.get_ident()))
        return session

    async with working(queue, queue.tasks):
        assert await send.options(wait=20).run() == "pool"
        assert [name for name, _ in threads] == ["pool", "session", "send", "end"]
        assert len({thread for _, thread in threads}) == 1
        assert threads[0][1] != threading.get_ident()
    assert threads[-1] == ("closed", 0)


async def test_an_error_reaches_the_yield_and_an_error_of_closing_fails_the_run(queue: Queue) -> None:
    seen: list[str] = []

    async def session() -> AsyncIterator[None]:
        try:
            yield
        except ValueError as error:
            seen.append(f"rolled back: {error}")
            raise
        raise OSError("the commit failed")

    @queue.task(max_attempts=1)
    async def send(ok: bool, *, session: None = Depends(session)) -> int:
        if not ok:
            raise ValueError("no such user")
        return 1

    async with working(queue, queue.tasks):
        for id, ok, error in (("a", False, "no such user"), ("b", True, "the commit failed")):
            with pytest.raises(TaskDead):
                await send.options(id=id, wait=20).run(ok)
            view = await queue.get(id)
            assert view
            assert error in str(view.error)
    assert seen == ["rolled back: no such user"]


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_run_whose_error_a_generator_catches_has_failed_all_the_same(queue: Queue, is_async: bool) -> None:
    async def session() -> AsyncIterator[None]:
        with suppress(ValueError):
            yield

    def plain() -> Iterator[None]:
        with suppress(ValueError):
            yield

    @queue.task(max_attempts=1)
    async def send(*, session: None = Depends(session)) -> None:
        raise ValueError("no such user")

    @queue.task(max_attempts=1)
    def post(*, session: None = Depends(plain)) -> None:
        raise ValueError("no such user")

    async with working(queue, queue.tasks):
        with pytest.raises(TaskDead):
            await (send if is_async else post).options(id="a", wait=20).run()
    view = await queue.get("a")
    assert view
    assert "no such user" in str(view.error)


async def test_a_shared_one_that_fails_is_made_again(queue: Queue) -> None:
    tries: list[int] = []

    async def pool() -> int:
        tries.append(1)
        if len(tries) == 1:
            raise OSError("the database is away")
        return 7

    @queue.task(max_attempts=2, backoff=None)
    async def send(*, pool: int = Shared(pool)) -> int:
        return pool

    async with working(queue, queue.tasks):
        assert await send.options(wait=20).run() == 7
    assert len(tries) == 2


async def test_callers_cannot_give_them_and_payloads_cannot_hold_them(queue: Queue) -> None:
    async def pool() -> int:
        return 7

    @queue.task(max_attempts=1)
    async def send(to: str, *, pool: int = Shared(pool)) -> int:
        return pool

    with pytest.raises(BadArgument, match="unexpected keyword argument 'pool'; allowed: to"):
        await send.enqueue("ann", pool=8)
    assert await send("ann", pool=8) == 8
    with pytest.raises(ConfigError, match="send: give pool in a call"):
        await send("ann")
    await queue.enqueue({"to": "ann", "pool": 8}, id="made-up", kind="send", reply=True)
    async with working(queue, queue.tasks):
        assert await queue.result("made-up", 20) == 7


async def test_tests_may_override_them(queue: Queue) -> None:
    def pool() -> str:
        raise AssertionError("not in tests")

    def fake(name: str = Depends(lambda: "fake")) -> str:
        return name

    @queue.task
    async def send(*, pool: str = Depends(pool)) -> str:
        return pool

    async with working(queue, queue.tasks):
        with override(pool, fake):
            assert await send.options(wait=20).run() == "fake"


async def test_a_child_process_makes_its_own(queue: Queue) -> None:
    queue.tasks.include(depending.tasks)
    there = queue.bind(depending.there)
    async with working(queue, queue.tasks, concurrency=1):
        one, two = [await there.options(wait=30).run(n) for n in (1, 2)]
    assert one[1:] == two[1:]
    assert one[1] == one[2]
    assert depending.MADE == []


def asynchronous() -> Callable[..., Any]:
    async def pool() -> int:
        return 1

    def send(*, pool: int = Shared(pool)) -> int:
        return pool

    return send


def unknown_parameter() -> Callable[..., Any]:
    def pool(size: int) -> int:
        return size

    async def send(*, pool: int = Shared(pool)) -> int:
        return pool

    return send


def shorter_life() -> Callable[..., Any]:
    def session() -> int:
        return 1

    def pool(session: int = Depends(session)) -> int:
        return session

    async def send(*, pool: int = Shared(pool)) -> int:
        return pool

    return send


def both() -> Callable[..., Any]:
    def pool() -> int:
        return 1

    async def send(*, a: int = Shared(pool), b: int = Depends(pool)) -> int:
        return a + b

    return send


def twice() -> Callable[..., Any]:
    def pool() -> int:
        return 1

    async def send(*, a: Annotated[int, Shared(pool)] = Shared(pool)) -> int:
        return a

    return send


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (twice, "send: the parameter 'a' has 2 dependencies; allowed: one"),
        (asynchronous, "it is async and the task function is not"),
        (unknown_parameter, r"the parameter 'size' is not accepted; allowed: Shared\(…\)"),
        (shorter_life, r"the parameter 'session' is not accepted; allowed: Shared\(…\)"),
        (both, "it is Depends in one place and Shared in another"),
    ],
)
def test_what_cannot_work_is_refused_at_the_start(make: Callable[[], Callable[..., Any]], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        Tasks().task(make())


def test_only_functions_are_dependencies() -> None:
    with pytest.raises(ConfigError, match="Depends: 3 is not accepted; allowed: a function"):
        Depends(3)  # type: ignore[call-overload]
