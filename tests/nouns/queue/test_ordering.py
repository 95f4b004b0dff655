"""Ordering keys: tasks of one run one at a time, in their order."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models import Task
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench
from tests.nouns.watched import Refused

KEY: dict[str, Any] = {"ordering_key": "k"}


def enqueue(bench: Workbench, *ids: str, rid: str = "r", **task: Any) -> list[str]:
    items = [(id, Task(payload=b"x", **{**KEY, **task})) for id in ids]
    return [one.status for one in bench.run(bench.calls.enqueue(items, rid))]


@pytest.mark.parametrize("more", [{"after": ["a"]}, {"gather": 2}])
def test_it_does_not_go_with_what_else_a_task_may_wait_for(bench: Workbench, more: dict[str, Any]) -> None:
    enqueue(bench, "a")
    call = bench.calls.enqueue([("b", Task(payload=b"x")), ("c", Task(payload=b"x", **KEY, **more))], "2")
    with pytest.raises(Refused, match=r"item\[2\]\.ordering_key must be given without after and gather"):
        bench.run(call)
    check_queue(bench)
