"""How far a file is enqueued, in a file of its own: written after each batch that the server has acknowledged."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from pydantic import BaseModel, ValidationError

from pyadeq.errors import ConfigError

SUFFIX = ".adeq-checkpoint"


class Place(BaseModel):
    """The progress of a run. rid: of the run. line, offset: lines and bytes that are done; others: receipts so far."""

    rid: str
    line: int = 0
    offset: int = 0
    created: int = 0
    exists: int = 0
    deduplicated: int = 0


class Run(BaseModel):
    """What a checkpoint is of, and the last line that is done, by its start and its sum."""

    file: str
    base: str
    server: str
    raw: bool
    place: Place
    last_start: int = 0
    last_sum: str = ""


class Checkpoint:
    """The checkpoint of one file in one queue on one server."""

    def __init__(self, path: Path, source: BinaryIO, run: Run) -> None:
        self.path = path
        self._source = source
        self._run = run
        self.begun = False  # whether this run made it

    def resume(self, rid: str | None) -> Place:
        """Return where to begin: where the last run stopped, or at the start. ConfigError if it was another run."""
        try:
            found = Run.model_validate_json(self.path.read_bytes())
        except FileNotFoundError:
            # Of two runs that begin at once, one makes it and the other goes on with it.
            self.begun = self._begin()
            return self._run.place if self.begun else self.resume(rid)
        except (OSError, ValidationError):
            raise self._error("is not a checkpoint, or cannot be read") from None
        ours = self._run
        for what, theirs, mine in (
            ("queue", found.base, ours.base),
            ("server", found.server, ours.server),
            ("--raw", found.raw, ours.raw),
            ("rid", found.place.rid, rid or found.place.rid),
        ):
            if theirs != mine:
                raise self._error(f"is of a run with another {what} ({theirs}, not {mine})")
        self._source.seek(found.last_start)
        if _sum(self._source.read(found.place.offset - found.last_start)) != found.last_sum:
            raise self._error(f"is of another {ours.file}, or the enqueued part has been changed since")
        return found.place

    def save(self, place: Place, last_start: int, last: bytes) -> None:
        """Write it, whole or not at all."""
        run = self._run.model_copy(update={"place": place, "last_start": last_start, "last_sum": _sum(last)})
        with self._written(run) as new:
            os.replace(new, self.path)

    def _begin(self) -> bool:
        """Write the first one; False if there is one by now."""
        run = self._run.model_copy(update={"last_sum": _sum(b"")})
        with self._written(run) as new:
            try:
                os.link(new, self.path)
            except FileExistsError:
                return False
            finally:
                new.unlink()
        return True

    @contextmanager
    def _written(self, run: Run) -> Iterator[Path]:
        """What is to become the checkpoint, on the disk under a name of this process."""
        new = self.path.with_name(f"{self.path.name}.{os.getpid()}.new")
        try:
            with new.open("w") as file:
                file.write(run.model_dump_json(indent=2))
                file.flush()
                os.fsync(file.fileno())
            yield new
        except OSError as error:
            raise self._error(f"cannot be written ({error.strerror})", "name another place") from None

    def remove(self) -> None:
        """The file is done."""
        self.path.unlink(missing_ok=True)

    def _error(self, what: str, advice: str = "delete it to begin from the first line, or name another") -> ConfigError:
        return ConfigError(f"checkpoint: {str(self.path)!r} {what}; {advice} with --checkpoint")


def _sum(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
