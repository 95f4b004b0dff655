"""Functions that run in child processes of a test: a child finds them here by their names."""

import os
import signal
import threading
from typing import Any

from pydantic import BaseModel

from pyadeq import RateLimited, TaskContext, TaskFailed, Tasks

tasks = Tasks()


class Odd(Exception):
    def __init__(self, one: str, two: int) -> None:
        super().__init__(f"{one} {two}")
        self.two = two


class Pair(BaseModel):
    a: int
    b: int


@tasks.task(executor="process")
def add(pair: Pair) -> Pair:
    return Pair(a=pair.a + pair.b, b=os.getpid())


@tasks.task(executor="process")
def die(code: int) -> None:
    if code < 0:
        os.kill(os.getpid(), -code)
        signal.pause()
    os._exit(code)


@tasks.task(executor="process")
def hang(context: TaskContext) -> None:
    context.report(text=str(os.getpid()))
    threading.Event().wait()


@tasks.task(executor="process")
def about(context: TaskContext) -> list[Any]:
    context.report(0.25, log="one")
    context.report(0.5, log="two", output="/out")
    return [context.id, context.fence, context.attempt, context.queue_name, context.worker, context.cancelled]


@tasks.task(executor="process")
def chatter(context: TaskContext) -> None:
    """It goes on reporting after its end."""

    def talk() -> None:
        while True:
            context.report(0.5, log=context.id)

    threading.Thread(target=talk, daemon=True).start()


def subtract(a: int, b: int) -> int:
    return a - b


subtracting = tasks.task(executor="process")(subtract)


@tasks.task(executor="process")
def misreport(context: TaskContext) -> None:
    context.report("half")  # type: ignore[arg-type]


@tasks.task(executor="process")
def fail(how: str) -> None:
    class Local(Exception):
        pass

    match how:
        case "rate_limited":
            raise RateLimited("slowly", 77)
        case "bad_input":
            Pair.model_validate({"a": "x"})
        case "own":
            raise TaskFailed("no", reason="own_word", retryable=False)
        case "odd":
            raise Odd("one", 2)
        case "local":
            raise Local("x")
        case "exit":
            raise SystemExit(3)
        case "interrupt":
            raise KeyboardInterrupt
        case "memory":
            raise MemoryError
        case "connection":
            raise ConnectionResetError(104, "reset")


@tasks.task(executor="process")
def traced() -> list[str]:
    """The span and the baggage in which it runs."""
    from opentelemetry import baggage, trace

    span = trace.get_current_span().get_span_context()
    return [f"{span.trace_id:032x}", f"{span.span_id:016x}", *map(str, baggage.get_all().values())]
