"""A queue is brought to a newer layout only if its workers know it."""

from __future__ import annotations

from collections.abc import Iterable

from pyadeq._core.kernel.migration import newest_layout
from pyadeq.errors import ConflictError
from pyadeq.models.worker import WorkerInfo


def refuse_older(workers: Iterable[WorkerInfo]) -> None:
    """Raise ConflictError if a worker is of a release that does not know this layout: it could not settle its tasks."""
    older = [worker for worker in workers if worker.layout < newest_layout("queue")]
    if older:
        named = ", ".join(f"{one.name} (pyadeq {one.version}, {one.hostname}:{one.pid})" for one in older[:5])
        more = f" and {len(older) - 5} more" if len(older) > 5 else ""
        raise ConflictError(
            "ADEQ_CONFLICT",
            "queue.migrate.v1",
            f"workers that do not know layout {newest_layout('queue')} are alive: {named}{more}; "
            "upgrade or stop them first, or use force: they lose what they hold",
        )
