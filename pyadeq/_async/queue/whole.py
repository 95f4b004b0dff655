"""What is done to a queue as a whole, in a queue and in a queue in partitions alike."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from pyadeq._core.kernel.areas import forward, named
from pyadeq._core.kernel.call import Answer
from pyadeq._core.kernel.nouncalls import status
from pyadeq.ids import new_ulid

T = TypeVar("T")


class Whole:
    """The part of `queue.admin` whose calls go to every partition."""

    async def _everywhere(self, verb: str, decode: Callable[[Answer], T], /, **arguments: Any) -> list[T]:
        """Call the script of a verb in every partition. Returns their answers; a queue without partitions has one."""
        raise NotImplementedError

    async def pause(self) -> None:
        """Stop leasing tasks until `resume`. New tasks are accepted, and running tasks continue."""
        await self._everywhere("pause", status, rid=new_ulid())

    async def drain(self) -> None:
        """Stop accepting new tasks until `resume`: enqueue raises QueueDraining. Existing tasks run to their end."""
        await self._everywhere("drain", status, rid=new_ulid())

    async def resume(self) -> None:
        """End `pause` or `drain`."""
        await self._everywhere("resume", status, rid=new_ulid())

    async def snapshot(self) -> bool:
        """Add the counters to the history, if this minute has no snapshot yet. Claims also do this. Returns whether."""
        return any(await self._everywhere("snapshot", lambda answer: bool(answer["taken"])))


@named
class WholeNames:
    """Their short names."""

    pause = forward("admin", Whole.pause)
    drain = forward("admin", Whole.drain)
    resume = forward("admin", Whole.resume)
    snapshot = forward("admin", Whole.snapshot)
