from __future__ import annotations

import pytest

from pyadeq.models import Task
from tests.nouns.queue.workbench import Workbench


def enqueue(bench: Workbench, *ids: str, rid: str = "r", **task: object) -> list[str]:
    task.setdefault("payload", b"x")
    call = bench.calls.enqueue([(id, Task(**task)) for id in ids], rid)  # type: ignore[arg-type]
    return [receipt.status for receipt in bench.run(call)]


@pytest.mark.parametrize(("size", "stored"), [(0, None), (1024, None), (1025, b"1025"), (2**20, b"1048576")])
def test_the_record_knows_the_size_of_a_large_payload(bench: Workbench, size: int, stored: bytes | None) -> None:
    enqueue(bench, "a", payload=b"x" * size)
    assert bench.record("a").get("size") == stored
    assert bench.ask("STRLEN", ":payload:a") == size


def test_of_two_equal_ids_in_a_call_the_second_exists(bench: Workbench) -> None:
    assert enqueue(bench, "a", "a") == ["created", "exists"]
    assert enqueue(bench, "a", "a") == ["created", "exists"]
    assert bench.ready() == ["a"]
