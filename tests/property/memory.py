"""What is over takes no memory: after millions of tasks, locks, sessions and rate hits, a server is as full as before.

No events are kept, because their number is a setting.

    python -m tests.property.memory [--share 0.01]

It prints the server's memory and keys after each part, and exits with 1 if a part leaves anything behind. The whole
takes about twenty minutes. share: of the tasks, names, sessions and subjects.

ADEQ_TEST_SERVER names the server's binary.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from time import monotonic, sleep
from typing import Any, Final

from pyadeq import Adeq, Task
from pyadeq.embedded import EmbeddedServer
from tests.conftest import server_binary

TASKS: Final = 2_000_000
LOCKS: Final = 100_000
SESSIONS: Final = 200_000
SUBJECTS: Final = 200_000
AT_ONCE: Final = 1000
MARGIN: Final = 2 * 1024 * 1024
"""Bytes by which the memory may grow: the allocator, and what clients have in their buffers."""
QUIET: Final = 125.0
"""Seconds without a change of the number of keys: longer than the two minutes for which ended requests are known."""


def tasks(adeq: Adeq, n: int) -> None:
    """Enqueue, claim and complete them. The queue keeps 100 ended tasks."""
    queue = adeq.queue("soak")
    queue.configure(finished_max=100, events_max=0)
    left = n
    while left > 0:
        queue.enqueue_many([Task(payload="x" * 100, user=f"u{left % 97}") for _ in range(min(AT_ONCE, left))])
        leases = queue.claim(limit=AT_ONCE)
        assert queue.ack_many([(lease, "done") for lease in leases]) == ["completed"] * len(leases)
        left -= len(leases)


def locks(adeq: Adeq, n: int) -> None:
    """Take and release a lock of each name."""
    domain = adeq.locks("soak")
    domain.configure(events_max=0)
    for number in range(n):
        domain.take(f"name/{number}", owner="me").release()


def sessions(adeq: Adeq, n: int) -> None:
    """Sessions of a second, half of them revoked. What is known of a user is kept for a day, so users are few."""
    realm = adeq.sessions("soak")
    realm.configure(events_max=0)
    for number in range(n):
        made = realm.create(f"user{number % 1000}", lifetime=1.0)
        if number % 2:
            realm.revoke(made.id)
    sleep(1.1)
    while realm.sweep():
        pass


def subjects(adeq: Adeq, n: int) -> None:
    """A hit of each subject, by a rule of each algorithm."""
    rates = adeq.rates("soak")
    for number in range(n):
        rates.hit(RULES[number % len(RULES)], f"subject{number}")


RULES: Final = ("even", "exact")
PARTS: Final[dict[str, tuple[int, Callable[[Adeq, int], None]]]] = {
    "tasks": (TASKS, tasks),
    "lock names": (LOCKS, locks),
    "sessions": (SESSIONS, sessions),
    "rate subjects": (SUBJECTS, subjects),
}


def state(adeq: Adeq) -> tuple[int, int]:
    """The server's memory in bytes, and its number of keys."""
    client: Any = adeq.client
    return int(client.info("memory")["used_memory"]), int(client.dbsize())


def care(adeq: Adeq) -> None:
    """What `adeq maintain` does: calls forget what they no longer need to remember."""
    while adeq.locks("soak").admin.reap():
        pass
    while adeq.sessions("soak").sweep():
        pass


def settled(adeq: Adeq) -> tuple[int, int]:
    """The state after everything that expires has gone."""
    before, since = state(adeq), monotonic()
    while monotonic() < since + QUIET:
        sleep(0.5)
        care(adeq)
        now = state(adeq)
        if now[1] != before[1]:
            since = monotonic()
        before = now
    return before


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--share", type=float, default=1.0)
    share = parser.parse_args(arguments).share
    worst = 0
    with EmbeddedServer(binary=server_binary()) as server, Adeq.from_url(server.url) as adeq:
        adeq.rates("soak").set("even", limit=10, period=2)
        adeq.rates("soak").set("exact", algorithm="log", limit=10, period=2)
        for _, run in PARTS.values():  # a first round creates what stays: settings, scripts, bounded events
            run(adeq, 3 * AT_ONCE)
        base, keys = settled(adeq)
        print(f"{'':14} {'number':>10} {'seconds':>8} {'MiB':>8} {'keys':>8}")
        print(f"{'before':14} {'':>10} {'':>8} {base / 2**20:>8.2f} {keys:>8,}", flush=True)
        for name, (number, run) in PARTS.items():
            began, n = monotonic(), max(int(number * share), AT_ONCE)
            run(adeq, n)
            took = monotonic() - began
            memory, left = settled(adeq)
            print(f"{name:14} {n:>10,} {took:>8.0f} {memory / 2**20:>8.2f} {left:>8,}", flush=True)
            worst = max(worst, memory - base - MARGIN, left - keys)
    return int(worst > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
