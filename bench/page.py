"""Write docs/performance.md and its pictures: page.md, filled with the figures of bench/results/*.json.

    python -m bench.page

`bench.peers` writes peers.json, `bench.lock_contended` locks.json, `bench.rate_cpu` rates.json, `bench.session_cpu`
sessions.json, `bench.client_calls` client_calls.json, `bench.service` service.json, `bench.worst_calls` worst.json,
`bench.migrate` migrate.json, and `bench.before_after` before_after.json. `adeq bench` writes the others: valkey.json
and changes.json, redis.json and changes_redis.json, and memory.json without an append-only file. `make figures`
measures all but migrate.json and before_after.json again. The instruction counts are the recorded ones of tests/nouns.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from pathlib import Path
from statistics import median as median_of

from bench.page_before import of_before
from bench.page_calls import of_calls
from bench.page_changes import of_changes
from bench.page_figures import COUNTED, FLOOR, LIFE, OWN, Json, Rows, count, figure, met, of, table
from bench.page_migrate import of_migrate
from bench.page_requests import of_requests
from bench.page_service import of_service
from bench.peers.environments import NODE, OURS

HERE = Path(__file__).parent
RESULTS, TEXT = HERE / "results", HERE / "page.md"
PAGE, PICTURES = HERE.parent / "docs/performance.md", HERE.parent / "docs/assets/performance"
BESIDES = {
    "backlog": "other tasks waiting",
    "delayed": "other tasks delayed",
    "running": "other tasks running",
    "kept": "ended tasks kept; each new one deletes an older one",
    "waiting": "waiters for a lock",
}


def main() -> None:
    """Write the page and the pictures."""
    from bench.page_plots import draw

    PAGE.write_text(page(results()))
    draw(results(), PICTURES)


def results() -> dict[str, Json]:
    """Every report by its name."""
    return {path.stem: json.loads(path.read_text()) for path in sorted(RESULTS.glob("*.json"))}


def page(found: dict[str, Json]) -> str:
    """The page's text."""
    notes = {path.stem: path.read_text().strip() for path in RESULTS.glob("*.md")}
    words = of_peers(found["peers"]) | of_shards(found) | of_workers(found["valkey"]) | of_the_rest(found["valkey"])
    locks = {
        "lock_times": str(found["locks"]["times"]),
        "lock_rounds": str(found["locks"]["rounds"]),
        "locks": table(*of_locks(found["locks"])),
    }
    words |= of_the_worst(found["worst"]) | {
        "changes": of_changes(found.get("changes"), found.get("changes_redis")),
        "before": of_before(found.get("before_after")),
        "calls": of_calls(found.get("client_calls")),
        "requests": of_requests(found.get("rates"), found.get("sessions")),
        "service": of_service(found.get("service")),
        "migrate": of_migrate(found.get("migrate")),
    }
    filled = {name: text.format_map(words) for name, text in notes.items()}
    return TEXT.read_text().format_map(words | locks | filled)


def of_peers(peers: Json) -> dict[str, str]:
    """The comparison with other queues, fastest first, and our aims."""
    ordered = sorted(peers["results"], key=lambda one: -one.get("per_second", {"median": 0})["median"])
    heads = (
        "",
        "version",
        "tasks/s: median (lowest to highest)",
        "bulk enqueue/s",
        "server µs per task",
        "server commands per task",
        "p50 ms",
        "p99 ms",
    )
    bars = (
        (one["what"], one["beside"], f"{one['ratio']:.2f}", f"at {one['at']} {one['bar']:g}", met(one["met"]))
        for one in peers["compared"]
    )
    lives = (
        f"{one['median']:.1f} µs in batches of {one['batch']}{'' if one['events'] else ' without events'}"
        for one in peers["batches"]
    )
    us = {one["peer"]: one["server"]["whole"]["us"]["median"] for one in ordered}
    return {
        "worker_share": f"{us[OURS] / us[NODE]:.2f}",
        "concurrency": str(peers["concurrency"]),
        "peer_tasks": f"{peers['tasks']:,}",
        "peer_rounds": str(peers["rounds"]),
        "peer_server": peers["server"],
        "peers": table(heads, map(of_peer, ordered)),
        "lives": ", ".join(lives),
        "bars": table(("", "beside", "ratio", "aim", ""), bars),
    }


def of_peer(one: Json) -> Sequence[str]:
    """A row of the table of peers; a cell is empty if the value was not measured."""
    name, rate, waits = one["peer"], one.get("per_second"), one.get("start_ms")
    libraries = ("python", "node", "redis", "hiredis", "ioredis", "coredis")
    whole = one["server"]["whole"] if "server" in one else None
    return (
        f"**{name}**" if name == OURS else name,
        ", ".join(version for library, version in one["versions"].items() if library not in libraries),
        f"{rate['median']:,.0f} ({spread(rate['rounds'])})" if rate else "",
        f"{one['enqueue_per_second']['median']:,.0f}" if "enqueue_per_second" in one else "",
        f"{whole['us']['median']:.0f}" if whole else "",
        f"{whole['commands']['median']:.0f}" if whole else "",
        f"{waits['p50']:.1f}" if waits else "",
        f"{waits['p99']:.1f}" if waits else "",
    )


def of_locks(locks: Json) -> tuple[Sequence[str], Rows]:
    heads = ("processes", "", "seconds", "median wait ms", "longest wait ms", "inversions", "commands each")
    return heads, (
        (
            str(one["processes"]),
            one["subject"],
            f"{one['seconds']:.2f}",
            f"{one['median_wait'] * 1000:.1f}",
            f"{one['longest_wait'] * 1000:,.0f}",
            str(one["inversions"]),
            f"{one['commands']:.1f}",
        )
        for one in locks["runs"]
    )


def of_shards(found: dict[str, Json]) -> dict[str, str]:
    """What one core of a server carries, by engine."""
    lives = {batch: [lowest(found[name], "cost", LIFE, batch=batch) for name in OWN] for batch in (1, 10, 100, 500)}
    heads = ["tasks per call", *(f"{words}: {what}" for words in OWN.values() for what in ("µs per task", "tasks/s"))]
    rows = (
        [str(batch), *(cell for us in some for cell in (f"{us:.1f}", rough(1e6 / us)))] for batch, some in lives.items()
    )
    floors = (f"{words} {lowest(found[name], 'cost', FLOOR):.1f} µs" for name, words in OWN.items())
    alone, in_tens, in_hundreds, in_many = (us for us, *_ in lives.values())
    own = found["valkey"]
    return {
        "machine": own["machine"],
        "python": own["python"],
        "engine": own["engine"],
        "persistence": own["persistence"],
        "rounds": str(own["rounds"]),
        "redis": found["redis"]["engine"],
        "shard": table(heads, rows),
        "floors": ", ".join(floors),
        "alone": f"{alone / in_hundreds:.1f}",
        "in_tens": f"{in_tens / in_hundreds:.1f}",
        "in_many": f"{in_many / in_hundreds:.2f}",
        "half_in_hundreds": rough(0.5e6 / in_hundreds),
        "half_alone": rough(0.5e6 / alone),
    }


def of_workers(own: Json) -> dict[str, str]:
    """The throughput and the latency of a worker."""
    drains = (
        (
            str(one["by"]["concurrency"]),
            f"{one['by']['bytes']:,}",
            f"{one['median']:,.0f}",
            spread(one["values"]),
            f"{one['ratio']:.2f}",
        )
        for one in of(own, "drain")
    )
    waits = (
        (f"{one['by']['load']:,}", one["what"].split()[0], f"{one['median']:.2f}", f"{one['ratio']:.1f}")
        for one in of(own, "latency")
    )
    single, busy = (median(own, "drain", "one worker process", concurrency=number, bytes=200) for number in (1, 100))
    return {
        "single": rough(single),
        "busy": rough(busy),
        "drain": table(
            ("tasks at a time", "bytes of payload", "tasks/s of one worker", "lowest to highest", "× floor"), drains
        ),
        "latency": table(("other tasks per second", "", "ms", "× floor"), waits),
    }


def of_the_rest(own: Json) -> dict[str, str]:
    """Calls, growth, memory, idle workers and recovery."""
    instructions = tomllib.loads(COUNTED.read_text())["paths"]
    paths = (
        (one["what"], f"{min(one['values']):.0f}", str(instructions.get(one["what"], "")), count(one["commands"]))
        for one in of(own, "paths")
    )
    growth = (
        (f"{one['by'][name]:,} {words}", f"{one['median']:.1f}", spread(one["values"], ".1f"))
        for name, words in BESIDES.items()
        for one in of(own, "growth")
        if name in one["by"]
    )
    memory = ((one["what"], f"{one['median']:,.0f}", f"{one['ratio'] or 1:.1f}") for one in of(own, "memory"))
    rest = (
        (
            ", ".join((one["what"], *(f"{name} {n}" for name, n in one["by"].items()))),
            f"{one['median']:,.1f} {one['unit']}",
        )
        for subject in ("idle", "recovery")
        for one in of(own, subject)
    )
    return {
        "paths": table(("call", "µs, lowest", "thousands of instructions", "commands"), paths),
        "growth": table(("", "µs", "lowest to highest"), growth),
        "memory": table(("state", "bytes", "× a bare stream entry"), memory),
        "rest": table(("measurement", "value"), rest),
    }


def of_the_worst(worst: Json) -> dict[str, str]:
    """The longest calls of each script: with the usual number of items, and with the largest."""
    calls = [one for one in worst["calls"] if not one.get("beyond")]
    beyond = [median_of(one["ms"]) for one in worst["calls"] if one.get("beyond")]
    rows = (
        (script, *of_worst(calls, script, True), *of_worst(calls, script, False))
        for script in dict.fromkeys(one["script"] for one in calls)
    )
    usual, largest = ([median_of(one["ms"]) for one in calls if one["usual"] == usual] for usual in (True, False))
    return {
        "worst": table(("script", "usual items", "ms", "commands", "largest items", "ms", "commands"), rows),
        "worst_machine": f"{worst['machine']}, {worst['engine']}",
        "worst_repeat": "one call" if worst["repeat"] == 1 else f"the median of {worst['repeat']} calls",
        "worst_usual": f"{sum(ms <= 10 for ms in usual)} of {len(usual)}",
        "worst_beyond": f"{min(beyond):.0f} to {max(beyond):.0f}",
        "worst_largest": f"{sum(ms <= 100 for ms in largest)} of {len(largest)}",
    }


def of_worst(calls: Sequence[Json], script: str, usual: bool) -> Sequence[str]:
    """Three cells of a row, for the state in which the script takes longest."""
    found = [one for one in calls if one["script"] == script and one["usual"] == usual]
    if not found:
        return "", "", ""
    worst = max(found, key=lambda one: float(median_of(one["ms"])))
    return f"{worst['items']:,}", f"{median_of(worst['ms']):.1f}", f"{worst['commands']:,}"


def median(report: Json, subject: str, what: str, **by: int) -> float:
    return float(figure(report, subject, what, **by)["median"])


def lowest(report: Json, subject: str, what: str, **by: int) -> float:
    """The lowest of all rounds, because other work of the machine only adds to them."""
    return float(min(figure(report, subject, what, **by)["values"]))


def spread(values: Sequence[float], form: str = ",.0f") -> str:
    return f"{min(values):{form}} to {max(values):{form}}"


def rough(number: float) -> str:
    """Rounded to two digits, which is as exact as the measurement."""
    step = 10 ** (len(str(int(number))) - 2)
    return f"{round(number / step) * step:,}"


if __name__ == "__main__":
    main()
