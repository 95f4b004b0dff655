"""Only once: idempotency keys, unique keys and scopes, and the answers of enqueues that they led to."""

from __future__ import annotations

from collections.abc import Sequence

from tests.property.model_state import WINDOW, State
from tests.property.records import Spec, Task


class Once(State):
    def once(self) -> dict[str, str]:
        """What every key stands for: those of live tasks, and those that end by themselves."""
        keys = {
            field: f"{id} {until} {self.made[field]}" if field in self.made else f"{id} {until}"
            for field, (id, until) in self.timed.items()
        }
        for task in self.of("blocked", "ready", "delayed", "running"):
            if task.spec.unique:
                keys[f"unique:{task.spec.unique}"] = task.id
            if task.spec.scope and task.holds_scope:
                keys[f"scope:{task.spec.scope}"] = task.id
        return keys

    def _known(self, id: str, stamp: str) -> str | None:
        """What an id answers that is in use, or was until lately by this same call."""
        there = self.tasks.get(id) or self.stubs.get(id)
        if there and stamp in (there.stamp, *there.earlier):
            return "created"
        return "exists" if id in self.tasks else None

    def _twin(self, spec: Spec, stamp: str) -> tuple[str | None, str]:
        """The task that stands for a new one, and by which kind of key."""
        keys = self.once()
        for kind, name in (("rid", stamp), ("key", spec.key), ("scope", spec.scope), ("unique", spec.unique)):
            field = f"{kind}:{name}"
            purged = f"purged:{self.made.get(field)}" in self.timed
            if not purged and field in keys and (field not in self.timed or self.timed[field][1] > self.now):
                return keys[field].split(" ")[0], kind
        return None, ""

    def _made_by(self, id: str | None, stamps: Sequence[str]) -> bool:
        """Whether one of these items made the task, or the one of this id that was removed lately."""
        there = self.tasks.get(id or "") or self.stubs.get(id or "")
        return there is not None and there.stamp in stamps

    def _holder(self, task: Task) -> str | None:
        """The other task that has one of this task's keys now."""
        keys = self.once()
        return keys.get(f"unique:{task.spec.unique}") or keys.get(f"scope:{task.spec.scope}")

    def _merge(self, twin: str, by: str, spec: Spec, stamp: str) -> None:
        """The call is answered with a task that is there; so will be its repetitions."""
        if by == "rid":
            return
        self._hold(f"rid:{stamp}", twin, WINDOW)
        if by != "key" and spec.key:
            self._hold(f"key:{spec.key}", twin, self.settings["idempotency"])
            task = self.tasks[twin]
            if task.key in (None, spec.key):
                task.key = spec.key
            else:
                self.made[f"key:{spec.key}"] = task.stamp
                task.keys = max(task.keys, self.timed[f"key:{spec.key}"][1])
        if by == "scope" and spec.coalesce == "last":
            self.tasks[twin].payload = spec.payload

    def _done(self, verb: str, rid: str | None) -> str | None:
        """What a call of this verb and rid has left behind."""
        word, until = self.timed.get(f"done:{verb}:{rid}", ("", 0))
        return word if until > self.now else None

    def _note_done(self, verb: str, rid: str | None, word: str) -> None:
        if rid:
            self._hold(f"done:{verb}:{rid}", word, WINDOW)
            self._forget_keys(10)

    def _hold(self, field: str, id: str, keep: int) -> None:
        self.timed[field] = id, self.now + keep
        self.made.pop(field, None)
        self._held_keys += 1

    def overdue_keys(self) -> list[str]:
        return [field for until, field in sorted((u, f) for f, (_, u) in self.timed.items()) if until <= self.now]

    def _forget_keys(self, limit: int) -> int:
        over = self.overdue_keys()[:limit]
        for field in over:
            del self.timed[field]
            self.made.pop(field, None)
        return len(over)
