"""Copying the settings, limits and weights of a partition to a new one."""

from __future__ import annotations

from typing import Any, NamedTuple

from pyadeq._async.queue import Queue
from pyadeq.models.limit import Limit
from pyadeq.models.queue_settings import Settings, SettingsChange


class Given(NamedTuple):
    """The settings, limits and weights that are set."""

    settings: Settings
    limits: dict[str, Limit]
    weights: dict[str, float]


async def settle_in(model: Queue, new: Queue) -> None:
    """Copy all settings of one partition to another. Repeat if they change during the copy."""
    given = None
    while given != (now := await _given(model)):
        given = now
        await _set(new, given)


async def _given(queue: Queue) -> Given:
    limits = {limit.key: limit for limit in await queue.limits.list()}
    return Given(await queue.settings(), limits, await queue.shares.list())


async def _set(queue: Queue, given: Given) -> None:
    stored = given.settings
    names = SettingsChange.__annotations__
    wanted: Any = {name: value for name in names if (value := getattr(stored, name)) is not None}
    await queue.configure(clock=stored.clock, **wanted)  # before anything is asked by that clock
    has = await _given(queue)
    for key in has.limits.keys() - given.limits.keys():
        await queue.limits.remove(key)
    for key, limit in given.limits.items():
        await queue.limits.set(
            key,
            concurrency=limit.concurrency,
            starts=1 if limit.rate else None,
            period=1 / limit.rate if limit.rate else 1.0,
            burst=limit.burst,
            policy=limit.policy,
        )
    for user in has.weights.keys() - given.weights.keys():
        await queue.shares.set(user, 1)
    for user, weight in given.weights.items():
        await queue.shares.set(user, weight)
    if stored.mode != has.settings.mode:
        await {"paused": queue.admin.pause, "draining": queue.admin.drain, "running": queue.admin.resume}[stored.mode]()
    if stored.layout > has.settings.layout:
        await queue.admin.migrate(force=True)
