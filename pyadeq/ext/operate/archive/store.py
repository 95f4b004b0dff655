"""The files of an archive, in a folder or elsewhere."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from fsspec.core import url_to_fs
from fsspec.implementations.local import LocalFileSystem

from pyadeq.errors import AdeqError, ConfigError
from pyadeq.ext.operate.archive.lines import Part
from pyadeq.ids import new_ulid

ABANDONED: Final = 3600.0
"""Seconds after which a file that is not complete is of a process that was killed."""


class Store:
    """Parts at a URL. A part is there as a whole, or not at all."""

    def __init__(self, url: str, options: dict[str, Any]) -> None:
        self.url = url
        try:
            # The parts of other processes must be seen, so nothing is remembered.
            self._fs, root = url_to_fs(url, **{"use_listings_cache": False, **options})
        except ImportError as error:
            raise ConfigError(f"archive: {url}: {error}; install that package") from error
        except ValueError as error:
            raise ConfigError(
                f"archive: {url!r} is not accepted: {error}; allowed: a folder, or a URL that fsspec knows, "
                "such as s3://bucket/folder"
            ) from error
        self._root = root.rstrip("/")

    def parts(self, stream: str = "", day: str = "") -> list[Part]:
        """Return the parts, by their stream and their first event. stream, day: only those of them."""
        noun, _, name = stream.partition(":")
        under = f"noun={noun}/name={name.replace('/', '~')}" if stream else ""
        if day:
            under += f"/day={day}"
        where = f"{self._root}/{under}" if under else self._root
        with self._errors("its files cannot be listed"):
            try:
                paths = self._fs.find(where)
            except FileNotFoundError:
                paths = []
        found = [Part.from_path(path[len(self._root) :].lstrip("/")) for path in paths]
        return sorted((part for part in found if part), key=lambda part: part.place)

    def read(self, part: Part) -> bytes:
        """Return the content of a part."""
        with self._errors(f"{part.path} cannot be read"):
            content: bytes = self._fs.cat_file(f"{self._root}/{part.path}")
        return content

    def put(self, part: Part, content: bytes) -> None:
        """Store a part, and read it back. If this process is killed meanwhile, the part is there whole or not at all.

        At other places than folders, that needs a store that puts a file at once, as S3 does.
        """
        path = f"{self._root}/{part.path}"
        with self._errors(f"{part.path} cannot be written"):
            if isinstance(self._fs, LocalFileSystem):
                _replace(Path(path), content)
            else:
                self._fs.pipe_file(path, content)
        if self.read(part) != content:
            raise AdeqError(f"archive: {self.url}: {part.path} is not what was written; nothing was acknowledged")

    @contextmanager
    def _errors(self, what: str) -> Iterator[None]:
        try:
            yield
        except AdeqError:
            raise
        except Exception as error:  # each kind of store has errors of its own
            said = str(error) or type(error).__name__
            raise AdeqError(
                f"archive: {self.url}: {what}: {said}; check that the place exists, and your rights there. "
                "Nothing is lost: run it again"
            ) from error


def _replace(path: Path, content: bytes) -> None:
    """Write a file so that it is on the disk, as a whole, when this returns."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{new_ulid()}")
    with temporary.open("wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    for left in path.parent.glob(".*.jsonl.gz.*"):
        with suppress(FileNotFoundError):
            if left.stat().st_mtime < time.time() - ABANDONED:
                left.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
