"""An archive of changes that have ended: each field of them, before retention deletes them."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pyadeq import Adeq, Change, Changes
from pyadeq.ext.operate.archive import Archive, Archived
from pyadeq.ext.operate.maintain import Maintainer
from tests.integration.cli.run import adeq as command
from tests.integration.cli.run import answer
from tests.integration.conftest import Clock
from tests.integration.operate.test_archive import archived, kill_at_each_step, on_server

pytestmark = pytest.mark.any_engine

STREAM = "change:prod"
PREVIEW = b"what it \xff does"


@pytest.fixture
def client(url: str, base_name: str, clock: Clock) -> Iterator[Adeq]:
    """A client with the time of the test."""
    with Adeq.from_url(url, prefix=base_name, clock=clock, source="tests") as client:
        yield client


@pytest.fixture
def changes(client: Adeq) -> Changes:
    changes = client.changes("prod")
    changes.configure(clock="test")
    client.events("change", "prod").configure(clock="test")
    changes.policies.set("p", required=1, reviewers=["user:bob", "group:dba"])
    return changes


def put(changes: Changes, id: str, **more: Any) -> Any:
    content: dict[str, Any] = {"type": "deploy", "description": f"roll out {id} \u20ac", "actor": "ann", **more}
    return changes.put(id, **content)


def end_all_ways(changes: Changes, clock: Clock) -> list[str]:
    """Changes that end in each way. Returns their ids."""
    for id in ("done", "broken", "refused"):
        own = put(changes, id, parameters={"n": [1, "\u20ac"]}, resources=["database:orders"], tags=["q3"], team="data")
        changes.submit(own, policy="p", actor="ann")
        changes.assess(own, score=30, factors={"indexes": 1}, preview=PREVIEW, actor="bot")
        changes.comment(own, "looks fine", actor="cleo")
        clock.tick(1)
        if id == "refused":
            changes.reject(own, actor="bob", reason="not now", proof="sso session 4711")
            continue
        changes.approve(own, actor="bob", proof="sso session 4711")
        run = changes.begin(own, agent="migrator")
        if id == "done":
            changes.finish(id, run.token, "success", output="fine")
        else:
            changes.finish(id, run.token, "failure", error="no space", error_details="disk 1")
    put(changes, "unwanted")
    changes.cancel("unwanted", actor="ann")
    return ["done", "broken", "refused", "unwanted"]


def whole(changes: Changes, id: str) -> Change:
    found = changes.get(id, requests=True, log=1000, texts=True)
    assert found
    return found


def records(archive: Archive) -> list[dict[str, Any]]:
    return [one.change for one in archive.read(streams=[STREAM]) if one.change]


def test_each_field_of_a_change_is_archived(client: Adeq, changes: Changes, clock: Clock, tmp_path: Path) -> None:
    ids = end_all_ways(changes, clock)
    put(changes, "open")
    views = {id: whole(changes, id) for id in ids}
    assert [view.state for view in views.values()] == ["completed", "failed", "rejected", "cancelled"]
    archive = Archive(str(tmp_path))
    (done,) = archive.write(client)
    assert (done.stream, done.changes, done.tasks, done.gone) == (STREAM, 4, 0, 0)
    assert archived(archive, STREAM) == on_server(client, STREAM)
    found = {one["id"]: one for one in records(archive)}
    assert found.keys() == views.keys(), "the one that has not ended is left out"
    for id, view in views.items():
        fields = view.model_dump(mode="json", exclude_none=True, exclude={"preview"})
        if view.preview:
            fields |= {"preview": PREVIEW.decode(errors="replace"), "preview_base64": "d2hhdCBpdCD/IGRvZXM="}
        assert found[id] == fields
    assert found["done"]["run"]["output"] == "fine"
    assert found["done"]["parameters"] == {"n": [1, "\u20ac"]}
    assert found["refused"]["log"][-1]["proof"] == "sso session 4711"
    assert [one["reviewer"] for one in found["refused"]["requests"]] == ["user:bob", "group:dba"]
    verified = archive.verify(client)
    assert (verified.changes, verified.tasks, verified.bad) == (4, 0, 0)


def test_a_record_stays_when_its_change_is_removed(
    client: Adeq, changes: Changes, clock: Clock, tmp_path: Path
) -> None:
    end_all_ways(changes, clock)
    changes.configure(keep=60)
    clock.tick(61)
    archive = Archive(str(tmp_path))
    found = {one.care: one.done for one in Maintainer(client, archive=archive, only=["changes", "archive"]).step()}
    assert (found["archive"]["changes"], found["changes"]) == (4, {"deleted": 4})
    assert changes.get("done") is None
    archive.write(client)
    verified = archive.verify(client)
    assert (verified.changes, verified.bad) == (4, 0)
    assert [one.event for one in archived(archive, STREAM)][-4:] == ["change.removed"] * 4


def test_one_that_was_removed_before_is_counted(client: Adeq, changes: Changes, clock: Clock, tmp_path: Path) -> None:
    end_all_ways(changes, clock)
    changes.configure(keep=60)
    clock.tick(61)
    changes.sweep()
    (done,) = Archive(str(tmp_path)).write(client)
    assert (done.changes, done.gone) == (0, 4)


def test_a_comment_on_an_ended_change_archives_it_again(client: Adeq, changes: Changes, tmp_path: Path) -> None:
    own = put(changes, "a")
    changes.cancel("a", actor="ann")
    archive = Archive(str(tmp_path))
    assert archive.write(client)[0].changes == 1
    changes.comment(own, "it was the wrong database", actor="cleo")
    assert archive.write(client)[0].changes == 1
    first, second = records(archive)
    assert [len(one["log"]) for one in (first, second)] == [2, 3]
    assert second["log"][-1]["reason"] == "it was the wrong database"


def test_a_change_that_was_reopened_is_archived_when_it_ends_again(
    client: Adeq, changes: Changes, clock: Clock, tmp_path: Path
) -> None:
    def end_and_reopen() -> None:
        changes.submit(put(changes, "a"), policy="p", actor="ann")
        clock.tick(1)
        assert changes.reject(whole(changes, "a"), actor="bob").status == "rejected"
        clock.tick(1)
        assert changes.reopen("a", actor="ann").status == "draft"
        clock.tick(1)

    end_and_reopen()
    archive = Archive(str(tmp_path))
    (done,) = archive.write(client)
    assert (done.changes, done.gone) == (0, 0)
    end_and_reopen()
    changes.cancel("a", actor="ann")
    assert archive.write(client)[0].changes == 1
    (record,) = records(archive)
    assert record == whole(changes, "a").model_dump(mode="json", exclude_none=True)


def test_changes_or_tasks_alone(client: Adeq, changes: Changes, clock: Clock, tmp_path: Path) -> None:
    end_all_ways(changes, clock)
    queue = client.queue("jobs")
    queue.configure(clock="test")
    client.events("queue", "jobs").configure(clock="test")
    queue.enqueue("x")
    queue.ack(queue.claim()[0])
    archive = Archive(str(tmp_path))
    done = archive.write(client, group="one", changes=False)
    assert [(one.stream, one.changes, one.tasks) for one in done] == [(STREAM, 0, 0), ("queue:jobs", 0, 1)]
    archive = Archive(str(tmp_path / "other"))
    done = archive.write(client, group="two", tasks=False)
    assert [(one.stream, one.changes, one.tasks) for one in done] == [(STREAM, 4, 0), ("queue:jobs", 0, 0)]


@pytest.mark.slow
def test_a_run_that_is_killed_at_any_step_loses_and_doubles_no_change(url: str, base_name: str, tmp_path: Path) -> None:
    ids: list[str] = []
    with Adeq.from_url(url, prefix=base_name) as client:
        changes = client.changes("prod")

        def work() -> None:
            for _ in range(30):
                ids.append(f"c{len(ids)}")
                put(changes, ids[-1])
                changes.cancel(ids[-1], actor="ann")

        kill_at_each_step(client, url, tmp_path, STREAM, work)
        found = records(Archive(str(tmp_path)))
        assert [one["id"] for one in found] == ids
        for one in found:
            assert one == whole(changes, one["id"]).model_dump(mode="json", exclude_none=True)


def test_the_commands(url: str, base_name: str, tmp_path: Path) -> None:
    place: Any = {"ADEQ_URL": url, "ADEQ_PREFIX": base_name}
    to = str(tmp_path / "archive")
    with Adeq.from_url(url, prefix=base_name) as client:
        put(client.changes("prod"), "a")
        client.changes("prod").cancel("a", actor="ann")
    (done,) = answer("archive", "write", to, **place)["streams"]
    assert (done["stream"], done["changes"]) == (STREAM, 1)
    lines = command("archive", "read", to, "-o", "jsonl", **place).stdout.splitlines()
    assert [Archived.from_line(line.encode()) for line in lines] == list(Archive(to).read())
    assert [json.loads(line)["change"]["id"] for line in lines if '"change": {' in line] == ["a"]
    rows = command("archive", "read", to, **place).stdout.splitlines()
    assert [row.split()[3] for row in rows if row.split()[2] == "change"] == ["a"]
    assert answer("archive", "verify", to, "--server", **place)["changes"] == 1
    other = answer("archive", "write", str(tmp_path / "other"), "--no-changes", "--group", "other", **place)
    assert [one["changes"] for one in other["streams"]] == [0]
