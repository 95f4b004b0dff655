"""Many stories, in several processes."""

from __future__ import annotations

import atexit
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from multiprocessing import get_context
from typing import NamedTuple

from tests.conftest import server_binary
from tests.simulation.stage import Stage, stage
from tests.simulation.story import story_of

BATCH = 50  # seeds
stages: list[Stage] = []  # that of this process


class Batch(NamedTuple):
    """What came of some seeds."""

    seeds: int
    faults: Counter[str]
    checks: Counter[str]
    commands: int
    failed: list[int]


def play_all(seeds: range, processes: int) -> Iterator[Batch]:
    """Play seeds in so many processes, each with a server of its own; batch by batch, in order."""
    batches = [seeds[start : start + BATCH] for start in range(0, len(seeds), BATCH)]
    with ProcessPoolExecutor(processes, mp_context=get_context("spawn"), initializer=_set_up) as pool:
        try:
            yield from pool.map(_play, batches)
        finally:
            pool.shutdown(cancel_futures=True)


def _set_up() -> None:
    stack = ExitStack()
    stages.append(stack.enter_context(stage(server_binary())))
    atexit.register(stack.close)


def _play(seeds: range) -> Batch:
    faults, checks, commands, failed = Counter[str](), Counter[str](), 0, []
    for seed in seeds:
        story = story_of(seed)
        played = stages[0].play(story)
        faults.update(fault.kind for fault in story.faults)
        checks.update(played.checks)
        commands += played.commands
        if played.problems:
            failed.append(seed)
    return Batch(len(seeds), faults, checks, commands, failed)
