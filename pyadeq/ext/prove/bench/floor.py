"""The floor of a measurement: the same data moved by bare commands. Nothing kept on this server can be cheaper."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from pyadeq.ext.prove.bench.scene import PAYLOAD, Command, Scene

PIPELINE = 100
Steps = tuple[Callable[[], object], Callable[[], object]]
"""Two functions: the first puts everything in, the second takes everything out."""


def stream(scene: Scene, key: str, tasks: int, payload: bytes = PAYLOAD) -> Steps:
    """XADD; XREADGROUP, XACK and XDEL: a queue without inspection that forgets no crash."""
    scene.client.delete(key)
    scene.client.xgroup_create(key, "group", "0", mkstream=True)
    batches = _batches(tasks)
    read: Command = ("XREADGROUP", "GROUP", "group", "consumer", "COUNT", PIPELINE, "STREAMS", key, ">")
    adds: list[list[Command]] = [[("XADD", key, f"1-{n}", "payload", payload) for n in batch] for batch in batches]
    ends: list[list[Command]] = [
        [one for n in batch for one in (("XACK", key, "group", f"1-{n}"), ("XDEL", key, f"1-{n}"))] for batch in batches
    ]
    take = [part for end in ends for part in ([read], end)]
    return scene.sender(adds), scene.sender(take)


def plain(scene: Scene, key: str, tasks: int, payload: bytes = PAYLOAD) -> Steps:
    """SET and LPUSH; RPOP, GET and DEL: a list of ids, and a string for each."""
    batches = _batches(tasks)
    adds: list[list[Command]] = [
        [one for n in batch for one in (("SET", f"{key}:{n}", payload), ("LPUSH", key, n))] for batch in batches
    ]
    take: list[list[Command]] = []
    for batch in batches:
        take.append([("RPOP", key) for _ in batch])
        take.append([one for n in batch for one in (("GET", f"{key}:{n}"), ("DEL", f"{key}:{n}"))])
    return scene.sender(adds), scene.sender(take)


def _batches(tasks: int) -> Sequence[range]:
    return [range(start, min(start + PIPELINE, tasks + 1)) for start in range(1, tasks + 1, PIPELINE)]
