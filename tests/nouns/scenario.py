"""What a scenario is, and what the modules of scenarios share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.manifest import library
from pyadeq._core.queue.items import Failure
from pyadeq.models import Lease, Task
from tests.nouns.queue.workbench import Workbench
from tests.nouns.script_bench import START, Bench

AnyCall = Call[Any]
Prepare = Callable[[Any, int], AnyCall]  # of a bench


@dataclass(frozen=True)
class Scenario:
    name: str
    prepare: Prepare
    items: int
    clock: str = "test"
    noun: str = "queue"
    verb: str = ""

    def __call__(self, bench: Bench) -> AnyCall:
        call = self.prepare(bench, self.items)
        assert call.script.id == self.script_id, f"{self.name}: it calls {call.script.id}"
        return call

    @property
    def script_id(self) -> str:
        return f"{self.noun}.{self.verb}.v1"


# For fill and lease: all that makes a task more than the usual, and has it indexed.
TIES: dict[str, Any] = {
    **{name: lambda id, name=name: f"{name}-{id}" for name in ("unique", "scope", "idempotency_key")},
    "expires_at": START / 1000 + 3600,
    "fallback": ["group/other", "group/another", "fail"],
    "fallback_after": 600,
    "timeout": 3600,
    "result_ttl": 60,
    "reply": True,
    "user": "u",
    "tags": ["s", "t"],
    "parent": "p",
}

SCENARIOS: list[Scenario] = []
_names: set[str] = set()


def scenario(*sizes: int, clock: str = "test", noun: str = "") -> Callable[[Prepare], Prepare]:
    """The function's name is the verb and then the path; one scenario a size. noun: by the folder."""

    def add(prepare: Prepare) -> Prepare:
        _add(prepare.__name__, prepare, sizes, clock, noun or noun_of(prepare))
        return prepare

    return add


def scenarios(sizes: Sequence[int] = (), /, noun: str = "queue", **paths: Callable[..., AnyCall]) -> None:
    """The same for paths of one expression, by their names. Without sizes, they take only the bench."""
    for name, path in paths.items():
        _add(name, path if sizes else partial(_unsized, path), sizes or (0,), "test", noun)


def _unsized(path: Callable[[Any], AnyCall], bench: Any, _: int) -> AnyCall:
    return path(bench)


def _add(name: str, prepare: Prepare, sizes: Sequence[int], clock: str, noun: str) -> None:
    verb = verb_of(noun, name)
    path = name[len(verb) + 1 :].replace("_", " ")
    script = verb if noun == "queue" else f"{noun} {verb}"
    for size in sizes:
        full = f"{script}: {path}" + (f", n={size}" if sizes != (0,) else "")
        assert full not in _names, f"two scenarios have the name {full!r}"
        _names.add(full)
        SCENARIOS.append(Scenario(full, prepare, size, clock, noun, verb))


def noun_of(prepare: Prepare) -> str:
    """The noun that a function in `tests/nouns/<noun>/` is about."""
    return prepare.__module__.split(".")[-2]


def verb_of(noun: str, name: str) -> str:
    """The longest verb that a name begins with: verbs have several words, too."""
    verbs = [script_id.split(".")[1] for script_id in library() if script_id.startswith(f"{noun}.")]
    return max((verb for verb in verbs if name.startswith(f"{verb}_")), key=len)


def load(*patterns: str) -> None:
    """Import the modules in this folder that fit, which adds what they define."""
    here = Path(__file__).parent
    for path in [path for pattern in patterns for path in sorted(here.glob(pattern))]:
        import_module(".".join(["tests.nouns", *path.relative_to(here).with_suffix("").parts]))


def sent(bench: Bench, call: AnyCall) -> AnyCall:
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
