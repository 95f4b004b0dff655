"""What must hold of all that a queue stores, between any two calls: nothing is lost, nothing is left behind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any

BASE = re.compile(r"[^{]*\{(?:queue:[^}]+\}|[^}]+\}:queue:[^:]+)")
KINDS = re.compile(
    r"config|counters|events|lanes|delayed|blocked|leases|running|finished|dead|deadlines|once|once:due|workers"
    r"|(?:task|payload|result|ready|wake|worker|by:user|by:tag|children):(?P<suffix>.+)"
)
SETS = ("delayed", "blocked", "leases", "finished", "dead")


def audit_server(client: Any, damaged: Iterable[str] = ()) -> list[str]:
    """What is wrong with any queue of a server, but for those that a test has damaged."""
    bases: set[str] = set()
    found: list[str] = []
    for key in client.scan_iter(count=1000):
        name = key.decode()
        if match := BASE.match(name):
            bases.add(match[0])
        else:
            found.append(f"{name}: no key of a queue")
    return found + [problem for base in sorted(bases - set(damaged)) for problem in audit(client, base)]


def audit(client: Any, base: str) -> list[str]:
    """What is wrong with a queue."""
    return [f"{base}: {problem}" for problem in Audit(client, base).problems()]


class Audit:
    """All that is stored of a queue, read at once; nobody must be using it meanwhile."""

    def __init__(self, client: Any, base: str) -> None:
        self.client, self.base = client, base
        pattern = re.sub(r"([\[\]*?\\])", r"\\\1", base) + ":*"
        self.names = sorted(key.decode().removeprefix(f"{base}:") for key in client.scan_iter(pattern, count=1000))
        self.records = {id: self._hash(f"task:{id}") for id in self._suffixes("task")}
        self.tasks = {id: record for id, record in self.records.items() if "created_ms" in record}
        self.places: defaultdict[str, list[str]] = defaultdict(list)
        for name in self.names:
            if name in SETS or name.startswith("ready:"):
                for id in self._zset(name):
                    self.places[id].append(name)

    def problems(self) -> Iterator[str]:
        yield from (f"{name}: unknown" for name in self.names if not KINDS.fullmatch(name))
        yield from self._membership()
        yield from self._leases()
        yield from self._left_behind()
        yield from self._indexes()
        yield from self._once()
        yield from self._hints()

    def _membership(self) -> Iterator[str]:
        for id in sorted(self.tasks.keys() | self.places.keys()):
            if id not in self.tasks:
                yield f"{id} is in {self.places[id]}, but there is no such task"
            elif len(self.places[id]) != 1:
                yield f"task {id} is in {self.places[id]}"
            elif self.places[id][0] not in (*SETS, f"ready:{self.tasks[id].get('lane', 'any')}"):
                yield f"task {id} of lane {self.tasks[id].get('lane', 'any')} is in {self.places[id]}"
        lanes = {name.decode() for name in self._command("SMEMBERS", "lanes")}
        if lanes != set(self._suffixes("ready")):
            yield f"lanes has {sorted(lanes)}, tasks are in {self._suffixes('ready')}"

    def _leases(self) -> Iterator[str]:
        running, leases = self._hash("running").keys(), self._zset("leases").keys()
        if running != leases:
            yield f"running has {sorted(running)}, leases {sorted(leases)}"
        for id, due in self._zset("deadlines").items():
            if not any(place.startswith(("ready:", "delayed", "blocked")) for place in self.places[id]):
                yield f"deadlines has {id} at {due}, which is in {self.places[id]}"

    def _left_behind(self) -> Iterator[str]:
        for id in self.records.keys() - self.tasks.keys():
            if self._ttl(f"task:{id}") <= 0:
                yield f"task {id} is a stub that never goes: {self.records[id]}"
        for kind in ("payload", "result"):
            for id in set(self._suffixes(kind)) - self.tasks.keys():
                yield f"{kind}:{id} has no task"
        known = self._zset("workers").keys()
        for name in self._suffixes("worker"):
            if name not in known and self._ttl(f"worker:{name}") <= 0:
                yield f"worker:{name} is not in workers, and never goes"

    def _indexes(self) -> Iterator[str]:
        wanted: defaultdict[str, set[str]] = defaultdict(set)
        for id, record in self.tasks.items():
            tags = [f"by:tag:{tag}" for tag in record.get("tags", "").split(",") if tag]
            owners = [f"by:user:{record[n]}" for n in ["user"] if n in record]
            parents = [f"children:{record[n]}" for n in ["parent"] if n in record]
            for index in tags + owners + parents:
                wanted[index].add(id)
        there = {name for name in self.names if name.startswith(("by:", "children:"))}
        for index in sorted(there | wanted.keys()):
            if (ids := self._zset(index).keys()) != wanted[index]:
                yield f"{index} has {sorted(ids)}, the tasks are {sorted(wanted[index])}"

    def _once(self) -> Iterator[str]:
        once, due = self._hash("once"), self._zset("once:due").keys()
        timed = {field for field in once if field.startswith(("key:", "rid:", "done:"))}
        if timed != due:
            yield f"once has {sorted(timed)}, once:due {sorted(due)}"
        waiting = {"ready", "delayed", "blocked"}
        for kind, states in (("unique", waiting | {"leases"}), ("scope", waiting)):
            for field in (field for field in once if field.startswith(f"{kind}:")):
                id = once[field]
                place = "".join(self.places[id]).partition(":")[0]
                if self.tasks.get(id, {}).get(kind) != field.partition(":")[2] or place not in states:
                    yield f"once has {field} for {id}, which is in {self.places[id]}: {self.tasks.get(id)}"

    def _hints(self) -> Iterator[str]:
        for lane in self._suffixes("wake"):
            if self._command("LLEN", f"wake:{lane}") > 1:
                yield f"wake:{lane} has more than one token"
            if f"ready:{lane}" not in self.names and self._ttl(f"wake:{lane}") == -1 and "delayed" not in self.names:
                yield f"wake:{lane} is a token for nothing that never goes"

    def _suffixes(self, kind: str) -> list[str]:
        return [name.removeprefix(f"{kind}:") for name in self.names if name.startswith(f"{kind}:")]

    def _command(self, command: str, name: str, *arguments: Any) -> Any:
        return self.client.execute_command(command, f"{self.base}:{name}", *arguments)

    def _hash(self, name: str) -> dict[str, str]:
        found: dict[bytes, bytes] = self.client.hgetall(f"{self.base}:{name}")
        return {field.decode(): value.decode(errors="replace") for field, value in found.items()}

    def _zset(self, name: str) -> dict[str, float]:
        found: Any = self.client.zrange(f"{self.base}:{name}", 0, -1, withscores=True)
        return {member.decode(): score for member, score in found}

    def _ttl(self, name: str) -> int:
        return int(self._command("PTTL", name))
