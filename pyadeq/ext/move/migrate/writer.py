"""Writing a task in an old layout and in pyadeq, as the phase of the migration says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, Final

from pyadeq import Adeq
from pyadeq.errors import AdeqError, BadArgument, ScriptError
from pyadeq.ext.move.migrate.enqueuer import Enqueuer, key_of
from pyadeq.ext.move.migrate.escrow import Escrow, State, batches, numbers_of
from pyadeq.ext.move.migrate.mirror import PENDING, copy_of, mirror_of, prepare
from pyadeq.ext.move.migrate.source import Left, Moving, Place, Source, id_of
from pyadeq.ids import new_ulid

MOST_FIELDS: Final = 100
"""Fields of a record that `lua/write.lua` writes."""
BROUGHT: Final = frozenset(State) - {State.gone, State.held, State.kept}
"""States of messages that may have brought their tasks to pyadeq."""
NEW_ID: Final = "use a new id"
HOW: Final = {"dead": "use queue.dead.retry(id) or a new id"}


class Writer:
    """What the producers of an old layout call, from before a migration until after it.

    Without a migration it writes the old layout. In `mirror` and `shadow` it also writes a copy into pyadeq. From
    `cutover` on it enqueues into pyadeq alone, and the old server keeps the message for a rollback. After a rollback it
    writes the old layout again. A script on the old server reads the phase and writes in one step, so no task is
    written to the wrong side.

    queues: each old queue with its queue in pyadeq, as for the commands.
    """

    def __init__(self, adeq: Adeq, source: Source, *, queues: Mapping[str, str] | None = None) -> None:
        self._adeq, self._source, self._queues = adeq, source, dict(queues or {})
        self._escrow = Escrow(source.client, source.name)
        self._paused: set[str] = set()

    def write(
        self,
        places: Sequence[Place],
        message: bytes,
        one: Moving,
        record: str = "",
        fields: Mapping[str, Any] | None = None,
    ) -> str:
        """Write a task. Returns the phase of the migration, "" if there is none.

        places: all of them get the message. one: its task in pyadeq. record: the key of a hash that gets these fields.

        Raises BadArgument, and writes nothing, if pyadeq would refuse the task. After a cutover, raises AdeqError if
        pyadeq has another task with its id, or if this task has ended there: it does not run again.
        """
        if len(fields or {}) > MOST_FIELDS:
            raise BadArgument(
                "ADEQ_ARG",
                "pyadeq",
                f"fields: {len(fields or {}):,} are not accepted; allowed: up to {MOST_FIELDS} in the hash of a task",
            )
        place = places[0]
        to = self._queues.get(place.queue, place.queue)
        self._adeq.queue(to).calls.enqueue([(one.task.id or "", copy_of(one, self._source.name))], "check")
        phase, run, number = self._escrow.write(places, to, message, key_of(one), new_ulid(), record, fields or {})
        if phase in ("mirror", "shadow"):
            with suppress(AdeqError):  # then there is no copy, which a shadow reports
                mirror = mirror_of(self._adeq, to)
                if to not in self._paused:  # the command found no task of this queue, or has only just begun
                    prepare(mirror)
                    self._paused.add(to)
                mirror.enqueue_many([copy_of(one, self._source.name)])
        elif phase in ("cutover", "done"):
            enqueuer = Enqueuer(self._adeq, self._source.name)
            enqueuer.run = run
            try:
                (answer,) = enqueuer.enqueue(to, [one], resumed=False)
            except ScriptError as error:
                # nothing was enqueued: the producer hears that, and no command must enqueue it later
                refused = number >= 0 and not error.may_have_applied
                if not refused or self._escrow.mark_written(place, number, State.gone, run) != State.moved.encode():
                    raise
                return phase
            if answer == State.again:
                answer = self._known(to, enqueuer, one)
                if number >= 0 and not isinstance(answer, State) and self._is_only(one.task.id or "", place, number):
                    answer = State.moved  # a command has enqueued it, and has not marked it yet, or was killed before
            before = b""
            if number >= 0:
                after = State.moved if isinstance(answer, State) else State.gone
                before = self._escrow.mark_written(place, number, after, run)
            if not isinstance(answer, State) and before != State.moved.encode():  # else a command has enqueued it
                raise AdeqError(f"task {one.task.id!r}: {answer}")
        return phase

    def _known(self, to: str, enqueuer: Enqueuer, one: Moving) -> State | str:
        """Return the state of a message whose task pyadeq knows, or why nothing will run."""
        id = one.task.id or ""
        views = self._adeq.queue(to).get_many([id, enqueuer.second_id(id)])
        view = views[1] or views[0]
        if view is not None and (view.state in PENDING or view.state in ("running", "stalled")):
            return State.moved
        state = "ended" if view is None else view.state
        return f"it has ended in pyadeq ({state}), and nothing was enqueued; to run it again, {HOW.get(state, NEW_ID)}"

    def _is_only(self, id: str, place: Place, number: int) -> bool:
        """Whether no other message of the escrow has brought this task to pyadeq. It reads all, so it is asked last."""
        for other in self._escrow.places():
            mine = number if other.key == place.key else -1
            numbers = [n for n in numbers_of(self._escrow.states(other), *BROUGHT) if n != mine]
            for some in batches(numbers):
                found = [message for message in self._escrow.read(other, some) if id.encode() in message]
                if id in map(id_of, self._source.read(other, found)):
                    return False
        return True


def checked(one: Moving | Left) -> Moving:
    """Return a task that a source has read. Raises AdeqError if it cannot be one of pyadeq."""
    if isinstance(one, Left):
        raise AdeqError(f"task {one.id!r}: {one.why}")
    return one
