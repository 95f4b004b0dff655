"""Moving the waiting tasks of another system into pyadeq, and back. Each step may be killed, and is then repeated.

A batch is taken from its list into the escrow, enqueued, and marked in the escrow. What is taken and not marked is
enqueued again by the next command. The same task is not created twice: by its id while pyadeq has its record, and by
an idempotency key after that.
"""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from time import monotonic
from typing import Any, Final, Literal

from pyadeq import Adeq, BadArgument, Queue, Receipt, Task, TaskView
from pyadeq.errors import AdeqError, ConfigError, WaitTimeout
from pyadeq.ext.migrate.escrow import IN_ESCROW, MOST, Escrow, State, batches
from pyadeq.ext.migrate.source import Left, Moving, Place, Source
from pyadeq.ids import new_ulid

DOMAIN: Final = "migrate"
"""The lock domain in which each source has a lock."""
LEASE: Final = 10.0
"""Seconds after which the lock of a killed command is free."""
PATIENCE: Final = 12.0
"""Seconds for which a command waits for that lock: longer than such a lease."""
IDS: Final = 100
"""Ids that a report names for each reason."""
MARGIN_MS: Final = 60_000
WAITING: Final = ("ready", "delayed", "blocked")
Unsure = Literal["enqueue", "done"]
UnsureBack = Literal["back", "done"]


@dataclass
class Reasons:
    """Messages by the reason why they were left: how many, and the first ids."""

    counts: Counter[str] = field(default_factory=Counter)
    ids: dict[str, list[str]] = field(default_factory=dict)

    def add(self, why: str, id: str) -> None:
        """Count a message."""
        self.counts[why] += 1
        if id and len(known := self.ids.setdefault(why, [])) < IDS:
            known.append(id)

    def as_json(self) -> list[dict[str, Any]]:
        """Return them, the most frequent first."""
        return [{"why": why, "count": n, "ids": self.ids.get(why, [])} for why, n in self.counts.most_common()]


@dataclass
class Planned:
    """What a move would do with the messages of one place. delayed: of those that move, how many have a start time."""

    place: Place
    to: str
    moves: int = 0
    delayed: int = 0
    left: int = 0


@dataclass
class Plan:
    """What a move would do. digest: of all waiting messages and their order."""

    places: list[Planned]
    left: Reasons
    others: dict[str, int]
    digest: str


@dataclass
class Moved:
    """What a move did. again: messages of tasks that were moved before. unsure: see `Migration.move`."""

    moved: int = 0
    again: int = 0
    unsure: int = 0
    left: Reasons = field(default_factory=Reasons)
    seconds: float = 0.0


@dataclass
class RolledBack:
    """What a rollback did. stayed: tasks that had begun in pyadeq, by their state there. digest: as in a Plan."""

    back: int = 0
    stayed: Reasons = field(default_factory=Reasons)
    unsure: int = 0
    digest: str = ""


@dataclass
class Status:
    """How far a migration is. phase: "" or `rollback` (begun) or `back` (done).

    places: each with its queue in pyadeq, the number of messages in its list, and the number of messages in the escrow
    by state.
    """

    to: str
    phase: str
    places: list[tuple[Place, str, int, Counter[State]]]
    others: dict[str, int]

    def count(self, *states: State) -> int:
        """Return the number of messages in these states."""
        return sum(counts[state] for _, _, _, counts in self.places for state in states)


class Migration:
    """Moves the waiting tasks of a source into queues of pyadeq.

    queues: the queues to move, each with its queue in pyadeq; {}: all, into queues of the same names.
    to: the new installation, in words that stay the same: a migration moves tasks to one place only.
    progress: called with the number of messages done so far.
    at: called between two steps with the name of the first. Tests raise from it.
    """

    def __init__(
        self,
        adeq: Adeq,
        source: Source,
        *,
        to: str,
        queues: Mapping[str, str] | None = None,
        progress: Callable[[int], object] = lambda _: None,
        at: Callable[[str], object] = lambda _: None,
    ) -> None:
        self._adeq, self._source, self._to, self._queues = adeq, source, to, dict(queues or {})
        self._progress, self._at = progress, at
        self._escrow = Escrow(source.client, source.name)
        self._run, self._done = "", 0

    def plan(self) -> Plan:
        """Return what a move would do. Nothing is written."""
        plan = Plan([], Reasons(), self._source.others(), "")
        digest = hashlib.sha256()
        for place, to in self._targets().items():
            planned = Planned(place, to)
            for messages in self._messages(place, digest):
                for one in self._source.read(place, messages):
                    self._plan(planned, plan.left, one)
                self._tell(len(messages))
            plan.places.append(planned)
        plan.digest = digest.hexdigest()
        return plan

    def move(self, *, unsure: Unsure | None = None) -> Moved:
        """Move all waiting tasks, and finish what a killed command has begun. Old and new workers may be at work.

        Messages that cannot be moved are put back at the end of their lists where the workers take them. Meanwhile they
        are only in the escrow.

        unsure: if a command was killed and is repeated after more time than pyadeq remembers idempotency keys, at most
        one batch of each list may have been enqueued, and may have run. These messages are not moved unless this says
        how: `enqueue` them again, or count them as `done`.
        """
        begun, moved = monotonic(), Moved()
        places = self._targets()
        if not places and self.status() is None:
            return moved
        with self._command() as about:
            if about.get("phase") == "rollback":
                raise AdeqError("a rollback has begun; finish it with: adeq migrate rollback")
            if about.get("phase") == "back":
                self._run = self._escrow.begin_run()["run"]
            for place, to in places.items():
                self._escrow.add_place(place, to)
            for place, to in {**self._escrow.places(), **places}.items():
                if unsure:
                    self._settle_unsure(place, to, unsure, moved)
                self._settle_taken(place, to, moved)
                self._escrow.recall(place, State.taken)  # they may be accepted now
                self._at("recalled")
                self._take_all(place, to, moved)
                held = _numbers(self._escrow.states(place), State.held)
                self._escrow.give_back(place, held, State.kept)
                self._at("given back")
        moved.seconds = monotonic() - begun
        return moved

    def status(self) -> Status | None:
        """Return how far the migration is; None if no task was moved yet."""
        if not (about := self._escrow.about()):
            return None
        places = [
            (place, to, self._length(place), Counter(map(State, self._escrow.states(place))))
            for place, to in self._escrow.places().items()
        ]
        return Status(about["to"], about.get("phase", ""), places, self._source.others())

    def rollback(self, *, unsure: UnsureBack | None = None) -> RolledBack:
        """Put all moved tasks that have not begun back into their lists, in the old order.

        The queues of pyadeq are paused meanwhile, so that no task begins. Tasks that have begun stay in pyadeq.

        unsure: of messages that may have been moved before (see `move`), put `back` those whose tasks pyadeq does not
        have, or count these as `done`. Otherwise they stay in the escrow.
        """
        result = RolledBack()
        if self.status() is None:
            return result
        with self._command():
            self._escrow.note(phase="rollback")
            places = self._escrow.places()
            self._pause({*places.values()})
            self._at("paused")
            for place, to in places.items():
                self._settle_taken(place, to, Moved())
                self._escrow.recall(place, State.held)
                self._at("recalled")
                self._put_back(place, to, result, unsure)
                result.unsure += len(_numbers(self._escrow.states(place), State.unsure))
            self._resume()
            self._at("resumed")
            self._escrow.note(phase="back")
        digest = hashlib.sha256()
        for place in self._source.places([*self._queues]):
            for _ in self._messages(place, digest):
                pass
        result.digest = digest.hexdigest()
        return result

    def cleanup(self) -> int:
        """Delete the escrow. There is no way back. Returns how many messages it had.

        Raises AdeqError if it has messages that are nowhere else.
        """
        if self.status() is None:
            return 0
        with self._command():
            status = self.status()
            assert status
            if status.phase == "rollback":
                raise AdeqError("a rollback has begun; finish it with: adeq migrate rollback")
            if rest := status.count(*IN_ESCROW):
                how = "with adeq migrate move, or go back with adeq migrate rollback"
                if unsure := status.count(State.unsure):
                    how += f"; {unsure:,} are unsure: add --unsure enqueue|done to move, or back|done to rollback"
                raise AdeqError(f"{rest:,} messages are only in the escrow; finish {how}")
            self._escrow.delete()
        return sum(sum(counts.values()) for _, _, _, counts in status.places)

    @contextmanager
    def _command(self) -> Iterator[dict[str, str]]:
        try:
            resource = re.sub(r"[^A-Za-z0-9._:/@+-]", "_", self._source.name)[
                :200
            ]  # a prefix may have other characters
            with self._adeq.locks(DOMAIN).acquire(
                resource, owner=f"migrate-{new_ulid()}", ttl=LEASE, wait=PATIENCE, purpose="adeq migrate"
            ):
                about = self._escrow.begin(self._to)
                self._run = about["run"]
                yield about
        except WaitTimeout:
            raise AdeqError(
                f"another command is migrating {self._source.name}; wait for it: adeq lock ls --domain {DOMAIN}"
            ) from None

    def _targets(self) -> dict[Place, str]:
        """Return the places on the old server, each with its queue in pyadeq."""
        places = {place: self._queues.get(place.queue, place.queue) for place in self._source.places([*self._queues])}
        for to in {*places.values()} if self._adeq.slot is None else ():
            if len(self._adeq.partitioned(to).partitions()) > 1:
                raise ConfigError(
                    f"queue {to!r} has partitions, in which a task cannot have an id and an idempotency key; move into "
                    "a queue without partitions"
                )
        return places

    def _tell(self, count: int) -> None:
        self._done += count
        self._progress(self._done)

    def _length(self, place: Place) -> int:
        client = self._source.client
        return int(client.zcard(place.key) if place.kind == "times" else client.llen(place.key))

    def _messages(self, place: Place, digest: Any) -> Iterator[list[bytes]]:
        """Yield the waiting messages, first the next one, and add them to a digest."""
        digest.update(f"{place.key}\n".encode())
        client = self._source.client
        for start in range(0, self._length(place), MOST):
            if place.kind == "times":
                rows: Any = client.zrange(place.key, start, start + MOST - 1, withscores=True)
                found = [f"{score!r} ".encode() + member for member, score in rows]
            elif place.kind == "left":
                found = client.lrange(place.key, start, start + MOST - 1)
            else:
                found = client.lrange(place.key, -start - MOST, -start - 1)[::-1]
            for message in found:
                digest.update(hashlib.sha256(message).digest())
            yield found

    def _plan(self, planned: Planned, left: Reasons, one: Moving | Left) -> None:
        if isinstance(one, Moving):
            try:
                self._adeq.queue(planned.to).calls.enqueue([(one.task.id or "", self._named(one))], "plan")
            except BadArgument as error:
                one = Left(one.task.id or "", _short(error))
        if isinstance(one, Left):
            planned.left += 1
            left.add(one.why, one.id)
        else:
            planned.moves += 1
            planned.delayed += one.task.run_after is not None

    def _named(self, one: Moving, second: bool = False) -> Task:
        """Return a task by which a repeated call finds itself again. second: its id has an end; see `_second_id`."""
        id = one.task.id or ""
        key = hashlib.sha1(f"{id}\n{one.digest}".encode(), usedforsecurity=False).hexdigest()
        origin = {"from": self._source.name, "run": self._run, "digest": one.digest}
        return one.task.model_copy(
            update={
                "id": self._second_id(id) if second else id,
                "idempotency_key": f"migrate:{self._run}:{key}",
                "headers": {**(one.task.headers or {}), "migrated": origin},
            }
        )

    def _second_id(self, id: str) -> str:
        """Return the id of a task that is moved again after a rollback, if the cancelled task has its id."""
        return f"{id}+{self._run}"

    def _take_all(self, place: Place, to: str, moved: Moved) -> None:
        states = self._escrow.states(place)
        for numbers in batches(_numbers(states, State.taken)):
            self._enqueue(place, to, numbers, self._escrow.read(place, numbers), moved, resumed=False)
        known = len(states)
        while messages := self._escrow.take(place, known):
            self._at("taken")
            self._enqueue(place, to, range(known, known + len(messages)), messages, moved, resumed=False)
            known += len(messages)

    def _settle_taken(self, place: Place, to: str, moved: Moved) -> None:
        """Move what a killed command has taken and not marked."""
        for numbers in batches(_numbers(self._escrow.states(place), State.taken)):
            if self._forgotten(place, to):
                self._mark(place, dict.fromkeys(numbers, State.unsure))
                moved.unsure += len(numbers)
            else:
                self._enqueue(place, to, numbers, self._escrow.read(place, numbers), moved, resumed=True)

    def _settle_unsure(self, place: Place, to: str, how: Unsure, moved: Moved) -> None:
        for numbers in batches(_numbers(self._escrow.states(place), State.unsure)):
            if how == "done":
                self._mark(place, dict.fromkeys(numbers, State.moved))
            else:
                self._enqueue(place, to, numbers, self._escrow.read(place, numbers), moved, resumed=True)

    def _forgotten(self, place: Place, to: str) -> bool:
        """Whether pyadeq may have forgotten a task of the last batch of a place, which was enqueued and has ended."""
        now: Any = self._source.client.time()
        kept_ms = self._adeq.queue(to).settings.get().idempotency * 1000
        return bool(now[0] * 1000 - self._escrow.taken_ms(place) > kept_ms - MARGIN_MS)

    def _enqueue(
        self, place: Place, to: str, numbers: Sequence[int], messages: Sequence[bytes], moved: Moved, *, resumed: bool
    ) -> None:
        """Enqueue messages of the escrow, and mark them."""
        found = self._source.read(place, messages)
        moving = [(number, one) for number, one in zip(numbers, found, strict=True) if isinstance(one, Moving)]
        answers = self._answers(to, [one for _, one in moving], resumed)
        self._at("enqueued")
        states: dict[int, State] = {}
        left = {number: one for number, one in zip(numbers, found, strict=True) if isinstance(one, Left)}
        for (number, one), answer in zip(moving, answers, strict=True):
            if isinstance(answer, State):
                states[number] = answer
            else:
                left[number] = Left(one.task.id or "", answer)
        for number, one_left in left.items():
            states[number] = State.held
            moved.left.add(one_left.why, one_left.id)
        self._mark(place, states)
        self._at("marked")
        counts = Counter(states.values())
        moved.moved += counts[State.moved]
        moved.again += counts[State.again]
        self._tell(len(messages))

    def _answers(self, to: str, moving: Sequence[Moving], resumed: bool) -> list[State | str]:
        """Enqueue tasks. Returns the state of each message, or why it cannot be moved."""
        known = State.moved if resumed else State.again
        receipts = self._send(to, [self._named(one) for one in moving])
        answers: list[State | str] = [
            receipt if isinstance(receipt, str) else State.moved if receipt.status == "created" else known
            for receipt in receipts
        ]
        taken = [i for i, one in enumerate(receipts) if not isinstance(one, str) and one.status == "exists"]
        if not taken:
            return answers
        views = self._adeq.queue(to).inspect.get_many([moving[i].task.id or "" for i in taken])
        second = []
        for i, view in zip(taken, views, strict=True):
            origin = _origin(view)
            if view is None or (origin.get("digest"), origin.get("run")) == (moving[i].digest, self._run):
                continue
            if origin.get("digest") == moving[i].digest and _was_put_back(view):
                second.append(i)
            else:
                answers[i] = "pyadeq has another task with its id"
        receipts = self._send(to, [self._named(moving[i], second=True) for i in second])
        for i, receipt in zip(second, receipts, strict=True):
            answers[i] = receipt if isinstance(receipt, str) else State.moved if receipt.status == "created" else known
        return answers

    def _send(self, to: str, tasks: Sequence[Task]) -> list[Receipt | str]:
        """Enqueue tasks. Returns a receipt for each, or why it is refused."""
        if not tasks:
            return []
        try:
            return [*self._adeq.queue(to).enqueue_many(tasks)]
        except BadArgument as error:
            if len(tasks) == 1:
                return [_short(error)]
        return [answer for task in tasks for answer in self._send(to, [task])]

    def _mark(self, place: Place, states: Mapping[int, State]) -> None:
        """Write states. The states between them stay the same: no other command writes any."""
        first, last = min(states), max(states)
        if len(states) <= last - first:
            now = self._escrow.states(place)
            states = {number: states.get(number, State(now[number])) for number in range(first, last + 1)}
        self._escrow.mark(place, first, "".join(states[number] for number in range(first, last + 1)))

    def _pause(self, queues: set[str]) -> None:
        for name in sorted(queues):
            queue = self._adeq.queue(name)
            if (mode := queue.inspect.stats().mode) != "paused":
                self._escrow.note(**{f"paused:{name}": mode})  # first: a killed rollback must not leave it paused
                queue.admin.pause()

    def _resume(self) -> None:
        for name, value in self._escrow.about().items():
            if name.startswith("paused:") and value:
                admin = self._adeq.queue(name.removeprefix("paused:")).admin
                if value == "draining":
                    admin.drain()
                else:
                    admin.resume()
                self._escrow.note(**{name: ""})

    def _put_back(self, place: Place, to: str, result: RolledBack, unsure: UnsureBack | None) -> None:
        """Put the messages of a place back, the last ones first."""
        states = self._escrow.states(place)
        if unsure == "done":
            states = states.replace(State.unsure, State.moved)
        wanted = _numbers(states, State.moved, State.again, State.held, State.rollback)
        if unsure == "back":
            wanted = sorted([*wanted, *_numbers(states, State.unsure)])
        for numbers in batches(wanted[::-1]):
            numbers.reverse()
            found = dict(zip(numbers, self._source.read(place, self._escrow.read(place, numbers)), strict=True))
            before = {number: State(states[number]) for number in numbers}
            after = self._cancelled(place, to, before, found, result)
            back = [number for number in numbers if after[number] in {State.held, State.rollback}]
            self._escrow.give_back(place, back, State.back)
            self._at("put back")
            result.back += len(back)
            self._tell(len(numbers))

    def _cancelled(
        self, place: Place, to: str, before: Mapping[int, State], found: Mapping[int, Moving | Left], result: RolledBack
    ) -> dict[int, State]:
        """Cancel the tasks of these messages that have not begun. Returns the states of all."""
        after = dict(before)
        ids = {number: one.id if isinstance(one, Left) else one.task.id or "" for number, one in found.items()}
        queue = self._adeq.queue(to)
        asked = [n for n, state in before.items() if state in {State.moved, State.rollback, State.unsure}]
        views = self._views(queue, asked, ids)
        to_cancel = {}
        for number, state in before.items():
            view = views.get(number)
            same = view is None or found[number].digest in {None, _origin(view).get("digest")}
            if state == State.again:
                after[number] = State.done
                result.stayed.add("delivered twice by the old system", ids[number])
            elif state == State.unsure and (view is None or not same):
                after[number] = State.held  # it is put back, whatever its id has in pyadeq
            elif view and not same:
                after[number] = State.done
                result.stayed.add(f"{view.state}; its job on the old server was replaced or deleted", ids[number])
            elif number in views and view is not None and view.state in WAITING and not view.deliveries:
                after[number], to_cancel[number] = State.rollback, view.id
            elif number in views and (
                state in {State.moved, State.unsure}
                or (view is not None and (view.state != "cancelled" or view.deliveries))
            ):
                after[number] = State.done
                result.stayed.add("deleted" if view is None else view.state, ids[number])
        if after != before:
            self._mark(place, after)
        self._at("rollback marked")
        if to_cancel:
            answers = queue.cancel_many([*to_cancel.values()])
            late = {n: answer for n, answer in zip(to_cancel, answers, strict=True) if answer != "cancelled"}
            for number, answer in late.items():
                after[number] = State.done
                result.stayed.add(answer, ids[number])
            if late:
                self._mark(place, dict.fromkeys(late, State.done))
        self._at("cancelled")
        return after

    def _views(self, queue: Queue, numbers: Sequence[int], ids: Mapping[int, str]) -> dict[int, TaskView | None]:
        """Return the tasks of moved messages. None: it was deleted, or its id is that of a task from elsewhere."""
        views = dict(zip(numbers, queue.inspect.get_many([ids[n] for n in numbers]), strict=True))
        again = [
            n for n, view in views.items() if _origin(view).get("run") not in {None, self._run} and _was_put_back(view)
        ]
        second = queue.inspect.get_many([self._second_id(ids[n]) for n in again])
        views |= dict(zip(again, second, strict=True))
        return {n: view if _origin(view).get("from") == self._source.name else None for n, view in views.items()}

    @cached_property
    def name(self) -> str:
        """The name of the source, which `cleanup` asks for."""
        return self._source.name


def _numbers(states: str, *wanted: State) -> list[int]:
    return [number for number, state in enumerate(states) if state in wanted]


def _was_put_back(view: TaskView | None) -> bool:
    """Whether a moved task was cancelled by an earlier rollback."""
    return view is not None and view.state == "cancelled" and not view.deliveries


def _origin(view: Any) -> dict[str, Any]:
    """Return what a moved task says about where it comes from."""
    headers = view.headers if view is not None else None
    origin = headers.get("migrated") if isinstance(headers, dict) else None
    return origin if isinstance(origin, dict) else {}


def _short(error: BadArgument) -> str:
    """Return what is wrong with a task, without its place in the call."""
    return error.message.removeprefix("item[0].")
