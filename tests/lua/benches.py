"""The bench of each noun."""

from __future__ import annotations

from typing import Final

from tests.lua.bench import Bench
from tests.lua.lock_workbench import LockBench
from tests.lua.workbench import Workbench
from tests.nouns.bench import NounBench
from tests.nouns.found import NOUNS, own

BENCHES: Final[dict[str, type[Bench]]] = {
    **{bench.noun: bench for bench in (Workbench, LockBench)},
    **{noun: own(noun, "model", "Bench", type("Bench", (NounBench,), {"noun": noun})) for noun in NOUNS},
}
