"""Stories go well, replay exactly, find what is broken, and are made short."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.simulation.__main__ import shortest
from tests.simulation.loop import Loop
from tests.simulation.plants import PLANTS, planted
from tests.simulation.stage import Stage, stage
from tests.simulation.story import Fault, Story, story_of

pytestmark = pytest.mark.any_engine

SEEDS = 60  # `make simulate` plays a thousand
REPLAYED = range(1000, 1012)
SEARCHED = 400  # seeds among which each plant is found


@pytest.fixture(scope="module")
def here(binary: Path) -> Iterator[Stage]:
    with stage(binary) as here:
        yield here


@pytest.mark.parametrize("first", [0, *(pytest.param(first, marks=pytest.mark.slow) for first in range(20, SEEDS, 20))])
def test_stories_go_well(first: int, here: Stage) -> None:
    for seed in range(first, first + 20):
        played = here.play(story_of(seed))
        assert not played.problems, f"python -m tests.simulation --seed {seed}"


@pytest.mark.slow
def test_a_story_goes_the_same_way_each_time(here: Stage) -> None:
    for seed in REPLAYED:
        story = story_of(seed)
        first, again = (here.play(story, tells=True) for _ in range(2))
        assert first.told
        assert first == again


def test_what_is_due_at_the_same_time_keeps_its_order() -> None:
    """Else two replies on one connection may be exchanged, as no network does it."""
    loop, ran = Loop(), list[int]()
    for number in range(50):
        loop.call_at(1.0, ran.append, number)
    loop.call_at(1.0, loop.stop)
    loop.run_forever()
    loop.close()
    assert ran == list(range(50))


@pytest.mark.slow
@pytest.mark.parametrize("plant", PLANTS)
def test_a_planted_fault_is_found_and_told_shortly(plant: str, binary: Path) -> None:
    rule, old, new = PLANTS[plant]
    with stage(binary, planted(old, new)) as broken:
        for seed in range(SEARCHED):
            story = story_of(seed)
            played = broken.play(story)
            if rule in played.rules:
                break
        else:
            raise AssertionError(f"not found in {SEARCHED} stories")
        short, played = shortest(broken, story, rule)
        assert rule in played.rules
        assert size(short) <= 14, short


def test_a_crash_is_survived(here: Stage) -> None:
    """The story itself: an actor that crashes comes again, and plays what is left."""
    story = story_of(0)
    producer = replace(story.actors[0], name="p", role="producer", build=0, steps=tuple(
        ("enqueue", {"id": f"t{number}"}) for number in range(4)
    ))  # fmt: skip
    story = Story(0, (producer,), (Fault("crash before", "p", 2, 0.5), Fault("crash after", "p", 4, 0.5)))
    played = here.play(story, tells=True)
    assert not played.problems
    enqueued = [line.split("task.enqueued ")[1].strip() for line in played.told if "task.enqueued" in line]
    assert enqueued in (["t0", "t2", "t3"], ["t0", "t2"])


def size(story: Story) -> int:
    """Steps and faults."""
    return sum(len(actor.steps) for actor in story.actors) + len(story.faults)
