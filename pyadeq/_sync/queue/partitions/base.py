# Generated from pyadeq/_async/queue/partitions/base.py by pyadeq/_unasync.py; do not edit.
"""The base of all parts of a partitioned queue: its map, and the partitions as queues."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from time import monotonic
from typing import Any, Self, TypeVar

from pyadeq._sync.kernel.runner import Runner
from pyadeq._sync.queue import Queue
from pyadeq._core.kernel.call import Answer
from pyadeq._core.kernel.options import checked_list
from pyadeq._core.queue.partitions import WHOLE, PartitionMap
from pyadeq.errors import TransportError
from pyadeq.keys import hash_slot, partition_base
from pyadeq.models.partition import Partition

T = TypeVar("T")

FRESH, FRESH_WHOLE = 1.0, 5.0
"""How long a map is used without reading it again, in seconds; and the same for a queue without partitions."""

PATIENCE = 0.2
"""Seconds for which a call to one of several partitions is retried, before the others are tried."""

LEAST_REST, LONGEST_REST = 2.0, 10.0
"""Seconds until a node that did not answer is asked again. Others go on."""


class PartitionedBase:
    """A queue with a name, and the partitions that its own base lists."""

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

    @property
    def _queue(self) -> Self:
        """The queue on which the methods of the routing table are called: this one."""
        return self

    def partitions(self) -> list[Partition]:
        """Read the partitions that may have tasks. Those to which new tasks go come first."""
        known = self._read()
        return [self._partition(tag, tag in known.tags) for tag in known.all]

    def part(self, tag: str) -> Queue:
        """Return a partition as a queue of its own, for its limits, schedules and workers."""
        return self._parts.get(tag) or self._parts.setdefault(
            tag, Queue(self._runner, f"{self.name}/{tag}", partition_base(self.name, tag, self._prefix))
        )

    def _partition(self, tag: str, current: bool) -> Partition:
        base = self.part(tag).base
        return Partition(tag=tag, base=base, slot=hash_slot(base), current=current)

    def _read(self, retry_for: float | None = None) -> PartitionMap:
        """Read the map as it is now."""
        self._map = self._runner.send(self.part(WHOLE).calls.partition_map(), retry_for)
        self._read_at = monotonic()
        return self._map

    def _fresh(self, retry_for: float | None = None) -> PartitionMap:
        """Return the map, at most a few seconds old."""
        if self._read_at is None:
            return self._read(retry_for)
        if monotonic() - self._read_at > (FRESH if self._map.epoch else FRESH_WHOLE):
            self._read_at = monotonic()  # only one caller reads the map; the others use the old one
            with suppress(TransportError):  # an old map is safe: partitions refuse new tasks with an old epoch
                return self._read(PATIENCE)
        return self._map

    def _node(self, tag: str) -> object:
        return self._runner.node_of(self.part(tag).base)

    def _patience(self, tags: Iterable[str], usual: float | None) -> float | None:
        """Return how long to wait for a partition: not long if other partitions on other nodes would have to wait with
        it.
        """
        first, *others = tags
        node = self._node(first)
        return PATIENCE if any(self._node(tag) != node for tag in others) else usual

    def _is_away(self, tag: str) -> bool:
        """Whether its node did not answer a short while ago."""
        return bool(self._away_until) and self._away_until.get(self._node(tag), 0.0) > monotonic()

    def _note_away(self, tag: str, since: float) -> None:
        """Leave its node alone for a while, for much longer than it took to notice."""
        now = monotonic()
        self._away_until[self._node(tag)] = now + min(max(LEAST_REST, 5 * (now - since)), LONGEST_REST)

    def _parts_now(self) -> list[Queue]:
        """Return every partition that may have tasks."""
        return [self.part(tag) for tag in (self._fresh()).all]

    def _in_each_part(
        self, act: Callable[[Queue], T], decide: Callable[[Queue], T] | None = None
    ) -> list[T]:
        """Call it for every partition, the earliest first, also for partitions that are added meanwhile.

        decide: the call for the partition whose settings and limits are shown. It comes first, so if it is refused,
        nothing has changed.
        """
        answers: list[T] = []
        done = set[str]()
        if decide is not None:
            shown = (self._read()).all[0]
            answers.append(decide(self.part(shown)))
            done.add(shown)
        while todo := [tag for tag in (self._read()).by_age if tag not in done]:
            for tag in todo:
                answers.append(act(self.part(tag)))
            done.update(todo)
        return answers

    def _where_it_is(self, id: str, ask: Callable[[Queue], T], is_there: Callable[[T], bool]) -> T:
        """Ask the partition that has a task, or had it before a repartition. Returns the first answer that has it."""
        asked = set[str]()
        for fresh in (False, True):  # the task may be in a partition that this map does not have yet
            known = self._read() if fresh else self._fresh()
            for tag in known.places_of_id(id):
                if tag not in asked:
                    answer = ask(self.part(tag))
                    asked.add(tag)
                    if is_there(answer):
                        return answer
        return answer

    def _each(
        self, verb: str, decode: Callable[[Answer], list[T]], ids: Sequence[str], /, **arguments: Any
    ) -> list[T]:
        """Call the script of a verb for these ids, one after the other, where each task is."""

        def one(id: str) -> list[T]:
            return self._where_it_is(
                id, lambda queue: queue._each(verb, decode, [id], **arguments), lambda answers: is_known(answers[0])
            )

        return [(one(id))[0] for id in checked_list("ids", ids)]


def is_known(answer: Any) -> bool:
    """Return whether an answer means that the task exists: the answer is a status, or an object with a status."""
    status: str = getattr(answer, "status", answer)
    return status != "not_found"
