"""The faults of a storm by their names: how each is brought about, and for how long."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from random import Random

from pyadeq.ext.prove.chaos.run import Run
from tests.chaos.arena import Arena

Strike = Callable[[Arena, Run, Random], AbstractContextManager[None]]
LINUX = sys.platform == "linux"  # what the disk has is seen in /proc
ALL_DURABILITIES = ("memory", "aof", "replica")


@dataclass(frozen=True)
class Fault:
    """strike: lasts for as long as its with block. seconds: how long that is, at least and at most.

    of_server: of these, one at a time. durability: of the clients, in turn. clocks: by how much theirs are wrong.
    alone: only by itself, for what it takes is too much for the others. loses: the server may lose what was not
    confirmed.
    """

    name: str
    strike: Strike
    seconds: tuple[float, float] = (0.3, 1.2)
    of_server: bool = True
    durability: tuple[str, ...] = ALL_DURABILITIES
    clocks: tuple[float, ...] = (0.0,)
    alone: bool = False
    loses: bool = False


def server(name: str, seconds: tuple[float, float] = (0.3, 1.2), **options: object) -> Fault:
    """A fault that is a method of Arena."""
    return Fault(name, lambda arena, run, random: getattr(arena, name)(), seconds, **options)  # type: ignore[arg-type]


def network(name: str, odds: float) -> Fault:
    return Fault(name, lambda arena, run, random: arena.network(name, odds)(), (1.0, 2.0), of_server=False)


@contextmanager
def harm(run: Run, random: Random, freeze: bool) -> Iterator[None]:
    run.harm(random, freeze=freeze)
    yield


@contextmanager
def nothing() -> Iterator[None]:
    yield


EVERYSEC = server("power_cut_everysec", (0.8, 1.6), durability=("memory", "replica"), alone=True, loses=True)
FAULTS = {
    fault.name: fault
    for fault in (
        Fault("kill_client", lambda arena, run, random: harm(run, random, False), (0.2, 0.8), of_server=False),
        Fault("freeze_client", lambda arena, run, random: harm(run, random, True), (0.2, 0.8), of_server=False),
        Fault(
            "clock_off",
            lambda arena, run, random: nothing(),
            of_server=False,
            clocks=(0.0, 3600.0, -3600.0),
        ),
        network("cut_before", 0.1),
        network("lose_reply", 0.1),
        network("cut_reply", 0.1),
        network("delay", 0.3),
        network("duplicate", 0.3),
        server("crash", loses=True),
        *([server("power_cut", (0.8, 1.6), loses=True)] if LINUX else []),
        # Where the disk is behind, `aof` is nothing that today's servers can promise.
        server("crash_everysec", durability=("memory", "replica"), alone=True, loses=True),
        *([EVERYSEC] if LINUX else []),
        server("failover", loses=True),
        server("script_flush"),
        server("script_busy"),
        server("out_of_memory"),
        server("readonly"),
        server("misconf"),
        server("client_kill"),
        server("client_pause"),
        server("server_freeze", (0.5, 2.5)),
    )
}
