"""What a test of scripts works on, for a noun that needs nothing special. See tests/nouns/script_bench.py."""

from __future__ import annotations

from itertools import count
from typing import Any, Final

import redis

from pyadeq._core.kernel.call import Call
from pyadeq._core.kernel.manifest import Script, library
from pyadeq._core.kernel.nouncalls import NounCalls
from tests.audit import audit
from tests.nouns.arguments import good
from tests.nouns.script_bench import Bench, Dump
from tests.nouns.watched import WatchedClient

KEPT: Final = {":config", ":events", ":counters"}  # as long as the noun itself
AGES: Final = 100 * 365 * 86_400_000  # ms: longer than any setting, and within what the kernel's scripts take as a time
MOST: Final = 1000  # calls of a sweep
BETWEEN_LOOKS: Final = 40  # calls; to look at all that there is takes longer


class NounBench(Bench):
    """`call` builds a call by names, `put` makes it on the server."""

    def __init__(self, client: redis.Redis, watched: WatchedClient, base: str, clock: str = "test") -> None:
        super().__init__(client, watched, base, clock)
        rids = count(1)  # the same in each run: they are recorded
        self.calls: NounCalls = NounCalls(
            base, now_ms=lambda: self.now, noun=self.noun, new_rid=lambda: f"made.{next(rids)}"
        )
        if clock == "test":
            self.put("configure", clock="test")

    def call(self, verb: str, /, **arguments: Any) -> Call[Any]:
        return self.calls.build(verb, **arguments)

    def put(self, verb: str, /, **arguments: Any) -> Any:
        return self.real(self.call(verb, **arguments))

    def settle(self) -> None:
        """Nothing goes on by itself."""

    def furnish(self) -> None:
        """Each writing call once, made from its declaration alone."""
        for script in self._scripts():
            if script.replay in ("rid", "token", "slot"):
                self.real(valid_call(self, script))

    def check(self) -> None:
        problems = audit(self.client, self.base)
        assert not problems, "\n".join(problems)

    def let_all_pass(self) -> None:
        self.pass_time(AGES)
        for script in self._scripts():
            if script.replay == "goes_on":
                self._sweep(script)

    def left_over(self) -> Dump:
        found = {key: one for key, one in self.dump().items() if key not in KEPT}
        return {key: found[key] for key in self.lasting(found)}

    def _sweep(self, script: Script) -> bool:
        """Call it until it has nothing more to do; whether it had anything to do."""
        before = self.dump()
        for calls in range(0, MOST, BETWEEN_LOOKS):
            for _ in range(BETWEEN_LOOKS):
                self.real(valid_call(self, script))
            if before == (before := self.dump()):
                return calls > 0
        raise AssertionError(f"{script.id} has more to do after {MOST} calls")

    def _scripts(self) -> list[Script]:
        return [library()[id] for id in library() if id.startswith(f"{self.noun}.")]


def valid_call(bench: NounBench, script: Script) -> Call[Any]:
    """A call with what must be given, from the declaration alone."""
    arguments: dict[str, Any] = {
        one.name: python_value(one.type, good(one)) for one in script.args if one.default is None
    }
    for group in script.groups:
        if group.min:
            arguments[group.name] = [{one.name: python_value(one.type, good(one)) for one in group.fields}]
    return bench.call(script.id.split(".")[1], **arguments)


def python_value(kind: str, value: bytes) -> Any:
    """What a caller in Python says for it."""
    if kind in ("ids", "labels", "lanes"):
        return value.decode().split(",")
    match kind:
        case "int":
            return int(value)
        case "bool":
            return value == b"1"
        case "bytes":
            return value
    return value.decode()
