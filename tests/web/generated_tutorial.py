"""What a user does with a generated client, the package `made`. `mypy` checks it together with that package.

python generated_tutorial.py URL
"""

from __future__ import annotations

import sys
import threading
from typing import TypeVar

from httpx import Timeout
from made import Client
from made.api.lock import lock_acquire, lock_release
from made.api.task import task_cancel, task_enqueue, task_get, task_list
from made.api.work import queue_claim, queue_settle
from made.models.ack import Ack
from made.models.claim_body import ClaimBody
from made.models.new_task import NewTask
from made.models.problem import Problem
from made.models.settle_body import SettleBody
from made.models.task_list_state_type_0 import TaskListStateType0
from made.models.task_receipt import TaskReceipt
from made.models.wanted import Wanted

QUEUE = "words"
T = TypeVar("T")


def got(answer: T | Problem | None) -> T:
    """The answer, which must not be a problem."""
    assert answer is not None
    assert not isinstance(answer, Problem), answer
    return answer


def enqueue(client: Client, task: NewTask) -> str:
    """Enqueue a task. Returns its id."""
    receipt = task_enqueue.sync(QUEUE, client=client, body=task)
    assert isinstance(receipt, TaskReceipt), receipt
    id: str = receipt.id
    return id


def work(client: Client) -> None:
    """Claim a task as soon as there is one, and settle it."""
    body = ClaimBody(worker="w1", wait=30)
    (lease,) = got(queue_claim.sync(QUEUE, client=client, body=body, idempotency_key="run.1")).leases
    ack = Ack(id=lease.id, token=lease.token, result={"words": len(str(lease.payload).split())})
    settled = got(queue_settle.sync(QUEUE, client=client, body=SettleBody(acks=[ack])))
    assert [one["status"] for one in settled.to_dict()["acks"]] == ["completed"]


def main(url: str) -> None:
    """Enqueue, wait, claim, settle, cancel, a lock, and pages of tasks."""
    client = Client(base_url=url, timeout=Timeout(60))
    id = enqueue(client, NewTask(payload="one two three", user="ann"))
    worker = threading.Thread(target=work, args=[client])
    worker.start()
    ended = got(task_get.sync(QUEUE, id, client=client, prefer="wait=30"))
    worker.join()
    assert (ended.state, ended.result) == ("completed", {"words": 3})
    later = [enqueue(client, NewTask(delay=600, user="ann", id=f"a/{n}")) for n in range(3)]
    assert got(task_cancel.sync(QUEUE, later[0], client=client)).status == "cancelled"
    first = got(task_list.sync(QUEUE, client=client, state=TaskListStateType0.DELAYED, user="ann", limit=1))
    rest = got(
        task_list.sync(
            QUEUE, client=client, state=TaskListStateType0.DELAYED, user="ann", limit=10, cursor=first.cursor
        )
    )
    assert sorted(task.id for task in [*first.items, *rest.items]) == ["a/1", "a/2"]
    lock = got(lock_acquire.sync("git", client=client, body=Wanted(owner="ann", resource="repo:a", ttl=30)))
    assert lock.status == "granted"
    assert got(lock_release.sync("git", lock.id, client=client)).status == "released"
    problem = task_get.sync(QUEUE, "nosuch", client=client)
    assert isinstance(problem, Problem)
    assert problem.code == "NOT_FOUND"


if __name__ == "__main__":
    main(sys.argv[1])
