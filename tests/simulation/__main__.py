"""Play the stories of many seeds, and tell the first that goes wrong, made short.

python -m tests.simulation --seeds 1000 [--first 0] [--processes 2]
python -m tests.simulation --seed 4711
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter

from tests.conftest import server_binary
from tests.simulation.many import Batch, play_all
from tests.simulation.shrink import shrink
from tests.simulation.stage import Played, Stage, stage
from tests.simulation.story import Story, story_of

EVERY = 5.0  # seconds between two lines of progress


def main() -> int:
    arguments = _arguments()
    if arguments.seed is not None:
        with stage(server_binary()) as here:
            return tell(here, arguments.seed)
    seeds = range(arguments.first, arguments.first + arguments.seeds)
    total, began = Batch(0, Counter(), Counter(), 0, []), time.monotonic()
    told = began
    for batch in play_all(seeds, arguments.processes):
        total = Batch(
            total.seeds + batch.seeds,
            total.faults + batch.faults,
            total.checks + batch.checks,
            total.commands + batch.commands,
            total.failed + batch.failed,
        )
        if time.monotonic() > told + EVERY or total.seeds == len(seeds):
            told = time.monotonic()
            speed = total.seeds / (told - began)
            print(
                f"{total.seeds:,} of {len(seeds):,} seeds, {speed:.0f} a second, {len(total.failed)} failed", flush=True
            )
        if total.failed:
            break
    print_counts("faults", total.faults)
    print_counts("checks", total.checks)
    print(f"{total.seeds:,} seeds, {total.commands:,} commands, {len(total.failed)} violations")
    if total.failed:
        with stage(server_binary()) as here:
            return tell(here, min(total.failed))
    return 0


def tell(here: Stage, seed: int) -> int:
    """Play a seed; if it goes wrong, tell the shortest story that goes wrong in the same way, and how."""
    story = story_of(seed)
    played = here.play(story)
    if not played.problems:
        print(f"seed {seed}: all is well\n{story}")
        return 0
    print(f"seed {seed}: {played.problems[0]}\nmaking the story short …", flush=True)
    short, played = shortest(here, story, played.rules[0])
    print(f"{short}\n\nwhat came of it:\n" + "\n".join(f"  {line}" for line in played.told))
    print("\n".join(played.problems))
    print(f"again: python -m tests.simulation --seed {seed}")
    return 1


def shortest(here: Stage, story: Story, rule: str) -> tuple[Story, Played]:
    """The shortest story that breaks the same rule, and what comes of it."""
    short = shrink(story, lambda one: rule in here.play(one).rules)
    return short, here.play(short)


def print_counts(what: str, counts: Counter[str]) -> None:
    print(f"{what}: " + ", ".join(f"{name} {count:,}" for name, count in sorted(counts.items())))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="the first of them")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--seed", type=int, help="only this one")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
