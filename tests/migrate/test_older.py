"""Tasks of the older layouts move while old and new producers and workers are at work. Each command is killed.

ADEQ_MIGRATE_OLDER_TASKS: how many tasks. ADEQ_MIGRATE_OLDER_KILLS: how many kills of each command.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from redis import Redis

from pyadeq import Adeq
from pyadeq.embedded import EmbeddedServer
from tests.migrate.cutting_over import ANY, LAST, any_steps, cut_over_under_fire
from tests.migrate.moving import New
from tests.migrate.older import LAYOUTS
from tests.waiting import DEADLINE, wait_until

TASKS = int(os.environ.get("ADEQ_MIGRATE_OLDER_TASKS", "500"))
KILLS = int(os.environ.get("ADEQ_MIGRATE_OLDER_KILLS", "1"))


@pytest.mark.parametrize("name", LAYOUTS)
def test_nothing_is_lost_or_run_twice_under_load(name: str, old: EmbeddedServer, new: New) -> None:
    judged = cut_over_under_fire(name, old, new, TASKS, any_steps(KILLS))
    assert judged.kills == {**dict.fromkeys(ANY, KILLS), **{f"last cleanup: {step}": 1 for step in LAST}}
    assert (judged.lost, judged.unrecorded) == ([], [])
    assert {number for number in judged.twice if not LAYOUTS[name].delivers_again(number)} == set()
    assert min(len(judged.in_old), len(judged.in_new)) > TASKS // 20


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
