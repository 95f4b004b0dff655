"""A story that fails, made short: whatever can be left out is left out, as long as the same rule is broken."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from tests.simulation.steps import Actor
from tests.simulation.story import Story

Fails = Callable[[Story], bool]


def shrink(story: Story, fails: Fails, most: int = 600) -> Story:
    """The shortest story found in so many runs. fails: whether a story breaks the rule that this one breaks."""
    runs = 0
    shorter = True
    while shorter and runs < most:
        shorter = False
        for candidate in _shorter(story):
            runs += 1
            if fails(candidate):
                story, shorter = candidate, True
                break
            if runs >= most:
                break
    return story


def _shorter(story: Story) -> Iterator[Story]:
    """Stories with less in them, those with the least first."""
    for index, actor in enumerate(story.actors):
        others = story.actors[:index] + story.actors[index + 1 :]
        yield replace(story, actors=others, faults=tuple(one for one in story.faults if one.actor != actor.name))
    for index in range(len(story.faults)):
        yield replace(story, faults=story.faults[:index] + story.faults[index + 1 :])
    for index, actor in enumerate(story.actors):
        for simpler in _simpler(actor):
            yield replace(story, actors=(*story.actors[:index], simpler, *story.actors[index + 1 :]))
    for name in story.settings:
        if name != "lease":
            yield replace(story, settings={key: value for key, value in story.settings.items() if key != name})


def _simpler(actor: Actor) -> Iterator[Actor]:
    steps = actor.steps
    half = len(steps) // 2
    if half > 1:
        yield replace(actor, steps=steps[:half])
        yield replace(actor, steps=steps[half:])
    for index in range(len(steps)):
        yield replace(actor, steps=steps[:index] + steps[index + 1 :])
    if actor.build:
        yield replace(actor, build=0)
    for index, (verb, options) in enumerate(steps):
        for name in options if verb == "enqueue" else ():
            if name != "id":
                fewer = {key: value for key, value in options.items() if key != name}
                yield replace(actor, steps=(*steps[:index], (verb, fewer), *steps[index + 1 :]))
