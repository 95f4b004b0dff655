"""Which tests a mutant is shown, the likeliest and quickest first."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

from tests.mutation.operators import Mutant
from tests.mutation.trace import Line, Traced

MOST = 1000  # tests that one mutant is shown
ALIKE = 8  # tests of one function before the next seem half as useful
# By the beginning of a test's name: how likely it is that one that runs a line notices a change of it, in a thousand.
# The first that fits counts. Those at 0 are not asked.
CHANCES = {
    "tests/nouns/test_coverage.py": 0,  # looks at which lines run, not at what they do
    "tests/nouns/test_watched.py": 0,  # tests the watch
    "tests/nouns/test_malformed.py": 0,  # what the preamble refuses, which is generated
    # Too slow: each makes the calls of most scenarios.
    "tests/nouns/queue/test_without_features.py": 0,
    "tests/nouns/test_instructions.py": 0,
    "tests/nouns/test_access.py::test_a_role_has_every_command_of_its_scripts": 0,
    # Too slow.
    "tests/property/locks/test_histories.py::test_histories[0]": 500,
    "tests/property/locks/test_histories.py": 0,
    "tests/property/test_queue_machine.py": 0,
    "tests/property/test_graphs.py": 0,
    "tests/property/test_schedules.py::test_schedules": 0,
    "tests/property/test_shares.py::test_users": 0,
    "tests/property/test_queue_limits.py": 0,
    # By what they look at.
    "tests/nouns/test_guards_of_": 900,
    "tests/nouns/lock/test_guards_of_": 900,
    "tests/nouns/test_fuzz.py": 50,
    "tests/nouns/test_scenarios.py": 900,
    "tests/property/": 200,
}
USUAL = 100
LARGE = "n=1000]"  # scenarios that are there for their costs


class Order:
    """Learns from what is noted of mutants of the same source. The same tests give the same order on each machine."""

    def __init__(self, traces: Mapping[str, Traced]) -> None:
        self.cost = {name: trace.cost for name, trace in traces.items()}
        self._chance = {name: chance(name) for name in traces}
        self._by_line: defaultdict[Line, list[str]] = defaultdict(list)
        for name, trace in traces.items():
            for line in trace.lines:
                self._by_line[line].append(name)
        self._killed: Counter[tuple[str, str]] = Counter()  # by a source and a test
        self._asked: Counter[tuple[str, str]] = Counter()

    def tests(self, mutant: Mutant) -> list[str]:
        """Those that run its line, at most so many; of one function not all at once, for they see much the same."""
        names = self._by_line[mutant.source, mutant.line]
        ranks = {name: self._rank(mutant, name) for name in names}
        of_function: Counter[str] = Counter()
        for name in sorted(names, key=lambda name: (-ranks[name], name)):
            function = name.partition("[")[0]
            of_function[function] += 1
            ranks[name] /= 1 + of_function[function] / ALIKE
        return sorted(names, key=lambda name: (-ranks[name], name))[:MOST]

    def note(self, mutant: Mutant, asked: Sequence[str], killed: bool) -> None:
        """asked: in this order; the last of them killed it, if one did."""
        self._asked.update((mutant.source, name) for name in asked)
        if killed:
            self._killed[mutant.source, asked[-1]] += 1

    def _rank(self, mutant: Mutant, name: str) -> float:
        """How likely it is to notice, by what it costs."""
        at = mutant.source, name
        return (self._killed[at] + self._chance[name]) / (self._asked[at] + 1) / self.cost[name]


def chance(name: str) -> float:
    if name.endswith(LARGE):
        return 0
    return next((chance for beginning, chance in CHANCES.items() if name.startswith(beginning)), USUAL) / 1000
