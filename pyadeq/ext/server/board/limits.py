"""Limits of queues: what is limited, how much is in use, who holds it and who waits; and the weights of users."""

from __future__ import annotations

from typing import Annotated, Final, NamedTuple

from fastapi import Query, Request, Response

from pyadeq.asyncio import Limit, LimitUse, TaskView
from pyadeq.ext.server.board.page import pages, render
from pyadeq.ext.server.board.per_queue import Chosen, Page, first_tasks, of_queues, parts_of
from pyadeq.ext.server.gate import Access
from pyadeq.keys import check_name

MOST: Final = 100
"""Limits, and users with a weight, of a queue."""
MOST_TASKS: Final = 200
"""Running and blocked tasks that are looked at for a key."""
PERIODS: Final = (1, 60, 3600, 86_400)
"""Seconds."""
EACH: Final = ":*"
"""The end of a limit that applies to each key of a kind."""

router = pages()


class Row(NamedTuple):
    """A limit, and its use. None for one that applies to each key of a kind: each is counted by itself."""

    limit: Limit
    use: LimitUse | None

    @property
    def pace(self) -> tuple[object, object]:
        """Its rate as starts in a period of seconds, for a form; empty if it has none."""
        rate = self.limit.rate
        if rate is None:
            return "", ""
        for period in PERIODS:
            starts = round(rate * period)
            if starts and abs(rate * period - starts) < 1e-6 * starts:
                return starts, period
        return 1, round(1 / rate, 3)


class Rules(NamedTuple):
    """The limits and weights of a queue. limits, users: how many there are. fair: whether the weights apply."""

    rows: list[Row]
    limits: int
    weights: dict[str, float]
    users: int
    fair: bool


class Use(NamedTuple):
    """A key: its use, and the tasks that run and wait, of the first that do."""

    use: LimitUse
    now: float
    running: list[TaskView]
    waiting: list[TaskView]


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
    limits, weights = await access.found.limits.list(), await access.found.shares.all()
    shown = limits[:MOST]
    uses = await _uses(access, [limit.key for limit in shown if not limit.key.endswith(EACH)])
    return Rules(
        [Row(limit, uses.get(limit.key)) for limit in shown],
        len(limits),
        dict(list(weights.items())[:MOST]),
        len(weights),
        (await access.found.settings()).fair,
    )


async def _uses(access: Access, keys: list[str]) -> dict[str, LimitUse]:
    """The use of some keys, in all partitions of the queue together."""
    if not keys:
        return {}
    by_part = [(await access.adeq.send(part.calls.limits(keys)))[2] for part in await parts_of(access.found)]
    return {of_part[0].key: LimitUse.in_all(of_part) for of_part in zip(*by_part, strict=True)}


async def _use(access: Access, key: str) -> Use:
    running = await first_tasks(access.found, "running", MOST_TASKS)
    blocked = await first_tasks(access.found, "blocked", MOST_TASKS)
    return Use(
        await access.found.limits.inspect(key),
        (await access.found.inspect.stats()).now,
        [task for task in running if _counts(task, key)],
        [task for task in blocked if task.limited_by == key],
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
