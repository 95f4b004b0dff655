"""Tasks of an older layout move by mirror, shadow and cutover, and back, while old and new programs are at work.

Each command is killed at one of its steps, and repeated. A cleanup comes after a rollback, and once more in the end.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from time import monotonic
from typing import Final

from redis import Redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.move.migrate import Migration
from tests.migrate.killing import clean_up, escrow_keys
from tests.migrate.moving import KEPT, PATIENCE, Judged, New
from tests.migrate.older import LAYOUTS, Layout, Working
from tests.waiting import wait_until

STEPS: Final = {
    "mirror": ("noted", "paused", "copied", "ended"),
    "shadow": ("noted", "compared"),
    "cutover": ("noted", "recalled", "taken", "sent", "enqueued", "marked", "given back", "copies deleted"),
    "rollback": ("paused", "recalled", "rollback marked", "cancelled", "put back", "resumed"),
    "cleanup": ("checked", "copies deleted", "place dropped", "places dropped", "about dropped"),
}
LAST: Final = STEPS["cleanup"][:-1]
"""Of a cleanup in the end, which keeps the phase."""
ANY: Final = {"mirror": 3, "shadow": 2, "cutover": 4, "rollback": 4, "cleanup": 3}
"""The first kill of a command comes at this step, whichever that is, and later ones some steps later."""
CODE: Final = """
import sys
from redis import Redis
from pyadeq import Adeq
from pyadeq.ext.move.migrate import Migration, escrow, move
from tests.migrate.killing import clean_up, kill_at
from tests.migrate.older import LAYOUTS
url, old, name, verb, step, nth, most = sys.argv[1:]
at, move.LEASE, escrow.MOST = kill_at(step, int(nth)), 1.0, int(most)
with Adeq.from_url(url) as adeq, Redis.from_url(old) as client:
    source = LAYOUTS[name].source(None, client)
    migration = Migration(adeq, source, to="here", queues={LAYOUTS[name].queue: "work"}, at=at)
    clean_up(migration) if verb == "cleanup" else getattr(migration, verb)()
"""
BEFORE: Final[dict[str, tuple[str, ...]]] = {
    "rollback": ("mirror", "shadow", "cutover"),
    "cleanup": ("mirror", "shadow", "cutover", "rollback"),
}
"""What comes before a command that is repeated after it has finished. The others are repeated as they are."""
FRESH: Final = 100
"""Tasks that are made before a command is tried again; then twice as many, and so on."""


def any_steps(rounds: int) -> Iterator[tuple[str, str, int]]:
    """Yield each command, "" for any step, and the number of the step at which it is killed."""
    for number in range(rounds):
        yield from ((verb, "", first + number % 7) for verb, first in ANY.items())


def named_steps(kills: int) -> Iterator[tuple[str, str, int]]:
    """Yield commands in their order, each with a step, and which time it comes."""
    for number in range(kills):
        turn, verb = number // len(STEPS), [*STEPS][number % len(STEPS)]
        steps = STEPS[verb]
        yield verb, steps[turn % len(steps)], 1


def cut_over_under_fire(
    name: str,
    old: EmbeddedServer,
    new: New,
    tasks: int,
    kills: Iterator[tuple[str, str, int]],
    *,
    more: int = 0,
    busy: int = 1,
    pause: float = 0.05,
    most: int = 20,
    tell: Callable[[str], object] = lambda _: None,
) -> Judged:
    """Move tasks forth and back, and in the end forth. Half of them are written by old producers.

    In the end, the old worker stops, and a cleanup is killed at each of its steps while new producers go on.

    tasks: at least this many are made. kills: the command, the step and the time. A step is tried until it comes.
    more: tasks written before each mirror. busy: tasks that one claim takes. pause: seconds between two turns of each
    program. most: messages of one call.
    """
    judged = Judged()
    new.queue.configure(finished_max=KEPT)
    with Redis.from_url(old.url) as client, Adeq.from_url(new.url) as adeq:
        layout: Layout = LAYOUTS[name](client)
        one_by_one = threading.Lock()
        # A quarter comes after the cutover, however slow the commands were: old workers may have run all others.
        rest = iter(range(tasks if more else tasks // 4))

        def run(verb: str) -> None:
            migration = Migration(adeq, layout.source(client), to="here", queues={layout.queue: "work"})
            clean_up(migration) if verb == "cleanup" else getattr(migration, verb)()

        def kill(verb: str, step: str, nth: int, what: str) -> None:
            fresh, deadline = FRESH, monotonic() + PATIENCE
            call = [sys.executable, "-c", CODE, new.url, old.url, name, verb, step]
            while not (status := subprocess.run([*call, str(nth), str(most)], check=False).returncode):
                assert monotonic() < deadline, f"{verb} does not come to {step}"
                produce(fresh)
                nth, fresh = 1, 2 * fresh
                for earlier in BEFORE.get(verb, ()):
                    run(earlier)
            assert status == -signal.SIGKILL, status
            judged.kills[f"{what}: {step}" if step else what] += 1

        def produce(count: int) -> None:
            for _ in range(count):
                with one_by_one:
                    number, judged.made = judged.made, judged.made + 1
                if number % 2:
                    layout.put(client, number)
                else:
                    layout.write(adeq, client, number, "work")

        work = partial(
            judged.work, new.queue, lanes=layout.lanes, number=layout.number, begin=partial(layout.begin, client)
        )
        each = partial(Working, pause=pause)

        def drained() -> bool:
            return not work(100) and (stats := new.queue.stats()).pending + stats.running == 0

        produce(0 if more else tasks // 2)
        with (
            each(lambda: layout.work(client)),
            each(lambda: work(busy)),
            each(lambda: produce(len([*islice(rest, 1)]))),
        ):
            for verb, step, nth in kills:
                if verb == "mirror":
                    produce(more)
                kill(verb, step, nth, verb)
                run(verb)
                assert verb != "cleanup" or not escrow_keys(client)
                tell(f"{judged.kills.total()} kills, {len(judged.in_new):,} tasks ran in pyadeq")
            for verb in BEFORE["rollback"]:
                run(verb)
        produce(max(tasks - judged.made, FRESH))
        layout.stop(client)
        run("cutover")
        with each(lambda: work(busy)), each(lambda: produce(1)):
            for step in LAST:
                kill("cleanup", step, 1, "last cleanup")
            run("cleanup")
            assert len(escrow_keys(client)) == 1  # the phase
            run("move")
        run("move")
        wait_until(drained, PATIENCE)
        judged.count(new.queue, client)
    return judged
