"""All faults on real processes, each alone and then mixed by chance, and a judgement on what came of it.

In one mix the server loses nothing, so rules that excuse lost data are checked, too. There a worker is lost, and dead
tasks are deleted.

Prometheus scrapes meanwhile: its counters must be what the judge counts.

    python -m tests.chaos.storm --seconds 600 --seed 1 [--only FAULT …] [--report FILE]

Exits with 1 on a violation; its history is kept then. ADEQ_TEST_SERVER: the server's binary.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from random import Random
from time import monotonic, sleep

import redis
from rich.console import Console

from pyadeq.ext.prove.chaos.judge import judge
from pyadeq.ext.prove.chaos.report import Report, print_report, report_on, together
from pyadeq.ext.prove.chaos.run import Run
from pyadeq.ext.prove.chaos.workload import Scene
from tests.audit import audit
from tests.chaos.arena import Arena
from tests.chaos.faults import FAULTS, Fault
from tests.chaos.scraped import Counted, Scraped, print_counted, problems
from tests.conftest import server_binary
from tests.prometheus import MISSING

LONG = 200.0  # seconds; a shorter storm has no time for each fault alone
ALONE = 0.5  # of a long storm
MIXED = 45.0  # seconds of one mix
CALM = (0.2, 1.2)  # seconds between two faults
TICK = 0.05
PRESENCE = 15.0  # seconds after which a silent worker is lost: the least that there is
MUST_CHECK = "events_delivered"  # it checks nothing after a server has lost something
MUST_COUNT = ("adeq_workers_lost_total", "adeq_tasks_dropped_total")


class Storm:
    """Runs, one after the other, in one arena."""

    def __init__(self, arena: Arena, seed: int) -> None:
        self._arena = arena
        self._seed = seed
        self._runs = 0
        self.counted: list[list[Counted]] = []

    def run(self, faults: Sequence[Fault], seconds: float) -> Report:
        """Clients at work for so long, while these faults strike."""
        nothing_lost = is_mix_without_loss(faults)
        self._runs += 1
        name = f"chaos-{self._seed}-{self._runs}"
        random = Random(name)
        slot = name if (self._seed + self._runs) % 2 else None
        scene = Scene(self._arena.url, name, name, seed=self._seed * 1000 + self._runs, slot=slot)
        wanted = dict.fromkeys(one for fault in faults for one in fault.durability)
        durability = tuple(one for one in wanted if one in self._arena.durabilities)
        clocks = max((fault.clocks for fault in faults), key=len)
        self._arena.await_replica()
        struck: Counter[str] = Counter()
        with Run(scene, durability=durability, clocks=clocks) as run, ExitStack() as watching:
            self._arena.mark = run.recorder.mark  # type: ignore[assignment]
            run.begin()
            if nothing_lost:
                run.queue.configure(presence=PRESENCE, dead_max=0)
                run.crowd.kill(random.choice(run.crowd.of("worker")))
            scraped = None if MISSING else watching.enter_context(Scraped(scene))
            until = monotonic() + seconds
            while monotonic() < until:
                _wait(run, random.uniform(*CALM))
                chosen = _choose(faults, random)
                with ExitStack() as stack:
                    for fault in chosen:
                        struck[fault.name] += 1
                        stack.enter_context(fault.strike(self._arena, run, random))
                    _wait(run, max(random.uniform(*fault.seconds) for fault in chosen))
            history = run.end()
            with redis.Redis.from_url(self._arena.primary.url) as client:
                for base in run.bases:
                    history.problems += audit(client, base)
            verdict = judge(history)
            if scraped:
                self.counted.append(scraped.compare(history))
                history.problems += problems(self.counted[-1])
            if nothing_lost:
                history.problems += unchecked(verdict.checks, self.counted[-1] if scraped else ())
            report = report_on(history, verdict, faults=self._counted(struck, run))
            if not report.ok:
                report.history = str(Path(tempfile.gettempdir()) / f"adeq-{name}.jsonl")
                history.save(report.history)
            run.remove()
        return report

    def _counted(self, struck: Counter[str], run: Run) -> dict[str, int]:
        """How often each fault struck; of the network, how many requests."""
        requests = dict(self._arena.proxy.counts)
        self._arena.proxy.counts.clear()
        return {**struck, **run.crowd.counts, **requests}


def _wait(run: Run, seconds: float) -> None:
    until = monotonic() + seconds
    while monotonic() < until:
        run.maintain()
        sleep(TICK)


def _choose(faults: Sequence[Fault], random: Random) -> list[Fault]:
    """Up to three that go together."""
    chosen = random.sample(faults, min(len(faults), random.choice((1, 1, 2, 3))))
    of_server = [fault for fault in chosen if fault.of_server]
    return [fault for fault in chosen if not fault.of_server or fault is of_server[0]]


def plan(faults: Iterable[Fault], seconds: float) -> Iterable[tuple[list[Fault], float]]:
    """Each fault alone, where there is time, and then mixes of them."""
    faults = list(faults)
    mixable = [fault for fault in faults if not fault.alone] or faults
    left = seconds
    if len(faults) == 1:
        yield faults, seconds
        return
    if seconds >= LONG:
        each = seconds * ALONE / len(faults)
        for fault in faults:
            yield [fault], each
        left -= seconds * ALONE
    mixes = max(1, round(left / MIXED))
    for number in range(mixes):
        yield [fault for fault in mixable if mixes == 1 or number or not fault.loses], left / mixes


def is_mix_without_loss(faults: Sequence[Fault]) -> bool:
    """Whether these are several faults by which the server loses nothing."""
    return len(faults) > 1 and not any(fault.loses for fault in faults)


def unchecked(checks: Mapping[str, int], counted: Iterable[Counted]) -> list[str]:
    """What a mix without loss had to show, and did not."""
    found = [] if checks[MUST_CHECK] else [f"the rule {MUST_CHECK} had nothing to check"]
    return found + [f"{one.name} is 0" for one in counted if one.name in MUST_COUNT and not one.judge]


def storm(faults: Iterable[Fault], seconds: float, seed: int, binary: Path, console: Console) -> Report:
    """All of it. The seconds are those in which faults strike."""
    reports = []
    with Arena(binary, seed) as arena:
        storm, engine = Storm(arena, seed), arena.primary.engine
        for some, length in plan(faults, seconds):
            report = storm.run(some, length)
            reports.append(report)
            what = "mixed, no loss" if is_mix_without_loss(some) else some[0].name if len(some) == 1 else "mixed"
            console.print(f"{what:<18} {length:4.0f} s  {_brief(report)}", highlight=False)
    console.print()
    if storm.counted:
        print_counted(console, storm.counted)
    else:
        console.print("prometheus is not on the PATH, so nothing was scraped")
    whole = together(reports)
    whole.seed, whole.server = seed, engine
    return whole


def _brief(report: Report) -> str:
    lost = sum(count for verbs in report.lost.values() for count in verbs.values())
    return (
        f"{sum(report.tasks.values()):5} tasks, {sum(report.calls.values()):6} calls, "
        f"{report.calls.get('unknown', 0):4} unknown, {lost:3} lost, {sum(report.checks.values()):6} checks, "
        f"{len(report.violations)} violations{''.join(f'; {problem}' for problem in report.problems[:1])}"
    )


def main(arguments: Sequence[str]) -> int:
    """The exit status."""
    parser = argparse.ArgumentParser(prog="tests.chaos.storm", description="All faults on real processes.")
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=sorted(FAULTS), metavar="FAULT")
    parser.add_argument("--report", type=Path, metavar="FILE", help="write the report there, as JSON")
    options = parser.parse_args(arguments)
    console = Console(highlight=False, soft_wrap=True)
    faults = [FAULTS[name] for name in options.only or FAULTS]
    report = storm(faults, options.seconds, options.seed, server_binary(), console)
    console.print()
    print_report(console, report)
    if options.report:
        options.report.write_text(report.model_dump_json(indent=2))
    if report.history:
        console.print(f"The history of the first run that failed: adeq chaos --judge {report.history}")
    return 0 if report.ok else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
