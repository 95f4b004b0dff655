"""What came of the mutants: by source and by generated script, as a table and as JSON; and whether it is enough."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.mutation.operators import Mutant
from tests.mutation.texts import holders

# Per cent that must be killed, of all and of each script. Of two parts for which no tests had been written, 97.1 and
# 89.4 were killed, 93.5 of their 321 mutants. Raise the limit when new parts show that it can be higher.
OVERALL, EACH = 93.0, 85.0
# A script of fewer mutants is not judged by itself. Of a part of the mutants more are needed to say anything.
FEWEST, FEWEST_OF_A_PART = 5, 20


@dataclass
class Result:
    """killed: a test failed. timeout: none did, but one had no end. survived: neither."""

    mutant: Mutant
    outcome: str = "survived"
    by: str = ""  # the test that failed
    ran: int = 0  # tests
    hung: int = 0  # of them, those that had no end
    seconds: float = 0.0

    def told(self) -> tuple[str, str, int, float]:
        return self.outcome, self.by, self.ran, self.seconds


@dataclass
class Score:
    name: str
    outcomes: Counter[str]

    @property
    def per_cent(self) -> float:
        return 100 * self.outcomes["killed"] / self.outcomes.total()


def scores(results: Iterable[Result]) -> tuple[Score, list[Score], list[Score]]:
    """Of all, of each source, and of each generated script: its own body and all that it includes."""
    overall = Score("all", Counter())
    sources: defaultdict[str, Counter[str]] = defaultdict(Counter)
    scripts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for one in results:
        overall.outcomes[one.outcome] += 1
        sources[one.mutant.source][one.outcome] += 1
        for script_id in holders(one.mutant):
            scripts[script_id][one.outcome] += 1
    return overall, *([Score(*item) for item in sorted(of.items())] for of in (sources, scripts))  # type: ignore[return-value]


def shortfalls(results: Sequence[Result], every: int) -> Iterator[str]:
    """Why the tests are not good enough."""
    overall, *kinds = scores(results)
    if overall.per_cent < (least := needed(OVERALL, overall, every)):
        yield f"{overall.per_cent:.1f} % of all mutants were killed, at least {least:.3g} % must be"
    fewest = FEWEST if every == 1 else FEWEST_OF_A_PART
    for score in (score for kind in kinds for score in kind):
        if score.outcomes.total() >= fewest and score.per_cent < (least := needed(EACH, score, every)):
            yield f"{score.name}: {score.per_cent:.1f} % were killed, at least {least:.3g} % must be"


def needed(of_all: float, score: Score, every: int) -> float:
    """The per cent that must be killed. A part of the mutants, another each day, may be three deviations below."""
    return of_all if every == 1 else of_all - 3 * math.sqrt(of_all * (100 - of_all) / score.outcomes.total())


def table(results: Sequence[Result]) -> str:
    overall, sources, scripts = scores(results)
    lines = []
    for title, kind in (("source", sources), ("script with its includes", scripts), ("", [overall])):
        if title:
            lines += ["", f"{title:40} mutants  killed  survived  timeouts  per cent"]
        for one in kind:
            killed, survived, timeouts = (one.outcomes[name] for name in ("killed", "survived", "timeout"))
            counts = f"{one.outcomes.total():7} {killed:7} {survived:9} {timeouts:9}"
            lines.append(f"{one.name:40} {counts} {one.per_cent:9.1f}")
    return "\n".join(lines)


def survivors(results: Iterable[Result]) -> list[str]:
    """`lua/include/x.lua:12 <operator>: <line>  [<what> -> <becomes what>]`, those that had no end marked as such."""
    return [
        f"lua/{one.mutant.source}:{one.mutant.line} {one.mutant.change.operator}: {one.mutant.shown}"
        + " (no end)" * (one.outcome == "timeout")
        for one in results
        if one.outcome != "killed"
    ]


def write(file: Path, results: Sequence[Result], every: int) -> None:
    overall, sources, scripts = scores(results)
    found = {
        "every": every,
        "overall": overall.outcomes | {"per_cent": round(overall.per_cent, 2)},
        "seconds": round(sum(one.seconds for one in results)),
        "operators": Counter(one.mutant.change.operator for one in results),
        "sources": {one.name: one.outcomes for one in sources},
        "scripts": {one.name: one.outcomes for one in scripts},
        "survivors": survivors(results),
        "mutants": [[one.mutant.name, *one.told()] for one in results],
    }
    file.write_text(json.dumps(found, indent=1) + "\n")
