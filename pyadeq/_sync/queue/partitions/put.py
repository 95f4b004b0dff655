# Generated from pyadeq/_async/queue/partitions/put.py by pyadeq/_unasync.py; do not edit.
"""Enqueueing into a partitioned queue: each task goes to the partition of its keys."""

from __future__ import annotations

from collections.abc import Iterable
from time import monotonic
from typing import Any

from pyadeq._sync.queue.partitions.follow import FollowingPart
from pyadeq._sync.queue.produce import as_task, carrying, ids_of
from pyadeq._sync.queue.results import Receipt, bound, bound_or_none, result_of
from pyadeq._core.kernel.options import refuse_single
from pyadeq._core.queue.items import apart, item
from pyadeq._core.queue.partition_delivery import Delivery, Parcel
from pyadeq._core.queue.partitions import PartitionMap
from pyadeq._twins import sleep
from pyadeq.errors import AdeqError, DurabilityError, TransportError, UnknownTask
from pyadeq.ids import new_ulid
from pyadeq.models.base import Seconds, to_ms
from pyadeq.models.queue import Task
from pyadeq.models.worker import Outcome

LEARNS_FOR = 5.0
"""Seconds to wait for the new map, after a partition has answered with a newer epoch."""


class Putting(FollowingPart):
    """The part of a partitioned queue for enqueueing tasks."""

    _turn = 0

    def enqueue(
        self, payload: Any = None, *, id: str | None = None, rid: str | None = None, **task: Any
    ) -> Receipt:
        """Enqueue one task. `Task` describes the options, and may be given as the payload; answer and errors are those
        of `Queue.enqueue`.

        The partition is decided by the ordering key, idempotency key, unique key, scope, limit keys, parent, earlier
        tasks and your own id. Raises BadArgument if these do not all belong to one partition. A task without any goes
        to the next partition in turn.
        """
        payload, options = apart(payload, task if id is None else {"id": id, **task})
        return (self.enqueue_many([Task.model_construct(payload=payload, **options)], rid=rid))[0]

    def run(self, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> Any:
        """Enqueue a task and wait for its result, at most `wait` seconds; see `Queue.run`."""
        return result_of(*self._run_to_end(payload, wait=wait, **options))

    def _run_to_end(self, payload: Any = None, *, wait: Seconds = 60.0, **options: Any) -> tuple[str, Outcome]:
        """Enqueue a task and wait for its end, however it ends. Returns its id and its outcome. Raises WaitTimeout."""
        payload, options = apart(payload, options)
        until = monotonic() + to_ms("wait", wait) / 1000
        receipt = self.enqueue(payload, **{"reply": True, **options})
        return receipt.id, self._wait_for_end(receipt.id, max(until - monotonic(), 0.0))

    def enqueue_many(self, tasks: Iterable[Any], *, rid: str | None = None) -> list[Receipt]:
        """Enqueue many tasks: Task models, or payloads; those of one partition in their order.

        Errors are those of `Queue.enqueue_many`. A task without an id gets one that names its partition.

        rid: the ids are derived from it. With the same rid, a repeated call returns the same and creates nothing twice.
        """
        refuse_single("tasks", tasks)
        if (tracing := self._runner.tracing) is None:
            return self._deliver(tasks, rid)
        with tracing.enqueue(self.name, ids_of(tasks), None) as sending:
            receipts = self._deliver(carrying(tasks, sending), rid)
            sending.receipts(receipts)
            return receipts

    def _deliver(self, tasks: Iterable[Any], rid: str | None) -> list[Receipt]:
        delivery = Delivery([_parcel(index, as_task(one), rid) for index, one in enumerate(tasks)], self._turn)
        self._turn += 1
        known = self._fresh()
        delivery.address(known)
        until = monotonic() + LEARNS_FOR
        while not delivery.done:
            if not self._send_on(delivery, known, rid or new_ulid()):
                before, known = known, self._read()
                if known.epoch <= before.epoch:  # a partition knows more than the queue's own base
                    if monotonic() > until and delivery.refusal is not None:
                        raise delivery.refusal
                    sleep(0.1)
                delivery.address(known)
        try:
            return bound(self, delivery.receipts())
        except UnknownTask as error:
            error.receipts = bound_or_none(self, error.receipts)
            raise

    def _send_on(self, delivery: Delivery, known: PartitionMap, rid: str) -> bool:
        """Send one call to each partition that must be asked. Returns False if the map is too old."""
        pipeline = self._runner.pipeline()
        sent = []
        for shipment in delivery.shipments():
            call = self.part(shipment.tag).calls.enqueue_items(
                [parcel.item() for parcel in shipment.parcels],
                f"{rid}.{known.epoch}.{shipment.name}",
                epoch=known.epoch,
                moved=shipment.moved,
            )
            sent.append((shipment, pipeline.add(call)))
        lost: TransportError | None = None
        try:
            pipeline.execute()
        except DurabilityError:
            pass  # the error is stored with each unconfirmed call
        except TransportError as error:
            lost = error
        fits = True
        for shipment, deferred in sent:
            try:
                fits &= delivery.take(shipment, deferred.value)
            except AdeqError as error:
                if error is not lost:
                    fits &= delivery.take(shipment, error)
        if lost:
            raise lost
        return fits


def _parcel(index: int, task: Task, rid: str | None) -> Parcel:
    id, data, pairs = item(task.id or (f"{rid}.{index}" if rid else new_ulid()), task)
    return Parcel(index, id, "given" if task.id else "derived" if rid else "own", data, pairs)
