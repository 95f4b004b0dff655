"""Applying changes: leases that are renewed, ends that are recorded, and runs that have to stop."""

import os
from collections.abc import AsyncIterator, Callable
from time import monotonic
from typing import Any

import pytest

from pyadeq import Change, Result
from pyadeq._async.change.keeper import ChangeKeeper
from pyadeq._async.kernel import keeper as kernel_keeper
from pyadeq._twins import aio_join, aio_sleep, aio_spawn
from pyadeq.asyncio import Adeq, Changes, Locks, Run
from pyadeq.errors import (
    BadArgument,
    CannotApply,
    ChangeLost,
    ChangeStopped,
    ClientClosed,
    DurabilityError,
    LockLost,
    PayloadError,
    TransportError,
    WaitTimeout,
)
from tests.integration.conftest import Clock, Proxy
from tests.waiting import DEADLINE

CONTENT: dict[str, Any] = {
    "type": "deploy",
    "description": "roll out the new index",
    "parameters": {"replicas": 3},
    "resources": ["database:orders", "service:search"],
}


@pytest.fixture
async def shaky(proxy: Proxy, changes: Changes) -> AsyncIterator[Changes]:
    """The same changes through the proxy."""
    async with Adeq.from_url(proxy.url, retry_for=1, socket_timeout=1) as adeq:
        yield adeq.changes(changes.name)


@pytest.fixture
async def timed(url: str, changes: Changes, clock: Clock) -> AsyncIterator[Changes]:
    """Changes by the test's clock: no lease ends while a test is slow."""
    async with Adeq.from_url(url, clock=clock) as adeq:
        timed = adeq.changes(f"{changes.name[-60:]}-t")
        await timed.configure(clock="test", default_run=60)
        yield timed


async def approved(changes: Changes, id: str = "c1", **policy: Any) -> Result:
    """A change that was approved, as its author has put it."""
    await changes.policies.set("review", required=1, **policy)
    put = await changes.put(id, **CONTENT, actor="ann")
    await changes.submit(put, policy="review", reviewers=["user:bob"], actor="ann")
    assert (await changes.approve(put, actor="bob")).status == "approved"
    return put


async def read(changes: Changes, id: str = "c1") -> Change:
    found = await changes.get(id, texts=True)
    assert found
    return found


async def until_state(changes: Changes, state: str) -> Change:
    """Wait until the change is in that state."""
    deadline = monotonic() + DEADLINE
    while (found := await read(changes)).state != state:
        assert monotonic() < deadline, found
        await aio_sleep(0.02)
    return found


# How a block ends


async def test_a_change_is_applied_in_a_block(changes: Changes) -> None:
    put = await approved(changes)
    async with changes.apply(put, agent="deployer") as run:
        assert (run.id, run.rev, run.digest, run.agent) == ("c1", 1, put.digest, "deployer")
        assert (run.content.type, run.content.parameters) == ("deploy", {"replicas": 3})
        assert run.content.resources == ("database:orders", "service:search")
        assert (run.lost, run.cancelled, run.timed_out, run.outcome) == (False, False, False, None)
        assert (run.timeout, run.ttl) == (3600.0, 30.0)
        run.check()
        assert "applying" in repr(run)
        change = await read(changes)
        assert change.run
        assert (change.state, change.run.agent, change.run.fence) == ("applying", "deployer", run.fence)
        assert (change.run.deadline, change.run.ended) == (run.deadline, None)
        run.output = "all is well"
    assert run.outcome
    assert (run.outcome.status, run.lost) == ("completed", False)
    assert "completed" in repr(run)
    with pytest.raises(ChangeLost, match="it was finished"):
        run.check()
    change = await read(changes)
    assert change.run
    assert (change.state, change.run.result, change.run.output) == ("completed", "success", "all is well")
    assert change.run.ended is not None


async def test_what_is_approved_is_applied_by_id(changes: Changes) -> None:
    put = await approved(changes)
    async with changes.apply("c1", agent="deployer") as run:
        assert (run.rev, run.digest) == (1, put.digest)
    assert (await read(changes)).state == "completed"


async def test_a_block_that_fails(changes: Changes) -> None:
    put = await approved(changes)

    async def work() -> None:
        async with changes.apply(put, agent="deployer") as run:
            run.output = b"\xff" * 20_000
            raise ZeroDivisionError("no replicas")

    with pytest.raises(ZeroDivisionError):
        await work()
    change = await read(changes)
    assert change.run
    assert (change.state, change.run.result, change.run.error) == (
        "failed",
        "failure",
        "ZeroDivisionError: no replicas",
    )
    assert "test_changes_apply.py" in change.run.error_details.splitlines()[1]
    assert (change.run.output_cut, change.run.attempts) == (True, 1)


async def test_a_failure_may_be_tried_again(changes: Changes) -> None:
    put = await approved(changes, max_attempts=2)
    states = []
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            async with changes.apply(put, agent="deployer", retry=True):
                raise ZeroDivisionError
        states.append((await read(changes)).state)
    assert states == ["approved", "failed"]


async def test_an_interrupted_block_gives_the_change_back(changes: Changes) -> None:
    put = await approved(changes)
    with pytest.raises(KeyboardInterrupt):
        async with changes.apply(put, agent="deployer"):
            raise KeyboardInterrupt
    change = await read(changes)
    assert change.run
    assert (change.state, change.run.result, change.run.attempts) == ("approved", "released", 0)


async def test_a_run_may_be_ended_before_its_block(changes: Changes) -> None:
    put = await approved(changes)
    async with changes.apply(put, agent="deployer") as run:
        answer = await run.finish("failure", error="not today", retry=True)
        assert (answer.status, answer.attempts) == ("approved", 1)
        assert await run.finish("success") is answer
    change = await read(changes)
    assert change.run
    assert (change.state, change.run.error) == ("approved", "not today")


async def test_what_cannot_be_applied(changes: Changes, adeq: Adeq) -> None:
    with pytest.raises(CannotApply, match="'c1' cannot be applied now: not_found"):
        async with changes.apply("c1", agent="deployer"):
            pass
    put = await changes.put("c1", **CONTENT, actor="ann")
    with pytest.raises(CannotApply, match=r"state \(state=draft, rev=1\)"):
        async with changes.apply(put, agent="deployer"):
            pass
    await changes.cancel("c1", actor="ann")
    put = await approved(changes, "c2")
    async with changes.apply(put, agent="deployer"):
        with pytest.raises(CannotApply) as caught:
            async with changes.apply(put, agent="other"):
                pass
        assert (caught.value.id, caught.value.status, caught.value.answer.agent) == ("c2", "held", "deployer")
    put = await approved(changes, "c3")
    await adeq.client.set(f"{changes.base}:params:c3", b'{"replicas":30}')
    with pytest.raises(PayloadError, match="not the one that was approved"):
        async with changes.apply(put, agent="deployer"):
            pass
    assert (await read(changes, "c3")).state == "approved"


# Leases


async def test_a_run_lasts_longer_than_its_lease(timed: Changes, clock: Clock) -> None:
    put = await approved(timed)
    async with timed.apply(put, agent="deployer") as run:
        for _ in range(2):
            clock.tick(20)
            await until_renewed(run)
        run.check()
    assert (await read(timed)).state == "completed"


async def test_a_run_learns_that_it_was_cancelled(timed: Changes, clock: Clock) -> None:
    put = await approved(timed)
    told: list[Run] = []

    def on_stop(run: Run) -> None:
        told.append(run)
        raise ZeroDivisionError("this stays in the log")

    async def work() -> None:
        async with timed.apply(put, agent="deployer", on_stop=on_stop) as run:
            assert (await timed.cancel("c1", actor="ann")).status == "cancelling"
            clock.tick(20)
            await until(run, lambda: bool(told))
            assert run.cancelled
            assert not run.lost
            run.check()

    with pytest.raises(ChangeStopped, match="it was cancelled"):
        await work()
    assert [one.id for one in told] == ["c1"]
    change = await read(timed)
    assert change.run
    assert (change.state, change.run.result) == ("cancelled", "cancelled")


async def test_a_run_that_has_to_stop_is_told_once(timed: Changes, clock: Clock) -> None:
    put = await approved(timed)
    told: list[str] = []

    async def work() -> None:
        async with timed.apply(put, agent="deployer", on_stop=lambda run: told.append(run.id)) as run:
            await timed.cancel("c1", actor="ann")
            clock.tick(20)
            await until(run, lambda: run.cancelled)
            await timed.finish("c1", run.token, "cancelled")
            clock.tick(20)
            await until(run, lambda: run.lost)
            run.check()

    with pytest.raises(ChangeLost):
        await work()
    assert told == ["c1"]


async def test_a_heartbeat_that_fails_does_not_delay_the_others(
    changes: Changes, monkeypatch: pytest.MonkeyPatch
) -> None:
    renew = ChangeKeeper._renew_one

    async def only_the_second(keeper: ChangeKeeper, run: Run) -> None:
        if run.id == "c1":
            raise TransportError("lost", retryable=True, may_have_applied=True)
        await renew(keeper, run)

    monkeypatch.setattr(ChangeKeeper, "_renew_one", only_the_second)
    first, second = await approved(changes), await approved(changes, "c2")
    async with (
        changes.apply(first, agent="deployer", lease=6) as one,
        changes.apply(second, agent="deployer", lease=6) as other,
    ):
        begun, until = other.deadline, monotonic() + DEADLINE
        while other.deadline < begun + 1:
            assert monotonic() < until
            await aio_sleep(0.02)
        one.check()


async def test_a_run_that_takes_too_long(timed: Changes, clock: Clock) -> None:
    put = await approved(timed)

    async def work() -> None:
        async with timed.apply(put, agent="deployer") as run:
            for _ in range(3):
                clock.tick(20)
                await until_renewed(run)
            assert run.timed_out
            run.check()

    with pytest.raises(ChangeStopped, match="it takes longer than it may"):
        await work()
    change = await read(timed)
    assert change.run
    assert (change.state, change.why, change.run.result) == ("failed", "timeout", "timeout")


async def until_renewed(run: Run) -> None:
    """Wait until the lease lasts longer than before."""
    before = run.deadline
    await until(run, lambda: run.deadline != before)


async def until(run: Run, is_so: Callable[[], bool]) -> None:
    """Wait, and let the loop of the heartbeats look at the test's clock from time to time."""
    end = monotonic() + DEADLINE
    while not is_so():
        assert monotonic() < end
        await aio_sleep(0.02)
        run._keeper._process.changed.set()  # type: ignore[attr-defined]


async def test_a_lost_run_is_told_and_does_not_end_the_change(timed: Changes, clock: Clock) -> None:
    put = await approved(timed)
    told: list[Run] = []

    async def work() -> None:
        async with timed.apply(put, agent="deployer", on_stop=told.append) as run:
            await timed.finish("c1", run.token, "released")
            clock.tick(20)
            await until(run, lambda: bool(told))
            assert run.lost
            run.check()

    with pytest.raises(ChangeLost, match="not applied by deployer any more"):
        await work()
    change = await read(timed)
    assert change.run
    assert (change.state, change.run.result) == ("approved", "released")
    with pytest.raises(ChangeLost, match="when it was finished"):
        async with timed.apply(put, agent="deployer") as run:
            await timed.finish("c1", run.token, "released")
    assert (await read(timed)).state == "approved"


async def test_a_client_that_is_closed_applies_nothing(url: str, changes: Changes) -> None:
    put = await approved(changes)
    async with Adeq.from_url(url) as adeq:
        mine = adeq.changes(changes.name)
    with pytest.raises(ClientClosed, match="it applies no changes"):
        async with mine.apply(put, agent="deployer"):
            pass


# When the server cannot be reached


async def test_an_end_that_could_not_be_sent_is_sent_later(
    changes: Changes, shaky: Changes, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_keeper, "PATIENCE", 0.2)
    put = await approved(changes)
    with pytest.raises(TransportError):
        async with shaky.apply(put, agent="deployer"):
            proxy.deaf = True
    proxy.deaf = False
    await until_state(changes, "completed")


async def test_a_begin_without_an_answer_leaves_no_lease(
    changes: Changes, shaky: Changes, proxy: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernel_keeper, "PATIENCE", 0.2)
    put = await approved(changes)
    await shaky.stats()
    proxy.lose_every = 1
    with pytest.raises(TransportError):
        async with shaky.apply(put, agent="deployer"):
            pass
    proxy.lose_every = 0
    change = await until_state(changes, "approved")
    assert change.run is None or change.run.attempts == 0


async def test_a_begin_that_is_not_confirmed_is_none(url: str, changes: Changes) -> None:
    put = await approved(changes)
    async with Adeq.from_url(url, durability="replica", durability_timeout=0.01) as adeq:
        with pytest.raises(DurabilityError):
            async with adeq.changes(changes.name).apply(put, agent="deployer"):
                pass
    change = await read(changes)
    assert change.run
    assert (change.state, change.run.attempts) == ("approved", 0)


# Locks


async def test_a_run_holds_the_locks_of_its_resources(changes: Changes, locks: Locks) -> None:
    put = await approved(changes)
    async with changes.apply(put, agent="deployer", locks=locks) as run:
        assert run.grant
        assert set(run.grant.fences) == {"database:orders", "service:search"}
        (holder,) = (await locks.get("service:search")).holders
        assert (holder.owner, holder.agent) == (f"{changes.name}/c1", "deployer")
        assert holder.purpose == "change c1 rev 1"
    assert (await locks.stats()).held == 0
    async with locks.acquire("database:orders", owner="somebody"):
        put = await approved(changes, "c2")
        with pytest.raises(WaitTimeout):
            async with changes.apply(put, agent="deployer", locks=locks, wait=0):
                pass
    with pytest.raises(ZeroDivisionError):
        async with changes.apply("c2", agent="deployer", locks=locks):
            raise ZeroDivisionError
    with pytest.raises(CannotApply):
        async with changes.apply("c2", agent="deployer", locks=locks):
            pass
    assert (await locks.stats()).held == 0


async def test_another_applier_waits_for_the_locks(changes: Changes, locks: Locks) -> None:
    put = await approved(changes)
    applied: list[str] = []

    async def work() -> None:
        async with changes.apply(put, agent="first", locks=locks, wait=DEADLINE) as run:
            applied.append(run.agent)

    async with locks.acquire("database:orders", owner="somebody"):
        first = aio_spawn(work)
        while (await locks.get("database:orders")).waiting == 0:
            await aio_sleep(0.01)
        with pytest.raises(CannotApply, match="held"):
            async with changes.apply(put, agent="second", locks=locks, wait=DEADLINE):
                pass
    await aio_join(first, DEADLINE)
    assert applied == ["first"]


async def test_a_run_whose_lock_is_lost(changes: Changes, locks: Locks) -> None:
    put = await approved(changes)
    tokens = []

    async def work() -> None:
        async with changes.apply(put, agent="deployer", locks=locks) as run:
            assert run.grant
            tokens.append(run.token)
            await locks.admin.force_release("database:orders", "test")
            run.grant.lose("it was taken away")  # type: ignore[attr-defined]
            run.check()

    with pytest.raises(ChangeLost, match="database:orders"):
        await work()
    change = await read(changes)
    assert change.state == "applying"  # until its lease ends: nobody knows what was done
    await changes.finish("c1", tokens[0], "released")
    with pytest.raises(LockLost):
        async with changes.apply(put, agent="deployer", locks=locks):
            await locks.admin.force_release("database:orders", "test")
    assert (await read(changes)).state == "completed"


# What is refused


async def test_a_block_is_needed(changes: Changes) -> None:
    put = await approved(changes)
    with pytest.raises(BadArgument, match="on_stop"):
        async with changes.apply(put, agent="deployer", on_stop="no"):  # type: ignore[arg-type]
            pass
    with pytest.raises(BadArgument, match="agent"):
        async with changes.apply(put, agent=""):
            pass
    with pytest.warns(RuntimeWarning, match="no with block began"):
        changes.apply(put, agent="deployer")


async def test_a_forked_child_does_not_end_the_run_of_its_parent(changes: Changes) -> None:
    put = await approved(changes)
    async with changes.apply(put, agent="deployer") as run:
        run._pid = os.getpid() + 1  # as a child would see it
        assert run.lost
        with pytest.raises(ChangeLost, match="forked"):
            await run.finish("success")
    assert (await read(changes)).state == "applying"
