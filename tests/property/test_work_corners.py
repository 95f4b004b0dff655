"""Corners of what goes on between those who give work, those who do it and those who look after them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.property.driver import Driver
from tests.property.records import Answer, Spec
from tests.property.test_corners import claim, end, enqueue, numbers, wait

CHAIN = ("group/g", "group/h", "fail")


def expire(queue: Driver) -> int:
    moved: int = queue.do("expire", 100)
    queue.check()
    return moved


def look(queue: Driver, *ids: str) -> None:
    queue.check()
    if ids:
        queue.compare_outcomes(ids)
        queue.compare_views(ids)
    queue.compare_workers()


def test_a_chain_is_followed_to_its_end(queue: Driver) -> None:
    enqueue(queue, Spec("a", lane="group/f", fallback=CHAIN, fallback_after=1000, reply=True), Spec("b", reply=True))
    for _ in range(2):
        wait(queue, 999)
        assert expire(queue) == 0
        wait(queue, 1)
        assert expire(queue) == 1
        look(queue, "a")
    (lease,) = queue.do("claim", "w", "i1", 0, next(numbers), limit=1, lanes=["group/h"])[4]
    queue.do("release", [lease[:2]])
    queue.do("pause", f"rid-{next(numbers)}")
    wait(queue, 1000)
    assert expire(queue) == 1  # nobody can come, so it waits anew, and not from now, or it would be due at once
    queue.do("resume", f"rid-{next(numbers)}")
    wait(queue, 1999)
    assert expire(queue) == 0
    wait(queue, 1)
    assert expire(queue) == 1
    assert queue.model.tasks["a"].reason == "nobody_came"
    look(queue, "a", "b")
    queue.do("retry", ["a"], "again")
    wait(queue, 1000)
    expire(queue)
    look(queue, "a")


@pytest.mark.parametrize("way", ["ack", "dead", "cancel", "cancelling", "purge", "reap"])
def test_whoever_waits_for_a_task_is_answered(queue: Driver, way: str) -> None:
    queue.do("configure", max_crashes=1, reply_ttl=5000, result_ttl=0)
    enqueue(queue, Spec("a", reply=True), Spec("b", timeout=60_000))
    look(queue, "a", "b")
    match way:
        case "cancel":
            queue.do("cancel", ["a", "b"])
        case "cancelling":
            leases = claim(queue)
            queue.do("cancel", ["a", "b"])
            end(queue, "release", *leases)
        case "purge":
            queue.do("purge", "p", False)
        case _:
            end(queue, way, *claim(queue))
    look(queue, "a", "b", "nobody")
    queue.do("purge", "all", True)
    queue.check()
    for ms in (4999, 1):
        wait(queue, ms)
        look(queue, "a", "b")


def test_an_id_that_is_used_again_is_answered_for_itself(queue: Driver) -> None:
    for reply in (True, False, True):
        enqueue(queue, Spec("a", reply=reply))
        look(queue, "a")
        end(queue, "dead" if reply else "ack", *claim(queue))
        look(queue, "a")
        queue.do("purge", f"rid-{next(numbers)}", True)
        look(queue, "a")
        wait(queue, 60_000)
        look(queue, "a")


def test_a_failure_says_when_and_how_long_and_whom_to_tell(queue: Driver) -> None:
    queue.do("configure", max_crashes=1)
    enqueue(queue, Spec("a", reply=True), Spec("b", timeout=500), Spec("c"))
    for more in ({"delay": 0, "exit_code": 7}, {"delay": 20_000, "timeout": 3000, "alert": True}):
        fails = [(*lease, True, "error", "e", 0, more) for lease in claim(queue)]
        queue.do("fail", fails)
        queue.check()
        queue.do("fail", fails)  # sent again, it tells nobody again
        queue.check()
        look(queue, "a", "b")
        wait(queue, 20_000)
    leases = claim(queue)
    queue.do("configure", timeout_grace=0)
    wait(queue, 2999)
    queue.do("heartbeat", leases, "w", 20_000)
    wait(queue, 1)
    queue.do("heartbeat", leases, "w", 20_000)
    queue.do("fail", [(*leases[0], False, "broken", "e", 0, {"timeout": 9, "exit_code": 1, "alert": True})])
    look(queue, "a")
    queue.do("fail", [(*leases[1], False, "broken", "e", 0, {})])
    look(queue, "b")
    wait(queue, 30_000)
    queue.do("reap", 100)
    queue.check()
    look(queue, "a", "b")
    queue.do("retry", ["a", "b"])
    look(queue, "a", "b")


def test_a_crash_loop_has_no_exit_code(queue: Driver) -> None:
    queue.do("configure", max_crashes=1)
    enqueue(queue, Spec("a", reply=True))
    queue.do("fail", [(*lease, True, "error", "e", 0, {"delay": 0, "exit_code": 7}) for lease in claim(queue)])
    claim(queue)
    wait(queue, 15_000)
    queue.do("reap", 100)
    queue.check()
    look(queue, "a")


def test_progress_is_noted_once(queue: Driver) -> None:
    enqueue(queue, Spec("a"), Spec("b"))
    one, two = claim(queue)
    notes: list[Answer] = [(*one, {"line": "1", "ppm": 5}), (*two, {"text": "t"}), (*one, {"line": "2"}), (*one, {})]
    for rid in ("r1", "r1", "r2"):
        assert queue.do("progress", rid, notes) == [("noted",)] * 4
        queue.check()
        look(queue, "a", "b")
    queue.do("progress", "r3", [(*one, {"line": str(line)}) for line in range(120)])
    queue.check()
    queue.do("cancel", ["a"])
    late: list[Answer] = [(*one, {"ppm": 1}), ("b", "bogus", {"line": "x"}), (*two, {"line": "y"})]
    wait(queue, 14_999)
    assert queue.do("progress", "r4", late) == [("cancelling",), ("lease_lost",), ("noted",)]
    wait(queue, 1)
    assert queue.do("progress", "r5", late) == [("lease_lost",)] * 3
    queue.check()
    queue.do("reap", 100)
    end(queue, "dead", *claim(queue))
    queue.do("abandon", ["a", "b"])
    queue.do("purge", "p", True)
    queue.check()


def test_a_worker_hears_what_is_wanted_of_it(queue: Driver) -> None:
    def beat(busy: int | None = None) -> Any:
        answer = queue.do("heartbeat", [], "w", 0, busy)
        queue.check()
        look(queue)
        return answer

    def hear() -> None:
        assert queue.client.lpop(f"{queue.base}:control:w") == b"1"
        queue.model.control.discard("w")

    assert beat(3) == ("run", 0, [])
    for mode, capacity in (("quiet", 5), (None, 2), ("run", None)):
        queue.do("steer", ["w", "nobody"], mode, capacity, f"{mode}{capacity}")
        queue.check()
        hear()
        wait(queue, 1)
        beat()
    queue.do("steer", ["w"], "stop", 9, "stop")
    queue.do("steer", ["w", "nobody"], "quiet", 5, "quiet5")  # of earlier, sent again
    look(queue)
    hear()
    queue.do("register", "w", "i1")
    assert beat() == ("stop", 9, [])
    queue.do("register", "w", "i2")
    queue.check()
    assert beat() == ("run", 0, [])
    queue.do("heartbeat", [], "nobody", 0, 1)
    queue.check()
    wait(queue, 29_999)
    assert queue.do("steer", ["w"], "quiet", None, "before") == [("asked",)]
    wait(queue, 1)
    assert queue.do("steer", ["w"], "run", None, "after") == [("not_found",)]
    look(queue)


def test_a_cancelled_task_has_its_worker_told_once(queue: Driver) -> None:
    enqueue(queue, Spec("a"), Spec("b"))
    claim(queue, 1)
    queue.do("cancel", ["a", "b"])
    queue.check()
    assert queue.model.control == {"w"}
    queue.client.delete(f"{queue.base}:control:w")
    queue.model.control.clear()
    queue.do("cancel", ["a"])
    queue.check()


def test_a_worker_that_stops_gives_back_what_it_has(queue: Driver) -> None:
    enqueue(queue, Spec("a", fallback=("fail",), fallback_after=5000), Spec("b", reply=True), Spec("c"))
    leases = claim(queue)
    queue.do("cancel", ["b"])
    for _ in range(2):
        queue.do("deregister", "w", "i1", [*leases[:2], ("c", "bogus")])
        queue.check()
        look(queue, "a", "b", "c")
    queue.do("register", "w", "i2")
    again = queue.do("claim", "w", "i2", 0, next(numbers), limit=5, lanes=["any"])[4]
    assert queue.do("deregister", "w", "i1", leases) == "stale"
    queue.check()
    assert [task.id for task in queue.model.of("ready")] == ["c"]
    assert [id for id, *_ in again] == ["a"]


def test_some_kinds_are_leased_alone(queue: Driver) -> None:
    enqueue(queue, Spec("a"), Spec("b", kind="mail"), Spec("c", kind="mail"), Spec("d"), Spec("e", kind="other"))
    enqueue(queue, Spec("f", kind="mail", expires=queue.model.now + 1))
    queue.model.now += 1
    own: dict[str, Any] = {"limit": 10, "lanes": ["any"], "alone_kinds": ["note", "mail"]}
    for ids in (["a"], ["b"], ["c"], ["d", "e"], []):
        n = next(numbers)
        for _ in range(2):  # once more is the same
            leases = queue.do("claim", "w", "i1", 0, n, **own)[4]
            assert [id for id, *_ in leases] == ids
            look(queue, *"abcdef")


def test_lane_first_takes_lanes_in_order(queue: Driver) -> None:
    enqueue(queue, Spec("a", priority=0), Spec("b", lane="group/g", priority=9), Spec("c", lane="group/g"))
    own: dict[str, Any] = {"limit": 2, "lanes": ["group/g", "any"], "busy": 1}
    leases = queue.do("claim", "w", "i1", 0, next(numbers), **own, lane_first=True)[4]
    assert [id for id, *_ in leases] == ["c", "b"]
    look(queue)
    queue.do("release", [lease[:2] for lease in leases])
    leases = queue.do("settle", "w", "i1", 0, next(numbers), **own)[4]
    assert [id for id, *_ in leases] == ["a", "c"]
    look(queue)
