"""The same for schedules: lines of Lua that matter, what a mistake would make of each, and who notices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from tests.property import test_schedules as schedules
from tests.property.mutants_of_chains import Mutant
from tests.property.test_schedules import ScheduleDriver

Scenario = Callable[[ScheduleDriver], None]

MOST = "({ allow = MAX_SAFE, skip = 0, buffer_one = 1 })[overlap] or 63"
OPEN = "redis.call('HSET', key, 'open', table.concat(open, ' '))"
THERE = "local there = redis.call('HEXISTS', task .. id, 'created_ms') == 1"
SAME = "if tonumber(row[1]) ~= rev or tonumber(row[2]) ~= nominal_ms then"
CALL = "redis.call('HSET', key, 'call', rid .. ' ' .. status)"
PASS_ON = "if ctx.noted then propagate_ends(ctx, 100, counts) end"
RETAIN = "retain(ctx, counts)"
STEERED = "local before = done_before(ctx, 'steer_schedule')\nif before then return { before, ctx.now } end"
TRIGGERED = "local before = done_before(ctx, 'trigger')\nif before then return { before, ctx.now } end"
TRIGGER_ENDS = "note_done(ctx, 'trigger', status)"
STALE = "if verb == 'resume' and tonumber(row[1]) ~= rev then"
DRAINED = "refused = ctx.draining and refuse_new(ctx, item_id, { {} }, { rid .. '/1' })"
NEW_TIMES = "if old[1] ~= timing and not old[8] then"
FOLLOWS = "if #open > 0 and overlap ~= 'allow' then"
RECORD = "{ 'schedule', name, 'nominal_ms', at_text }"
KNOWN = "if known then return known == 'created' and 'fired' or 'exists' end"
CANCEL = "if cancel_one(ctx, other, counts) == 'cancelling' then going"
FIRED = "redis.call('HSET', key, 'last_id', id, 'last_ms', at_text)"

BY_HISTORIES: dict[str, Mutant] = {
    # fire
    "who is not there is fired": ("if not row[1] then return { 'not_found', ctx.now } end\nlocal by", "local by"),
    "a time that is sent again is stale": ("if by == rid then return { answered, ctx.now } end", ""),
    "any call is the last one": ("if by == rid then", "if by then"),
    "a call's answer is forgotten": (CALL, ""),
    "an older revision fires": (SAME, SAME.replace("tonumber(row[1]) ~= rev or ", "")),
    "a time fires twice": (SAME, SAME.replace(" or tonumber(row[2]) ~= nominal_ms", "")),
    "a time fires early": ("if nominal_ms > ctx.now then return { 'early', ctx.now } end", ""),
    "a time fires late": ("if nominal_ms > ctx.now then", "if nominal_ms >= ctx.now then"),
    "fires while it is drained": ("refused = ctx.draining and not late and", "refused = false and"),
    "the first that is missed is not counted": ("missed + (late and 1 or 0)", "missed"),
    "those that follow are not counted": ("missed + (late and 1 or 0)", "(late and 1 or 0)"),
    "what is missed is not counted": ("redis.call('HINCRBY', key, 'missed', passed)", ""),
    "nobody hears what is missed": ("emit(ctx, 'schedule.missed'", "emit(ctx, 'schedule.skipped'"),
    "what is late is enqueued": ("if not late then\n  status =", "do\n  status ="),
    "there is no next time": (f"plan_firing(ctx, next_ms)\n{CALL}", CALL),
    # trigger
    "a trigger comes twice": (TRIGGERED, ""),
    "a trigger is forgotten": (TRIGGER_ENDS, ""),
    "who is not there is triggered": ("if not found then return", "if false then return"),
    "an older revision is triggered": ("if tonumber(found) ~= rev then return", "if false then return"),
    "triggers while it is drained": (DRAINED, DRAINED.replace("ctx.draining", "false")),
    "every trigger is for now": ("at_ms > 0 and string.format('%.0f', at_ms) or ctx.now_text", "ctx.now_text"),
    "a trigger for now is for no time": ("at_ms > 0 and string.format('%.0f', at_ms) or ctx.now_text",
                                         "string.format('%.0f', at_ms)"),
    # put_schedule
    "a put comes twice": ("if before then return { before, ctx.now, tonumber(rev) } end", ""),
    "a put is forgotten": ("note_done(ctx, 'put_schedule', status .. '=' .. rev)", ""),
    "a timing is not compared": ("for i = 1, 6 do same = same", "for i = 2, 6 do same = same"),
    "a jitter is not compared": ("for i = 1, 6 do same = same", "for i = 1, 5 do same = same"),
    "every put changes": ("local same = true", "local same = false"),
    "every change creates": ("old[7] and 'changed' or 'created'", "'created'"),
    "revisions come twice": ("redis.call('HINCRBY', config, 'revisions', 1)", "(tonumber(old[7]) or 0) + 1"),
    "a revision stays": ("redis.call('HINCRBY', config, 'revisions', 1)",
                         "tonumber(old[7]) or redis.call('HINCRBY', config, 'revisions', 1)"),
    "a change is not dated": ("'changed_ms', ctx.now_text, unpack(plan))",
                              "'changed_ms', old[7] and 1 or ctx.now_text, unpack(plan))"),
    "it is made with each change": ("if not old[7] then\n    redis", "if true then\n    redis"),
    "workers do not ask for schedules": ("redis.call('HSET', config, 'schedules', '1')", ""),
    "every change begins anew": (NEW_TIMES, "if not old[8] then"),
    "another timing begins later": (NEW_TIMES, "if not old[7] then"),
    "a change ends a pause": (NEW_TIMES, "if old[1] ~= timing then"),
    "nobody hears of a change": ("emit(ctx, old[7] and 'schedule.changed' or 'schedule.created'",
                                 "emit(ctx, 'schedule.created'"),
    # steer_schedule
    "a steering comes twice": (STEERED, ""),
    "a steering is forgotten": ("note_done(ctx, 'steer_schedule', status)", ""),
    "who is not there is steered": ("'paused', 'open')\nif not row[1] then", "'paused', 'open')\nif false then"),
    "any revision is resumed": (STALE, "if false then"),
    "a pause needs a revision": (STALE, "if tonumber(row[1]) ~= rev then"),
    "a removed one forgets its runs": ("redis.call('SET', runs .. name", "local _ = ('' .. name"),
    "a removed one stays": ("redis.call('DEL', key)", ""),
    "a removed one stays due": ("redis.call('ZREM', schedules, name)", ""),
    "nobody hears of a removal": ("emit(ctx, 'schedule.removed', name, '')", ""),
    "a pause begins twice": ("elseif (verb == 'pause') == (row[2] == '1') then",
                             "elseif verb == 'resume' and not row[2] then"),
    "what runs is resumed": ("elseif (verb == 'pause') == (row[2] == '1') then",
                             "elseif verb == 'pause' and row[2] then"),
    "a paused one stays due": ("plan_firing(ctx, 0)", ""),
    "a pause leaves no mark": ("redis.call('HSET', key, 'paused', '1', 'rev'", "redis.call('HSET', key, 'rev'"),
    "nobody hears of a pause": ("emit(ctx, 'schedule.paused', name, '')", ""),
    "a resumed one has no time": ("plan_firing(ctx, next_ms)\n  redis.call('HDEL'", "redis.call('HDEL'"),
    "a pause does not end": ("redis.call('HDEL', key, 'paused')", ""),
    "nobody hears that it goes on": ("emit(ctx, 'schedule.resumed', name,", "local _ = (name .."),
    # fire_once
    "an id is made twice": (KNOWN, ""),
    "nothing is cancelled": ("if overlap == 'cancel_other' then", "if false then"),
    "all are cancelled": ("if overlap == 'cancel_other' then", "if true then"),
    "who is cancelled is waited for": (CANCEL, "cancel_one(ctx, other, counts)\n      if true then going"),
    "who is asked to stop is not waited for": (CANCEL, "if not cancel_one(ctx, other, counts) then going"),
    "nothing is skipped": (MOST, "MAX_SAFE"),
    "skip lets one wait": (MOST, MOST.replace("skip = 0", "skip = 1")),
    "buffer_one lets two wait": (MOST, MOST.replace("buffer_one = 1", "buffer_one = 2")),
    "buffer_one lets none wait": (MOST, MOST.replace("buffer_one = 1", "buffer_one = 0")),
    "buffer_all lets one wait": (MOST, MOST.replace("63", "1")),
    "it runs beside the others": (FOLLOWS, "if false then"),
    "it waits for the wrong ends": ("'after_when', 'ended' }) do", "'after_when', 'completed' }) do"),
    "a task does not say its time": (RECORD, RECORD.replace("at_text", "ctx.now_text")),
    "a task does not say whose it is": (RECORD, RECORD.replace("name", "'x'")),
    "what is left out for a twin fired": (" == 'created' and 'fired' or 'skipped'", " and 'fired' or 'skipped'"),
    "a new task is not looked at": ("open[#open + 1] = id\n", ""),
    "the last time is not noted": (FIRED, ""),
    "nobody hears of a time": ("emit(ctx, 'schedule.fired'", "emit(ctx, 'schedule.skipped'"),
    "nobody hears of a time left out": ("emit(ctx, 'schedule.skipped'", "emit(ctx, 'schedule.fired'"),
    "what is open is forgotten": (OPEN, ""),
    "nothing is counted": ("redis.call('HINCRBY', key, status, 1)", ""),
    # read_open
    "what is remembered is open": (THERE, "local there = redis.call('EXISTS', task .. id) == 1"),
    "what has finished is open": ("not redis.call('ZSCORE', finished, id) and not", "not"),
    "what is dead is open": ("and not redis.call('ZSCORE', dead, id) then open", "then open"),
    # plan_firing and next_firing
    "what never comes is due": ("next_ms > 0 and next_ms or MAX_SAFE", "next_ms"),
    "it is not in line": ("redis.call('ZADD', schedules, string.format('%.0f', due_ms), name)", ""),
    "the next time is not noted": ("redis.call('HSET', schedule .. name, 'next_ms'",
                                   "redis.call('HSET', schedule .. name, 'next'"),
    "who sleeps does not learn of a time": ("then push_due('any') end", "then return end"),
    "a drained queue fires": ("if ctx.draining then return 0 end", ""),
    "what never comes is told": ("return due_ms < MAX_SAFE and due_ms or 0", "return due_ms"),
    "nobody is told when to fire": ("return due_ms < MAX_SAFE and due_ms or 0", "return 0"),
    "the last is told": ("redis.call('ZRANGE', schedules, 0, 0, 'WITHSCORES')",
                         "redis.call('ZRANGE', schedules, -1, -1, 'WITHSCORES')"),
    # schedules
    "what is due in a moment is due": ("if due and name == '' and tonumber(page[at + 1]) > ctx.now", "if false"),
    "what is due now is not": ("tonumber(page[at + 1]) > ctx.now then", "tonumber(page[at + 1]) >= ctx.now then"),
    "a page has all payloads": ("if due or name ~= '' then return", "if true then return"),
    "who fires has no payload": ("if due or name ~= '' then return", "if name ~= '' then return"),
    "there is one page": ("more and page[at - 1] .. ' ' .. page[at - 2] or ''", "''"),
}  # fmt: skip

OF_SCHEDULES: list[tuple[Scenario, dict[str, Mutant]]] = [
    (schedules.test_a_time_says_what_follows_it_and_brings_its_task, {
        "a time follows itself": ("if next_ms > 0 and next_ms <= nominal_ms then", "if false then"),
        "the same time follows": ("if next_ms > 0 and next_ms <= nominal_ms then",
                                  "if next_ms > 0 and next_ms < nominal_ms then"),
        "a time needs no task": ("if not late and item_count == 0 then", "if false then"),
    }),
    (schedules.test_the_last_time_has_none_that_follows, {
        "every time is followed": ("if next_ms > 0 and next_ms <= nominal_ms then", "if next_ms <= nominal_ms then"),
    }),
    (schedules.test_63_wait_at_most, {
        "64 wait": (MOST, MOST.replace("63", "64")),
        "62 wait": (MOST, MOST.replace("63", "62")),
    }),
    (schedules.test_what_runs_side_by_side_counts_for_the_policies_that_follow, {
        "one more of those that run is too many": (MOST, MOST.replace("allow = MAX_SAFE", "allow = 0")),
        "what is let side by side waits": (FOLLOWS, "if #open > 0 then"),
        "what was let is forgotten": (OPEN, OPEN.replace("table", "overlap == 'allow' and '' or table")),
    }),
    (schedules.test_the_last_64_are_looked_at, {
        "all are looked at": ("if #open > 63 then table.remove(open, 1) end", ""),
        "one too few is looked at": ("if #open > 63 then", "if #open > 62 then"),
        "the latest is forgotten": ("table.remove(open, 1)", "table.remove(open)"),
    }),
    (schedules.test_a_task_that_is_gone_lets_the_next_go, {
        "what is gone is open": (THERE, "local there = true"),
    }),
    (schedules.test_a_task_that_failed_lets_the_next_go, {
        "only what completed is followed": ("'after_when', 'ended' }) do", "'after_when', 'completed' }) do"),
    }),
    (partial(schedules.test_who_is_cancelled_for_the_next_is_told_and_kept_like_others, by_time=True), {
        "a firing passes nothing on": (f"{CALL}\n{PASS_ON}", CALL),
        "a firing keeps all that ended": (f"{CALL}\n{PASS_ON}\n{RETAIN}", f"{CALL}\n{PASS_ON}"),
        "a firing does not count": (f"{CALL}\n{PASS_ON}\n{RETAIN}\nadd_counts(counts)", f"{CALL}\n{PASS_ON}\n{RETAIN}"),
    }),
    (partial(schedules.test_who_is_cancelled_for_the_next_is_told_and_kept_like_others, by_time=False), {
        "a trigger passes nothing on": (f"{TRIGGER_ENDS}\n{PASS_ON}", TRIGGER_ENDS),
        "a trigger keeps all that ended": (f"{TRIGGER_ENDS}\n{PASS_ON}\n{RETAIN}", f"{TRIGGER_ENDS}\n{PASS_ON}"),
        "a trigger does not count": (f"{TRIGGER_ENDS}\n{PASS_ON}\n{RETAIN}\nadd_counts(counts)",
                                     f"{TRIGGER_ENDS}\n{PASS_ON}\n{RETAIN}"),
    }),
    (schedules.test_a_call_that_comes_again_stops_what_it_stopped_only_once, {
        "a pause is no other revision": (", 'rev', redis.call('HINCRBY', config, 'revisions', 1))\n  emit",
                                         ")\n  emit"),
    }),
    (schedules.test_a_steering_that_found_nothing_finds_nothing_later, {
        "who was not there is steered later": ("if ctx.exists then note_done(ctx, 'steer_schedule'",
                                               "if false then note_done(ctx, 'steer_schedule'"),
    }),
    (schedules.test_after_a_drain_who_sleeps_is_woken_for_schedules, {
        "nobody hears of what comes after a drain": ("if ctx.schedules then push_due('any') end", ""),
    }),
    (schedules.test_a_trigger_that_comes_again_later_is_known_by_its_task, {
        "its own task is another's": (KNOWN, "if known then return 'exists' end"),
    }),
    (schedules.test_what_is_late_is_counted_while_a_queue_is_drained, {
        "what is late fires": ("if not late then\n  status =", "do\n  status ="),
    }),
    (schedules.test_a_late_time_needs_no_task, {
        "what is late is refused": ("refused = ctx.draining and not late and", "refused = ctx.draining and"),
    }),
    (schedules.test_a_draining_queue_takes_no_task_for_one_that_it_cancels, {
        "a twin that goes lets another in": (DRAINED, DRAINED.replace("{ {} }", "item_pairs")),
    }),
    (schedules.test_a_worker_learns_when_to_fire, {
        "workers of a drained queue fire": ("if ctx.draining then return 0 end", ""),
        "a time that never comes is told": ("return due_ms < MAX_SAFE and due_ms or 0", "return due_ms"),
    }),
    (partial(schedules.test_who_sleeps_learns_of_a_time_within_ten_seconds, early=10_000), {
        "every time wakes": ("if due_ms - ctx.now < 10000 then push_due('any')", "push_due('any') if false then"),
        "who sleeps learns too early": ("if due_ms - ctx.now < 10000 then push_due('any')",
                                        "if due_ms - ctx.now <= 10000 then push_due('any')"),
    }),
    (partial(schedules.test_who_sleeps_learns_of_a_time_within_ten_seconds, early=9_999), {
        "who sleeps learns too late": ("if due_ms - ctx.now < 10000 then push_due('any')",
                                       "if due_ms - ctx.now < 9999 then push_due('any')"),
    }),
    (schedules.test_a_queue_may_begin_with_a_schedule, {
        "a schedule begins no queue": ("if not ctx.exists then create_base() end\n  rev =", "rev ="),
    }),
]  # fmt: skip
