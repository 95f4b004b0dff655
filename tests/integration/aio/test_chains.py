"""Tasks that wait for others: one after the other, one after many, and what becomes of those behind a failure."""

from typing import Any

import pytest

from pyadeq.asyncio import Adeq, BadArgument, Lease, Queue, Receipt, Task, TransportError, UnknownTask


async def claim(queue: Queue) -> list[Lease]:
    return await queue.claim("w1", 1000)


async def complete(queue: Queue) -> list[Any]:
    """Complete all that is in line, each with its payload as the result; their payloads in order."""
    leases = await claim(queue)
    await queue.ack_many([(lease, lease.payload) for lease in leases])
    return [lease.payload for lease in leases]


async def fail(queue: Queue) -> None:
    for lease in await claim(queue):
        await queue.fail(lease, "no use", reason="bad", retryable=False)


async def sweep(queue: Queue, calls: int) -> None:
    """Claims that find nothing for them: each sees to a hundred of what ends mean for others."""
    for _ in range(calls):
        assert await queue.claim("w2", 1, lanes=["group/nobody"]) == []


async def states(queue: Queue, *ids: str) -> list[str]:
    return [task.state if task else "none" for task in await queue.get_many(ids)]


async def view(queue: Queue, id: str) -> Any:
    task = await queue.get(id)
    assert task
    return task


# after


async def test_a_task_comes_after_ids_and_receipts(queue: Queue) -> None:
    first = await queue.enqueue("first")
    await queue.enqueue("second", id="second")
    last = await queue.enqueue("last", after=[first, "second", first.id])
    task = await view(queue, last.id)
    assert (task.state, task.awaits, task.after_when, task.after_any) == ("blocked", 2, "completed", False)
    assert task.after == (first.id, "second", first.id)
    assert (await queue.stats()).blocked == 1
    assert await complete(queue) == ["first", "second"]
    task = await view(queue, last.id)
    assert (task.state, task.awaits) == ("ready", None)
    (lease,) = await claim(queue)
    assert (lease.id, lease.after) == (last.id, task.after)


async def test_one_that_waits_for_nothing_says_so(queue: Queue) -> None:
    receipt = await queue.enqueue("alone")
    task = await view(queue, receipt.id)
    assert (task.after, task.after_any, task.after_when, task.gather, task.awaits) == ((), None, None, None, None)
    (lease,) = await claim(queue)
    assert lease.after == ()


async def test_one_receipt_or_id_may_stand_alone(queue: Queue) -> None:
    first = await queue.enqueue("first", id="first")
    second = await queue.enqueue("second", after=first)
    third = await queue.enqueue("third", after="first")
    assert await states(queue, second.id, third.id) == ["blocked", "blocked"]
    assert await complete(queue) == ["first"]
    assert await complete(queue) == ["second", "third"]


async def test_any_of_them_is_enough(queue: Queue) -> None:
    receipts = await queue.enqueue_many(["a", "b"])
    last = await queue.enqueue("last", after=receipts, after_any=True)
    assert (await view(queue, last.id)).after_any is True
    (lease,) = await queue.claim("w1", 1)
    await queue.ack(lease)
    assert await states(queue, last.id) == ["ready"]


async def test_who_waits_for_the_result_hears_that_there_will_be_none(queue: Queue) -> None:
    first = await queue.enqueue("first")
    last = await queue.enqueue("last", after=first, reply=True)
    await queue.cancel(first.id)
    outcome = await queue.inspect.ended(last.id, 0)
    assert (outcome.status, outcome.reason) == ("dead", "after_failed")
    assert (await queue.dead.retry(last.id)).status == "retried"
    assert await states(queue, last.id) == ["ready"]


# A task that there is not


async def test_a_task_after_one_that_there_is_not_is_an_error(queue: Queue) -> None:
    with pytest.raises(UnknownTask, match=r"^task 'b' was not made: it is to come after 'a', and") as raised:
        await queue.enqueue("b", id="b", after="a")
    assert (raised.value.id, raised.value.missing, raised.value.receipts) == ("b", "a", [None])
    assert await states(queue, "b") == ["none"]
    await queue.enqueue("p", id="p", gather=1)
    with pytest.raises(UnknownTask, match="or it is the parent that gathers this task and so waits for it") as raised:
        await queue.enqueue("c", id="c", parent="p", after="p")
    assert (raised.value.missing, await states(queue, "c")) == ("p", ["none"])


async def test_all_others_are_made_and_the_same_call_again_makes_the_rest(queue: Queue) -> None:
    tasks = [Task(id="b", after=["a"]), *[Task(payload=n) for n in range(1500)], Task(id="c", after=["b"])]
    with pytest.raises(UnknownTask, match=r"task 'b' was not made \(1 more were not, either\)") as raised:
        await queue.enqueue_many(tasks, rid="r1")
    receipts = raised.value.receipts
    assert (len(receipts), receipts[0], receipts[-1]) == (1502, None, None)
    assert all(isinstance(one, Receipt) and one.status == "created" for one in receipts[1:-1])
    await queue.enqueue("a", id="a")
    again = await queue.enqueue_many(tasks, rid="r1")
    assert {one.status for one in again} == {"created"}
    stats = await queue.stats()
    assert (stats.ready, stats.blocked) == (1501, 2)


async def test_a_stream_goes_on_to_its_end(queue: Queue) -> None:
    tasks = [Task(id="b", after="a"), *range(1200)]
    made: list[Receipt] = []

    async def send() -> None:
        async for receipt in queue.enqueue_stream(iter(tasks), rid="r1"):
            made.append(receipt)

    with pytest.raises(UnknownTask) as raised:
        await send()
    assert (len(made), raised.value.id) == (1200, "b")


async def test_a_pipeline_gives_the_error_with_the_value(adeq: Adeq, queue: Queue) -> None:
    async with adeq.pipeline() as pipe:
        made = pipe.add(queue.calls.enqueue([("x", Task())], "r1"))
        unmade = pipe.add(queue.calls.enqueue([("y", Task(after="z"))], "r2"))
    assert made.value[0].status == "created"
    with pytest.raises(UnknownTask):
        _ = unmade.value


# chain


async def test_a_chain_runs_one_after_the_other(queue: Queue) -> None:
    before = await queue.enqueue("before")
    receipts = await queue.chain(["a", Task(payload="b", kind="k"), {"c": 1}], after=before)
    assert await states(queue, *[one.id for one in receipts]) == ["blocked"] * 3
    assert [await complete(queue) for _ in range(5)] == [["before"], ["a"], ["b"], [{"c": 1}], []]


async def test_a_long_chain_may_be_made_again(queue: Queue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks_after(adeq, 2, monkeypatch)
    with pytest.raises(TransportError):
        await queue.chain(range(2500), rid="r1")
    monkeypatch.undo()
    assert (await queue.stats()).blocked == 1999
    receipts = await queue.chain(range(2500), rid="r1")
    assert [one.id for one in receipts] == [f"r1.{n}" for n in range(2500)]
    assert {one.status for one in receipts} == {"created"}
    stats = await queue.stats()
    assert (stats.ready, stats.blocked) == (1, 2499)
    assert [(await complete(queue))[0] for _ in range(5)] == [0, 1, 2, 3, 4]


async def test_each_step_says_what_it_waits_for(queue: Queue) -> None:
    other = await queue.enqueue("other", id="other")
    steps = [Task(payload="first", after_when="ended"), Task(payload="anyhow", after_when="ended"), "last"]
    await queue.chain([*steps, Task(payload="both", after=other)], rid="r1")
    assert (await view(queue, "r1.0")).after_when is None
    assert (await view(queue, "r1.3")).after == ("r1.2", "other")
    assert await complete(queue) == ["other", "first"]
    await fail(queue)
    assert await states(queue, "r1.1", "r1.2", "r1.3") == ["dead", "dead", "dead"]


async def test_no_steps_are_no_chain(queue: Queue) -> None:
    assert await queue.chain([]) == []


# gather


async def test_one_task_comes_after_many_and_finds_their_results(queue: Queue) -> None:
    receipt = await queue.gather(range(1100), Task(payload="sum", kind="sum", reply=True))
    task = await view(queue, receipt.id)
    assert (task.state, task.gather, task.awaits, task.after_when) == ("blocked", 1100, 1100, "completed")
    assert await complete(queue) + await complete(queue) == list(range(1100))
    await sweep(queue, 10)
    assert await complete(queue) == ["sum"]
    assert await receipt.result(0) == "sum"
    found = [child async for child in queue.inspect.gathered(receipt.id)]
    assert [child.result for child in found] == list(range(1100))
    assert [child.id for child in found] == [f"{receipt.id}.{n:05}" for n in range(1100)]
    assert {(child.state, child.parent) for child in found} == {("completed", receipt.id)}


async def test_what_is_gathered_may_fail(queue: Queue) -> None:
    strict = await queue.gather(["a", "b"], "strict")
    patient = await queue.gather(["c", "d"], Task(payload="patient", after_when="ended"))
    first = await queue.gather(["e", "f"], Task(payload="first", after_any=True))
    leases = await claim(queue)
    assert [lease.payload for lease in leases] == ["a", "b", "c", "d", "e", "f"]
    for lease in leases:
        if lease.payload in "ace":
            await queue.fail(lease, "no use", retryable=False)
    assert await states(queue, strict.id, patient.id, first.id) == ["dead", "blocked", "blocked"]
    assert (await view(queue, strict.id)).reason == "after_failed"
    await queue.ack_many([(lease, 1) for lease in leases if lease.payload not in "ace"])
    assert await states(queue, strict.id, patient.id, first.id) == ["dead", "ready", "ready"]
    assert [child.state async for child in queue.inspect.gathered(patient.id)] == ["dead", "completed"]


async def test_a_gather_may_be_made_again(queue: Queue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks_after(adeq, 2, monkeypatch)
    with pytest.raises(TransportError):
        await queue.gather(range(1500), "then", rid="r1")
    monkeypatch.undo()
    assert (await complete(queue))[-1] == 999
    await sweep(queue, 9)
    assert (await view(queue, "r1")).awaits == 500
    receipt = await queue.gather(range(1500), "then", rid="r1")
    assert (receipt.status, receipt.id) == ("created", "r1")
    assert (await complete(queue))[0] == 1000
    await sweep(queue, 4)
    assert await complete(queue) == ["then"]
    assert (await queue.stats()).counters["enqueued"] == 1501


async def test_what_gathers_may_be_lost_before_its_children_come(
    queue: Queue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    send: Any = adeq.send

    async def lose(call: Any, retry_for: float | None = None) -> Any:
        answer = await send(call, retry_for)
        monkeypatch.undo()
        await adeq.client.unlink(*(f"{queue.base}:{name}" for name in ("task:r1", "payload:r1", "blocked")))
        return answer

    monkeypatch.setattr(adeq, "send", lose)
    with pytest.raises(UnknownTask, match=r"^task 'r1.00000' was not made \(2 more") as raised:
        await queue.gather(range(3), "then", rid="r1")
    assert raised.value.missing == "r1"
    assert raised.value.__notes__ == ["'r1' is what gathers it: the server has lost it, or it was deleted since"]
    await queue.gather(range(3), "then", rid="r1")
    assert await complete(queue) == [0, 1, 2]
    assert await complete(queue) == ["then"]


async def test_where_another_stands_for_it_nothing_is_gathered(queue: Queue) -> None:
    await queue.enqueue("taken", id="taken", unique="u")
    assert (await queue.gather(["a"], Task(id="taken"))).status == "exists"
    receipt = await queue.gather(["a"], Task(unique="u"))
    assert (receipt.status, receipt.id) == ("deduplicated", "taken")
    assert await complete(queue) == ["taken"]
    assert await complete(queue) == []


async def test_gather_and_chain_go_together(queue: Queue) -> None:
    first = await queue.enqueue("first")
    both = await queue.gather(["a", Task(payload="b", after=first)], Task(payload="both", after=first))
    await queue.chain(["c", "d"], after=both)
    assert [await complete(queue) for _ in range(5)] == [["first", "a"], ["b"], ["both"], ["c"], ["d"]]


async def test_of_a_task_without_children_nothing_is_gathered(queue: Queue) -> None:
    assert [child async for child in queue.inspect.gathered("nobody")] == []


async def test_large_results_are_gathered_too(queue: Queue) -> None:
    receipt = await queue.gather(range(9), "then")
    await queue.ack_many([(lease, b"x" * 1_000_000) for lease in await claim(queue)])
    sizes = [len(child.result_data or b"") async for child in queue.inspect.gathered(receipt.id)]
    assert sizes == [1_000_000] * 9


# Refusals


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (Task(idempotency_key="k"), r"tasks\[1\].idempotency_key: a step of a chain may not have one"),
        (Task(unique="k"), r"tasks\[1\].unique: "),
        (Task(scope="k"), r"tasks\[1\].scope: "),
        (Task(after_any=True), r"tasks\[1\].after_any: True is not accepted in a chain"),
        (Task(priority=11), "priority: 11 is not accepted"),
    ],
)
async def test_a_chain_is_refused_before_anything_is_sent(queue: Queue, task: Task, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        await queue.chain(["first", task])
    assert (await queue.stats()).ready == 0


@pytest.mark.parametrize(
    ("tasks", "then", "text"),
    [
        ([], "then", "tasks: 0 of them are not accepted; allowed: 1 to 100,000"),
        (range(100_001), "then", "tasks: 100,001 of them are not accepted"),
        ("tasks", "then", "tasks must be a list, got str"),
        ([Task(id="x")], "then", r"tasks\[0\].id: a task that is gathered may not have one"),
        (["a", Task(parent="x")], "then", r"tasks\[1\].parent: "),
        ([Task(idempotency_key="x")], "then", r"tasks\[0\].idempotency_key: "),
        ([Task(unique="x")], "then", r"tasks\[0\].unique: "),
        ([Task(scope="x")], "then", r"tasks\[0\].scope: "),
        ([Task(priority=11)], "then", "priority: 11 is not accepted"),
        (["a"], Task(gather=1), "then.gather: 1 is not accepted; it is how many tasks there are"),
        (["a"], Task(priority=11), "priority: 11 is not accepted"),
        (["a"], Task(id="x" * 195), "id: 'xxx.* is not accepted"),
    ],
)
async def test_a_gather_is_refused_before_anything_is_sent(queue: Queue, tasks: Any, then: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        await queue.gather(tasks, then)
    stats = await queue.stats()
    assert (stats.ready, stats.blocked) == (0, 0)


# Cancelling


async def test_a_tree_is_cancelled_to_its_leaves(queue: Queue) -> None:
    root = await queue.gather(range(300), "then")
    grandchild = await queue.enqueue("deep", parent=f"{root.id}.00250")
    (running,) = await queue.claim("w1", 1)
    assert await queue.cancel(root.id, tree=True) == "cancelled"
    await sweep(queue, 10)
    found = [child.state async for child in queue.inspect.gathered(root.id)]
    assert found == ["running"] + ["cancelled"] * 299
    assert await states(queue, grandchild.id) == ["cancelled"]
    assert (await queue.leases.heartbeat_many([running]))[0].status == "cancelling"


async def test_without_the_tree_the_children_go_on(queue: Queue) -> None:
    root = await queue.gather(["a", "b"], "then")
    assert await queue.cancel_many([root.id, "nobody"]) == ["cancelled", "not_found"]
    assert await complete(queue) == ["a", "b"]
    assert await queue.cancel_many([root.id, "nobody"], tree=True) == ["cancelled", "not_found"]


def breaks_after(adeq: Adeq, sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on so many calls are sent, and then none."""
    send: Any = adeq.send
    left = sent

    async def count(call: Any, retry_for: float | None = None) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TransportError("gone", retryable=True, may_have_applied=False)
        return await send(call, retry_for)

    monkeypatch.setattr(adeq, "send", count)
