"""What a test of the scripts of configs works on."""

from __future__ import annotations

from typing import Any

from tests.nouns.bench import NounBench
from tests.nouns.script_bench import Dump

KEPT = (":value:", ":history:", ":changed", ":revs")  # of names that were not removed


class Bench(NounBench):
    noun = "config"

    def set(self, *names: str, value: bytes = b"v", **more: Any) -> Any:
        return self.put("set", item=[{"name": name, "value": value} for name in names], **more)

    def remove_names(self, *names: str) -> Any:
        return self.put("set", item=[{"name": name, "remove": True} for name in names])

    def fill(self, n: int, value: bytes = b"v", start: str = "n") -> None:
        """Set so many names."""
        names = [f"{start}{number:05}" for number in range(n)]
        for first in range(0, n, 100):
            self.set(*names[first : first + 100], value=value)

    def furnish(self) -> None:
        """Names with a history, and a removed one."""
        self.set("a", "b")
        self.set("a", "b")
        self.remove_names("b")

    def left_over(self) -> Dump:
        return {name: one for name, one in super().left_over().items() if not name.startswith(KEPT)}
