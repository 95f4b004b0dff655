"""What all ways of renewal share: what they are asked, and what the server's answers say."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

from pyadeq._core.queue.items import Held

Interruption: TypeAlias = Literal["cancelling", "timed_out", "lease_lost"]

SHORTEST_LEASE = 1.0
"""The assumed length of leases, in seconds, until the first claim returns the real one."""


@dataclass(frozen=True, slots=True)
class Heard:
    """The answer to a heartbeat: the tokens of leases whose handlers must stop, and the requests to the worker.

    mode: `run`, `quiet`, `stop` or `restart`. capacity: how many tasks at a time; 0: as it is.
    """

    interrupted: list[tuple[str, Interruption]] = field(default_factory=list)
    mode: str = "run"
    capacity: int = 0


class Renewal(Protocol):
    """Renews what is held, and hears what the server wants. All is called on the worker's event loop."""

    async def start(self) -> None: ...

    def hold(self, leases: Iterable[Held], lease: float) -> None:
        """Renew these from now on; right after a claim. lease: seconds that the claim gave."""

    def drop(self, tokens: Iterable[str]) -> None:
        """Stop renewing these leases: they were settled, returned or lost."""

    def ask(self) -> None:
        """Do it now: a control token came, or a connection was lost."""

    async def stop(self) -> None: ...
