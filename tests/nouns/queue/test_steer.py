"""What is wanted of workers, how they hear it, and what is shown of them."""

from __future__ import annotations

from typing import Any

import pytest

from pyadeq.models.worker import Heartbeat, WorkerInfo
from tests.nouns.queue.checks import check_queue
from tests.nouns.queue.workbench import START, Workbench
from tests.nouns.watched import Refused


def register(bench: Workbench, name: str = "w", incarnation: str = "i", **about: Any) -> None:
    bench.real(bench.calls.register(name, incarnation, about))


def steer(bench: Workbench, *names: str, **wanted: Any) -> list[str]:
    return list(bench.run(bench.calls.steer(names or ["w"], **wanted)))


def beat(bench: Workbench, name: str = "w", busy: int | None = None) -> Heartbeat:
    return bench.run(bench.calls.heartbeat([], worker=name, busy=busy))


def shown(bench: Workbench, name: str = "w") -> WorkerInfo | None:
    found, cursor = bench.run(bench.calls.workers(name=name))
    assert cursor == ""
    return found[0] if found else None


def control(bench: Workbench, name: str = "w") -> int:
    return int(bench.ask("LLEN", f":control:{name}"))


# steer and heartbeat


@pytest.mark.parametrize("mode", ["run", "quiet", "stop", "restart"])
def test_a_worker_hears_what_is_wanted_of_it(bench: Workbench, mode: Any) -> None:
    register(bench)
    assert beat(bench) == Heartbeat(mode="run", capacity=0, renewals=[])
    assert steer(bench, mode=mode, capacity=3) == ["asked"]
    assert beat(bench) == beat(bench) == Heartbeat(mode=mode, capacity=3, renewals=[])
    (event,) = bench.events("worker.steered")
    assert (event["id"], event["payload"]) == (b"w", b"mode=%s capacity=3" % mode.encode())


def test_what_nobody_says_stays_as_it_is(bench: Workbench) -> None:
    register(bench)
    steer(bench, mode="quiet", capacity=3)
    steer(bench, capacity=5)
    assert (beat(bench).mode, beat(bench).capacity) == ("quiet", 5)
    steer(bench, mode="run")
    assert (beat(bench).mode, beat(bench).capacity) == ("run", 5)


def test_a_call_that_comes_late_undoes_nothing(bench: Workbench) -> None:
    register(bench)
    call = bench.calls.steer(["w", "nobody"], "quiet", rid="r")
    assert bench.run(call) == ["asked", "not_found"]
    steer(bench, mode="run")
    beat(bench)
    assert bench.run(call) == ["asked", "not_found"]
    worker = shown(bench)
    assert worker
    assert (worker.mode, worker.heard, len(bench.events("worker.steered"))) == ("run", True, 2)


def test_one_token_at_most_says_that_there_is_something_to_hear(bench: Workbench) -> None:
    register(bench)
    for mode in ("quiet", "run"):
        steer(bench, mode=mode)
        assert control(bench) == 1
    assert 0 < bench.ask("PTTL", ":control:w") <= 60_000
    bench.ask("LPOP", ":control:w")
    steer(bench, "w", "w", mode="stop")
    assert control(bench) == 1
    check_queue(bench)


def test_who_is_wanted_to_do_something_else_has_not_heard_it_until_its_heartbeat(bench: Workbench) -> None:
    register(bench)
    steer(bench, mode="quiet")
    bench.run(bench.calls.claim("w", "i", 0, 1))
    worker = shown(bench)
    assert worker
    assert not worker.heard
    beat(bench)
    worker = shown(bench)
    assert worker
    assert worker.heard


def test_a_claim_leaves_the_token_again_until_the_request_is_heard(bench: Workbench) -> None:
    register(bench)
    bench.run(bench.calls.claim("w", "i", 0, 1))
    assert control(bench) == 0
    steer(bench, mode="quiet")
    bench.ask("DEL", ":control:w")  # with a connection
    bench.pass_time(1000)
    bench.run(bench.calls.claim("w", "other", 0, 2))  # of a process that was replaced
    assert control(bench) == 0
    for n in (2, 3):
        bench.run(bench.calls.claim("w", "i", 0, n))
        assert control(bench) == 1
        bench.ask("DEL", ":control:w")
        bench.pass_time(1000)
    beat(bench)
    bench.run(bench.calls.settle("w", "i", 0, 4, limit=1))
    assert control(bench) == 0
    check_queue(bench)


def test_a_worker_whose_heartbeat_hangs_does_not_claim_in_a_circle(bench: Workbench) -> None:
    register(bench)
    steer(bench, mode="quiet")
    left = 0
    for n in range(1, 21):  # a token ends its wait at once, and then it claims
        left += control(bench)
        bench.ask("DEL", ":control:w")
        bench.run(bench.calls.claim("w", "i", 0, n))
        bench.pass_time(100)
    assert left == 3  # the first one, and one a second
    check_queue(bench)


@pytest.mark.parametrize(("ms", "answer"), [(29_999, "asked"), (30_000, "not_found")])
def test_who_is_silent_is_not_there(bench: Workbench, ms: int, answer: str) -> None:
    register(bench)
    bench.pass_time(ms)
    assert steer(bench, mode="stop") == [answer]
    assert control(bench) == (answer == "asked")


def test_each_worker_has_its_own_answer_and_nobody_is_made_up(bench: Workbench) -> None:
    register(bench, "a")
    before = bench.ask("KEYS", f"{bench.base}:worker:*")
    assert steer(bench, "a", "nobody", mode="quiet") == ["asked", "not_found"]
    assert bench.ask("KEYS", f"{bench.base}:worker:*") == before
    assert beat(bench, "nobody") == Heartbeat(mode="run", capacity=0, renewals=[])


def test_what_was_heard_ends_with_the_incarnation(bench: Workbench) -> None:
    register(bench)
    steer(bench, mode="quiet", capacity=3)
    register(bench)  # the same: a late registration
    assert beat(bench).mode == "quiet"
    register(bench, incarnation="new")
    assert beat(bench) == Heartbeat(mode="run", capacity=0, renewals=[])
    assert control(bench) == 1  # for the one that is replaced


@pytest.mark.parametrize("lost", [False, True])
@pytest.mark.parametrize(("mode", "capacity"), [("quiet", 3), ("stop", 0), ("restart", 0), ("restart", 3), ("keep", 3)])
def test_what_a_killed_worker_has_not_heard_is_for_its_successor(
    bench: Workbench, mode: Any, capacity: int, lost: bool
) -> None:
    register(bench)
    steer(bench, mode=mode, capacity=capacity)
    for incarnation in ("second", "third"):  # the second is killed before it asks
        if lost:
            bench.pass_time(30_000)
            bench.real(bench.calls.reap())
            assert (shown(bench), steer(bench, mode="run")) == (None, ["not_found"])
        register(bench, incarnation=incarnation, pid=7)
        worker = shown(bench)
        assert worker
        told = {"restart": "run", "keep": "run"}.get(mode, mode)
        assert (worker.mode, worker.wanted, worker.heard, worker.pid) == (told, capacity or None, False, 7)
    assert beat(bench) == Heartbeat(mode=told, capacity=capacity, renewals=[])
    register(bench, incarnation="fourth")
    assert beat(bench) == Heartbeat(mode="run", capacity=0, renewals=[])
    check_queue(bench)


def test_a_worker_that_ends_by_itself_leaves_no_request(bench: Workbench) -> None:
    register(bench)
    steer(bench, mode="stop")
    bench.run(bench.calls.deregister("w", "i"))
    register(bench, incarnation="new")
    assert beat(bench).mode == "run"


def test_a_worker_that_comes_anew_where_nobody_was_is_told_nothing(bench: Workbench) -> None:
    register(bench)
    bench.run(bench.calls.deregister("w", "i"))
    register(bench, incarnation="new")
    assert control(bench) == 0


def test_a_heartbeat_without_a_lease_is_a_sign_of_life(bench: Workbench) -> None:
    register(bench)
    for _ in range(3):
        bench.pass_time(20_000)
        beat(bench)
        bench.run(bench.calls.reap())
    worker = shown(bench)
    assert worker
    assert worker.seen == (START + 60_000) / 1000


def test_a_heartbeat_of_nobody_answers_and_writes_nothing(bench: Workbench) -> None:
    before = bench.dump()
    assert bench.run(bench.calls.heartbeat([])) == Heartbeat(mode="run", capacity=0, renewals=[])
    assert bench.dump() == before


def test_a_worker_that_was_forgotten_does_not_come_back_by_a_heartbeat(bench: Workbench) -> None:
    register(bench)
    bench.pass_time(30_000)
    bench.run(bench.calls.reap())
    before = bench.dump()
    assert beat(bench, busy=3).mode == "run"
    assert bench.dump() == before


# cancel


def test_the_worker_of_a_task_that_is_cancelled_is_told_to_ask(bench: Workbench) -> None:
    register(bench, "other")
    one, two = bench.lease(2)
    (waiting,) = bench.fill(1)
    bench.run(bench.calls.cancel([waiting, "unknown"]))
    assert control(bench) == 0
    bench.run(bench.calls.cancel([one.id, two.id]))
    assert (control(bench), control(bench, "other")) == (1, 0)
    bench.ask("LPOP", ":control:w")
    bench.run(bench.calls.cancel([one.id]))  # it is told already
    assert control(bench) == 0
    check_queue(bench)


# busy


def test_a_worker_shows_how_much_it_does(bench: Workbench) -> None:
    register(bench, capacity=10)
    bench.fill(4)

    def busy() -> tuple[int | None, int | None]:
        worker = shown(bench)
        assert worker
        return worker.busy, worker.free

    assert busy() == (None, None)
    leases = bench.run(bench.calls.claim("w", "i", 0, 1, limit=3, busy=2)).leases
    assert busy() == (5, 5)
    bench.run(bench.calls.settle("w", "i", 0, 2, acks=[(lease, None) for lease in leases], limit=9, busy=2))
    assert busy() == (3, 7)
    beat(bench, busy=1)
    assert busy() == (1, 9)
    beat(bench)
    assert busy() == (1, 9)
    steer(bench, mode="quiet")
    assert busy() == (1, 0)
    bench.run(bench.calls.claim("w", "i", 0, 3))
    assert busy() == (None, None)


def test_a_claim_again_says_nothing_new_of_it(bench: Workbench) -> None:
    register(bench)
    bench.fill(1)
    call = bench.calls.claim("w", "i", 0, 1, busy=2)
    bench.run(call)
    beat(bench, busy=9)
    bench.run(call)
    worker = shown(bench)
    assert worker
    assert worker.busy == 9


# workers


def test_a_worker_is_shown_as_it_registered(bench: Workbench) -> None:
    about: dict[str, Any] = {
        "hostname": "h",
        "pid": 7,
        "version": "1",
        "capacity": 4,
        "group": "g",
        "capabilities": ["a", "b"],
    }
    register(bench, **about, lanes=["group/g/inst/w", "any"])
    bench.run(bench.calls.claim("w", "i", 0, 1))
    worker = shown(bench)
    assert worker
    assert worker.model_dump(include={*about, "lanes", "name", "incarnation", "mode", "wanted", "heard"}) == {
        **about, "capabilities": ("a", "b"), "lanes": ("group/g/inst/w", "any"), "name": "w", "incarnation": "i",
        "mode": "run", "wanted": None, "heard": True,
    }  # fmt: skip
    assert (worker.seen, worker.registered) == (START / 1000, START / 1000)
    (_, _, _, (found,)) = bench.send(bench.calls.workers())
    assert {b"replaced", b"slot:0"} & set(found[3][::2]) == set()


@pytest.mark.parametrize(
    ("named", "found"),
    [
        ({}, "abc"), ({"group": "g"}, "ab"), ({"capability": "gpu"}, "ac"), ({"group": "g", "capability": "gpu"}, "a"),
        ({"name": "b"}, "b"), ({"name": "b", "group": "g"}, "b"), ({"name": "b", "capability": "gpu"}, ""),
        ({"name": "d"}, ""), ({"group": "gg"}, ""), ({"capability": "gp"}, ""), ({"capability": "gpu/8"}, "c"),
        ({"capability": "x.y"}, ""), ({"name": "lost"}, ""), ({"name": "gone"}, ""),
    ],
)  # fmt: skip
def test_workers_are_found_by_name_and_group_and_capability(
    bench: Workbench, named: dict[str, Any], found: str
) -> None:
    register(bench, "lost", group="g", capabilities=["gpu"])
    bench.pass_time(30_000)
    register(bench, "gone", group="g", capabilities=["gpu"])
    bench.run(bench.calls.deregister("gone", "i"))
    register(bench, "a", group="g", capabilities=["cpu", "gpu"])
    register(bench, "b", group="g", capabilities=["gpus", "xgpu"])
    register(bench, "c", capabilities=["gpu/8", "gpu"])
    workers, cursor = bench.run(bench.calls.workers(**named))
    assert (sorted(worker.name for worker in workers), cursor) == (sorted(found), "")


@pytest.mark.parametrize("number", [1, 128, 129, 350])
def test_pages_hold_every_worker_that_is_there_all_the_while(bench: Workbench, number: int) -> None:
    names = [f"worker-{at}" for at in range(number)]
    for name in names:
        register(bench, name)
    found: set[str] = set()
    cursor, pages = "", 0
    while True:
        workers, cursor = bench.run(bench.calls.workers(cursor=cursor, limit=50))
        found |= {worker.name for worker in workers}
        pages += 1
        assert pages <= number
        if pages == 1 and number > 300:  # others come and go between the pages
            for at in range(100):
                register(bench, f"late-{at}")
                bench.real(bench.calls.deregister(f"late-{at}", "i"))
        if not cursor:
            break
    assert found >= set(names)
    assert found <= set(names) | {f"late-{at}" for at in range(100)}


@pytest.mark.parametrize("cursor", ["x", "-1", "1 ", "1.0", "9" * 20])
def test_a_cursor_that_no_page_answered_is_refused(bench: Workbench, cursor: str) -> None:
    register(bench)
    with pytest.raises(Refused, match=r"^ADEQ_ARG cursor must be "):
        bench.raw_run("queue.workers.v1", "", "", "", cursor, 10, bench.now)
