"""What the event stream of a queue says, told again task by task and held against the rules.

For tasks of one attempt or more that nobody cancels, deletes or snoozes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Event(NamedTuple):
    """An entry of the stream. ms: the server's time."""

    name: str
    ms: int
    ids: list[str]
    words: dict[str, str]


@dataclass
class Told:
    """A task as the stream tells of it: who holds it until when, under which fence; whom it was taken from."""

    state: str = "waiting"
    worker: str = ""
    deadline_ms: int = 0
    fence: int = 0
    taken_back: list[str] = field(default_factory=list)


def read_tasks(client: Any, base: str) -> Iterator[Event]:
    for _, entry in client.xrange(f"{base}:events"):
        fields = {name.decode(): value.decode() for name, value in entry.items()}
        words = dict(word.split("=", 1) for word in fields.get("payload", "").split())
        yield Event(fields["event"].removeprefix("task."), int(fields["timestamp"]), fields["id"].split(), words)


class TaskHistory:
    """All tasks of a queue. Raises AssertionError where the stream breaks a rule.

    Leases of a task never overlap, each rises in its fence, and a lease ends once: it is settled by its holder, given
    back, or taken back after its deadline.
    """

    def __init__(self, events: Iterator[Event]) -> None:
        self.tasks: dict[str, Told] = {}
        for event in events:
            tell = getattr(self, f"_{event.name}", None)
            if tell:
                for at, id in enumerate(event.ids):
                    tell(id, at, event)

    @property
    def completed(self) -> int:
        return sum(task.state == "completed" for task in self.tasks.values())

    def taken_back_from(self, worker: str) -> list[str]:
        return [id for id, task in self.tasks.items() if worker in task.taken_back]

    def _enqueued(self, id: str, _: int, event: Event) -> None:
        assert id not in self.tasks, f"{id} was enqueued twice: {event}"
        self.tasks[id] = Told()

    def _claimed(self, id: str, at: int, event: Event) -> None:
        task = self.tasks[id]
        assert task.state == "waiting", f"{id} was {task.state} by {task.worker} when it was claimed: {event}"
        fence = int(event.words["fence"]) + at
        assert fence > task.fence, f"{id} was claimed under fence {task.fence} before: {event}"
        task.state, task.worker, task.fence = "held", event.words["worker"], fence
        task.deadline_ms = int(event.words["deadline_ms"])

    def _completed(self, id: str, _: int, event: Event) -> None:
        self._end(id, "completed", event)

    def _released(self, id: str, _: int, event: Event) -> None:
        self._end(id, "waiting", event)

    def _retried(self, id: str, _: int, event: Event) -> None:
        self._end(id, "waiting", event)

    def _dead(self, id: str, _: int, event: Event) -> None:
        self._end(id, "dead", event)

    def _stalled(self, id: str, _: int, event: Event) -> None:
        task = self.tasks[id]
        assert event.words["worker"] == task.worker, f"{id} was held by {task.worker}: {event}"
        assert event.ms >= task.deadline_ms, f"{id} was taken back before {task.deadline_ms}: {event}"
        task.taken_back.append(task.worker)
        self._end(id, "waiting", event)

    def _end(self, id: str, state: str, event: Event) -> None:
        task = self.tasks[id]
        assert task.state == "held", f"{id} was {task.state} when its lease ended: {event}"
        task.state = state
