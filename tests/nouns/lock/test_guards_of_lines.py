"""Places in several lines at once."""

from __future__ import annotations

import pytest

from tests.nouns.lock.workbench import LockBench


def test_the_line_of_a_lock_that_is_held_already_does_not_count(lock_bench: LockBench) -> None:
    lock_bench.hold("mine", "o")
    lock_bench.hold("other", "holder")
    for at in range(3):
        lock_bench.wait("mine", f"w{at}")
    state = lock_bench.run(lock_bench.acquire_many("q", "o", ["mine", "other"], wait=60))
    assert (state.status, state.place) == ("queued", 1)


def test_who_has_to_jump_passes_nobody_without_need(lock_bench: LockBench) -> None:
    """`both` waits for o, so o must stand ahead of it in c; x was there before and waits for nobody but the holder."""
    lock_bench.hold("k", "o")
    for resource in ("c", "d"):
        lock_bench.hold(resource, f"holder-of-{resource}")
    lock_bench.wait("d", "y", rid="y")
    lock_bench.pass_time(1)
    lock_bench.wait("c", "x", rid="x")
    lock_bench.pass_time(1)
    assert lock_bench.real(lock_bench.acquire_many("both", "p", ["c", "k"], wait=60)).status == "queued"
    lock_bench.pass_time(1)
    assert lock_bench.run(lock_bench.acquire_many("q", "o", ["c", "d"], wait=60)).status == "queued"
    assert lock_bench.line("c") == ["x", "q", "both"]
    assert lock_bench.line("d") == ["y", "q"]


@pytest.mark.parametrize("of_type", [None, "file"])
def test_who_waits_for_more_than_it_holds_is_listed_by_what_it_waits_for(
    lock_bench: LockBench, of_type: str | None
) -> None:
    lock_bench.hold("file:a", "o")
    lock_bench.hold("file:b", "holder")
    assert lock_bench.real(lock_bench.acquire_many("q", "o", ["file:a", "file:b"], wait=60)).status == "queued"
    page = lock_bench.run(lock_bench.calls.list(type=of_type, state="waiting"))
    assert [one.rid for one in page.requests] == ["q"]


def test_a_request_for_several_types_is_listed_with_each_of_them_and_once_with_all(lock_bench: LockBench) -> None:
    lock_bench.real(lock_bench.acquire_many("q", "o", ["dir:x", "file:y"]))
    for of_type in ("dir", "file", None):
        assert [one.rid for one in lock_bench.run(lock_bench.calls.list(type=of_type)).requests] == ["q"]
