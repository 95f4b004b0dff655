from __future__ import annotations

import pytest

from pyadeq.models import Backoff, Settings
from tests.nouns.queue.workbench import START, MakeBench, Workbench
from tests.nouns.watched import Refused
from tests.other_settings import others


def configure(bench: Workbench, **changes: object) -> Settings:
    """The settings after a change, without their digest."""
    found = bench.run(bench.calls.configure(**changes))  # type: ignore[arg-type]
    assert found == bench.run(bench.calls.settings())
    return found.model_copy(update={"digest": ""})


def test_a_queue_is_created_with_the_servers_clock(make_bench: MakeBench) -> None:
    bench = make_bench("server")
    assert configure(bench) == Settings(clock="server")
    assert bench.dump() == {":config": ("hash", {"layout": b"2", "layout_min": b"2", "clock": b"server"})}


def test_settings_are_looked_at_without_a_change(make_bench: MakeBench) -> None:
    bench = make_bench("server")
    assert bench.run(bench.calls.settings()).model_copy(update={"digest": ""}) == Settings()
    assert bench.dump() == {}


@pytest.mark.parametrize("clock", ["server", None])
def test_the_servers_clock_may_be_asked_for_again(make_bench: MakeBench, clock: str | None) -> None:
    bench = make_bench("server")
    configure(bench, clock="server")
    assert configure(bench, clock=clock).clock == "server"


def test_a_test_clock_is_chosen_at_creation_and_comes_with_the_time(make_bench: MakeBench) -> None:
    bench = make_bench("server")
    with pytest.raises(Refused, match=r"^ADEQ_CLOCK"):
        configure(bench, clock="test")
    assert bench.dump() == {}
    bench.now = START
    with pytest.raises(Refused, match=r"^ADEQ_CLOCK"):
        configure(bench)
    assert bench.dump() == {}
    assert configure(bench, clock="test").clock == "test"


@pytest.mark.parametrize("how", ["configured", "enqueued"])
def test_the_clock_cannot_be_changed(make_bench: MakeBench, how: str) -> None:
    bench = make_bench("server")
    if how == "configured":
        configure(bench)
    else:
        bench.fill(1)
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_CONFLICT clock is server .* cannot become test$"):
        configure(bench, clock="test")
    assert bench.dump() == before


def test_a_test_clock_cannot_become_the_servers(bench: Workbench) -> None:
    before = bench.dump()
    with pytest.raises(Refused, match=r"^ADEQ_CONFLICT clock is test"):
        configure(bench, clock="server", lease=20)
    assert bench.dump() == before


def test_a_base_that_lost_its_layout_keeps_its_clock(bench: Workbench) -> None:
    before = bench.dump()
    bench.client.hdel(f"{bench.base}:config", "layout", "layout_min")
    configure(bench)
    assert bench.dump() == before


def test_settings_are_kept_and_answered(bench: Workbench) -> None:
    changes = others("queue")
    expected = Settings(clock="test", **changes)
    assert configure(bench, **changes) == expected
    assert configure(bench) == expected
    assert configure(bench, clock="test") == expected


def test_expect_is_the_digest_of_all_that_can_be_changed(bench: Workbench) -> None:
    seen = bench.run(bench.calls.settings()).digest
    assert configure(bench, expect=seen, lease=30).lease == 30
    bench.fill(1)
    bench.real(bench.calls.pause("p"))
    again = bench.run(bench.calls.settings()).digest
    assert configure(bench, expect=again, fair=True).fair
    digests = {seen, again, bench.run(bench.calls.settings()).digest}
    for change in ({"tier": "public"}, {"timeout": 7}, {"result_ttl": 7}, {"backoff": Backoff(jitter=0)}):
        digests.add(bench.run(bench.calls.configure(**change)).digest)
    assert len(digests) == 7
    before = bench.dump()
    for stale in digests - {bench.run(bench.calls.settings()).digest}:
        with pytest.raises(Refused, match="ADEQ_STALE"):
            bench.run(bench.calls.configure("s", expect=stale, lease=9))
    assert bench.dump() == before


def test_what_is_not_named_stays_as_it_is(bench: Workbench) -> None:
    configure(bench, lease=30, max_attempts=7)
    assert configure(bench, lease=40) == Settings(clock="test", lease=40, max_attempts=7)


def test_settings_hold_for_what_comes_after(bench: Workbench) -> None:
    one, two = bench.lease(2)
    configure(bench, lease=60)
    assert bench.real(bench.calls.heartbeat([one])).renewals[0].deadline == (START + 60_000) / 1000
    assert bench.ask("ZSCORE", ":leases", two.id) == b"%d" % (START + 15_000)


def test_a_late_one_that_is_sent_again_does_not_undo_what_came_after_it(bench: Workbench) -> None:
    call = bench.calls.configure("r", lease=10)
    bench.run(call)
    configure(bench, lease=20)
    assert bench.run(call).lease == 20
    assert bench.run(bench.calls.configure("other", lease=10)).lease == 10
