"""Paths of the scripts that every noun has, for the newer nouns."""

from __future__ import annotations

from pyadeq._core.kernel.durability import confirm
from pyadeq._core.kernel.manifest import library
from tests.nouns.arguments import good
from tests.nouns.bench import NounBench, python_value
from tests.nouns.found import NOUNS
from tests.nouns.scenario import AnyCall, scenario
from tests.nouns.script_bench import START


def configure_what_there_is(bench: NounBench, _: int) -> AnyCall:
    return bench.call("configure")


def configure_all(bench: NounBench, _: int) -> AnyCall:
    (group,) = library()[f"{bench.noun}.configure.v1"].groups
    return bench.call("configure", settings={one.name: python_value(one.type, good(one)) for one in group.pairs})


def configure_new(bench: NounBench, _: int) -> AnyCall:
    return bench.call("configure", clock="server")


def configure_new_without_a_clock(bench: NounBench, _: int) -> AnyCall:
    return bench.call("configure")


def configure_another_clock(bench: NounBench, _: int) -> AnyCall:
    return bench.call("configure", clock="server")


def configure_a_test_clock_without_time(bench: NounBench, _: int) -> AnyCall:
    return bench.call("configure", clock="test")


def configure_new_with_a_test_clock(bench: NounBench, _: int) -> AnyCall:
    bench.now = START
    return bench.call("configure", clock="test")


def configure_the_same_clock(bench: NounBench, _: int) -> AnyCall:
    return bench.call("configure", clock="test")


def migrate_from_an_older_layout(bench: NounBench, _: int) -> AnyCall:
    bench.ask("HSET", bench.config, "layout", 0)
    return bench.calls.migrate()


def migrate_where_the_layout_is_current(bench: NounBench, _: int) -> AnyCall:
    return bench.calls.migrate()


def migrate_where_nothing_is_stored(bench: NounBench, _: int) -> AnyCall:
    return bench.calls.migrate()


def migrate_where_all_is_rewritten(bench: NounBench, _: int) -> AnyCall:
    bench.ask("HSET", bench.config, "rewritten", 0)
    return bench.calls.migrate(done=True)


def migrate_where_it_was_never_migrated_and_is_done(bench: NounBench, _: int) -> AnyCall:
    return bench.calls.migrate(done=True)


def confirm_a_write(bench: NounBench, _: int) -> AnyCall:
    return confirm(bench.call("configure"), bench.now)


def confirm_where_nothing_is_stored(bench: NounBench, _: int) -> AnyCall:
    return confirm(bench.call("configure"), bench.now)


ON_THE_SERVERS_CLOCK = (
    configure_new,
    configure_new_without_a_clock,
    configure_a_test_clock_without_time,
    configure_new_with_a_test_clock,
    migrate_where_nothing_is_stored,
    confirm_where_nothing_is_stored,
)
WITH_A_TEST_CLOCK = (
    configure_what_there_is,
    configure_all,
    configure_another_clock,
    configure_the_same_clock,
    migrate_from_an_older_layout,
    migrate_where_the_layout_is_current,
    migrate_where_all_is_rewritten,
    migrate_where_it_was_never_migrated_and_is_done,
    confirm_a_write,
)

for noun in NOUNS:
    for prepare in WITH_A_TEST_CLOCK:
        scenario(0, noun=noun)(prepare)
    for prepare in ON_THE_SERVERS_CLOCK:
        scenario(0, clock="server", noun=noun)(prepare)
