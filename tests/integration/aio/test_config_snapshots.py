"""Snapshots of configs: they follow changes, survive a server that is away, and end when they are closed."""

import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from time import monotonic
from typing import Any

import pytest
import redis

from pyadeq._async.config import snapshot as module
from pyadeq._twins import aio_sleep
from pyadeq.asyncio import Adeq, Config, ConfigSnapshot
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import BadArgument, ClientClosed, ConfigError, TransportError
from tests.integration.servers import HOST, unused_port
from tests.waiting import DEADLINE

NEVER = 3600.0  # seconds until a poll: only hints wake the snapshot


@pytest.fixture
async def config(adeq: Adeq, base_name: str) -> Config:
    return adeq.config(base_name)


@pytest.fixture
async def away(binary: Path, tmp_path: Path, base_name: str, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Any]:
    """A server of our own that can be stopped, and a config there; it is tried again soon."""
    monkeypatch.setattr(module, "TRY", 0.1)
    monkeypatch.setattr(module, "PAUSE", 0.05)
    with EmbeddedServer(tmp_path, binary=binary, port=unused_port()) as server:
        async with Adeq.from_url(f"redis://{HOST}:{server.port}", retry_for=2) as adeq:
            yield server, adeq.config(base_name)


@pytest.fixture
async def deaf(adeq: Adeq, url: str, base_name: str) -> AsyncIterator[Config]:
    """The same config for a user who may not subscribe."""
    await adeq.client.acl_setuser(
        base_name, enabled=True, nopass=True, keys=["*"], commands=["+@all"], reset_channels=True
    )
    async with Adeq.from_url(url, username=base_name, password="x") as other:
        yield other.config(base_name)
    await adeq.client.acl_deluser(base_name)


async def eventually(condition: Callable[[], object]) -> None:
    deadline = monotonic() + DEADLINE
    while not condition():
        assert monotonic() < deadline
        await aio_sleep(0.01)


def texts(snapshot: ConfigSnapshot) -> dict[str, bytes]:
    return {name: one.value for name, one in snapshot.content.items()}


async def test_a_snapshot_follows_what_is_published(config: Config) -> None:
    first = await config.set_many({"a": 1, "b": 1})
    told: list[frozenset[str]] = []
    async with config.watch(on_change=told.append, poll=NEVER) as snapshot:
        assert (texts(snapshot), snapshot.rev) == ({"a": b"1", "b": b"1"}, first)
        assert (snapshot.loaded, snapshot.stale, snapshot.error) == (True, False, None)
        before = snapshot.content
        later = await config.set_many({"a": 2, "c": 2}, remove=["b"])
        await eventually(lambda: snapshot.rev == later)
        assert texts(snapshot) == {"a": b"2", "c": b"2"}
        assert (snapshot.get("b"), [*before]) == (None, ["a", "b"])
        found = snapshot.get("a")
        assert found is not None
        assert found == await config.get("a")
        await eventually(lambda: len(told) == 2)
    assert told == [{"a", "b"}, {"a", "b", "c"}]
    assert snapshot.stale
    assert texts(snapshot) == {"a": b"2", "c": b"2"}


async def test_a_snapshot_that_hears_nothing_polls(config: Config, deaf: Config) -> None:
    async with deaf.watch(poll=0.05) as snapshot:
        rev = await config.set("a", 1)
        await eventually(lambda: snapshot.rev == rev)
        assert await config.remove("a")
        await eventually(lambda: not snapshot.content)


async def test_a_snapshot_that_slept_has_what_a_new_one_has(config: Config, deaf: Config) -> None:
    await config.set_many({"a": 1, "b": 1, "c": 1})
    async with deaf.watch(poll=NEVER) as snapshot:
        for number in range(200):
            await config.set(f"n{number % 50}", number)
        await config.remove("a")
        assert [*snapshot.content] == ["a", "b", "c"]
        assert snapshot._ear is not None
        snapshot._ear.hear(["awake"])
        await eventually(lambda: len(snapshot.content) == 52)
        assert dict(snapshot.content) == await config.list()
        await config.configure(removed=1.0)
        await config.remove("b")
        await aio_sleep(1.1)
        assert await config.sweep() == 2, "the removals are forgotten"
        snapshot._ear.hear(["awake"])
        await eventually(lambda: len(snapshot.content) == 51)
        assert dict(snapshot.content) == await config.list()


async def test_changes_are_iterated_until_the_end(config: Config) -> None:
    await config.set("a", 1)
    seen = []
    async with config.watch(poll=NEVER) as snapshot:
        await config.set("b", 1)
        async for names in snapshot.changes():
            seen.append(names)
            if names == {"b"}:
                await config.remove("a")
            else:
                await snapshot.aclose()
    assert seen in ([{"b"}, {"a"}], [{"a"}]), "it was iterated after the first change, or before it"


async def test_the_server_is_away_at_the_start(away: Any) -> None:
    server, config = away
    await config.set("a", 1)
    server.stop()
    snapshot = config.watch(poll=0.05)
    assert not await snapshot.start(wait=0.3)
    assert (snapshot.loaded, snapshot.stale, snapshot.rev, dict(snapshot.content)) == (False, True, 0, {})
    assert snapshot.age == float("inf")
    await eventually(lambda: isinstance(snapshot.error, TransportError))
    server.start()
    await eventually(lambda: snapshot.loaded)
    assert (texts(snapshot), snapshot.stale, snapshot.error) == ({"a": b"1"}, False, None)
    await snapshot.aclose()


@pytest.mark.slow
async def test_a_with_block_needs_the_server(away: Any) -> None:
    server, config = away
    server.stop()
    with pytest.raises(TransportError):
        async with config.watch():
            pass


async def test_the_server_goes_away_and_comes_back(away: Any, caplog: pytest.LogCaptureFixture) -> None:
    server, config = away
    await config.set("a", 1)
    async with config.watch(poll=0.05) as snapshot:
        server.stop()
        await eventually(lambda: snapshot.stale)
        assert texts(snapshot) == {"a": b"1"}
        server.start()
        await eventually(lambda: not snapshot.stale)
        rev = await config.set("b", 1)
        await eventually(lambda: snapshot.rev == rev)
        assert dict(snapshot.content) == await config.list()
    assert [one.levelno for one in caplog.records if one.name == "pyadeq.config"] == [logging.WARNING], "said once"


async def test_a_server_that_has_lost_writes_is_read_anew(config: Config, client: redis.Redis) -> None:
    """As after a failover: what the snapshot has seen last never was."""
    await config.set("a", 1)
    kept: dict[Any, Any] = {key: client.dump(key) for key in client.scan_iter(f"{config.base}:*")}
    async with config.watch(poll=0.05) as snapshot:
        rev = await config.set_many({"a": 2, "b": 2})
        await eventually(lambda: snapshot.rev == rev)
        pipe = client.pipeline()
        pipe.delete(*client.scan_iter(f"{config.base}:*"))
        for key, value in kept.items():
            pipe.restore(key, 0, value)
        pipe.execute()
        later = await config.set("c", 3)
        assert later > rev
        await eventually(lambda: snapshot.rev == later)
        assert texts(snapshot) == {"a": b"1", "c": b"3"}


async def test_silence_makes_a_snapshot_stale(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its background work may have ended without a word, as in a forked process."""
    async with config.watch(poll=NEVER) as snapshot:
        now = monotonic()
        for passed, stale in ((3 * NEVER, False), (3 * NEVER + 2, True)):
            monkeypatch.setattr(module, "monotonic", lambda passed=passed: now + passed)
            assert snapshot.stale is stale
            assert passed <= snapshot.age < passed + 60
        monkeypatch.undo()


async def test_an_error_of_on_change_is_logged(config: Config, caplog: pytest.LogCaptureFixture) -> None:
    def fail(names: frozenset[str]) -> None:
        raise ValueError(f"no {sorted(names)}")

    async with config.watch(on_change=fail, poll=NEVER) as snapshot:
        rev = await config.set("a", 1)
        await eventually(lambda: snapshot.rev == rev)
        await eventually(lambda: "no ['a']" in caplog.text)
        rev = await config.set("b", 1)
        await eventually(lambda: snapshot.rev == rev)


async def test_a_snapshot_may_be_closed_by_its_callback(config: Config) -> None:
    closed: list[frozenset[str]] = []

    async def close(names: frozenset[str]) -> None:
        await snapshot.aclose()
        closed.append(names)

    snapshot = config.watch(on_change=close, poll=NEVER)
    await snapshot.start()
    await config.set("a", 1)
    await eventually(lambda: closed)
    assert snapshot.stale
    with pytest.raises(ClientClosed):
        await snapshot.start()


async def test_the_client_closes_its_snapshots(url: str, base_name: str) -> None:
    async with Adeq.from_url(url) as adeq:
        config = adeq.config(base_name)
        await config.set("a", 1)
        snapshot = config.watch(poll=NEVER)
        assert await snapshot.start()
    assert snapshot.stale
    assert texts(snapshot) == {"a": b"1"}
    assert [one async for one in snapshot.changes()] == []
    with pytest.raises(ClientClosed):
        await config.watch().start()


async def test_many_names_are_loaded_page_by_page(config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pyadeq._core.config.copy.PAGE", 2)
    for number in range(5):
        await config.set(f"n{number}", number)
    async with config.watch(poll=NEVER) as snapshot:
        assert len(snapshot.content) == 5
        assert dict(snapshot.content) == await config.list()


def test_what_is_wrong_is_said_at_once(config: Config) -> None:
    with pytest.raises(BadArgument, match="poll: 0 is not accepted"):
        config.watch(poll=0)
    with pytest.raises(ConfigError, match="on_change: 7 is not accepted"):
        config.watch(on_change=7)  # type: ignore[arg-type]
    assert repr(config.watch()) == f"<ConfigSnapshot {config.base!r} rev=0 stale>"
