"""What a test of the scripts of event groups works on: a stream whose ids have the times of the test clock."""

from __future__ import annotations

from itertools import chain
from typing import Any, Final

from tests.nouns.bench import NounBench
from tests.nouns.script_bench import Dump

LATER: Final = 4_100_000_000_000  # ms: after the present, so ids that a server gives follow those of the test
LAYOUT: Final = ("layout", 1, "layout_min", 1, "clock", "test")


class Bench(NounBench):
    noun = "events"
    config = ":events:config"

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        if self.now:
            self.now = LATER
            self.make_home()

    def make_home(self) -> None:
        """What the noun has whose events these are."""
        self.ask("HSET", ":config", *LAYOUT)

    def add_events(self, n: int, *fields: str, at: int | None = None) -> list[str]:
        """Add events, each a millisecond after the one before. Returns their ids."""
        first = at or self.now or LATER
        ids = [f"{first + number}-0" for number in range(n)]
        for start in range(0, n, 500):
            self.server.all([("XADD", self.key("events"), id, *_entry(id, fields)) for id in ids[start : start + 500]])
        if self.now:
            self.pass_time(n)
        return ids

    def trim_to(self, n: int) -> None:
        """As a write of the noun does at the bound of memory."""
        self.ask("XTRIM", ":events", "MAXLEN", n)

    def register(self, *groups: str, start: str = "oldest") -> None:
        for group in groups:
            assert self.put("register", group=group, start=start).status == "registered"

    def read(self, group: str = "a", **more: Any) -> list[str]:
        """The ids of what a read delivers."""
        return [one.id for one in self.put("read", group=group, **more).items]

    def furnish(self) -> None:
        """A group that has read some of its events, and has lost some."""
        self.make_home()
        self.add_events(4)
        self.register("a", "b")
        self.trim_to(4)
        self.read(limit=2)

    def left_over(self) -> Dump:
        return {name: one for name, one in super().left_over().items() if not name.startswith(":events:")}


def _entry(id: str, fields: tuple[str, ...]) -> list[str]:
    fixed = {"event": "task.enqueued", "timestamp": id.partition("-")[0], "id": "t"}
    return [*chain.from_iterable(fixed.items()), *fields]
