"""When a call counts as done: when it ran, when it is on the primary's disk, or when replicas have it.

WAITAOF and WAIT cover the writes of their own connection only. A call that is sent again on another connection may
find all done and write nothing. So after each batch of calls, the client sends one small write, `confirm`, and waits
for it. It confirms all earlier writes of the server.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from pyadeq._core.kernel.call import Call, build_call
from pyadeq._core.kernel.packing import Wire
from pyadeq._core.kernel.refusals import Refusal
from pyadeq.errors import ConfigError
from pyadeq.models.base import Seconds, to_ms

Mode = Literal["memory", "aof", "replica"]
LONGEST_S: Final = 45.0
WAITING: Final = {"change": "", "config": "_"}
"""The nouns whose writes wait for a replica if the client names no durability, and how the names begin.

Who approves, or makes or revokes a token, must not find it undone by a failover. The service keeps tokens, webhooks and
so on in config namespaces that begin with `_`.
"""


@dataclass(frozen=True, slots=True)
class Durability:
    """What a client waits for after its writes.

    by_noun: nothing was named: only the nouns of WAITING wait for a replica, if the server has one.
    """

    mode: Mode = "memory"
    replicas: int = 1
    timeout_ms: int = 0
    by_noun: bool = False

    @classmethod
    def checked(cls, mode: str | None, replicas: int, timeout: Seconds) -> Durability:
        by_noun = mode is None
        mode = "replica" if mode is None else mode
        if mode not in get_args(Mode):
            raise ConfigError(f"durability: {mode!r} is not accepted; allowed: {', '.join(get_args(Mode))}")
        if not isinstance(replicas, int) or isinstance(replicas, bool) or replicas < 1:
            raise ConfigError(f"replicas: {replicas!r} is not accepted; allowed: 1 and more replicas of each primary")
        ms = to_ms("durability_timeout", timeout)
        if not 1 <= ms <= LONGEST_S * 1000:
            raise ConfigError(
                f"durability_timeout: {timeout!r} is not accepted; allowed: 0.001 to {LONGEST_S:g} seconds"
            )
        return cls(mode, replicas, ms, by_noun)  # type: ignore[arg-type]

    def __bool__(self) -> bool:
        return self.mode != "memory"

    def covers(self, call: Call[Any]) -> bool:
        """Whether a call waits."""
        if self.mode == "memory" or call.script.read_only:
            return False
        if not self.by_noun:
            return True
        noun = call.script.id.partition(".")[0]
        return noun in WAITING and f"{noun}:{WAITING[noun]}" in call.keys[0]

    def wait(self) -> tuple[Wire, ...]:
        """The command that waits for the writes before it."""
        if self.mode == "aof":
            return ("WAITAOF", 1, 0, self.timeout_ms)
        return ("WAIT", self.replicas, self.timeout_ms)

    def lack(self, reply: Any) -> str:
        """Return what was not confirmed, from the reply to `wait`; "" if everything was."""
        seconds = self.timeout_ms / 1000
        if isinstance(reply, Refusal):
            return f"the server refused to wait for it ({reply.code} {reply.text})"
        if self.mode == "aof":
            return "" if reply[0] >= 1 else f"it did not reach the primary's disk in {seconds:g} s"
        if reply >= self.replicas:
            return ""
        return f"{reply} of {self.replicas} replicas have it after {seconds:g} s"


def confirm(call: Call[Any], now_ms: int) -> Call[Any]:
    """Build the confirming write after a call, in the same base."""
    noun = call.script.id.partition(".")[0]
    at, config = next((at, key) for at, key in enumerate(call.script.keys) if key.name == "config")
    base = call.keys[at].removesuffix(config.template.removeprefix("{base}"))
    return build_call(f"{noun}.confirm.v1", base, {"now_ms": now_ms}, decode=lambda reply: reply)


REPLICATION: Final = ("INFO", "replication")


def has_replicas(replication: Any, wanted: int) -> bool:
    """Whether so many replicas follow a server, from the reply to REPLICATION. Not if this user may not ask."""
    return not isinstance(replication, Refusal) and replication.count(b",state=online,") >= wanted


# Asked of each node before anything runs there.
CHECK: Final = (
    ("COMMAND", "INFO", "WAITAOF"),
    ("INFO", "persistence"),
    ("INFO", "server"),
    ("CONFIG", "GET", "appendfsync"),
)

# Since Redis 8.0, WAITAOF waits for the disk with `appendfsync everysec`, too. Redis 7.4 and all Valkey up to 9.1
# answer it within 0.1 s, up to a second before the fsync: redis/redis#13793. With `always` all are right.
WAITS_SINCE: Final = 8


def check(command: Any, persistence: Any, server: Any, appendfsync: Any) -> None:
    """Take the replies to CHECK: ConfigError if this server cannot confirm that a write is on its disk.

    If this user may not ask, the server is trusted.
    """
    if not isinstance(command, Refusal) and not (command and command[0]):
        raise ConfigError(
            "durability: 'aof' is not possible on this server, which has no WAITAOF; use Valkey, or Redis 7.2 or "
            "newer, or durability='replica'"
        )
    if not isinstance(persistence, Refusal) and b"aof_enabled:0" in persistence:
        raise ConfigError(
            "durability: 'aof' is not possible on this server, whose append-only file is off; turn it on "
            "(appendonly yes), or use durability='replica' or 'memory'"
        )
    if not isinstance(appendfsync, Refusal) and _values(appendfsync) == {b"everysec"} and _confirms_early(server):
        raise ConfigError(
            "durability: 'aof' is not possible on this server with appendfsync everysec, where it confirms up to a "
            "second before its disk has it (redis/redis#13793); set appendfsync always, or use Redis 8 or newer, "
            "durability='replica', or 'memory', with which a crash of the machine may lose the last second"
        )


def is_loading(persistence: Any) -> bool:
    """Whether a server has not read its data yet: until then it says that its append-only file is off."""
    return not isinstance(persistence, Refusal) and b"\nloading:1" in persistence


def _values(config: Any) -> set[Any]:
    """What CONFIG GET answered: names and values by turns, or by name with RESP3."""
    return set(config.values() if isinstance(config, dict) else config[1::2])


def _confirms_early(server: Any) -> bool:
    if isinstance(server, Refusal):
        return False
    version = re.search(rb"^redis_version:(\d+)", server, re.MULTILINE)
    return b"valkey_version:" in server or (version is not None and int(version[1]) < WAITS_SINCE)
