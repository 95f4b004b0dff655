"""What a task says of those that it comes after, and what is answered for one that there is not."""

import asyncio
import pickle
from typing import Any

import pytest

from pyadeq import BadArgument, Lease, Receipt, TaskContext, Tasks
from pyadeq._core.kernel.sending import Deferred, decoded
from pyadeq._core.queue.calls import QueueCalls
from pyadeq._core.queue.items import envelope
from pyadeq.errors import ConfigError, DurabilityError, UnknownTask
from pyadeq.models import Receipt as PlainReceipt
from pyadeq.models import Task, TaskView

CALLS = QueueCalls("ade:{queue:a}")
UNKNOWN = [b"ok", 1, [[b"created"], [b"unknown", b"z"], [b"deduplicated", b"d"], [b"unknown", b"b"]]]


def enqueue() -> Any:
    return CALLS.enqueue([(id, Task()) for id in "abcd"], "r")


@pytest.mark.parametrize(
    ("after", "ids"),
    [
        ("a", ["a"]),
        (PlainReceipt("deduplicated", "a"), ["a"]),
        (["a", PlainReceipt("created", "b")], ["a", "b"]),
        (("a",), ["a"]),
    ],
)
def test_what_a_task_comes_after_are_ids_and_receipts(after: Any, ids: list[str]) -> None:
    assert envelope(Task(after=after))["after"] == ids
    assert envelope(Task.model_construct(after=after))["after"] == ids


def test_what_is_at_its_default_is_left_out() -> None:
    assert envelope(Task(after=[])) == {}
    pairs = envelope(Task(after="a", after_any=True, after_when="ended", gather=3))
    assert pairs == {"after": ["a"], "after_any": True, "after_when": "ended", "gather": 3}


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"after": 5}, "after must be a list, got int"),
        ({"after": Task()}, "after must be a list, got Task"),
        ({"after": ["a", 5]}, "after: ids or receipts of tasks, got int"),
        ({"after": [None]}, "after: ids or receipts of tasks, got NoneType"),
        ({"after": "a b"}, "after: 'a b' is not accepted; allowed: ids of 1 to 200"),
        ({"after": [str(n) for n in range(65)]}, "after: .* is not accepted; allowed: a list of 1 to 64 ids"),
        ({"after": "a", "after_when": "dead"}, "after_when: 'dead' is not accepted; allowed: completed or failed or"),
        ({"after": "a", "after_any": 1}, "after_any: 1 is not accepted; allowed: True or False"),
        ({"after_any": True}, "after_any: it says how tasks are waited for; name them with after"),
        ({"after_when": "ended"}, "after_when: it says how tasks are waited for; name them with after"),
        ({"gather": 0}, "gather: 0 is not accepted; allowed: an integer from 1 to 100000"),
        ({"gather": 100_001}, "gather: 100001 is not accepted"),
    ],
)
def test_what_does_not_fit_is_refused(options: dict[str, Any], text: str) -> None:
    task = Task().model_copy(update=options)  # as enqueue makes it: unchecked
    with pytest.raises(BadArgument, match=text):
        CALLS.enqueue([("x", task)], "r")


def test_functions_have_the_options_too() -> None:
    tasks = Tasks()

    @tasks.task(after_when="ended")
    def work() -> None: ...

    task = work.options(after=["a"], after_any=True, gather=2).item()
    assert (task.after, task.after_any, task.after_when, task.gather) == (["a"], True, "ended", 2)


# UnknownTask


def test_a_receipt_is_never_unknown() -> None:
    with pytest.raises(UnknownTask) as raised:
        enqueue().decode(UNKNOWN)
    error = raised.value
    assert (error.id, error.missing) == ("b", "z")
    assert error.receipts == [PlainReceipt("created", "a"), None, PlainReceipt("deduplicated", "d"), None]
    assert str(error) == (
        "task 'b' was not made (1 more were not, either): it is to come after 'z', and there is no such task, or no "
        "longer, or it is the parent that gathers this task and so waits for it; "
        "enqueue that one first, or leave it out of `after`, and make the call again with the same rid"
    )
    assert not hasattr(error, "retryable")


def test_it_can_be_sent_to_another_process() -> None:
    error = pickle.loads(pickle.dumps(UnknownTask("b", "z", [None])))
    assert (error.id, error.missing, error.receipts) == ("b", "z", [None])


def test_what_is_not_confirmed_is_said_first() -> None:
    unconfirmed = DurabilityError("it was applied, but", UNKNOWN)
    with pytest.raises(DurabilityError) as raised:
        decoded(enqueue(), unconfirmed)
    assert raised.value.answer == [PlainReceipt("created", "a"), None, PlainReceipt("deduplicated", "d"), None]
    assert isinstance(raised.value.__cause__, UnknownTask)


def test_a_pipeline_has_it_as_the_value() -> None:
    deferred = Deferred(enqueue())
    deferred.settle(UNKNOWN)
    with pytest.raises(UnknownTask):
        _ = deferred.value


# In a handler


def lease(**record: bytes) -> Lease:
    return Lease("t", "token", 7, 2, 3, 0.0, b"", record)


def test_a_handler_knows_what_its_task_came_after() -> None:
    assert TaskContext(lease(after=b"a,b")).after == ("a", "b")
    assert TaskContext(lease()).after == ()


async def test_a_context_without_a_queue_gathers_nothing() -> None:
    with pytest.raises(ConfigError, match="this context has no queue; in a test"):
        _ = [child async for child in TaskContext(lease()).gathered()]


def test_a_context_without_an_event_loop_gathers_nothing() -> None:
    with pytest.raises(ConfigError, match="this context has no queue"):
        list(TaskContext(lease()).gathered())


class Pages:
    """In the place of a queue."""

    async def _gathered_page(self, id: str, cursor: str) -> tuple[list[TaskView], str]:
        page = int(cursor or 0)
        found = [TaskView.model_construct(id=f"{id}.{page}.{n}", state="completed") for n in range(page)]
        return found, str(page + 1) if page < 3 else ""


async def test_the_children_are_read_page_by_page_also_from_a_thread() -> None:
    queue: Any = Pages()
    context = TaskContext(lease(), queue)
    ids = [child.id async for child in context.gathered()]
    assert ids == ["t.1.0", "t.2.0", "t.2.1", "t.3.0", "t.3.1", "t.3.2"]
    gathered = context.gathered()
    assert await asyncio.to_thread(lambda: [child.id for child in gathered]) == ids
    with pytest.raises(ConfigError, match="on the event loop, read it with `async for`"):
        list(gathered)


def test_a_receipt_that_waits_is_one_too() -> None:
    assert issubclass(Receipt, PlainReceipt)
