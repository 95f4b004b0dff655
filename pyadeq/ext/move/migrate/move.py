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
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import cached_property, partial
from time import monotonic, time
from typing import Any, Final, Literal

from pyadeq import Adeq, BadArgument
from pyadeq.errors import AdeqError, ConfigError, LockLost, WaitTimeout
from pyadeq.ext.move.migrate import waiting
from pyadeq.ext.move.migrate.enqueuer import Enqueuer, key_of, short
from pyadeq.ext.move.migrate.escrow import IN_ESCROW, OVERTAKEN, Escrow, State, batches, numbers_of
from pyadeq.ext.move.migrate.mirror import Mirror
from pyadeq.ext.move.migrate.reports import Mirrored, Moved, Plan, Planned, Reasons, RolledBack, Status
from pyadeq.ext.move.migrate.rollback import Rollback, UnsureBack
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Source, check_types, id_of
from pyadeq.ids import new_ulid
from pyadeq.models.base import to_epoch_ms

DOMAIN: Final = "migrate"
"""The lock domain in which each source has a lock."""
LEASE: Final = 10.0
"""Seconds after which the lock of a killed command is free."""
PATIENCE: Final = 12.0
"""Seconds for which a command waits for that lock: longer than such a lease."""
LEFT_TO_OLD: Final = "it is due within a minute, and programs of the old system enqueue it; stop them and repeat this"
"""Why a delayed task stays."""
PHASES: Final = {
    "": "tasks were moved without a mirror; go on with move",
    "mirror": "a mirror has begun; go on with shadow, or go back with rollback",
    "shadow": "a mirror has begun; go on with cutover, or go back with rollback",
    "cutover": "producers write to pyadeq; go on with cutover, or go back with rollback",
    "rollback": "a rollback has begun; finish it with: adeq migrate rollback",
    "back": "it was rolled back; begin again with move or mirror",
    "done": "it was cleaned up, so there is no way back; move what is left with move",
}
"""What each phase of a migration means for whoever runs a command that it does not allow."""
ALLOWED: Final = {
    "move": {"", "back", "done"},
    "mirror": {"", "back", "mirror", "shadow"},
    "shadow": {"mirror", "shadow"},
    "cutover": {"shadow", "cutover"},
    "rollback": {*PHASES} - {"done"},
    "cleanup": {*PHASES} - {"rollback"},
}
Unsure = Literal["enqueue", "done"]


Digests = dict[str, Any]
"""The digests of the messages of each place that has any, by the key of the place."""


class Migration:
    """Moves the waiting tasks of a source into queues of pyadeq.

    queues: the queues to move, each with its queue in pyadeq; {}: all, into queues of the same names.
    to: the new installation, in words that stay the same: a migration moves tasks to one place only.
    progress: called with the number of messages done so far.
    waits: called with seconds, before a command waits at most that long for another one, which may have been killed.
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
        waits: Callable[[float], object] = lambda _: None,
        at: Callable[[str], object] = lambda _: None,
    ) -> None:
        self.adeq, self.source, self._to, self._queues = adeq, source, to, dict(queues or {})
        self._progress, self._waits, self._at = progress, waits, at
        self._escrow = Escrow(source.client, source.name)
        self._enqueuer = Enqueuer(adeq, source.name)
        self._done = 0
        self._unnamed: dict[Place, str] = {}  # places whose queue cannot have its name in pyadeq, and why

    def plan(self) -> Plan:
        """Return what a move would do. Nothing is written."""
        plan = Plan([], Reasons(), self.source.others(), "")
        digests: Digests = {}
        targets = self._targets()
        for place, to in {**targets, **dict.fromkeys(self._unnamed, "")}.items():
            planned = Planned(place, to)
            for messages in self._messages(place, digests):
                for one in self.source.read(place, messages):
                    self._plan(planned, plan.left, one)
                self._tell(len(messages))
            plan.places.append(planned)
        if empty := self._queues.keys() - {one.place.queue for one in plan.places}:
            plan.empty = sorted(empty)
            plan.elsewhere = sorted({place.queue for place in self.source.places([])})
        plan.digest = _combined(digests)
        return plan

    def move(self, *, unsure: Unsure | None = None) -> Moved:
        """Move all waiting tasks, and finish what a killed command has begun. Old and new workers may be at work.

        Messages that cannot be moved are put back at the end of their lists where the workers take them. Meanwhile they
        are only in the escrow.

        unsure: if a command was killed and is repeated after more time than pyadeq remembers idempotency keys, at most
        one batch of each list may have been enqueued, and may have run. These messages are not moved unless this says
        how: `enqueue` them again, or count them as `done`.
        """
        moved = Moved()
        places = self._targets()
        if not places and self.status() is None:
            self._report_unnamed(moved.left)
            return moved
        self._check_open({**self._known(), **places})
        with self._command("move") as about:
            begun = monotonic()
            if about.get("phase") == "back":
                self._enqueuer.run = self._escrow.begin_run()["run"]
            self._move(places, self._known(), unsure, moved)
            moved.seconds = monotonic() - begun
        return moved

    def mirror(self) -> Mirrored:
        """Copy all waiting tasks into paused queues, `<queue>.mirror`, where no worker takes them.

        From now on `Writer` writes there, too. The old workers go on. A repeated call copies what has come since, and
        deletes copies of tasks that no longer wait.
        """
        places = self._targets()
        if self._escrow.about().get("phase") not in ("mirror", "shadow"):
            self._mirror().check(places.values())
        with self._command("mirror") as about:
            if about.get("phase") == "back":
                self._escrow.begin_run()
            self._escrow.note(phase="mirror")
            self._at("noted")
            for place, to in places.items():
                self._escrow.add_place(place, to)
            done = self._mirror().copy({**places, **self._escrow.places()})
        self._report_unnamed(done.differences)
        return done

    def shadow(self) -> Mirrored:
        """Compare all waiting tasks with their copies. Nothing is changed, except that a cutover is allowed then."""
        places = self._targets()
        with self._command("shadow"):
            self._escrow.note(phase="shadow")
            self._at("noted")
            done = self._mirror().compare({**places, **self._escrow.places()})
        self._report_unnamed(done.differences)
        return done

    def cutover(self, *, unsure: Unsure | None = None) -> Moved:
        """Let producers write to pyadeq, move all that waits on the old server, and delete the copies.

        From the first moment, `Writer` enqueues into pyadeq alone. Repeated calls move what other programs still write
        in the old layout. unsure: see `move`.
        """
        moved = Moved()
        places = self._targets()
        self._check_open({**self._escrow.places(), **places})
        with self._command("cutover"):
            begun = monotonic()
            self._escrow.note(phase="cutover")
            self._at("noted")
            self._move(places, self._escrow.places(), unsure, moved)
            moved.seconds = monotonic() - begun  # from here on, all tasks are in pyadeq
            self._mirror().delete(self.queues())
            self._at("copies deleted")
        return moved

    def status(self) -> Status | None:
        """Return how far the migration is; None if no task was moved yet."""
        if not (about := self._escrow.about()):
            return None
        check_types(self.source.client, [*self._escrow.places()])
        places = [
            (place, to, waiting.length(self.source.client, place), Counter(map(State, self._escrow.states(place))))
            for place, to in self._escrow.places().items()
        ]
        return Status(about["to"], about.get("phase", ""), places, self.source.others())

    def rollback(self, *, unsure: UnsureBack | None = None) -> RolledBack:
        """Put all moved tasks that have not begun back into their lists, in the old order.

        The queues of pyadeq are paused meanwhile, so that no task begins. Tasks that have begun stay in pyadeq.

        unsure: of messages that may have been moved before (see `move`), put `back` those whose tasks pyadeq does not
        have, or count these as `done`. Otherwise they stay in the escrow.
        """
        result = RolledBack()
        if self.status() is None:
            return result
        with self._command("rollback"):
            self._escrow.note(phase="rollback")
            places = self._escrow.places()
            back = self._rollback()
            back.pause({*places.values()})
            self._at("paused")
            back.load(places)
            for place, to in places.items():
                self._settle_taken(place, to, Moved())
                self._escrow.recall(place, State.held)
                self._at("recalled")
                back.put_back(place, to, result, unsure)
                result.unsure += len(numbers_of(self._escrow.states(place), State.unsure))
            back.resume()
            self._at("resumed")
            self._mirror().delete(places.values())
            self._escrow.note(phase="back")
        digests: Digests = {}
        for place in {place.key: place for place in [*self.source.places([*self._queues]), *places]}.values():
            for _ in self._messages(place, digests):
                pass
        result.digest = _combined(digests)
        return result

    def cleanup(self) -> int:
        """Delete the escrow. There is no way back. Returns how many messages it had.

        Raises AdeqError if it has messages that are nowhere else, also if pyadeq has lost their tasks since. It can
        tell that as long as it remembers idempotency keys.
        """
        if self.status() is None:
            return 0
        with self._command("cleanup"):
            for place, to in self._escrow.places().items():
                self._rollback().check(place, to)
            self._at("checked")
            if (status := self.status()) is None:  # another cleanup has ended
                raise AdeqError(OVERTAKEN)
            if rest := status.count(*IN_ESCROW):
                way = "cutover" if status.phase in ("cutover", "done") else "move"
                how = f"with adeq migrate {way}, or go back with adeq migrate rollback"
                if unsure := status.count(State.unsure):
                    how += f"; {unsure:,} are unsure: add --unsure enqueue|done to {way}, or back|done to rollback"
                raise AdeqError(f"{rest:,} messages are only in the escrow; finish {how}")
            self._mirror().delete({to for _, to, _, _ in status.places})
            if stays := status.phase in ("cutover", "done"):
                self._escrow.note(phase="done")
                for place, to in self._escrow.places().items():
                    self._settle_taken(place, to, Moved())  # of a producer that was killed before this phase
            self._at("copies deleted")
            self._escrow.delete(keep_phase=stays)
        return sum(sum(counts.values()) for _, _, _, counts in status.places)

    def _known(self) -> dict[Place, str]:
        """Return the places from which messages were taken, only those of the queues to move."""
        wanted = self._queues
        return {place: to for place, to in self._escrow.places().items() if not wanted or place.queue in wanted}

    def _move(
        self, places: Mapping[Place, str], known: Mapping[Place, str], unsure: Unsure | None, moved: Moved
    ) -> None:
        for place, to in places.items():
            self._escrow.add_place(place, to)
        for place, to in {**known, **places}.items():
            self._escrow.note_idempotency(self._idempotency(to))
            if unsure:
                self._settle_unsure(place, to, unsure, moved)
            self._settle_taken(place, to, moved)
            self._escrow.recall(place, State.taken)  # they may be accepted now
            self._at("recalled")
            self._take_all(place, to, moved)
            held = numbers_of(self._escrow.states(place), State.held)
            self._escrow.give_back(place, held, State.kept)
            self._at("given back")
            for messages in waiting.staying(self.source.client, place):
                self._report(place, messages, moved.left)
            for messages in waiting.due(self.source.client, place):
                for one in self.source.read(place, messages):
                    if isinstance(one, Moving):
                        moved.left.add(LEFT_TO_OLD, id_of(one))
        self._report_unnamed(moved.left)

    def _rollback(self) -> Rollback:
        return Rollback(self.adeq, self.source, self._escrow, self._enqueuer, self._at, self._tell)

    def _mirror(self) -> Mirror:
        return Mirror(self.adeq, self.source, self._enqueuer, self._at, self._tell)

    def _check_phase(self, command: str) -> None:
        """Raise AdeqError if a command is not allowed in the phase of the migration."""
        about = self._escrow.about()
        phase = about.get("phase", "")
        if phase not in ALLOWED[command]:
            why = PHASES[phase] if about else "nothing has begun; begin with mirror"
            raise AdeqError(f"{command} is not possible now: {why}")

    @contextmanager
    def _command(self, name: str) -> Iterator[dict[str, str]]:
        with self._lock():
            self._check_phase(name)  # before anything is written
            check_types(self.source.client, [*self._escrow.places()])
            about = self._escrow.begin(self._to)
            self._enqueuer.run = about["run"]
            yield about

    @contextmanager
    def _lock(self) -> Iterator[None]:
        """Hold the lock of the source. That of a killed command is free after its lease."""
        resource = re.sub(r"[^A-Za-z0-9._:/@+-]", "_", self.source.name)[:200]  # a prefix may have other characters
        acquire = partial(
            self.adeq.locks(DOMAIN).acquire, resource, owner=f"migrate-{new_ulid()}", ttl=LEASE, purpose="adeq migrate"
        )
        ended = False
        try:
            with ExitStack() as held:
                try:
                    held.enter_context(acquire(wait=0))
                except WaitTimeout:
                    self._waits(PATIENCE)
                    held.enter_context(acquire(wait=PATIENCE))
                yield
                ended = True
        except WaitTimeout:
            raise AdeqError(
                f"another command is migrating {self.source.name}; wait for it: adeq lock ls --domain {DOMAIN}"
            ) from None
        except LockLost:
            if not ended or not self._escrow.is_last():  # else this process stood still, and no other command has begun
                raise

    def _targets(self) -> dict[Place, str]:
        """Return the places on the old server, each with its queue in pyadeq."""
        places = {place: self._queues.get(place.queue, place.queue) for place in self.source.places([*self._queues])}
        self._unnamed = {place: why for place, to in places.items() if (why := self._why_not(place, to))}
        places = {place: to for place, to in places.items() if place not in self._unnamed}
        for to in {*places.values()} if self.adeq.slot is None else ():
            if len(self.adeq.partitioned(to).partitions()) > 1:
                raise ConfigError(
                    f"queue {to!r} has partitions, in which a task cannot have an id and an idempotency key; move into "
                    "a queue without partitions"
                )
        return places

    def _check_open(self, places: Mapping[Place, str]) -> None:
        """Raise AdeqError if a queue drains, before messages are taken out of their lists."""
        for to in sorted({*places.values()}):
            if self.adeq.queue(to).stats().mode == "draining":
                raise AdeqError(
                    f"queue {to!r} drains and takes no tasks; nothing was moved. Let it take some: "
                    f"adeq queue resume {to}"
                )

    def _why_not(self, place: Place, to: str) -> str:
        """Return why no queue of pyadeq can have this name, "" if one can. Raises ConfigError if it was given."""
        try:
            self.adeq.queue(to)
        except ConfigError as error:
            if self._queues.get(place.queue, place.queue) != place.queue:
                raise
            why = f"{error}; give it another name: --queue {place.queue}=NEW"
            if place.queue in self._queues:
                raise ConfigError(why) from None
            return why
        return ""

    def _report_unnamed(self, left: Reasons) -> None:
        for place in self._unnamed:
            for messages in waiting.messages(self.source.client, place):
                self._report(place, messages, left)

    def _report(self, place: Place, messages: Sequence[bytes], left: Reasons) -> None:
        """Report messages that stay where they are."""
        for one in self.source.read(place, messages):
            if why := self._unnamed.get(place, one.why if isinstance(one, Left) else ""):
                left.add(why, id_of(one))

    def _tell(self, count: int) -> None:
        self._done += count
        self._progress(self._done)

    def _messages(self, place: Place, digests: Digests) -> Iterator[list[bytes]]:
        """Yield the waiting messages, first the next one, and add them to the digest of their place."""
        for found in waiting.messages(self.source.client, place):
            for message in found:
                digests.setdefault(place.key, hashlib.sha256()).update(hashlib.sha256(message).digest())
            yield found

    def _plan(self, planned: Planned, left: Reasons, one: Moving | Left) -> None:
        if why := self._unnamed.get(planned.place):
            one = Left(id_of(one), why)
        if isinstance(one, Moving):
            try:
                self.adeq.queue(planned.to).calls.enqueue([(one.task.id or "", self._enqueuer.named(one))], "plan")
            except BadArgument as error:
                one = Left(one.task.id or "", short(error))
        if isinstance(one, Left):
            planned.left += 1
            left.add(one.why, one.id)
        else:
            planned.moves += 1
            at = one.task.run_after
            planned.delayed += at is not None and to_epoch_ms("run_after", at) > time() * 1000

    def _take_all(self, place: Place, to: str, moved: Moved) -> None:
        """Move messages. While a batch is enqueued, the next one is taken and read."""
        states = self._escrow.states(place)
        for numbers in batches(numbers_of(states, State.taken)):
            self._enqueue(place, to, numbers, self._read(place, numbers), moved, resumed=False)
        known, kept, before = len(states), self._escrow.kept(place), None
        with ThreadPoolExecutor(1) as enqueuing:
            messages, fresh = self._escrow.take(place, known)
            while messages:
                self._at("taken")
                digests = (hashlib.sha1(one, usedforsecurity=False).hexdigest() for one in messages if kept)
                if twice := [kept.pop(digest) for digest in digests if digest in kept]:
                    self._escrow.forget(place, twice)
                found = self.source.read(place, messages)
                if before:
                    before.result()
                numbers = [*range(known, known + len(messages))]
                # those of a producer that writes just now are not fresh, and it may have enqueued them
                before = enqueuing.submit(self._enqueue, place, to, numbers, found, moved, resumed=not fresh)
                known += len(messages)
                messages, fresh = self._escrow.take(place, known)
            if before:
                before.result()

    def _read(self, place: Place, numbers: Sequence[int]) -> list[Moving | Left]:
        return self.source.read(place, self._escrow.read(place, numbers))

    def _settle_taken(self, place: Place, to: str, moved: Moved) -> None:
        """Move what a killed command or producer has put into the escrow and not marked."""
        states = self._escrow.states(place)
        for numbers in batches(numbers_of(states, State.taken, State.written)):
            if unsure := self._unsure(place, to, numbers, states):
                self._escrow.mark(place, dict.fromkeys(unsure, State.unsure))
                moved.unsure += len(unsure)
            if sure := [number for number in numbers if number not in unsure]:
                self._enqueue(place, to, sure, self._read(place, sure), moved, resumed=True)

    def _unsure(self, place: Place, to: str, numbers: Sequence[int], states: str) -> set[int]:
        """Return the messages whose tasks may have been enqueued so long ago that their keys have expired."""
        keys = self._escrow.keys_of(place, numbers)
        unknown = sorted(keys.keys() - self._enqueuer.remembered(to, keys))
        written = [number for number in unknown if states[number] == State.written]
        times = dict.fromkeys(unknown, self._escrow.taken_ms(place)) if unknown else {}
        times |= zip(written, self._escrow.written_ms(place, written), strict=True)
        kept = self._idempotency(to) if unknown else 0.0
        passed = {at: self._escrow.has_passed(at, kept) for at in {*times.values()}}
        return {number for number, at in times.items() if passed[at]}

    def _settle_unsure(self, place: Place, to: str, how: Unsure, moved: Moved) -> None:
        for numbers in batches(numbers_of(self._escrow.states(place), State.unsure)):
            found = self._read(place, numbers)
            if how == "done":
                views = self._enqueuer.views(to, dict(zip(numbers, map(id_of, found), strict=True)))
                self._escrow.mark(place, {n: State.moved if view else State.done for n, view in views.items()})
            else:
                self._enqueue(place, to, numbers, found, moved, resumed=True)

    def _idempotency(self, to: str) -> float:
        """Return for how many seconds pyadeq remembers the keys of a queue."""
        return self.adeq.queue(to).settings().idempotency

    def _enqueue(
        self,
        place: Place,
        to: str,
        numbers: Sequence[int],
        found: Sequence[Moving | Left],
        moved: Moved,
        *,
        resumed: bool,
    ) -> None:
        """Enqueue messages of the escrow, and mark them.

        resumed: an earlier command or a producer may have enqueued them. Then the key says so: what a message says may
        have changed since.
        """
        had = self._enqueuer.remembered(to, self._escrow.keys_of(place, numbers)) if resumed else set()
        fresh = [(number, one) for number, one in zip(numbers, found, strict=True) if number not in had]
        moving = [(number, one) for number, one in fresh if isinstance(one, Moving)]
        if moving:
            self._escrow.sent(place, {number: key_of(one) for number, one in moving})
            self._at("sent")
        answers = self._enqueuer.enqueue(to, [one for _, one in moving], resumed)
        self._at("enqueued")
        states = dict.fromkeys(had, State.moved)
        left = {number: one for number, one in fresh if isinstance(one, Left)}
        for (number, one), answer in zip(moving, answers, strict=True):
            if isinstance(answer, State):
                states[number] = answer
                if answer == State.again:
                    moved.delivered.add("the old system has delivered it twice", one.task.id or "")
                elif one.delivered and answer == State.moved:
                    moved.delivered.add("the old system had delivered it before", one.task.id or "")
            else:
                left[number] = Left(one.task.id or "", answer)
        first = min(numbers)
        before = self._escrow.states(place, first, max(numbers)) if left else ""
        refused = {number for number, _ in moving}
        for number, one_left in left.items():
            # the producer of a written one gets the error, and no old worker must run its task
            by_producer = before[number - first] in (State.written, State.gone) and number in refused
            states[number] = State.gone if by_producer else State.held
            moved.left.add(one_left.why, one_left.id)
        self._escrow.mark(place, states)
        self._at("marked")
        counts = Counter(states.values())
        moved.moved += counts[State.moved]
        moved.again += counts[State.again]
        self._tell(len(numbers))

    def queues(self) -> list[str]:
        """Return the queues of pyadeq that tasks go to."""
        return sorted({*self._escrow.places().values()})

    @cached_property
    def name(self) -> str:
        """The name of the source, which `cleanup` asks for."""
        return self.source.name


def _combined(digests: Digests) -> str:
    rows = [f"{key}\n{digest.hexdigest()}\n" for key, digest in sorted(digests.items())]
    return hashlib.sha256("".join(rows).encode()).hexdigest()
