"""The bench of each noun."""

from __future__ import annotations

from typing import Final

from tests.nouns.bench import NounBench
from tests.nouns.found import NOUNS, own
from tests.nouns.lock.workbench import LockBench
from tests.nouns.queue.workbench import Workbench
from tests.nouns.script_bench import Bench


def bench_of(noun: str) -> type[Bench]:
    """Its own, in bench.py or model.py of its folder, or the usual one."""
    usual = type("Bench", (NounBench,), {"noun": noun})
    found: type[Bench] = own(noun, "bench", "Bench", own(noun, "model", "Bench", usual))
    return found


BENCHES: Final[dict[str, type[Bench]]] = {
    **{bench.noun: bench for bench in (Workbench, LockBench)},
    **{noun: bench_of(noun) for noun in NOUNS},
}
