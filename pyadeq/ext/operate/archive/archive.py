"""An archive: writes to it, and reads it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

from pyadeq import Adeq
from pyadeq.errors import AdeqError, ConfigError, ScriptError, TransportError
from pyadeq.ext.operate.archive.lines import Archived, Part, day_of, id_of
from pyadeq.ext.operate.archive.merge import merged
from pyadeq.ext.operate.archive.store import Store
from pyadeq.ext.operate.archive.verify import Verified, Verifier
from pyadeq.ext.operate.archive.write import StreamWriter, Written
from pyadeq.ext.shared.finding import nouns_with_events
from pyadeq.models.base import Moment, Seconds, to_epoch_ms, to_ms

GROUP: Final = "archive"
Progress = Callable[[str, int], object]


class Archive:
    """Events of an installation, and records of its ended tasks and changes, as compressed lines of JSON.

    url: a folder, or a URL that fsspec knows, such as `s3://bucket/folder`. options: what fsspec takes for it.

    `write` reads as a group of the events, so it goes on where the last run has ended. A record is stored before its
    event is acknowledged. If a run is killed, another one gets the events that were not acknowledged. It looks for them
    in the archive, and stores those that are not there. Any number of processes may write to one archive.
    """

    def __init__(self, url: str, **options: Any) -> None:
        self.url = url
        self._store = Store(url, options)

    def __repr__(self) -> str:
        return f"<Archive {self.url!r}>"

    def write(
        self,
        adeq: Adeq,
        *,
        streams: Sequence[str] = (),
        group: str = GROUP,
        since: Moment | None = None,
        tasks: bool = True,
        changes: bool = True,
        limit: int | None = None,
        hold: Seconds = 60.0,
        progress: Progress | None = None,
    ) -> list[Written]:
        """Archive the events that there are. Returns what was archived of each stream.

        If the server refuses a stream, the others are archived before the error is raised.

        streams: such as `queue:default`; none: all of the installation.
        group: the group that reads them. It is registered where it does not exist. Each archive needs one of its own.
        since: older events are left out.
        tasks: whether to archive the records of tasks when they end, as far as their data tier allows. If the client
        has a codec, payloads, results and errors stay out.
        changes: whether to archive the records of changes when they end, and again when somebody comments on them.
        limit: at most about this number of events of each stream.
        hold: seconds after which events that were read and not acknowledged are read again: longer than the store needs
        for 10,000 events.
        progress: called after each part, with the stream and the number of its events that were read so far.
        """
        since_s = None if since is None else to_epoch_ms("since", since) / 1000
        hold_s = to_ms("hold", hold) / 1000
        done: list[Written] = []
        refused: list[AdeqError] = []
        for stream in streams or self.streams(adeq):
            records = changes if stream.startswith("change:") else tasks
            writer = StreamWriter(adeq, self._store, stream, group, hold_s, records, since_s)
            tell = None if progress is None else lambda read, stream=stream: progress(stream, read)
            try:
                done.append(writer.write(limit, tell))
            except (ScriptError, TransportError) as error:
                if isinstance(error, TransportError) and error.retryable:
                    raise
                refused.append(error)  # the other streams are archived all the same
        if refused:
            raise refused[0]
        return done

    def streams(self, adeq: Adeq) -> list[str]:
        """Return the event streams of an installation: `queue:default`, or `session:web/c7` for a partition."""
        return [f"{noun}:{name}" for noun in nouns_with_events() for name in sorted(adeq.names(noun, partitions=True))]

    def lag(self, adeq: Adeq, *, streams: Sequence[str] = (), group: str = GROUP) -> dict[str, int]:
        """Return how many events of each stream are not archived yet."""
        return {
            stream: StreamWriter(adeq, self._store, stream, group, 60.0, False, None).lag()
            for stream in streams or self.streams(adeq)
        }

    def parts(self) -> list[Part]:
        """Return the files of the archive."""
        return self._store.parts()

    def read(
        self, *, streams: Sequence[str] = (), since: Moment | None = None, until: Moment | None = None
    ) -> Iterator[Archived]:
        """Iterate over what is archived: stream by stream, in the order of the events. Each record comes once.

        streams: only these. since, until: only events from this time on, and before that one.

        Raises AdeqError if a file is damaged.
        """
        since_ms = 0 if since is None else to_epoch_ms("since", since)
        until_ms = None if until is None else to_epoch_ms("until", until)
        chosen = self._chosen(streams, since_ms, until_ms)
        for one in merged(chosen, self._lines, None):
            ms = id_of(one.id)[0]
            if ms >= since_ms and (until_ms is None or ms < until_ms):
                yield one

    def verify(
        self,
        adeq: Adeq | None = None,
        *,
        streams: Sequence[str] = (),
        group: str = GROUP,
        since: Moment | None = None,
        progress: Callable[[int, int], object] | None = None,
    ) -> Verified:
        """Read everything back, and check it against the digests. `problems` of the answer says what is wrong.

        adeq: also compare each event that this server still has, field by field, if the group has acknowledged it.
        streams, since: only these streams; only events from the day of this time on.
        progress: called with the number of files that were read so far, and the number of all.
        """
        since_ms = 0 if since is None else to_epoch_ms("since", since)
        parts = self._chosen(streams, since_ms, None)
        read = iter(range(1, len(parts) + 1))
        tell = None if progress is None else lambda: progress(next(read, len(parts)), len(parts))
        verifier = Verifier(self._store, parts, tell)
        found = verifier.verify()
        if adeq is None:
            return found
        compared = verifier.compare(adeq, streams or self.streams(adeq), group, since_ms)
        problems = verifier.problems
        return replace(found, compared=compared, bad=problems.count, problems=tuple(problems.texts))

    def _chosen(self, streams: Sequence[str], since_ms: int, until_ms: int | None) -> list[Part]:
        for stream in streams:
            if ":" not in stream:
                raise ConfigError(f"streams: {stream!r} is not accepted; allowed: NOUN:NAME, such as queue:default")
        first = day_of(f"{since_ms}-0")
        return [
            part
            for part in self._store.parts()
            if (not streams or part.stream in streams)
            and part.day >= first
            and (until_ms is None or id_of(part.first)[0] < until_ms)
        ]

    def _lines(self, part: Part) -> list[Archived]:
        try:
            return part.read(self._store.read(part))
        except ValueError as error:
            raise AdeqError(
                f"archive: {self.url}: {part.path} is damaged: {error}; restore it from a copy, or move it away"
            ) from error
