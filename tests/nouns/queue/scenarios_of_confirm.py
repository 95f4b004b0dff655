"""Paths of confirm."""

from __future__ import annotations

from pyadeq._core.kernel.durability import confirm
from tests.nouns.queue.workbench import Workbench
from tests.nouns.scenario import AnyCall, scenario, sent, tasks


@scenario(0)
def confirm_an_enqueue(bench: Workbench, _: int) -> AnyCall:
    return confirm(sent(bench, bench.calls.enqueue(tasks(1), "r")), bench.now)


@scenario(0, clock="server")
def confirm_without_a_queue(bench: Workbench, _: int) -> AnyCall:
    return confirm(bench.calls.enqueue(tasks(1), "r"), bench.now)
