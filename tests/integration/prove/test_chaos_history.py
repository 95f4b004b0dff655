"""Real runs whose clients are recorded: they are judged, and nothing is found; what was seen is noted as it was."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
import redis

from pyadeq import Backoff, Task, errors
from pyadeq.asyncio import Adeq
from pyadeq.ext.prove import chaos
from pyadeq.ext.prove.chaos import History, Recorder, gather, judge, load_recorded, read_entries
from pyadeq.ext.prove.chaos.parts import PARTS
from tests.waiting import DEADLINE

TASKS, TURNS = 25, 12


@pytest.fixture
async def adeq(url: str) -> AsyncIterator[Adeq]:
    async with Adeq.from_url(url, source="clients") as adeq:
        yield adeq


async def produce(queue: chaos.RecordedQueue, random: Random) -> None:
    """Tasks of all kinds, under keys that others use as well."""
    for number in range(TASKS):
        options = random.choice(
            (
                {"idempotency_key": f"k{number // 5}"},
                {"unique": f"u{number // 5}"},
                {"scope": f"s{number // 5}"},
                {"id": f"task-{number // 2}"},
                {"delay": 0.01},
                {},
            )
        )
        await queue.enqueue(None, priority=random.choice((2, 5)), **options)
    await queue.enqueue_many([Task(priority=number) for number in range(10)])


async def work(queue: chaos.RecordedQueue, random: Random, done: asyncio.Event) -> None:
    """Tasks end in every way there is, and some tokens are used again."""
    while not done.is_set():
        for lease in await queue.claim(queue.client, limit=4, wait=0.1):
            with suppress(errors.LeaseLost):
                match random.randrange(8):
                    case 0:
                        await queue.fail(lease, "no luck")
                    case 1:
                        await queue.release(lease)
                        await queue.ack(lease)  # it is another's by now, or nobody's
                    case 2:
                        await queue.snooze(lease, 0.01)
                    case 3:
                        await queue.cancel(lease.id)
                        await queue.fail(lease, retryable=False)
                    case 4:
                        await queue.settle(queue.client, acks=[(lease, None)], claim=0)
                    case 5:
                        await queue.fail(lease, retryable=False)
                        await queue.retry(lease.id)
                    case _:
                        await queue.heartbeat(lease)
                        await queue.ack(lease)


async def own(locks: chaos.RecordedLocks, random: Random) -> None:
    for _ in range(TURNS):
        mode = random.choice(("exclusive", "shared"))
        grant = await locks.take("one", mode=mode, owner=locks.client, wait=DEADLINE)
        if mode == "exclusive" and random.random() < 0.3:
            await locks.downgrade(grant)
        await locks.release(grant)
        grant = await locks.take_many(["one", ("other", "shared")], owner=locks.client, wait=DEADLINE)
        await locks.release(grant)


async def test_a_real_run_breaks_no_rule(adeq: Adeq, base_name: str, tmp_path: Path) -> None:
    recorder, done = Recorder(), asyncio.Event()
    queue, locks = adeq.queue(base_name), adeq.locks(base_name)
    await queue.configure(events_max=1_000_000, backoff=Backoff(base=0.01, cap=0.01), max_attempts=100)
    async with asyncio.timeout(DEADLINE):
        working = [asyncio.create_task(work(recorder.queue(queue, f"w{n}"), Random(n), done)) for n in range(3)]
        await asyncio.gather(
            *(produce(recorder.queue(queue, f"p{n}"), Random(n)) for n in range(3)),
            *(own(recorder.locks(locks, f"o{n}"), Random(n)) for n in range(3)),
        )
        while (stats := await queue.stats()).pending or stats.running:
            await asyncio.sleep(0.01)
        done.set()
        await asyncio.gather(*working)
    history = await gather(recorder, adeq.client, queue, locks)
    verdict = judge(history)
    assert verdict.ok, "\n".join(map(str, verdict.violations))
    others = {rule.__name__ for part in PARTS.values() for rule in part.rules}
    assert {rule for rule, checks in verdict.checks.items() if not checks} == others
    assert (verdict.lost, verdict.problems) == ({}, [])
    history.save(tmp_path / "history")
    assert judge(History.load(tmp_path / "history")) == verdict


async def test_what_the_server_lost_is_found(adeq: Adeq, base_name: str, client: redis.Redis) -> None:
    """The state and the stream of a queue, without what a client was told."""
    recorder = Recorder()
    queue = recorder.queue(adeq.queue(base_name), "p")
    await queue.enqueue(None, id="a")
    base = queue.queue.base
    copies = {key: client.dump(key) for key in client.scan_iter(f"{base}:*")}
    await queue.enqueue(None, id="b")
    client.delete(*client.scan_iter(f"{base}:*"))
    for key, copy in copies.items():
        client.restore(key, 0, copy or b"")
    verdict = judge(await gather(recorder, adeq.client, queue.queue), drained=False)
    assert [(found.rule, found.subject) for found in verdict.violations] == [("acknowledged_kept", "b")]
    recorder.mark("power_cut")
    verdict = judge(await gather(recorder, adeq.client, queue.queue), drained=False)
    assert verdict.ok
    assert verdict.lost == {"memory": {"enqueue": 1}}


async def test_what_is_left_behind_is_found(adeq: Adeq, base_name: str) -> None:
    recorder = Recorder()
    queue, locks = recorder.queue(adeq.queue(base_name), "w"), recorder.locks(adeq.locks(base_name), "o")
    await queue.enqueue(None, id="held")
    await queue.claim("w")
    await queue.enqueue(None, id="waits")
    await queue.enqueue(None, id="later", delay=60)
    grant = await locks.take("lock", owner="o")
    verdict = judge(await gather(recorder, adeq.client, queue.queue, locks.locks))
    assert {found.subject for found in verdict.violations} == {"held", "waits", "lock"}
    await grant.release()


async def test_a_stream_is_read_page_by_page(
    adeq: Adeq, base_name: str, client: redis.Redis, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = adeq.queue(base_name)
    for number in range(7):
        await queue.enqueue(None, id=str(number))
    whole = read_entries(client, queue.base)
    monkeypatch.setattr(chaos.history, "PAGE", 3)
    assert [entry.ids for entry in whole] == [(str(number),) for number in range(7)]
    assert read_entries(client, queue.base) == whole
    assert await chaos.aio_read_entries(adeq.client, queue.base) == whole


async def test_a_stream_that_was_trimmed_is_a_problem(adeq: Adeq, base_name: str, client: redis.Redis) -> None:
    recorder = Recorder()
    queue = recorder.queue(adeq.queue(base_name), "p")
    for number in range(4):
        await queue.enqueue(None, id=str(number))
    client.xtrim(f"{queue.queue.base}:events", maxlen=1, approximate=False)
    history = await gather(recorder, adeq.client, queue.queue)
    verdict = judge(history, drained=False)
    assert verdict.ok, verdict.violations
    assert verdict.problems == [
        "the stream of the queue begins late: 3 entries were trimmed; set events_max to a higher number"
    ]


async def test_how_calls_end_is_noted(adeq: Adeq, base_name: str) -> None:
    recorder = Recorder()
    queue = recorder.queue(adeq.queue(base_name), "c")
    await queue.enqueue(None, id="a", unique="u", after=[])
    await queue.enqueue(None, id="b", unique="u")
    (lease,) = await queue.claim("w")
    await queue.ack(lease)
    with pytest.raises(errors.LeaseLost):
        await queue.release(lease)
    with pytest.raises(errors.UnknownTask):
        await queue.enqueue_many([Task(id="c", after=["none"]), Task(id="d")])
    with pytest.raises(errors.BadArgument):
        await queue.enqueue(None, priority=10)
    assert [(op.verb, op.outcome, op.answer) for op in recorder.ops] == [
        ("enqueue", "ok", {"receipts": [["created", "a"]]}),
        ("enqueue", "ok", {"receipts": [["deduplicated", "a"]]}),
        ("claim", "ok", {"leases": [["a", lease.token, lease.fence, round(lease.deadline * 1000)]]}),
        ("ack", "ok", {"statuses": ["completed"]}),
        ("release", "refused", {"error": "LeaseLost"}),
        ("enqueue", "ok", {"receipts": [["refused", ""], ["created", "d"]]}),
        ("enqueue", "refused", {"error": "BadArgument"}),
    ]
    assert recorder.ops[0].asked == {"tasks": [{"id": "a", "unique": "u", "after": []}]}
    assert all(op.ended is not None and op.began <= op.ended for op in recorder.ops)


async def test_an_unconfirmed_call_counts_for_no_more_than_memory(url: str, base_name: str) -> None:
    async with Adeq.from_url(url, durability="replica", durability_timeout=0.05) as careful:
        recorder = Recorder()
        queue = recorder.queue(careful.queue(base_name), "c", "replica")
        with pytest.raises(errors.DurabilityError):
            await queue.enqueue(None, id="a")
        with pytest.raises(errors.DurabilityError):
            await recorder.locks(careful.locks(base_name), "c", "replica").take("lock", owner="o")
    made, took = recorder.ops
    assert (made.outcome, made.durability, made.answer) == ("ok", "memory", {"receipts": [["created", "a"]]})
    assert (took.outcome, took.durability, took.answer) == ("unknown", "memory", {})


async def test_a_call_without_an_answer_is_unknown(adeq: Adeq, base_name: str, tmp_path: Path) -> None:
    with Recorder(journal=tmp_path / "journal") as recorder:
        queue = recorder.queue(adeq.queue(base_name), "c")
        await queue.enqueue(None, id="a")
        recorder.mark("restart", "by hand")
        claim = asyncio.create_task(queue.claim("w", wait=DEADLINE, lanes=["group/none"]))
        while len(recorder.ops) < 2:
            await asyncio.sleep(0)
        died = load_recorded([tmp_path / "journal"])
        claim.cancel()
        with pytest.raises(asyncio.CancelledError):
            await claim
    told = load_recorded([tmp_path / "journal"])
    assert (told.ops, told.marks) == (recorder.ops, recorder.marks)
    assert [(op.verb, op.outcome) for op in told.ops] == [("enqueue", "ok"), ("claim", "unknown")]
    assert [(op.verb, op.outcome, op.ended) for op in died.ops][1:] == [("claim", "unknown", None)]


def test_a_line_that_was_cut_off_is_left_out(tmp_path: Path) -> None:
    with Recorder(journal=tmp_path / "journal") as recorder:
        recorder.mark("restart")
    with (tmp_path / "journal").open("a") as file:
        file.write('{"began": 0, "op": {"cli')
    assert load_recorded([tmp_path / "journal"]) == ([], recorder.marks)
