"""Calls of any noun: arguments by their names and in seconds, answers by the names and types of the manifest."""

from __future__ import annotations

import copy
import pickle
from itertools import count
from typing import Any

import pytest

from pyadeq import Adeq, QueueCalls
from pyadeq._async.kernel.noun import Noun
from pyadeq._core.kernel.nouncalls import NounCalls, Result, record, script_of
from pyadeq.errors import BadArgument, ConfigError

LOCKS = NounCalls("ade:{lock:a}", now_ms=lambda: 5, source="me", trace=lambda: None, noun="lock")
QUEUES = NounCalls("ade:{queue:a}", noun="queue")


def sent(call: Any) -> dict[str, Any]:
    """The scalars of a call by their names; what is left out is empty."""
    return {one.name: value for one, value in zip(call.script.args, call.args, strict=False) if value != b""}


def test_times_are_seconds_and_the_client_says_who_calls() -> None:
    call = LOCKS.build("acquire", rid="r", resource="db:1", owner="a", issued_ms=1, ttl=2.5)
    assert sent(call) == {
        "rid": "r", "resource": "db:1", "owner": "a", "ttl_ms": 2500, "issued_ms": 1, "source": b"me", "now_ms": 5,
    }  # fmt: skip
    same = LOCKS.build("acquire", rid="r", resource="db:1", owner="a", issued_ms=1, ttl_ms=2500)
    assert same.args == call.args


def test_a_script_that_only_reads_takes_a_source_as_a_condition() -> None:
    calls = QueueCalls("ade:{queue:a}", source="me")
    assert "source" not in sent(calls.list("ready"))
    assert sent(calls.list("ready", source="api"))["source"] == b"api"
    assert sent(calls.build("list", state="ready", source="api"))["source"] == b"api"


def test_items_are_values_sequences_or_mappings() -> None:
    wanted = [("db:1", "shared", 1), {"resource": "db:2", "mode": "exclusive"}]
    call = LOCKS.build("acquire_many", rid="r", owner="a", issued_ms=1, item=wanted)
    assert call.args[-7:] == (2, "db:1", "shared", 1, "db:2", "exclusive", b"")
    assert LOCKS.build("renew", item=["r1", "r2"]).args[-3:] == (2, "r1", "r2")
    configure = LOCKS.build("configure", settings={"lease": 2, "policy": "youngest"})
    assert configure.args[-6:] == (1, 2, "lease_ms", 2000, "policy", "youngest")


def test_a_rid_that_is_left_out_is_made_once_for_each_call() -> None:
    """A call that knows itself by something else has none."""
    numbers = count(1)
    calls = NounCalls("ade:{queue:a}", noun="queue", new_rid=lambda: f"r{next(numbers)}")
    assert [sent(calls.build("pause"))["rid"], sent(calls.build("pause", rid=None))["rid"]] == ["r1", "r2"]
    assert sent(calls.build("pause", rid="mine"))["rid"] == "mine"
    assert "rid" not in sent(calls.build("deregister", worker="w", incarnation="i"))


async def test_the_first_page_is_asked_for_without_a_cursor() -> None:
    """Of the types of arguments, only `bytes` takes an empty one."""
    pages = iter([Result("page", {"items": ["a"], "cursor": "c"}), Result("page", {"items": ["b"], "cursor": ""})])
    asked = []

    class Notes(Noun):
        async def _call(self, verb: str, /, **arguments: Any) -> Result:
            asked.append((verb, arguments))
            return next(pages)

    notes = Notes.__new__(Notes)
    assert [one async for one in notes._pages("list", limit=1)] == ["a", "b"]
    assert asked == [("list", {"cursor": None, "limit": 1}), ("list", {"cursor": "c", "limit": 1})]


@pytest.mark.parametrize(
    ("verb", "arguments", "names"),
    [
        ("reap", {"limits": 5}, "limits: there is no such option; did you mean limit?"),
        ("renew", {"item": [{"id": "r"}]}, "id: there is no such option"),
    ],
)
def test_unknown_names_are_told(verb: str, arguments: dict[str, Any], names: str) -> None:
    with pytest.raises(TypeError, match=names.replace("?", r"\?")):
        LOCKS.build(verb, **arguments)


def test_a_setting_that_there_is_not_is_refused() -> None:
    with pytest.raises(BadArgument, match="lese"):
        LOCKS.build("configure", settings={"lese": 2})


@pytest.mark.parametrize("items", ["r1", b"r1", None])
def test_one_value_is_no_list(items: Any) -> None:
    with pytest.raises(BadArgument, match="item must be a list, got"):
        LOCKS.build("renew", item=items)


def test_a_setting_is_named_once() -> None:
    with pytest.raises(BadArgument, match="lease: it is given twice, as lease and as lease_ms"):
        LOCKS.build("configure", settings={"lease": 2, "lease_ms": 3000})


@pytest.mark.parametrize("ask", [lambda adeq, noun: adeq.noun(noun, "x"), lambda adeq, noun: adeq.names(noun)])
def test_an_unknown_noun_is_refused(ask: Any) -> None:
    with pytest.raises(ConfigError, match=r"noun: 'lokc' is not accepted; did you mean lock\? Allowed: .*lock, queue"):
        ask(Adeq.from_url("redis://localhost"), "lokc")


def test_a_name_that_no_answer_has_is_told() -> None:
    answer = LOCKS.build("acquire", rid="r", resource="db:1", owner="a", issued_ms=1).decode([b"granted", 1, 7, 31])
    assert answer.place is None
    with pytest.raises(AttributeError, match=r"fense: no answer has it; did you mean fence\?"):
        answer.fense  # noqa: B018
    with pytest.raises(AttributeError, match="no answer has it"):
        copy.deepcopy(answer).nothing  # noqa: B018


def test_answers_have_their_names_and_types() -> None:
    acquired = LOCKS.build("acquire", rid="r", resource="db:1", owner="a", issued_ms=1)
    answer = acquired.decode([b"granted", 1_000, 7, 31_000])
    assert (answer.status, answer.now, answer.fence, answer.deadline, answer.place) == ("granted", 1.0, 7, 31.0, None)
    with pytest.raises(AttributeError):
        answer.__nothing__  # noqa: B018
    assert repr(answer) == "<granted now=1.0 fence=7 deadline=31.0>"
    assert copy.deepcopy(answer) == pickle.loads(pickle.dumps(answer)) == answer
    polled = LOCKS.build("poll", item=["r"]).decode([b"ok", 1_000, [[b"granted", 2_000, [[b"part", b"db:1", 7]]]]])
    assert polled.items == [
        Result("granted", {"deadline": 2.0, "fences": [Result("part", {"resource": "db:1", "fence": 7})]})
    ]


def test_records_have_the_types_of_their_table() -> None:
    settings = record("lock", "settings", {"lease_ms": b"500", "policy": b"youngest", "mirror": b"1", "new": b"1"})
    assert (settings["lease"], settings["policy"], settings["mirror"], settings["new"]) == (0.5, "youngest", True, b"1")
    assert (settings["poll"], settings["detection"], settings["events_max"]) == (2.0, True, 100_000)  # defaults
    assert record("queue", "lanes", {"any": b"3", "group/a": b"4"}) == {"any": 3, "group/a": 4}
    assert record("queue", "task", {"tags": b"a,b", "headers": b"{}"}) == {"tags": ("a", "b"), "headers": b"{}"}


def test_the_newest_version_of_a_script_is_called() -> None:
    assert script_of("lock", "renew").id == "lock.renew.v1"
    assert QUEUES.migrate(done=True).script.id == "queue.migrate.v1"
