"""A queue of many shards, simulated: what a day of a billion tasks costs each of them, and what breaks first.

    python -m bench.scale [--shards 100] [--partitions 128] [--workers 1000] [--tasks 1e9] [--seed 1] [-o json]

Measures what calls and things cost on this machine (one server, 200-byte payloads, as bench.queue_cpu does it), and
plays days with these costs, minute by minute: the curve of the day, arrivals by chance, keys of which some are busier
than others, workers that hold a connection to each partition and say there that they are alive, and a shard that is
away for a minute at the peak. A shard is a server with one main thread. What is not in it: the network, replicas, the
disk, and the processors of the workers.
"""

from __future__ import annotations

import argparse
import json
import math
import random
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from typing import Any

import redis

from bench.queue_cpu import PAYLOAD, per_task, prepare
from pyadeq import Adeq, EmbeddedServer, QueueCalls, Task
from pyadeq._core.queue.partitions import PartitionMap, make_tags
from pyadeq.ext.prove.bench.scene import sender
from pyadeq.ids import new_incarnation, new_ulid
from pyadeq.keys import SLOTS, hash_slot, partition_base

BEAT = 5.0  # seconds from one sign of life of a worker to the next, while it holds tasks
BLOCK = 10.0  # seconds that a wait for a partition lasts where nothing happens
DRY = 2.0  # seconds after which a busy worker asks a partition again that had nothing
PEAK = 3.0  # the busiest hour to the average
FULL = 0.7  # of a main thread: above, calls wait for each other noticeably
CLIENTS = 10_000  # maxclients where nobody changed it
SAMPLES = 7
MINUTES = 1440


@dataclass(frozen=True)
class Costs:
    """Microseconds of a server's main thread, and bytes.

    task_1, task_10, task_100: a task's enqueue, claim and end, in calls of so many. keyed: more for one with an
    ordering key. look: a claim that finds nothing. beat: a sign of life. bytes_task: waiting; bytes_key: more for one
    of a key of its own; bytes_client: a connection that is blocked.
    """

    task_1: float
    task_10: float
    task_100: float
    keyed: float
    look: float
    beat: float
    bytes_task: float
    bytes_key: float
    bytes_client: float

    def task(self, batch: float) -> float:
        """By the size of calls: a part for the call, and a part for the task."""
        call = (self.task_1 - self.task_100) / (1 - 1 / 100)
        return self.task_1 - call + call / max(batch, 1.0)


@dataclass(frozen=True)
class Deployment:
    """What there is.

    keyed: the share of tasks with an ordering key; keys: how many of these there are; skew: how much busier the first
    ones are, 0 for not at all (the n-th has a share like n to the power of -skew). run: seconds that a task takes.
    """

    shards: int
    partitions: int
    workers: int
    concurrency: int
    tasks: float  # a day
    keyed: float
    keys: int
    skew: float
    run: float


def main() -> None:
    """Measure, play, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--shards", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=128)
    parser.add_argument("--workers", type=int, default=1000, help="processes")
    parser.add_argument("--concurrency", type=int, default=50, help="tasks that each runs at a time")
    parser.add_argument("--tasks", type=float, default=1e9, help="a day")
    parser.add_argument("--keyed", type=float, default=0.5, help="the share of tasks that have an ordering key")
    parser.add_argument("--keys", type=int, default=1_000_000)
    parser.add_argument("--skew", type=float, default=0.5, help="how much busier some keys are: 0 to 1")
    parser.add_argument("--run", type=float, default=0.05, help="seconds that a task takes")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = vars(parser.parse_args())
    seed, output = arguments.pop("seed"), arguments.pop("output")
    costs, there = measured(), Deployment(**arguments)
    days = [play(replace(there, tasks=there.tasks * times), costs, seed) for times in (1, 2, 5, 10, 20)]
    report = {"costs": asdict(costs), "deployment": asdict(there), "days": days}
    print(json.dumps(report, indent=2) if output == "json" else table(report))


# What things cost


def measured() -> Costs:
    """The least of several times, for that repeats best."""
    with EmbeddedServer(config={"save": ""}) as server, Adeq.from_url(server.url) as adeq:
        client: Any = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")

        def least(tasks: int, work: Callable[[], Callable[[], object]]) -> float:
            print(".", end="", file=sys.stderr, flush=True)
            return min(per_task(client, tasks, work()) for _ in range(SAMPLES))

        by_batch = {
            batch: least(tasks, lambda batch=batch, tasks=tasks: prepare(client, tasks, batch))  # type: ignore[misc]
            for batch, tasks in ((1, 2000), (10, 10_000), (100, 20_000))
        }
        plain = least(10_000, lambda: enqueueing(client, 10_000, keyed=False))
        keyed = least(10_000, lambda: enqueueing(client, 10_000, keyed=True))
        look, beat = (least(5000, lambda verb=verb: asking(client, 5000, verb)) for verb in ("settle", "heartbeat"))  # type: ignore[misc]
        sizes = [size(adeq, keyed) for keyed in (False, True)]
        one = client_size(client, server.url)
    print(file=sys.stderr)
    return Costs(
        by_batch[1], by_batch[10], by_batch[100], keyed - plain, look, beat, sizes[0], sizes[1] - sizes[0], one
    )


def enqueueing(client: redis.Redis, tasks: int, *, keyed: bool) -> Callable[[], object]:
    """Tasks in calls of 100, each of a key of its own or of none."""
    client.flushall()
    calls = QueueCalls("ade:{queue:bench}")
    ids = [new_ulid() for _ in range(tasks)]
    made = [Task(payload=PAYLOAD, ordering_key=id if keyed else None) for id in ids]
    some = [
        calls.enqueue(list(zip(ids[at : at + 100], made[at : at + 100], strict=True)), new_ulid())
        for at in range(0, tasks, 100)
    ]
    client.script_load(some[0].script.text)
    return sender(client, [[call.command()] for call in some])


def asking(client: redis.Redis, times: int, verb: str) -> Callable[[], object]:
    """A worker that asks an empty queue so many times."""
    client.flushall()
    calls, incarnation = QueueCalls("ade:{queue:bench}"), new_incarnation()
    register = calls.register("w", incarnation)
    many: list[Any] = [
        calls.settle("w", incarnation, 0, n, limit=10) if verb == "settle" else calls.heartbeat([], "w")
        for n in range(1, times + 1)
    ]
    for call in (register, many[0]):
        client.script_load(call.script.text)
    sender(client, [[register.command()]])()
    return sender(client, [[call.command()] for call in many])


def size(adeq: Adeq, keyed: bool) -> float:
    """Bytes of a waiting task."""
    client: Any = adeq.client
    client.execute_command("FLUSHALL", "SYNC")
    queue = adeq.queue("bench")
    queue.configure(events_max=100)
    before, count = client.info("memory")["used_memory"], 50_000
    queue.enqueue_many(Task(payload=PAYLOAD, ordering_key=f"key-{n}" if keyed else None) for n in range(count))
    return float(client.info("memory")["used_memory"] - before) / count


def client_size(client: Any, url: str) -> float:
    """Bytes of a connection."""
    before = client.info("memory")["used_memory"]
    others = [redis.Redis.from_url(url, single_connection_client=True) for _ in range(200)]
    for other in others:
        other.ping()
    after = client.info("memory")["used_memory"]
    for other in others:
        other.close()
    return float(after - before) / len(others)


# A day


def play(there: Deployment, costs: Costs, seed: int) -> dict[str, Any]:
    """A day in minutes; at its peak the first shard is away for one of them."""
    random_ = random.Random(seed)
    weights, hottest = shares(there)
    share, parts = [0.0] * there.shards, [0] * there.shards
    for home, weight in zip(shards_of(there), weights, strict=True):
        share[home] += weight
        parts[home] += 1
    curve = [max(1 + (PEAK - 1) * math.sin((minute / MINUTES - 0.25) * 2 * math.pi), 0.2) for minute in range(MINUTES)]
    mean = sum(curve) / MINUTES
    peak = curve.index(max(curve))
    late = [0.0] * there.shards  # seconds of work that wait
    loads: list[float] = []
    latest, recovered = 0.0, 0
    for minute, level in enumerate(curve):
        rate = there.tasks / 86_400 * level / mean
        batch = batch_size(there, rate)
        for shard in range(there.shards):
            arrived = max(random_.gauss(rate * 60 * share[shard], math.sqrt(rate * 60 * share[shard])), 0.0)
            load = shard_load(there, costs, arrived / 60, parts[shard], batch)
            away = minute == peak and shard == 0
            late[shard] = max(late[shard] + load * 60 - (0 if away else 60), 0.0)
            loads.append(load)
            if shard == 0 and late[0] > 0 and minute >= peak:
                recovered = minute - peak + 1
            elif minute != peak:
                latest = max(latest, late[shard])
    peak_rate = there.tasks / 86_400 * max(curve) / mean
    clients = (max(parts) + 3) * there.workers
    running = peak_rate * there.run
    breaks = [
        (max(loads) / FULL, f"the busiest shard: {max(loads):.0%} of its thread"),
        (clients / CLIENTS, f"connections to a shard: {clients:,}, and maxclients is {CLIENTS:,} unless set"),
        (peak_rate * hottest * there.run, f"the busiest key: {peak_rate * hottest:.1f} tasks/s, one at a time"),
        (running / there.workers / there.concurrency, f"the workers: {running:,.0f} tasks run at a time"),
    ]
    return {
        "tasks": there.tasks,
        "peak_rate": peak_rate,
        "mean_load": sum(loads) / len(loads),
        "busiest_load": max(loads),
        "seconds_late": latest,
        "minutes_to_recover": recovered,
        "first": max(breaks)[1],
        "times_enough": 1 / max(breaks)[0],
    }


def shards_of(there: Deployment) -> list[int]:
    """The shard of each partition; shards have equal ranges of slots."""
    slots = [hash_slot(partition_base("jobs", tag)) for tag in make_tags("jobs", there.partitions)]
    return [slot * there.shards // SLOTS for slot in slots]


def shares(there: Deployment) -> tuple[list[float], float]:
    """The share of all tasks that each partition has, and that the busiest key has."""
    known = PartitionMap(1, make_tags("jobs", there.partitions))
    index = {tag: number for number, tag in enumerate(known.tags)}
    norm = sum(rank**-there.skew for rank in range(1, there.keys + 1))
    weights = [(1 - there.keyed) / there.partitions] * there.partitions
    for rank in range(1, there.keys + 1):
        weights[index[known.home(f"key-{rank}")[-1]]] += there.keyed * rank**-there.skew / norm
    return weights, there.keyed / norm


def batch_size(there: Deployment, rate: float) -> float:
    """How many tasks of one partition a worker's call carries: what ends there from one of its calls to the next."""
    calls = 20.0  # a second, of one worker
    return min(max(rate / there.workers / there.partitions / calls, 1.0), there.concurrency / 2)


def shard_load(there: Deployment, costs: Costs, rate: float, parts: int, batch: float) -> float:
    """Seconds of the main thread in a second."""
    work = rate * (costs.task(batch) + there.keyed * costs.keyed)
    looks = there.workers * parts * (1 / DRY + 1 / BLOCK) * costs.look
    beats = there.workers * parts / BEAT * costs.beat
    return (work + looks + beats) / 1e6


def table(report: dict[str, Any]) -> str:
    """All of it as text."""
    lines = ["What it costs (µs of the server's main thread; bytes)"]
    lines += [f"  {name:13}{value:>10.1f}" for name, value in report["costs"].items()]
    lines += [
        "",
        f"{'tasks a day':>15}{'at the peak':>13}{'a shard':>9}{'busiest':>9}{'late':>8}{'after a minute away':>21}",
    ]
    for day in report["days"]:
        late, back = f"{day['seconds_late']:.1f} s", f"{day['minutes_to_recover']} min"
        enough = "BREAKS" if day["times_enough"] < 1 else f"enough for {day['times_enough']:.1f} times as much"
        lines.append(
            f"{day['tasks']:>15,.0f}{day['peak_rate']:>11,.0f}/s{day['mean_load']:>9.1%}{day['busiest_load']:>9.1%}"
            f"{late:>8}{back:>21}"
        )
        lines.append(f"{'':17}{enough}; first {day['first']}")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
