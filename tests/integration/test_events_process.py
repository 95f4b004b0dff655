"""Readers of events that wait, and readers that are killed."""

import os
import signal
import subprocess
import sys
import threading
from collections import Counter

import pytest

from pyadeq import Adeq
from tests.waiting import DEADLINE, wait_until

READER = """
import sys
from pyadeq import Adeq
url, name, path, partitions = sys.argv[1:]
with Adeq.from_url(url) as adeq, open(path, "a") as done:
    events = adeq.partitioned(name).events if partitions == "True" else adeq.events("queue", name)
    for batch in events.follow("audit", limit=7, hold=1):
        for event in batch.events:
            print(event.id, *event.ids, file=done, flush=True)
"""


def test_a_reader_waits_for_an_event(url: str, base_name: str) -> None:
    with Adeq.from_url(url) as adeq:
        queue, events = adeq.queue(base_name), adeq.events("queue", base_name)
        queue.configure()
        events.add("audit")
        later = threading.Timer(0.1, queue.enqueue, ["x"], {"id": "a"})
        later.start()
        (found,) = events.read("audit", wait=DEADLINE).events
        assert found.ids == ("a",)
        later.join()  # the event may be heard before the call is answered


@pytest.mark.slow
@pytest.mark.parametrize("partitions", [False, True])
def test_killed_readers_lose_nothing(url: str, base_name: str, tmp_path: str, partitions: bool) -> None:
    """Neither do they if partitions are added meanwhile."""
    path = os.path.join(tmp_path, "done")
    with Adeq.from_url(url) as adeq:
        queue = adeq.partitioned(base_name)
        events = queue.events if partitions else adeq.events("queue", base_name)
        queue.configure()
        events.add("audit")
        ids = {f"t{number}" for number in range(400)}
        command = [sys.executable, "-c", READER, url, base_name, path, str(partitions)]
        readers = [subprocess.Popen(command) for _ in range(2)]
        try:
            for round, first in enumerate(range(0, 400, 80)):
                if partitions:
                    queue.repartition(2 + round)
                for number in range(first, first + 80):
                    queue.enqueue("x", id=f"t{number}")
                wait_until(lambda first=first: len(seen(path)) > first)  # type: ignore[misc]
                victim = readers[round % 2]
                os.kill(victim.pid, signal.SIGKILL)
                victim.wait()
                readers[round % 2] = subprocess.Popen(command)
            wait_until(lambda: ids <= seen(path).keys())
            wait_until(lambda: events.groups().groups[0].pending == 0)
        finally:
            for one in readers:
                one.kill()
                one.wait()
        (group,) = events.groups().groups
        assert (group.lag, group.lost, group.gap) == (0, 0, None)


def seen(path: str) -> Counter[str]:
    """The tasks that the readers have noted."""
    if not os.path.exists(path):
        return Counter()
    with open(path) as file:
        return Counter(line.split()[1] for line in file if line.endswith("\n") and len(line.split()) == 2)
