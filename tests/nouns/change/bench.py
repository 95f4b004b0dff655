"""What a test of the scripts of changes works on."""

from __future__ import annotations

from typing import Final

from tests.nouns.bench import NounBench
from tests.nouns.change.states import applying, draft, in_review
from tests.nouns.script_bench import Dump

YEAR: Final = 365 * 86_400_000  # ms: as long as a review, an approval and a step of escalation may last
STEPS: Final = 7  # a lease ends, then the approval; three escalations, a timeout; and one more


class Bench(NounBench):
    noun = "change"

    def furnish(self) -> None:
        """Changes in several states; and the longest times are allowed."""
        self.put("configure", settings={"max_timeout": YEAR / 1000})
        in_review(self, "a1", "user:a1", "user:a2", "group:a1")
        applying(self, "a2")
        draft(self, "a3")

    def let_all_pass(self) -> None:
        """What has ended is deleted. A draft ends only if somebody cancels it."""
        for _ in range(STEPS):
            self.pass_time(YEAR)
            if not self._sweep(self.watched.scripts["change.sweep.v1"]):
                break  # nothing is due later than a year from now
        for id in self.ask("ZRANGE", ":state:draft", 0, -1):
            author = self.ask("HGET", f":change:{id.decode()}", "author")
            self.put("move", id=id.decode(), to="cancel", actor=author.decode())
        while items := self.put("outbox").items:
            self.put("outbox", limit=0, item=[{"id": one.id, "seq": one.seq} for one in items])
        super().let_all_pass()

    def left_over(self) -> Dump:
        """But for policies, and what is known of a user: both are kept."""
        kept = (":policies", ":userstats:", ":delegations:", ":givers:")
        return {name: one for name, one in super().left_over().items() if not name.startswith(kept)}
