"""A file of tasks into a queue: in batches, in constant memory, and from where the last run was killed."""

from __future__ import annotations

import os
import re
import sys
from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, NamedTuple

import typer
from pydantic import ValidationError, field_validator

from pyadeq import Adeq, Call, Queue, Task
from pyadeq.errors import (
    AdeqError,
    BadArgument,
    ConfigError,
    PartitionsChanged,
    ScriptError,
    TransportError,
    UnknownTask,
)
from pyadeq.ext.cli.shared.arguments import DURATION, STDIN, duration, many
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ext.cli.task.checkpoint import SUFFIX, Checkpoint, Place, Run
from pyadeq.ids import new_ulid
from pyadeq.keys import shown
from pyadeq.models.queue import OPTIONS, Receipt

BATCH_LINES = 1000
BATCH_BYTES = 4 * 1024 * 1024
LONGEST_LINE = 8 * 1024 * 1024  # a payload may have 1 MiB, and JSON may take six bytes for each of them
FIELDS = ", ".join(Task.model_fields)
SPANS = tuple(name for name, option in OPTIONS.items() if option.kind == "seconds")


class Line(NamedTuple):
    """A line of the file. start: bytes from the start of the file."""

    number: int
    start: int
    data: bytes

    @property
    def text(self) -> bytes:
        """The line without its end, and without the mark of UTF-8 that some programs put at the start of a file."""
        return (self.data if self.start else self.data.removeprefix(BOM_UTF8)).rstrip(b"\r\n")


class Row(Task):
    """A task as a line has it: times may have a unit, as on the command line."""

    after: str | Sequence[str] = ()

    @field_validator(*SPANS, mode="before")
    @classmethod
    def _with_unit(cls, value: object) -> object:
        try:
            return duration(value) if isinstance(value, str) else value
        except typer.BadParameter:
            return value  # pydantic knows ISO 8601 too


class Item(NamedTuple):
    """A task to be sent."""

    line: Line
    id: str
    task: Task


class BadLine(AdeqError):
    """A line that is no task."""

    def __init__(self, line: Line, message: str) -> None:
        super().__init__(message)
        self.line = line


class Upload:
    """One file on its way into a queue. raw: each line is a payload. rid: of this run; a new one unless given.

    checkpoint: where it is written how far this is; beside the file unless named. It goes when the file is done.
    """

    def __init__(
        self, file: Path, *, raw: bool = False, rid: str | None = None, checkpoint: Path | None = None
    ) -> None:
        self.name = "stdin" if file == STDIN else str(file)
        self.place = Place(rid=rid or new_ulid())
        self._file, self._raw, self._rid = file, raw, rid
        self._path = checkpoint
        self._kept: Checkpoint | None = None
        self.before = self.place  # where this run began
        self._untouched = True  # nothing can have come of this run, nor of one before
        self._ahead = False  # some lines after the place are done, too

    def run(self, adeq: Adeq, queue: Queue, server: str) -> None:
        """Send what is left of the file. Raises AdeqError for a line that is no task; those before it are sent."""
        with self._opened() as source:
            checkpoint = self._kept = self._checkpoint(source, queue, server)
            total = os.fstat(source.fileno()).st_size if checkpoint else None
            with self._advice(checkpoint), Bar("Enqueuing", total, "tasks") as bar:
                for batch in _batches(_lines(source, self.place)):
                    self._send(adeq, queue, batch, checkpoint)
                    bar.update(self.place.offset, self.place.line)

    def finish(self) -> None:
        """Forget how far the file is, for it is done. To be called last: what is killed before goes on from there."""
        if self._kept:
            self._kept.remove()

    @contextmanager
    def _opened(self) -> Iterator[BinaryIO]:
        if self._file == STDIN:
            yield sys.stdin.buffer
            return
        try:
            source = self._file.open("rb", buffering=1 << 20)
        except OSError as error:
            raise ConfigError(f"--file: {self.name!r} cannot be read: {error.strerror}") from None
        with source:
            yield source

    def _checkpoint(self, source: BinaryIO, queue: Queue, server: str) -> Checkpoint | None:
        if self._file == STDIN or not source.seekable():
            if self._path is not None:
                raise ConfigError(f"--checkpoint: {self.name} cannot be read from the middle; use --rid instead")
            return None
        path = self._path or self._file.with_name(self._file.name + SUFFIX)
        run = Run(file=self.name, base=queue.base, server=server, raw=self._raw, place=self.place)
        checkpoint = Checkpoint(path, source, run)
        self.place = checkpoint.resume(self._rid)
        self.before, self._untouched = self.place, checkpoint.begun
        source.seek(self.place.offset)
        if self.place.line:
            print(f"{self.name}: continuing after line {self.place.line:,} (rid {self.place.rid})", file=sys.stderr)
        return checkpoint

    @contextmanager
    def _advice(self, checkpoint: Checkpoint | None) -> Iterator[None]:
        try:
            yield
        except PartitionsChanged:  # no command of this kind can go on
            raise
        except (AdeqError, KeyboardInterrupt):
            if self._untouched:
                self.finish()
                raise
            after = "and some after that" if self._ahead else "nothing after that"
            done = f"{self.name}: {many(self.place.line, 'line')} done, {after}; "
            if checkpoint:
                done += f"the same command goes on there (checkpoint {checkpoint.path})"
            else:
                done += f"all of it may be sent again with --rid {self.place.rid}, and nothing is created twice"
            print(done, file=sys.stderr)
            raise

    def _send(self, adeq: Adeq, queue: Queue, batch: list[Line], checkpoint: Checkpoint | None) -> None:
        """Send a batch, up to its first bad line if it has one, and raise that."""
        tasks, bad = self._parse(batch)
        calls, refused = self._calls(queue, tasks)
        receipts, unmade = self._run_all(adeq, calls, tasks)
        bad = unmade or refused or bad
        done = [line for line in batch if bad is None or line.number < bad.line.number]
        if done:
            self._advance(done[-1], receipts)
            if checkpoint:
                checkpoint.save(self.place, done[-1].start, done[-1].data)
        if bad:
            raise AdeqError(f"{self.name}, line {bad.line.number}: {bad}")

    def _run_all(
        self, adeq: Adeq, calls: list[Call[list[Receipt]]], tasks: list[Item]
    ) -> tuple[list[Receipt], BadLine | None]:
        """The answers up to the first task that comes after one that there is not. Some behind it may be made, too."""
        receipts: list[Receipt] = []
        for call in calls:
            try:
                receipts += self._run(adeq, call)
            except UnknownTask as error:
                made = error.receipts.index(None)
                line = tasks[len(receipts) + made].line
                self._ahead = True
                bad = BadLine(line, f"after: task {error.missing!r} does not exist, or no longer")
                return receipts + error.receipts[:made], bad
        return receipts, None

    def _run(self, adeq: Adeq, call: Call[list[Receipt]]) -> list[Receipt]:
        untouched, self._untouched = self._untouched, False
        try:
            return adeq.send(call)
        except (ScriptError, TransportError) as error:
            self._untouched = untouched and not getattr(error, "may_have_applied", False)
            raise

    def _parse(self, batch: list[Line]) -> tuple[list[Item], BadLine | None]:
        """The tasks of the lines up to the first that is none."""
        tasks: list[Item] = []
        for line in batch:
            if not (line.text if self._raw else line.text.strip()):
                continue
            try:
                task = self._task(line)
            except BadLine as bad:
                return tasks, bad
            tasks.append(Item(line, task.id or f"{self.place.rid}.{line.number}", task))
        return tasks, None

    def _task(self, line: Line) -> Task:
        if len(line.data) > LONGEST_LINE:
            raise BadLine(line, f"it is longer than {LONGEST_LINE >> 20} MiB; a payload may have 1 MiB")
        if self._raw:
            return Task.model_construct(payload=line.text)
        try:
            return Row.model_validate_json(line.text.rstrip())
        except ValidationError as error:
            raise BadLine(line, _problem(error)) from None

    def _calls(self, queue: Queue, tasks: list[Item]) -> tuple[list[Call[list[Receipt]]], BadLine | None]:
        """One call; or, where that is refused, one for each task up to the bad one. Nothing is sent yet."""
        calls = []
        try:
            return [self._call(queue, tasks)] if tasks else [], None
        except BadArgument:
            for item in tasks:
                try:
                    calls.append(self._call(queue, [item]))
                except BadArgument as error:
                    return calls, BadLine(item.line, error.message.removeprefix("item[0]."))
        return calls, None

    def _call(self, queue: Queue, tasks: list[Item]) -> Call[list[Receipt]]:
        return queue.calls.enqueue([(id, task) for _, id, task in tasks], f"{self.place.rid}.{tasks[0].line.number}")

    def _advance(self, last: Line, receipts: list[Receipt]) -> None:
        counts = Counter(receipt.status for receipt in receipts)
        self.place = Place(
            rid=self.place.rid,
            line=last.number,
            offset=last.start + len(last.data),
            created=self.place.created + counts["created"],
            exists=self.place.exists + counts["exists"],
            deduplicated=self.place.deduplicated + counts["deduplicated"],
        )


def _lines(source: BinaryIO, place: Place) -> Iterator[Line]:
    """The lines from a place on. One that is too long comes in parts: the first is refused."""
    number, start = place.line, place.offset
    while data := source.readline(LONGEST_LINE + 1):
        number += 1
        yield Line(number, start, data)
        start += len(data)


def _batches(lines: Iterator[Line]) -> Iterator[list[Line]]:
    """Yield at most 1,000 lines and about 4 MiB at a time. A replay from the same place yields the same batches."""
    batch: list[Line] = []
    size = 0
    for line in lines:
        batch.append(line)
        size += len(line.data)
        if len(batch) == BATCH_LINES or size >= BATCH_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _problem(error: ValidationError) -> str:
    """What is wrong with the first field that does not fit, and what is allowed. Payloads are not shown."""
    problems = error.errors(include_url=False)
    first = problems[0]
    if first["type"] == "json_invalid":
        return f"it is not JSON: {re.sub(r'line 1 ', '', str(first['ctx']['error']))}"
    if not first["loc"]:
        return 'it must be an object with the fields of a task, {"payload": …}; with --raw each line is a payload'
    field = first["loc"][0]
    if first["type"] == "extra_forbidden" and len(first["loc"]) == 1:
        return f"{field}: there is no such field; allowed: {FIELDS}"
    allowed = " or ".join(dict.fromkeys(one["msg"] for one in problems if one["loc"][0] == field))
    if field in SPANS and isinstance(first["input"], str):
        return f"{field}: {shown(first['input'])} is not accepted; allowed: {DURATION}"
    name = ".".join(map(str, first["loc"][:2])) if field == "backoff" else field
    return f"{name}: {shown(first['input'])} is not accepted: {allowed}"
