"""The stories of lua/conformance/stories: they are what the scripts do, call by call, on one state."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
import redis

from pyadeq._core.kernel.call import parse_reply
from pyadeq._core.kernel.manifest import library
from tests.conftest import audited
from tests.embedding.stage import Stage
from tests.embedding.states import overlaid, restore
from tests.embedding.stories import STORIES, Story, record
from tests.embedding.test_vectors import UPDATE
from tests.embedding.vectors import BASES, decode, encode, plain_reply, shown
from tests.unit.lua_tree import LUA
from tests.unit.lua_tree import vectors as checks

FOLDER = LUA / checks.FOLDER / checks.STORIES
every_story = pytest.mark.parametrize("story", STORIES, ids=lambda story: story.file)


@pytest.fixture(scope="module")
def stage(binary: Path) -> Iterator[Stage]:
    with audited(binary) as server, redis.Redis.from_url(server.url) as client:
        stage = Stage(client)
        yield stage
        stage.clear()


@pytest.mark.any_engine
@every_story
def test_a_story_is_what_the_scripts_do(story: Story, stage: Stage) -> None:
    text, file = record(stage, story), FOLDER / story.file
    if UPDATE:
        file.parent.mkdir(exist_ok=True)
        file.write_text(text)
    assert file.is_file(), f"there is no {file}: {checks.RECORD}"
    assert file.read_text() == text, (
        f"the scripts do no longer what {file.name} says. If they should not, {checks.RECORD}"
    )


def test_each_file_has_its_story() -> None:
    assert sorted(path.name for path in FOLDER.glob("*")) == sorted(story.file for story in STORIES)


@pytest.mark.skipif(UPDATE, reason="they are being written")
@every_story
def test_a_story_can_be_told_from_its_file(story: Story, stage: Stage) -> None:
    told = json.loads((FOLDER / story.file).read_bytes())
    bench, base = stage.bench(told["noun"]), BASES[told["noun"]]
    stage.clear()
    restore(stage.server, base, told["before"])
    channels = {channel for step in told["steps"] for channel, _ in step.get("hints", ())}
    with stage.listening([base + channel for channel in sorted(channels)]) as heard:
        for step in told["steps"]:
            script = library()[step["script"]]
            argv = encode(script, step["call"])
            assert [shown(word) for word in argv] == step["argv"]
            assert decode(script, argv) == step["call"]
            reply = stage.send(script, argv)
            assert not isinstance(reply, str)
            assert parse_reply(script, reply) == parse_reply(script, plain_reply(step["answer"]))
            assert [[channel.removeprefix(base), word] for channel, word in heard()] == step.get("hints", [])
    assert stage.hold(bench) == overlaid(told["before"], told["after"])
