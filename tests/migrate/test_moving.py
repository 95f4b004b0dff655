"""Tasks of real Celery, RQ and BullMQ move under load, and back. One of them each day: see tests/rotation.py."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import pytest
from redis import Redis

from pyadeq.embedded import EmbeddedServer
from tests.integration.examples import IN_MIGRATE, ROOT, blocks, run_page
from tests.migrate.moving import KILLS, STEPS, TASKS, New, move_under_fire, run
from tests.migrate.node import PACKAGES
from tests.migrate.sides import SIDES, celery_app
from tests.waiting import wait_until

DAYS = {name: pytest.mark.rotates(day, len(SIDES)) for day, name in enumerate(SIDES)}
GUIDES = [
    pytest.param(
        page, marks=[mark for name, mark in DAYS.items() if page.endswith(f"from-{name.removesuffix('-6')}.md")]
    )
    for page in IN_MIGRATE
]


@pytest.mark.parametrize("name", [pytest.param(name, marks=mark) for name, mark in DAYS.items()])
def test_nothing_is_lost_or_run_twice_under_load(name: str, old: EmbeddedServer, new: New) -> None:
    side, first = SIDES[name], TASKS // 2
    side.produce(old, range(first))
    judged = move_under_fire(side, old, new, first, first // KILLS, KILLS)
    assert (judged.lost, judged.twice, judged.unrecorded) == ([], {}, [])
    assert len(judged.in_new) > len(STEPS)
    assert {*range(1, judged.made, 50)}.issubset(judged.in_old)
    assert {*judged.kills} == {f"{verb}: {step}" for verb, step in STEPS}, judged.kills


@DAYS["celery"]
def test_tasks_that_a_worker_had_fetched_for_later_move_once_it_has_stopped(old: EmbeddedServer, new: New) -> None:
    at, side = datetime(2100, 1, 1, tzinfo=UTC), SIDES["celery"]
    with Redis.from_url(old.url) as client, celery_app(old) as app:
        for number in range(5):
            app.send_task("app.note", args=[number], eta=at)
        with side.worker(old):
            wait_until(lambda: client.hlen("unacked") == 5)
            assert run(side, old, new) == 0
            assert new.queue.stats().delayed == 0
        wait_until(lambda: client.hlen("unacked") == 0)
        before = client.lrange("work", 0, -1)
        assert run(side, old, new) == 0
        assert [task.due for task in new.queue.iterate("delayed")] == [at.timestamp()] * 5
        assert run(side, old, new, "rollback") == 0
        assert client.lrange("work", 0, -1) == before


@DAYS["celery"]
def test_workers_of_celery_read_a_time_without_a_zone_as_utc(old: EmbeddedServer) -> None:
    with Redis.from_url(old.url) as client, celery_app(old) as app:
        app.send_task("app.note", args=[1], eta=datetime.now(UTC).replace(tzinfo=None))
        with SIDES["celery"].worker(old):  # in the zone of its application, it would be hours later
            wait_until(lambda: client.lrange("ran", 0, -1) == [b"1"])


@pytest.mark.parametrize("page", GUIDES)
def test_the_examples_of_a_guide_run(page: str, binary: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NODE_PATH", str(PACKAGES / "6" / "node_modules"))
    run_page(blocks(ROOT / "docs" / page), binary)
