# Generated from pyadeq/_async/queue/partitions/base.py by pyadeq/_unasync.py; do not edit.
"""What all parts of a partitioned queue share: its map, and the partitions as queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from time import monotonic
from typing import TypeVar

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue import Queue
from pyadeq._core.queue.partitions import WHOLE, PartitionMap
from pyadeq.errors import TransportError
from pyadeq.keys import hash_slot, partition_base
from pyadeq.models.partition import Partition

T = TypeVar("T")

FRESH, FRESH_WHOLE = 1.0, 5.0
"""Seconds for which the map is taken as it was read; and that of a queue without partitions, which has none to miss."""

PATIENCE = 0.2
"""Seconds in which a call to one of several partitions is sent again, before the others are looked after."""

LEAST_REST, LONGEST_REST = 2.0, 10.0
"""Seconds for which a node that did not answer is left alone, while others go on."""


class PartitionedBase:
    """A queue by its name, in as many partitions as its own base says."""

    def __init__(self, runner: Runner, name: str, prefix: str, whole: Queue) -> None:
        self.name = name
        self._runner = runner
        self._prefix = prefix
        self._parts = {WHOLE: whole}
        self._map = PartitionMap()
        self._read_at: float | None = None
        self._away_until: dict[object, float] = {}  # by node

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name!r}>"

    def partitions(self) -> list[Partition]:
        """Where the queue's tasks may be, read anew: first the partitions to which new ones belong."""
        known = self._read()
        return [self._partition(tag, tag in known.tags) for tag in known.all]

    def part(self, tag: str) -> Queue:
        """A partition as a queue of its own, for what is said of one partition only: its limits, schedules, workers."""
        return self._parts.get(tag) or self._parts.setdefault(
            tag, Queue(self._runner, f"{self.name}/{tag}", partition_base(self.name, tag, self._prefix))
        )

    def _partition(self, tag: str, current: bool) -> Partition:
        base = self.part(tag).base
        return Partition(tag=tag, base=base, slot=hash_slot(base), current=current)

    def _read(self, retry_for: float | None = None) -> PartitionMap:
        """The map as it is now."""
        self._map = self._runner.send(self.part(WHOLE).calls.partition_map(), retry_for)
        self._read_at = monotonic()
        return self._map

    def _fresh(self) -> PartitionMap:
        """The map as it was a few seconds ago at most."""
        if self._read_at is None:
            return self._read()
        if monotonic() - self._read_at > (FRESH if self._map.epoch else FRESH_WHOLE):
            self._read_at = monotonic()  # one asks, and the others go on
            with suppress(TransportError):  # whoever knows an old map is told so where it matters
                return self._read(PATIENCE)
        return self._map

    def _node(self, tag: str) -> object:
        return self._runner.node_of(self.part(tag).base)

    def _patience(self, tags: Iterable[str], usual: float | None) -> float | None:
        """For how long one is waited for: not long where others, on other nodes, would have to wait with it."""
        first, *others = tags
        node = self._node(first)
        return PATIENCE if any(self._node(tag) != node for tag in others) else usual

    def _is_away(self, tag: str) -> bool:
        """Whether its node did not answer a short while ago."""
        return bool(self._away_until) and self._away_until.get(self._node(tag), 0.0) > monotonic()

    def _note_away(self, tag: str, since: float) -> None:
        """Leave its node alone for a while, for much longer than it took to find out."""
        now = monotonic()
        self._away_until[self._node(tag)] = now + min(max(LEAST_REST, 5 * (now - since)), LONGEST_REST)

    def _parts_now(self) -> list[Queue]:
        """Every partition that may hold tasks."""
        return [self.part(tag) for tag in (self._fresh()).all]

    def _in_each_part(self, act: Callable[[Queue], T]) -> list[T]:
        """Do it in every partition, the earliest first, and in those too that come meanwhile."""
        answers: list[T] = []
        done = set[str]()
        while todo := [tag for tag in (self._read()).by_age if tag not in done]:
            for tag in todo:
                answers.append(act(self.part(tag)))
            done.update(todo)
        return answers

    def _where_it_is(self, id: str, ask: Callable[[Queue], T], is_there: Callable[[T], bool]) -> T:
        """Ask the partition that has a task, or where it was before there were others; the first that has it."""
        asked = set[str]()
        for fresh in (False, True):  # somebody may have got a task from a partition that is not known here yet
            known = self._read() if fresh else self._fresh()
            for tag in known.places_of_id(id):
                if tag not in asked:
                    answer = ask(self.part(tag))
                    asked.add(tag)
                    if is_there(answer):
                        return answer
        return answer
