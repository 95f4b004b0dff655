"""The server's CPU for a hit, beside INCR + EXPIRE in one pipeline, and beside other rate limiters; and the client's.

    python -m bench.rate_cpu [--hits 2000] [--rounds 10] [--engine PATH] [-o json]

Append-only file off, unix socket; all commands are packed beforehand. Subjects alternate; the lowest of the rounds is
compared. Figures are microseconds of the server's main thread per hit. What others send is recorded from their own
clients with MONITOR, and then sent like ours. They are left out where they are not installed: pip install limits
throttled-py pyrate-limiter.

A server that sleeps between two commands is charged for waking up, floor and subject alike. So ratios to the floor are
smaller on an idle machine than on one whose cores are kept awake by others.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import redis

from pyadeq import Adeq, EmbeddedServer
from pyadeq._core.kernel.manifest import library
from pyadeq._core.kernel.nouncalls import NounCalls
from pyadeq._core.rate.calls import HitCalls
from pyadeq.ext.prove.bench.figures import machine
from pyadeq.ext.prove.bench.scene import main_thread, sender

BASE = "ade:{rate:bench}"
MANY = 1_000_000
BATCH = 100
Commands = list[tuple[Any, ...]]
RULES: dict[str, dict[str, Any]] = {
    **{name: {"limit": MANY, "period_ms": 60_000} for name in ("one", "two", "three")},
    "log10": {"algorithm": "log", "limit": 10, "period_ms": 60_000},
    "log5000": {"algorithm": "log", "limit": 5000, "period_ms": 60_000},
    # of these, hits grow too old at the pace at which they come
    "passing100": {"algorithm": "log", "limit": 100, "period_ms": 1},
    "passing5000": {"algorithm": "log", "limit": 5000, "period_ms": 100},
    "slots": {"algorithm": "concurrency", "limit": MANY},
}


def main() -> None:
    """Measure, and print a table or JSON."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--hits", type=int, default=2000, help="hits in a round")
    parser.add_argument("--rounds", type=int, default=10, help="how many times the subjects alternate")
    parser.add_argument("--engine", type=Path, help="a server binary; the one of the wheel if left out")
    parser.add_argument("-o", "--output", choices=["table", "json"], default="table")
    arguments = parser.parse_args()
    with EmbeddedServer(binary=arguments.engine, config={"save": ""}) as server:
        client = redis.Redis.from_url(server.url)
        client.config_set("appendonly", "no")
        report = measure(client, server, arguments.hits, arguments.rounds)
    print(json.dumps(report, indent=2) if arguments.output == "json" else table(report))


def measure(client: Any, server: EmbeddedServer, hits: int, rounds: int) -> dict[str, Any]:
    """The lowest figure of each subject; of each the commands of one hit."""
    for id in library():
        if id.startswith("rate."):
            client.script_load(library()[id].text)
    store_rules(client)
    subjects = {**ours(client), **dict(others(client, server))}
    works = {name: sender(client, [one] * hits) for name, one in subjects.items()}
    works |= {
        f"{name}, {BATCH} in a pipeline": sender(client, [one * BATCH] * (hits // BATCH))
        for name, one in subjects.items()
        if name in ("INCR + EXPIRE", "gcra")
    }
    runs: dict[str, list[float]] = {name: [] for name in works}
    for round in range(rounds):
        print(f"\rround {round + 1} of {rounds}", end="", file=sys.stderr, flush=True)
        for name, work in works.items():
            before = main_thread(client)
            work()
            runs[name].append((main_thread(client) - before) / hits * 1e6)
    print(file=sys.stderr)
    clients = clients_part(server, hits, rounds)
    aims = bars({name: min(figures) for name, figures in (runs | clients).items()})
    about = {"engine": server.engine, "machine": machine(), "rounds": rounds}
    return {**about, "unit": "µs of server CPU per hit", "runs": runs, "clients": clients, "bars": aims}


def clients_part(server: EmbeddedServer, hits: int, rounds: int) -> dict[str, list[float]]:
    """Microseconds of this process's CPU per call of redis-py, of a hit, and of a hit that the cache refuses."""
    with Adeq.from_url(server.url) as adeq:
        rates = adeq.rates("client")
        rates.set("much", limit=MANY, period=60, burst=MANY)
        rates.set("little", limit=1, period=3600)
        rates.hit("little", "user:1")
        rates.hit("little", "user:1")  # refused for an hour; the cache knows that for a second
        plain = redis.Redis.from_url(server.url)
        calls: dict[str, Callable[[], object]] = {
            "redis-py incr": lambda: plain.incr("client:user:1"),
            "hit": lambda: rates.hit("much", "user:1"),
            "hit that the cache refuses": lambda: rates.hit("little", "user:1"),
        }
        runs: dict[str, list[float]] = {name: [] for name in calls}
        for _ in range(rounds):
            for name, call in calls.items():
                began = time.process_time()
                for _ in range(hits):
                    call()
                runs[name].append((time.process_time() - began) / hits * 1e6)
    return runs


def bars(lowest: dict[str, float]) -> dict[str, dict[str, float]]:
    """What should hold, with the figure and its bound."""
    return {
        "client: hit / redis-py incr": {"is": lowest["hit"] / lowest["redis-py incr"], "at_most": 1.6},
        "client: refused by the cache, µs": {"is": lowest["hit that the cache refuses"], "at_most": 5.0},
        "gcra / INCR + EXPIRE": {"is": lowest["gcra"] / lowest["INCR + EXPIRE"], "at_most": 1.6},
        "gcra in a pipeline, µs": {"is": lowest[f"gcra, {BATCH} in a pipeline"], "at_most": 15.0},
        "three rules / one rule": {"is": lowest["gcra, three rules"] / lowest["gcra"], "at_most": 2.0},
        **{
            f"log of 5,000 / log of {few}, {how}": {
                "is": lowest[f"log of 5,000, {how}"] / lowest[f"log of {few}, {how}"],
                "at_most": 1.2,
            }
            for few, how in ((10, "refused"), (100, "allowed"))
        },
    }


def store_rules(client: Any) -> None:
    calls = NounCalls(BASE, noun="rate")
    item = [{"name": name, **rule} for name, rule in RULES.items()]
    client.execute_command(*calls.build("set_rules", rid="bench", item=item).command())


def ours(client: Any) -> dict[str, Commands]:
    """The commands of one hit, by subject. Full logs refuse, and have to look at their oldest hit."""
    calls = HitCalls(BASE, lambda: 0)

    def hit(*rules: str, cost: int | None = None, rid: str | None = None) -> tuple[Any, ...]:
        return calls.hit([(rule, "user:1", cost) for rule in rules], rid).command()

    client.execute_command(*hit("log10", cost=9))
    client.execute_command(*hit("log5000", cost=4999))
    return {
        "INCR + EXPIRE": [("INCR", "floor:user:1"), ("EXPIRE", "floor:user:1", 60)],
        "gcra": [hit("one")],
        "gcra, three rules": [hit("one", "two", "three")],
        "log of 10, refused": [hit("log10")],
        "log of 5,000, refused": [hit("log5000")],
        "log of 100, allowed": [hit("passing100")],
        "log of 5,000, allowed": [hit("passing5000")],
    }


def others(client: Any, server: EmbeddedServer) -> Iterator[tuple[str, Commands]]:
    """What other limiters send for one hit that is allowed."""
    for name, module, make in OTHERS:
        try:
            importlib.import_module(module)
        except ImportError:
            print(f"left out: {name}; {module} is not installed", file=sys.stderr)
            continue
        once = make(client, server)
        once()  # loads its script
        yield name, recorded(client, once)


def recorded(client: Any, once: Callable[[], object]) -> Commands:
    """The commands that a client sends, without those that its scripts send."""
    with client.monitor() as monitor:
        once()
        client.execute_command("GET", "end-of-record")
        found: Commands = []
        for one in monitor.listen():
            words = one["command"].split(" ")
            if words[:2] == ["GET", "end-of-record"]:
                return found
            if one["client_type"] != "lua" and words[0] not in ("CLIENT", "HELLO", "SELECT"):
                found.append(tuple(words))
    return found


def limits_fixed(client: Any, server: EmbeddedServer) -> Callable[[], object]:
    import limits

    return _limits(limits.strategies.FixedWindowRateLimiter, client)


def limits_moving(client: Any, server: EmbeddedServer) -> Callable[[], object]:
    import limits

    return _limits(limits.strategies.MovingWindowRateLimiter, client)


def _limits(strategy: Any, client: Any) -> Callable[[], object]:
    import limits

    pool: Any = client.connection_pool
    limiter = strategy(
        limits.storage.RedisStorage("redis://localhost", connection_pool=pool, key_prefix=strategy.__name__)
    )
    rule = limits.parse(f"{MANY}/minute")
    return lambda: limiter.hit(rule, "user:1")


def throttled_gcra(client: Any, server: EmbeddedServer) -> Callable[[], object]:
    import throttled

    store = throttled.RedisStore(server.url)
    own = throttled.Throttled(key="user:1", using="gcra", quota=throttled.per_min(MANY, burst=MANY), store=store)
    limit: Callable[[], object] = own.limit
    return limit


def pyrate_log(client: Any, server: EmbeddedServer) -> Callable[[], object]:
    import pyrate_limiter

    rates = [pyrate_limiter.Rate(MANY, pyrate_limiter.Duration.MINUTE)]
    limiter = pyrate_limiter.Limiter(pyrate_limiter.RedisBucket.init(rates, client, "pyrate"))
    return lambda: limiter.try_acquire("user:1")


OTHERS: Sequence[tuple[str, str, Callable[[Any, EmbeddedServer], Callable[[], object]]]] = [
    ("limits, fixed window", "limits", limits_fixed),
    ("limits, moving window", "limits", limits_moving),
    ("throttled-py, gcra", "throttled", throttled_gcra),
    ("pyrate-limiter, log", "pyrate_limiter", pyrate_log),
]


def table(report: dict[str, Any]) -> str:
    """The figures as lines of text."""
    lines = [f"{report['engine']}, {report['unit']}", "", f"{'':36}{'min':>8}{'max':>8}"]
    lines += [f"{name:36}{min(figures):8.1f}{max(figures):8.1f}" for name, figures in report["runs"].items()]
    lines += ["", "µs of the client's CPU per call"]
    lines += [f"{name:36}{min(figures):8.1f}{max(figures):8.1f}" for name, figures in report["clients"].items()]
    lines += ["", *(f"{name:36}{one['is']:8.2f}  (bar: {one['at_most']})" for name, one in report["bars"].items())]
    return "\n".join(lines)


if __name__ == "__main__":
    main()
