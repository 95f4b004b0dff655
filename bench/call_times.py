"""How long script calls keep a server: by its clock, and by the CPU time of its process.

On a busy machine the clock also counts the moments in which the server has no CPU. The CPU time does not. But it has
the other threads of the server, the work between two commands, and calls of other connections in between. So both can
only be too much.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import clock_gettime_ns
from typing import Any, Final, NamedTuple

from redis import ConnectionPool, Redis, UnixDomainSocketConnection

from pyadeq.embedded import EmbeddedServer

SLOW_US: Final = 2_000
"""Shorter calls are not in the slow log. A long log would itself take time."""


class Times(NamedTuple):
    """Milliseconds of the script calls of a server, the longest first; by_clock: only those above SLOW_US."""

    by_clock: list[float]
    by_cpu: list[float]


class _Timed(UnixDomainSocketConnection):
    """A connection that notes the CPU time which its server has used from each script call to the reply."""

    clock: int
    noted: list[float]
    _before: int | None = None

    def send_packed_command(self, command: Any, check_health: bool = True) -> None:
        first = command if isinstance(command, bytes) else next(iter(command), b"")
        self._before = self._used_ns() if b"EVALSHA" in first[:32] else None
        super().send_packed_command(command, check_health)  # type: ignore[no-untyped-call]

    def read_response(self, *args: Any, **kwargs: Any) -> Any:
        reply = super().read_response(*args, **kwargs)
        if self._before is not None:
            self.noted.append((self._used_ns() - self._before) / 1e6)
            self._before = None
        return reply

    def _used_ns(self) -> int:
        return clock_gettime_ns(self.clock)  # not /proc/<pid>/schedstat, which is some ms old


def timed_client(server: EmbeddedServer) -> Redis:
    """Return a client of a server whose script calls `times_of` can time. It needs Linux."""
    pool = ConnectionPool.from_url(server.url)
    clock = ~server.pid << 3 | 2  # of its process, as clock_getcpuclockid(3) makes it
    # one class for each server: the copies of the pool that a client makes keep it
    pool.connection_class = type("Timed", (_Timed,), {"clock": clock, "noted": []})
    return Redis(connection_pool=pool)


@contextmanager
def times_of(clients: Sequence[Any]) -> Iterator[list[Times]]:
    """Give the times of the script calls of each client's server while the block runs; they are there when it ends."""
    found: list[Times] = []
    for client in clients:
        client.config_set("slowlog-log-slower-than", SLOW_US)
        client.config_set("slowlog-max-len", 10_000)
        client.slowlog_reset()
        _noted(client).clear()
    yield found
    for client in clients:
        by_cpu = sorted(_noted(client), reverse=True)
        rows: Any = client.slowlog_get(10_000)
        calls = [row["duration"] / 1000 for row in rows if row["command"].upper().startswith(b"EVALSHA")]
        found.append(Times(sorted(calls, reverse=True), by_cpu))


def _noted(client: Any) -> list[float]:
    noted: list[float] = getattr(client.connection_pool.connection_class, "noted", [])
    return noted
