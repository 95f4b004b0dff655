"""What a first call makes of a base that does not exist: a lock domain with its layout noted, or nothing."""

from __future__ import annotations

import pytest

from pyadeq._core.kernel.manifest import Script, library
from tests.nouns.arguments import slots
from tests.nouns.lock.workbench import LockBench
from tests.nouns.script_bench import Bench, MakeAny

pytestmark = pytest.mark.any_engine

FRESH = {"layout": b"1", "layout_min": b"1", "clock": b"server"}
STORE_LOCKS = ["lock.acquire.v1", "lock.acquire_many.v1", "lock.set_capacity.v1", "lock.reap.v1", "lock.poll.v1"]


def first_call(bench: Bench, script: Script) -> None:
    seconds, micros = bench.server("TIME")
    now = {"now_ms": b"0", "issued_ms": b"%d" % (int(seconds) * 1000 + int(micros) // 1000)}
    bench.raw_run(script.id, *[now.get(slot.label, slot.value) for slot in slots(script)])


def config(bench: Bench) -> dict[str, bytes]:
    found: dict[str, bytes] = bench.dump().get(bench.config, ("hash", {}))[1]
    return found


@pytest.mark.parametrize("script_id", STORE_LOCKS)
def test_a_lock_domain_is_made_by_the_first_call(make_any: MakeAny, script_id: str) -> None:
    bench: LockBench = make_any("lock", "server")
    first_call(bench, library()[script_id])
    assert FRESH.items() <= config(bench).items()


def test_a_lock_domain_stays_as_it_was_configured(lock_bench: LockBench) -> None:
    before = config(lock_bench)
    lock_bench.run(lock_bench.acquire("q", "r", "o"))
    lock_bench.run(lock_bench.acquire("p", "r", "other", wait=60))
    lock_bench.run(lock_bench.calls.cancel(["p"]))
    assert config(lock_bench) == before
    assert before["clock"] == b"test"


def test_a_queue_that_does_not_exist_is_not_made_by_steering_its_workers(make_any: MakeAny) -> None:
    bench = make_any("queue", "server")
    first_call(bench, library()["queue.steer.v1"])
    assert bench.dump() == {}
