"""Limits of queues: what is limited, how much is in use, who holds it and who waits; and the weights of users."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from fastapi import Query, Request, Response

from pyadeq.asyncio import Limit, LimitUse, Queue, TaskView
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.board.per_queue import Chosen, Page, first_tasks, of_queues, parts_of
from pyadeq.ext.server.gate import Access
from pyadeq.keys import check_name

MOST: Final = 100
"""Limits that a page shows, and users with a weight, at most."""
MOST_TASKS: Final = 200
"""Running and blocked tasks that are looked at for a key, at most."""
PERIODS: Final = (1, 60, 3600, 86_400)
"""The periods of rates in forms, in seconds."""
EACH: Final = ":*"
"""The end of a limit that applies to each key of a kind."""

router = pages()


class Row(NamedTuple):
    """A limit, and its use. None for one that applies to each key of a kind: each is counted by itself.

    full: the partitions in which no more tasks may run.
    """

    limit: Limit
    use: LimitUse | None
    full: int

    @property
    def pace(self) -> tuple[object, object]:
        """The rate for a form: a number of starts, and in how many seconds; two empty texts if there is no rate."""
        rate = self.limit.rate
        if rate is None:
            return "", ""
        for period in PERIODS:
            starts = round(rate * period)
            if starts and abs(rate * period - starts) < 1e-6 * starts:
                return starts, period
        return 1, round(1 / rate, 3)


class Rules(NamedTuple):
    """The limits and weights of a queue. limits, users: how many there are. fair: whether the weights apply.

    partitions: of the queue; each has the limits for its own tasks.
    """

    rows: list[Row]
    limits: int
    weights: dict[str, float]
    users: int
    fair: bool
    partitions: int


class Use(NamedTuple):
    """A key: its use, and the tasks that run and wait, of the first that do."""

    use: LimitUse
    now: float
    running: list[TaskView]
    waiting: list[TaskView]
    partitions: int


@router.get("/limits")
async def limits(
    request: Request, queue: Chosen = "", page: Page = 1, key: Annotated[str, Query(max_length=300)] = ""
) -> Response:
    """The limits of a queue, or of all. key: also show who holds and who waits for this key of the queue."""
    found = await of_queues(request, "limits", queue, page, _rules)
    use = None
    if queue and key:
        check_name("key", key, "limit")

        async def used(access: Access) -> Use:
            return await _use(access, key)

        use = (await of_queues(request, f"limit {key}", queue, 1, used)).parts[0]
    return await render(request, "limits.html", found=found, queue=queue, key=key, use=use, most=MOST_TASKS)


async def _rules(access: Access) -> Rules:
    limits, weights = await access.found.limits.list(), await access.found.shares.list()
    shown = limits[:MOST]
    of_parts = await parts_of(access.found)
    uses = await _uses(access, of_parts, [limit.key for limit in shown if not limit.key.endswith(EACH)])
    return Rules(
        [uses.get(limit.key) or Row(limit, None, 0) for limit in shown],
        len(limits),
        dict(list(weights.items())[:MOST]),
        len(weights),
        (await access.found.settings()).fair,
        len(of_parts),
    )


async def _uses(access: Access, parts: list[Queue], keys: list[str]) -> dict[str, Row]:
    """The use of some keys that have a limit, in all partitions of the queue together."""
    if not keys:
        return {}
    by_part = [(await access.adeq.send(part.calls.limits(keys)))[2] for part in parts]
    together = [(LimitUse.in_all(of_part), sum(map(_is_full, of_part))) for of_part in zip(*by_part, strict=True)]
    return {use.key: Row(use.limit, use, full) for use, full in together if use.limit}


def _is_full(use: LimitUse) -> bool:
    return use.limit is not None and use.limit.concurrency is not None and use.running >= use.limit.concurrency


async def _use(access: Access, key: str) -> Use:
    running = await first_tasks(access.found, "running", MOST_TASKS)
    blocked = await first_tasks(access.found, "blocked", MOST_TASKS)
    return Use(
        await access.found.limits.get(key),
        (await access.found.stats()).now,
        [task for task in running if _counts(task, key)],
        [task for task in blocked if task.limited_by == key],
        len(await parts_of(access.found)),
    )


def _counts(task: TaskView, key: str) -> bool:
    """Whether a running task is one of a key."""
    kind, _, word = key.partition(":")
    return {
        "all": True,
        "user": task.user == word,
        "tag": word in task.tags,
        "key": word in task.limits,
    }.get(kind, False)
