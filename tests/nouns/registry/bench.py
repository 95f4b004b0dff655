"""What a test of the scripts of registries works on."""

from __future__ import annotations

from tests.nouns.bench import NounBench
from tests.nouns.script_bench import Dump


class Bench(NounBench):
    noun = "registry"

    def left_over(self) -> Dump:
        """Without the names, which stay until they are removed."""
        return {name: one for name, one in super().left_over().items() if name not in (":names", ":scan")}
