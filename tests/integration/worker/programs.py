"""Programs for tests, run as a worker runs them, and the processes that they leave."""

import os
import sys
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Lease
from pyadeq._core.queue.failures import FAILURES
from pyadeq._core.queue.items import Failure
from pyadeq._tasks.context import CURRENT, TaskContext
from pyadeq._worker import program_run
from pyadeq._worker.programs import Program, ProgramFailed

LINUX = sys.platform == "linux"


# A tree that does not want to end: a grandchild in the group, and one that left it; each names itself in a file.
STUBBORN = """
trap '' TERM
(trap '' TERM; exec sleep 1000) & echo $! >> pids
setsid sh -c 'trap "" TERM; echo $$ >> pids; sleep 1000; sleep 1000' &
echo $$ >> pids
while [ $(wc -l < pids) -lt 3 ]; do sleep 0.01; done
echo ready > ready
"""


def lease(data: bytes = b"hello", *, id: str = "t1", fence: int = 7, **record: bytes) -> Lease:
    return Lease(id, "token", fence, 2, 3, 0.0, data, record)


async def run(program: Program, held: Lease | None = None) -> bytes:
    held = held or lease()
    CURRENT.set(TaskContext(held))
    return await program(held)


async def failed(program: Program) -> Failure:
    with pytest.raises(ProgramFailed) as error:
        await run(program)
    return error.value.failure(lease(), FAILURES)


def sh(script: str, **options: Any) -> Program:
    return Program(["sh", "-c", script], **options)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    try:
        # One that has ended and that nobody has collected yet counts as gone.
        return not LINUX or "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def numbers(file: Path) -> list[int]:
    return [int(pid) for pid in file.read_text().split()] if file.exists() else []


def change(monkeypatch: pytest.MonkeyPatch, folder: Path, old: str, new: str) -> None:
    """Run a copy of process_group.py, in this folder, in which a text is another."""
    there, copy = Path(program_run.GROUP), folder / "copy" / "_worker" / "process_group.py"
    copy.parent.mkdir(parents=True)
    assert old in there.read_text()
    copy.write_text(there.read_text().replace(old, new))
    (folder / "copy" / "_supervisor.py").symlink_to(there.parents[1] / "_supervisor.py")
    monkeypatch.setattr(program_run, "GROUP", str(copy))
