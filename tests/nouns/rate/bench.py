"""What a test of the scripts of rates works on."""

from __future__ import annotations

from typing import Any

import redis

from tests.nouns.bench import NounBench
from tests.nouns.scenario import AnyCall
from tests.nouns.script_bench import Dump
from tests.nouns.watched import WatchedClient

KEPT = (":rules", ":g:", ":l:", ":c:", ":r:")  # with a test clock nothing expires by itself

RULES: dict[str, dict[str, Any]] = {
    "even": {"limit": 10, "period": 60, "burst": 3},
    "exact": {"algorithm": "log", "limit": 3, "period": 60},
    "slots": {"algorithm": "concurrency", "limit": 2, "lease": 30},
    "quiet": {"limit": 1, "period": 60, "shadow": True, "on_error": "open"},
}


class Bench(NounBench):
    noun = "rate"

    def __init__(self, client: redis.Redis, watched: WatchedClient, base: str, clock: str = "test") -> None:
        super().__init__(client, watched, base, clock)
        if clock == "test":
            self.rules()  # without rules, no hit is valid

    def rules(self, **more: dict[str, Any]) -> None:
        """The rules above, and more of them."""
        given = {**RULES, **more}
        self.put("set_rules", item=[{"name": name, **rule} for name, rule in given.items()])

    def hit(self, *hits: tuple[Any, ...], **arguments: Any) -> Any:
        return self.put("hit", **arguments, item=[(*one, None)[:3] for one in hits])

    def furnish(self) -> None:
        """A subject that each rule has counted."""
        if self.now == 0:  # the clock of the server
            self.rules()
        self.hit(*((name, "a") for name in RULES), rid="r0")

    def left_over(self) -> Dump:
        return {name: one for name, one in super().left_over().items() if not name.startswith(KEPT)}


def hit(bench: Bench, *hits: tuple[Any, ...], **arguments: Any) -> AnyCall:
    return bench.call("hit", **arguments, item=[(*one, None)[:3] for one in hits])


def ready(bench: Bench, *hits: tuple[Any, ...]) -> Bench:
    """The rules are stored, and these hits are counted, one after the other."""
    if bench.now == 0:  # the clock of the server
        bench.rules()
    for number, one in enumerate(hits):
        bench.hit(one, rid=f"before{number}")
    return bench
