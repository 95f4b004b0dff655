"""A queue that does not use a feature works the same on scripts that are built without it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

import pytest
import redis

from pyadeq._core.kernel.call import Answer
from tests.mutation.texts import install, original
from tests.nouns.scenarios import Scenario, small
from tests.nouns.script_bench import Bench, Dump, MakeAny
from tests.nouns.test_scenarios import answer, real_reply
from tests.unit.lua_tree import LUA, bundle

pytestmark = [pytest.mark.any_engine, pytest.mark.slow]

FEATURES = ("limits", "chains", "fair", "schedules")  # the queue has a setting of that name once it uses the feature
# These use the feature, and leave a queue without the setting.
USING = {
    "repair: a line that is not there": "limits",
    "configure: no fair shares": "fair",
    "configure: no fair shares where none are": "fair",
    "claim: the last of a lane that was fair, n=1": "fair",
    **{
        f"{which}: {how}with settings as they are": "fair"
        for which, how in (("claim", ""), ("settle", ""), ("ack", ""), ("settle", "an ack "))
    },
}
# The server chooses which members of a hash are on a page, and may choose others while it makes room for more.
BY_CHANCE = {f"{verb}: of a {which} page" for verb in ("limits", "weights", "workers") for which in ("first", "second")}
Outcome = tuple[Answer | str, Dump]


@pytest.mark.parametrize("feature", FEATURES)
def test_a_queue_without_the_feature_does_not_need_it(feature: str, make_any: MakeAny) -> None:
    others = [one for one in smallest() if USING.get(one.name) != feature and one.name not in BY_CHANCE]
    others = [one for one in others if not uses(feature, whole(one, make_any)[1])]
    assert len(others) > 300
    assert {one.name for one in smallest()} >= BY_CHANCE
    with built_without(feature):
        differing = [one.name for one in others if outcome(one, make_any) != whole(one, make_any)]
    assert not differing, "\n".join(differing)


@cache
def smallest() -> list[Scenario]:
    """Each path of a queue at its smallest size, on a test clock."""
    found: dict[object, Scenario] = {}
    for one in sorted(small("test", "queue"), key=lambda one: one.items):
        found.setdefault(one.prepare, one)
    return list(found.values())


KNOWN: dict[str, Outcome] = {}


def whole(scenario: Scenario, make_any: MakeAny) -> Outcome:
    """The outcome with all features."""
    if scenario.name not in KNOWN:
        KNOWN[scenario.name] = outcome(scenario, make_any)
    return KNOWN[scenario.name]


def outcome(scenario: Scenario, make_any: MakeAny) -> Outcome:
    """What the call answers, and the data afterwards."""
    bench: Bench = make_any("queue")
    try:
        call = scenario(bench)
        return answer(call, real_reply(bench, call)), bench.dump(stamps=False)
    except redis.ResponseError as error:
        return str(error), {}
    finally:
        bench.remove()


def uses(feature: str, dump: Dump) -> bool:
    _, settings = dump.get(":config", ("hash", {}))
    value: bytes = settings.get(feature, b"0")
    return value != b"0"


@contextmanager
def built_without(feature: str) -> Iterator[None]:
    """Scripts whose functions of the feature only fail."""
    files = bundle.build(LUA, without=(feature,))
    texts = {path.removeprefix("dist/").removesuffix(".lua"): text.encode() for path, text in files.items()}
    del texts["manifest.json"]
    before = {script_id: original(script_id) for script_id in texts}
    install(texts)
    try:
        yield
    finally:
        install(before)
