"""`adeq schedule`: the schedules of a queue, made, looked at, steered and fired."""

import json
import re
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from unittest import mock

import pytest

from pyadeq import Adeq, At, Cron, Every, Schedule, Task
from pyadeq.ext.cli.schedule.app import COLUMNS
from pyadeq.ext.cli.schedule.listing import local
from pyadeq.ext.cli.shared.common import iso
from pyadeq.ext.cli.shared.progress import Bar
from pyadeq.ids import new_ulid
from tests.integration.cli.run import Place as AnyPlace
from tests.integration.cli.run import Terminal, adeq, answer, complete, error, lines
from tests.integration.conftest import Proxy
from tests.quick import slow_after
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

DAY = 86400.0
NEW_YEAR = 4_070_908_800.0  # 2099
TIMES = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d"


class Place(AnyPlace):
    """One with schedules."""

    def get(self, name: str) -> Schedule:
        schedule = self.queue.schedules.get(name)
        assert schedule is not None
        return schedule

    def put_late(self, name: str, period: float, ago: float, **options: Any) -> None:
        """A schedule whose first time went by so many seconds ago."""
        now = self.queue.stats().now
        begun = now - ago
        timing = Every(period, offset=begun % period, start=begun)
        task = Task(payload={"n": 1})
        self.client.send(self.queue.calls.put_schedule(name, timing, task, new_ulid(), begun - 0.01, **options))


@pytest.fixture
def place(url: str, base_name: str) -> Iterator[Place]:
    with Adeq.from_url(url) as client:
        place = Place(client, client.queue(base_name), url)
        place.queue.configure()
        yield place


@pytest.fixture
def some(place: Place) -> Place:
    """`often` each hour, `nightly`, `once` in 2099, paused, and `gone`."""
    put = place.queue.schedules.set
    put("often", Every(3600), {"n": 1}, overlap="allow", kind="mail", headers={"secret": 1})
    put("nightly", Cron("0 3 1 1 *", tz="Europe/Berlin"), {"secret": 1}, jitter=60)
    put("once", At(NEW_YEAR))
    put("gone", At(1.0))
    place.queue.schedules.pause("once")
    return place


# set


def test_add(place: Place) -> None:
    arguments = ["schedule", "set", "nightly", "--cron", "0 3 * * *", "--tz", "Europe/Berlin", *place.there]
    ended = adeq(*arguments, "--payload", '{"n": [1, "ü"]}')
    assert re.fullmatch(
        rf"created nightly: at 03:00 every day, Europe/Berlin; next {TIMES} \(in [\w.]+\)\n", ended.stdout
    ), ended
    schedule = place.get("nightly")
    assert (schedule.payload, schedule.timing) == ({"n": [1, "ü"]}, Cron("0 3 * * *", "Europe/Berlin"))
    assert (schedule.overlap, schedule.catch_up, schedule.jitter, schedule.envelope) == ("skip", 3600, 0, {})
    assert adeq(*arguments, "--payload", '{"n": [1, "ü"]}').stdout.startswith("unchanged nightly: ")
    found = answer(*arguments)
    assert (found["queue"], found["status"], found["name"]) == (place.queue.name, "changed", "nightly")
    assert found["timing"] == {"cron": "0 3 * * *", "tz": "Europe/Berlin"}
    assert (found["state"], found["next_iso"]) == ("active", iso(place.get("nightly").next or 0))
    assert place.get("nightly").payload is None


def test_add_with_all_there_is(place: Place) -> None:
    options = "--every 1.5h --offset 5m --start 2020-01-01T01:00:00+01:00 --until 4070908800 --overlap buffer_one"
    options += " --catch-up 2d --jitter 90 --kind mail --priority 2 --lane group/a/inst/1 --fallback wider"
    options += " --fallback-after 1h --delay 2m --timeout 30 --user u1 --tag x --tag y --unique k --scope s"
    options += " --coalesce last --result-ttl 0 --max-attempts 9"
    found = answer("schedule", "set", "s1", *options.split(), *place.there)
    assert found["timing"] == {
        "every": 5400,
        "offset": 300,
        "start": 1577836800,
        "start_iso": "2020-01-01T00:00:00.000Z",
        "until": NEW_YEAR,
        "until_iso": "2099-01-01T00:00:00.000Z",
    }
    assert (found["words"], found["overlap"]) == ("every 90m, 5m past", "buffer_one")
    assert (found["catch_up"], found["jitter"]) == (2 * DAY, 90)
    fields: dict[str, Any] = {"kind": "mail", "priority": 2, "lane": "group/a/inst/1", "fallback": "wider"}
    fields |= {"fallback_after": 3600, "delay": 120, "timeout": 30, "user": "u1", "tags": ["x", "y"], "unique": "k"}
    fields |= {"scope": "s", "coalesce": "last", "result_ttl": 0, "max_attempts": 9}
    timing = Every(5400, offset=300, start=1577836800, until=NEW_YEAR)
    same = place.queue.schedules.set("s1", timing, overlap="buffer_one", catch_up=2 * DAY, jitter=90, **fields)
    assert same.status == "unchanged"


def test_add_once(place: Place) -> None:
    text = adeq("schedule", "set", "s1", "--at", "2099-01-01T01:00:00+01:00", *place.there).stdout
    assert text.startswith(f"created s1: at {local(NEW_YEAR)}; next {local(NEW_YEAR)} (in ")
    assert answer("schedule", "set", "s1", "--at", str(NEW_YEAR), *place.there)["status"] == "unchanged"
    text = adeq("schedule", "set", "s1", "--at", "1", *place.there).stdout
    assert text == f"changed s1: at {local(1)}; it has no time left\n"


def test_add_of_one_that_is_paused(some: Place) -> None:
    text = adeq("schedule", "set", "once", "--every", "1d", *some.there).stdout
    assert text == "changed once: every 1d; paused: adeq schedule resume ends this\n"
    assert some.get("once").paused


def test_add_raw(place: Place) -> None:
    adeq("schedule", "set", "s1", "--every", "1h", "--payload", "not { JSON", "--raw", *place.there)
    assert place.get("s1").data == b"not { JSON"
    assert answer("schedule", "show", "s1", *place.there)["payload"] == "not { JSON"


def test_add_makes_the_queue(url: str, base_name: str) -> None:
    place: dict[str, Any] = {"ADEQ_URL": url, "ADEQ_QUEUE": base_name}
    assert answer("schedule", "set", "s1", "--every", "1h", **place)["status"] == "created"
    assert [one["name"] for one in answer("schedule", "ls", **place)] == ["s1"]


@pytest.mark.parametrize(
    ("option", "words"),
    [("90m", "every 90m"), ("1234567", "every 1234567s"), ("100ms", "every 0.1s"), ("48h", "every 2d")],
)
def test_periods_in_words(place: Place, option: str, words: str) -> None:
    assert answer("schedule", "set", "s1", "--every", option, *place.there)["words"] == words


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ([], "when? Give --cron '0 3 * * *', or --every 15m, or --at 2030-01-31T09:00:00Z; one of these"),
        (["--every", "1h", "--at", "1"], "when? Give --cron"),
        (["--every", "1h", "--tz", "UTC"], "--tz: it is the time zone of --cron"),
        (["--at", "1", "--offset", "1"], "--offset: it goes with --every"),
        (["--at", "1", "--until", "2"], "--start, --until: --at is one point in time"),
        (["--cron", "0 3 * *"], "expression: '0 3 * *' is not accepted; allowed: five fields"),
        (["--cron", "0 3 * * *", "--tz", "Mars/Base"], "tz: 'Mars/Base' is not accepted"),
        (["--every", "50ms"], "period: 0.05 is not accepted; allowed: 0.1 seconds and more"),
        (["--every", "1h", "--start", "2", "--until", "1"], "until: 1.0 is not accepted"),
        (["--every", "1h", "--catch-up", "0"], "catch_up: 0.0 is not accepted"),
        (["--every", "1h", "--jitter", "2d"], "jitter: 172800 is not accepted"),
        (["--every", "1h", "--payload", "{"], "--payload: it is not JSON"),
        (["--every", "1h", "--priority", "10"], "priority: 10 is not accepted; allowed: an integer from 0 to 9"),
        (["--every", "1h", "--lane", "here"], "lane: 'here' is not accepted"),
        (["--every", "1h", "--tag", "no tag"], "tags: 'no tag' is not accepted"),
    ],
)
def test_add_of_nonsense(place: Place, options: list[str], text: str) -> None:
    assert text in error(2, "schedule", "set", "s1", *options, *place.there)
    assert place.queue.schedules.get("s1") is None


@pytest.mark.parametrize(
    "options",
    [
        ["set", "s1", "--every", "soon"],
        ["set", "s1", "--at", "tomorrow"],
        ["set", "s1", "--at", "2030-01-01T00:00:00"],
        ["set", "s1", "--every", "1h", "--overlap", "wait"],
        ["set", "s1", "--every", "1h", "--id", "t1"],
        ["set", "--every", "1h"],
        ["backfill", "s1"],
        ["backfill", "s1", "--from", "yesterday"],
        ["ls", "--limit", "0"],
        ["pause"],
        ["nonsense"],
    ],
    ids=" ".join,
)
def test_wrong_usage(options: list[str]) -> None:
    ended = adeq("schedule", *options)
    assert (ended.status, ended.stdout) == (2, "")
    assert "Usage: adeq" in ended.stderr


def test_cron_needs_an_extra(some: Place) -> None:
    with mock.patch.dict(sys.modules, {"cronsim": None}):
        for command in ("set s1 --cron", "set nightly --cron"):
            line = error(2, "schedule", *command.split(), "0 3 * * *", *some.there)
            assert line == "adeq: cron expressions need an extra: pip install 'pyadeq[schedules]'"
        assert answer("schedule", "set", "s1", "--every", "1h", *some.there)["status"] == "created"
        rows = {one["name"]: one["words"] for one in answer("schedule", "ls", *some.there)}
        assert rows["nightly"] == "cron 0 3 1 1 *, Europe/Berlin"
        ended = adeq("schedule", "show", "nightly", *some.there, "-o", "json")
    assert "pip install 'pyadeq[schedules]'" in ended.stderr
    assert [one["at"] for one in json.loads(ended.stdout)["upcoming"]] == [some.get("nightly").next]


# ls, show


def test_ls(some: Place) -> None:
    found = answer("schedule", "ls", *some.there)
    assert [(one["name"], one["state"]) for one in found] == [
        ("often", "active"),
        ("nightly", "active"),
        ("gone", "ended"),
        ("once", "paused"),
    ]
    often, nightly, gone, once = found
    assert (often["timing"], often["words"], often["overlap"]) == ({"every": 3600, "offset": 0}, "every 1h", "allow")
    assert often["next_iso"] == iso(often["next"])
    assert often["envelope"] == {"kind": "mail"}
    assert (nightly["words"], nightly["jitter"]) == ("at 03:00 on January 1, Europe/Berlin", 60)
    assert once["timing"] == {"at": NEW_YEAR, "at_iso": "2099-01-01T00:00:00.000Z"}
    assert (gone["next"], gone["paused"], once["next"], once["paused"]) == (None, False, None, True)
    as_lines = adeq("schedule", "ls", *some.there, "-o", "jsonl").stdout
    assert [json.loads(line) for line in as_lines.splitlines()] == found
    assert "secret" not in as_lines


def test_ls_as_a_table(some: Place) -> None:
    some.queue.schedules.trigger("often")
    ended = adeq("schedule", "ls", *some.there, "-o", "wide")
    head, *rows = ended.stdout.splitlines()
    assert (head.split(), ended.stderr) == (list(COLUMNS), "")
    assert re.fullmatch(rf"often +every 1h +{TIMES} +[\w. ]+ +active +allow +1 +0 +0 +[\dT:.+-]+", rows[0])
    assert re.match(rf"nightly +at 03:00 on January 1, Europe/Berlin +{TIMES} +in \w+ +active +skip ", rows[1])
    assert re.fullmatch(rf"gone +at {TIMES} +ended +skip +0 +0 +0", rows[2])
    assert re.fullmatch(rf"once +at {TIMES} +paused +skip +0 +0 +0", rows[3])


def test_ls_tells_that_there_is_more(some: Place) -> None:
    ended = adeq("schedule", "ls", "--limit", "2", *some.there)
    assert len(ended.stdout.splitlines()) == 3
    assert ended.stderr == "\nThere are more than 2: --limit N, or --all\n"
    assert len(answer("schedule", "ls", "--limit", "2", *some.there)) == 2
    assert adeq("schedule", "ls", "--limit", "4", *some.there).stderr == ""


def test_ls_of_many(place: Place) -> None:
    for number in range(203):
        place.queue.schedules.set(f"s{number}", Every(3600))
    assert len(answer("schedule", "ls", *place.there)) == 100
    assert {one["name"] for one in answer("schedule", "ls", "--all", *place.there)} == {f"s{n}" for n in range(203)}
    assert len(lines("schedule", "ls", "--all", *place.there)) == 204


def test_ls_of_none(place: Place) -> None:
    assert answer("schedule", "ls", *place.there) == []
    said = adeq("schedule", "ls", *place.there).stderr
    assert said == f"\nqueue {place.queue.name!r} has no schedules; adeq schedule set creates one\n"


def test_show(some: Place) -> None:
    found = answer("schedule", "show", "often", *some.there)
    assert (found["queue"], found["payload"]) == (some.queue.name, {"n": 1})
    assert found["envelope"]["kind"] == "mail"
    assert [one["at"] - found["next"] for one in found["upcoming"]] == [3600 * n for n in range(5)]
    assert [one["at_iso"] for one in found["upcoming"]] == [iso(one["at"]) for one in found["upcoming"]]
    id = some.queue.schedules.trigger("often").id
    text = adeq("schedule", "show", "often", *some.there).stdout
    fields, following, payload = text.split("\n\n")
    rows = dict(re.findall(r"^(\S+(?: \S+)?)  +(.*?) *$", fields, re.MULTILINE))
    assert (rows["timing"], rows["state"], rows["catch-up"], rows["fired"]) == ("every 1h", "active", "1h00m", "1")
    assert (rows["last task"], rows["task kind"]) == (id, "mail")
    assert len(re.findall(rf"^{TIMES} \([\w. ]+\)$", following, re.MULTILINE)) == 5
    assert payload == 'payload\n{\n  "n": 1\n}\n'
    id = some.queue.schedules.trigger("nightly").id
    assert ["open", id] in [
        row[:2] for row in map(str.split, adeq("schedule", "show", "nightly", *some.there).stdout.splitlines())
    ]


def test_show_of_one_that_fires_no_more(some: Place) -> None:
    for name, state in (("once", "paused"), ("gone", "ended")):
        found = answer("schedule", "show", name, *some.there)
        assert (found["state"], found["upcoming"], found["payload"]) == (state, [], None)
        assert "\nnext" not in adeq("schedule", "show", name, *some.there).stdout


def test_show_obeys_nobody(place: Place) -> None:
    """What a terminal would obey stays in the text."""
    place.queue.schedules.set("s1", Every(3600), "a \x1b[31m[/red]", headers={"h": "\x1b[31m"})
    text = adeq("schedule", "show", "s1", *place.there).stdout
    assert "\x1b" not in text
    assert "[/red]" in text


# pause, resume, rm


def test_pause_and_resume(some: Place) -> None:
    found = answer("schedule", "pause", "often", "once", *some.there)
    assert found == {
        "queue": some.queue.name,
        "schedules": [{"schedule": "often", "status": "paused"}, {"schedule": "once", "status": "unchanged"}],
    }
    assert some.get("often").paused
    assert lines("schedule", "resume", "often", "often", *some.there) == [["schedule", "status"], ["often", "resumed"]]
    assert some.get("often").state == "active"
    found = answer("schedule", "resume", "no-such", "once", *some.there, status=1)
    assert [one["status"] for one in found["schedules"]] == ["not_found", "resumed"]
    assert some.get("once").state == "active"


def test_rm(some: Place) -> None:
    id = some.queue.schedules.trigger("often").id
    found = answer("schedule", "rm", "often", "no-such", "once", "--yes", *some.there, status=1)
    assert [one["status"] for one in found["schedules"]] == ["removed", "not_found", "removed"]
    assert {one["name"] for one in answer("schedule", "ls", *some.there)} == {"nightly", "gone"}
    assert id is not None
    assert some.queue.get(id) is not None
    assert lines("schedule", "rm", "gone", "-y", *some.there) == [["schedule", "status"], ["gone", "removed"]]


def test_rm_needs_a_yes(some: Place) -> None:
    line = error(2, "schedule", "rm", "often", "once", "no-such", *some.there)
    asked = f"This deletes schedules of queue {some.queue.name!r} for good: often, once, no-such."
    assert line == f"adeq: {asked} There is no terminal to ask: add --yes"
    assert some.queue.schedules.get("often")


@pytest.mark.parametrize(("reply", "status"), slow_after(1, [("y", 0), ("n", 1)]))
def test_rm_asks_at_a_terminal(some: Place, reply: str, status: int) -> None:
    with Terminal("schedule", "rm", "often", *some.there) as terminal:
        terminal.read_until("Go on? [y/N]: ")
        terminal.enter(f"{reply}\n")
        assert terminal.wait() == status
        assert ("nothing was done" in terminal.seen) == (status == 1)
    assert (some.queue.schedules.get("often") is None) == (status == 0)


# trigger


def test_trigger(some: Place) -> None:
    (one,) = answer("schedule", "trigger", "often", *some.there)["schedules"]
    assert (one["schedule"], one["status"]) == ("often", "fired")
    task = some.queue.get(one["id"])
    assert task is not None
    assert (task.payload, task.kind, task.schedule) == ({"n": 1}, "mail", "often")
    head, once = lines("schedule", "trigger", "once", *some.there)
    assert (head, once[:2]) == (["schedule", "status", "id"], ["once", "fired"])
    assert some.queue.get(once[2]) is not None
    found = answer("schedule", "trigger", "once", "no-such", "often", *some.there, status=1)["schedules"]
    assert [(one["status"], one["id"] is None) for one in found] == [
        ("skipped", True),
        ("not_found", True),
        ("fired", False),
    ]


def test_trigger_in_a_queue_that_drains(some: Place) -> None:
    some.queue.admin.drain()
    assert "ADEQ_DRAINING" in error(1, "schedule", "trigger", "often", *some.there)


# backfill


def test_backfill(some: Place) -> None:
    span = ["--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T05:00:00+01:00"]
    text = adeq("schedule", "backfill", "often", *span, *some.there).stdout
    begun, ended = datetime(2026, 1, 1, tzinfo=UTC).timestamp(), datetime(2026, 1, 1, 4, tzinfo=UTC).timestamp()
    assert text == f"often has 5 times from {local(begun)} to {local(ended)}: 5 fired, 0 exists, 0 skipped\n"
    span[-1] = "2026-01-01T06:00:00+01:00"
    found = answer("schedule", "backfill", "often", *span, *some.there)
    assert (found["fired"], found["exists"], found["skipped"]) == (1, 5, 0)
    assert (found["from"], found["from_iso"], found["to_iso"]) == (begun, iso(begun), "2026-01-01T05:00:00.000Z")
    assert [one["at"] for one in found["firings"]] == [begun + 3600 * n for n in range(6)]
    last = found["firings"][-1]
    assert (last["status"], last["at_iso"]) == ("fired", "2026-01-01T05:00:00.000Z")
    assert some.queue.get(last["id"]) is not None
    found = answer("schedule", "backfill", "gone", "--from", "0", *some.there)
    assert (found["fired"], found["skipped"]) == (1, 0)
    assert found["to"] > begun
    assert answer("schedule", "backfill", "gone", "--from", "2", *some.there)["firings"] == []


def test_backfill_obeys_the_policy(some: Place) -> None:
    span = ("--from", "2000-06-01T00:00Z", "--to", "2003-06-01T00:00Z")
    found = answer("schedule", "backfill", "nightly", *span, *some.there)
    assert (found["fired"], found["skipped"]) == (1, 2)


def test_backfill_of_nonsense(some: Place) -> None:
    line = error(2, "schedule", "backfill", "often", "--from", "20", "--to", "10", *some.there)
    assert line == "adeq: --to: 1970-01-01T00:00:10.000Z is before --from, 1970-01-01T00:00:20.000Z; change one of them"
    assert "at most 100,000 times" in error(2, "schedule", "backfill", "often", "--from", "0", *some.there)


def test_backfill_shows_how_far_it_is_at_a_terminal(some: Place) -> None:
    with Terminal("schedule", "backfill", "often", "--from", "0", "--to", "360000", *some.there) as terminal:
        assert terminal.wait() == 0
    assert "Backfilling" in terminal.seen
    assert "101 fired, 0 exists, 0 skipped" in terminal.seen
    assert "Backfilling" not in adeq("schedule", "backfill", "often", "--from", "0", "--to", "99", *some.there).stderr


def test_a_backfill_that_is_broken_off_goes_on(some: Place, proxy: Proxy) -> None:
    update = Bar.update

    def cut(bar: Bar, done: int, count: int | None = None) -> None:
        update(bar, done, count)
        proxy.deaf = done == 3

    span = ["--from", "0", "--to", "18000", "--queue", some.queue.name]
    with mock.patch.object(Bar, "update", cut):
        ended = adeq("schedule", "backfill", "often", *span, "--url", proxy.url)
    assert ended.status == 3
    assert ended.stderr.startswith("3 of 6 times done; the same command does the rest\nadeq: ")
    found = answer("schedule", "backfill", "often", *span, "--url", some.url)
    assert (found["exists"], found["fired"]) == (3, 3)


# fire


def test_fire(place: Place) -> None:
    place.put_late("hourly", 3600, 7201, overlap="allow", catch_up=DAY)
    place.put_late("daily", DAY, 5)
    found = answer("schedule", "fire", *place.there)
    assert sorted((one["schedule"], one["status"]) for one in found["firings"]) == [
        ("daily", "fired"),
        ("hourly", "fired"),
        ("hourly", "fired"),
        ("hourly", "fired"),
    ]
    first = found["firings"][0]
    assert first["at_iso"] == iso(first["at"])
    assert place.queue.get(first["id"]) is not None
    assert (found["queue"], found["next"]) == (place.queue.name, place.get("hourly").next)
    assert found["next_iso"] == iso(found["next"])
    assert re.fullmatch(
        r"nothing is due; next [\dT:.+-]+ \(in [\w.]+\)\n", adeq("schedule", "fire", *place.there).stdout
    )


def test_fire_as_a_table(place: Place) -> None:
    place.put_late("hourly", 3600, 7201)
    head, row, late, _, following = adeq("schedule", "fire", *place.there).stdout.splitlines()
    assert head.split() == ["schedule", "time", "status", "task"]
    assert re.fullmatch(r"hourly +[\dT:.+-]+ +missed", row)
    assert re.fullmatch(r"hourly +[\dT:.+-]+ +fired +hourly@\d+", late)
    assert following.startswith("next ")


def test_fire_goes_on_until_nothing_is_due(place: Place) -> None:
    """A schedule fires so many times at once, and then the others have their turn."""
    place.put_late("often", 600, 600 * 249 + 1, overlap="allow", catch_up=9 * DAY)
    found = answer("schedule", "fire", *place.there)
    assert len({one["id"] for one in found["firings"]}) == 250
    assert place.get("often").fired == 250


def test_fire_of_nothing(place: Place) -> None:
    assert adeq("schedule", "fire", *place.there).stdout == "nothing is due; none is due later\n"
    assert answer("schedule", "fire", *place.there) == {
        "queue": place.queue.name,
        "firings": [],
        "next": None,
        "next_iso": None,
    }


def test_fire_tells_what_could_not_be_fired(place: Place) -> None:
    """The others are."""
    for name in ("bad", "good"):
        place.put_late(name, 3600, 1)
    place.client.client.hset(f"{place.queue.base}:schedule:bad", "timing", '{"moon":1}')
    found = answer("schedule", "fire", *place.there, status=1)
    assert [(one["schedule"], one["status"]) for one in found["firings"]] == [("bad", "failed"), ("good", "fired")]
    assert "cannot read the schedule 'bad'" in found["firings"][0]["error"]
    assert "\nbad: this release cannot read the schedule" in adeq("schedule", "fire", *place.there).stderr
    (bad,) = (one for one in answer("schedule", "ls", *place.there) if one["name"] == "bad")
    assert bad["timing"] is None
    ended = adeq("schedule", "show", "bad", *place.there)
    assert (ended.status, "upgrade it" in ended.stdout) == (0, True)
    assert "only the first of the next times is known" in ended.stderr


@pytest.mark.parametrize(
    ("timing", "text"),
    [
        ('{"cron":"0 3 * * *","tz":"Mars/Base"}', "tz: 'Mars/Base' is not accepted"),
        ('{"cron":"moon","tz":"UTC"}', "expression: 'moon' is not accepted"),
        ('{"every_ms":0,"offset_ms":0}', "period: 0.0 is not accepted"),
    ],
)
def test_a_timing_that_nobody_can_reckon(place: Place, timing: str, text: str) -> None:
    place.queue.schedules.set("bad", Every(3600))
    place.client.client.hset(f"{place.queue.base}:schedule:bad", "timing", timing)
    assert [one["name"] for one in answer("schedule", "ls", *place.there)] == ["bad"]
    ended = adeq("schedule", "show", "bad", *place.there)
    assert ended.status == 0
    assert "only the first of the next times is known" in ended.stderr
    assert text in ended.stderr
    assert text in error(2, "schedule", "backfill", "bad", "--from", "0", *place.there)
    answer("schedule", "pause", "bad", *place.there)
    assert text in error(2, "schedule", "resume", "bad", *place.there)


# What is wrong


COMMANDS = "ls; show x; pause x; resume x; trigger x; backfill x --from 0; fire; rm x --yes"


@pytest.mark.parametrize("command", COMMANDS.split("; "))
def test_a_queue_that_there_is_not_is_not_made(url: str, base_name: str, command: str) -> None:
    line = error(1, "schedule", *command.split(), "--queue", base_name, "--url", url)
    assert f"there is no {base_name!r} on this server" in line
    with Adeq.from_url(url) as client:
        assert not client.client.keys(f"*{base_name}*")


@pytest.mark.parametrize("command", ["show x", "backfill x --from 0"])
def test_a_schedule_that_there_is_not(place: Place, command: str) -> None:
    line = error(1, "schedule", *command.split(), *place.there)
    name = place.queue.name
    assert (
        line == f"adeq: schedule: queue {name!r} has no schedule with the name 'x'; see adeq schedule ls --queue {name}"
    )


@pytest.mark.parametrize(
    "command",
    [
        "set a;b --every 1h",
        "show a;b",
        "pause x a;b",
        "resume a;b",
        "trigger a;b",
        "backfill a;b --from 0",
        "rm a;b --yes",
    ],
)
def test_bad_names(place: Place, command: str) -> None:
    line = error(2, "schedule", *command.split(), *place.there)
    assert line == "adeq: schedule: 'a;b' is not accepted; allowed: 1 to 100 of A-Z a-z 0-9 . _ @ + -"
    assert "queue: 'a;b' is not accepted" in error(2, "schedule", "ls", "--queue", "a;b", "--url", place.url)


def test_a_server_that_does_not_answer() -> None:
    for command in ("ls", "fire", "set x --every 1h"):
        assert "start a server at" in error(3, "schedule", *command.split(), "--url", "redis://127.0.0.1:1")


def test_prefix_and_slot(url: str, base_name: str) -> None:
    place = ["--prefix", "other", "--slot", "shared", "schedule"]
    there = ["--queue", base_name, "--url", url]
    assert answer(*place, "set", "s1", "--every", "1h", *there)["status"] == "created"
    assert [one["name"] for one in answer(*place, "ls", *there)] == ["s1"]
    assert "there is no" in error(1, "schedule", "ls", *there)


# Completion


def test_completion(some: Place) -> None:
    place = {"ADEQ_URL": some.url, "ADEQ_QUEUE": some.queue.name}
    wait_until(lambda: complete("adeq schedule show o", **place) == ["often", "once"])
    wait_until(lambda: complete("adeq schedule pause often ni", **place) == ["nightly"])
    assert complete(f"adeq schedule rm --queue {some.queue.name} --url {some.url} g") == ["gone"]
    assert complete("adeq schedule set x --tz Europe/Berl", **place) == ["Europe/Berlin"]
    assert complete("adeq schedule show ", ADEQ_URL="redis://127.0.0.1:1") == []
