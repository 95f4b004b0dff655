"""A queue in more than one hash slot: which partition a task belongs to, now and in earlier epochs."""

from __future__ import annotations

from binascii import crc_hqx
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, count
from typing import Any, Final

from pyadeq.errors import BadArgument, ConfigError
from pyadeq.keys import SLOTS, hash_slot, shown
from pyadeq.models.queue import QueueOverview, QueueStats
from pyadeq.models.worker import WorkerInfo

MOST: Final = 512
"""Partitions of a queue, at most."""

WHOLE: Final = "-"
"""The tag of the queue's own base, the only partition of an unpartitioned queue."""

_BITS = MOST.bit_length() - 1
_WIDTH = SLOTS // MOST

DECIDERS: Final = ("ordering_key", "idempotency_key", "unique", "scope")
"""Options whose key decides the partition: all tasks with one key are in one partition."""

Home = tuple[str, ...]
"""The tags of a task's partitions: in earlier epochs, the earliest first, and in the current one."""


@dataclass(frozen=True)
class PartitionMap:
    """The partitions of a queue since an epoch.

    before: the partitions of earlier epochs, where tasks may be whose keys have moved since. settled: those of even
    earlier epochs, which new tasks no longer ask.
    """

    epoch: int = 0
    tags: tuple[str, ...] = (WHOLE,)
    before: tuple[tuple[str, ...], ...] = ()
    settled: tuple[tuple[str, ...], ...] = ()

    @cached_property
    def all(self) -> tuple[str, ...]:
        """Every partition that may hold tasks, ended ones too; those of now first."""
        return tuple(dict.fromkeys([*self.tags, *chain(*self.before), *chain(*self.settled)]))

    @property
    def newest(self) -> tuple[str, ...]:
        """The partitions that the newest epoch has added, until the repartition is finished."""
        return tuple(tag for tag in self.tags if tag not in self.before[-1]) if self.before else ()

    @cached_property
    def by_age(self) -> tuple[str, ...]:
        """Every partition that may hold tasks, those of the earliest epoch first."""
        return tuple(dict.fromkeys([*chain(*self.settled), *chain(*self.before), *self.tags]))

    @cached_property
    def _known(self) -> frozenset[str]:
        return frozenset(self.all)

    def home(self, key: str) -> Home:
        """Return the partitions of a key."""
        digest = crc_hqx(key.encode(errors="surrogatepass"), 0)  # the call refuses surrogates
        now = self.tags[digest % len(self.tags)]
        earlier = dict.fromkeys(tags[digest % len(tags)] for tags in self.before)
        return (*(tag for tag in earlier if tag != now), now)

    def home_of_id(self, id: str) -> Home:
        """Return the partitions of a task id: a generated id may name its partition; other ids are hashed."""
        return (tag_in(id),) if self.is_named_by(id) else self.home(id)

    def is_named_by(self, id: str) -> bool:
        """Whether an id says in which of these partitions its task is."""
        return tag_in(id) in self._known

    def places_of_id(self, id: str) -> tuple[str, ...]:
        """Return the partitions to search for a task, most likely first. A chosen id may be a schedule's, or an older
        one.
        """
        home = self.home_of_id(id)
        return home if self.is_named_by(id) else tuple(dict.fromkeys([*reversed(home), *self.all]))

    def home_of(self, id: str | None, pairs: Mapping[str, Any]) -> Home | None:
        """Return the partitions of a new task, from its chosen id and its pairs; None if any partition will do.

        BadArgument if it would have to be in two partitions, now or while keys move.
        """
        first, home = "", None
        deciders = [name for name in DECIDERS if pairs.get(name)] + ["id"] * (id is not None)
        if len(deciders) > 1 and len(self.all) > 1:
            raise BadArgument(
                "ADEQ_ARG",
                "pyadeq",
                f"{deciders[1]}: it is given together with {deciders[0]}; allowed in a queue with partitions: one of "
                f"{', '.join(DECIDERS)} and id, for each may move to another partition by itself",
            )
        for name, key, its in self._ties(id, pairs):
            if home is not None and its != home:
                raise BadArgument(
                    "ADEQ_ARG",
                    "pyadeq",
                    f"{name}: {shown(key)} is in another partition of the queue than what {first} says; allowed: one "
                    "that decides, or several in the same partition",
                )
            first, home = first or name, its
        return home

    def belongs(self, tag: str, id: str | None, pairs: Mapping[str, Any]) -> bool:
        """Whether a task that is in a partition would be put there now."""
        return all(home[-1] == tag for _, _, home in self._ties(id, pairs))

    def _ties(self, id: str | None, pairs: Mapping[str, Any]) -> Iterable[tuple[str, str, Home]]:
        for name in DECIDERS:
            if key := pairs.get(name):
                yield name, key, self.home(key)
        for key in pairs.get("limits") or ():
            yield "limits", key, self.home(key)
        for name, ids in (("parent", [pairs.get("parent")]), ("after", pairs.get("after") or ()), ("id", [id])):
            for one in ids:
                if one:
                    yield name, one, self.home_of_id(one)


def tag_in(id: str) -> str:
    """What an id says of the partition that its task is in."""
    return id.rpartition("@")[2]


def tagged(id: str, tag: str) -> str:
    """An id that says in which partition its task is."""
    return f"{id}@{tag}"


def make_tags(name: str, count: int) -> tuple[str, ...]:
    """Return the tags of `count` partitions. Their slots are spread evenly. A larger count keeps the earlier tags."""
    if not isinstance(count, int) or isinstance(count, bool) or not 1 <= count <= MOST:
        raise ConfigError(f"partitions: {count!r} is not accepted; allowed: an integer from 1 to {MOST}")
    return tuple(_tag(name, index) for index in range(count))


@lru_cache(maxsize=4 * MOST)
def _tag(name: str, index: int) -> str:
    """Return a tag in the middle of a gap: at 0, 1/2, 1/4, 3/4, 1/8 … of all slots, plus at most 31 slots."""
    first = int(f"{index:0{_BITS}b}"[::-1], 2) * _WIDTH
    for number in count():
        tag = f"{index}-{number}"
        if first <= hash_slot(f"{{queue:{name}/{tag}}}") < first + _WIDTH:
            return tag
    raise AssertionError


def read_map(stored: Mapping[str, str]) -> PartitionMap:
    """The map in the settings of the queue's own base."""
    if "partitions" not in stored:
        return PartitionMap()
    homes = tuple(tuple(tags.split()) for tags in stored.get("homes", "").split(";") if tags)
    settled = int(stored.get("settled", 0))
    return PartitionMap(int(stored["map_epoch"]), tuple(stored["partitions"].split()), homes[settled:], homes[:settled])


def together(workers: Iterable[WorkerInfo]) -> list[WorkerInfo]:
    """Merge the workers of all partitions by name: the newest entry counts, and `heard` must be true in all of them."""
    found: dict[str, WorkerInfo] = {}
    for worker in sorted(workers, key=lambda one: one.seen):
        before = found.get(worker.name)
        heard = worker.heard and (before is None or before.heard)
        found[worker.name] = worker.model_copy(update={"heard": heard})
    return [found[name] for name in sorted(found)]


def in_portions(items: Sequence[Any], parts: int, least: int) -> list[Sequence[Any]]:
    """Split tasks without keys into up to `parts` portions, each of at least `least` items, except the last."""
    size = max(-(-len(items) // parts), least)
    return [items[start : start + size] for start in range(0, len(items), size)]


def total(stats: Sequence[QueueStats]) -> QueueStats:
    """The numbers of a queue by those of its partitions."""

    def summed(counts: Iterable[Mapping[str, int]]) -> dict[str, int]:
        sums: Counter[str] = Counter()
        for some in counts:
            sums.update(some)
        return dict(sums)

    states = ("ready", "delayed", "blocked", "running", "stalled", "finished", "dead", "more_lanes")
    return QueueStats(
        now=max(one.now for one in stats),
        mode=stats[0].mode,
        workers=max(one.workers for one in stats),
        lanes=summed(one.lanes for one in stats),
        counters=summed(one.counters for one in stats),
        **{state: sum(getattr(one, state) for one in stats) for state in states},
    )


def total_overview(parts: Sequence[QueueOverview]) -> QueueOverview:
    """Sum up all partitions. `oldest` has for each lane since when its oldest ready task in any of them waits."""
    oldest: dict[str, float] = {}
    for one in parts:
        for lane, since in one.oldest.items():
            oldest[lane] = min(since, oldest.get(lane, since))
    return QueueOverview(**dict(total(parts)), oldest=oldest)
