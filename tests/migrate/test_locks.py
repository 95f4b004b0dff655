"""Old programs, programs with a bridge, and new programs take the same locks; some are killed while they hold one."""

from __future__ import annotations

import os
import random
import threading
from collections.abc import Callable
from contextlib import ExitStack, suppress
from itertools import count

from redis import Redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.errors import WaitTimeout
from pyadeq.ext.migrate import LockBridge
from tests.migrate.moving import New
from tests.migrate.older import OldLocks, Working
from tests.waiting import wait_until

TAKES = int(os.environ.get("ADEQ_MIGRATE_LOCKS", "300"))
KILLED = 20
"""Each of so many takes by a program with a bridge ends without a release."""
NAMES = [f"task:t{number}" for number in range(3)]


class Section:
    """What a lock protects. It counts how often it was entered, and by whom while another was in it."""

    def __init__(self) -> None:
        self.entered, self.broken = 0, 0
        self._inside: dict[str, str] = {}
        self._guard = threading.Lock()

    def enter(self, name: str, who: str) -> None:
        """Be inside for a moment."""
        with self._guard:
            self.broken += name in self._inside
            self._inside[name] = who
        threading.Event().wait(0.001)
        with self._guard:
            self.entered += 1
            del self._inside[name]


def test_old_and_new_programs_exclude_each_other_while_all_of_them_change(old: EmbeddedServer, new: New) -> None:
    section, random_ = Section(), random.Random(0)
    with Redis.from_url(old.url) as client, Adeq.from_url(new.url) as adeq:
        bridge, locks = LockBridge(adeq, client), OldLocks(client)
        takes, killed = count(1), []

        def by_old() -> None:
            name = random_.choice(NAMES)
            if locks.take(name, "old"):
                section.enter(name, "old")
                locks.release(name, "old")

        def by_bridge(owner: str) -> Callable[[], None]:
            def act() -> None:
                name = random_.choice(NAMES)
                with suppress(WaitTimeout):
                    grant = bridge.take(name, owner=owner, ttl=1.0)
                    section.enter(name, owner)
                    if next(takes) % KILLED:
                        grant.release()
                    else:
                        killed.append(name)  # both leases end

            return act

        def by_new() -> None:
            name = random_.choice(NAMES)
            with suppress(WaitTimeout), bridge.locks.acquire(name, owner="new", wait=0):
                section.enter(name, "new")

        def run(most: int, *acts: Callable[[], None]) -> None:
            with ExitStack() as stack:
                for act in acts:
                    stack.enter_context(Working(act))
                wait_until(lambda: section.entered >= most)

        run(TAKES // 2, by_old, by_bridge("a"), by_bridge("b"))  # the bridge comes
        wait_until(lambda: not bridge.compare().old.counts)  # no old program is left
        run(TAKES, by_bridge("a"), by_bridge("b"), by_new)  # the bridge goes
        wait_until(lambda: not client.keys("lock:*"))  # the old layout is empty by itself
    assert (section.broken, section.entered >= TAKES) == (0, True)
    assert killed
