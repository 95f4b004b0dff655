"""Tasks of the older layouts move while old and new producers and workers are at work. Each step is killed once.

ADEQ_MIGRATE_OLDER_TASKS: how many tasks. ADEQ_MIGRATE_OLDER_KILLS: how many kills of each step.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest
from redis import Redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.migrate import Migration
from tests.migrate.moving import New, ran_in
from tests.migrate.older import LAYOUTS, Working
from tests.waiting import DEADLINE, wait_until

TASKS = int(os.environ.get("ADEQ_MIGRATE_OLDER_TASKS", "500"))
KILLS = int(os.environ.get("ADEQ_MIGRATE_OLDER_KILLS", "1"))
VERBS = {"mirror": 3, "shadow": 2, "cutover": 4, "rollback": 4}
"""At which step the first kill comes."""
CODE = """
import os, signal, sys
from redis import Redis
from pyadeq import Adeq
from pyadeq.ext.migrate import Migration, escrow, move
from tests.migrate.older import LAYOUTS
url, old, name, verb, last = sys.argv[1:]
steps, move.LEASE, escrow.MOST = 0, 1.0, 20
def at(step):
    global steps
    steps += 1
    if steps == int(last):
        os.kill(os.getpid(), signal.SIGKILL)
with Adeq.from_url(url) as adeq, Redis.from_url(old) as client:
    source = LAYOUTS[name].source(None, client)
    getattr(Migration(adeq, source, to="here", queues={LAYOUTS[name].queue: "work"}, at=at), verb)()
"""


@pytest.mark.parametrize("name", LAYOUTS)
def test_nothing_is_lost_or_run_twice_under_load(name: str, old: EmbeddedServer, new: New) -> None:
    def killed(verb: str, last: int) -> int:
        call = [sys.executable, "-c", CODE, new.url, old.url, name, verb, str(last)]
        return subprocess.run(call, check=False).returncode

    with Redis.from_url(old.url) as client, Adeq.from_url(new.url) as adeq:
        layout = LAYOUTS[name](client)
        moved_ran: list[int] = []
        numbers, one_by_one = iter(range(TASKS)), threading.Lock()

        def run(verb: str) -> None:
            migration = Migration(adeq, layout.source(client), to="here", queues={layout.queue: "work"})
            getattr(migration, verb)()

        def produce(most: int) -> None:
            with one_by_one:
                some = [*islice(numbers, most)]
            for number in some:
                if number % 2:
                    layout.put(client, number)
                else:
                    layout.write(adeq, client, number, "work")

        def work(limit: int) -> None:
            for lease in new.queue.claim(limit=limit, lanes=layout.lanes):
                if layout.begin(client, lease.payload):
                    moved_ran.append(layout.number(lease.payload))
                new.queue.ack(lease)

        def drained() -> bool:
            work(100)
            stats = new.queue.stats()
            return stats.pending + stats.running == 0

        ended: Counter[int] = Counter()
        produce(TASKS // 2)
        workers = Working(lambda: layout.work(client)), Working(lambda: work(1))
        with workers[0], workers[1], Working(lambda: produce(1)):
            for number in range(KILLS):
                for verb, first in VERBS.items():
                    ended[killed(verb, first + number % 7)] += 1
                    run(verb)
            for verb in ("mirror", "shadow", "cutover"):
                run(verb)
        produce(TASKS)
        layout.stop(client)
        run("cutover")
        wait_until(drained)
        in_old = ran_in(client)
    assert ended[-signal.SIGKILL] >= 3, ended
    twice = {number for number, times in Counter(in_old + moved_ran).items() if times > 1}
    assert {*range(TASKS)}.difference(in_old, moved_ran) == set()
    assert {number for number in twice if not layout.delivers_again(number)} == set()
    assert min(len(in_old), len(moved_ran)) > TASKS // 20


def test_a_cutover_that_follows_moves_what_old_producers_still_write(old: EmbeddedServer, new: New) -> None:
    with Redis.from_url(old.url) as client, Adeq.from_url(new.url) as adeq:
        layout = LAYOUTS["stream"](client)
        layout.put(client, 1)
        call = [str(Path(sys.executable).with_name("adeq")), "migrate"]

        def pending(count: int) -> None:
            wait_until(lambda: adeq.queue("work").stats().pending == count)

        place = ["stream", "--from", old.url, "--url", new.url, "--queue", f"{layout.queue}=work"]
        for verb in ("mirror", "shadow"):
            subprocess.run([*call, verb, *place], check=True, stdout=subprocess.DEVNULL)
        following = subprocess.Popen([*call, "cutover", *place, "--follow"], stdout=subprocess.DEVNULL)
        try:
            for number in (2, 3, 4):
                pending(number - 1)
                layout.put(client, number)
            pending(4)
        finally:
            following.send_signal(signal.SIGINT)
            following.wait(DEADLINE)
        assert following.returncode == 130
