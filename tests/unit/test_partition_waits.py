"""Waits in several places at once: who hears of what, and what becomes of words that nobody waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from pyadeq._async.queue.partitions.waits import Waits
from pyadeq.errors import ConfigError, TransportError


class Places:
    """Places where words can be said, each to whoever listens there."""

    def __init__(self) -> None:
        self.words: dict[str, asyncio.Queue[str | Exception]] = {"a": asyncio.Queue(), "b": asyncio.Queue()}
        self.back: list[str] = []

    async def listen(self, place: str, seconds: float) -> str:
        async with asyncio.timeout(30):
            word = await self.words[place].get()
        if isinstance(word, Exception):
            raise word
        return word

    async def give_back(self, place: str, word: str) -> None:
        self.back.append(place)


Wait = Callable[[float], Awaitable[list[str]]]


@pytest.fixture
def places() -> Places:
    return Places()


@pytest.fixture
def wait(places: Places) -> Wait:
    """What it is to wait in both places."""
    waits = Waits(places.listen, places.give_back)

    async def heard(seconds: float) -> list[str]:
        return list(await waits.wait(["a", "b"], seconds))

    return heard


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_word_ends_the_wait(wait: Wait, places: Places) -> None:
    waiting = asyncio.ensure_future(wait(30))
    await settled()
    places.words["b"].put_nowait("lane")
    assert await waiting == ["b"]
    assert places.back == []


async def test_without_a_word_it_ends_by_itself(wait: Wait) -> None:
    assert await wait(0.01) == []


async def test_what_is_said_while_nobody_waits_is_given_back(wait: Wait, places: Places) -> None:
    assert await wait(0.01) == []
    places.words["a"].put_nowait("lane")
    await settled()
    assert places.back == ["a"]
    waiting = asyncio.ensure_future(wait(30))
    await settled()
    places.words["a"].put_nowait("lane")
    assert await waiting == ["a"]
    assert places.back == ["a"]


async def test_who_waits_again_has_the_same_listeners(wait: Wait, places: Places) -> None:
    for _ in range(3):
        assert await wait(0.01) == []
    for _ in range(2):
        places.words["a"].put_nowait("lane")
    assert await wait(30) == ["a"]
    assert places.words["a"].qsize() == 1
    assert await wait(30) == ["a"]


async def test_an_error_is_told_to_who_waits(wait: Wait, places: Places) -> None:
    waiting = asyncio.ensure_future(wait(30))
    await settled()
    places.words["a"].put_nowait(ConfigError("no"))
    with pytest.raises(ConfigError, match="no"):
        await waiting


async def test_a_word_that_is_told_is_for_the_next_wait(places: Places) -> None:
    waits = Waits(places.listen, places.give_back)
    waits.tell("a", "")
    assert await waits.wait(["b"], 0.01) == {}
    assert await waits.wait(["a", "b"], 30) == {"a": ""}
    waiting = asyncio.ensure_future(waits.wait(["a"], 30))
    await settled()
    waits.tell("a", "more")
    assert await waiting == {"a": "more"}


async def test_an_outage_is_for_the_calls_to_tell(wait: Wait, places: Places) -> None:
    waiting = asyncio.ensure_future(wait(30))
    await settled()
    places.words["a"].put_nowait(TransportError("away", retryable=True, may_have_applied=False))
    places.words["b"].put_nowait("lane")
    assert await waiting == ["b"]
