"""`adeq limit` and `adeq share`, and what other commands say of tasks in the line of a limit."""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyadeq import Adeq, Limit
from pyadeq.ext.cli.limit.app import AT_ONCE, COLUMNS, OF_USE
from pyadeq.ext.cli.limit.words import rate, rate_words
from pyadeq.ext.cli.shared.common import iso
from tests.integration.cli.run import Ended, Place, adeq, answer, complete, error, lines
from tests.waiting import wait_until

pytestmark = pytest.mark.any_engine

ALLOWED = "allowed: all, or user: or tag: and a label (1 to 200 bytes) or *, or key: and an id or *"


@pytest.fixture
def place(url: str, base_name: str) -> Iterator[Place]:
    """A queue that there is not yet."""
    with Adeq.from_url(url) as client:
        yield Place(client, client.queue(base_name), url)


def limit(place: Place, *arguments: str) -> Ended:
    return adeq("limit", *arguments, *place.there)


@pytest.fixture
def busy(place: Place) -> Place:
    """Of three tasks of ann, of whom two may run, one waits; one of bob's three that start in an hour has run."""
    place.queue.limits.set("user:*", concurrency=2)
    place.queue.limits.set("key:api", starts=3, period=3600, burst=1)
    for number in range(3):
        place.queue.enqueue(id=f"ann{number}", user="ann", kind="page")
    place.queue.enqueue(id="bob0", user="bob", limits=["api"])
    assert len(place.queue.claim(limit=10, lease=600)) == 3
    return place


# set and ls


def test_set_and_ls(place: Place) -> None:
    assert limit(place, "set", "user:*", "--concurrency", "2", "--rate", "10/1m", "--burst", "3").stdout == (
        "set user:*: 2 at a time, 10 in 1 min, burst 3; queue\n"
    )
    assert limit(place, "set", "key:api", "--rate", "5/s", "--policy", "cancel-newest").stdout == (
        "set key:api: 5 in 1 s; cancel-newest\n"
    )
    assert limit(place, "set", "all", "--concurrency", "2000", "--policy", "cancel-oldest").stdout == (
        "set all: 2,000 at a time; cancel-oldest\n"
    )
    everybody = {"key": "user:*", "concurrency": 2, "rate": 10 / 60, "burst": 3, "policy": "queue"}
    found = answer("limit", "ls", *place.there)
    assert [{name: value for name, value in one.items() if name != "digest"} for one in found] == [
        {"key": "all", "concurrency": 2000, "rate": None, "burst": None, "policy": "cancel_oldest"},
        {"key": "key:api", "concurrency": None, "rate": 5.0, "burst": 5, "policy": "cancel_newest"},
        everybody,
    ]
    assert [limit.model_dump() for limit in place.queue.limits.list()] == found
    assert answer("limit", "ls", place.queue.name, "--url", place.url) == found
    as_lines = adeq("limit", "ls", *place.there, "-o", "jsonl").stdout.splitlines()
    assert [json.loads(line) for line in as_lines] == found
    assert lines("limit", "ls", *place.there) == [
        list(COLUMNS),
        ["all", "2,000", "cancel-oldest"],
        ["key:api", "5", "in", "1", "s", "cancel-newest"],
        ["user:*", "2", "10", "in", "1", "min,", "burst", "3", "queue"],
    ]


def test_set_says_whether_it_was_so_already(place: Place) -> None:
    rule = ("user:ann", "--concurrency", "2", "--rate", "10/1m", "--policy", "reject")
    status = {"queue": place.queue.name, "key": "user:ann", "concurrency": 2, "burst": 10, "policy": "reject"}
    for said in ("set", "unchanged"):
        found = answer("limit", "set", *rule, *place.there)
        digest = place.queue.limits.get("user:ann").digest
        assert found == {**status, "status": said, "rate": pytest.approx(1 / 6), "digest": digest}
    assert limit(place, "set", *rule).stdout == "unchanged user:ann: 2 at a time, 10 in 1 min; reject\n"
    assert limit(place, "set", "user:ann", "--concurrency", "2").stdout == "set user:ann: 2 at a time; queue\n"


def test_limits_and_settings_are_set_only_as_they_were_seen(place: Place) -> None:
    new = ("limit", "set", "all", *place.there, "--expect", "none", "--concurrency")
    assert answer(*new, "2")["status"] == "set"
    assert "ADEQ_STALE" in error(1, *new, "3")
    seen = place.queue.limits.get("all").digest
    assert limit(place, "set", "all", "--concurrency", "4", "--expect", seen).stdout.startswith("set all: 4")
    configure = ("queue", "configure", place.queue.name, "--url", place.url)
    digest = answer(*configure, "--lease", "20")["settings"]["digest"]
    assert answer(*configure, "--backoff-base", "2", "--expect", digest)["settings"]["backoff"]["base"] == 2
    assert "ADEQ_STALE" in error(1, *configure, "--lease", "30", "--expect", digest)


def test_where_no_limit_is_set(url: str, place: Place) -> None:
    place.queue.configure()
    ended = limit(place, "ls")
    assert (ended.status, ended.stdout.split()) == (0, list(COLUMNS))
    assert ended.stderr == f"\nqueue '{place.queue.name}' has no limits; adeq limit set creates one\n"
    assert answer("limit", "ls", *place.there) == []
    assert adeq("limit", "ls", ADEQ_QUEUE=place.queue.name, ADEQ_URL=url).stderr == ended.stderr


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("10/1m", "10 in 1 min"),
        ("10/m", "10 in 1 min"),
        ("1/1s", "1 in 1 s"),
        ("2500/1s", "2,500 in 1 s"),
        ("60 / 1 h", "60 in 1 h"),
        ("1/d", "1 in 1 d"),
        ("5/2s", "5 in 2 s"),
        ("100/15m", "100 in 15 min"),
        ("3/7s", "3 in 7 s"),
        ("2/7d", "2 in 7 d"),
        ("1/500ms", "2 in 1 s, burst 1"),
        ("11/97", "11 in 97 s"),
        ("70000/1s", "70,000 in 1 s"),
        ("1/1.23456s", "1 in 1.235 s"),
        ("2/300ms", "400 in 1 min, burst 2"),
    ],
)
def test_rates_in_words(place: Place, given: str, words: str) -> None:
    assert limit(place, "set", "all", "--rate", given).stdout == f"set all: {words}; queue\n"


def test_rates_in_words_that_fit_no_unit() -> None:
    assert rate_words(Limit(key="all", rate=314.159265, burst=2)) == "314.159 in 1 s, burst 2"
    assert rate_words(Limit(key="all", rate=1 / 81.30081, burst=2)) == "1 in 81.3008 s, burst 2"
    assert rate_words(Limit(key="all", rate=10 / 60, burst=1)) == "1 in 6 s"
    assert rate_words(Limit(key="all", rate=10 / 60, burst=3)) == "10 in 1 min, burst 3"
    assert rate("5/1.5h") == (5, 5400)


# show


def test_show(busy: Place) -> None:
    found = answer("limit", "show", "user:ann", "key:api", "user:zoe", "tag:x", "user:ann", *busy.there)
    assert found["queue"] == busy.queue.name
    assert [(one["key"], one["running"], one["waiting"]) for one in found["keys"]] == [
        ("user:ann", 2, 1),
        ("key:api", 0, 0),
        ("user:zoe", 0, 0),
        ("tag:x", 0, 0),
    ]
    ann, api, zoe, tag = found["keys"]
    assert (ann["limit"]["concurrency"], ann["limit"]["policy"], ann["next_start"]) == (2, "queue", None)
    assert (api["limit"]["burst"], api["limit"]["concurrency"]) == (1, None)
    assert api["next_start_iso"] == iso(api["next_start"])
    assert zoe["limit"]["concurrency"] == 2
    assert tag == {"key": "tag:x", "running": 0, "waiting": 0, "limit": None, "next_start": None}


def test_show_as_a_table(busy: Place) -> None:
    head, ann, api, *rest = lines("limit", "show", "user:ann", "key:api", "user:zoe", "user:*", "tag:x", *busy.there)
    assert head == list(OF_USE)
    assert ann == ["user:ann", "2", "1", "when", "one", "ends", "2", "queue"]
    assert re.fullmatch(r"key:api 0 0 in (20m00s|19m\d\ds) 1 in 20 min queue", " ".join(api))
    assert rest == [
        ["user:zoe", "0", "0", "now", "2", "queue"],
        ["user:*", "2", "queue"],
        ["tag:x", "0", "0", "now", "no", "limit"],
    ]


def test_show_of_a_limit_that_makes_room(busy: Place) -> None:
    busy.queue.limits.set("user:ann", concurrency=2, policy="cancel_oldest")
    assert lines("limit", "show", "user:ann", *busy.there)[1] == ["user:ann", "2", "1", "now", "2", "cancel-oldest"]


def test_show_of_more_keys_than_one_call_takes(busy: Place) -> None:
    keys = [f"tag:{number}" for number in range(AT_ONCE)] + ["user:ann"]
    found = answer("limit", "show", *keys, *busy.there)["keys"]
    assert [one["key"] for one in found] == keys
    assert found[-1]["running"] == 2


def test_show_tells_which_limit_holds(busy: Place) -> None:
    (found,) = answer("limit", "show", "user:ann", *busy.there)["keys"]
    assert (found["key"], found["limit"]["key"]) == ("user:ann", "user:*")


# rm


def test_rm(busy: Place) -> None:
    found = answer("limit", "rm", "user:*", "key:api", *busy.there)
    rows = [{"key": "user:*", "status": "removed"}, {"key": "key:api", "status": "removed"}]
    assert found == {"queue": busy.queue.name, "limits": rows}
    assert busy.queue.limits.list() == []


def test_rm_of_what_has_no_limit_of_its_own(busy: Place) -> None:
    ended = limit(busy, "rm", "user:ann", "user:*", "user:ann")
    assert (ended.status, ended.stderr.split("; ")[0]) == (1, f"\nnot found in queue {busy.queue.name!r}: user:ann")
    assert [row.split() for row in ended.stdout.splitlines()] == [
        ["key", "status"],
        ["user:ann", "not_found"],
        ["user:*", "removed"],
    ]
    assert [limit.key for limit in busy.queue.limits.list()] == ["key:api"]
    found = answer("limit", "rm", "user:*", *busy.there, status=1)
    assert found["limits"] == [{"key": "user:*", "status": "not_found"}]


# Tasks that wait for a limit, and limit keys of tasks


def test_tasks_tell_what_they_wait_for(busy: Place) -> None:
    name = busy.queue.name
    there = (name, "--state", "blocked", "--url", busy.url)
    (found,) = answer("task", "ls", *there)
    assert (found["id"], found["limited_by"]) == ("ann2", "user:ann")
    _, row = lines("task", "ls", *there)
    assert (row[:2], row[-3:]) == (["ann2", "blocked"], ["limited", "by", "user:ann"])
    assert answer("task", "show", name, "ann2", "--url", busy.url)["limited_by"] == "user:ann"
    assert ["limited_by", "user:ann"] in lines("task", "show", name, "ann2", "--url", busy.url)
    assert adeq("task", "tree", name, "ann2", "--url", busy.url).stdout == "ann2  blocked  page  limited by user:ann\n"
    busy.queue.enqueue(id="bob1", limits=["api"], lane="group/g")
    busy.queue.claim("w2", lanes=["group/g"])
    rows = {row[0]: row[-4:] for row in lines("task", "ls", *there, "-o", "wide")}
    assert rows["bob1"] == ["group/g", "limited", "by", "key:api"]


def test_limit_keys_of_a_task(place: Place) -> None:
    name = place.queue.name
    answer("task", "enqueue", name, "--id", "t1", "--limit", "api", "--limit", "gpu:0", "--url", place.url)
    assert answer("task", "show", name, "t1", "--url", place.url)["limits"] == ["api", "gpu:0"]
    assert ["limits", "api", "gpu:0"] in lines("task", "show", name, "t1", "--url", place.url)
    line = error(2, "task", "enqueue", name, "--limit", "a b", "--url", place.url)
    assert "limits: 'a b' is not accepted; allowed: ids of 1 to 200" in line
    nine = [word for number in range(9) for word in ("--limit", f"k{number}")]
    assert "allowed: a list of 1 to 8 ids" in error(2, "task", "enqueue", name, *nine, "--url", place.url)
    line = error(2, "task", "enqueue", name, "--file", "f", "--limit", "api", "--url", place.url)
    assert line.endswith("leave out --limit")


def test_limit_keys_in_a_file(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "tasks.jsonl"
    file.write_text('{"id": "t1", "limits": ["api"]}\n{"id": "t2", "limits": ["a b"]}\n')
    line = adeq("task", "enqueue", place.queue.name, "--file", str(file), "--url", place.url).stderr.splitlines()[-1]
    assert "line 2: limits: 'a b' is not accepted" in line
    (task,) = place.queue.iterate("ready", lane="any")
    assert (task.id, task.limits) == ("t1", ("api",))


def test_limit_keys_of_a_schedule(place: Place) -> None:
    timing = ("--every", "1h", "--user", "ann")
    answer("schedule", "set", "s1", *timing, "--limit", "api", "--limit", "gpu", *place.there)
    found = answer("schedule", "show", "s1", *place.there)
    assert (found["envelope"]["limits"], found["envelope"]["user"]) == (["api", "gpu"], "ann")
    place.queue.schedules.trigger("s1")
    (task,) = place.queue.iterate("ready", lane="any")
    assert task.limits == ("api", "gpu")


# share


def test_shares(place: Place) -> None:
    name = place.queue.name
    found = answer("share", "set", "ann", "2.5", *place.there)
    assert found == {"queue": name, "user": "ann", "weight": 2.5, "fair": False}
    switch = f"adeq queue configure {name} --fair"
    text = adeq("share", "set", "bob", "0.5", *place.there).stdout
    assert text == f"bob has weight 0.5; it counts once shares are fair: {switch}\n"
    ended = adeq("share", "ls", *place.there)
    assert [row.split() for row in ended.stdout.splitlines()] == [["user", "weight"], ["ann", "2.5"], ["bob", "0.5"]]
    assert ended.stderr == f"\nqueue '{name}' has no fair shares: {switch}\n"
    assert adeq(*switch.split()[1:], "--url", place.url).status == 0
    assert place.queue.configure().fair
    assert answer("share", "set", "ann", "100", *place.there)["fair"]
    assert adeq("share", "set", "bob", "1", *place.there).stdout == "bob has weight 1\n"
    assert answer("share", "ls", *place.there) == [{"user": "ann", "weight": 100.0}]
    assert adeq("share", "ls", *place.there, "-o", "jsonl").stdout == '{"user": "ann", "weight": 100.0}\n'
    assert lines("share", "ls", *place.there)[1:] == [["ann", "100"]]
    answer("share", "set", "ann", "1", *place.there)
    assert adeq("share", "ls", *place.there).stderr == (
        f"\nall users of queue '{name}' have weight 1; adeq share set gives one another\n"
    )


@pytest.mark.parametrize("weight", ["0", "0.001", "100.1", "nan"])
def test_weights_that_there_are_not(place: Place, weight: str) -> None:
    line = error(2, "share", "set", "ann", weight, *place.there)
    assert f"weight: {float(weight)!r} is not accepted; allowed: 0.01 to 100" in line


# What is wrong


@pytest.mark.parametrize("command", ["limit ls", "limit show all", "limit rm all", "share ls"])
def test_a_queue_that_there_is_not_is_not_made(place: Place, command: str) -> None:
    line = error(1, *command.split(), *place.there)
    assert f"there is no '{place.queue.name}' on this server" in line
    assert line.lower().endswith(" see adeq queue ls")
    assert not place.client.client.keys(f"*{place.queue.name}*")


@pytest.mark.parametrize("key", ["ann", "user:", "user:a b", "users:ann", "all:*", "user:a*", ""])
@pytest.mark.parametrize("command", ["set {} --concurrency 1", "show {}", "rm all {}"])
def test_keys_that_there_are_not(place: Place, command: str, key: str) -> None:
    words = [key if word == "{}" else word for word in command.split()]
    assert f"key: {key!r} is not accepted; {ALLOWED}" in error(2, "limit", *words, *place.there)


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ("", "limited how? Give --concurrency 4, or --rate 10/1m, or both; adeq limit rm removes a limit"),
        ("--policy reject", "limited how? "),
        ("--concurrency 1 --burst 2", "--burst: it goes with --rate; leave it out, or give --rate"),
        ("--rate 1/s --policy cancel-oldest", "--policy: cancel-oldest makes room among the running tasks; "),
    ],
)
def test_options_that_do_not_go_together(place: Place, options: str, text: str) -> None:
    assert text in error(2, "limit", "set", "all", *options.split(), *place.there)
    assert not place.client.client.keys(f"*{place.queue.name}*")


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (
            ["--rate", "10"],
            "'10' is not accepted; allowed: a number of tasks per period, 10/1m or 5/s; TIME is seconds",
        ),
        (["--rate", "x/1m"], "'x/1m' is not accepted"),
        (["--rate", "1.5/s"], "'1.5/s' is not accepted"),
        (["--rate", "10/"], "'10/' is not accepted"),
        (["--rate", "10/soon"], "'10/soon' is not accepted"),
        (["--rate", "0/1m"], "'0/1m' is not accepted; allowed: 1 to 1000000 in 1ms to 31d, 100 in 1ms at most"),
        (["--rate", "1/32d"], "'1/32d' is not accepted; allowed: 1 to"),
        (["--rate", "1/0"], "'1/0' is not accepted; allowed: 1 to"),
        (["--rate", "101/1ms"], "'101/1ms' is not accepted; allowed: 1 to"),
        (["--rate", "1000001/31d"], "'1000001/31d' is not accepted; allowed: 1 to"),
        (["--concurrency", "0"], "Invalid value for '--concurrency'"),
        (["--concurrency", "many"], "Invalid value for '--concurrency'"),
        (["--rate", "1/s", "--burst", "0"], "Invalid value for '--burst'"),
        (["--concurrency", "1", "--policy", "wait"], "'cancel-oldest'"),
    ],
)
def test_values_that_there_are_not(place: Place, options: list[str], text: str) -> None:
    ended = limit(place, "set", "all", *options)
    assert (ended.status, ended.stdout) == (2, "")
    assert text in ended.stderr
    assert "Usage: adeq limit set" in ended.stderr


@pytest.mark.parametrize(
    "command", ["limit", "limit show", "limit rm", "limit set", "share set ann", "share set ann x"]
)
def test_wrong_usage(command: str) -> None:
    ended = adeq(*command.split())
    assert ended.status == 2
    assert "Usage: adeq" in ended.stdout + ended.stderr


def test_bad_names(place: Place) -> None:
    assert "user: 'a b' is not accepted" in error(2, "share", "set", "a b", "2", *place.there)
    for command in ("limit ls", "share ls", "limit set all --concurrency 1", "share set ann 2"):
        line = error(2, *command.split(), "--queue", "a b", "--url", place.url)
        assert "queue: 'a b' is not accepted" in line


def test_a_server_that_does_not_answer() -> None:
    for command in ("limit ls", "limit set all --concurrency 1", "share ls"):
        assert "start a server at" in error(3, *command.split(), "--url", "redis://127.0.0.1:1")


# Completion


def test_completion(place: Place) -> None:
    for key in ("user:ann", "user:bob", "tag:x", "key:api", "key:*"):
        place.queue.limits.set(key, concurrency=1)
    name, url = place.queue.name, place.url
    known = {"ADEQ_URL": url, "ADEQ_QUEUE": name}
    wait_until(lambda: complete("adeq limit show ", **known) == ["key:*", "key:api", "tag:x", "user:ann", "user:bob"])
    wait_until(lambda: complete("adeq limit rm user:ann user:b", **known) == ["user:bob"])
    wait_until(lambda: complete(f"adeq limit set --queue {name} --url {url} t") == ["tag:x"])
    assert complete("adeq limit set all --policy cancel", **known) == ["cancel-newest", "cancel-oldest"]
    assert complete("adeq limit show ", ADEQ_URL="redis://127.0.0.1:1") == []
    assert complete("adeq li") == ["limit"]
