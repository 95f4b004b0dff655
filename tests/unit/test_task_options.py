"""The options of a task: each is declared once, and what is made of the declarations fits the scripts."""

import inspect
from typing import Any

import pytest

import pyadeq
from pyadeq import Task, library
from pyadeq import asyncio as aio
from pyadeq._core.queue.items import _PLAIN, apart, envelope, pairs_of
from pyadeq.ext.cli.schedule.put import set_
from pyadeq.ext.cli.task.enqueue import enqueue
from pyadeq.ext.cli.task.options import ONCE, flag_of, given
from pyadeq.models.queue import OPTIONS
from pyadeq.models.task_options import EnqueueOptions, ScheduleOptions

ENQUEUED, TRIGGERED, FIRED = (
    {pair.name for group in library()[f"queue.{verb}.v1"].groups for pair in group.pairs}
    for verb in ("enqueue", "trigger", "fire")
)
MADE = {  # options that become other pairs, or more than one
    "id": set[str](),
    "fallback": {"fallback", "unclaimed"},
    "backoff": {"backoff_base_ms", "backoff_multiplier_pct", "backoff_cap_ms", "jitter_pct"},
}


class Urgent(Task):
    priority: int = 0


@pytest.mark.parametrize(
    ("task", "pairs"),
    [
        (Task(payload=1), {}),
        (Task(id="a", payload=1, kind="k", user="u"), {"kind": "k", "user": "u"}),
        (Task(payload=1).model_copy(update={"priority": 2}), {"priority": 2}),
        (Task.model_construct(payload=1, lane="group/g"), {"lane": "group/g"}),
        (Urgent(payload=1), {"priority": 0}),
    ],
)
def test_only_what_differs_from_the_defaults_is_sent(task: Task, pairs: dict[str, Any]) -> None:
    options = {name: value for name, value in dict(task).items() if name != "payload"}
    assert envelope(task) == pairs_of(options) == pairs
    assert apart(task, {})[0] == 1
    assert pairs_of(apart(task, {})[1]) == pairs


def test_each_option_is_a_pair_that_the_scripts_take() -> None:
    pairs = {name: MADE.get(name, {one.wire}) for name, one in OPTIONS.items()}
    assert set().union(*pairs.values()) | {"needs_parent"} == ENQUEUED
    assert set().union(*(pairs[name] for name in ScheduleOptions.__annotations__)) == FIRED == TRIGGERED


def test_the_fast_way_of_a_plain_task_is_that_of_all_others() -> None:
    assert set(_PLAIN) <= set(Task.model_fields)
    values: dict[str, Any] = {name: f"a-{name}" for name in _PLAIN}
    others = Task(**values), Task(**values, priority=5)
    assert [set(one.model_fields_set) <= _PLAIN for one in others] == [True, False]
    assert envelope(others[0]) == envelope(others[1]) == {name: values[name] for name in _PLAIN - {"id", "payload"}}


def test_the_keywords_are_the_options() -> None:
    assert list(OPTIONS) == list(Task.model_fields)[1:] == list(EnqueueOptions.__annotations__)
    for kind in (pyadeq.Queue, aio.Queue):
        found = list(inspect.signature(kind.enqueue).parameters.values())
        assert [one.name for one in found] == ["self", "payload", *OPTIONS, "rid"]
        assert [one.default for one in found[2:]] == [*(one.default for one in OPTIONS.values()), None]


@pytest.mark.parametrize("name", OPTIONS)
def test_a_default_is_not_sent(name: str) -> None:
    assert pairs_of({name: OPTIONS[name].default}) == pairs_of({name: None}) == {}
    for misnamed in ({f"{name}s_": None}, {f"{name}s_": 1}):
        with pytest.raises(TypeError, match=rf"^{name}s_: there is no such option; did you mean {name}\?"):
            pairs_of(misnamed)


@pytest.mark.parametrize(("command", "without"), [(enqueue, ()), (set_, (*ONCE, "source"))])
def test_a_command_has_the_options_in_order(command: Any, without: tuple[str, ...]) -> None:
    flags = [flag_of(name) for name, one in OPTIONS.items() if one.option.help and name not in without]
    found = [f"--{name.replace('_', '-')}" for name in inspect.signature(command).parameters]
    start = found.index(flags[0])
    assert found[start : start + len(flags)] == flags
    assert given({"tag": ["a"], "fallback": ["wider"], "reply": False, "delay": 0.0}) == {
        "tags": ["a"],
        "fallback": "wider",
        "delay": 0.0,
    }
