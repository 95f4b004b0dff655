# Generated from pyadeq/_async/change/follow.py by pyadeq/_unasync.py; do not edit.
"""Tasks that follow steps of changes, and that the server has not enqueued with the step."""

from __future__ import annotations

import logging

from pyadeq._sync.change.base import ChangesBase
from pyadeq._core.change.follow import FOLLOWED, follow_payload, is_follow
from pyadeq._core.kernel.nouncalls import Result
from pyadeq.errors import AdeqError
from pyadeq.ids import new_ulid
from pyadeq.models.change import Delivered

OWN = 10
"""Tasks that a client delivers after a step of its own, at most. The step has added one."""

log = logging.getLogger("pyadeq.changes")


class Following(ChangesBase):
    """The part of a change domain for tasks that follow steps."""

    def deliver(self, limit: int = 100) -> Delivered:
        """Enqueue tasks that follow steps of changes and are not in the queue yet. At most `limit`, 1 to 100.

        A client enqueues what follows its own steps. Call this regularly if policies name tasks, from one program or
        many: for steps that were due, such as a timeout, and for clients that failed. A task that comes twice is one
        task. If another task has the id of one, this one gets another id, and there is an event `change.alert`. Raises
        the error of the queue if that takes no tasks; they are due again after 30 s.
        """
        answer, count = self._call("outbox", limit=limit), 0
        while True:  # a second time for those that got another id
            done: list[tuple[str, int]] = []
            taken: list[tuple[str, int, str]] = []
            try:
                for one in answer.items:
                    delivered = self._enqueue(answer.queue, one)
                    if delivered:
                        done.append((one.id, one.seq))
                    elif delivered is not None:
                        taken.append((one.id, one.seq, new_ulid()))
            finally:
                if done or taken:
                    answer = self._call("outbox", limit=len(taken), item=done, taken=taken)
            count += len(done)
            if not taken:
                break
        return Delivered(delivered=count, left=answer.left)

    def _enqueue(self, name: str, one: Result) -> bool | None:
        """Enqueue a task. False: another task has its id. None: a task had its id, and is gone now."""
        queue, payload = self._runner.noun("queue", name), follow_payload(self.name, one)
        receipt = queue.enqueue(payload, id=one.task_id, kind=one.kind, lane=one.lane, priority=one.priority)
        if receipt.status == "created":
            return True
        task = queue.get(one.task_id)
        return None if task is None else is_follow(task, one, payload)

    def _follow_up(self, *steps: str) -> None:
        """Enqueue the tasks that follow these steps of this client. What fails here is due again after 30 s."""
        if FOLLOWED.isdisjoint(steps):
            return
        try:
            if self._named("follow_queue"):
                self.deliver(OWN)
        except AdeqError as error:
            log.info("the tasks that follow steps of %s are enqueued later: %s", self.name, error)
