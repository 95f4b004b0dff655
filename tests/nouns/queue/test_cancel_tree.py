"""Tasks that are cancelled with all that came of them."""

from __future__ import annotations

import pytest

from pyadeq.models import CancelStatus
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import Workbench


def cancel(bench: Workbench, *ids: str, rid: str | None = None) -> list[CancelStatus]:
    return bench.run(bench.calls.cancel(ids, rid, tree=True))


def states(bench: Workbench, *ids: str) -> list[str | None]:
    return [bench.state(id) for id in ids]


@pytest.mark.parametrize("delay", [0, 60])
def test_what_the_same_call_has_freed_ends_with_the_others(bench: Workbench, delay: int) -> None:
    """Whoever waits for the end of another one of the tree is free when that is cancelled."""
    (root,) = bench.fill(1)
    first, second = bench.fill(2, parent=root)
    (below,) = bench.fill(1, parent=second, after=[first], after_when="ended", delay=delay)
    cancel(bench, root)
    assert states(bench, root, first, second, below) == ["cancelled"] * 4
    assert bench.ask("EXISTS", ":ready:any", ":delayed", ":lanes") == 0
    told = [event["event"] for event in bench.events() if event["id"] == below.encode()]
    assert told == [b"task.enqueued", b"task.unblocked", b"task.cancelled"]
    check_queue(bench)


def test_one_that_waits_for_its_own_parent_ends_with_it(bench: Workbench) -> None:
    (root,) = bench.fill(1)
    (below,) = bench.fill(1, parent=root, after=[root], after_when="failed")
    cancel(bench, root)
    assert bench.state(below) == "cancelled"
    check_queue(bench)
