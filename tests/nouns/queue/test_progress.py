"""How far running tasks have come, and what they log."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq._core.queue.items import Failure, Held
from pyadeq.models.worker import ProgressStatus
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench


def progress(bench: Workbench, *notes: tuple[Held, dict[str, Any]], rid: str = "r") -> list[ProgressStatus]:
    return bench.run(bench.calls.progress(notes, rid))


def lines(bench: Workbench, id: str) -> list[tuple[int, str]]:
    return [(round(line.at * 1000) - START, line.text) for line in bench.run(bench.calls.log(id))]


def test_a_note_is_in_the_record_and_in_the_log(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(5)
    note = {"ppm": 250_000, "text": b"a quarter", "line": b"began", "output": b"/out/1"}
    assert progress(bench, (lease, note)) == ["noted"]
    view = bench.view(lease.id)
    assert view
    assert (view.progress, view.progress_text, view.output) == (0.25, "a quarter", "/out/1")
    assert lines(bench, lease.id) == [(5, "began")]
    assert [(event["id"], event["payload"]) for event in bench.events("task.progress")] == [
        (lease.id.encode(), b"ppm=250000")
    ]
    check_queue(bench)


def test_what_is_not_given_stays_as_it_was(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    progress(bench, (lease, {"ppm": 1, "text": b"one", "output": b"/out"}), rid="1")
    more: list[dict[str, Any]] = [{"ppm": 0}, {"text": b""}, {"line": b""}, {}]
    for at, note in enumerate(more):
        assert progress(bench, (lease, note), rid=f"more{at}") == ["noted"]
    record = bench.record(lease.id)
    assert [record[name] for name in ("progress_ppm", "progress_text", "output")] == [b"0", b"", b"/out"]
    assert lines(bench, lease.id) == [(0, "")]


@pytest.mark.parametrize("notes", [1, 2, 100])
def test_the_same_call_again_adds_no_line(bench: Workbench, notes: int) -> None:
    one, two = bench.lease(2)
    call = bench.calls.progress([(lease, {"line": b"%d" % at}) for at in range(notes) for lease in (one, two)], "r")
    assert bench.run(call) == ["noted"] * 2 * notes
    before = bench.dump()
    bench.pass_time(10)
    assert bench.run(call) == ["noted"] * 2 * notes
    assert bench.dump() == before
    expected = [(0, str(at)) for at in range(notes)]
    assert lines(bench, one.id) == lines(bench, two.id) == expected


def test_the_last_hundred_lines_are_kept_the_oldest_first(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    for part in range(3):
        progress(bench, *[(lease, {"line": b"%d" % (60 * part + at)}) for at in range(60)], rid=f"r{part}")
    assert [text for _, text in lines(bench, lease.id)] == [str(at) for at in range(80, 180)]
    assert bench.ask("LLEN", f":log:{lease.id}") == 100


def test_a_line_of_the_log_is_no_event(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    progress(bench, (lease, {"line": b"x"}), (lease, {"output": b"/out"}), (lease, {"text": b"x", "line": b"y"}))
    assert [event.get("payload") for event in bench.events("task.progress")] == [None]


def test_a_line_of_any_bytes(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    progress(bench, (lease, {"line": b"\x00\n 1 \xff"}))
    assert bench.send(bench.calls.log(lease.id))[2] == [[b"line", START, b"\x00\n 1 \xff"]]


def test_who_has_the_task_no_more_notes_nothing(bench: Workbench) -> None:
    one, two, three = bench.lease(3)
    bench.run(bench.calls.ack([(two, None)]))
    bench.run(bench.calls.release([three]))
    before = bench.dump()
    for lost in ((one.id, "other"), ("unknown", "x"), two, three):
        assert progress(bench, (lost, {"line": b"x", "ppm": 1})) == ["lease_lost"]
    assert bench.dump() == before


@pytest.mark.parametrize(("ms", "answer"), [(14_999, "noted"), (15_000, "lease_lost")])
def test_from_its_deadline_on_a_lease_is_lost(bench: Workbench, ms: int, answer: str) -> None:
    (lease,) = bench.lease(1)
    bench.pass_time(ms)
    assert progress(bench, (lease, {"ppm": 1})) == [answer]
    assert ("progress_ppm" in bench.record(lease.id)) == (answer == "noted")


def test_who_is_to_stop_hears_it_and_notes_all_the_same(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.run(bench.calls.cancel([lease.id]))
    assert progress(bench, (lease, {"ppm": 9})) == ["cancelling"]
    assert bench.record(lease.id)["progress_ppm"] == b"9"


def test_a_task_whose_record_was_evicted_leaves_no_log(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.ask("DEL", f":task:{lease.id}")
    assert progress(bench, (lease, {"line": b"x", "ppm": 1})) == ["lease_lost"]
    assert bench.ask("EXISTS", f":task:{lease.id}", f":log:{lease.id}") == 0


def test_the_log_goes_on_in_the_next_run_and_goes_with_the_task(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    progress(bench, (lease, {"line": b"one", "ppm": 7}))
    bench.run(bench.calls.fail([Failure(lease, delay=0)], [0]))
    (again,) = bench.claim(1)
    progress(bench, (again, {"line": b"two"}), rid="r2")
    bench.run(bench.calls.fail([Failure(again, retryable=False)], [0]))
    assert [text for _, text in lines(bench, lease.id)] == ["one", "two"]
    bench.run(bench.calls.abandon([lease.id]))
    assert bench.ask("EXISTS", f":log:{lease.id}") == 0
    assert lines(bench, lease.id) == []


def test_a_new_start_begins_at_nothing(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    progress(bench, (lease, {"ppm": 7, "text": b"t"}))
    bench.run(bench.calls.fail([Failure(lease, retryable=False, exit_code=1)], [0]))
    bench.run(bench.calls.retry([lease.id]))
    assert {"progress_ppm", "progress_text", "exit_code"} & bench.record(lease.id).keys() == set()


def test_trace_and_source_are_in_its_events(bench: Workbench) -> None:
    (lease,) = bench.lease(1)
    bench.raw_run("queue.progress.v1", "r", "00-trace", "me", bench.now, 1, lease.id, lease.token, 1, "ppm", 5)
    (event,) = bench.events("task.progress")
    assert (event["trace"], event["source"]) == (b"00-trace", b"me")
