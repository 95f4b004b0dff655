"""Waiting for locks: in line, for so long, with hints and without, and never in a circle."""

from time import monotonic
from typing import Any

import pytest
import redis

from pyadeq._twins import aio_join, aio_spawn
from pyadeq.asyncio import Adeq, Locks
from pyadeq.errors import DeadlockError, LockLost, LockUnavailable, OwnerWaits, WaitTimeout
from tests.waiting import DEADLINE


async def in_line(locks: Locks, count: int, resource: str = "db:1") -> None:
    """Wait until so many wait for a lock."""
    deadline = monotonic() + 30
    while (await locks.get(resource)).waiting != count:
        assert monotonic() < deadline


async def all_gone(locks: Locks) -> bool:
    stats = await locks.stats()
    return (stats.held, stats.waiting) == (0, 0)


async def test_a_wait_ends_by_the_servers_clock_and_leaves_nothing_behind(locks: Locks) -> None:
    async with locks.acquire("db:1", owner="a") as grant:
        began = (await locks.stats()).now
        with pytest.raises(WaitTimeout, match="not free in time"):
            await locks.take("db:1", owner="b", wait=0.3)
        assert (await locks.stats()).now >= began + 0.3
        view = await locks.get("db:1")
        assert ([one.rid for one in view.holders], view.waiters) == ([grant.rid], [])
    assert await all_gone(locks)


async def test_those_in_line_are_served_in_order(locks: Locks) -> None:
    served: list[str] = []

    async def take_turn(owner: str) -> None:
        async with locks.acquire("db:1", owner=owner):
            served.append(owner)

    works = []
    async with locks.acquire("db:1", owner="first"):
        for number in range(5):

            async def work(owner: str = f"o{number}") -> None:
                await take_turn(owner)

            works.append(aio_spawn(work))
            await in_line(locks, number + 1)
    for one in works:
        await aio_join(one, 30)
    assert served == ["o0", "o1", "o2", "o3", "o4"]
    assert await all_gone(locks)


@pytest.mark.parametrize("deaf", [False, True])
async def test_a_client_that_hears_no_hints_gets_its_lock_all_the_same(
    locks: Locks, deaf: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    await locks.configure(poll=0.2)
    if deaf:
        monkeypatch.setattr(locks, "_channel", lambda resource: f"{locks.base}:nothing")
    fences = []

    async def wait() -> None:
        async with locks.acquire("db:1", owner="b") as grant:
            fences.append(grant.fence)

    async with locks.acquire("db:1", owner="a") as grant:
        waiting = aio_spawn(wait)
        await in_line(locks, 1)
    await aio_join(waiting, 30)
    assert fences > [grant.fence]


async def test_a_contended_acquisition_takes_six_commands(locks: Locks, adeq: Adeq, url: str) -> None:
    await locks.configure(poll=60, claim=125, waiter=125)
    await adeq.load_scripts()

    async def wait() -> None:
        async with locks.acquire("db:1", owner="b", wait=300):
            pass

    with redis.Redis.from_url(url) as watcher, watcher.monitor() as monitor, redis.Redis.from_url(url) as marker:
        async with locks.acquire("db:1", owner="a"):
            waiting = aio_spawn(wait)
            await in_line(locks, 1)
            # Until the first poll, which comes when it listens.
            while (one := (await locks.get("db:1")).waiters[0]).deadline < one.since + 125.0005:
                pass
        await aio_join(waiting, 30)
        marker.echo("the end")
        said = []
        while (line := monitor.next_command())["command"] != "ECHO the end":
            words = line["command"].split()
            ours = locks.base in line["command"] and line["client_type"] != "lua"
            if ours and words[0] not in ("EVALSHA_RO", "EXISTS"):  # EXISTS: the name of the domain is listed
                said.append(words[0])
    assert said[:2] == ["EVALSHA", "EVALSHA"]  # those who hold it and who wait for it have come
    assert said.count("EVALSHA") == 2 + 4  # the holder's release; two polls and the release of who waited
    assert said.count("SSUBSCRIBE") == 1
    assert len(said) <= 2 + 6


async def test_watching_a_lock(locks: Locks) -> None:
    seen = []

    async def watch() -> None:
        async for hint in locks.watch("db:1"):
            seen.append(tuple(hint))
            if hint.event == "released":
                return

    watching = aio_spawn(watch)
    deadline = monotonic() + 30
    while not seen:
        assert monotonic() < deadline
        async with locks.acquire("db:1", owner="a", agent="x"):
            pass
    await aio_join(watching, 30)
    assert set(seen) <= {("acquired", "x"), ("released", "x")}
    assert seen[-1] == ("released", "x")


async def test_a_deadlock_is_found_as_it_forms_and_unwinds(locks: Locks) -> None:
    met: list[str] = []
    works: list[Any] = []

    async def other() -> None:
        async with locks.acquire("db:2", owner="b"):
            met.append("b")
            async with locks.acquire("db:1", owner="b", wait=DEADLINE):
                met.append("b has both")

    async def meet() -> None:
        async with locks.acquire("db:1", owner="a"):
            works.append(aio_spawn(other))
            await in_line(locks, 1)
            async with locks.acquire("db:2", owner="a", wait=DEADLINE):
                raise AssertionError

    with pytest.raises(DeadlockError) as error:
        await meet()
    await aio_join(works[0], 30)
    assert met == ["b", "b has both"]
    assert [tuple(edge) for edge in error.value.cycle] == [("a", "exclusive", "db:2", 1), ("b", "exclusive", "db:1", 1)]
    assert "a waits for db:2 (exclusive), b waits for db:1 (exclusive)" in str(error.value)
    assert await all_gone(locks)


async def test_who_gives_way_is_a_setting(locks: Locks) -> None:
    await locks.configure(policy="priority")
    said: list[str] = []

    async def other() -> None:
        try:
            async with locks.acquire("db:2", owner="b"), locks.acquire("db:1", owner="b", wait=DEADLINE, priority=9):
                raise AssertionError
        except DeadlockError as error:
            said.append(error.cycle[0].owner)

    async with locks.acquire("db:1", owner="a"):
        waiting = aio_spawn(other)
        await in_line(locks, 1)
        async with locks.acquire("db:2", owner="a", wait=DEADLINE, priority=0):
            await aio_join(waiting, 30)
    assert len(said) == 1
    assert await all_gone(locks)


async def test_another_try_is_as_old_as_the_first(locks: Locks) -> None:
    await locks.configure(policy="youngest")
    works: list[Any] = []
    born: list[float] = []

    async def older() -> None:
        async with locks.acquire("db:1", owner="a", wait=DEADLINE):
            pass

    async with locks.acquire("db:2", owner="a"), locks.acquire("db:1", owner="b"):
        works.append(aio_spawn(older))
        await in_line(locks, 1)
        try:
            async with locks.acquire("db:2", owner="b", wait=DEADLINE):
                raise AssertionError
        except DeadlockError as error:
            born.append(error.born or 0.0)
    await aio_join(works[0], 30)
    async with locks.acquire("db:2", owner="b", born=born[0]):
        (holder,) = (await locks.get("db:2")).holders
        assert holder.born == born[0] < holder.since
    assert await all_gone(locks)


async def test_a_search_without_budget_is_made_up_for(locks: Locks) -> None:
    await locks.configure(detect_visits=16, poll=0.1)
    crowd = [f"c{number:02}" for number in range(30)]
    issued_ms = round((await locks.stats()).now * 1000)
    said: list[str] = []

    async def other() -> None:
        async with locks.acquire("db:2", owner="b"):
            try:
                async with locks.acquire("db:1", owner="b", wait=DEADLINE):
                    said.append("b")
            except DeadlockError:
                said.append("not b")

    async with locks.acquire("db:1", owner="a"):
        for owner in crowd:  # in line before b, so that the search has to go through all of them
            call = locks.calls.acquire(owner, "db:1", owner, issued_ms=issued_ms, wait=DEADLINE)
            assert (await locks._runner.send(call)).status == "queued"
        waiting = aio_spawn(other)
        await in_line(locks, 31)
        try:
            async with locks.acquire("db:2", owner="a", wait=DEADLINE):
                said.append("a")
        except DeadlockError:
            said.append("not a")
        await locks.admin.cancel(crowd)
    await aio_join(waiting, 30)
    assert sorted(said) in (["b", "not a"], ["a", "not b"])
    assert await all_gone(locks)


async def test_an_upgrade_that_lost_what_it_had(locks: Locks) -> None:
    said: list[str] = []

    async def upgrade() -> None:
        try:
            await locks.take("db:1", owner="a", wait=DEADLINE)
        except LockLost as error:
            said.append(str(error))

    shared = await locks.take("db:1", owner="a", mode="shared")
    async with locks.acquire("db:1", owner="b", mode="shared"):
        waiting = aio_spawn(upgrade)
        await in_line(locks, 1)
        await shared.release()
        await aio_join(waiting, 30)
    assert "was lost while it waited for the upgrade" in said[0]
    assert await all_gone(locks)


async def test_who_waits_for_permits_hears_that_there_will_be_none(locks: Locks) -> None:
    await locks.configure(poll=0.1)
    await locks.capacities.set("agent:1", 1)
    said: list[str] = []

    async def wait() -> None:
        try:
            await locks.take("agent:1", owner="b", mode="permit", wait=DEADLINE)
        except LockUnavailable as error:
            said.append(error.reason)

    async with locks.acquire("agent:1", owner="a", mode="permit"):
        waiting = aio_spawn(wait)
        await in_line(locks, 1, "agent:1")
        await locks.capacities.drain("agent:1")
        await aio_join(waiting, 30)
    assert said == ["draining"]
    assert await locks.capacities.remove("agent:1") == "removed"
    assert await all_gone(locks)


async def test_a_request_that_was_ended_by_others(locks: Locks) -> None:
    await locks.configure(poll=0.1)
    said: list[Any] = []

    async def wait() -> None:
        try:
            async with locks.acquire("db:1", owner="b", wait=DEADLINE) as grant:
                said.append(grant)
        except LockLost as error:
            said.append(str(error))

    async with locks.acquire("db:1", owner="a"):
        waiting = aio_spawn(wait)
        await in_line(locks, 1)
        (waiter,) = (await locks.get("db:1")).waiters
        assert await locks.admin.cancel([waiter.rid]) == ["cancelled"]
        await aio_join(waiting, 30)
        assert "was cancelled" in said.pop()
    assert await all_gone(locks)


async def test_a_server_that_has_lost_the_end_of_a_wait(locks: Locks, adeq: Adeq) -> None:
    """As a replica has, which was behind when it took over: the owner is not in its own way."""
    taken: list[Any] = []

    async def wait() -> None:
        async with locks.acquire("db:1", owner="b", wait=DEADLINE) as grant:
            taken.append(grant.rid)

    async with locks.acquire("db:1", owner="a") as grant:
        waiting = aio_spawn(wait)
        await in_line(locks, 1)
        with pytest.raises(OwnerWaits) as error:  # this one is not given up
            await locks.take("db:1", owner="b")
        keys = [f"{locks.base}:{name}" for name in ("requests", "graph", "deadlines")]
        then = [await adeq.client.dump(key) for key in keys]
    await aio_join(waiting, 30)
    assert taken == [error.value.rid]
    assert await all_gone(locks)
    for key, copy in zip(keys, then, strict=True):
        await adeq.client.restore(key, 0, copy or b"", replace=True)
    assert (await locks.get("db:1")).waiting == 1
    with pytest.raises(WaitTimeout, match="not free"):
        await locks.take("db:1", owner="b", wait=0)
    assert (await locks.get("db:1")).waiting == 0
    assert await locks.admin.release([grant.rid]) == ["released"]
    assert await all_gone(locks)
    await adeq.client.restore(keys[1], 0, then[1] or b"", replace=True)  # whose request has ended, for good
    with pytest.raises(OwnerWaits):
        await locks.take("db:1", owner="b")
    await adeq.client.delete(keys[1])


async def test_a_request_that_is_too_old_is_made_anew(locks: Locks) -> None:
    now = (await locks.stats()).now
    locks._tell(now - 61)  # as after a machine has slept
    async with locks.acquire("db:1", owner="a"):
        assert locks._told is not None
        assert locks._told[0] >= now
    assert await all_gone(locks)


# Across domains


async def test_locks_of_several_domains_in_one_order(adeq: Adeq, base_name: str) -> None:
    first, second = f"{base_name}-1", f"{base_name}-2"
    wanted: list[Any] = [(second, "db:1"), (first, "db:1", "shared"), (second, "db:2", "shared")]
    async with adeq.acquire_sorted(wanted, owner="a") as grants:
        assert list(grants) == [first, second]
        assert set(grants[second].fences) == {"db:1", "db:2"}
        with pytest.raises(WaitTimeout):
            async with adeq.acquire_sorted([(first, "db:1", "shared"), (second, "db:1")], owner="b", wait=0):
                raise AssertionError
    for name in (first, second):
        assert await all_gone(adeq.locks(name))


async def test_a_deadlock_across_domains_is_found_by_those_who_look(adeq: Adeq, base_name: str) -> None:
    one, two = (adeq.locks(f"{base_name}-{number}") for number in (1, 2))
    for locks in (one, two):
        await locks.configure(poll=0.1)
    said: list[Any] = []

    async def cross(here: Locks, there: Locks, owner: str) -> None:
        async with here.acquire("db:1", owner=owner):
            await in_line(there, 0)
            while not (await there.get("db:1")).held:
                pass
            try:
                async with there.acquire("db:1", owner=owner, wait=DEADLINE):
                    said.append(owner)
            except DeadlockError as error:
                said.append(error)

    async def forth() -> None:
        await cross(one, two, "a")

    async def back() -> None:
        await cross(two, one, "b")

    works = [aio_spawn(forth), aio_spawn(back)]
    for locks in (one, two):
        await in_line(locks, 1)
    (found,) = await adeq.find_deadlocks([one.name, two.name])
    for work in works:
        await aio_join(work, 30)
    (error,) = (one for one in said if isinstance(one, DeadlockError))
    assert {edge.owner for edge in error.cycle} == {"a", "b"}
    assert list(found.cycle) == error.cycle
    assert len(said) == 2
    assert await adeq.find_deadlocks([one.name, two.name]) == []
    for locks in (one, two):
        assert await all_gone(locks)
