"""A user of the server who may not do all that pyadeq does: told before any script runs, or by a script at the latest.

Every right is taken from a user that has all others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Lease, TransportError
from pyadeq.asyncio import Adeq as AsyncAdeq
from pyadeq.asyncio import Worker
from pyadeq.embedded import EmbeddedServer
from tests.integration.faults.stored import stored
from tests.integration.running import at_work
from tests.waiting import DEADLINE, eventually_in_thread, wait_until

USER: dict[str, Any] = {"username": "modest", "password": "secret"}


@pytest.fixture(scope="module")
def server(binary: Path) -> Iterator[EmbeddedServer]:
    with EmbeddedServer(binary=binary) as server:
        yield server


@pytest.fixture
def root(server: EmbeddedServer) -> Iterator[Adeq]:
    with Adeq.from_url(server.url) as root:
        root.load_scripts()
        yield root


@pytest.fixture
def modest(server: EmbeddedServer, root: Adeq) -> Iterator[Adeq]:
    """A client of the user, who may do all yet."""
    allow(root, "~*", "&*", "+@all")
    with Adeq.from_url(server.url, **USER) as modest:
        yield modest


def allow(root: Adeq, *rules: str) -> None:
    root.client.execute_command("ACL", "SETUSER", "modest", "on", ">secret", *rules)  # type: ignore[no-untyped-call]


CALLS: dict[str, Callable[[Adeq, str], Any]] = {
    "enqueue": lambda adeq, name: adeq.queue(name).enqueue("work"),
    "claim": lambda adeq, name: adeq.queue(name).claim("w"),
    "stats": lambda adeq, name: adeq.queue(name).stats(),
    "acquire": lambda adeq, name: adeq.locks(name).take("door", owner="o"),
    "show": lambda adeq, name: adeq.locks(name).get("door"),
    "wait": lambda adeq, name: adeq.queue(name).leases.block(["any"], 1),
}
FORBIDDEN = [
    ("-evalsha", ["enqueue", "claim", "acquire"]),
    ("-evalsha_ro", ["stats", "show"]),
    ("resetkeys", ["enqueue", "claim", "stats", "acquire", "show", "wait"]),
    ("-blpop", ["wait"]),
]


@pytest.mark.parametrize(("rule", "call"), [(rule, call) for rule, calls in FORBIDDEN for call in calls], ids=str)
def test_what_is_forbidden_is_told_before_anything_runs(
    root: Adeq, modest: Adeq, base_name: str, rule: str, call: str
) -> None:
    queue, locks = root.queue(base_name), root.locks(base_name)
    queue.enqueue("work")
    locks.configure()
    before = stored(root.client, queue.base, locks.base)
    allow(root, rule)
    with pytest.raises(TransportError, match=r"its user needs EVALSHA, .* \(NOPERM") as refused:
        CALLS[call](modest, base_name)
    assert (refused.value.retryable, refused.value.may_have_applied) == (False, False)
    assert stored(root.client, queue.base, locks.base) == before
    allow(root, "~*", "&*", "+@all")
    CALLS[call](modest, base_name)


def test_who_may_not_load_scripts_uses_those_that_are_there(root: Adeq, modest: Adeq, base_name: str) -> None:
    allow(root, "-script|load")
    queue = modest.queue(base_name)
    assert queue.enqueue("work").status == "created"
    root.client.script_flush()
    with pytest.raises(
        TransportError, match=r"SCRIPT LOAD queue\.enqueue\.v1: .*its user needs .* \(NOPERM"
    ) as refused:
        queue.enqueue("work")
    assert (refused.value.retryable, refused.value.may_have_applied) == (False, False)
    root.load_scripts()
    assert queue.enqueue("work").status == "created"


def test_who_hears_no_channels_gets_locks_and_results_all_the_same(
    server: EmbeddedServer, root: Adeq, base_name: str
) -> None:
    """Neither may the holder publish, nor the waiter listen."""
    allow(root, "reset")
    allow(root, "~*", "resetchannels", "+@all")
    with Adeq.from_url(server.url, **USER) as modest, ThreadPoolExecutor(1) as pool:
        locks = modest.locks(base_name)
        locks.configure(poll=0.5)
        grant = locks.take("door", owner="first")
        heir = pool.submit(locks.take, "door", owner="second")
        wait_until(lambda: locks.stats().waiting == 1)
        grant.release()
        assert heir.result(DEADLINE).fence > grant.fence
        queue = modest.queue(base_name)
        result = pool.submit(queue.run, "work")
        (lease,) = queue.claim("w", wait=DEADLINE)
        queue.ack(lease, "done")
        assert result.result(DEADLINE) == "done"


async def test_a_worker_that_may_not_wait_ends_and_gives_back_what_it_holds(
    server: EmbeddedServer, root: Adeq, modest: Adeq, base_name: str
) -> None:
    """A right that is missing does not come by itself, so it does not go on for ever."""
    queue = root.queue(base_name)
    queue.enqueue("work", id="a")

    async def handle(lease: Lease) -> None:
        await eventually_in_thread(lambda: False)

    allow(root, "-blpop")
    async with AsyncAdeq.from_url(server.url, **USER) as far:
        worker = Worker(far.queue(base_name), handle, grace=0)
        with pytest.raises(TransportError, match="NOPERM"):
            async with at_work(worker) as running:
                await eventually_in_thread(running.done)
    stats = queue.stats()
    assert (stats.running, stats.ready) == (0, 1)
    assert (stats.counters["claimed"], stats.counters["released"]) == (1, 1)


# Within a script


HALF = [("enqueue", "zadd"), ("enqueue", "xadd"), ("claim", "hset"), ("acquire", "zadd")]


@pytest.mark.parametrize(("call", "command"), HALF)
def test_a_script_that_may_not_go_on_says_what_is_to_be_done(
    root: Adeq, modest: Adeq, base_name: str, call: str, command: str
) -> None:
    """The server does not undo what a script has done. `adeq doctor` finds what is missing before."""
    root.queue(base_name).enqueue("work")
    modest.queue(base_name).workers.register("w")
    allow(root, f"-{command}")
    with pytest.raises(TransportError, match=r"may not run a command .* half done; run adeq doctor") as refused:
        CALLS[call](modest, base_name)
    assert (refused.value.retryable, refused.value.may_have_applied) == (False, True)


def test_a_task_that_was_made_half_is_noted_and_in_no_line(root: Adeq, modest: Adeq, base_name: str) -> None:
    """The same call finds the note, and takes it for its own. When that is deleted, it makes the task."""
    allow(root, "-zadd")
    queue = modest.queue(base_name)
    with pytest.raises(TransportError, match="half done"):
        queue.enqueue("work", id="a", rid="r")
    allow(root, "+@all")
    assert queue.enqueue("work", id="a", rid="r").status == "created"
    assert (queue.stats().ready, queue.get("a"), queue.claim("w")) == (0, None, [])
    root.client.delete(f"{queue.base}:task:a")
    assert queue.enqueue("work", id="a", rid="r").status == "created"
    assert [lease.id for lease in queue.claim("w")] == ["a"]
