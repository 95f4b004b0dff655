"""Nothing is left behind: when all tasks have ended, only what is documented to stay is there."""

from __future__ import annotations

from itertools import count

import pytest
import redis

from pyadeq.keys import queue_base
from tests.property.driver import Driver
from tests.property.link import load_scripts
from tests.property.records import Answer, Backoff, Spec

LANES = ("any", "group/g", "group/g/inst/i")
STAY = {"config", "counters", "events", "history:minutes", "history:hours", "workers", "worker:w"}


def finish(lease: Answer, way: int) -> tuple[str, list[Answer]]:
    id, token = lease[:2]
    ways: list[tuple[str, list[Answer]]] = [
        ("ack", [(id, token, b"result")]),
        ("ack", [(id, token, b"")]),
        ("fail", [(id, token, True, "error", "e", 0, {})]),
        ("fail", [(id, token, False, "error", "e", 0, {})]),
        ("release", [(id, token)]),
        ("nothing", []),
    ]
    return ways[way]


@pytest.mark.parametrize("cancel", [False, True])
def test_nothing_is_left_behind(client: redis.Redis, base_name: str, cancel: bool) -> None:
    queue = Driver(client, queue_base(base_name), load_scripts(client))
    model = queue.model
    queue.do("configure", max_crashes=2, backoff=Backoff(base=100, cap=200))
    queue.do("register", "w", "i1")
    specs = [
        Spec(f"t{i}", lane=LANES[i % 3], priority=i % 10, delay=500 * (i % 4 == 0), max_attempts=1 + i % 2)
        for i in range(120)
    ]
    queue.do("enqueue", "rid", specs)
    for n in count(1):
        leases = queue.do("claim", "w", "i1", 0, n, limit=25, lanes=LANES, lease=1000)[4]
        # In time each task is dealt with in every way, also in that of a worker that died.
        for at, lease in enumerate(leases):
            verb, items = finish(lease, (at + n) % 6)
            if items:
                queue.do(verb, items)
        if cancel and n == 4:
            queue.do("cancel", list(model.tasks))
        queue.check()
        if not model.of("ready", "delayed", "running"):
            break
        model.now += 600
        queue.do("heartbeat", [("t0", "x")], "w", 0)
        assert n < 300, "tasks are still on their way"
    ends = {state for state in ("completed", "cancelled", "dead") if model.of(state)}
    if cancel:  # also those that were dead by then
        assert ends - {"dead"} == {"completed", "cancelled"}
    else:
        assert ends == {"completed", "dead"}
    records = {f"{kind}:{id}" for id in model.tasks for kind in ("task", "payload")}
    results = {f"result:{task.id}" for task in model.of("completed") if task.result}
    controls = {f"control:{name}" for name in model.control}
    runs = {key for key in queue.read() if key.startswith("ended_runs:")}
    assert runs <= {f"ended_runs:{id}" for id in model.tasks}
    assert set(queue.read()) - runs == STAY | {"finished", *({"dead"} & ends)} | records | results | controls
    queue.close()
    assert not client.keys(f"{queue.base}*")
