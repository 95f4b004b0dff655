"""The way back: tasks that have not begun are cancelled in pyadeq, and their messages are put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Final, Literal

from pyadeq import Adeq, TaskView
from pyadeq.ext.migrate.enqueuer import PORTION, Enqueuer, key_from, origin_of, was_put_back
from pyadeq.ext.migrate.escrow import Escrow, State, batches, numbers_of
from pyadeq.ext.migrate.reports import RolledBack
from pyadeq.ext.migrate.source import Left, Moving, Place, Source, id_of

WAITING: Final = ("ready", "delayed", "blocked")
UnsureBack = Literal["back", "done"]


class Rollback:
    """The steps of a rollback. at, tell: see `Migration`."""

    def __init__(
        self,
        adeq: Adeq,
        source: Source,
        escrow: Escrow,
        enqueuer: Enqueuer,
        at: Callable[[str], object],
        tell: Callable[[int], object],
    ) -> None:
        self._adeq, self._source, self._escrow, self._enqueuer = adeq, source, escrow, enqueuer
        self._at, self._tell = at, tell
        self._back: set[str] = set()

    def pause(self, queues: set[str]) -> None:
        """Pause queues of pyadeq, and remember how they were."""
        for name in sorted(queues):
            queue = self._adeq.queue(name)
            if (mode := queue.inspect.stats().mode) != "paused":
                self._escrow.note(**{f"paused:{name}": mode})  # first: a killed rollback must not leave it paused
                queue.admin.pause()

    def resume(self) -> None:
        """Let them be as they were."""
        for name, value in self._escrow.about().items():
            if name.startswith("paused:") and value:
                admin = self._adeq.queue(name.removeprefix("paused:")).admin
                if value == "draining":
                    admin.drain()
                else:
                    admin.resume()
                self._escrow.note(**{name: ""})

    def load(self, places: Iterable[Place]) -> None:
        """Read which tasks a killed rollback has cancelled, if the old system had delivered any task twice.

        Then all messages of such a task are put back.
        """
        states = {place: self._escrow.states(place) for place in places}
        if not any(State.again in found for found in states.values()):
            return
        for place, found in states.items():
            for numbers in batches(numbers_of(found, State.rollback, State.back)):
                self._back |= {id_of(one) for one in self._source.read(place, self._escrow.read(place, numbers))}

    def put_back(self, place: Place, to: str, result: RolledBack, unsure: UnsureBack | None) -> None:
        """Put the messages of a place back, the last ones first, or the first ones if they are appended."""
        states = self._escrow.states(place)
        counted = {*numbers_of(states, State.unsure)} if unsure == "done" else set()
        if counted:
            states = states.replace(State.unsure, State.moved)
        wanted = numbers_of(states, State.moved, State.again, State.held, State.rollback)
        if unsure == "back":
            wanted = sorted([*wanted, *numbers_of(states, State.unsure)])
        appended = place.kind == "stream"  # else a message that is put back comes before the others
        for numbers in batches(wanted if appended else wanted[::-1], PORTION):
            numbers.sort()
            found = dict(zip(numbers, self._source.read(place, self._escrow.read(place, numbers)), strict=True))
            before = {number: State(states[number]) for number in numbers}
            after = self._cancelled(place, to, before, found, counted, result)
            back = [number for number in numbers if after[number] in {State.held, State.rollback}]
            self._escrow.give_back(place, back, State.back)
            self._at("put back")
            result.back += len(back)
            self._tell(len(numbers))

    def _cancelled(
        self,
        place: Place,
        to: str,
        before: Mapping[int, State],
        found: Mapping[int, Moving | Left],
        counted: Set[int],
        result: RolledBack,
    ) -> dict[int, State]:
        """Cancel the tasks of these messages that have not begun. Returns the states of all.

        counted: messages that count as done if pyadeq does not have their tasks.
        """
        after = dict(before)
        ids = {number: id_of(one) for number, one in found.items()}
        queue = self._adeq.queue(to)
        asked = [n for n, state in before.items() if state != State.held]
        views = self._enqueuer.views(to, {n: ids[n] for n in asked})
        gone = {n for n in asked if views[n] is None and before[n] != State.unsure}
        lost = self.lost(place, to, sorted(gone - counted))
        keys = self._escrow.keys_of(place, asked)
        to_cancel = {}
        for number, state in before.items():
            view = views.get(number)
            digest = origin_of(view).get("digest")
            # an earlier job of RQ may have had this id
            own = number not in keys or keys[number] == key_from(ids[number], digest)
            same = view is None or (own and found[number].digest in {None, digest})
            waiting = view is not None and view.state in WAITING and not view.deliveries
            if number in lost:
                after[number] = State.unsure
            elif state in {State.moved, State.again} and ids[number] in self._back and was_put_back(view):
                after[number] = State.rollback
            elif state == State.rollback and view is not None and (was_put_back(view) or (waiting and own)):
                if waiting:  # also if its job has changed since: a rollback that was overtaken may cancel it any moment
                    to_cancel[number] = view.id
            elif state == State.again and not (waiting and same):
                after[number] = State.done
                result.stayed.add("delivered twice by the old system", ids[number])
            elif state == State.unsure and (view is None or not same):
                after[number] = State.held  # it is put back, whatever its id has in pyadeq
            elif view and not same:
                after[number] = State.done
                result.stayed.add(f"{view.state}; its job on the old server was replaced or deleted", ids[number])
            elif view is not None and waiting:
                after[number], to_cancel[number] = State.rollback, view.id
            elif number in views and (
                state in {State.moved, State.unsure}
                or (view is not None and (view.state != "cancelled" or view.deliveries))
            ):
                after[number] = State.done
                result.stayed.add("deleted" if view is None else _stay(view), ids[number])
        if after != before:
            self._escrow.mark(place, after)
        self._at("rollback marked")
        if to_cancel:
            cancelled = [*dict.fromkeys(to_cancel.values())]
            answers = dict(zip(cancelled, queue.cancel_many(cancelled), strict=True))
            late = {n: answers[id] for n, id in to_cancel.items() if answers[id] != "cancelled"}
            self._back |= {ids[number] for number in to_cancel.keys() - late.keys()}
            for number, answer in late.items():
                after[number] = State.done
                result.stayed.add(answer, ids[number])
            if late:
                self._escrow.mark(place, dict.fromkeys(late, State.done))
        self._at("cancelled")
        return after

    def check(self, place: Place, to: str) -> None:
        """Mark moved messages as unsure whose tasks pyadeq has lost; see `lost`."""
        if self._has_forgotten(to):
            return
        for numbers in batches(numbers_of(self._escrow.states(place), State.moved, State.again)):
            found = dict(zip(numbers, self._source.read(place, self._escrow.read(place, numbers)), strict=True))
            views = self._enqueuer.views(to, {n: id_of(one) for n, one in found.items()})
            if lost := self.lost(place, to, [n for n, view in views.items() if view is None]):
                self._escrow.mark(place, dict.fromkeys(lost, State.unsure))
            self._tell(len(numbers))

    def lost(self, place: Place, to: str, numbers: Sequence[int]) -> set[int]:
        """Return the moved messages whose tasks a server has lost, or somebody has purged.

        numbers: of messages without a task. None is returned if keys of this run may have expired.
        """
        if not numbers or self._has_forgotten(to):
            return set()
        keys = self._escrow.keys_of(place, numbers)
        return keys.keys() - self._enqueuer.remembered(to, keys)

    def _has_forgotten(self, to: str) -> bool:
        return self._escrow.has_forgotten(self._adeq.queue(to).settings.get().idempotency)


def _stay(view: TaskView) -> str:
    return f"{view.state}, and has run before" if view.state in WAITING else view.state
