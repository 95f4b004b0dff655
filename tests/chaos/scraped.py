"""Prometheus scrapes a run of a storm: no counter ever falls, and in the end each is what the judge counts.

The judge counts the events that the server has written. The counters are kept by the same scripts, so faults must not
separate them.
"""

from __future__ import annotations

import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from types import TracebackType
from typing import Final, NamedTuple, Self

from rich.console import Console

from pyadeq.ext.operate.metrics.table import TABLE
from pyadeq.ext.prove.chaos.history import Entry, History
from pyadeq.ext.prove.chaos.workload import Scene
from pyadeq.ext.shared.columns import columns
from tests.prometheus import Exporter, Prometheus
from tests.waiting import wait_until

INTERVAL: Final = "500ms"
LOST: Final = "adeq_event_group_lost_total"
COUNTERS: Final = [one.name for one in TABLE if one.kind == "counter" and one.name != LOST]


class Counted(NamedTuple):
    """A counter of a run. judge: its value by the events. last: by Prometheus. samples: how many were scraped.

    falls: how often a sample was lower than the one before, while one process exported.
    """

    name: str
    judge: int
    last: float | None
    samples: int
    falls: int


class Scraped:
    """The exporter of a run, and the Prometheus that scrapes it; a context manager. Begin after the queue is made."""

    def __init__(self, scene: Scene) -> None:
        self._scene = scene
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with self._stack:
            folder = Path(self._stack.enter_context(tempfile.TemporaryDirectory(prefix="adeq-scraped-")))
            scene = self._scene
            self._exporter = self._stack.enter_context(Exporter(scene.url, prefix=scene.prefix, slot=scene.slot))
            self._prometheus = self._stack.enter_context(Prometheus(folder, [self._exporter.port], interval=INTERVAL))
            self._stack = self._stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._stack.close()

    def compare(self, history: History) -> list[Counted]:
        """Each counter after the run. A new exporter reads the last values: it remembers none."""
        ended = time.time()
        self._exporter.kill()
        self._exporter.start()
        wait_until(lambda: self._scraped_since(ended))
        judged = count(history)
        found = [self._counted(name, f'queue="{self._scene.queue}"', judged[name], ended) for name in COUNTERS]
        events = history.nouns.get("events")
        for group, own in events.final["groups"].items() if events else ():
            labels = f'stream=~"config:{self._scene.domain}.*",group="{group}"'
            found.append(self._counted(LOST, labels, own["lost"], ended)._replace(name=f"{LOST} {group}"))
        return found

    def _scraped_since(self, ended: float) -> bool:
        samples = [sample for one in self._prometheus.query("adeq_up[5m]") for sample in one.samples]
        return any(at > ended and value for at, value in samples)

    def _counted(self, name: str, labels: str, judge: int, ended: float) -> Counted:
        samples = [sample for one in self._prometheus.query(f"{name}{{{labels}}}[1d]") for sample in one.samples]
        last = max(samples, default=(0.0, 0.0))
        return Counted(
            name,
            judge,
            last[1] if last[0] > ended else None,
            len(samples),
            falls(value for at, value in sorted(samples) if at <= ended),
        )


def falls(values: Iterable[float]) -> int:
    """How often a value is lower than the one before."""
    return sum(after < before for before, after in pairwise(values))


def count(history: History) -> Counter[str]:
    """The counters of the queue by its events."""
    found: Counter[str] = Counter()
    for entry in history.entries:
        for name, counts in EVENTS.items():
            found[name] += len(entry.ids) if counts(entry) else 0
    return found


def _is(*events: str) -> Callable[[Entry], bool]:
    return lambda entry: entry.event in events


EVENTS: Final[dict[str, Callable[[Entry], bool]]] = {
    **{
        f"adeq_tasks_{word}_total": _is(f"task.{word}")
        for word in ("enqueued", "claimed", "completed", "cancelled", "released", "snoozed", "stalled")
    },
    "adeq_tasks_retried_total": lambda entry: entry.event == "task.retried" and "reason" not in entry.words,
    "adeq_tasks_revived_total": lambda entry: entry.event == "task.retried" and "reason" in entry.words,
    "adeq_tasks_dead_total": _is("task.dead", "task.expired"),
    "adeq_tasks_dropped_total": lambda entry: entry.event == "task.removed" and entry.words["reason"] == "retention",
    "adeq_workers_lost_total": _is("worker.lost"),
}


def problems(counted: Iterable[Counted]) -> list[str]:
    """What is wrong with the counters."""
    found = []
    for one in counted:
        if one.last != one.judge:
            found.append(f"{one.name}: Prometheus has {one.last}, and the judge counts {one.judge}")
        if one.falls:
            found.append(f"{one.name} fell {one.falls} times")
    return found


def print_counted(console: Console, runs: Sequence[Sequence[Counted]]) -> None:
    """All runs added up: the judge's numbers beside those of Prometheus."""
    rows = []
    for name in dict.fromkeys(one.name for run in runs for one in run):
        own = [one for run in runs for one in run if one.name == name]
        numbers = (sum(getattr(one, field) or 0 for one in own) for field in ("judge", "last", "samples", "falls"))
        rows.append((name, *(f"{number:,.0f}" for number in numbers)))
    heads = ("COUNTER", "JUDGE", "PROMETHEUS", "SAMPLES", "FALLS")
    console.print(columns(heads, rows, right=heads[1:]))
