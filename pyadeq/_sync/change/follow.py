# Generated from pyadeq/_async/change/follow.py by pyadeq/_unasync.py; do not edit.
"""Tasks that follow steps of changes, and that the server has not enqueued with the step."""

from __future__ import annotations

import logging

from pyadeq._sync.change.base import ChangesBase
from pyadeq._core.change.follow import FOLLOWED, follow_payload
from pyadeq.errors import AdeqError, TransportError
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
        task. Nobody else can know the id of a task before. If the queue refuses one, the others are enqueued, and the
        error is raised then; it is due again after 30 s.
        """
        answer = self._call("outbox", limit=limit, random=new_ulid())
        done: list[tuple[str, int]] = []
        refused: AdeqError | None = None
        try:
            for one in answer.items:
                queue = self._runner.noun("queue", answer.queue)
                payload = follow_payload(self.name, one)
                try:
                    queue.enqueue(payload, id=one.task_id, kind=one.kind, lane=one.lane, priority=one.priority)
                except TransportError:
                    raise
                except AdeqError as error:
                    refused = refused or error
                    continue
                done.append((one.id, one.seq))
        finally:
            if done:
                answer = self._call("outbox", limit=0, item=done)
        if refused:
            raise refused
        return Delivered(delivered=len(done), left=answer.left)

    def _follow_up(self, *steps: str) -> None:
        """Enqueue the tasks that follow these steps of this client. What fails here is due again after 30 s."""
        if FOLLOWED.isdisjoint(steps):
            return
        try:
            if self._named("follow_queue"):
                self.deliver(OWN)
        except AdeqError as error:
            log.info("the tasks that follow steps of %s are enqueued later: %s", self.name, error)
