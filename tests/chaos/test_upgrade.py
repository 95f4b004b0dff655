"""The last release and this build on one server, under load: an upgrade, its rollback, and the upgrade again."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
import redis

from pyadeq import Adeq, Backoff
from pyadeq._version import __version__
from pyadeq.embedded import EmbeddedServer
from tests.audit import audit
from tests.chaos.deployment import Build, Deployment, Program
from tests.chaos.newer import ROOT
from tests.chaos.released import build_released
from tests.conftest import CLUSTER
from tests.waiting import wait_until

pytestmark = [pytest.mark.slow, pytest.mark.skipif(CLUSTER, reason="it has a server of its own")]
BASE = "ade:{queue:q}"
EACH = 50  # tasks of each process between two replacements
LOCKER = ROOT / "tests/chaos/locker.py"


@pytest.fixture(scope="module")
def builds(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Build]:
    return {"released": build_released(tmp_path_factory.mktemp("released")), "this": Build(ROOT, __version__)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        pytest.param("released", "this", marks=pytest.mark.rotates(0, 2)),
        pytest.param("this", "released", marks=pytest.mark.rotates(1, 2)),
    ],
)
def test_an_upgrade_and_its_rollback_under_load(
    first: str, second: str, binary: Path, builds: dict[str, Build], tmp_path: Path
) -> None:
    with (
        EmbeddedServer(binary=binary) as server,
        redis.Redis.from_url(server.url) as client,
        Deployment(server.url, builds, tmp_path) as here,
    ):
        with Adeq.from_url(server.url) as adeq:
            adeq.queue("q").configure(events_max=10_000_000, backoff=Backoff(base=0.05, jitter=0))
        client.hset(f"{BASE}:config", mapping={"layout": 1, "layout_min": 1})  # as the last release has made it
        crew = [(role, here.start(first, role)) for role in ("work", "work", "work", "produce", "produce")]
        lockers = [here.run(build, LOCKER, server.url, f"{build}-{n}") for build in builds for n in range(2)]
        for build in (second, first, second):
            do_something(crew)
            crew = here.replace(crew, build)
        do_something(crew)
        assert [program.end() for role, program in crew if role == "produce"] == [0, 0]
        wait_until(lambda: not client.exists(*(f"{BASE}:{name}" for name in ("running", "ready:any", "delayed"))))
        assert [program.end() for role, program in crew if role == "work"] == [0, 0, 0]
        assert [locker.end() for locker in lockers] == [0] * len(lockers)
        judge = here.start("this", "judge")
        assert [judge.until(word) for word in ("violations", "problems")] == [[], []]
        assert judge.until("checks") > 1000
        assert audit(client, BASE) == []
        one_was_inside_at_a_time(lockers)


def do_something(crew: list[tuple[str, Program]]) -> None:
    for role, program in crew:
        word = "ended" if role == "work" else "put"
        program.until(word, len(program.all(word)) + EACH)


def one_was_inside_at_a_time(lockers: list[Program]) -> None:
    """In the order of the fences, each had left before the next one came."""
    assert all(len(one.all("held")) > 10 for one in lockers)
    held = sorted(held for one in lockers for held in one.all("held"))
    for (fence, _, left), (next_fence, came, _) in pairwise(held):
        assert fence < next_fence
        assert left <= came
