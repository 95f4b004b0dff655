"""The bench of each noun. A new noun adds its own here, and its scenarios beside."""

from __future__ import annotations

from typing import Final

from tests.lua.bench import Bench
from tests.lua.lock_workbench import LockBench
from tests.lua.workbench import Workbench

BENCHES: Final[dict[str, type[Bench]]] = {bench.noun: bench for bench in (Workbench, LockBench)}
