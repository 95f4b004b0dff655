"""Includes that write a list of any length do so in several commands: Lua's unpack takes at most 7,999 values."""

from __future__ import annotations

import pytest
import redis

from tests.nouns.script_bench import Bench, MakeAny
from tests.nouns.sources import sources

LENGTHS = [0, 1, 3_500, 3_501, 7_999, 20_000]


def run(bench: Bench, name: str, before: str, after: str, length: int) -> None:
    """Run an include between two pieces of Lua, on the server. ARGV[1] is the length, `base` the base."""
    text = "\n".join(
        [
            "#!lua",
            "local base, length = KEYS[1], tonumber(ARGV[1])",
            "local ctx, sent = { settings = { fair = 0, fair_top = 0, limits = 0 } }, {}",
            "local function emit(_, event, ids) sent[#sent + 1] = event .. ' ' .. ids end",
            "local function list(make) local all = {} for i = 1, length do make(all, i) end return all end",
            before,
            include(name),
            after,
        ]
    )
    client: redis.Redis = bench.client
    client.eval(text, 1, bench.base, length)


def include(name: str) -> str:
    """The text of an include."""
    return next(one.text for one in sources().includes if one.name == name)


@pytest.mark.parametrize("length", LENGTHS)
def test_make_ready(make_any: MakeAny, length: int) -> None:
    bench = make_any("queue")
    before = "local ready, lanes = base .. ':ready:', base .. ':lanes'\nlocal function push_wake() end"
    after = "make_ready(ctx, { any = list(function(all, i) all[2 * i - 1], all[2 * i] = i, 'task-' .. i end) })"
    run(bench, "make_ready", before, after, length)
    assert bench.client.zcard(f"{bench.base}:ready:any") == length


@pytest.mark.parametrize("length", LENGTHS)
def test_close_domain(make_any: MakeAny, length: int) -> None:
    bench = make_any("lock")
    before = "local requests, channel = base .. ':requests', base .. ':channel:'\nlocal function create_base() end"
    after = """
        ctx = { now_text = '1', offset = 0, fence = 0, waiting = 0, due = 0, changed = {}, texts = {}, settings = {} }
        for i = 1, length do ctx.changed['r' .. i], ctx.texts['r' .. i] = true, 'ended released' end
        close_domain(ctx)"""
    run(bench, "close_domain", before, after, length)
    assert bench.client.hlen(f"{bench.base}:requests") == length + 5


@pytest.mark.parametrize("length", LENGTHS)
def test_remove_tasks(make_any: MakeAny, length: int) -> None:
    bench = make_any("queue")
    with bench.client.pipeline(transaction=False) as pipe:
        for i in range(1, length + 1):
            pipe.hset(f"{bench.base}:task:{i}", mapping={"user": "u", "created_ms": 1})
            pipe.set(f"{bench.base}:result:{i}", "")
            pipe.zadd(f"{bench.base}:by:user:u", {str(i): 1})
        pipe.execute()
    names = ["task", "payload", "result", "log", "steps", "reply", "by_user", "by_tag", "children"]
    before = f"{include('count_existing')}\nctx.now = 1\nlocal ended_runs = base .. ':ended_runs:'\n"
    before += "\n".join(f"local {one} = base .. ':{one.replace('_', ':')}:'" for one in names)
    after = "remove_tasks(ctx, list(function(all, i) all[i] = '' .. i end), {}, 'purged')"
    run(bench, "remove_tasks", before, after, length)
    assert list(bench.dump()) == [":config"]


@pytest.mark.parametrize("length", LENGTHS)
def test_the_events_of_tasks_let_go(make_any: MakeAny, length: int) -> None:
    """An event has at most 1,000 ids."""
    bench = make_any("queue")
    before = """
        local blocked, limit_lines = base .. ':blocked', base .. ':limit:lines'
        ctx.steps = 1
        local function make_ready() end
        local function peek_lines() return {} end
        local function drain_limit_queue(_, _, _, batch)
          batch.freed = list(function(all, i) all[i] = 'task-' .. i end)
        end"""
    after = """drain_limit_queues(ctx, { 'user:u' })
        if #sent > 0 then redis.call('RPUSH', base .. ':sent', unpack(sent)) end"""
    run(bench, "drain_limit_queues", before, after, length)
    events = [event.decode().split(" ") for event in bench.client.lrange(f"{bench.base}:sent", 0, -1)]
    assert [id for event in events for id in event[1:]] == [f"task-{i}" for i in range(1, length + 1)]
    assert all(len(event) <= 1_001 and event[0] == "task.unblocked" for event in events)
