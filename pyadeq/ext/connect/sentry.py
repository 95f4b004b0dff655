"""Reports failures of handlers to Sentry, without what tasks contain. Needs the extra `sentry`.

Worker(queue, handler, middleware=[Sentry()])
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from typing import Any

from pyadeq.asyncio import Lease, TaskContext, TaskFailed
from pyadeq.errors import ConfigError
from pyadeq.tiers import may_show

try:
    import sentry_sdk
except ModuleNotFoundError as error:
    raise ConfigError("reports to Sentry need the extra `sentry`: pip install 'pyadeq[sentry]'") from error

PUT_ASIDE = ("unknown_kind", "unknown_version")
HIDDEN = "not shown: the task is restricted"

log = logging.getLogger("pyadeq.worker")


class Sentry:
    """Middleware of a worker. Call `sentry_sdk.init` before.

    An event has the error with its stack, the id, the attempt, the kind, the queue and the worker. It has no local
    variables, no source of data, and no breadcrumbs of Redis commands. Of a task of the tier `restricted`, the texts of
    errors are left out, too.

    ignore: exceptions that are not reported. Nor are cancelled runs, and tasks that are put aside for other workers.
    """

    def __init__(self, *, ignore: tuple[type[BaseException], ...] = ()) -> None:
        self._ignore = ignore

    async def __call__(self, lease: Lease, call_next: Callable[[Lease], Awaitable[Any]]) -> Any:
        """Run the handler, and report its failure."""
        try:
            return await call_next(lease)
        except Exception as error:
            put_aside = isinstance(error, TaskFailed) and error.reason in PUT_ASIDE
            if not put_aside and not isinstance(error, self._ignore):
                try:
                    _report(lease, error)
                except Exception as problem:  # the outcome of the task is as without it
                    log.warning("task %s: a failure was not reported to Sentry: %s", lease.id, type(problem).__name__)
            raise


def _report(lease: Lease, error: Exception) -> None:
    context = TaskContext.current()
    with sentry_sdk.new_scope() as scope:
        scope.set_transaction_name(lease.kind or "task")
        scope.set_tag("adeq.queue", context.queue_name)
        scope.set_tag("adeq.kind", lease.kind)
        scope.set_tag("adeq.worker", context.worker)
        scope.set_context("task", {"id": lease.id, "attempt": lease.attempt, "trace": context.trace})
        scope.add_event_processor(partial(_without_data, may_show(lease.tier, "error")))
        sentry_sdk.capture_exception(error)


def _without_data(texts: bool, event: Any, hint: Any) -> Any:
    """Take the values of variables out of an event, and the texts of errors if they must not be shown."""
    del hint
    for one in (event.get("exception") or {}).get("values", ()):
        for frame in (one.get("stacktrace") or {}).get("frames", ()):
            frame.pop("vars", None)
        if not texts:
            one["value"] = HIDDEN
    crumbs = event.get("breadcrumbs")
    if isinstance(crumbs, dict):
        crumbs["values"] = [one for one in crumbs.get("values", ()) if one.get("category") != "redis" and texts]
    return event
