"""The steps of a task as calls carry them, and as a claim brings them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

from pyadeq._core.kernel.call import Answer
from pyadeq._core.queue.items import Failure, Held, held
from pyadeq.errors import LayoutError
from pyadeq.models.steps import SUFFIX, StepKind, Suspended, TaskStep

PAIR = "step:"
"""The beginning of the names of the pairs with which a claim brings steps."""


@dataclass(frozen=True)
class StepValue:
    """A step to store. value: as bytes of JSON, or any."""

    lease: Held
    name: str
    number: int
    kind: Literal["step", "patch"]
    value: bytes


@dataclass(frozen=True)
class Wait:
    """A wait for which a run is suspended: `delay` in seconds, or `due`, a point in time on the server's clock.

    kind `diverged`: the code does not fit the stored step of this name.
    """

    name: str
    number: int = 1
    kind: Literal["sleep", "diverged"] = "sleep"
    delay: float = 0.0
    due: float | None = None

    def item(self, lease: Held) -> tuple[Any, ...]:
        """Return it as the script takes it."""
        delay_ms, due_ms = None, None
        if self.due is None:
            delay_ms = round(self.delay * 1000)
        else:
            due_ms = max(1, round(self.due * 1000))
        return *held(lease), self.name, self.number, self.kind, delay_ms, due_ms


STEPS_LAYOUT = 2
"""The layout from which queues take steps."""
MOST_WAITS = 300
"""Waits of one call: each ends a lease, which may hold many limits."""


def by_lease(waits: Sequence[tuple[Held, Wait]]) -> Iterator[Sequence[tuple[Held, Wait]]]:
    """Split waits into calls. Those of one lease, which follow each other, are in one call."""
    start = begin = 0  # of the call, and of the lease
    for at in range(1, len(waits) + 1):
        if at == len(waits) or held(waits[at][0]) != held(waits[at - 1][0]):
            if at - start > MOST_WAITS and begin > start:
                yield waits[start:begin]
                start = begin
            begin = at
    if waits:
        yield waits[start:]


def refuse_layout(base: str, layout: int) -> None:
    """Raise LayoutError if a queue of this layout may not have steps: then no function of a step runs."""
    if layout < STEPS_LAYOUT:
        raise LayoutError(
            "ADEQ_LAYOUT",
            "queue.step.v1",
            f"{base} has layout {layout}, and steps need {STEPS_LAYOUT}: when all clients are of this release, run "
            "`adeq scripts migrate`",
        )


def refused_wait(lease: Held, answers: Sequence[Suspended]) -> Failure | None:
    """Return how an attempt fails one of whose waits was refused; None if none was."""
    refused = next((one.status for one in answers if one.status in ("full", "diverged")), None)
    if refused is None:
        return None
    reason = "steps_full" if refused == "full" else refused
    return Failure(lease, f"a wait of the task is refused: {refused}", reason, retryable=refused != "full")


def read_steps(answer: Answer) -> list[TaskStep]:
    """The steps in the answer of `steps`."""
    return [
        step_of(one["name"], one["number"], one["kind"], one["at_ms"], one["fence"], one["value"])
        for one in answer["steps"]
    ]


def brought_steps(record: Mapping[str, bytes]) -> Sequence[TaskStep] | None:
    """The steps that a claim has brought with a task; None if they are too large for that, and must be read."""
    if "durable" not in record:
        return ()
    found: list[tuple[int, TaskStep]] = []
    for pair, entry in record.items():
        if pair.startswith(PAIR):
            about, _, value = entry.partition(b"\n")
            place, kind, at_ms, fence = about.decode().split(" ")
            name, _, number = pair.removeprefix(PAIR).partition(SUFFIX)
            found.append(
                (int(place), step_of(name, int(number or 1), cast(StepKind, kind), int(at_ms), int(fence), value))
            )
    if len(found) != int(record["durable"].split(b" ")[0]):
        return None
    return [step for _, step in sorted(found, key=lambda one: one[0])]


def step_of(name: str, number: int, kind: StepKind, at_ms: int, fence: int, value: bytes) -> TaskStep:
    """A step of these parts, as they are stored."""
    return TaskStep.model_construct(
        name=name,
        number=number,
        kind=kind,
        at=at_ms / 1000,
        fence=fence,
        due=int(value) / 1000 if kind == "sleep" else None,
        data=value if kind == "step" else None,
        unreadable={},
    )
