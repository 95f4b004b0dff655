"""Reads an installation, one server or one cluster, each time that Prometheus scrapes."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any, TypeVar

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily
from prometheus_client.registry import Collector
from redis.exceptions import NoPermissionError, RedisError, ResponseError

from pyadeq import Adeq, Annotation, Queue, QueueOverview, __version__
from pyadeq.errors import AdeqError, ClockError, DamagedError, TransportError
from pyadeq.ext.operate.metrics.table import COUNTED, GROUPS, LANES, MARKS, READERS, TABLE, UNREADABLE
from pyadeq.ext.shared.installation import event_streams, primaries, spoils_one

SLOWLY = 60.0
"""Seconds for which the names are remembered, and all that takes many commands. Finding the names scans all keys."""
STATES = ("ready", "delayed", "blocked", "running", "stalled", "finished", "dead")
BOUNDS_MS = tuple(2**power for power in range(0, 28, 2))
"""Every second bucket of the server, which counts in powers of two: exact, because a histogram is cumulative."""
ATTEMPTS = tuple(2**power for power in range(8))
FAMILIES = {"gauge": GaugeMetricFamily, "counter": CounterMetricFamily, "histogram": HistogramMetricFamily}
COUNTERS = [one.name for one in TABLE if one.kind == "counter" and one.labels == ("queue",)]
NOUNS = {"queue": True, "lock": False, "change": False, "session": True, "rate": True}
"""The nouns that are exported, and whether their partitions are wanted by name."""
Kept = tuple[str, float, tuple[str, ...]]
"""A metric, its value and its labels."""
INSTANCE = "/inst/"
"""The part of a lane before the name of a worker."""
V = TypeVar("V")


class Families:
    """The metrics of one scrape, by their names in the table."""

    def __init__(self) -> None:
        self._found: dict[str, Any] = {
            one.name: FAMILIES[one.kind](one.name, one.help, labels=one.labels) for one in TABLE
        }

    def add(self, name: str, value: float, *labels: str) -> None:
        """Add a value of a gauge or a counter."""
        self._found[name].add_metric(labels, value)

    def add_buckets(
        self, name: str, bounds: Iterable[int], unit: int, counts: Mapping[int, int], total: int, *labels: str
    ) -> None:
        """Add a histogram. counts: by the upper bound of a bucket; these are not cumulative. unit: of both, in one."""
        buckets = [(str(most / unit), sum(n for bound, n in counts.items() if bound <= most)) for most in bounds]
        self._found[name].add_metric(labels, [*buckets, ("+Inf", sum(counts.values()))], sum_value=total / unit)

    def __iter__(self) -> Iterator[Any]:
        return (family for family in self._found.values() if family.samples)


class AdeqCollector(Collector):
    """Exports a whole installation: `REGISTRY.register(AdeqCollector(adeq))`.

    It reads the server when it is scraped. Only the names, and what the table calls read once a minute, are kept for a
    minute. So any number of processes can export the same. If the server does not answer, `adeq_up` is 0. What
    cannot be read alone, such as a queue that needs a newer pyadeq or has damaged data, is left out, counted and named.
    """

    def __init__(self, adeq: Adeq) -> None:
        self._adeq = adeq
        self._names: dict[str, list[str]] = {}
        self._read_at = float("-inf")
        self._kept: list[Kept] = []
        self._totals: dict[str, dict[str, int]] = {}
        self._lost: dict[tuple[str, str], dict[str, int]] = {}
        self._refused: set[str] = set()
        self._refused_slowly: set[str] = set()

    def collect(self) -> Iterable[Any]:
        """Read the server, and return the metrics."""
        began = time.monotonic()
        families = Families()
        try:
            self._read(families)
            up = 1
        except (AdeqError, RedisError):
            families, up = Families(), 0
        families.add("adeq_up", up)
        families.add("adeq_build_info", 1, __version__)
        families.add("adeq_scrape_seconds", time.monotonic() - began)
        return families

    def describe(self) -> Iterable[Any]:
        """Return nothing: a registry need not read the server to accept the collector."""
        return ()

    def _read(self, families: Families) -> None:
        refused = self._refused = set[str]()
        slowly = time.monotonic() >= self._read_at + SLOWLY
        if slowly:
            self._names = {noun: sorted(self._adeq.names(noun, partitions=parts)) for noun, parts in NOUNS.items()}
        whole = [name for name in self._names["queue"] if "/" not in name]
        parted = {name.partition("/")[0] for name in self._names["queue"] if "/" in name}
        with suppress(DamagedError), self._adeq.pipeline() as pipe:  # the value of each raises its own error
            queues = {name: pipe.add(self._adeq.queue(name).calls.overview()) for name in whole if name not in parted}
            locks = {name: pipe.add(self._adeq.locks(name).calls.stats()) for name in self._names["lock"]}
        overviews = self._readable("queue", {name: partial(_value, found) for name, found in queues.items()})
        parts = {name: self._adeq.partitioned(name).inspect.overview for name in sorted(parted)}
        overviews |= self._readable("queue", parts)
        self._totals = {
            name: never_falling(self._totals.get(name, {}), _with_first_attempts(overview.counters))
            for name, overview in overviews.items()
        }
        for name, overview in overviews.items():
            _queue(families, name, overview, self._totals[name])
        held = {name: partial(_value, found) for name, found in locks.items()}
        for name, stats in self._readable("lock", held).items():
            for state in ("held", "waiting", "unchecked"):
                families.add(f"adeq_locks_{state}", getattr(stats, state), name)
        domains = {name: self._adeq.changes(name).stats for name in self._names["change"]}
        for name, changes in self._readable("change", domains).items():
            for state, count in changes.states.items():
                families.add("adeq_changes", count, name, state)
            families.add("adeq_changes_overdue", changes.overdue, name)
        if slowly:
            self._readable("queue", {name: partial(self._snapshot, name) for name in self._names["queue"]})
            dead = {name: name in parted for name, overview in overviews.items() if overview.dead}
            slow = (self._dead(dead), self._sessions(), self._rules(), self._groups(), self._marks())
            with_slow = self._refused = set(refused)
            self._kept = [one for part in slow for one in _permitted(part)]
            self._refused_slowly = with_slow - refused
            self._read_at = time.monotonic()
        refused |= self._refused_slowly
        families.add("adeq_unreadable", len(refused))
        for one in sorted(refused)[:UNREADABLE]:
            families.add("adeq_unreadable_info", 1, *one.split(":", 1))
        for metric, value, labels in self._kept:
            families.add(metric, value, *labels)
        with suppress(RedisError):  # a user without the right to INFO
            for server, node in primaries(self._adeq.client):
                families.add("adeq_server_memory_bytes", int(node.info("memory")["used_memory"]), server)

    def _dead(self, queues: Mapping[str, bool]) -> Iterator[Kept]:
        """queues: those with dead tasks, and whether they have partitions."""
        for name, parted in queues.items():
            queue = self._adeq.partitioned(name) if parted else self._adeq.queue(name)
            with self._one("queue", name):
                groups = queue.dead.summary(COUNTED).groups
                for one in groups[:GROUPS]:
                    yield "adeq_dead_tasks", one.count, (name, one.kind or "", one.reason or "")
                if len(groups) > GROUPS:
                    yield "adeq_dead_tasks", sum(one.count for one in groups[GROUPS:]), (name, "_other", "_other")

    def _sessions(self) -> Iterator[Kept]:
        counts: Counter[str] = Counter()
        with suppress(DamagedError), self._adeq.pipeline() as pipe:  # the value of each raises its own error
            asked = [
                (
                    name,
                    pipe.add(self._adeq.sessions(name.partition("/")[0]).part(name.partition("/")[2]).build("stats")),
                )
                for name in self._names["session"]
            ]
        for name, answer in asked:
            with self._one("session", name):
                counts[name.partition("/")[0]] += answer.value.sessions
        for realm, count in counts.items():
            yield "adeq_sessions", count, (realm,)

    def _rules(self) -> Iterator[Kept]:
        # Each partition has all rules, and its tag says how many partitions there are: 3-of-16.
        tags = dict(name.partition("/")[::2] for name in self._names["rate"])
        for namespace, tag in tags.items():
            rates = self._adeq.rates(namespace)
            read = (rates.partitioned(int(tag.rpartition("-")[2])) if tag else rates).list
            with self._one("rate", namespace):
                rules = read()
                for mode in ("enforced", "shadow"):
                    yield "adeq_rate_rules", sum(one.shadow == (mode == "shadow") for one in rules), (namespace, mode)

    def _groups(self) -> Iterator[Kept]:
        """Yield the metrics of event groups: over partitions, sums of event counts, and the highest of other values."""
        lengths: Counter[str] = Counter()
        found: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
        for stream in event_streams(self._adeq, refused=self._leave_out):
            name = stream.name.partition("/")[0]
            lengths[name] += stream.length
            for one in stream.groups:
                own = found[name, one.name]
                own.update({"lag": one.lag, "pending": one.pending, "lost_total": one.lost + one.missed})
                highest: dict[str, float] = {
                    "silent_seconds": stream.now - one.read,
                    "oldest_seconds": stream.now - one.oldest if one.oldest else 0,
                    "gap": one.gap is not None or one.missed > 0,
                    "lapsed": one.lapsed,
                }
                for what, value in highest.items():
                    own[what] = max(own[what], value)  # type: ignore[assignment]
        self._lost = {
            one: never_falling(self._lost.get(one, {}), {"lost_total": own["lost_total"]}) for one, own in found.items()
        }
        worst = sorted(found, key=lambda one: (-found[one]["lapsed"], -found[one]["gap"], -found[one]["lag"], one))
        for stream_and_group in worst[:READERS]:
            for what, value in {**found[stream_and_group], **self._lost[stream_and_group]}.items():
                yield f"adeq_event_group_{what}", value, stream_and_group
        lengths |= self._lengths()
        for name in sorted(
            {name for name, _ in worst[:READERS]} | {one for one in lengths if one.startswith("queue:")}
        ):
            yield "adeq_events", lengths[name], (name,)

    def _lengths(self) -> Counter[str]:
        """The events of queues, whether groups read them or not."""
        found: Counter[str] = Counter()
        for name in self._names["queue"]:
            try:
                found[f"queue:{name.partition('/')[0]}"] += self._adeq.client.xlen(f"{self._queue(name).base}:events")
            except NoPermissionError:  # a user without the right to XLEN
                break
            except ResponseError:  # this key is of another type
                self._leave_out(f"queue:{name}")
        return found

    def _marks(self) -> Iterator[Kept]:
        marks: list[Annotation] = []
        with suppress(ClockError), self._one("config", "_marks"):  # this client may have the clock of a test
            marks = self._adeq.annotations()[-MARKS:]
        newest = {one.text: one.at for one in marks}  # of equal texts, the last
        for text, at in newest.items():
            yield "adeq_mark_timestamp_seconds", at, (text,)

    def _readable(self, noun: str, read: Mapping[str, Callable[[], V]]) -> dict[str, V]:
        """What can be read of a noun, by name."""
        found: dict[str, V] = {}
        for name, value in read.items():
            with self._one(noun, name):
                found[name] = value()
        return found

    @contextmanager
    def _one(self, noun: str, name: str) -> Iterator[None]:
        """Read one of a noun. If it cannot be read alone, it is left out and counted, and hides no other."""
        try:
            yield
        except AdeqError as error:
            if not spoils_one(error):
                raise
            self._leave_out(f"{noun}:{name}")

    def _leave_out(self, stream: str) -> None:
        """Note a name that cannot be read. Its partitions are one."""
        self._refused.add(stream.partition("/")[0])

    def _queue(self, name: str) -> Queue:
        """A queue, or a partition of one."""
        whole, _, tag = name.partition("/")
        return self._adeq.partitioned(whole).part(tag) if tag else self._adeq.queue(whole)

    def _snapshot(self, name: str) -> None:
        """Take the snapshot of this minute, if no worker has done so."""
        try:
            self._queue(name).admin.snapshot()
        except TransportError as error:
            if error.retryable:  # else the user may only read, and the workers of the queue take the snapshots alone
                raise


def _permitted(found: Iterator[Kept]) -> list[Kept]:
    """What was found; nothing if the user may not read it."""
    try:
        return list(found)
    except TransportError as error:
        if error.retryable:
            raise
        return []


def _value(answer: Any) -> Any:
    return answer.value


def _lane(lane: str) -> str:
    """A lane as a label: those of single workers of a group are one."""
    return lane.partition(INSTANCE)[0] + INSTANCE.rstrip("/") if INSTANCE in lane else lane


def never_falling(before: Mapping[str, int], now: Mapping[str, int]) -> dict[str, int]:
    """Counters without the small step back of a server that has lost writes.

    Prometheus would take it for a new counter, and count all of it again. A counter stays where it was until the server
    is there again. If the counters are less than a tenth of what they were, the queue is another one.
    """
    if max(now.values(), default=0) * 10 < max(before.values(), default=0):
        return dict(now)
    return {name: max(before.get(name, 0), now.get(name, 0)) for name in {**before, **now}}


def _queue(families: Families, name: str, stats: QueueOverview, counters: Mapping[str, int]) -> None:
    for state in STATES:
        families.add("adeq_tasks", getattr(stats, state), name, state)
    lanes: Counter[str] = Counter()
    for lane, count in stats.lanes.items():
        lanes[_lane(lane)] += count
    longest = sorted(lanes.items(), key=lambda one: (-one[1], one[0]))
    for lane, count in longest[:LANES]:
        families.add("adeq_lane_tasks", count, name, lane)
    if len(longest) > LANES or stats.more_lanes:
        listed = sum(count for _, count in longest[:LANES])
        families.add("adeq_lane_tasks", max(0, stats.ready - listed), name, "_other")
    oldest: dict[str, float] = {}
    for lane, since in stats.oldest.items():
        oldest[_lane(lane)] = min(since, oldest.get(_lane(lane), since))
    for lane, since in sorted(oldest.items(), key=lambda one: (one[1], one[0]))[:LANES]:
        families.add("adeq_queue_oldest_seconds", max(0.0, stats.now - since), name, lane)
    families.add("adeq_workers", stats.workers, name)
    families.add("adeq_queue_paused", stats.mode == "paused", name)
    families.add("adeq_queue_draining", stats.mode == "draining", name)
    for counter in COUNTERS:
        word = counter.removeprefix("adeq_").removeprefix("tasks_").removesuffix("_total")
        families.add(counter, counters.get(word, 0), name)
    for word in ("wait", "run"):
        counts, total = _buckets(counters, f"{word}_ms"), counters.get(f"{word}_ms_sum", 0)
        families.add_buckets(f"adeq_task_{word}_seconds", BOUNDS_MS, 1000, counts, total, name)
    counts = _buckets(counters, "attempts")
    families.add_buckets("adeq_task_attempts", ATTEMPTS, 1, counts, counts[1] + counters.get("attempts_sum", 0), name)


def _buckets(counters: Mapping[str, int], word: str) -> dict[int, int]:
    """The buckets of a histogram by their upper bounds."""
    return {int(name.partition(":")[2]): count for name, count in counters.items() if name.startswith(f"{word}:")}


def _with_first_attempts(counters: Mapping[str, int]) -> dict[str, int]:
    """The server counts attempts only of tasks that took more than one."""
    later = sum(_buckets(counters, "attempts").values())
    return {**counters, "attempts:1": max(0, counters.get("completed", 0) - later)}
