"""Mutants that no operator makes: another number, argument of a command or place in a list.

Each names a text that its source has once, and what becomes of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.mutation.operators import Change, Mutant

Text = str
BY_HAND: Mapping[str, list[tuple[Text, Text]]] = {
    # numbers: how many, how late, how often
    "queue/include/chains/propagate_ends.lua": [
        ("local batch, told,", "limit = 1000 local batch, told,"),
        ("'-inf', upto, 'BYSCORE'", "'-inf', '+inf', 'BYSCORE'"),
    ],
    "queue/include/chains/line_up_freed.lua": [("for first = 1, #batch.freed, 1000 do", "for first = 1, 0 do")],
    "queue/include/limits/room_left.lua": [
        ("MAX_SAFE, ctx.now + 5000", "MAX_SAFE, ctx.now + 5001"),
        ("MAX_SAFE, ctx.now + 5000", "MAX_SAFE, ctx.now + 4999"),
        ("MAX_SAFE, ctx.now + 5000", "MAX_SAFE, full_score(ctx)"),
        ("ahead_ms = ahead_ms - 0.5", "ahead_ms = ahead_ms - 50"),
        ("math.ceil(ctx.now + ahead_ms + starts * limit.interval_ms)", "ctx.now + 5000"),
    ],
    "queue/include/limits/on_housekeep.lua": [
        ("rates, '-inf', ctx.now,", "rates, '-inf', ctx.now + 1000,"),
        ("BAND + ctx.now - 60000, 'BYSCORE'", "BAND + ctx.now - 59000, 'BYSCORE'"),
        ("'LIMIT', 0, 25)", "'LIMIT', 0, 99)"),
    ],
    "queue/include/limits/mend_holders.lua": [
        ("% pages * 100", "* 0"),
        ("'-inf', upto, 'BYSCORE'", "'-inf', '+inf', 'BYSCORE'"),
    ],
    "queue/include/limits/preempt_oldest.lua": [
        ("limit.key, lined, lined)[1]", "limit.key, lined + 1, lined + 1)[1]"),
        ("limit.key, lined, lined)[1]", "limit.key, 0, 0)[1]"),
    ],
    "queue/include/schedules/fire_once.lua": [
        ("({ allow = MAX_SAFE, skip = 0, buffer_one = 1 })[overlap] or 63", "MAX_SAFE"),
        ("allow = MAX_SAFE", "allow = 0"),
        ("skip = 0", "skip = 1"),
        ("buffer_one = 1", "buffer_one = 0"),
        ("buffer_one = 1", "buffer_one = 2"),
        ("[overlap] or 63", "[overlap] or 1"),
        ("[overlap] or 63", "[overlap] or 62"),
        ("[overlap] or 63", "[overlap] or 64"),
        ("'schedule', name, 'nominal_ms'", "'schedule', 'x', 'nominal_ms'"),
        ("'nominal_ms', at_text", "'nominal_ms', ctx.now_text"),
    ],
    "queue/include/schedules/next_firing.lua": [("schedules, 0, 0,", "schedules, -1, -1,")],
    "lock/include/line/promote.lua": [("'LIMIT', skipped, most)", "'LIMIT', skipped, 1)")],
    "lock/include/line/promote_freed.lua": [("ctx.grants or 64,", "ctx.grants or 6400,")],
    "lock/include/end/end_due.lua": [("deadlines, 0, ctx.now,", "deadlines, 0, ctx.now - 1,")],
    # what is asked for, and what is taken
    "queue/include/holds/find_duplicate.lua": [("'unique:' .. (own.unique or '')", "'unique:'")],
    "queue/include/core/find_set.lua": [("finished, delayed, dead, blocked }", "finished, delayed, dead }")],
    "queue/include/cancel/cancel_children.lua": [("local parent = row[3]", "local parent = row[2]")],
    "queue/include/limits/read_limits.lua": [
        ("rules[2 * i - 1] or rules[2 * i]", "rules[2 * i] or rules[2 * i - 1]"),
        ("rules[2 * i - 1] or rules[2 * i]", "rules[2 * i - 1]"),
    ],
    "queue/include/limits/limits_of.lua": [
        ("local keys, seen = { 'all' }, {}", "local keys, seen = {}, {}"),
        ("string.gmatch(list, '[^,]+')", "string.gmatch(list, '^[^,]+')"),
    ],
    "queue/set_limits.v1.lua": [("replayed_answers(ctx, 'set_limits', item_count)", "nil")],
    "queue/include/repair/revive_task.lua": [("'progress_text', 'limited_by'", "'progress_text'")],
    "queue/include/fair/on_take.lua": [("shares .. lane, 'GT',", "shares .. lane,")],
    "queue/include/fair/share_place.lua": [("local name = lane .. ' ' .. band .. user", "local name = user")],
    # the first of two values that is there
    "queue/include/settle/keep_result.lua": [("own_ms or ctx.settings.result_ms", "ctx.settings.result_ms or own_ms")],
    "queue/include/settle/fail_tasks.lua": [("extra.delay_ms or backoff(", "backoff(")],
    "queue/include/workers/renew_presence.lua": [("own[2] or 'run'", "'run'")],
    # what is called or set at first
    "queue/include/enqueue/place_task.lua": [
        ("limit, full_score(ctx), tied)", "limit, ctx.now + 60000, tied)"),
        ("return join_limit(ctx, id,", "line_up(by_lane, own.lane or 'any', score, id) return join_limit(ctx, id,"),
    ],
    "queue/include/limits/find_full.lua": [
        ("for _, limit in ipairs(limited) do", "for at = #limited, 1, -1 do local limit = limited[at]")
    ],
    "queue/include/core/join_traces.lua": [("local same = true", "local same = false")],
    "queue/include/schedules/store_schedule.lua": [("local same = true", "local same = false")],
    "lock/include/grant/admit.lua": [("request.priority * ctx.step_ms", "0")],
}


def by_hand(source: str, text: str) -> Iterator[Mutant]:
    for old, new in BY_HAND.get(source, []):
        before, *after = text.split(old)
        assert len(after) == 1, f"tests/mutation/by_hand.py: {source} has this {len(after)} times: {old}"
        start, line = len(before.encode()), before.count("\n") + 1
        yield Mutant(source, line, Change("by hand", start, start + len(old.encode()), new), f"[{old} -> {new}]")
