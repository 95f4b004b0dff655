"""Where stories are played: a server, the scripts of two versions, and clocks and chance that a seed decides."""

from __future__ import annotations

import gc
import logging
import random
import re
import sys
import types
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

import redis

import pyadeq._async.session
import pyadeq.ids
from pyadeq._async.kernel import scripts
from pyadeq.embedded import EmbeddedServer
from pyadeq.ext.prove.chaos.case import Verdict
from pyadeq.ext.prove.chaos.history import History
from tests.simulation.loop import Loop
from tests.simulation.server import EPOCH_MS, Build
from tests.simulation.story import Story
from tests.simulation.world import World

EVENT_ID = re.compile(r"\b\d{13}-\d+\b")
OTHER = "-- as another version of the package has it\n"


@dataclass
class Played:
    """What came of a story. rules: those that were broken. told: all that happened, line by line."""

    problems: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    checks: Counter[str] = field(default_factory=Counter)
    commands: int = 0
    told: list[str] = field(default_factory=list)


class Stage:
    """Plays stories, one after the other. change: what is done to all scripts, as a fault that is to be found."""

    def __init__(self, server: EmbeddedServer, change: Callable[[str], str] = str) -> None:
        self.server = server
        self._client = redis.Redis.from_url(server.url)
        self._client.config_set("appendonly", "no")  # a restart that loses nothing saves first
        self._builds = Build(change), Build(lambda text: change(text) + OTHER)

    def play(self, story: Story, *, tells: bool = False) -> Played:
        """Play a story. tells: also what happened where all went well."""
        scripts._looked_at.clear()  # each story is that of a new process
        world = World(self.server, self._builds, self._client, story)
        with _simulated(world.loop, story.seed):
            try:
                verdict = world.play()
            except Exception as error:
                problem = f"{type(error).__name__}: {error}"
                return Played([problem], [type(error).__name__], told=_told(world.history()))
            finally:
                world.close()
        return _played(verdict, world, tells)

    def close(self) -> None:
        self._client.close()


@contextmanager
def stage(binary: Path, change: Callable[[str], str] = str) -> Iterator[Stage]:
    """A stage with a server of its own."""
    config = {"enable-debug-command": "yes", "save": ""}
    with EmbeddedServer(binary=binary, appendfsync="no", config=config) as server:
        here = Stage(server, change)
        try:
            yield here
        finally:
            here.close()


def _played(verdict: Verdict, world: World, tells: bool) -> Played:
    problems = [*map(str, verdict.violations), *verdict.problems]
    rules = [*(one.rule for one in verdict.violations), *(["problem"] if verdict.problems else [])]
    told = _told(world.history()) if problems or tells else []
    return Played(problems, rules, Counter(verdict.checks), world.server.commands, told)


def _told(history: History) -> list[str]:
    """What clients did and what the server wrote down, in the order of time."""
    ops = [op for op in history.ops if op.client != "last" or op.answer.get("leases") != []]
    lines = [(op.began, f"{op.client} {op.verb} {_short(op.asked)}") for op in ops]
    lines += [(op.ended, f"{op.client} {op.verb}: {op.outcome} {_short(op.answer)}") for op in ops if op.ended]
    more = [entry for records in history.nouns.values() for entry in records.entries]
    for entry in history.entries + history.lock_entries + more:
        words = " ".join(f"{name}={value}" for name, value in entry.words.items())
        lines.append(((entry.ms - EPOCH_MS) / 1000, f"    {entry.event} {' '.join(entry.ids)} {words}"))
    lines += [(mark.at, f"  {mark.kind} {mark.note}") for mark in history.marks]
    numbers: dict[str, int] = {}

    def number(match: re.Match[str]) -> str:
        return f"#{numbers.setdefault(match[0], len(numbers) + 1)}"

    lines.sort(key=lambda line: line[0])
    # The ids of events have the server's own time, which is not that of the story.
    return [f"{at:9.4f} {EVENT_ID.sub(number, text)}" for at, text in lines]


def _short(said: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in said.items() if value)


@contextmanager
def _simulated(loop: Loop, seed: int) -> Iterator[None]:
    """Clocks and chance of the client code are those of the story."""
    chance = Random(f"{seed} ids")
    ids: Any = pyadeq.ids
    session: Any = pyadeq._async.session
    kept, secrets = (ids.os, ids.secrets, ids.time), session.secrets
    clocks = {m: m.monotonic for m in list(sys.modules.values()) if _ours(m) and hasattr(m, "monotonic")}
    state = random.getstate()
    random.seed(seed)
    ids.os = types.SimpleNamespace(urandom=chance.randbytes, getpid=lambda: 1)
    ids.secrets = types.SimpleNamespace(choice=chance.choice)
    session.secrets = types.SimpleNamespace(token_urlsafe=lambda size: chance.randbytes(size).hex()[:43])
    ids.time = types.SimpleNamespace(time_ns=lambda: round(loop.time() * 1e9))
    for module in clocks:
        module.monotonic = loop.time  # type: ignore[attr-defined]
    before, collects = logging.root.manager.disable, gc.isenabled()
    logging.disable(logging.CRITICAL)  # much of what it tells is that there are faults
    gc.disable()  # what it would tidy up at any time is tidied up at the end
    try:
        yield
    finally:
        (ids.os, ids.secrets, ids.time), session.secrets = kept, secrets
        for module, clock in clocks.items():
            module.monotonic = clock  # type: ignore[attr-defined]
        random.setstate(state)
        logging.disable(before)
        if collects:
            gc.enable()


def _ours(module: Any) -> bool:
    name = getattr(module, "__name__", "") or ""
    return name.startswith(("pyadeq._async", "pyadeq._worker"))
