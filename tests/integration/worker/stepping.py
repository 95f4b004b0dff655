"""Task functions with steps that a child process can import."""

from __future__ import annotations

import os
from pathlib import Path

from pyadeq import SyncTaskContext, TaskContext, Tasks

tasks = Tasks()


def note(file: str, word: str) -> str:
    """Note that it ran, and where."""
    with Path(file).open("a") as out:
        print(word, TaskContext.current().idempotency_key, os.getpid(), file=out)
    return word.upper()


@tasks.task(executor="process", reply=True)
def in_a_process(context: SyncTaskContext, file: str) -> list[str | bool]:
    one = context.step("note", note, file, "a")
    context.sleep("nap", 0.2)
    return [one, context.step("note", note, file, "b"), context.patched("new")]


@tasks.task(executor="process", reply=True)
def killed_between(context: SyncTaskContext, file: str) -> str:
    one = context.step("note", note, file, "a")
    if len(Path(file).read_text().splitlines()) == 1:
        context.step("die", die, file)
    return one + context.step("note", note, file, "b")


def die(file: str) -> None:
    note(file, "died")
    os._exit(7)
