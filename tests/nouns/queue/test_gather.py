"""Tasks that wait for the ends of their children."""

from __future__ import annotations

from pyadeq.models import Lease
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.test_after import awaits, complete, place, unblocked
from tests.nouns.queue.workbench import BAND, Workbench


def parent(bench: Workbench, gather: int, **task: object) -> str:
    (id,) = bench.fill(1, gather=gather, **task)
    return id


def children(bench: Workbench, id: str, number: int) -> list[Lease]:
    return bench.lease(number, parent=id)


def test_it_starts_when_so_many_children_have_ended(bench: Workbench) -> None:
    id = parent(bench, 3, priority=2)
    assert (bench.state(id), awaits(bench, id)) == ("blocked", 3)
    assert bench.record(id)["gather"] == b"3"
    check_queue(bench)
    first, second, third = children(bench, id, 3)
    assert bench.record(first.id)["gathered"] == b"1"  # its parent's place
    assert b" ties|" in bench.ask("HGET", ":running", first.id)
    check_queue(bench)
    complete(bench, second)
    assert (bench.state(id), awaits(bench, id)) == ("blocked", 2)
    assert "gathered" not in bench.record(second.id)
    check_queue(bench)
    complete(bench, first, third)
    assert (bench.ready(), place(bench, id)) == ([id], 2 * BAND + 1)
    assert unblocked(bench) == [id.encode()]
    assert bench.ask("EXISTS", ":blocked", ":ends") == 0
    check_queue(bench)
