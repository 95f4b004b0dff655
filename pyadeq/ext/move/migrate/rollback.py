"""The way back: tasks that have not begun are cancelled in pyadeq, and their messages are put back."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Literal

from pyadeq import Adeq, TaskView
from pyadeq.ext.move.migrate.enqueuer import PORTION, Enqueuer, key_from, origin_of
from pyadeq.ext.move.migrate.escrow import Escrow, State, batches, numbers_of
from pyadeq.ext.move.migrate.reports import RolledBack
from pyadeq.ext.move.migrate.rollback_table import THEN, Found, found_as
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Source, id_of

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
            if (mode := queue.stats().mode) != "paused":
                self._escrow.note(**{f"paused:{name}": mode})  # first: a killed rollback must not leave it paused
                queue.admin.pause()

    def resume(self) -> None:
        """Set each paused queue to its mode before the pause."""
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
        asked = {number: found[number] for number, state in before.items() if state != State.held}
        ids = {number: id_of(one) for number, one in asked.items()}
        views = self._enqueuer.views(to, ids)
        after, to_cancel = dict(before), dict[int, str]()
        for number, what in self._found(place, to, before, asked, views, counted).items():
            then, view = THEN[what][before[number]], views[number]
            after[number] = then.state
            if then.cancel and view:
                to_cancel[number] = view.id
            if then.why:
                result.stayed.add(then.why(view), ids[number])
        if after != before:
            self._escrow.mark(place, after)
        self._at("rollback marked")
        late = self._cancel(to, to_cancel)
        self._back |= {ids[number] for number in to_cancel.keys() - late.keys()}
        for number, answer in late.items():
            after[number] = State.done
            result.stayed.add(answer, ids[number])
        if late:
            self._escrow.mark(place, dict.fromkeys(late, State.done))
        self._at("cancelled")
        return after

    def _found(
        self,
        place: Place,
        to: str,
        before: Mapping[int, State],
        asked: Mapping[int, Moving | Left],
        views: Mapping[int, TaskView | None],
        counted: Set[int],
    ) -> dict[int, Found]:
        """Return what has become of the task of each message."""
        gone = {n for n in asked if views[n] is None and before[n] != State.unsure}
        lost = self.lost(place, to, sorted(gone - counted))
        keys = self._escrow.keys_of(place, [*asked])
        found = {}
        for number, one in asked.items():
            id, digest = id_of(one), origin_of(views[number]).get("digest")
            state = before[number]
            found[number] = found_as(
                views[number],
                lost=number in lost,
                rolled_back=state == State.rollback or (state != State.unsure and id in self._back),
                own=number not in keys or keys[number] == key_from(id, digest),
                same=one.digest in {None, digest},
            )
        return found

    def _cancel(self, to: str, ids: Mapping[int, str]) -> dict[int, str]:
        """Cancel the tasks of messages. Returns the answers for those that could not be cancelled any more."""
        if not ids:
            return {}
        cancelled = [*dict.fromkeys(ids.values())]
        answers = dict(zip(cancelled, self._adeq.queue(to).cancel_many(cancelled), strict=True))
        return {number: answers[id] for number, id in ids.items() if answers[id] != "cancelled"}

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
        return self._escrow.has_forgotten(self._adeq.queue(to).settings().idempotency)
