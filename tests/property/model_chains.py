"""Chains: tasks that wait for others, the notes of what has ended, and what follows from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from tests.property.model_state import WINDOW, State
from tests.property.records import ENDED, Note, Spec, Task

FOR_EVER = 2**53  # ms


class Chains(State):
    def __init__(self, now: int) -> None:
        super().__init__(now)
        self.notes: dict[Note, int] = {}  # with their times
        self.dependents: dict[str, dict[str, int]] = {}  # by what they wait for: who does or did, and in which place
        self.orders: dict[str, list[str]] = {}  # by ordering key: who has not ended, in order
        self.chains = False  # whether a task has meant something for others yet
        self.trees = 0  # the last stamp of a cancelled tree
        self._noted = False  # in this call, and not followed yet

    # Waiting

    def _missing(self, ids: Sequence[str], later: Sequence[str]) -> str | None:
        """The first that there is not, or that a later item of the same call made when it was sent before."""
        return next((id for id in ids if id not in self.tasks or self.tasks[id].stamp in later), None)

    def _obstacle(self, spec: Spec, later: Sequence[str]) -> str | None:
        """The task because of which another one is not made: it is missing, or both would wait for each other."""
        if missing := self._missing(spec.after, later):
            return missing
        parent = self._gathering(spec.parent)
        if parent is None or parent.id not in spec.after or (spec.after_any and {*spec.after} != {parent.id}):
            return None
        return parent.id

    def _gathering(self, id: str | None) -> Task | None:
        """The task, if it waits for its children."""
        task = self.tasks.get(id or "")
        return task if task and task.state == "blocked" and task.spec.gather else None

    def _join(self, task: Task) -> None:
        """A child that came while its parent waits for children is one of those."""
        if parent := self._gathering(task.spec.parent):
            task.gathered = parent.place

    def _await_others(self, task: Task) -> None:
        others = set(task.spec.after)
        task.state, task.awaits, self.chains = "blocked", len(others) + task.spec.gather, True
        for other in (self.tasks[id] for id in others):
            self.dependents.setdefault(other.id, {})[task.id] = task.place
            if other.state in ENDED:
                self._leave(Note(how_ended(other.state), other.id, upto=self.place))
            else:
                other.awaited = True

    def _line_up_by_key(self, task: Task) -> bool:
        """Whether others of its ordering key are before it."""
        if not task.spec.order:
            return False
        line = self.orders.setdefault(task.spec.order, [])
        line.append(task.id)
        return len(line) > 1

    def _await_turn(self, task: Task) -> None:
        task.state, task.awaits, self.chains = "blocked", 1, True

    def _leave_line(self, task: Task) -> None:
        """The next one's turn has come, if this was the first."""
        line = self.orders.get(task.spec.order or "", [])
        if task.id not in line:
            return
        was_first = line[0] == task.id
        line.remove(task.id)
        if not line and task.spec.order:
            del self.orders[task.spec.order]
        elif was_first:
            self._leave(Note("o", task.id, line[0], self.tasks[line[0]].place, self.place))

    # Ends

    def _end(self, task: Task, state: str, value: bytes = b"") -> None:
        super()._end(task, state, value)
        self._note_end(task, how_ended(state))

    def _note_end(self, task: Task, how: str) -> None:
        """For those that wait for it by now. Nobody is told twice: what it does after that is for who comes later."""
        if task.gathered and task.spec.parent:
            self._leave(Note(how, task.id, task.spec.parent, task.gathered, self.place))
        elif task.awaited:
            self._leave(Note(how, task.id, upto=self.place))
        task.awaited, task.gathered = False, None
        self._leave_line(task)

    def _leave(self, note: Note) -> None:
        self.notes[note] = self.now
        self._noted = True

    def _pass_on(self, limit: int = 100) -> int:
        """Follow the notes, the earliest first, to so many tasks at the most; to how many.

        What is left stays noted, at its time.
        """
        told, freed = 0, list[Task]()
        while self.notes and told < limit:
            earliest = sorted(self.notes, key=lambda note: (self.notes[note], note.text))
            for note in earliest[: limit - told]:
                if told < limit:
                    told += max(1, self._follow(note, limit - told, freed))
        self._noted = False
        self._unblock(freed)
        return told

    def _unblock(self, freed: list[Task]) -> None:
        if freed:
            self._event("task.unblocked", *freed)
        freed.clear()

    def _follow(self, note: Note, limit: int, freed: list[Task]) -> int:
        """To how many; at the limit there may be more."""
        time = self.notes.pop(note)
        if note.how == "t":
            self._unblock(freed)  # who is set free is there to be cancelled
            rest, count = self._cancel_children(note, limit)
        else:
            rest, count = note._replace(other="-", at=0), self._tell_others(note, limit, freed)
        if count == limit:
            self.notes[rest] = time
        return count

    def _tell_others(self, note: Note, limit: int, freed: list[Task]) -> int:
        if note.at:
            self._hear(note.other, note.at, note.how, freed)
        if note.how == "o":
            return 0
        waiting = self.dependents.pop(note.id, {})
        told = sorted((place, id) for id, place in waiting.items() if place <= note.upto)[:limit]
        for place, id in told:
            del waiting[id]
            self._hear(id, place, note.how, freed)
        if waiting:
            self.dependents[note.id] = waiting
        return len(told)

    def _hear(self, id: str, place: int, how: str, freed: list[Task]) -> None:
        """One that a task waits for has ended. Of all, a bad end decides; of any, a good one; else the last of them."""
        task = self.tasks.get(id)
        if not task or task.state != "blocked" or task.place != place:
            return  # it waits no more, or is another of that id
        when = "ended" if task.spec.order else task.spec.after_when
        good = when == "ended" or (how == "c") == (when == "completed")
        task.awaits -= 1
        if task.awaits and good != task.spec.after_any:
            return
        if good:
            self._start(task)
            freed.append(task)
        elif when == "failed":
            self._end(task, "cancelled")
            self._note("cancelled", task)
        else:
            self._give_up(task, "after_failed")

    # Trees

    def _cancel_tree(self, id: str) -> None:
        self.chains = True
        self._leave(Note("t", id, upto=self.trees))
        if id in self.tasks:
            self.tasks[id].pruned = self.trees

    def _cancel_children(self, note: Note, limit: int) -> tuple[Note, int]:
        """Cancel the children after the one of the note; theirs follow, once, for parents may form a circle."""
        rest = [child for child in self._children(note.id) if child > (note.at, note.other)]
        for created, id in rest[:limit]:
            if task := self.tasks.get(id):
                self._cancel(task)
            child = task or self.stubs[id]
            if (child.pruned or 0) < note.upto and self._children(id):
                if task:
                    task.pruned = note.upto
                else:
                    self.stubs[id] = replace(self.stubs[id], pruned=note.upto)
                self._leave(Note("t", id, upto=note.upto))
            note = note._replace(other=id, at=created)
        return note, min(len(rest), limit)

    def _children(self, id: str) -> list[tuple[int, str]]:
        """By age: tasks, and links to the children of such that were removed."""
        tasks = [(task.created, task.id) for task in self.tasks.values() if task.spec.parent == id]
        return sorted(tasks + [(stub.score, other) for other, stub in self.stubs.items() if stub.parent == id])

    def _shorten(self, id: str) -> None:
        """Take out a link that leads nowhere, or only to another, which is linked to its parent then."""
        while (link := self.stubs.get(id)) and link.parent:
            kids = self._children(id)
            low = self.stubs.get(kids[0][1]) if kids else None
            if len(kids) > 1 or (kids and not (low and low.parent)):
                return
            self._unlink(id)
            if low and kids[0][1] == link.parent:
                return self._unlink(link.parent)
            if low:
                pruned = max(link.pruned or 0, low.pruned or 0) or None
                score = max(link.score, low.score) + 1
                self.stubs[kids[0][1]] = replace(low, parent=link.parent, score=score, pruned=pruned)
                if (link.pruned or 0) > (low.pruned or 0):
                    self.notes[Note("t", kids[0][1], upto=link.pruned or 0)] = self.now
                return
            id = link.parent

    def _unlink(self, id: str) -> None:
        self.stubs[id] = replace(self.stubs[id], parent=None, pruned=None, until=self.now + WINDOW)


def how_ended(state: str) -> str:
    return "c" if state == "completed" else "f"
