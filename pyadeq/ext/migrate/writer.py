"""Writing a task in an old layout and in pyadeq, as the phase of the migration says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from pyadeq import Adeq
from pyadeq.errors import AdeqError
from pyadeq.ext.migrate.enqueuer import Enqueuer
from pyadeq.ext.migrate.escrow import Escrow, State
from pyadeq.ext.migrate.mirror import copy_of, mirror_of, prepare
from pyadeq.ext.migrate.source import Left, Moving, Place, Source
from pyadeq.ids import new_ulid


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

        Raises BadArgument, and writes nothing, if pyadeq would refuse the task.
        """
        place = places[0]
        to = self._queues.get(place.queue, place.queue)
        self._adeq.queue(to).calls.enqueue([(one.task.id or "", copy_of(one, self._source.name))], "check")
        phase, run, number = self._escrow.write(places, to, message, new_ulid(), record, fields or {})
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
            (answer,) = enqueuer.enqueue(to, [one], resumed=True)
            if number >= 0:
                self._escrow.mark_written(place, number, answer if isinstance(answer, State) else State.gone)
            if not isinstance(answer, State):
                raise AdeqError(f"task {one.task.id!r}: {answer}")
        return phase


def checked(one: Moving | Left) -> Moving:
    """Return a task that a source has read. Raises AdeqError if it cannot be one of pyadeq."""
    if isinstance(one, Left):
        raise AdeqError(f"task {one.id!r}: {one.why}")
    return one
