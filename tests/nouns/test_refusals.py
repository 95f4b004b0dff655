"""What every script refuses, whatever it does: a newer layout, and the wrong clock."""

from __future__ import annotations

import pytest

from pyadeq._core.kernel.manifest import Script, library
from tests.nouns.arguments import noun_of, slots, values
from tests.nouns.script_bench import START, Bench, MakeAny
from tests.nouns.watched import Refused

SCRIPTS = [library()[script_id] for script_id in library()]
every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.id)


def arguments(script: Script, now_ms: int) -> list[bytes]:
    now = [b"%d" % now_ms if slot.label == "now_ms" else None for slot in slots(script)]
    return [given or slot.value for given, slot in zip(now, slots(script), strict=True)]


def refusal(bench: Bench, script: Script, now_ms: int) -> str:
    before = bench.dump()
    with pytest.raises(Refused) as caught:
        bench.raw_run(script.id, *arguments(script, now_ms))
    assert bench.dump() == before
    return str(caught.value)


@pytest.fixture
def bench(script: Script, make_any: MakeAny) -> Bench:
    """A queue or a lock domain, as the script needs."""
    bench: Bench = make_any(noun_of(script))
    return bench


@every_script
def test_a_newer_layout_and_another_clock_are_refused_and_nothing_written(bench: Bench, script: Script) -> None:
    assert refusal(bench, script, 0).startswith("ADEQ_CLOCK")
    bench.ask("HSET", bench.config, "layout_min", 99)
    assert refusal(bench, script, START).startswith("ADEQ_LAYOUT this data needs scripts of layout 99 or newer")


@every_script
def test_the_layout_that_is_written_may_be_newer_if_old_scripts_are_allowed(bench: Bench, script: Script) -> None:
    bench.ask("HSET", bench.config, "layout", 99)
    assert bench.raw_code(script.id, *values(slots(script))) is None


@every_script
def test_a_server_clock_takes_no_now_ms(make_any: MakeAny, script: Script) -> None:
    bench = make_any(noun_of(script), "server")
    bench.furnish()
    assert refusal(bench, script, START).startswith("ADEQ_CLOCK")


@pytest.mark.parametrize("script", [one for one in SCRIPTS if ".configure." not in one.id], ids=lambda one: one.id)
def test_a_base_that_does_not_exist_has_the_servers_clock(make_any: MakeAny, script: Script) -> None:
    assert refusal(make_any(noun_of(script), "server"), script, START).startswith("ADEQ_CLOCK")
