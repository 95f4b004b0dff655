"""Old programs, programs with a bridge, and new programs take the same locks. Some are killed while they hold one."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Final

from redis import Redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import LockLost, WaitTimeout
from pyadeq.ext.move.migrate import LockBridge
from tests.migrate.moving import New
from tests.migrate.older import OldLocks, Working
from tests.waiting import wait_until

NAMES: Final = [f"task:t{number}" for number in range(3)]
STEPS: Final = ("before take", "after take", "inside", "before release", "after release")
"""Of a program with a bridge: of the old lock, but for `inside`, where both are held."""
TTL: Final = 1.0
CODE: Final = """
import sys
from redis import Redis
from pyadeq import Adeq
from pyadeq.ext.move.migrate import LockBridge
from tests.migrate.killing import kill_at
from tests.migrate.locking import Section, take_one
url, old, owner, step, nth = sys.argv[1:]
at = kill_at(step, int(nth))
class Bridge(LockBridge):
    def call(self, verb, *about):
        at(f"before {verb}")
        done = super().call(verb, *about)
        if done:
            at(f"after {verb}")
        return done
with Adeq.from_url(url) as adeq, Redis.from_url(old) as client:
    bridge, section = Bridge(adeq, client), Section(client, lambda: at("inside"))
    while True:
        take_one(bridge, section, owner)
"""


class Section:
    """What the locks protect. The old server counts how often it was entered, and how often by two at once."""

    def __init__(self, client: Redis, inside: Callable[[], object] = lambda: None) -> None:
        self._client, self._inside = client, inside

    def enter(self, name: str, who: str) -> None:
        """Be inside for a moment."""
        key = f"inside:{name}"
        if not self._client.set(key, who, nx=True):
            self._client.incr("broken")
        self._client.incr("entered")
        self._inside()
        threading.Event().wait(0.001)
        self._client.delete(key)

    def clear(self, who: str) -> None:
        """Remove what a killed program has left."""
        for name in NAMES:
            if self._client.get(f"inside:{name}") == who.encode():
                self._client.delete(f"inside:{name}")

    def count(self, what: str) -> int:
        """How often it was `entered` or `broken`."""
        found: int | None = self._client.get(what)  # type: ignore[assignment]
        return int(found or 0)


@dataclass
class Changed:
    """What came of the takes. kills: of each step."""

    entered: int = 0
    broken: int = 0
    kills: Counter[str] = field(default_factory=Counter)


def take_one(bridge: LockBridge, section: Section, owner: str) -> None:
    """Take any of the locks, be inside, and release it."""
    name = random.choice(NAMES)
    with suppress(WaitTimeout, LockLost):
        grant = bridge.take(name, owner=owner, ttl=TTL)
        section.enter(name, owner)
        grant.release()


def change_under_fire(
    old: EmbeddedServer, new: New, takes: int, kills: Sequence[str], *, pause: float = 0.05
) -> Changed:
    """Let old programs work, then those with a bridge come, then new ones, and in the end the old locks go.

    takes: so often a lock is taken at least. kills: the steps at which programs with a bridge are killed.
    pause: seconds between two attempts of a program.
    """
    changed, owners = Changed(), count()
    with Redis.from_url(old.url) as client, Adeq.from_url(new.url) as adeq:
        bridge, locks, section = LockBridge(adeq, client), OldLocks(client), Section(client)

        def by_old() -> None:
            name = random.choice(NAMES)
            if locks.take(name, "old"):
                section.enter(name, "old")
                locks.release(name, "old")

        def by_new() -> None:
            name = random.choice(NAMES)
            with suppress(WaitTimeout), bridge.locks.acquire(name, owner="new", wait=0):
                section.enter(name, "new")

        def by_bridge(owner: str) -> Callable[[], None]:
            return lambda: take_one(bridge, section, owner)

        def killed(step: str, nth: int) -> None:
            owner = f"killed-{next(owners)}"
            call = [sys.executable, "-c", CODE, new.url, old.url, owner, step, str(nth)]
            status = subprocess.run(call, check=False).returncode
            assert status == -signal.SIGKILL, status
            section.clear(owner)
            changed.kills[step] += 1

        def run(most: int, steps: Sequence[str], *acts: Callable[[], None]) -> None:
            with ExitStack() as stack:
                for act in acts:
                    stack.enter_context(Working(act, pause))
                for number, step in enumerate(steps):
                    killed(step, 1 + number % 4)
                wait_until(lambda: section.count("entered") >= most, 300)

        half = len(kills) // 2
        run(takes // 2, kills[:half], by_old, by_bridge("a"), by_bridge("b"))  # the bridge comes
        wait_until(lambda: not bridge.compare().old.counts)  # no old program is left
        run(takes, kills[half:], by_bridge("a"), by_bridge("b"), by_new)  # the bridge goes
        wait_until(lambda: not client.keys("lock:*"))  # the old layout is empty by itself
        changed.entered, changed.broken = section.count("entered"), section.count("broken")
    return changed
