"""The subjects, and a run of some of them."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from pyadeq import __version__
from pyadeq.ext.prove.bench.changes import changes
from pyadeq.ext.prove.bench.cost import cost
from pyadeq.ext.prove.bench.drain import drain
from pyadeq.ext.prove.bench.figures import Figure, Report, machine
from pyadeq.ext.prove.bench.growth import growth
from pyadeq.ext.prove.bench.idle import idle, recovery
from pyadeq.ext.prove.bench.latency import latency
from pyadeq.ext.prove.bench.memory import memory
from pyadeq.ext.prove.bench.paths import paths
from pyadeq.ext.prove.bench.scene import Plan, Scene, Tell, untold

SUBJECTS: Mapping[str, Callable[[Scene], Iterator[Figure]]] = {
    one.__name__: one for one in (cost, paths, drain, latency, growth, memory, changes, idle, recovery)
}


def run(
    subjects: Sequence[str],
    *,
    url: str | None = None,
    persistent: bool = True,
    engine: Path | None = None,
    tasks: int = 20_000,
    rounds: int = 5,
    most: int = 1_000_000,
    tell: Tell = untold,
) -> Report:
    """Measure, on a server at a URL, or on ones of our own: a new one for each subject, and wherever it grew large.

    engine: the binary of our own. most: how long a backlog `growth` may make. tell: hears what is measured now.
    """
    load = os.getloadavg()[0]
    plan = Plan(tasks=tasks, rounds=rounds, most=most, persistent=persistent, engine=engine)
    figures: list[Figure] = []
    left_out: list[str] = []
    found = ""
    for name in subjects:
        with Scene.at(url, plan, partial(_tell, tell, name)) as scene:
            found = scene.engine
            figures += SUBJECTS[name](scene)
            left_out += [f"{name}: {words}" for words in scene.left_out]
    own = "append-only file, flushed every second" if persistent else "none"
    return Report(
        pyadeq=__version__,
        engine=found,
        persistence=own if url is None else "as the server has it",
        machine=machine(),
        python=platform.python_version(),
        load_before=round(load, 2),
        rounds=rounds,
        tasks=tasks,
        figures=tuple(figures),
        left_out=tuple(left_out),
    )


def _tell(tell: Tell, subject: str, words: str) -> None:
    tell(f"{subject}: {words}")
