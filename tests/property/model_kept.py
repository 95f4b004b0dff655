"""What is kept of ended tasks and for how long, and what stays behind of those that are removed."""

from __future__ import annotations

from dataclasses import replace

from tests.property.model_chains import FOR_EVER, Chains
from tests.property.model_once import Once
from tests.property.model_state import WINDOW, oldest
from tests.property.records import Stub, Task

ENDS = {"finished": ("completed", "cancelled"), "dead": ("dead",)}  # sets, by the states that are in them


class Kept(Once, Chains):
    def retain(self, *, trim: bool) -> None:
        """At the end of a call in which tasks ended: their sets stay within their numbers, some time."""
        for name, count in self._just_ended.items() if trim else ():
            self._trim_set(name, 100 + count, aged=False)
        self._just_ended.clear()
        self._held_keys = 0

    def excess(self, name: str, *, aged: bool = True) -> list[Task]:
        """The tasks of a set that are too old or too many, the oldest first."""
        ended = oldest(self.of(*ENDS[name]))
        old = sum(task.at <= self.now - self.settings[f"{name}_keep"] for task in ended) if aged else 0
        return ended[: max(old, len(ended) - self.settings[f"{name}_max"])]

    def _trim(self, limit: int) -> int:
        return sum(self._trim_set(name, limit) for name in ENDS)

    def _trim_set(self, name: str, limit: int, *, aged: bool = True) -> int:
        gone = self.excess(name, aged=aged)[:limit]
        self._remove({task.id: task.at for task in gone})
        for task in gone:
            if name == "dead":  # nothing disappears from it silently
                self._event("task.removed", task)
        self.counts["dropped" if name == "dead" else "trimmed"] += len(gone)
        return len(gone)

    def _remove(self, since: dict[str, int]) -> None:
        """Remove tasks. What was done since then may be sent again; who has children stays as a link to them."""
        linked = {id for id in since if self.tasks[id].spec.parent not in (None, id) and self._children(id)}
        touched = []
        for id, at in since.items():
            task = self.tasks.pop(id)
            if not task.spec.reply:
                self.replies.pop(id, None)  # that of an older task of this id
            settled = task.settled if task.settled[0] else task.settled_earlier
            stub = Stub(task.stamp, settled, at + WINDOW, task.earlier)
            if id in linked:
                stub = replace(stub, until=FOR_EVER, parent=task.spec.parent, score=task.created, pruned=task.pruned)
                touched.append(id)
            if self.now < stub.until:
                self.stubs[id] = stub
            touched += [task.spec.parent] if task.spec.parent else []
        for id in touched:
            self._shorten(id)

    def _discard(self, why: str, *tasks: Task) -> None:
        """Remove tasks because somebody said so."""
        self._remove({task.id: self.now for task in tasks})
        for task in tasks:
            self._event("task.removed", task)
        self.counts[why] += len(tasks)
