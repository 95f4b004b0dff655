"""What a scenario is, and what the modules of scenarios share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pyadeq._core.call import Call
from pyadeq._core.queue_items import Failure
from pyadeq.models import Lease, Task
from tests.lua.workbench import START, Workbench

AnyCall = Call[Any]
Prepare = Callable[[Workbench, int], AnyCall]


@dataclass(frozen=True)
class Scenario:
    name: str
    prepare: Prepare
    items: int
    clock: str = "test"

    def __call__(self, bench: Workbench) -> AnyCall:
        return self.prepare(bench, self.items)


# For fill and lease: all that makes a task more than the usual, and has it indexed.
TIES: dict[str, Any] = {
    **{name: lambda id, name=name: f"{name}-{id}" for name in ("unique", "scope", "idempotency_key")},
    "expires_at": START / 1000 + 3600,
    "fallback": "group/other",
    "fallback_after": 600,
    "timeout": 3600,
    "result_ttl": 60,
    "user": "u",
    "tags": ["s", "t"],
    "parent": "p",
}

SCENARIOS: list[Scenario] = []


def scenario(*sizes: int, clock: str = "test") -> Callable[[Prepare], Prepare]:
    """The function's name without its first word, which is the verb, is the path; one scenario a size."""

    def add(prepare: Prepare) -> Prepare:
        verb, _, path = prepare.__name__.partition("_")
        for size in sizes:
            name = f"{verb}: {path.replace('_', ' ')}" + (f", n={size}" if sizes != (0,) else "")
            SCENARIOS.append(Scenario(name, prepare, size, clock))
        return prepare

    return add


def sent(bench: Workbench, call: AnyCall) -> AnyCall:
    """The same call, after it was answered once."""
    bench.real(call)
    return call


def tasks(number: int, **task: Any) -> list[tuple[str, Task]]:
    task.setdefault("payload", b"x")
    return [(f"e{index}", Task(**task)) for index in range(number)]


def acks(leases: list[Lease], result: Any = None) -> list[tuple[Lease, Any]]:
    return [(lease, result) for lease in leases]


def fails(leases: list[Lease], **fields: Any) -> dict[str, Any]:
    return {"fails": [Failure(lease, **fields) for lease in leases], "jitters": [500_000] * len(leases)}


def claim(bench: Workbench, limit: int, *lanes: str, n: int = 10**6) -> AnyCall:
    bench.worker()
    return bench.calls.claim("w", "i", 0, n, limit=limit, lanes=lanes or ("any",))


def settle(bench: Workbench, **fields: Any) -> AnyCall:
    bench.worker()
    return bench.calls.settle("w", "i", 0, 10**6, **fields)
