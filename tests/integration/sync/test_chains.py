# Generated from tests/integration/aio/test_chains.py by pyadeq/_unasync.py; do not edit.
"""Tasks that wait for others: one after the other, one after many, and what becomes of those behind a failure."""

from typing import Any

import pytest

from pyadeq import Adeq, BadArgument, Lease, Queue, Receipt, Task, TransportError, UnknownTask


def claim(queue: Queue) -> list[Lease]:
    return queue.claim("w1", 1000)


def complete(queue: Queue) -> list[Any]:
    """Complete all that is in line, each with its payload as the result; their payloads in order."""
    leases = claim(queue)
    queue.ack_many([(lease, lease.payload) for lease in leases])
    return [lease.payload for lease in leases]


def fail(queue: Queue) -> None:
    for lease in claim(queue):
        queue.fail(lease, "no use", reason="bad", retryable=False)


def sweep(queue: Queue, calls: int) -> None:
    """Claims that find nothing for them: each sees to a hundred of what ends mean for others."""
    for _ in range(calls):
        assert queue.claim("w2", 1, lanes=["group/nobody"]) == []


def states(queue: Queue, *ids: str) -> list[str]:
    return [task.state if task else "none" for task in queue.get_many(ids)]


def view(queue: Queue, id: str) -> Any:
    task = queue.get(id)
    assert task
    return task


# after


def test_a_task_comes_after_ids_and_receipts(queue: Queue) -> None:
    first = queue.enqueue("first")
    queue.enqueue("second", id="second")
    last = queue.enqueue("last", after=[first, "second", first.id])
    task = view(queue, last.id)
    assert (task.state, task.awaits, task.after_when, task.after_any) == ("blocked", 2, "completed", False)
    assert task.after == (first.id, "second", first.id)
    assert (queue.stats()).blocked == 1
    assert complete(queue) == ["first", "second"]
    task = view(queue, last.id)
    assert (task.state, task.awaits) == ("ready", None)
    (lease,) = claim(queue)
    assert (lease.id, lease.after) == (last.id, task.after)


def test_one_that_waits_for_nothing_says_so(queue: Queue) -> None:
    receipt = queue.enqueue("alone")
    task = view(queue, receipt.id)
    assert (task.after, task.after_any, task.after_when, task.gather, task.awaits) == ((), None, None, None, None)
    (lease,) = claim(queue)
    assert lease.after == ()


def test_one_receipt_or_id_may_stand_alone(queue: Queue) -> None:
    first = queue.enqueue("first", id="first")
    second = queue.enqueue("second", after=first)
    third = queue.enqueue("third", after="first")
    assert states(queue, second.id, third.id) == ["blocked", "blocked"]
    assert complete(queue) == ["first"]
    assert complete(queue) == ["second", "third"]


def test_any_of_them_is_enough(queue: Queue) -> None:
    receipts = queue.enqueue_many(["a", "b"])
    last = queue.enqueue("last", after=receipts, after_any=True)
    assert (view(queue, last.id)).after_any is True
    (lease,) = queue.claim("w1", 1)
    queue.ack(lease)
    assert states(queue, last.id) == ["ready"]


def test_who_waits_for_the_result_hears_that_there_will_be_none(queue: Queue) -> None:
    first = queue.enqueue("first")
    last = queue.enqueue("last", after=first, reply=True)
    queue.cancel(first.id)
    outcome = queue.inspect.ended(last.id, 0)
    assert (outcome.status, outcome.reason) == ("dead", "after_failed")
    assert (queue.dead.retry(last.id)).status == "retried"
    assert states(queue, last.id) == ["ready"]


# A task that there is not


def test_a_task_after_one_that_there_is_not_is_an_error(queue: Queue) -> None:
    with pytest.raises(UnknownTask, match=r"^task 'b' was not made: it is to come after 'a', and") as raised:
        queue.enqueue("b", id="b", after="a")
    assert (raised.value.id, raised.value.missing, raised.value.receipts) == ("b", "a", [None])
    assert states(queue, "b") == ["none"]
    queue.enqueue("p", id="p", gather=1)
    with pytest.raises(UnknownTask, match="or it is the parent that gathers this task and so waits for it") as raised:
        queue.enqueue("c", id="c", parent="p", after="p")
    assert (raised.value.missing, states(queue, "c")) == ("p", ["none"])


def test_all_others_are_made_and_the_same_call_again_makes_the_rest(queue: Queue) -> None:
    tasks = [Task(id="b", after=["a"]), *[Task(payload=n) for n in range(1500)], Task(id="c", after=["b"])]
    with pytest.raises(UnknownTask, match=r"task 'b' was not made \(1 more were not, either\)") as raised:
        queue.enqueue_many(tasks, rid="r1")
    receipts = raised.value.receipts
    assert (len(receipts), receipts[0], receipts[-1]) == (1502, None, None)
    assert all(isinstance(one, Receipt) and one.status == "created" for one in receipts[1:-1])
    queue.enqueue("a", id="a")
    again = queue.enqueue_many(tasks, rid="r1")
    assert {one.status for one in again} == {"created"}
    stats = queue.stats()
    assert (stats.ready, stats.blocked) == (1501, 2)


def test_a_stream_goes_on_to_its_end(queue: Queue) -> None:
    tasks = [Task(id="b", after="a"), *range(1200)]
    made: list[Receipt] = []

    def send() -> None:
        for receipt in queue.enqueue_stream(iter(tasks), rid="r1"):
            made.append(receipt)

    with pytest.raises(UnknownTask) as raised:
        send()
    assert (len(made), raised.value.id) == (1200, "b")


def test_a_pipeline_gives_the_error_with_the_value(adeq: Adeq, queue: Queue) -> None:
    with adeq.pipeline() as pipe:
        made = pipe.add(queue.calls.enqueue([("x", Task())], "r1"))
        unmade = pipe.add(queue.calls.enqueue([("y", Task(after="z"))], "r2"))
    assert made.value[0].status == "created"
    with pytest.raises(UnknownTask):
        _ = unmade.value


# chain


def test_a_chain_runs_one_after_the_other(queue: Queue) -> None:
    before = queue.enqueue("before")
    receipts = queue.chain(["a", Task(payload="b", kind="k"), {"c": 1}], after=before)
    assert states(queue, *[one.id for one in receipts]) == ["blocked"] * 3
    assert [complete(queue) for _ in range(5)] == [["before"], ["a"], ["b"], [{"c": 1}], []]


def test_a_long_chain_may_be_made_again(queue: Queue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks_after(adeq, 2, monkeypatch)
    with pytest.raises(TransportError):
        queue.chain(range(2500), rid="r1")
    monkeypatch.undo()
    assert (queue.stats()).blocked == 1999
    receipts = queue.chain(range(2500), rid="r1")
    assert [one.id for one in receipts] == [f"r1.{n}" for n in range(2500)]
    assert {one.status for one in receipts} == {"created"}
    stats = queue.stats()
    assert (stats.ready, stats.blocked) == (1, 2499)
    assert [(complete(queue))[0] for _ in range(5)] == [0, 1, 2, 3, 4]


def test_each_step_says_what_it_waits_for(queue: Queue) -> None:
    other = queue.enqueue("other", id="other")
    steps = [Task(payload="first", after_when="ended"), Task(payload="anyhow", after_when="ended"), "last"]
    queue.chain([*steps, Task(payload="both", after=other)], rid="r1")
    assert (view(queue, "r1.0")).after_when is None
    assert (view(queue, "r1.3")).after == ("r1.2", "other")
    assert complete(queue) == ["other", "first"]
    fail(queue)
    assert states(queue, "r1.1", "r1.2", "r1.3") == ["dead", "dead", "dead"]


def test_no_steps_are_no_chain(queue: Queue) -> None:
    assert queue.chain([]) == []


# gather


def test_one_task_comes_after_many_and_finds_their_results(queue: Queue) -> None:
    receipt = queue.gather(range(1100), Task(payload="sum", kind="sum", reply=True))
    task = view(queue, receipt.id)
    assert (task.state, task.gather, task.awaits, task.after_when) == ("blocked", 1100, 1100, "completed")
    assert complete(queue) + complete(queue) == list(range(1100))
    sweep(queue, 10)
    assert complete(queue) == ["sum"]
    assert receipt.result(0) == "sum"
    found = [child for child in queue.inspect.gathered(receipt.id)]
    assert [child.result for child in found] == list(range(1100))
    assert [child.id for child in found] == [f"{receipt.id}.{n:05}" for n in range(1100)]
    assert {(child.state, child.parent) for child in found} == {("completed", receipt.id)}


def test_what_is_gathered_may_fail(queue: Queue) -> None:
    strict = queue.gather(["a", "b"], "strict")
    patient = queue.gather(["c", "d"], Task(payload="patient", after_when="ended"))
    first = queue.gather(["e", "f"], Task(payload="first", after_any=True))
    leases = claim(queue)
    assert [lease.payload for lease in leases] == ["a", "b", "c", "d", "e", "f"]
    for lease in leases:
        if lease.payload in "ace":
            queue.fail(lease, "no use", retryable=False)
    assert states(queue, strict.id, patient.id, first.id) == ["dead", "blocked", "blocked"]
    assert (view(queue, strict.id)).reason == "after_failed"
    queue.ack_many([(lease, 1) for lease in leases if lease.payload not in "ace"])
    assert states(queue, strict.id, patient.id, first.id) == ["dead", "ready", "ready"]
    assert [child.state for child in queue.inspect.gathered(patient.id)] == ["dead", "completed"]


def test_a_gather_may_be_made_again(queue: Queue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch) -> None:
    breaks_after(adeq, 2, monkeypatch)
    with pytest.raises(TransportError):
        queue.gather(range(1500), "then", rid="r1")
    monkeypatch.undo()
    assert (complete(queue))[-1] == 999
    sweep(queue, 9)
    assert (view(queue, "r1")).awaits == 500
    receipt = queue.gather(range(1500), "then", rid="r1")
    assert (receipt.status, receipt.id) == ("created", "r1")
    assert (complete(queue))[0] == 1000
    sweep(queue, 4)
    assert complete(queue) == ["then"]
    assert (queue.stats()).counters["enqueued"] == 1501


def test_what_gathers_may_be_lost_before_its_children_come(
    queue: Queue, adeq: Adeq, monkeypatch: pytest.MonkeyPatch
) -> None:
    send: Any = adeq.send

    def lose(call: Any, retry_for: float | None = None) -> Any:
        answer = send(call, retry_for)
        monkeypatch.undo()
        adeq.client.unlink(*(f"{queue.base}:{name}" for name in ("task:r1", "payload:r1", "blocked")))
        return answer

    monkeypatch.setattr(adeq, "send", lose)
    with pytest.raises(UnknownTask, match=r"^task 'r1.00000' was not made \(2 more") as raised:
        queue.gather(range(3), "then", rid="r1")
    assert raised.value.missing == "r1"
    assert raised.value.__notes__ == ["'r1' is what gathers it: the server has lost it, or it was deleted since"]
    queue.gather(range(3), "then", rid="r1")
    assert complete(queue) == [0, 1, 2]
    assert complete(queue) == ["then"]


def test_where_another_stands_for_it_nothing_is_gathered(queue: Queue) -> None:
    queue.enqueue("taken", id="taken", unique="u")
    assert (queue.gather(["a"], Task(id="taken"))).status == "exists"
    receipt = queue.gather(["a"], Task(unique="u"))
    assert (receipt.status, receipt.id) == ("deduplicated", "taken")
    assert complete(queue) == ["taken"]
    assert complete(queue) == []


def test_gather_and_chain_go_together(queue: Queue) -> None:
    first = queue.enqueue("first")
    both = queue.gather(["a", Task(payload="b", after=first)], Task(payload="both", after=first))
    queue.chain(["c", "d"], after=both)
    assert [complete(queue) for _ in range(5)] == [["first", "a"], ["b"], ["both"], ["c"], ["d"]]


def test_of_a_task_without_children_nothing_is_gathered(queue: Queue) -> None:
    assert [child for child in queue.inspect.gathered("nobody")] == []


def test_large_results_are_gathered_too(queue: Queue) -> None:
    receipt = queue.gather(range(9), "then")
    queue.ack_many([(lease, b"x" * 1_000_000) for lease in claim(queue)])
    sizes = [len(child.result_data or b"") for child in queue.inspect.gathered(receipt.id)]
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
def test_a_chain_is_refused_before_anything_is_sent(queue: Queue, task: Task, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        queue.chain(["first", task])
    assert (queue.stats()).ready == 0


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
def test_a_gather_is_refused_before_anything_is_sent(queue: Queue, tasks: Any, then: Any, text: str) -> None:
    with pytest.raises(BadArgument, match=text):
        queue.gather(tasks, then)
    stats = queue.stats()
    assert (stats.ready, stats.blocked) == (0, 0)


# Cancelling


def test_a_tree_is_cancelled_to_its_leaves(queue: Queue) -> None:
    root = queue.gather(range(300), "then")
    grandchild = queue.enqueue("deep", parent=f"{root.id}.00250")
    (running,) = queue.claim("w1", 1)
    assert queue.cancel(root.id, tree=True) == "cancelled"
    sweep(queue, 10)
    found = [child.state for child in queue.inspect.gathered(root.id)]
    assert found == ["running"] + ["cancelled"] * 299
    assert states(queue, grandchild.id) == ["cancelled"]
    assert (queue.leases.heartbeat_many([running]))[0].status == "cancelling"


def test_without_the_tree_the_children_go_on(queue: Queue) -> None:
    root = queue.gather(["a", "b"], "then")
    assert queue.cancel_many([root.id, "nobody"]) == ["cancelled", "not_found"]
    assert complete(queue) == ["a", "b"]
    assert queue.cancel_many([root.id, "nobody"], tree=True) == ["cancelled", "not_found"]


def breaks_after(adeq: Adeq, sent: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on so many calls are sent, and then none."""
    send: Any = adeq.send
    left = sent

    def count(call: Any, retry_for: float | None = None) -> Any:
        nonlocal left
        left -= 1
        if left < 0:
            raise TransportError("gone", retryable=True, may_have_applied=False)
        return send(call, retry_for)

    monkeypatch.setattr(adeq, "send", count)
