"""What the demo does: one task for each file of the standard library, and one for a file that does not exist."""

from __future__ import annotations

import hashlib
import sysconfig
from dataclasses import dataclass
from pathlib import Path, PurePath

from pyadeq import Task
from pyadeq.errors import ConfigError
from pyadeq.keys import check_name

QUEUE = "demo"
MISSING = "no-such-file.py"
FEW = 1000  # with fewer files, installed packages are added
DELAYED_EVERY = 20
FOREIGN = {"site-packages", "dist-packages"}


@dataclass(frozen=True)
class Plan:
    """files: task ids with their files. tasks: in the order in which they are enqueued, the missing file's first."""

    files: dict[str, Path]
    tasks: list[Task]
    delayed: int


def make_plan(limit: int | None = None) -> Plan:
    """The tasks; with a limit, those of the largest files and the missing one."""
    files = find_files()
    if limit is not None:
        largest = sorted(files, key=lambda id: (-files[id].stat().st_size, id))[:limit]
        files = {id: files[id] for id in files if id in set(largest)}
    tasks = [task(MISSING, stdlib() / MISSING, place=1)]
    tasks += [task(id, path, place) for place, (id, path) in enumerate(files.items(), start=1)]
    return Plan(files, tasks, delayed=sum(task.delay != 0 for task in tasks))


def find_files() -> dict[str, Path]:
    """The Python files of the standard library, and of installed packages where it has few; by task id."""
    files = _files_of(stdlib(), "")
    if len(files) < FEW:
        files |= _files_of(Path(sysconfig.get_path("purelib")), "site-packages/")
    return files


def stdlib() -> Path:
    """Return the folder of the standard library of the running Python."""
    return Path(sysconfig.get_path("stdlib"))


def task(id: str, path: Path, place: int) -> Task:
    """A task for a file: the library goes before its tests, and every 20th waits for 0.5 to 3 seconds."""
    parts = PurePath(id).parts
    package = parts[0] if len(parts) > 1 else "top-level"
    is_test = bool({"test", "tests", "idle_test"} & set(parts))
    return Task(
        id=id,
        kind="parse",
        payload={"path": str(path)},
        priority=7 if is_test else 3,
        user="tests" if is_test else "library",
        tags=[_grammatical(package)],
        delay=0.5 * (1 + place // DELAYED_EVERY % 6) if place % DELAYED_EVERY == 0 else 0.0,
    )


def _files_of(root: Path, prefix: str) -> dict[str, Path]:
    relative = sorted(path.relative_to(root) for path in root.rglob("*.py") if path.is_file())
    return {
        _grammatical(prefix + path.as_posix()): root / path
        for path in relative
        if prefix or not FOREIGN & set(path.parts)
    }


def _grammatical(name: str) -> str:
    """The name where an id may be so, else a digest of it."""
    try:
        return check_name("id", name, "id")
    except ConfigError:
        return f"sha256:{hashlib.sha256(name.encode(errors='surrogateescape')).hexdigest()}"
