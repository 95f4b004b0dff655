"""List by any filter, and page by page while tasks come and go, compared with a look at everything."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any, get_args

import pytest

from pyadeq._core.queue.items import Failure
from pyadeq.models import Page, State, Task
from tests.nouns.queue.checks import check_queue, tasks
from tests.nouns.queue.workbench import Workbench
from tests.nouns.watched import Refused
from tests.quick import slow_after

STATES = get_args(State)
FIELDS = ("user", "tag", "parent", "kind", "reason", "lane")
INDEXES = {"user": ":by:user:", "tag": ":by:tag:", "parent": ":children:"}
NAMES = ["a", "aa", "b"]
every_seed = pytest.mark.parametrize("seed", slow_after(1, range(4)))


def listed(bench: Workbench, **filter: Any) -> Page:
    return bench.run(bench.calls.list(filter.pop("state", None), **filter))


def walk(bench: Workbench, limit: int, between: Callable[[], None] = lambda: None, **filter: Any) -> list[str]:
    """The ids of all pages, something being done between them."""
    page = listed(bench, limit=limit, **filter)
    found = [task.id for task in page.tasks]
    for _ in range(1000):
        assert len(page.tasks) <= limit
        if not page.cursor:
            return found
        between()
        page = listed(bench, limit=limit, cursor=page.cursor, **filter)
        found += [task.id for task in page.tasks]
    raise AssertionError("the pages do not end")


def populate(bench: Workbench, chance: random.Random, number: int) -> None:
    """Tasks in every state with all kinds of names, many of them made in one millisecond."""

    def pick(*values: Any) -> Any:
        return chance.choice([None, *values])

    for at in range(number):
        own: dict[str, Any] = {name: pick(*NAMES) for name in ("user", "parent", "kind")}
        own |= {"tags": chance.sample(NAMES, chance.randrange(4)), "lane": chance.choice(["any", "group/g"])}
        own |= {"delay": chance.choice([0, 0, 0, 0, 3600]), "payload": b""}
        bench.real(bench.calls.enqueue([(f"{chance.randrange(100)}-{at}", Task(**own))], f"p{at}"))
        if at % 10 == 0:
            bench.pass_time(1)
    for lease in bench.claim(number // 2, lanes=["group/g", "any"], lease=3600):
        match chance.randrange(5):
            case 0:
                bench.real(bench.calls.ack([(lease, b"r")]))
            case 1:
                failure = Failure(lease, reason=chance.choice(NAMES), retryable=chance.random() < 0.2)
                bench.real(bench.calls.fail([failure], [0]))
            case 2:
                bench.real(bench.calls.cancel([lease.id]))
                bench.real(bench.calls.release([lease]))
    bench.claim(number // 10, lease=1)
    bench.pass_time(1_000)


def expected(bench: Workbench, filter: dict[str, Any]) -> set[str]:
    """Which tasks there are for a filter, from a look at all of them."""
    found = set()
    for id, record in tasks(bench).items():
        own = record | {"lane": record.get("lane", "any"), "state": bench.state(id)}
        tags = record.get("tags", "").split(",")
        if all(value in tags if name == "tag" else own.get(name) == value for name, value in filter.items()):
            found.add(id)
    return found


def in_order(bench: Workbench, ids: set[str], filter: dict[str, Any]) -> list[list[str]]:
    """These ids in each order that a list may have: of one of its indexes or of the state."""
    keys = [INDEXES[name] + value for name, value in filter.items() if name in INDEXES]
    state = filter.get("state")
    named = {"completed": ":finished", "cancelled": ":finished", "running": ":leases", "stalled": ":leases"}
    if state == "ready":
        keys += [f":ready:{filter['lane']}"] if "lane" in filter else []
    elif state:
        keys.append(named.get(state, f":{state}"))
    orders = [[id.decode() for id in bench.ask("ZRANGE", key, 0, -1)] for key in keys]
    return [[id for id in order if id in ids] for order in orders]


@every_seed
def test_every_filter_finds_what_a_look_at_everything_finds(bench: Workbench, seed: int) -> None:
    chance = random.Random(seed)
    populate(bench, chance, 120)
    check_queue(bench)
    for _ in range(60):
        filter: dict[str, Any] = {name: chance.choice([*NAMES, "none"]) for name in chance.sample(FIELDS[:5], 2)}
        if chance.random() < 0.5:
            filter["state"] = chance.choice(STATES)
        if chance.random() < 0.3:
            filter["lane"] = chance.choice(["any", "group/g"])
        if not filter.keys() & {"user", "tag", "parent", "state"}:
            continue
        if filter.get("state") == "ready" and not filter.keys() & {"user", "tag", "parent", "lane"}:
            filter["lane"] = "any"  # ready alone is of one lane
        found = walk(bench, chance.choice([1, 3, 7, 100, 1000]), **filter)
        assert len(set(found)) == len(found)
        assert set(found) == expected(bench, filter), filter
        assert found in in_order(bench, set(found), filter), filter


@pytest.mark.parametrize("state", STATES)
def test_a_state_and_an_index_find_the_same_from_both_sides(bench: Workbench, state: State) -> None:
    """The smaller of the sets leads: once the state, once the index."""
    populate(bench, random.Random(1), 60)
    bench.fill(100, user="a")
    for user in ("a", "b"):
        found = walk(bench, 5, state=state, user=user)
        assert set(found) == expected(bench, {"state": state, "user": user})


def test_a_filter_that_names_no_set_is_refused(bench: Workbench) -> None:
    for filter in ({}, {"kind": "a"}, {"reason": "a"}, {"lane": "any"}):
        with pytest.raises(Refused, match=r"^ADEQ_ARG state must be a state, where no user, tag or parent is named"):
            listed(bench, **filter)


def test_ready_tasks_of_a_user_are_of_all_lanes(bench: Workbench) -> None:
    one, two = bench.fill(1, user="u", lane="group/g"), bench.fill(1, user="u")
    assert walk(bench, 10, state="ready", user="u") == one + two
    assert walk(bench, 10, state="ready", user="u", lane="any") == two
    assert walk(bench, 10, state="ready") == two


def test_a_tag_is_not_a_part_of_another(bench: Workbench) -> None:
    bench.fill(1, tags=["at", "ta", "a.t"], user="u")
    (id,) = bench.fill(1, tags=["x", "a", "y"], user="u")
    assert walk(bench, 10, user="u", tag="a") == [id]


def test_a_list_looks_at_a_thousand_tasks_and_goes_on_from_there(bench: Workbench) -> None:
    for _ in range(2):
        bench.fill(999, user="u", payload=b"")
        bench.fill(1, user="u", kind="rare", payload=b"")
    pages: list[int] = []
    cursor = ""
    while not pages or cursor:
        page = listed(bench, user="u", kind="rare", cursor=cursor, limit=1)
        pages.append(len(page.tasks))
        cursor = page.cursor
    assert pages == [1, 1, 0]


def test_a_page_stops_at_a_mebibyte(bench: Workbench) -> None:
    for _ in range(2):
        bench.fill(400, user="u", tags=[f"{at}".rjust(200, "t") for at in range(16)], payload=b"")
    page = listed(bench, user="u", limit=1000)
    assert 200 < len(page.tasks) < 400
    assert len(walk(bench, 1000, user="u")) == 800


def test_lists_show_a_task_as_get_does(bench: Workbench) -> None:
    populate(bench, random.Random(2), 60)
    for task in listed(bench, user="a", limit=1000).tasks:
        (whole,) = bench.run(bench.calls.get([task.id]))
        assert whole
        hidden = {"data": None, "result_data": None, "error": None, "headers": None}
        assert task == whole.model_copy(update=hidden)


@pytest.mark.parametrize("filter", [{"user": "other"}, {"tag": "t"}, {"user": "u", "tag": "t"}])
def test_a_cursor_of_another_filter_is_refused_or_goes_on_by_its_own_set(
    bench: Workbench, filter: dict[str, str]
) -> None:
    bench.fill(5, user="u", tags=["t"])
    cursor = listed(bench, user="u", limit=2).cursor
    if "user" in filter:
        assert len(listed(bench, cursor=cursor, **filter).tasks) == (3 if filter["user"] == "u" else 0)
    else:
        with pytest.raises(Refused, match=r"^ADEQ_ARG cursor must be empty, or what the page before answered"):
            listed(bench, cursor=cursor, **filter)


def test_pages_go_on_by_the_set_they_began_with(bench: Workbench) -> None:
    """Though another has become the smallest meanwhile."""
    ids = bench.fill(6, user="u")
    bench.fill(10, user="other")
    page = listed(bench, state="ready", lane="any", user="u", limit=2)
    assert page.cursor.startswith("user ")
    bench.claim(6)
    bench.fill(4, user="u")
    rest = walk(bench, 100, state="ready", lane="any", user="u")
    page = listed(bench, state="ready", lane="any", user="u", limit=100, cursor=page.cursor)
    assert [task.id for task in page.tasks] == rest
    assert not set(rest) & set(ids)


# under change


@every_seed
@pytest.mark.parametrize("limit", [1, 2, 5])
def test_whatever_stays_is_listed_once_whatever_comes_and_goes(bench: Workbench, seed: int, limit: int) -> None:
    """All made in one millisecond, so that they are in one place of the index but for their ids."""
    chance = random.Random(seed)
    alphabet = "+-./09:@AZ_az"
    names = {"".join(chance.choices(alphabet, k=chance.choice([1, 2, 3, 200]))) for _ in range(60)}
    start = chance.sample(sorted(names), 30)
    rest = sorted(names - set(start))
    lanes = {id: f"group/{at}" for at, id in enumerate(start)}
    items = [(id, Task(payload=b"", user="u", lane=lane)) for id, lane in lanes.items()]
    bench.real(bench.calls.enqueue(items, "r"))
    there, seen = set(start), []

    def change() -> None:
        for _ in range(chance.randrange(4)):
            if rest and chance.random() < 0.4:
                id = rest.pop(chance.randrange(len(rest)))
                bench.real(bench.calls.enqueue([(id, Task(payload=b"", user="u"))], f"r{len(rest)}"))
            elif len(there) > 5:
                id = chance.choice(sorted(there)) if chance.random() < 0.5 else last[-1]
                if id in there:
                    there.discard(id)
                    (lease,) = bench.claim(1, lanes=[lanes[id]])
                    bench.real(bench.calls.fail([Failure(lease, retryable=False)], [0]))
                    bench.real(bench.calls.abandon([id]))

    last: list[str] = []
    page = listed(bench, user="u", limit=limit)
    while True:
        last = [task.id for task in page.tasks] or last
        seen += [task.id for task in page.tasks]
        if not page.cursor:
            break
        change()
        page = listed(bench, user="u", limit=limit, cursor=page.cursor)
    assert len(set(seen)) == len(seen)
    assert there <= set(seen)
    assert seen == sorted(seen)


@every_seed
@pytest.mark.parametrize("state", ["ready", "delayed", "completed", "dead"])
def test_a_state_is_listed_whole_though_tasks_leave_and_join_it(bench: Workbench, state: State, seed: int) -> None:
    chance = random.Random(seed)

    def join(number: int) -> list[str]:
        match state:
            case "ready":
                return bench.fill(number)
            case "delayed":
                return bench.fill(number, delay=chance.choice([3600, 3600, 7200]))
            case "dead":
                return bench.die(number, lane="group/dead")
        leases = bench.lease(number, lane="group/done")
        bench.real(bench.calls.ack([(lease, None) for lease in leases]))
        return [lease.id for lease in leases]

    there = set(join(30))

    def change() -> None:
        bench.pass_time(chance.randrange(2))
        join(chance.randrange(1, 4))
        gone = chance.sample(sorted(there), 2)
        there.difference_update(gone)
        if state in ("ready", "delayed"):
            bench.real(bench.calls.cancel(gone))
        elif state == "dead":
            bench.real(bench.calls.abandon(gone))
        else:
            for id in gone:
                bench.ask("ZREM", ":finished", id)
                bench.ask("DEL", f":task:{id}", f":payload:{id}")

    changes = iter(range(10))
    seen = walk(bench, 4, lambda: change() if next(changes, None) is not None else None, state=state)
    assert len(set(seen)) == len(seen)
    assert there <= set(seen)


def test_a_source_is_the_tasks_own_or_that_of_the_client(bench: Workbench) -> None:
    hook = replace(bench.calls, source="hook")
    bench.run(hook.enqueue([("a", Task()), ("b", Task(source="user"))], "r1"))
    bench.run(bench.calls.enqueue([("c", Task(source="user")), ("d", Task())], "r2"))

    def from_source(source: str) -> list[str]:
        return [task.id for task in bench.run(bench.calls.list("ready", source=source)).tasks]

    assert [from_source(source) for source in ("hook", "user", "system")] == [["a"], ["b", "c"], []]
    sources = [lease.source for lease in bench.claim(4)]
    assert sources == ["hook", "user", "user", None]
    view = bench.view("a")
    assert view
    assert view.source == "hook"
