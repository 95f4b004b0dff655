"""`make mutants`: the tests on each mutant of the Lua sources; what came of it is in build/mutants.json.

MUTANTS=<n>    every nth mutant (1: all)
DAY=<n>        a number: the next day takes the next ones; without it, always the same ones
JOBS=<n>       processes (2)
MUTANTS_TRACE=old  which lines each test runs is taken from the last run, though tests have changed since
ARGS=<words>   only mutants whose names hold one of these words, `kernel/events/emit.lua` for instance. If all words
               begin with the folder of a noun in tests/nouns, such as `note/`, only the tests of that noun run

Exits with 1 if too few of them are killed: 93 of 100 have to be, and 85 of 100 in each script.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from tests import rotation
from tests.mutation import report
from tests.mutation.runner import SHOW, Runner
from tests.mutation.texts import all_mutants
from tests.nouns.found import NOUNS

BUILD = Path("build")
PYTEST = ["-q", "-m", "not sizes", "tests/nouns", "tests/property"]
# Random order and several processes would be in the way; that modules are imported already is meant.
PLUGINS = ["-p", "no:randomly", "-p", "no:xdist", "-p", "no:cacheprovider"]
TRACEBACKS = [] if SHOW else ["--tb=no"]  # to write one costs as much as a test
WARNINGS = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]


def main(words: list[str]) -> int:
    every = int(os.environ.get("MUTANTS", "1"))
    chosen = [one for one in all_mutants() if rotation.is_due(one.lot, every, rotation.DAY or 0)]
    rotation.DAY = None  # some of the mutants, but all tests
    noun = next((noun for noun in NOUNS if words and all(word.startswith(f"{noun}/") for word in words)), "")
    if noun:  # not those of kernel/events for the noun events
        chosen = [one for one in chosen if one.name.startswith(tuple(words))]
    else:
        chosen = [one for one in chosen if not words or any(word in one.name for word in words)]
    BUILD.mkdir(exist_ok=True)
    runner = Runner(chosen, BUILD, int(os.environ.get("JOBS", "2")), noun)
    if pytest.main([*PYTEST, *PLUGINS, *TRACEBACKS, *WARNINGS], plugins=[runner]) != pytest.ExitCode.OK:
        return 2
    report.write(BUILD / "mutants.json", runner.results, every)
    print(report.table(runner.results))
    print("", *report.survivors(runner.results), sep="\n")
    short = list(report.shortfalls(runner.results, every)) if not words else []
    print("", *short, sep="\n")
    return 1 if short else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
