"""Notices what becomes of the server of a chaos run: a restart, a failover, a clock that steps back."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic
from typing import Any, Literal

from redis.exceptions import RedisClusterException, RedisError

from pyadeq import Adeq

Kind = Literal["restart", "failover", "clock_back"]
EVERY = 0.25  # seconds between two looks
OUT_OF_REACH = (RedisError, RedisClusterException, OSError)
STEP = 0.3  # seconds; less may be the network


@dataclass(frozen=True)
class Look:
    """What a server said of itself. offset: its time less that of this machine's monotonic clock, in seconds."""

    run_id: str
    role: str
    uptime: float
    offset: float


class Watch:
    """Looks at the servers of some keys, and tells what has changed since the last look.

    mark: called with the kind of the change, a note, and the time of the last look before. It may have happened up to a
    quarter of a second before, or as long ago as the server was out of reach.
    """

    def __init__(self, adeq: Adeq, keys: tuple[str, ...], mark: Callable[[Kind, str, float], object]) -> None:
        self._adeq = adeq
        self._keys = keys
        self._mark = mark
        self._last: dict[str, Look] = {}
        self._seen = 0.0
        self.reachable = True

    def look(self) -> None:
        """Look, unless that was done just now."""
        if monotonic() - self._seen < EVERY:
            return
        marked: set[tuple[Kind, str]] = set()
        try:
            for key in self._keys:
                look = self._ask(key)
                if look.role != "master":
                    continue  # on its way from one to the other
                change = _change(self._last.get(key), look, monotonic() - self._seen)
                self._last[key] = look
                if change and change not in marked:
                    marked.add(change)
                    self._mark(*change, self._seen)
            self.reachable = True
        except OUT_OF_REACH:
            self.reachable = False
            return
        self._seen = monotonic()

    def _ask(self, key: str) -> Look:
        client: Any = self._adeq.client
        node = {"target_nodes": client.get_node_from_key(key)} if hasattr(client, "get_node_from_key") else {}
        sent = monotonic()
        seconds, micros = client.time(**node)
        offset = seconds + micros / 1e6 - (sent + monotonic()) / 2
        server, replication = client.info("server", **node), client.info("replication", **node)
        return Look(server["run_id"], replication["role"], float(server["uptime_in_seconds"]), offset)


def _change(last: Look | None, look: Look, since: float) -> tuple[Kind, str] | None:
    if last is None:
        return None
    if look.run_id != last.run_id:
        if look.uptime <= since + 2:
            return "restart", f"the server has started anew ({look.run_id[:8]})"
        return "failover", f"another server has the keys ({look.run_id[:8]})"
    if look.offset < last.offset - STEP:
        return "clock_back", f"the server's clock has stepped back by {last.offset - look.offset:.1f} s"
    return None
